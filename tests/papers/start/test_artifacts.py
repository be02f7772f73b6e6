"""Notebook 00's claims decided on rows made by hand, and its figure drawn from them."""

import pandas as pd
import pytest
import torch
from claims import decide

from fedlib.engine import forward
from fedlib.models import make_model
from fedlib.papers import find_artifact
from fedlib.papers.start import runs, tables
from fedlib.papers.start.claims import CLAIMS
from fedlib.papers.start.headline import headline
from fedlib.reporting.figure_files import draw_figure


def rows(**accuracies):
    """Two evaluated rounds per method; accuracies[method]: final accuracy of each seed."""
    return pd.DataFrame(
        {
            "method": m,
            "method_options": '{"mu": 0.01}' if m == "fedprox" else "{}",
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


@pytest.mark.parametrize(
    ("claim", "accuracies", "verdict"),
    [
        ("START-C1", {"fedavg": [0.86, 0.87, 0.88]}, "inconclusive"),  # 87 [84.5, 89.5]
        ("START-C1", {"fedavg": [0.87, 0.875, 0.88]}, "supported"),
        ("START-C1", {"fedavg": [0.80, 0.81, 0.82]}, "not supported"),
        ("START-C2", {"singleset": [0.8, 0.81, 0.82], "fedavg": [0.5, 0.52, 0.51]}, "supported"),
        ("START-C2", {"singleset": [0.8, 0.5, 0.6], "fedavg": [0.5, 0.7, 0.6]}, "inconclusive"),
        ("START-C2", {"singleset": [0.8], "fedavg": [0.5]}, "not testable here"),
        ("START-C3", {"fedprox": [0.5, 0.6, 0.7], "fedavg": [0.5, 0.6, 0.701]}, "supported"),
        ("START-C3", {"fedprox": [0.6, 0.7, 0.8], "fedavg": [0.5, 0.6, 0.701]}, "not supported"),
    ],
)
def test_claims_on_rows_by_hand(claim, accuracies, verdict):
    assert decide(CLAIMS, claim, rows(**accuracies)).verdict == verdict


def test_smoke_data_cannot_decide_the_claim_about_all_images():
    frame = rows(fedavg=[0.9, 0.9, 0.9]).assign(dataset="fmnist-embedded")
    assert decide(CLAIMS, "START-C1", frame).verdict == "not testable here"


def test_curves_too_short_to_be_judged_decide_nothing():
    frame = rows(singleset=[0.8, 0.81, 0.82], fedavg=[0.5, 0.52, 0.51])
    found = decide(CLAIMS, "START-C2", frame, gates=True)
    assert found.verdict == "not testable here"
    assert "2 of 2 curves have fewer than three evaluated rounds" in found.evidence


def test_a_finished_cell_of_feddrl_decides_what_is_too_short_here():
    """Uniform weights, another variant of FedAvg, are not FedAvg; SingleSet has fewer rounds, all flat."""
    made = rows(singleset=[0.8, 0.81, 0.82], fedavg=[0.5, 0.52, 0.51], fedprox=[0.5, 0.52, 0.51])
    equal = rows(fedavg=[0.7, 0.8, 0.9]).assign(method_options='{"weights": "uniform"}')
    flat = pd.concat([made[made["round"] == 2].assign(round=r) for r in range(1, 21)])
    long = pd.concat([flat, equal, made[made.method != "singleset"].assign(round=1000).drop_duplicates(
        ["method", "seed"], keep="last")])  # fmt: skip
    for claim in ("START-C2", "START-C3"):
        found = decide(CLAIMS, claim, long, gates=True)
        assert found.verdict == "supported"
        assert next(c for c in CLAIMS if c.id == claim).fallback == ("feddrl/paper_length",)
    assert decide(CLAIMS, "START-C2", long).effects[0].interval.mean == pytest.approx(30.0)


def test_every_profile_has_a_grid_and_the_figure_is_written(tmp_path):
    for profile in ("smoke", "reduced", "paper"):
        assert {run.method for run in runs.curve_runs(profile)} == set(runs.CURVE_METHODS)
    path = draw_figure(find_artifact("start/curves"), rows(fedavg=[0.5, 0.6]), tmp_path)
    assert path == tmp_path / "start" / "curves.png"
    assert path.stat().st_size > 10_000


def test_bfloat16_is_compared_with_float32_cell_by_cell_and_seed_by_seed():
    runs = find_artifact("start/bf16").runs("reduced")
    assert len(runs) == 2 * len({run.cell for run in runs}) == 6
    assert [run.precision for run in runs] == ["float32", "bf16"] * 3
    cells = [
        rows(fedavg=[0.5, 0.6, 0.7]).assign(partition=run.partition, precision=run.precision) for run in runs
    ]
    assert decide(CLAIMS, "START-C4", pd.concat(cells)).verdict == "supported"
    far = pd.concat(
        [cell.assign(test_accuracy=cell.test_accuracy * (1 + at % 2)) for at, cell in enumerate(cells)]
    )
    assert decide(CLAIMS, "START-C4", far).verdict == "not supported"


def test_at_full_length_every_cell_can_train_in_bfloat16_without_tiles(monkeypatch):
    """Else a processor without AMX would compare float32 with itself."""
    monkeypatch.setattr(forward, "has_tiles", lambda: False)
    monkeypatch.setattr(forward, "multiplies_bfloat16", lambda: True)
    found = find_artifact("start/bf16").runs("extended")
    assert {(run.rounds, run.partition) for run in found} == {(300, "ce"), (300, "pa"), (300, "iid")}
    cpu = torch.device("cpu")
    for run in found:
        model = make_model(run.model, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)
        assert forward.choose_precision(run.precision, model, cpu) == run.precision


def test_precisions_are_compared_seed_by_seed():
    frame = pd.concat(
        rows(fedavg=levels).assign(precision=name, model="lenet", partition="ce")
        for name, levels in {"float32": [0.5, 0.7], "bf16": [0.51, 0.73]}.items()
    )
    (line,) = tables.precisions(frame).to_dict("records")
    assert (line["float32"], line["bfloat16"], line["seeds"]) == (60, 62, 2)
    assert line["difference"].startswith("+2")  # 1 and 3 points


def at_length(rounds):
    made = rows(singleset=[0.88, 0.89], fedavg=[0.77, 0.78], fedprox=[0.78, 0.79]).assign(rounds=rounds)
    equal = rows(fedavg=[0.5, 0.6]).assign(method_options='{"weights": "uniform"}', rounds=rounds)
    made.loc[made.method == "singleset", "rounds"] = 200  # epochs
    return pd.concat([made, equal])


@pytest.mark.parametrize(
    ("proximal", "words"),
    [
        ([0.6, 0.7], "A proximal term that holds clients close to the global model (FedProx) raises "),
        ([0.4, 0.5], "A proximal term that holds clients close to the global model (FedProx) lowers "),
        ([0.4, 0.7], "(FedProx) changes FedAvg's accuracy does not show: +0 [−127, +127] points."),
    ],
)
def test_the_headline_says_what_a_proximal_term_does_by_its_interval(proximal, words):
    short = rows(singleset=[0.8, 0.9], fedavg=[0.5, 0.6], fedprox=proximal).assign(num_clients=10)
    told = headline(lambda name: short if name == "start/curves" else pd.DataFrame())
    assert words in told[1]
    assert told[1].startswith("That a proximal" if "does not show" in words else "A proximal")


def test_the_headline_tells_the_cell_at_length_where_it_was_run():
    """FedAvg ends 11 points below the union in both seeds, FedProx one above; uniform weights apart."""
    short = rows(singleset=[0.8, 0.9], fedavg=[0.5, 0.6], fedprox=[0.5, 0.6]).assign(num_clients=10)
    told = headline(lambda name: short if name == "start/curves" else at_length(1000))
    assert told[2].endswith(
        "FedAvg ends −11.00 [−11.00, −11.00] points against 200 epochs of training on the union, and its "
        "best round is −11.00 [−11.00, −11.00] points against theirs. FedProx ends "
        "+1.00 [+1.00, +1.00] points against FedAvg."
    )
    for missing in (pd.DataFrame(), at_length(40), at_length(1000).query("method != 'singleset'")):
        assert len(headline(lambda name, rows=missing: short if name == "start/curves" else rows)) == 2
