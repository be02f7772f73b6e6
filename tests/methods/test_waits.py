"""How often a round of each method waits for a GPU: counted on an emulated one."""

import pytest
import torch
from emulated import GPU, emulated_gpu

from fedlib.federation import rounds
from fedlib.methods import make_method
from tests.methods.test_on_gpu import CASES, ROUNDS, world

AGENT = 3  # probing losses, the reward's accuracy, the row
ALLOWED = {  # one is the row's copy; the others are what a server's decision is made from
    "feddrl": 2,  # losses before and after local training, together
    "fedmarl": AGENT,
    "fedddrl": AGENT,
    "random_drop": AGENT,
    "drop_slowest": AGENT,
    "fewest_epochs": AGENT,
    "evaluatorfl": 13,  # predictions of every worker on data sets that are sent there and back
    "schedulerfl": 2,  # the loss that its bandit learns from
    "fedexp": 2,  # the server's learning rate, for the row
    "power_of_choice": 2,  # the candidates' losses
    "favor": 3,  # the chosen clients' models and the global one are compressed for the agent
    "auto_fedrl": 2,  # the loss that the reward is made of
    "fedlaw": 2,  # gamma for the row
}


@pytest.mark.parametrize("method", CASES)
def test_a_round_waits_for_the_gpu_as_often_as_it_has_to(method):
    with emulated_gpu() as gpu:
        results = rounds(world(method, GPU), make_method(method, CASES[method]))
        while next(results).round < ROUNDS - 1:
            pass
        gpu.waits.clear()
        next(results)  # amid an episode, where there are any
        assert len(gpu.waits) == ALLOWED.get(method, 1), gpu.waits


def test_what_needs_to_know_values_is_waited_for():
    with emulated_gpu() as gpu:
        values = torch.arange(4, device=GPU)
        values[values > 1]
        assert gpu.waits == ["index"]
        values[values > 1] = 0
        assert gpu.waits == ["index"]  # one number is filled in
        values[values < 1] = values[values < 1]
        assert gpu.waits == ["index"] * 2 + ["index_put_"]
        gpu.waits.clear()
        torch.nonzero(values), torch.unique(values), torch.masked_select(values, values > 0)
        assert gpu.waits == ["nonzero", "_unique2", "masked_select"]
