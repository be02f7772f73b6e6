"""The answer of notebook 03 follows from the registered numbers."""

import pandas as pd
import pytest

from fedlib.analysis.intervals import Interval
from fedlib.methods.fedddrl.method import GAIN, FedDdrl
from fedlib.papers.fedddrl import headline

SIDES = {"more": Interval(1.0, 0.5, 1.5, 5), "less": Interval(-1.0, -1.5, -0.5, 5)}
SIDES |= {"undecided": Interval(0.1, -0.5, 0.7, 5)}


class Fixed:
    """A number that has its value without rows."""

    def __init__(self, side):
        self.side = side

    def value(self, rows_of):
        return SIDES.get(self.side)


@pytest.mark.parametrize("gain", SIDES)
@pytest.mark.parametrize("gap", SIDES)
def test_the_conclusion_names_the_side_of_each_interval(monkeypatch, gain, gap):
    """Of the accuracy on each data set alone; the mean over them is not asked."""
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed(gain), None)})
    alone = {"MNIST": Fixed(gap), "CIFAR-10": Fixed("more")}
    monkeypatch.setattr(headline, "BY_DATA", {"drop_slowest": alone})
    monkeypatch.setattr(headline, "FULL_LESS", {"random_drop": (Fixed(gap), Fixed(gain))})
    monkeypatch.setattr(headline, "LESS_RANDOM_FIFTH", Fixed(gain))
    monkeypatch.setattr(headline, "TRAINED", Fixed(gap))
    assert headline.conclusion(lambda name: pd.DataFrame()) == [
        "Do the agents earn more return, and does it help accuracy?",
        f"Against dropping the slowest clients at as many uploads: return {gain}; accuracy {gap} on MNIST, "
        "more on CIFAR-10.",
        "With clients of the paper's size: against dropping clients at random "
        f"return {gap}, accuracy {gain}.",
        f"Against keeping a fifth at random: return {gain}.",
        f"Against its untrained agents (R1): return {gap}.",
    ]


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        ("more", "higher than by dropping the slowest clients"),
        ("less", "lower than by dropping the slowest clients"),
        ("undecided", "undecided against dropping the slowest clients"),
    ],
)
@pytest.mark.parametrize(("side", "level"), [("less", "below"), ("more", "above")])
def test_the_first_line_answers_in_short(monkeypatch, gain, words, side, level):
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed(gain), None)})
    monkeypatch.setattr(headline, "PROMISED", (None, None, Fixed(side)))
    monkeypatch.setattr(headline, "TRAINED", Fixed("undecided"))
    assert headline._in_short(lambda name: pd.DataFrame()) == [
        f"In short: FedDdrl's return is {words}, at as many uploads. Its accuracy is {level} that of FedAvg "
        "with Balanced-MixUp. That training adds to the return does not show."
    ]


def test_without_rows_there_is_no_conclusion():
    assert headline.conclusion(lambda name: pd.DataFrame()) == []


def test_a_point_of_accuracy_is_worth_a_twentieth_of_return():
    """As the first screen says, by the printed weights."""
    assert GAIN * FedDdrl().w1 / 100 == pytest.approx(1 / 20, rel=0.01)
