"""Figures of the comparison and the benchmark, from rows made by hand."""

import pandas as pd
import pytest

from fedlib.papers.head_to_head import claims, figures, headline, tables
from tests.support.head_to_head_rows import benchmark_rows, failing, lines, table_of


def test_captions_and_claims_say_what_diverged():
    rows = failing(table_of(fedavg=[0.6, 0.6], feddrl=[0.7, 0.7]), "feddrl", 0).assign(profile="smoke")
    words = "Diverged runs count as zero: 1 of 4 (FedDRL 1)."
    for plot in (figures.plot_differences, figures.plot_curves):
        assert words in " ".join(plot(rows)._supxlabel.get_text().split())
    assert words in headline.comparison_answer(
        lambda artifact: rows if artifact == headline.ROWS else rows[:0]
    )
    assert claims.less(rows, "feddrl", "fedavg").to_numpy().ravel().tolist() == pytest.approx([-60, 10])
    (line,) = (one for one in figures.plot_curves(rows).axes[0].lines if one.get_label() == "FedDRL")
    assert line.get_ydata()[[13, -1]] == pytest.approx([70, 35])
    lost = failing(rows, "feddrl", 1)  # no run of FedDRL is left: its curve still ends in the last round
    (line,) = (one for one in figures.plot_curves(lost).axes[0].lines if one.get_label() == "FedDRL")
    assert line.get_xdata()[-1] == 20
    assert line.get_ydata()[-1] == 0


def test_a_run_that_fails_before_round_1_counts_as_zero_in_every_round():
    """Of two runs with 70 % one stops at step 30 of what it trains before round 1, stored as round -30."""
    rows = table_of(fedavg=[0.6, 0.6], favor=[0.7, 0.7]).assign(profile="smoke")
    own = rows["run"].str.startswith("favor-") & (rows.seed == 0)
    early = rows[own].tail(1).assign(round=-30, test_accuracy=float("nan"), status="failed: not finite")
    rows = pd.concat([rows[~own], early], ignore_index=True)
    (line,) = (one for one in figures.plot_curves(rows).axes[0].lines if one.get_label() == "FAVOR")
    assert line.get_xdata().min() >= 0
    assert line.get_ydata() == pytest.approx([35] * len(line.get_ydata()))
    (told,) = tables.diverged(rows).to_dict("records")
    assert (told["contestant"], told["round"]) == ("favor", 0)


def test_a_contestant_with_diverged_runs_has_its_other_seeds_and_no_interval():
    """FedDyn 2 and 3 points ahead in two seeds; the third diverged, and would count as 50 points behind."""
    rows = table_of(fedavg=[0.5] * 3, feddyn=[0.5, 0.52, 0.53], fedprox=[0.49, 0.55, 0.5])
    axes = figures.plot_differences(failing(rows, "feddyn", 0).assign(profile="smoke")).axes[0]
    assert [text.get_text().strip() for text in axes.texts] == ["1 of 3 diverged"]
    (dots,) = (line for line in axes.lines if line.get_markersize() == 3)
    assert sorted(dots.get_xdata()) == pytest.approx([2, 3])


def test_figures_draw():
    rows = table_of(fedavg=[0.5, 0.6], fedprox=[0.6, 0.6], feddrl=[0.4, 0.7]).assign(profile="smoke")
    assert len(figures.plot_differences(rows).axes[0].get_yticklabels()) == 2
    assert len(figures.plot_curves(rows).axes) == 2
    drawn = figures.plot_benchmark(benchmark_rows("fedavg", [0.88, 0.88]).assign(profile="smoke"))
    assert [t.get_text() for t in drawn.axes[0].get_yticklabels()] == [
        "FedAvg, Fashion-MNIST, Dirichlet shares (0.5)"
    ]


def test_curves_less_fedavgs_are_means_over_a_twentieth_of_the_rounds():
    """Of 40 rounds two: where a gap goes from 0 to 10 points, their mean is 5."""
    curves = {"fedavg": [0.5] * 40, "feddrl": [0.5] * 20 + [0.6] * 20}
    rows = pd.concat([lines(name, 0, values) for name, values in curves.items()]).assign(profile="smoke")
    left, right = figures.plot_curves(rows).axes
    assert [len(ax.lines) for ax in (left, right)] == [2, 2]
    reference, gap = (line.get_ydata() for line in right.lines)
    assert reference[1:] == pytest.approx([0] * 39)
    assert gap[[1, 19, 20, 21, 39]] == pytest.approx([0, 0, 5, 10, 10])


def test_a_contestant_far_below_the_others_is_an_arrow_with_its_numbers():
    """Means 1, 2, 3, 4 and -40: quartiles 1 and 3, so that the fence stands at 1 - 3 x 2 = -5."""
    near = {"fedprox": [0.61] * 2, "fednova": [0.62] * 2, "fedadam": [0.63] * 2, "fedyogi": [0.64] * 2}
    rows = table_of(fedavg=[0.6] * 2, favor=[0.1, 0.3], **near).assign(profile="smoke")
    axes = figures.plot_differences(rows).axes[0]
    assert axes.get_xlim() == pytest.approx((-0.06 * 4, 1.06 * 4))
    assert [text.get_text().strip() for text in axes.texts] == ["−40 [−167, +87]"]
    arrows = [line.get_marker() for line in axes.lines if line.get_marker() in "<>"]
    assert arrows == ["<", ">"]
