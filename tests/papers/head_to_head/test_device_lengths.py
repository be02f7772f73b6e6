"""Shorter and longer runs in simulated time, side by side by hand."""

import json

import pandas as pd

from fedlib.papers.head_to_head import device_runs
from fedlib.papers.head_to_head.device_lengths import (
    LONG,
    SHORT,
    first_rounds,
    length_words,
    less_with_longer_training,
)

RANDOM = "FedDdrl, random"


def rows_of(rounds, **levels):
    """Runs of so many rounds, an hour each: contestant -> by seed its accuracy (%) in each round."""
    parts = []
    runs = dict(zip(device_runs.CONTESTANTS, device_runs.runs("smoke"), strict=True))
    for name, seeds in levels.items():
        run = runs[name.replace("_", ", ")]
        options = {**run.method_options, **({"episodes": 10} if run.method == "fedddrl" else {})}
        for seed, curve in enumerate(seeds):
            assert len(curve) == rounds
            frame = pd.DataFrame({"round": range(1, rounds + 1), "test_accuracy": [x / 100 for x in curve]})
            parts.append(
                frame.assign(
                    latency_seconds=3600.0, uploads=4.0, rounds=rounds, status="ok", method=run.method,
                    method_options=json.dumps(options), run=f"{name}{seed}", group=run.group_key, seed=seed,
                    profile="smoke",
                )
            )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


FRAMES = {
    LONG: rows_of(
        4,
        FedAvg=[(20, 30, 40, 50), (20, 30, 40, 50)],
        FedDdrl=[(20, 26, 40, 51), (20, 20, 30, 40)],
        FedDdrl_random=[(20, 25, 30, 35), (20, 22, 30, 35)],
    ),
    SHORT: rows_of(
        2,
        FedAvg=[(20, 30), (20, 30)],
        FedDdrl=[(20, 29), (20, 31)],
        FedDdrl_random=[(20, 25), (20, 26)],
    ),
}


def test_the_longer_runs_count_to_the_shorter_ones_end():
    """After two rounds: 29 - 25 and 31 - 26 in the shorter runs, 26 - 25 and 20 - 22 in the longer ones."""
    first = first_rounds(FRAMES.__getitem__)
    assert set(first["round"]) == {1, 2}
    assert set(first["rounds"]) == {2}
    gaps = less_with_longer_training(FRAMES.__getitem__, "FedDdrl", RANDOM)
    assert gaps.round(6).tolist() == [3.0, 7.0]


def test_words_tell_both_lengths_and_the_seeds_far_behind():
    """Of the longer runs one ends a point ahead of FedAvg, one ten points behind."""
    told = " ".join(length_words(FRAMES.__getitem__))
    assert "learned in 20 rounds before; here they did in 40" in told
    assert "FedDdrl in 1 and in 1" in told


def test_nothing_is_told_of_one_length_alone():
    empty = FRAMES[LONG].iloc[:0]
    for frames in ({**FRAMES, SHORT: empty}, {**FRAMES, LONG: empty}, dict.fromkeys(FRAMES, FRAMES[SHORT])):
        assert first_rounds(frames.__getitem__).empty
        assert length_words(frames.__getitem__) == []
        assert less_with_longer_training(frames.__getitem__, "FedDdrl", RANDOM).empty
