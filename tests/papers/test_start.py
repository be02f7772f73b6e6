"""Notebook 00's claims decided on rows made by hand, and its figure drawn from them."""

import pandas as pd
import pytest

from fedlib.papers import start
from fedlib.papers.start_figures import draw_curves


def rows(**accuracies):
    """Two evaluated rounds per method; accuracies[method]: final accuracy of each seed."""
    return pd.DataFrame(
        {
            "method": m,
            "seed": s,
            "round": r,
            "test_accuracy": a * r / 2,
            "dataset": "fmnist",
            "profile": "reduced",
        }
        for m, values in accuracies.items()
        for s, a in enumerate(values)
        for r in (1, 2)
    )


def decide(claim_id, frame):
    return next(c for c in start.CLAIMS if c.id == claim_id).decide(frame)


@pytest.mark.parametrize(
    ("claim", "accuracies", "verdict"),
    [
        ("START-C1", {"fedavg": [0.86, 0.87, 0.88]}, "supported"),
        ("START-C1", {"fedavg": [0.80, 0.81, 0.82]}, "not supported"),
        ("START-C2", {"singleset": [0.8, 0.81, 0.82], "fedavg": [0.5, 0.52, 0.51]}, "supported"),
        ("START-C2", {"singleset": [0.8, 0.5, 0.6], "fedavg": [0.5, 0.7, 0.6]}, "mixed"),
        ("START-C2", {"singleset": [0.8], "fedavg": [0.5]}, "not testable at this scale"),
        ("START-C3", {"fedprox": [0.5, 0.6, 0.7], "fedavg": [0.5, 0.6, 0.701]}, "supported"),
        ("START-C3", {"fedprox": [0.6, 0.7, 0.8], "fedavg": [0.5, 0.6, 0.701]}, "not supported"),
    ],
)
def test_claims_on_rows_by_hand(claim, accuracies, verdict):
    assert decide(claim, rows(**accuracies)).verdict == verdict


def test_smoke_data_cannot_decide_the_claim_about_all_images():
    frame = rows(fedavg=[0.9, 0.9, 0.9]).assign(dataset="fmnist-embedded")
    assert decide("START-C1", frame).verdict == "not testable at this scale"


def test_every_profile_has_a_grid_and_the_figure_is_written(tmp_path):
    for profile in ("smoke", "reduced", "paper"):
        assert {run.method for run in start.curve_runs(profile)} == set(start.CURVE_METHODS)
    path = draw_curves(rows(fedavg=[0.5, 0.6]), tmp_path)
    assert path == tmp_path / "start" / "curves.png"
    assert path.stat().st_size > 10_000
