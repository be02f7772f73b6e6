"""What pretraining is taken from another run: never that of other code under the same name."""

from dataclasses import dataclass, replace

import pytest
from torch import nn
from worlds import make_world

from fedlib.federation import rounds
from fedlib.methods.fedddrl.method import FedDdrl
from fedlib.methods.feddrl.method import FedDRL

OPTIONS = {
    FedDRL: {"worker_rounds": 2, "offline_passes": 1, "hidden_size": 16},
    FedDdrl: {"episodes": 1, "bias": 0.1},
}


def is_trained_anew(method, model=None):
    task = make_world(rounds=2, model=model, client_eval="none", dataset_options={"server_share": 0.2})
    results = [*rounds(replace(task, starts_with=model), method)]
    assert results[-1].round == 2
    return results[0].round < 0


def model_of(factor):
    """A model whose printed form does not say the factor."""

    class Scaled(nn.Sequential):
        def forward(self, x):
            return super().forward(factor * x)

    return Scaled(nn.Flatten(), nn.Linear(64, 3))


def defined_anew(base):
    """A class as the same cell of a notebook makes it each time."""

    @dataclass(frozen=True)
    class Mine(base):
        pass

    return Mine


@pytest.mark.parametrize("base", OPTIONS)
def test_models_that_print_alike_are_trained_for_each_by_itself(base):
    one, other = model_of(1.0), model_of(-1.0)
    other.load_state_dict(one.state_dict())
    assert str(one) == str(other)
    for model in (one, other, other):
        assert is_trained_anew(base(**OPTIONS[base]), model)


@pytest.mark.parametrize("base", OPTIONS)
def test_a_method_defined_anew_under_its_name_is_trained_anew(base):
    first, second = defined_anew(base), defined_anew(base)
    assert repr(first) == repr(second)
    trained = [is_trained_anew(kind(**OPTIONS[base])) for kind in (first, second, first, second)]
    assert trained == [True, True, False, False]
