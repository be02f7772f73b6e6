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
    """Of the accuracy on each data set alone; of the return on their mean and on each."""
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed(gain), None)})
    alone = {"MNIST": Fixed(gap), "CIFAR-10": Fixed("more")}
    monkeypatch.setattr(headline, "BY_DATA", {"drop_slowest": alone})
    returns = {"MNIST": Fixed("undecided"), "CIFAR-10": Fixed(gain)}
    monkeypatch.setattr(headline, "RETURN_BY_DATA", {"drop_slowest": returns})
    monkeypatch.setattr(headline, "FULL_LESS", {"random_drop": (Fixed(gap), Fixed(gain))})
    monkeypatch.setattr(headline, "FULL_BY_DATA", {"random_drop": alone})
    monkeypatch.setattr(headline, "LESS_RANDOM_FIFTH", (Fixed(gain), None))
    monkeypatch.setattr(headline, "LESS_FASTEST_FIFTH", (Fixed(gap), None))
    monkeypatch.setattr(headline, "FULL_FASTEST_FIFTH", (Fixed(gain), None))
    monkeypatch.setattr(headline, "TRAINED", Fixed(gap))
    monkeypatch.setattr(headline, "rank_answer", lambda rows: ("in words", "in correlations"))
    assert headline.conclusion(lambda name: pd.DataFrame()) == [
        "Do the agents earn more return than rules?",
        f"Against keeping the fastest clients at as many uploads: mean return {gain} (MNIST undecided, "
        f"CIFAR-10 {gain}); accuracy {gap} on MNIST, more on CIFAR-10.",
        f"Against keeping a fifth at random: mean return {gain}.",
        f"Against keeping the fastest fifth: mean return {gap}.",
        f"Against its untrained agents (R1): mean return {gap}.",
        "With clients of the paper's size, against dropping clients at random: mean return "
        f"{gap} (MNIST {gap}, CIFAR-10 more), mean accuracy {gain}.",
        f"There, against keeping the fastest fifth: mean return {gain}.",
        "in correlations",
    ]


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        ("more", "above keeping the fastest"),
        ("less", "below keeping the fastest"),
        ("undecided", "undecided against keeping the fastest"),
    ],
)
@pytest.mark.parametrize(
    ("side", "level"),
    [("less", "below that of"), ("more", "above that of"), ("undecided", "undecided against")],
)
def test_the_first_line_answers_in_short(monkeypatch, gain, words, side, level):
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed(gain), None)})
    monkeypatch.setattr(headline, "PROMISED", (None, None, Fixed(side)))
    monkeypatch.setattr(headline, "TRAINED", Fixed("undecided"))
    monkeypatch.setattr(headline, "FULL_LESS", {"drop_slowest": (Fixed("less"), None)})
    monkeypatch.setattr(headline, "AT_FULL_SIZE", (None, None, Fixed("absent")))
    told = (
        f"**In short.** With 30 or 40 images a client FedDdrl's return is {words}, at as many uploads. Its "
        f"accuracy is {level} FedAvg with Balanced-MixUp. Keeping the fastest fifth has more return. That "
        "training adds to the return does not show."
    )
    monkeypatch.setattr(headline, "LESS_FASTEST_FIFTH", (Fixed("less"), None))
    end = " All of these are means over MNIST."
    assert headline._in_short("MNIST", lambda name: pd.DataFrame()) == [told + end]
    monkeypatch.setattr(headline, "AT_FULL_SIZE", (None, None, Fixed("undecided")))
    assert headline._in_short("MNIST", lambda name: pd.DataFrame()) == [
        f"{told} With 500 or 600, as in the paper, the return is below keeping the fastest, at as "
        f"many uploads. Its accuracy is undecided against FedAvg with Balanced-MixUp.{end}"
    ]


@pytest.mark.parametrize(("lead", "told"), [("undecided", True), ("more", False)])
def test_a_lead_below_the_half_width_cannot_be_told_from_training(monkeypatch, lead, told):
    """The half-width of +0.1 [-0.5, +0.7] is 0.6: above a lead of 0.1, below one of 1."""
    for name in ("TRAINED", "NOT_PERMUTED"):
        monkeypatch.setattr(headline, name, Fixed("undecided"))
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed(lead), None)})
    monkeypatch.setattr(headline, "stated", lambda number, rows_of: f"<{number.side}>")
    monkeypatch.setattr(headline, "seeds_of", lambda number, rows_of: " (5 seeds)")
    monkeypatch.setattr(headline, "UNTRAINED_LESS_RANDOM", Fixed("more"))
    (words,) = headline._learned(lambda name: pd.DataFrame())
    lead, words = words.partition(" Untrained agents' return less that of as many clients at random is ")[
        ::-2
    ]
    assert lead.startswith("+1.00 [+0.50, +1.50] (")
    assert lead.endswith("were known): that lead needs no training. With larger clients none were run.")
    start = (
        "**What does training add?** FedDdrl's return less that of its untrained agents is <undecided>, less "
        "that of agents trained on permuted rewards <undecided> (5 seeds). "
    )
    cannot = "The first interval reaches further from its mean than FedDdrl's return lies from either rule's."
    assert words.startswith(start + (cannot if told else "A lead over a rule is no proof"))


def test_without_rows_of_returns_no_reason_is_given():
    assert headline._why(lambda name: pd.DataFrame()) == []


@pytest.mark.parametrize(
    ("level", "question"),
    [
        ("less", "Why not more accuracy?"),
        ("undecided", "Why not more accuracy?"),
        ("more", "What does the return pay?"),
    ],
)
def test_the_reason_names_the_price_of_a_client_and_the_ranks(monkeypatch, level, question):
    monkeypatch.setattr(headline, "PROMISED", (None, None, Fixed(level)))
    monkeypatch.setattr(headline, "rank_answer", lambda rows: ("Ranks.", "in correlations"))
    monkeypatch.setattr(headline, "real_images", lambda rows: (rows, "MNIST"))
    monkeypatch.setattr(headline, "price_in_short", lambda rows: "A price.")
    assert headline._why(lambda name: pd.DataFrame()) == [f"**{question}** A price. Ranks."]


def test_the_table_of_leads_has_a_line_for_each_rule_that_was_run(monkeypatch):
    """[0.01, 2.01] is barely above 0: 0.01 is less than a twentieth of half its width."""
    monkeypatch.setitem(SIDES, "barely", Interval(1.01, 0.01, 2.01, 3))
    absent = (Fixed("absent"), Fixed("absent"))
    monkeypatch.setattr(headline, "LESS_RULE", {"drop_slowest": (Fixed("less"), Fixed("barely"))})
    monkeypatch.setattr(headline, "FULL_LESS", {"drop_slowest": (Fixed("more"), Fixed("absent"))})
    monkeypatch.setattr(headline, "LESS_RANDOM_FIFTH", absent)
    monkeypatch.setattr(headline, "LESS_FASTEST_FIFTH", (Fixed("undecided"), Fixed("more")))
    monkeypatch.setattr(headline, "FULL_RANDOM_FIFTH", absent)
    monkeypatch.setattr(headline, "FULL_FASTEST_FIFTH", (Fixed("less"), Fixed("absent")))
    table = headline.leads(lambda name: pd.DataFrame()).set_index("FedDdrl less keeping")
    small, large = (f"{size} images a client" for size in ("30 or 40", "500 or 600"))
    assert list(table) == [
        f"{size}: {of}" for size in (small, large) for of in ("return", "accuracy (points)")
    ]
    assert table.T.to_dict("list") == {
        "as many, the fastest": [
            "−1.00 [−1.50, −0.50]", "+1.01 [+0.01, +2.01] (barely)", "+1.00 [+0.50, +1.50]", "–",
        ],
        "a fifth, the fastest": [
            "+0.10 [−0.50, +0.70]", "+1.00 [+0.50, +1.50]", "−1.00 [−1.50, −0.50]", "–",
        ],
    }  # fmt: skip
    for name in ("LESS_RULE", "FULL_LESS"):
        monkeypatch.setattr(headline, name, {"drop_slowest": absent})
    monkeypatch.setattr(headline, "LESS_FASTEST_FIFTH", absent)
    monkeypatch.setattr(headline, "FULL_FASTEST_FIFTH", absent)
    assert headline.leads(lambda name: pd.DataFrame()).empty


def test_the_seeds_of_the_table_stand_before_it(monkeypatch):
    monkeypatch.setattr(headline, "LESS_RULE", {"random_drop": (Fixed("more"), None)})
    monkeypatch.setattr(headline, "FULL_LESS", {"random_drop": (Fixed("absent"), None)})
    (words,) = headline._rules("MNIST", lambda name: pd.DataFrame())
    assert "(means over MNIST; 5 seeds; by data set in sections 8 and 10)" in words
    monkeypatch.setattr(headline, "FULL_LESS", {"random_drop": (Fixed("less"), None)})
    (words,) = headline._rules("MNIST", lambda name: pd.DataFrame())
    assert "(means over MNIST; 5 seeds, 5 with 500 or 600 images a client; by data set" in words
    monkeypatch.setattr(headline, "LESS_RULE", {"random_drop": (Fixed("absent"), None)})
    assert headline._rules("MNIST", lambda name: pd.DataFrame()) == []


def test_without_rows_there_is_no_conclusion():
    assert headline.conclusion(lambda name: pd.DataFrame()) == []


def test_a_point_of_accuracy_is_worth_a_twentieth_of_return():
    """As the first screen says, by the printed weights."""
    assert GAIN * FedDdrl().w1 / 100 == pytest.approx(1 / 20, rel=0.01)


@pytest.mark.parametrize(
    ("side", "says"),
    [("more", "it stands in that unit, too"), ("less", "it is a loss in that unit"),
     ("undecided", "it hangs on the unit")],
)  # fmt: skip
def test_the_lead_in_the_other_unit_of_latency(monkeypatch, side, says):
    monkeypatch.setattr(headline, "BY_COHORT", Fixed(side))
    told = headline._in_the_other_unit(lambda name: pd.DataFrame())
    assert told.endswith(f": {says}.")
    monkeypatch.setattr(headline, "BY_COHORT", Fixed("absent"))
    assert headline._in_the_other_unit(lambda name: pd.DataFrame()) == ""


def test_fedmarl_is_answered_beside_what_is_saved(monkeypatch):
    monkeypatch.setattr(headline, "LESS_LATENCY_C", Fixed("undecided"))
    monkeypatch.setattr(headline, "LESS_ACCURACY_C", Fixed("less"))
    assert headline._against_c(lambda name: pd.DataFrame()) == (
        " Of FedAvg's latency it saves +0.10 [−0.50, +0.70] % against FedMarl with Balanced-MixUp (C) "
        "(undecided); its accuracy less FedMarl's is −1.00 [−1.50, −0.50] points (less)."
    )
    monkeypatch.setattr(headline, "LESS_ACCURACY_C", Fixed("absent"))
    assert headline._against_c(lambda name: pd.DataFrame()) == ""
