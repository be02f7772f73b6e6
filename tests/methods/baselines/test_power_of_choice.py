"""Power-of-Choice: who is drawn, who is chosen, what is sent."""

import numpy as np
import pytest
import torch
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import Cohort, Task, model_bytes
from fedlib.federation.client_updates import method_rng
from fedlib.methods import make_method
from fedlib.methods.baselines.power_of_choice import largest


def test_the_candidates_with_the_largest_losses_are_chosen():
    candidates = np.array([[2, 5, 7, 9], [0, 1, 3, 8]])
    losses = np.array([[0.3, 2.0, 0.1, 1.0], [5.0, 1.0, 4.0, 4.5]])
    assert largest(losses, candidates, 2).tolist() == [[5, 9], [0, 8]]


def test_all_clients_as_candidates_gives_the_worst_served():
    """d = N: the K clients on which the global model's loss is largest, whatever the drawn cohort."""
    task = make_world(sizes=(9, 4, 7, 6), cohort_size=2)
    method = make_method("power_of_choice", {"candidates": 4})
    state = method.init(task)
    model = {name: w[0] for name, w in state.params.items()}

    def loss(own):
        outputs = torch.func.functional_call(task.model, model, (task.train.fetch(torch.from_numpy(own)),))
        return torch.nn.functional.cross_entropy(outputs, task.train.labels[own]).item()

    losses = [loss(own) for own in task.clients[0]]
    _, report = method.apply(task, state, Cohort(1, np.array([[0, 1]])))
    assert report.clients.tolist() == [sorted(np.argsort(losses)[-2:].tolist())]
    assert report.weights.tolist() == [[0.5, 0.5]]
    assert report.downlink_bytes == 4 * model_bytes(state.params, state.buffers)
    losses = 4 * 4  # of four candidates, as float32
    assert report.uplink_bytes == 2 * model_bytes(state.params, state.buffers) + losses


def test_larger_clients_are_candidates_more_often():
    task = make_world(sizes=(40, 2, 2, 2), cohort_size=1)
    method = make_method("power_of_choice", {"candidates": 1})
    (sizes,) = task.sizes(task.everyone())
    drawn = [method._draw(method_rng(task, 0, "candidates", t), sizes)[0] for t in range(200)]
    share = np.mean(np.array(drawn) == 0)
    assert abs(share - 40 / 46) < 4 * np.sqrt(40 / 46 * 6 / 46 / 200)


def test_sizes_are_counted_once_for_all_replicas(monkeypatch):
    task, counted, sizes = make_world(seeds=(0, 1, 2), cohort_size=2), [], Task.sizes
    method = make_method("power_of_choice", {"candidates": 3})
    state = method.init(task)
    monkeypatch.setattr(Task, "sizes", lambda self, ids: counted.append(ids.shape) or sizes(self, ids))
    method.apply(task, state, Cohort(1, np.array([[0, 1]] * 3)))
    assert counted == [(3, 4)]


@pytest.mark.parametrize("candidates", [1, 5])
def test_candidates_are_at_least_the_cohort_and_at_most_all(candidates):
    with pytest.raises(UsageError, match="allowed: cohort_size=2 to num_clients=4"):
        make_method("power_of_choice", {"candidates": candidates}).check(make_run(cohort_size=2))
