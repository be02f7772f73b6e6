"""The short answers of notebook 04 follow from the registered numbers' signs."""

from dataclasses import replace

import pandas as pd
import pytest

from fedlib.analysis.intervals import Interval
from fedlib.papers.frl import headline

NAMES = ("BEHIND_FEDAVG", "LESS_RANDOM", "TRAINED", "MEAN_ROUND", "IN_ALL_ROUNDS", "OVER_PERMUTED")


class Fixed:
    """A number that has its value without rows."""

    artifacts = ("frl/any",)

    def __init__(self, mean):
        self.mean = mean

    def value(self, rows_of):
        return Interval(self.mean, self.mean - 1, self.mean + 1, 3)


@pytest.mark.parametrize(
    ("mean", "first", "second"),
    [
        (
            2.0,
            "EvaluatorFL ends behind FedAvg; its accuracy is above that of",
            "are longer up to the threshold",
        ),
        (-2.0, "EvaluatorFL ends ahead of FedAvg; its accuracy is below that of", "are shorter up to the "),
        (
            0.0,
            "EvaluatorFL ends not clearly apart from FedAvg; its accuracy does not differ",
            "neither clearly",
        ),
    ],
)
def test_the_conclusion_names_the_side_of_each_interval(mean, first, second, monkeypatch):
    for name in NAMES:
        monkeypatch.setattr(headline, name, Fixed(mean))
    monkeypatch.setattr(headline, "NUMBERS", (Fixed(mean),))
    evaluator, rounds, taught = headline.conclusion(lambda name: pd.DataFrame({"row": [0]}))
    assert evaluator.startswith(first)
    assert second in rounds
    assert taught.startswith("Rounds of the same agent taught on permuted rewards are ")
    assert headline.conclusion(lambda name: pd.DataFrame()) == []


def test_the_first_sentence_counts_the_reports_own_claims():
    """`supported, smaller than printed` is another verdict; claims of ours do not count."""
    found = [("supported", False), ("supported, smaller than printed", False), ("not supported", False)]
    records = [{"verdict": verdict, "ours": ours} for verdict, ours in [*found, ("supported", True)]]
    assert headline._supported(records) == "1 of the report's 3 claims are supported. "
    assert headline._supported([]) == ""


def test_the_reason_has_the_sizes_of_the_reward(monkeypatch):
    sizes = {headline.FIRST_ROUND.id: "0.9", headline.OTHER_ROUNDS.id: "0.02"}
    monkeypatch.setattr(headline, "stated", lambda number, rows_of: sizes[number.id])
    assert "its reward is 0.9 there and 0.02 in the other rounds (20 workers)" in headline._why(None)


def test_what_finds_the_fast_among_ten_is_counted():
    """Two of three runs with the draw stored, none of three that explore; of ten workers alone."""
    found = {"schedulerfl_draws": [True, True, False], "schedulerfl_explores": [False] * 3}
    rows = pd.concat(
        pd.DataFrame({"method": name, "workers": 10, "found": own}) for name, own in found.items()
    )
    draws, explores = headline._repairs(pd.concat([rows, rows.assign(workers=100, found=True)]))
    assert draws.endswith("rewarded and stored it finds the fast of ten workers in 2 of 3 runs.")
    assert explores.endswith("kept, it does in none of 3.")
    assert headline._repairs(rows.iloc[:0]) == []


@pytest.mark.parametrize(
    ("ratios", "verdict"), [([0.0, 1.0, 2.0], "supported"), ([-90.0, 0.0, 90.0], "inconclusive")]
)
def test_c14_over_the_same_rounds_of_both_policies(monkeypatch, ratios, verdict):
    """100 log of the scheduler's time over random's: it may not be shorter, within the margin of 5 %."""
    part = replace(headline.OVER_ALL_ROUNDS, estimand=lambda rows: pd.Series(ratios))
    monkeypatch.setattr(headline, "OVER_ALL_ROUNDS", part)
    monkeypatch.setattr(headline, "real_rows", lambda rows: rows)
    (words,) = headline._over_all_rounds(lambda name: pd.DataFrame({"row": [0]}))
    assert words.endswith(f"its second part would be {verdict}.")
    assert headline._over_all_rounds(lambda name: pd.DataFrame()) == []
