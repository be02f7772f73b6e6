"""Every method on a GPU: on an emulated one always (no two devices meet, whatever round a run resumes
after), on a real one where it is at hand."""

import pytest
import torch
from emulated import GPU, emulated_gpu, on_host
from worlds import make_world

from fedlib.federation import rounds
from fedlib.methods import METHODS, make_method

SMALL_AGENT = {"hidden_size": 8, "batch_size": 1}
EPISODES = {"rounds": 2, "episode_rounds": 1}
CASES = {
    "singleset": {},
    "fedsgd": {},
    "fedavg": {},
    "fedprox": {"mu": 0.1},
    "feddrl": {"mode": "two_stage", "worker_rounds": 3, "offline_passes": 2, **SMALL_AGENT},
    "best_constant": {"candidates": 3, "generations": 2, "elite": 2, "search_rounds": 2},
    "heuristic_weights": {"rule": "largest_losses", "largest": 2},
    "fedavgm": {},
    "fedadam": {},
    "fedyogi": {},
    "fednova": {},
    "fedexp": {},
    "scaffold": {},
    "feddyn": {},
    "power_of_choice": {"candidates": 4},
    "fedlaw": {"server_epochs": 2},
    "fedbn": {},
    "fedrod": {"evaluate": "personalised"},
    "feddisk": {"made_max_rounds": 3, "ratio_max_epochs": 3, "made_hidden": 8, "ratio_hidden": 8},
    "fedmarl": {"episodes": 1},
    "fedddrl": {"episodes": 1},
    "random_drop": {},
    "drop_slowest": {},
    "fewest_epochs": {},
    "evaluatorfl": {"approach": 2},
    "schedulerfl": {"experiments": 2, "experiment_rounds": 15, "stop_below": None, "share": 0.5},
    "favor": {"episodes": 1, "batch_size": 2, "hidden_size": 8},
    "auto_fedrl": {},
}
ROUNDS = 3


def world(method, device, seeds=(0, 1), **changes):
    sizes = (22, 20, 25, 21) if method == "feddisk" else (7, 5, 8, 6)
    own = {"model": "mlp", "model_options": {"hidden": 8}, "shape": (6, 6)}
    if method == "fedbn":
        own = {"model": "cnn-feddisk", "model_options": {"width": 2}, "shape": (16, 16)}
    return make_world(
        seeds=seeds, sizes=sizes, rounds=ROUNDS, local_epochs=1, device=device, **own,
        batch_size=10 if method == "feddisk" else 4, dataset_options={"server_share": 0.5}, **changes,
    )  # fmt: skip


def play(method, device, *, resumed=False):
    """Rows of all rounds; resumed: every round in a process of its own, as it were."""
    task, maker = world(method, device), lambda: make_method(method, CASES[method])
    results, state, found = rounds(task, maker()), None, []
    while (result := next(results, None)) is not None:
        found += [row for rows in result.rows for row in rows]
        if resumed:
            state = on_host(result.state)
            task = world(method, device)
            results = rounds(task, maker(), state)
    return found


def assert_close(ours, theirs):
    assert len(ours) == len(theirs) > ROUNDS
    for row, other in zip(ours, theirs, strict=True):
        assert row["round"] == other["round"]
        assert row["status"] == other["status"]
        for name in ("train_loss_mean", "test_loss", "client_loss_mean"):
            if name in other:
                assert row[name] == pytest.approx(other[name], rel=1e-3, abs=1e-4), name


def test_every_method_is_among_the_cases():
    assert set(CASES) == set(METHODS)


@pytest.mark.parametrize("method", CASES)
def test_no_method_mixes_devices_and_each_resumes_after_every_round(method):
    on_cpu = play(method, "cpu")
    with emulated_gpu():
        straight, resumed = play(method, GPU), play(method, GPU, resumed=True)
    assert resumed == straight
    assert_close(straight, on_cpu)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", CASES)
def test_every_method_on_a_real_gpu_repeats_and_resumes_bit_for_bit(method):
    straight, resumed = play(method, "cuda"), play(method, "cuda", resumed=True)
    assert resumed == straight == play(method, "cuda")
    assert_close(straight, play(method, "cpu"))
