"""Our baselines beside the public benchmark: verdicts, diverged runs, sentences."""

import numpy as np
import pandas as pd
import pytest

from fedlib.analysis.intervals import Interval
from fedlib.papers.head_to_head import agreement, public, quantities, tables
from fedlib.papers.head_to_head.artifacts import ARTIFACTS
from tests.support.head_to_head_rows import benchmark_rows


def _rows(niid_bench):
    """Rows of these for NIID-Bench, none for any other artifact."""
    return lambda name: niid_bench if name == "head_to_head/benchmark" else pd.DataFrame()


@pytest.mark.parametrize(
    ("accuracies", "rounds", "verdict"),
    [
        ([0.879, 0.881, 0.882], 50, "supported"),  # 88.09 public, margin 1
        ([0.80, 0.81, 0.80], 50, "not supported"),
        ([0.86, 0.88, 0.88], 50, "inconclusive"),
        ([0.879, 0.881, 0.882], 5, "not testable here"),
        ([0.881], 50, "not testable here"),
    ],
)
def test_equivalence_with_the_public_benchmark(accuracies, rounds, verdict):
    rows = benchmark_rows("fedavg", accuracies, rounds)
    (line,) = quantities.benchmark_cells(rows).to_dict("records")
    assert (line["public"], line["margin"], line["verdict"]) == (88.09, 1.0, verdict)
    assert line["difference"].mean == pytest.approx(100 * np.mean(accuracies) - 88.09)
    (shown,) = tables.benchmark(rows).to_dict("records")
    assert shown["method"] == "FedAvg"
    assert shown["public (%)"] == "88.09 ± 0.29"
    assert shown["margin"] == "1.00"
    assert shown["verdict"] == tables.AGREEMENT[verdict]


def test_the_benchmark_counts_runs_that_diverged():
    """One of three diverges in round 3 at its best, 30 %: the mean is (88 + 88 + 30) / 3 = 68.67."""
    (benchmark,) = (one for one in ARTIFACTS if one.name == "benchmark")
    assert benchmark.counts_failed
    rows = benchmark_rows("scaffold", [0.88, 0.88, 0.3])
    last = (rows["run"] == "scaffold2") & (rows["round"] == 50)
    rows = rows.assign(
        status=rows.status.where(~last, "failed: test_loss is nan in round 3"),
        round=rows["round"].where(~last, 3),
    )
    (line,) = quantities.benchmark_cells(rows).to_dict("records")
    assert line["ours"] == pytest.approx(68.67, abs=0.01)
    assert (line["rounds"], line["seeds"], line["diverged"]) == (50, 3, 1)
    assert line["verdict"] == "inconclusive"  # of three runs: were it dropped, two would agree
    (shown,) = tables.benchmark(rows).to_dict("records")
    assert shown["ours (%)"].endswith(", 3 seeds, 1 diverged")


def test_the_benchmark_is_told_in_words():
    rows = pd.concat(
        [benchmark_rows("fedavg", [0.879, 0.881, 0.882]), benchmark_rows("fedprox", [0.7, 0.7, 0.71])]
    )
    brief, differ, apart = agreement.answer(_rows(rows))
    assert apart.startswith("Of the 1 that agree 1 would with another method's number of the same cell, too")
    assert brief == (
        "2 baselines stand beside the public benchmark NIID-Bench, in 2 comparisons. In 1 ours agree (within "
        "1 point); in 1 they differ; in none it is undecided."
    )
    assert agreement.in_brief(_rows(rows)) == [brief]
    assert differ.startswith("Ours differ: FedProx in Dirichlet shares (0.5) of Fashion-MNIST by −17.8 [")
    (alone,) = agreement.answer(_rows(benchmark_rows("fedavg", [0.879, 0.881, 0.882])))
    assert alone.startswith(
        "1 baseline stands beside the public benchmark NIID-Bench, in 1 comparison. In 1 "
    )
    assert "; in none they differ; " in alone
    wide = pd.concat([rows, benchmark_rows("fednova", [0.85, 0.88, 0.91])])
    told = agreement.answer(_rows(wide))
    cell = "FedNova in Dirichlet shares (0.5) of Fashion-MNIST"
    assert told[2] == f"Our interval is wider than the margin for {cell}."
    (told,) = agreement.answer(_rows(benchmark_rows("fedavg", [0.8, 0.8], rounds=2)))
    assert told == "The public benchmark needs 50 rounds and two seeds; ours stand at 2 rounds."
    assert agreement.answer(lambda name: pd.DataFrame()) == []


def test_agreement_within_a_wide_margin_is_told_with_it():
    """Public runs of SD 5.03: 4 points above agree, though the interval leaves out 0."""
    public = {"method": ["scaffold"], "dataset": ["fmnist"], "cell": ["label_quantity 3"]}
    line = pd.DataFrame({**public, "margin": [10.06], "verdict": ["supported"]})
    assert agreement._widely(line) == (
        "For SCAFFOLD in 3 labels a client of Fashion-MNIST to agree says little (within 10 points): the "
        "margin is two public standard deviations."
    )
    assert agreement._widely(line.assign(margin=2.9)) == ""
    assert agreement._widely(line.assign(verdict="inconclusive")) == ""


def test_whether_another_methods_number_would_agree_too_is_counted():
    """FedAvg's 88 +- 0.2 lies within a point of FedNova's 88.5, not of SCAFFOLD's 90."""
    shared = {"benchmark": "niid_bench", "dataset": "fmnist", "cell": "iid", "margin": 1.0}
    line = pd.DataFrame({"method": ["fedavg", "fednova", "scaffold"], "public": [88.0, 88.5, 90.0], **shared})
    line["difference"] = [Interval(0.0, -0.2, 0.2, 3)] * 3
    line["verdict"] = ["supported", "inconclusive", "inconclusive"]
    assert agreement._not_apart(line).startswith("Of the 1 that agree 1 would with another method's number")
    assert agreement._not_apart(line[line.method != "fednova"]) == ""


def test_public_numbers_that_were_not_run_stand_apart():
    """FedAvg's number of one cell is run whole, FedProx's with two rounds; 60 numbers are NIID-Bench's."""
    whole, short = benchmark_rows("fedavg", [0.88] * 3), benchmark_rows("fedprox", [0.8] * 3, rounds=2)
    rows = pd.concat([whole, short])
    left = tables.benchmark_not_run(rows).set_index("data")
    assert left.index.is_unique
    assert list(left.columns) == ["FedAvg", "SCAFFOLD", "FedProx", "FedNova"]
    same = left.loc["Fashion-MNIST, Dirichlet shares (0.5)"]
    assert (same["FedAvg"], same["FedProx"]) == ("", "88.15 ± 0.42")
    assert (left != "").to_numpy().sum() == 60 - 1
    others = tables.other_benchmarks(rows).set_index(["benchmark", "data"])
    assert others.loc["FLGo-Bench", "MNIST, Dirichlet shares (0.1)"]["FedDyn"] == "98.89 ± 0.04"
    assert (others != "").to_numpy().sum() == 9


def test_fedbench_is_judged_by_the_last_round():
    """FedYogi's public number is of round 50, 98.86: 98.9, 98.8 and 99.0 agree; a best of 99.9 counts not."""
    rows = benchmark_rows("fedyogi", [0.989, 0.988, 0.990], grid=public.fedbench)
    rows = rows.assign(test_accuracy=rows.test_accuracy.where(rows["round"] == 50, 0.999))
    (line,) = quantities.benchmark_cells(rows).to_dict("records")
    assert (line["benchmark"], line["public"], line["margin"]) == ("fedbench", 98.86, 1.0)
    assert line["ours"] == pytest.approx(98.9)
    assert line["verdict"] == "supported"
    left = tables.benchmark_not_run(rows).set_index("data")
    assert left.loc["MNIST, Dirichlet shares (0.5)"].to_dict() == {
        "FedAvg": "98.85 ± 0.05", "FedNova": "98.97 ± 0.03", "FedYogi": "", "FedAdam": "98.46 ± 0.02"
    }  # fmt: skip


def test_both_benchmarks_are_told_and_counted_together():
    of = {
        "head_to_head/benchmark": benchmark_rows("fedavg", [0.879, 0.881, 0.882]),
        "head_to_head/fedbench": benchmark_rows("fedyogi", [0.95, 0.951, 0.95], grid=public.fedbench),
    }
    brief, differ = agreement.answer(lambda artifact: of[artifact])
    assert brief.startswith(
        "2 baselines stand beside the public benchmarks NIID-Bench and FedBench, in 2 comp"
    )
    assert differ.startswith("Ours differ: FedYogi in Dirichlet shares (0.5) of MNIST by −3.83 [")


def test_cells_of_the_benchmark_with_more_seeds_are_told():
    judged = pd.DataFrame(
        {
            "method": ["fedavg", "fednova"],
            "dataset": ["fmnist"] * 2,
            "cell": ["dirichlet 0.5 cap"] * 2,
            "seeds": [3, 4],
        }
    )
    assert agreement._added_later(judged) == (
        "FedNova in Dirichlet shares (0.5) of Fashion-MNIST had seeds added when the first had been "
        "looked at (HEAD-A16); no interval is corrected for that."
    )
    assert agreement._added_later(judged[:1]) == ""
