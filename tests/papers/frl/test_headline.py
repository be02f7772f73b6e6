"""The short answers of notebook 04 follow from the registered numbers' signs."""

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
