"""Settings beyond the ends of the search."""

import json

import pandas as pd
import pytest

from fedlib.papers import find_artifact
from fedlib.papers.head_to_head import beyond, runs
from fedlib.papers.head_to_head.quantities import contestant_of
from fedlib.reporting.html_tables import html_table
from tests.support.head_to_head_rows import lines


def two_settings(name, chosen, further, cell="cluster skew"):
    """Flat runs of a contestant with its chosen setting and the further one; a level per seed."""
    settings, more = runs.chosen()[name], runs.BEYOND[name]
    return [
        lines(name, seed, [level] * 20, cell=cell, **setting)
        for setting, levels in ((settings, chosen), (settings | more, further))
        for seed, level in enumerate(levels)
    ]


def by_hand():
    """FedAvg 50 %; FedYogi 60 and 62 % as chosen, two points more beyond; SCAFFOLD 0 against 50 and 51 %."""
    fedavg = [lines("fedavg", seed, [0.5] * 20) for seed in (0, 1)]
    yogi = two_settings("fedyogi", (0.60, 0.62), (0.62, 0.64))
    scaffold = pd.concat(two_settings("scaffold", (0.4, 0.4), (0.50, 0.51)))
    lost = scaffold.local_learning_rate != runs.BEYOND["scaffold"]["rate"]
    scaffold = scaffold.assign(status=scaffold.status.mask(lost, "failed: test_loss is nan"))
    return pd.concat([*fedavg, *yogi, scaffold], ignore_index=True)


def test_gains_by_hand():
    scaffold, yogi = beyond.gains(by_hand())
    assert (yogi.contestant, yogi.held) == ("fedyogi", pytest.approx((61, 63)))
    assert (yogi.over_chosen.mean, yogi.over_fedavg.mean) == pytest.approx((2, 13))
    assert (scaffold.contestant, scaffold.held) == ("scaffold", pytest.approx((0, 50.5)))
    assert scaffold.over_chosen.mean == pytest.approx(50.5)
    table = beyond.further_settings(by_hand())
    assert html_table(table, name="t").count("<table") == 1
    assert table.setting.tolist() == ["rate 0.01", "learning_rate 0.03"]
    assert table["less FedAvg (points)"].tolist() == pytest.approx([0.5, 13])
    assert table.diverged.tolist() == ["0 of 2", "0 of 2"]


def test_answer_by_hand():
    told = " ".join(beyond.answer(by_hand()))
    assert (
        "helps under cluster skew, uncorrected: FedYogi (learning_rate 0.03) +2.00 [+2.00, +2.00] poi" in told
    )
    assert "For 0 of 1 no clear difference shows there." in told
    assert "chosen it for FedYogi (learning_rate 0.03), under cluster skew" in told
    assert "With the further setting ahead of FedAvg, uncorrected, in points: FedYogi (learning_rate" in told
    assert (
        "With its chosen setting SCAFFOLD diverges in 2 of 2 runs, with rate 0.01, which the search's "
        "shorter runs ranked lower, in none. Less FedAvg that is, in points: +0.5 [−5.9, +6.9] (cluster "
        "skew)."
    ) in told
    assert "Diverged" not in told
    assert beyond.answer(by_hand().iloc[:0]) == ["Not run: settings beyond the ends of the search."]


def test_gains_are_corrected_for_their_number():
    """FedYogi +2 points but for 0.01 in three seeds: p far below 0.025; FedDyn -1, -2 and -3: p = 0.07."""
    fedavg = [lines("fedavg", seed, [0.5] * 20) for seed in range(3)]
    yogi = two_settings("fedyogi", (0.60, 0.60, 0.60), (0.62, 0.6201, 0.6199))
    feddyn = two_settings("feddyn", (0.40, 0.40, 0.40), (0.39, 0.38, 0.37))
    told = " ".join(beyond.answer(pd.concat([*fedavg, *yogi, *feddyn], ignore_index=True)))
    assert (
        "Corrected for 2 comparisons (Holm) the gain of FedYogi (learning_rate 0.03) (cluster skew) holds; "
        "no loss does."
    ) in told
    told = " ".join(beyond.answer(pd.concat([*fedavg, *feddyn], ignore_index=True)))
    assert "Corrected for 1 comparison (Holm) none holds." in told


def test_gains_in_the_other_divisions_are_told_apart():
    """Under two labels FedYogi loses 20 points by the further setting."""
    cell = "two labels"
    fedavg = [lines("fedavg", seed, [0.5] * 20, cell=cell) for seed in (0, 1)]
    yogi = two_settings("fedyogi", (0.60, 0.62), (0.40, 0.42), cell=cell)
    told = beyond.answer(pd.concat([by_hand(), *fedavg, *yogi], ignore_index=True))
    named = "FedYogi (learning_rate 0.03) −20.00 [−20.00, −20.00] points"
    assert f"Under two labels such a setting harms: {named}." in told
    assert "For 0 of 1 no clear difference shows there." in told


def test_a_division_without_fedavgs_runs_is_left_out_and_named_as_not_run():
    other = pd.concat(two_settings("fedyogi", (0.5, 0.5), (0.6, 0.6), cell="two labels"))
    rows = pd.concat([by_hand(), other], ignore_index=True)
    assert {gain.cell for gain in beyond.gains(rows)} == {"cluster skew"}
    assert set(beyond.further_settings(rows)["data"]) == {"cluster skew"}
    left_out = "Not run under two labels: FedAvg, beside whom settings are compared."
    assert beyond.answer(rows) == [*beyond.answer(by_hand()), left_out]
    assert beyond.answer(other) == [left_out]
    assert beyond.further_settings(other).empty


def test_a_further_setting_without_a_common_seed_is_left_out_and_named():
    """FedYogi's further setting has seed 2 alone; SCAFFOLD's chosen one, of other seeds than its further."""
    rows = by_hand()
    further = rows.method_options.str.contains("0.03") & (rows.method == "fedyogi")
    yogi = rows.assign(seed=rows.seed.mask(further, 2))
    (gain,) = beyond.gains(yogi)
    assert gain.contestant == "scaffold"
    assert beyond.further_settings(yogi).contestant.tolist() == ["scaffold"]
    named = "FedYogi (learning_rate 0.03)"
    assert beyond.answer(yogi)[-1] == (
        f"Not compared, as no seed is in common: {named} with its chosen setting (cluster skew); "
        f"{named} with FedAvg (cluster skew)."
    )
    as_chosen = (rows.method == "scaffold") & (rows.local_learning_rate != runs.BEYOND["scaffold"]["rate"])
    assert [gain.contestant for gain in beyond.gains(rows[~as_chosen])] == ["fedyogi"]
    told = beyond.answer(rows.assign(seed=rows.seed.mask(as_chosen, rows.seed + 2)))
    assert told[-1] == (
        "Not compared, as no seed is in common: SCAFFOLD (rate 0.01) with its chosen setting (cluster skew)."
    )
    assert "chosen it for FedYogi (learning_rate 0.03), under cluster skew" in " ".join(told)


def test_a_further_setting_that_diverges_counts_as_zero_and_is_named():
    rows = by_hand()
    lost = (rows.method == "fedyogi") & rows.method_options.str.contains("0.03") & (rows.seed == 0)
    rows["status"] = rows.status.mask(lost, "failed: test_loss is nan")
    gain = beyond.gains(rows)[1]
    assert gain.held[1] == pytest.approx(32)
    assert "Diverged: FedYogi (learning_rate 0.03) 1 of 2 (cluster skew)." in beyond.answer(rows)


@pytest.mark.parametrize("profile", find_artifact("head_to_head/beyond_search").profiles)
def test_each_further_setting_lies_outside_the_search(profile):
    """An option beyond all tried ones, at its chosen rate; SCAFFOLD's rate was tried, in short runs."""
    settings = runs.chosen()
    new = [run for run in runs.beyond_search(profile) if run.artifact == "beyond_search"]
    for run in new:
        name = contestant_of(run.method, json.dumps(run.method_options))
        if name == "scaffold":
            assert run.local_learning_rate < settings[name]["rate"]
            continue
        assert run.local_learning_rate == settings[name]["rate"]
        ((option, value),) = runs.BEYOND[name]["options"].items()
        tried = [options[option] for _, options in runs.CONTESTANTS[name].trials]
        assert not min(tried) <= value <= max(tried)
        ends = (min(tried), max(tried))
        assert settings[name]["options"][option] == ends[value > ends[1]]
    compared = runs.comparison(profile)
    assert all(run in compared for run in runs.beyond_search(profile) if run.artifact == "comparison")
