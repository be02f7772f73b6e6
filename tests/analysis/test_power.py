"""Operating characteristics: simulated rates against the exact ones of the t test."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fedlib.analysis.claims import Claim, Part
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.power import power_of, spread_of


def claim(*parts):
    return Claim(id="T-C1", statement="", place="", artifact="t/a", parts=parts)


def with_spread(deviations, seeds=4):
    """One column per cell, with exactly this standard deviation over seeds."""
    base = np.linspace(-1, 1, seeds)
    unit = base / base.std(ddof=1)
    return pd.DataFrame({f"cell {i}": d * unit for i, d in enumerate(deviations)})


def test_superiority_has_the_t_tests_power():
    part = Part(what="a", estimand=lambda rows: rows, printed=lambda: 2.0, margin=1.0)
    found = power_of(claim(part), with_spread([1.0]))
    exact = 1 - stats.nct.cdf(stats.t.ppf(0.975, 3), 3, 2.0 * math.sqrt(4))
    assert found.seeds == (4,)
    assert found.spread == pytest.approx(1.0)
    assert found.without_effect == pytest.approx(0.025, abs=0.01)
    assert found.at_printed == pytest.approx(exact, abs=0.03)
    assert found.seeds_needed == 5  # the usual t table: 80 % at d = 2


def test_without_printed_size_the_power_is_at_twice_the_margin():
    sized, plain = (
        Part(what="a", estimand=lambda rows: rows, printed=p, margin=0.5) for p in (lambda: 1.0, None)
    )
    rows = with_spread([0.5])
    assert power_of(claim(sized), rows).at_printed == pytest.approx(power_of(claim(plain), rows).at_printed)


def test_equivalence_is_wrong_at_the_margin_only_as_often_as_said():
    part = Part(what="a", estimand=lambda rows: rows, kind=EQUIVALENCE, margin=1.0)
    found = power_of(claim(part), with_spread([0.3]))
    assert found.without_effect == pytest.approx(0.025, abs=0.01)
    assert found.at_printed > 0.9


def test_everywhere_is_wrong_with_one_cell_at_the_margin_only_as_often_as_said():
    part = Part(what="a", estimand=lambda rows: rows, kind=EVERYWHERE, margin=1.0)
    found = power_of(claim(part), with_spread([0.2, 0.1, 0.2]))
    assert found.without_effect == pytest.approx(0.025, abs=0.01)
    assert found.at_printed > 0.9


def test_several_parts_lower_the_power():
    part = Part(what="a", estimand=lambda rows: rows, printed=lambda: 1.5)
    rows = with_spread([1.0])
    one, two = power_of(claim(part), rows), power_of(claim(part, part), rows)
    assert two.at_printed == pytest.approx(one.at_printed**2, abs=0.05)


def test_each_part_is_drawn_with_as_many_seeds_as_its_rows():
    """With 4 seeds the first part has a power of 55 %, with 12 the second nearly 1."""
    few = Part(what="a", estimand=lambda rows: with_spread([1.0]), printed=lambda: 1.5, margin=0.75)
    many = Part(what="b", estimand=lambda rows: rows, printed=lambda: 1.5, margin=0.75)
    rows = with_spread([1.0], seeds=12)
    alone, both = power_of(claim(few), rows), power_of(claim(few, many), rows)
    assert both.seeds == (4, 12)
    assert 0.2 < both.at_printed < 0.8
    assert both.at_printed == pytest.approx(alone.at_printed, abs=0.03)


def test_one_seed_has_no_spread():
    part = Part(what="a", estimand=lambda rows: rows)
    assert spread_of(part, with_spread([1.0]).iloc[:1]) is None
    assert power_of(claim(part), with_spread([1.0]).iloc[:1]) is None


def test_hopeless_claims_need_too_many_seeds():
    part = Part(what="a", estimand=lambda rows: rows, printed=lambda: 0.01, margin=0.005)
    assert power_of(claim(part), with_spread([1.0]), repeats=400).seeds_needed is None


def test_a_part_without_spread_is_left_out_beside_others():
    part, other = (
        Part(what="a", estimand=lambda rows: rows[["cell 0"]]),
        Part(what="b", estimand=lambda rows: rows[["cell 1"]]),
    )
    rows = with_spread([1.0, 0.0])
    assert power_of(claim(part, other), rows) == power_of(claim(part), rows)
    assert power_of(claim(other), rows) is None
