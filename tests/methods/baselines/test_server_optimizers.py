"""FedAvgM, FedAdam and FedYogi against numbers worked out by hand."""

import math

import pytest
from scripted import play, scripted_world

from fedlib.errors import UsageError
from fedlib.federation import Cohort
from fedlib.methods import make_method
from fedlib.methods.baselines import fedavgm, fedopt

SIZES = (3, 1)  # shares 0.75 and 0.25
# w starts at 1. The clients' mean is 2 in round 1 and `mean` in round 2.
ROUND_1 = (2.0, 2.0)


def world(monkeypatch, module, round_2):
    return scripted_world(monkeypatch, module, [ROUND_1, round_2], start=1.0, sizes=SIZES)


def test_momentum_on_the_server(monkeypatch):
    """change 1, v = 1, w = 2; then the mean 0.75 * 2.2 + 0.25 * 3.4 = 2.5: v = 0.9 + 0.5, w = 3.4."""
    task = world(monkeypatch, fedavgm, (2.2, 3.4))
    seen, _, state = play(task, make_method("fedavgm", {"nesterov": False}), 2)
    assert seen == pytest.approx([2.0, 3.4])
    assert state.memory["velocity"]["w"].item() == pytest.approx(1.4)


def test_nesterov_looks_ahead(monkeypatch):
    """Round 1: v = 1, step 0.9 * 1 + 1 = 1.9, w = 2.9. Round 2: mean 2.5, change -0.4, v = 0.5, step 0.05."""
    seen, _, _ = play(world(monkeypatch, fedavgm, (2.2, 3.4)), make_method("fedavgm"), 2)
    assert seen == pytest.approx([2.9, 2.95])


def test_without_momentum_it_is_fedavg(monkeypatch):
    task = world(monkeypatch, fedavgm, (2.2, 3.4))
    assert play(task, make_method("fedavgm", {"beta": 0.0}), 2)[0] == pytest.approx([2.0, 2.5])


OPTIONS = {"learning_rate": 0.5, "beta_1": 0.5, "beta_2": 0.75, "tau": 2.0}


def test_adam_on_the_server(monkeypatch):
    """Round 1: change 1, m = 0.5, v = 0.75 * 4 + 0.25 * 1 = 3.25."""
    task = world(monkeypatch, fedopt, (2.2, 3.4))
    seen, _, state = play(task, make_method("fedadam", OPTIONS), 2)
    first = 1 + 0.5 * 0.5 / (math.sqrt(3.25) + 2)
    change = 2.5 - first
    m, v = 0.25 + 0.5 * change, 0.75 * 3.25 + 0.25 * change**2
    assert seen == pytest.approx([first, first + 0.5 * m / (math.sqrt(v) + 2)])
    assert state.memory["v"]["w"].item() == pytest.approx(v)


def test_bias_correction_as_flower_has_it(monkeypatch):
    """Round 1 has t = 2: 0.5 sqrt(1 - 0.75^2) / (1 - 0.5^2) = 0.44096 in place of 0.5; round 2 has t = 3."""
    task = world(monkeypatch, fedopt, (2.2, 3.4))
    seen, _, _ = play(task, make_method("fedadam", {**OPTIONS, "bias_correction": True}), 2)
    first = 1 + 0.44096 * 0.5 / (math.sqrt(3.25) + 2)
    change = 2.5 - first
    m, v = 0.25 + 0.5 * change, 0.75 * 3.25 + 0.25 * change**2
    rate = 0.5 * math.sqrt(1 - 0.75**3) / (1 - 0.5**3)
    assert seen == pytest.approx([first, first + rate * m / (math.sqrt(v) + 2)], abs=1e-5)


@pytest.mark.parametrize("name", ["fedavgm", "fedadam", "fedyogi"])
def test_only_the_cohort_weighs_and_by_its_own_images(monkeypatch, name):
    """Clients of 3 and 1 images take part, a third of 12 does not: change 0.75 * 1 + 0.25 * 5 = 2."""
    module = fedavgm if name == "fedavgm" else fedopt
    seen = []
    for models in ((2.0, 6.0, 100.0), (3.0, 3.0, -100.0)):  # either way the mean is 3
        task = scripted_world(monkeypatch, module, [models], start=1.0, sizes=(3, 1, 12))
        method = make_method(name)
        state, _ = method.apply(task, method.init(task), Cohort(1, task.everyone()[:, :2]))
        seen.append(state.params["w"].item())
    assert seen[0] == pytest.approx(seen[1])
    if name == "fedavgm":
        assert seen[0] == pytest.approx(1 + 1.9 * 2)


def test_yogi_moves_its_variance_by_the_sign(monkeypatch):
    """v = 4 - 0.25 * 1 * sign(4 - 1) = 3.75; with a change of 9 it grows by 0.25 * 81."""
    task = world(monkeypatch, fedopt, (2.2, 3.4))
    seen, _, _ = play(task, make_method("fedyogi", OPTIONS), 1)
    assert seen == pytest.approx([1 + 0.25 / (math.sqrt(3.75) + 2)])
    task = scripted_world(monkeypatch, fedopt, [(10.0, 10.0)], start=1.0, sizes=SIZES)
    _, _, state = play(task, make_method("fedyogi", OPTIONS), 1)
    assert state.memory["v"]["w"].item() == pytest.approx(4 + 0.25 * 81)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fedavgm", {"beta": 1.0}, "beta=1.0 given"),
        ("fedavgm", {"learning_rate": 0.0}, "learning_rate=0.0 given"),
        ("fedadam", {"tau": 0.0}, "tau=0.0 given"),
        ("fedyogi", {"beta_2": 1.0}, "beta_2=1.0 given"),
    ],
)
def test_settings_out_of_range_are_one_line(name, options, message):
    with pytest.raises(UsageError, match=message):
        make_method(name, options)
