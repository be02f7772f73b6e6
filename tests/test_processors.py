"""The number of torch's threads is set within a context or a function, and set back behind it."""

import pytest
import torch

from fedlib.processors import torch_threads


def test_the_number_of_threads_is_set_back_after_an_error():
    before, within = torch.get_num_threads(), []

    def fail():
        with torch_threads(before + 1):
            within.append(torch.get_num_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (within, torch.get_num_threads()) == ([before + 1], before)


def test_each_call_of_a_decorated_function_has_them():
    before = torch.get_num_threads()
    work = torch_threads(before + 1)(torch.get_num_threads)
    assert [work(), torch.get_num_threads(), work()] == [before + 1, before, before + 1]
