"""The forest plot of claims: one line per part, right of 0 as the paper claims."""

import math

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from fedlib.plotting.forest import VERDICT_COLOURS, plot_claims, plot_published

EFFECTS = pd.DataFrame(
    {
        "claim": ["A-C1", "A-C2"], "part": ["ours - theirs", "one seed only"],
        "kind": ["superiority", "superiority"],
        "part_verdict": ["supported", "inconclusive"], "effect": [2.0, -1.0],
        "effect_low": [1.0, math.nan], "effect_high": [3.0, math.nan], "unit": ["points", "s"],
        "printed": [4.0, math.nan], "margin": [2.0, 0.5],
        "place": ["table 1", "ours: Fashion-MNIST"], "seeds": [5, 3],
    }
)  # fmt: skip


@pytest.fixture
def axis():
    figure = plot_claims(EFFECTS)
    yield figure.axes[0]
    plt.close(figure)


def test_effects_stand_over_the_smallest_effect_of_interest(axis):
    points = [line.get_xydata()[0].tolist() for line in axis.lines if line.get_marker() == "o"]
    assert points == [pytest.approx([1.0, 0.42]), pytest.approx([-2.0, 0.84])]
    spans = [line.get_xdata() for line in axis.lines if line.get_linewidth() == 2.5]
    assert [list(span) for span in spans] == [[0.5, 1.5]]


def test_the_published_value_is_a_diamond_and_colours_are_verdicts(axis):
    diamonds = [line.get_xydata()[0].tolist() for line in axis.lines if line.get_marker() == "D"]
    assert diamonds == [pytest.approx([2.0, 0.42])]
    colours = [line.get_color() for line in axis.lines if line.get_marker() == "o"]
    assert colours == [VERDICT_COLOURS["supported"], VERDICT_COLOURS["inconclusive"]]


def _in_one_line(text):
    return " ".join(text.split())


def test_claims_of_equality_are_squares_and_the_axis_says_so(axis):
    assert "as claimed: right of 0\n" in axis.get_xlabel()
    figure = plot_claims(EFFECTS.assign(kind=["superiority", "equivalence"]))
    other = figure.axes[0]
    assert [line.get_marker() for line in other.lines if line.get_marker() in ("o", "s")] == ["o", "s"]
    assert "as claimed: right of 0, a square in the shade (axis" in _in_one_line(other.get_xlabel())
    plt.close(figure)


def test_claims_about_every_cell_are_triangles_and_the_axis_says_so():
    figure = plot_claims(EFFECTS.assign(kind=["superiority", "everywhere"]))
    axis = figure.axes[0]
    assert [line.get_marker() for line in axis.lines if line.get_marker() in ("o", "^")] == ["o", "^"]
    assert "right of 0, a triangle right of the shade's left edge (axis" in _in_one_line(axis.get_xlabel())
    plt.close(figure)


def test_the_axis_says_where_it_is_linear(axis):
    """At 2 the asinh of x / 2 is 0.88, a straight line would have 1; at 100 it is 4.6, not 50."""
    assert axis.get_xlabel().endswith("(axis linear near 0, logarithmic beyond ±2)")
    at = axis.transScale.transform([(x, 0) for x in (0.0, 0.2, 2.0, 100.0)])[:, 0] / 2
    assert at.tolist() == pytest.approx([0, 0.0998, 0.8814, 4.6053], abs=1e-3)


def test_numbers_with_units_stand_at_the_right(axis):
    labels = [text.get_text() for text in axis.child_axes[0].get_yticklabels()]
    assert labels == ["+2.0 [+1.0, +3.0] points", "−1.0 s"]


def test_no_interval_stands_where_all_seeds_are_equal():
    """No width is no certainty: the words are those of the evidence."""
    flat = EFFECTS.assign(effect=[0.0, -1.0], effect_low=[0.0, -1.0], effect_high=[0.0, -1.0])
    figure = plot_claims(flat)
    labels = [text.get_text() for text in figure.axes[0].child_axes[0].get_yticklabels()]
    assert labels == ["0 points in each of 5 seeds", "−1.0 s in each of 3 seeds"]
    plt.close(figure)


def test_a_published_value_leaves_ours_to_be_seen(axis):
    """An open diamond above the dot, wider than it."""
    (diamond,) = [line for line in axis.lines if line.get_marker() == "D"]
    dots = [line for line in axis.lines if line.get_marker() == "o"]
    assert diamond.get_markerfacecolor() == "none"
    assert all(diamond.get_markersize() > 1.5 * dot.get_markersize() for dot in dots)
    assert all(diamond.get_zorder() > dot.get_zorder() for dot in dots)


def test_names_stand_above_their_lines_and_a_long_one_makes_room_for_itself(axis):
    assert [text.get_text() for text in axis.texts] == [
        "C1  ours - theirs",
        "C2  one seed only: Fashion-MNIST",
    ]
    assert [text.get_position()[1] for text in axis.texts] == pytest.approx([0.32, 0.74])
    figure = plot_claims(EFFECTS.assign(part=["ours - theirs", "rounds " * 20]))
    assert figure.axes[0].texts[1].get_text().count("\n") == 1
    assert figure.get_figheight() - axis.figure.get_figheight() == pytest.approx(0.18)
    plt.close(figure)


def test_many_lines_are_small_and_keep_their_names():
    """40 lines of 0.32 inches in place of 0.42: 4 inches less, and a name of 90 letters on one line."""
    lines = pd.concat([EFFECTS] * 20, ignore_index=True).assign(part="r" * 86, place="table 1")
    many, few = plot_claims(lines), plot_claims(lines[:39].assign(part="short"))
    assert many.get_figheight() == pytest.approx(40 * 0.32 + 1.9)
    assert few.get_figheight() == pytest.approx(39 * 0.42 + 1.9)
    (small, *_), (usual, *_) = many.axes[0].texts, few.axes[0].texts
    assert small.get_fontsize() < usual.get_fontsize()
    assert small.get_text() == "C1  " + "r" * 86
    plt.close(many)
    plt.close(few)


def test_a_long_name_is_cut_where_a_panel_has_no_room():
    ratios = EFFECTS.assign(claim=["FEDDRL-C1", "FRL-C2"], ratio=0.5, low=0.2, high=0.8, part="rounds " * 20)
    figure = plot_published(ratios, {})
    names = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert all(len(name) <= 50 and name.endswith(" …") for name in names)
    plt.close(figure)


def test_published_against_ours_has_a_panel_per_paper():
    ratios = EFFECTS.assign(claim=["FEDDRL-C1", "FRL-C2"], ratio=[0.5, 9.0], low=[0.2, 8.0], high=[0.8, 10.0])
    figure = plot_published(ratios, {"FEDDRL": "FedDRL", "FRL": "FRL report"})
    assert [ax.get_title() for ax in figure.axes[:2]] == ["FedDRL, n = 5", "FRL report, n = 3"]
    marks = [(line.get_marker(), line.get_xdata()[0]) for ax in figure.axes for line in ax.lines]
    assert [mark for mark in marks if mark[0] in "o<>"] == [("o", 0.5), (">", 3.5)]
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert texts == ["C1 ours - theirs", "C2 one seed only: Fashion-MNIST", "9.00"]
    plt.close(figure)


def test_an_arrow_leads_out_of_range_and_what_rows_do_not_decide_is_not_drawn():
    ratios = EFFECTS.assign(ratio=-9.0, low=-10.0, high=-8.0, part_verdict=["not testable here", "supported"])
    figure = plot_published(ratios, {})
    arrows = [line for ax in figure.axes for line in ax.lines if line.get_marker() == "<"]
    assert [arrow.get_markerfacecolor() for arrow in arrows] == [VERDICT_COLOURS["supported"]]
    plt.close(figure)


@pytest.mark.parametrize(
    ("high", "names"),
    [
        ([0.8, 0.8, 0.8], ["C1, C2 A - B", "C3 A - B"]),  # of another paper
        ([0.8, 0.9, 0.8], ["C1 A - B", "C2 A - B", "C3 A - B"]),
        ([0.2, 0.2, 0.2], ["C1 A - B", "C2 A - B", "C3 A - B"]),  # without width
    ],
)
def test_a_number_that_two_claims_share_is_drawn_once(high, names):
    three = pd.concat([EFFECTS.head(1)] * 3, ignore_index=True)
    ratios = three.assign(claim=["A-C1", "A-C2", "B-C3"], part="A - B", ratio=0.2, low=0.2, high=high)
    figure = plot_published(ratios, {})
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == names
    plt.close(figure)


def test_published_against_ours_leaves_no_paper_out():
    five = pd.concat(
        [EFFECTS.assign(claim=f"P{number}-C1", ratio=0.5, low=0.2, high=0.8) for number in range(5)]
    )
    figure = plot_published(five, {})
    assert sorted(filter(None, (ax.get_title() for ax in figure.axes))) == [
        f"P{number}, n = 3 to 5" for number in range(5)
    ]
    plt.close(figure)
