"""Claims as data: margins, gates and stand-ins, decided from rows made by hand; how intervals are written."""

import math

import numpy as np
import pandas as pd
import pytest

from fedlib.analysis import claims, gates
from fedlib.analysis.claims import Claim, Gate, Part, verdict_on
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE, SUPERIORITY
from fedlib.analysis.intervals import Interval, interval_words, number_words
from fedlib.errors import UsageError


def by_cell(rows):
    return rows.pivot_table(index="seed", columns="cell", values="gain")


def make_rows(**cells):
    """Rows of three seeds; a cell is its three values."""
    return pd.DataFrame(
        [
            {"cell": cell, "dataset": cell, "seed": seed, "gain": value, "stand_in": cell.startswith("fake")}
            for cell, values in cells.items()
            for seed, value in enumerate(values)
        ]
    )


def claim(part=None, **given):
    part = part or Part(what="A - B", estimand=by_cell, printed=lambda: {"x": 4.0, "y": 2.0, "fake": 9.0})
    return Claim(
        **{"id": "T-C1", "statement": "A leads", "place": "sec. 1", "artifact": "t/a", "parts": (part,)}
        | given
    )


def test_printed_effect_and_margin_are_of_the_cells_at_hand():
    verdict = verdict_on(claim(), make_rows(x=[3, 4, 5], y=[3, 4, 5]))
    (effect,) = verdict.effects
    assert (effect.printed, effect.margin, effect.interval.mean) == (3.0, 1.5, 4.0)
    assert verdict.verdict == "supported"
    (alone,) = verdict_on(claim(), make_rows(x=[3, 4, 5])).effects
    assert (alone.printed, alone.margin) == (4.0, 2.0)


def test_evidence_has_effect_interval_seeds_printed_margin_and_span():
    evidence = verdict_on(claim(), make_rows(x=[3, 4, 5], y=[1, 2, 3])).evidence
    assert evidence == (
        "A - B: +3.0 [+0.5, +5.5] points, 3 seeds, printed +3.00 "
        "(2 cells, +2.00 in y to +4.00 in x), margin 1.5: supported"
    )


def test_stand_ins_decide_nothing():
    mixed = verdict_on(claim(), make_rows(x=[3, 4, 5], fake=[-9, -9, -9]))
    assert mixed.verdict == "supported"
    assert "fake" not in mixed.evidence
    assert mixed.data == "x"
    alone = verdict_on(claim(), make_rows(fake=[8, 9, 10]))
    assert alone.verdict == "not testable here"
    assert alone.evidence.startswith("on the stand-in: A - B: +9.0 [+6.5, +11.5] points")
    assert alone.data == "fake (stand-in)"
    elsewhere = Part(
        what="A - B", estimand=lambda rows: by_cell(rows).filter(["fake"]), printed=lambda: {"fake": 9.0}
    )
    outside = verdict_on(claim(elsewhere), make_rows(x=[3, 4, 5], fake=[8, 9, 10]))
    assert outside.data == "fake (stand-in)"


def test_a_failed_gate_leaves_the_number_and_takes_the_verdict():
    failed = Gate("flat", lambda rows: (False, "2 of 3 curves still rise"))
    passed = Gate("trained", lambda rows: (True, "100 updates"))
    verdict = verdict_on(claim(gates=(failed, passed)), make_rows(x=[3, 4, 5]))
    assert verdict.verdict == "not testable here"
    assert verdict.evidence.startswith("2 of 3 curves still rise\nA - B: +4.0")
    assert verdict.evidence.endswith("100 updates")
    assert verdict.effects[0].interval.mean == 4


def test_parts_that_disagree():
    below = Part(what="C - D", estimand=lambda rows: -by_cell(rows))
    verdict = verdict_on(claim(parts=(claim().parts[0], below)), make_rows(x=[3, 4, 5]))
    assert verdict.verdict == "partly supported"
    assert verdict.deciding.what == "C - D"


def test_cells_that_were_not_run_cannot_support_a_claim_about_all():
    rows = make_rows(x=[3, 4, 5], y=[3, 4, 5])
    everywhere = Part(what="A - B", estimand=by_cell, kind=EVERYWHERE, cells=3)
    verdict = verdict_on(claim(everywhere), rows)
    assert verdict.verdict == "inconclusive"
    assert "1 more of the claim not in these rows" in verdict.evidence
    low = verdict_on(claim(everywhere), make_rows(x=[-6, -5, -4], y=[3, 4, 5]))
    assert (low.verdict, low.deciding.deciding, low.deciding.interval.mean) == ("not supported", "x", -5)


def test_seeds_that_a_cell_lacks_are_left_out():
    rows = make_rows(x=[3, 4, 5], y=[3, 4, np.nan])
    assert verdict_on(claim(), rows).effects[0].interval.n == 2
    one = verdict_on(claim(), make_rows(x=[3, np.nan, np.nan]))
    assert one.verdict == "not testable here"
    assert "+3.0 points, 1 seed, " in one.evidence


def test_a_part_without_cells_leaves_the_others():
    absent = Part(what="C - D", estimand=lambda rows: pd.DataFrame())
    verdict = verdict_on(claim(parts=(claim().parts[0], absent)), make_rows(x=[3, 4, 5]))
    assert verdict.verdict == "inconclusive"
    assert verdict.evidence.endswith("C - D: its cells have not been run: not testable here")
    refuted = verdict_on(claim(parts=(claim().parts[0], absent)), make_rows(x=[-3, -4, -5]))
    assert refuted.verdict == "not supported"


def test_rows_without_the_cells_of_the_claim():
    nothing = Part(what="A - B", estimand=lambda rows: pd.DataFrame())
    verdict = verdict_on(claim(nothing), make_rows(x=[1, 2, 3]))
    assert (verdict.verdict, verdict.evidence) == (
        "not testable here",
        "the cells that it needs have not been run",
    )


@pytest.mark.parametrize(
    ("part", "margin"),
    [
        (Part(what="a", estimand=by_cell), 0.5),
        (Part(what="a", estimand=by_cell, unit="%"), 5.0),
        (Part(what="a", estimand=by_cell, unit="rounds", margin=2.0), 2.0),
        (Part(what="a", estimand=by_cell, unit="rounds", printed=lambda: 12.8), 6.4),
        (Part(what="a", estimand=by_cell, printed=lambda: -1.4), 0.5),  # no half of a loss
        (Part(what="a", estimand=by_cell, kind=EQUIVALENCE, printed=lambda: 4.0), 0.5),
        (Part(what="a", estimand=by_cell, printed=lambda: {"y": 3.0}), 0.5),  # x is not printed
    ],
)
def test_margins(part, margin):
    assert part.margin_over(["x"]) == margin


def test_a_part_needs_a_margin_and_a_claim_parts():
    with pytest.raises(UsageError, match="no margin for the unit 'rounds'"):
        Part(what="a", estimand=by_cell, unit="rounds")
    with pytest.raises(UsageError, match="a claim has parts, or is arithmetic"):
        claim(parts=())
    with pytest.raises(UsageError, match="4 parts; at most 3"):
        claim(parts=claim().parts * 4)


def test_arithmetic_is_decided_by_recomputation():
    made = claim(parts=(), recompute=lambda rows: (len(rows) == 3, "1.4 -> 0.8"))
    assert verdict_on(made, make_rows(x=[1, 2, 3])).verdict == "supported"
    assert made.kind == "arithmetic"
    assert claim().kind == SUPERIORITY


def curves(last, rounds=40):
    """Two curves of two seeds: one flat, the other rising by `last` points over the last quarter."""
    return pd.DataFrame(
        [
            {"cell": "x", "method": name, "seed": seed, "round": t, "test_accuracy": level + rise * t}
            for name, level, rise in (("flat", 0.8, 0.0), ("rising", 0.5, last / 100 / 9))
            for seed in (0, 1)
            for t in range(1, rounds + 1)
        ]
    )


def test_curves_that_still_rise_do_not_pass():
    gate = gates.curves_flat(("cell", "method"), length=1000)
    passed, words = gate.check(curves(3.0))
    assert not passed
    assert (
        words == "1 of 2 curves still rise, up to 3.0 points in the last quarter of 40 rounds (paper: 1000)"
    )
    assert gate.check(curves(0.9))[0]
    assert gates.curves_flat(("cell", "method"), length=1000, only=("flat",)).check(curves(3.0))[0]


def test_rows_as_long_as_the_papers_need_not_be_flat():
    passed, words = gates.curves_flat(("cell", "method"), length=40).check(curves(3.0))
    rise = "; the steepest curve rises by 3.0 points in the last quarter"
    assert (passed, words) == (True, f"40 rounds, as in the paper{rise}")


def test_a_curve_as_long_as_the_papers_passes_beside_a_shorter_flat_one():
    both = pd.concat([curves(3.0, rounds=80).query("method == 'rising'"), curves(0.0)])
    gate = gates.curves_flat(("cell", "method"), length=80)
    passed, words = gate.check(both)
    assert passed
    assert words.endswith("0.0 points in the last quarter of 40 rounds of flat (paper: 80)")
    swapped = pd.concat([curves(3.0, rounds=80).query("method == 'flat'"), curves(3.0)])
    assert gate.check(swapped.query("method == 'flat' or round <= 40"))[1].startswith("1 of 1 curves still")
    blank = both.assign(test_accuracy=both.test_accuracy.where(both.method == "rising"))
    assert gate.check(blank)[1].startswith("1 of 1 curves have fewer than three")


def test_curves_that_fall_do_not_pass_as_flat():
    gate = gates.curves_flat(("cell", "method"), length=1000)
    where = "in the last quarter of 40 rounds (paper: 1000)"
    assert gate.check(curves(-3.0)) == (False, f"1 of 2 curves still fall, up to 3.0 points {where}")
    assert gate.check(curves(-0.9)) == (True, f"curves flat: up to 0.9 points {where}")
    both = pd.concat([curves(-3.0), curves(2.0).assign(cell="y")])
    assert gate.check(both) == (False, f"1 of 4 curves still rise, up to 2.0 points {where}")
    _, words = gates.curves_flat(("cell", "method"), length=40).check(curves(-3.0))
    assert words.endswith("; the steepest curve falls by 3.0 points in the last quarter")


def test_curves_of_runs_without_a_setting_count():
    """All clients take part where cohort_size is None, thus NaN in the rows."""
    by = ("cohort_size", "method")
    rows = curves(3.0).assign(cohort_size=float("nan"))
    where = "in the last quarter of 40 rounds (paper: 1000)"
    gate = gates.curves_flat(by, length=1000)
    assert gate.check(rows) == (False, f"1 of 2 curves still rise, up to 3.0 points {where}")
    some = rows.assign(cohort_size=[10.0 if name == "flat" else None for name in rows.method])
    assert gate.check(some) == (False, f"1 of 2 curves still rise, up to 3.0 points {where}")
    _, words = gates.curves_flat(by, length=40).check(some)
    assert words == "40 rounds, as in the paper; the steepest curve rises by 3.0 points in the last quarter"


def test_gates_do_not_pass_on_nothing():
    nobody = gates.curves_flat(("cell", "method"), length=1000, only=("absent",))
    assert nobody.check(curves(0.0)) == (False, "no curves of absent")
    for length in (40, 1000):
        gate = gates.curves_flat(("cell", "method"), length=length)
        blank = curves(0.0).assign(test_accuracy=float("nan"))
        assert gate.check(blank) == (False, "no curves of test_accuracy")
    unknown = pd.DataFrame({"episodes": [float("nan")] * 2})
    assert gates.at_scale("the paper's scale", episodes=2).check(unknown)[0] is False


def test_too_few_evaluated_rounds_show_no_flat_curve():
    passed, words = gates.curves_flat(("cell", "method"), length=1000).check(curves(0.0, rounds=4))
    assert not passed
    where = "in the last quarter of 4 rounds (paper: 1000)"
    assert words == f"2 of 2 curves have fewer than three evaluated rounds {where}"


def test_scale():
    gate = gates.at_scale("20 episodes of 100 workers", episode=20, num_clients=100)
    assert gate.check(pd.DataFrame({"episode": [1, 20], "num_clients": 100})) == (True, "")
    assert gate.check(pd.DataFrame({"episode": [1, 12], "num_clients": 100})) == (
        False,
        "20 episodes of 100 workers not reached: 12 episode of 20",
    )


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (Interval(1.2, 0.8, 1.6, 3), "+1.20 [+0.80, +1.60]"),
        (Interval(1.196, -0.004, 2.396, 3), "+1.196 [-0.004, +2.396]"),  # the bound's sign shows
        (Interval(333.2, 10.6, 655.7, 3), "+333 [+11, +656]"),
        (Interval(0.0, 0.0, 0.0, 5), "+0.00 [+0.00, +0.00]"),
        (Interval(2.5, math.nan, math.nan, 1), "+2.5"),
    ],
)
def test_interval_words(interval, words):
    assert interval_words(interval) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0 points in each of 3 seeds"), (0.25, "+0.25 points in each of 3 seeds"),
                         (-2.0, "-2 points in each of 3 seeds")],
)  # fmt: skip
def test_equal_values_are_told_without_an_interval(value, words):
    """An interval without width would look like certainty."""
    for found, told in ((Interval(value, value, value, 3), words), (Interval(2, 1, 3, 3), "points, 3 seeds")):
        effect = claims.Effect("gain", "points", SUPERIORITY, "inconclusive", found, math.nan, 1)
        assert effect.described.endswith(told)


def test_a_bound_is_not_rounded_to_the_margin():
    """0.484 reads +0.5 beside a width of a point; below a margin of 0.5 it must not."""
    close = Interval(-0.6, -1.684, 0.484, 3)
    assert interval_words(close) == "-0.6 [-1.7, +0.5]"
    assert interval_words(close, apart=(0.5, -0.5)) == "-0.60 [-1.68, +0.48]"
    assert interval_words(Interval(-0.6, -1.7, 0.5, 3), apart=(0.5, -0.5)) == "-0.6 [-1.7, +0.5]"


def test_number_words():
    assert [number_words(x, signed=True) for x in (2.166, 17.0, -0.0123, 0)] == [
        "+2.17",
        "+17.0",
        "-0.0123",
        "+0",
    ]
    assert number_words(1234.5) == "1234"


@pytest.mark.parametrize(
    ("kind", "verdict", "low", "barely"),
    [
        (SUPERIORITY, "supported", 0.09, True),
        (SUPERIORITY, "supported", 0.11, False),
        (SUPERIORITY, "not supported", -1.59, True),  # its upper end at 0.41, below a margin of 0.5
        (SUPERIORITY, "not supported", -1.61, False),
        (SUPERIORITY, "inconclusive", -0.01, False),
        (EQUIVALENCE, "not supported", 0.55, True),
        (EVERYWHERE, "not supported", -2.55, False),
    ],
)
def test_an_end_within_a_twentieth_of_the_width_decides_barely(kind, verdict, low, barely):
    found = Interval(low + 1, low, low + 2, 3)
    words = claims.Effect("A - B", "points", kind, verdict, found, math.nan, 0.5).verdict_words
    assert words == verdict + " (barely)" * barely


def test_verdict_words_are_checked():
    with pytest.raises(UsageError, match="unknown verdict 'mixed'"):
        claims.Verdict("mixed", "")
