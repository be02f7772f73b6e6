"""Where a run has several episodes (`Run.episode_rounds`), each begins as the first did, for every method.

Of EvaluatorFL and SchedulerFL this is reading FRL-A34.
"""

import pytest
import torch

from fedlib.federation import rounds
from fedlib.federation.rounds import next_cohort
from fedlib.methods import make_method
from tests.methods.test_on_gpu import CASES, world

# what stays over episodes; of all others nothing does
LEARNED = {
    "feddrl": ("learner", "agent"), "best_constant": ("best",), "feddisk": ("alpha",), "fedmarl": ("agents",),
    "fedddrl": ("agents",), "random_drop": ("agents",), "drop_slowest": ("agents",),
    "fewest_epochs": ("agents",), "evaluatorfl": ("agent",), "schedulerfl": ("actor",),
    "favor": ("agent",), "auto_fedrl": ("agent",),
}  # fmt: skip


def begun(task, method):
    """The state before round 1."""
    state = method.init(task)
    while state.round < 0:
        state, _ = method.pretrain(task, state)
    return state


def entry(memory, names):
    for name in names:
        memory = memory[name]
    return memory


def same(ours, theirs):
    """Whether nested tensors are equal bit for bit, NaN included."""
    if isinstance(ours, dict):
        return set(ours) == set(theirs) and all(same(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, torch.Tensor):
        return torch.equal(ours.nan_to_num(), theirs.nan_to_num())
    return ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_a_further_episode_begins_as_the_first(name):
    task = world(name, "cpu", episode_rounds=2)
    method = make_method(name, CASES[name])
    start = begun(task, method)
    after, _ = method.apply(task, start, next_cohort(task, 1))
    assert not same(after.params, start.params)
    again = method.restart(task, after)
    assert again.round == 1
    assert same(again.params, start.params)
    assert same(again.buffers, start.buffers)
    if name in LEARNED:
        assert same(entry(again.memory, LEARNED[name]), entry(after.memory, LEARNED[name]))
    else:
        assert same(again.memory, start.memory)


def test_the_scheduler_begins_every_episode_with_random_workers():
    """As many as its share, of whom it knows times of all workers from then on (lines 9 to 18)."""
    task = world("schedulerfl", "cpu", episode_rounds=2)
    method = make_method("schedulerfl", {**CASES["schedulerfl"], "share": 0.25})
    results = [one for one in rounds(task, method) if one.round > 0]
    firsts = [one for one in results if one.round in (1, 3)]
    for one in firsts:
        assert [row["selected"] for (row,) in one.rows] == [1, 1]
        assert (torch.as_tensor(one.state["memory"]["known"]) > 0).all()
    drawn = [[row["clients"] for (row,) in one.rows] for one in firsts]
    assert drawn[0] != drawn[1]


def test_a_centred_reward_begins_every_episode_anew():
    task = world("feddrl", "cpu", episode_rounds=2)
    method = make_method("feddrl", {**CASES["feddrl"], "mode": "online", "centring": 0.3})
    state = method.init(task)
    for number in (1, 2):
        state, _ = method.apply(task, state, next_cohort(task, number))
    assert state.memory["learner"]["mean_reward"] is not None
    assert method.restart(task, state).memory["learner"]["mean_reward"] is None


def test_feddrl_gets_no_reward_for_the_last_action_of_an_episode():
    """Its replay grows by one experience in the second round of an episode, not in the first."""
    task = world("feddrl", "cpu", episode_rounds=2)
    method = make_method("feddrl", {**CASES["feddrl"], "mode": "online"})
    state, held = method.init(task), []
    for number in (1, 2, 3, 4):
        if number == 3:
            state = method.restart(task, state)
        state, report = method.apply(task, state, next_cohort(task, number))
        held.append(report.columns["buffer_length"][0])
    assert held == [0, 1, 1, 2]
