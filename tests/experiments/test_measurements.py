"""Measurements are computed once, checked and exported; artifacts share measurements and runs."""

import contextlib
import io
import itertools
import sys
import warnings
from dataclasses import replace
from functools import partial

import fake_federation
import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from fake_federation import grid_runs

from fedlib.cli.main import main
from fedlib.errors import DataError, UsageError
from fedlib.experiments import measurements, provenance, result_files
from fedlib.experiments.artifact import PROFILES, Artifact, Deferred, Measurement
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.measurements import (
    compute_measurement,
    how_it_is_stored,
    load_measurement,
    measurement_path,
    share_parts,
)
from fedlib.experiments.progress import Progress
from fedlib.experiments.result_files import read_details
from fedlib.experiments.results import export_results, load_rows
from fedlib.experiments.store import Store, StoreWarning
from fedlib.papers import artifacts, find_artifact, run_artifact
from fedlib.reporting.figure_files import draw_figures
from fedlib.reporting.verdicts import decide_claims

CALLS = []


def measure(profile):
    CALLS.append(profile)
    return pd.DataFrame({"seed": [0, 1], "value": [1 / 3, len(CALLS)], "dataset": "made-up"})


TIMING = Measurement("fake/timing", measure)
KEPT = Artifact("fake/timing", "a timing", measurement=TIMING)
SHARED = Artifact("fake/one", "seed 1 of the timing", "figure", measurement=TIMING, where={"seed": 1})
BORROWED = Artifact("fake/curve", "one curve", "figure", runs=lambda p: grid_runs(p)[:1])


@pytest.fixture(autouse=True)
def world(monkeypatch, tmp_path):
    CALLS.clear()
    fake_federation.install_for(monkeypatch, tmp_path)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], KEPT, BORROWED, SHARED))


def test_a_kept_computation_runs_once_and_loading_never_computes(tmp_path):
    assert load_rows(find_artifact("fake/timing"), profile="reduced").empty
    assert CALLS == []
    for _ in range(2):
        assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced"]
    rows = load_rows(find_artifact("fake/timing"), profile="reduced")
    assert rows["value"].tolist() == [1 / 3, 1]  # to the last bit
    assert set(rows["source"]) == {"store"}
    assert rows["commit"].notna().all()
    assert main(["run", "fake/timing", "--profile", "reduced", "--again"]) == 0
    assert load_rows(find_artifact("fake/timing"), profile="reduced")["value"].tolist() == [1 / 3, 2]


def count_to(profile, part):
    CALLS.append(part)
    if part == FAILING:
        raise KeyboardInterrupt
    return pd.DataFrame({"seed": [part, part], "value": [1 / (part + 3), float(part)]})


FAILING = 2
IN_PARTS = Measurement("fake/counted", count_to, lambda p: SETTINGS, parts=lambda p: range(4))
SETTINGS = [7]


def test_a_measurement_in_parts_goes_on_behind_those_that_are_stored(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        compute_measurement(IN_PARTS, "reduced", Store())
    assert CALLS == [0, 1, 2]
    assert how_it_is_stored(IN_PARTS, "reduced", Store()) == "measured in parts, 2 stored"
    monkeypatch.setattr(sys.modules[__name__], "FAILING", None)
    rows = compute_measurement(IN_PARTS, "reduced", Store())
    assert CALLS == [0, 1, 2, 2, 3]
    assert rows["value"].tolist() == [1 / 3, 0.0, 1 / 4, 1.0, 1 / 5, 2.0, 1 / 6, 3.0]  # to the last bit
    assert rows.index.tolist() == list(range(8))
    path = measurement_path(IN_PARTS, "reduced", Store())
    assert sorted(one.name for one in path.parent.iterdir() if one.suffix in (".csv", ".json")) == [
        "kept-reduced.csv", "kept-reduced.json",
    ]  # fmt: skip
    compute_measurement(IN_PARTS, "reduced", Store(), again=True)
    assert CALLS[5:] == [0, 1, 2, 3]


def count_beside_another(profile, part):
    """Part 1 is computed only when another process, begun meanwhile, has done the rest from the last on."""
    CALLS.append(part)
    if part == 1:
        share_parts(SHARED_PARTS, profile, Store(), None, last_first=True)
    return pd.DataFrame({"seed": [part], "value": [float(part)]})


SHARED_PARTS = Measurement("fake/counted", count_beside_another, parts=lambda p: range(4))


def test_processes_share_the_parts_of_a_measurement():
    rows = compute_measurement(SHARED_PARTS, "reduced", Store())
    assert CALLS == [0, 1, 3, 2], "each part once; the one at work is left to its process"
    assert rows["value"].tolist() == [0.0, 1.0, 2.0, 3.0]


def count_until_joined(profile, part):
    """Before part 0 is begun here, another process has finished everything."""
    CALLS.append(part)
    return pd.DataFrame({"seed": [part], "value": [float(part)]})


def test_a_process_that_comes_late_repeats_no_part_of_a_joined_measurement(monkeypatch):
    late = Measurement("fake/counted", count_until_joined, parts=lambda p: range(2))

    def parts_after_the_other_process(profile):
        if not CALLS:
            compute_measurement(late, profile, Store())
        return range(2)

    begun_late = replace(late, parts=parts_after_the_other_process)
    rows = compute_measurement(begun_late, "reduced", Store())
    assert CALLS == [0, 1]
    assert rows["value"].tolist() == [0.0, 1.0]
    assert how_it_is_stored(late, "reduced", Store()) == "measured in parts, 0 stored"


@pytest.mark.parametrize("claimed", ["the measurement", "its last part"])
def test_a_budget_ends_while_another_process_measures(monkeypatch, claimed):
    """Each look at the clock takes 0.1 of 6 s; the other process, here a lock, never ends."""
    monkeypatch.setattr("fedlib.experiments.budget._POLL_SECONDS", 0.01)
    monkeypatch.setattr(sys.modules[__name__], "FAILING", None)
    part = "-part-reduced-3" if "part" in claimed else ""
    said, looks = Progress(io.StringIO()), itertools.count()
    given = {"budget": Budget(0.1, clock=lambda: next(looks) / 10), "progress": said}
    with Store().claiming("fake/counted", part), pytest.raises(BudgetExhausted, match="minutes is used up"):
        compute_measurement(IN_PARTS, "reduced", Store(), **given)
    assert len(CALLS) == (3 if part else 4), "parts that are free are computed meanwhile"
    assert said.stream.getvalue() == "waiting for another process at work on fake/counted\n"
    assert len(compute_measurement(IN_PARTS, "reduced", Store())) == 8
    assert CALLS == [0, 1, 2, 3]


def numbered(profile, part):
    """Each call tells how many came before it."""
    CALLS.append(part)
    return pd.DataFrame({"seed": [part], "value": [float(len(CALLS))]})


NUMBERED = Measurement("fake/counted", numbered, parts=lambda p: range(3))


def repeat(**given):
    """Measure again with time for one more part than the first: the clock is a count of calls."""
    begun = len(CALLS)
    budget = Budget(1, clock=lambda: 40.0 * (len(CALLS) - begun))
    return compute_measurement(NUMBERED, "reduced", Store(), again=True, budget=budget, **given)


def values():
    return load_measurement(NUMBERED, "reduced", Store())["value"].tolist()


@pytest.fixture
def parts_of_40_seconds(monkeypatch):
    monkeypatch.setattr(measurements.time, "monotonic", lambda: 40.0 * len(CALLS))


@pytest.mark.usefixtures("parts_of_40_seconds")
def test_a_repetition_that_was_cut_short_goes_on_and_replaces_the_rows_at_last():
    compute_measurement(NUMBERED, "reduced", Store())
    for done in (1, 2):
        with pytest.raises(
            BudgetExhausted, match=f"fake/counted: {done} of 3 parts are stored, and the time"
        ):
            repeat()
        compute_measurement(NUMBERED, "reduced", Store())
        share_parts(NUMBERED, "reduced", Store(), None)
        assert values() == [1.0, 2.0, 3.0], "those before stay until then, and nobody else replaces them"
    repeat()
    assert CALLS == [0, 1, 2, 0, 1, 2]
    assert values() == [4.0, 5.0, 6.0]
    assert not [*measurement_path(NUMBERED, "reduced", Store()).parent.glob("part-*")]
    with pytest.raises(BudgetExhausted, match="1 of 3 parts are stored"):
        repeat()
    assert CALLS[6:] == [0], "the next one is another repetition"


@pytest.mark.usefixtures("parts_of_40_seconds")
@pytest.mark.parametrize("again", [False, True])
def test_what_a_kill_leaves_of_joined_parts_is_no_part_of_the_next_repetition(monkeypatch, again):
    if again:
        compute_measurement(NUMBERED, "reduced", Store())

    def killed(path, **_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(measurements.Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            compute_measurement(NUMBERED, "reduced", Store(), again=again)
    assert len([*measurement_path(NUMBERED, "reduced", Store()).parent.glob("part-*.json")]) == 3
    joined = len(CALLS)
    assert values() == [joined - 2, joined - 1, joined]
    compute_measurement(NUMBERED, "reduced", Store(), again=True)
    assert values() == [joined + 1, joined + 2, joined + 3]


def test_where_nothing_is_stored_again_goes_on_with_begun_parts(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        compute_measurement(IN_PARTS, "reduced", Store())
    monkeypatch.setattr(sys.modules[__name__], "FAILING", None)
    compute_measurement(IN_PARTS, "reduced", Store(), again=True)
    assert CALLS == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_rows_that_others_replace_are_whole_at_every_instant(monkeypatch, suffix, killed):
    """A reader comes after each write of a file; the process ends after the first of a kind, or goes on."""
    compute_measurement(TIMING, "reduced", Store())
    seen, write = [], measurements.write_atomically

    def write_and_read(path, data):
        write(path, data)
        seen.append(load_measurement(TIMING, "reduced", Store())["value"].tolist())
        if killed and path.suffix == suffix:
            raise KeyboardInterrupt

    monkeypatch.setattr(measurements, "write_atomically", write_and_read)
    with pytest.raises(KeyboardInterrupt) if killed else contextlib.nullcontext():
        compute_measurement(TIMING, "reduced", Store(), again=True)
    before, after = [1 / 3, 1], [1 / 3, 2]
    first = [before] if suffix == ".json" else [before, after]
    assert seen == (first if killed else [before, after, after])
    monkeypatch.setattr(measurements, "write_atomically", write)
    compute_measurement(TIMING, "reduced", Store())
    assert len(CALLS) == 2, "nothing was damaged"


def test_a_reader_that_others_overtake_reads_again(monkeypatch):
    """They replace the rows between its looks at both files; then they remove them."""
    compute_measurement(TIMING, "reduced", Store())
    path, look, overtaken = measurement_path(TIMING, "reduced", Store()), measurements._bytes, []

    def look_late(asked):
        if asked == path and not overtaken:
            overtaken.append(asked)
            compute_measurement(TIMING, "reduced", Store(), again=True)
        return look(asked)

    monkeypatch.setattr(measurements, "_bytes", look_late)
    assert load_measurement(TIMING, "reduced", Store())["value"].tolist() == [1 / 3, 2]

    def look_too_late(asked):
        if asked == path:
            for one in (path.with_suffix(".json"), path):
                one.unlink(missing_ok=True)
        return look(asked)

    monkeypatch.setattr(measurements, "_bytes", look_too_late)
    assert load_measurement(TIMING, "reduced", Store()) is None


@pytest.mark.parametrize("change", ["settings", "code", "damage", "no json"])
def test_a_part_of_other_settings_or_code_or_a_damaged_one_is_computed_again(monkeypatch, change):
    with pytest.raises(KeyboardInterrupt):
        compute_measurement(IN_PARTS, "reduced", Store())
    monkeypatch.setattr(sys.modules[__name__], "FAILING", None)
    path = measurement_path(IN_PARTS, "reduced", Store()).with_name("part-reduced-1.csv")
    if change == "settings":
        monkeypatch.setattr(sys.modules[__name__], "SETTINGS", [8])
    elif change == "code":
        monkeypatch.setattr(provenance, "code", lambda: {"source": "another"})
    elif change == "damage":
        path.write_text("seed,value\n1,2.0\n")
    else:  # a full disk, or a kill between both files
        path.with_suffix(".json").unlink()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rows = compute_measurement(IN_PARTS, "reduced", Store())
    assert CALLS[3:] == ([0, 1, 2, 3] if change in ("settings", "code") else [1, 2, 3])
    assert [one.category for one in told] == [StoreWarning] * (change == "damage")
    assert rows["value"].tolist()[2:4] == [1 / 4, 1.0]


def test_a_budget_ends_a_measurement_between_its_parts(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "FAILING", None)
    budget = Budget(1, clock=lambda: 20.0 * len(CALLS))  # a part takes 20 s of it
    with pytest.raises(BudgetExhausted, match="fake/counted: 3 of 4 parts are stored, and the time budget"):
        compute_measurement(IN_PARTS, "reduced", Store(), budget=budget)
    assert len(compute_measurement(IN_PARTS, "reduced", Store(), budget=Budget(1))) == 8
    assert CALLS == [0, 1, 2, 3]


@pytest.fixture
def took_100_minutes():
    """Committed rows of the timing, measured on an abacus, and a store without them."""
    compute_measurement(TIMING, "reduced", Store())
    path = export_results(find_artifact("fake/timing"), "reduced")
    details = read_details(path)
    details["provenance"] |= {"wall_seconds": 6000.0, "device": "cpu", "device_name": "Abacus"}
    result_files.write_rows(path, result_files.read_rows(path), details)
    measurement_path(TIMING, "reduced", Store()).with_suffix(".json").unlink()
    CALLS.clear()


@pytest.mark.usefixtures("took_100_minutes")
def test_a_measurement_that_took_longer_than_is_left_is_not_begun():
    with pytest.raises(BudgetExhausted) as raised:
        compute_measurement(TIMING, "reduced", Store(), budget=Budget(60, clock=lambda: 0.0))
    left = "it takes about 1.7 h (measured on cpu, Abacus), and 60 min of the time budget is left"
    assert str(raised.value) == f"fake/timing: not begun, {left}"
    with pytest.raises(BudgetExhausted, match=r"fake/timing: not begun, it takes about 1\.7 h"):
        run_artifact("fake/timing", profile="reduced", budget=Budget(60, clock=lambda: 0.0))
    assert CALLS == []
    compute_measurement(TIMING, "reduced", Store(), budget=Budget(101, clock=lambda: 0.0))
    assert CALLS == ["reduced"]
    assert len(compute_measurement(TIMING, "reduced", Store(), budget=Budget(1e-6))), (
        "stored rows take no time"
    )


@pytest.mark.usefixtures("took_100_minutes")
def test_a_measurement_never_timed_is_begun_while_time_is_left():
    compute_measurement(TIMING, "paper", Store(), budget=Budget(0.1, clock=lambda: 0.0))
    assert CALLS == ["paper"]
    with pytest.raises(BudgetExhausted, match="fake/timing: not begun, the time budget is used up"):
        compute_measurement(TIMING, "smoke", Store(), budget=Budget(0.01, clock=lambda: 0.0))


@pytest.mark.usefixtures("took_100_minutes")
def test_what_fits_is_computed_beside_a_measurement_that_does_not(capsys):
    assert main(["run", "fake", "--profile", "reduced", "--budget-minutes", "60"]) == 3
    told = capsys.readouterr()
    assert CALLS == []
    assert "fake/curve: 3 runs, 1 computed now, 0 failed" in told.out, "it comes after the measurement"
    assert told.err.count("fake/timing: not begun, it takes about 1.7 h") == told.err.count("\n") == 1


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_damaged_kept_rows_are_set_aside_and_computed_again(suffix):
    store = Store()
    compute_measurement(TIMING, "reduced", store)
    path = measurement_path(TIMING, "reduced", store).with_suffix(suffix)
    path.write_text(path.read_text()[:-7])
    with pytest.warns(StoreWarning, match="is damaged; left out"):
        assert load_rows(find_artifact("fake/timing"), profile="reduced").empty
    with pytest.warns(StoreWarning, match="set aside"):
        compute_measurement(TIMING, "reduced", store)
    assert len(CALLS) == 2
    assert list(path.parent.glob("*.damaged-1"))


def test_kept_rows_are_exported_with_their_provenance(tmp_path):
    compute_measurement(TIMING, "reduced", Store())
    path = export_results(find_artifact("fake/timing"), "reduced")
    about = read_details(path)
    assert about["provenance"]["wall_seconds"] >= 0
    assert "device" in about["provenance"]
    committed = load_rows(find_artifact("fake/timing"), profile="reduced", store=tmp_path / "empty")
    assert set(committed["source"]) == {"results"}
    assert committed["value"].tolist() == [0.333333, 1]


def test_rows_come_from_one_source():
    for sources in ({}, {"measurement": TIMING, "compute": measure}):
        with pytest.raises(UsageError, match="fake/x needs exactly one of: runs, measurement, compute"):
            Artifact("fake/x", "x", **sources)


def test_every_deferred_function_of_the_catalogue_exists():
    for artifact in artifacts().values():
        measured = artifact.measurement and (artifact.measurement.compute, artifact.measurement.settings)
        for function in (artifact.compute, artifact.plot, *artifact.tables, *(measured or ())):
            while isinstance(function, partial):
                function = function.func
            if isinstance(function, Deferred):
                assert callable(function.resolve()), artifact.id


def listed(capsys, artifact_id):
    capsys.readouterr()
    assert main(["list", "fake"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return next(line.split("  ")[-1].strip() for line in lines if line.startswith(artifact_id))


def test_two_artifacts_share_a_measurement(capsys, tmp_path, monkeypatch):
    assert load_rows(find_artifact("fake/one"), profile="reduced").empty
    assert listed(capsys, "fake/one") == "none"
    assert main(["run", "fake/one", "--profile", "reduced", "--dry-run"]) == 0
    assert "fake/one at reduced: measured once and stored" in capsys.readouterr().out
    assert main(["run", "fake/one", "--profile", "reduced"]) == 0
    assert main(["run", "fake/one", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced"]
    rows = load_rows(find_artifact("fake/one"), profile="reduced")
    assert rows[["seed", "value", "source", "artifact"]].values.tolist() == [[1, 1, "store", "one"]]
    assert load_rows(find_artifact("fake/one"), profile="reduced", store=tmp_path / "empty").empty
    assert listed(capsys, "fake/one") == "reduced: rows"
    export_results(find_artifact("fake/timing"), "reduced")
    assert listed(capsys, "fake/one") == "reduced: rows + results"
    assert listed(capsys, "fake/timing") == "reduced: rows + results"
    quick = Artifact("fake/quick", "computed at once", compute=measure)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (*fake_federation.ARTIFACTS, quick))
    assert listed(capsys, "fake/quick") == "computed on demand"
    with pytest.raises(UsageError, match="the rows of fake/one are filed under fake/timing; export that"):
        export_results(find_artifact("fake/one"), "reduced")


def test_pictures_among_the_rows_do_not_flood_the_terminal(capsys, monkeypatch):
    wide = Artifact("fake/wide", "pictures", compute=lambda profile: pd.DataFrame({"images": ["eNo" * 400]}))
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (*fake_federation.ARTIFACTS, wide))
    monkeypatch.setenv("COLUMNS", "80")  # a file is as wide as it needs
    for command in ("run", "show"):
        assert main([command, "fake/wide"]) == 0
        assert "eNo" * 21 not in capsys.readouterr().out
    assert load_rows(find_artifact("fake/wide"), profile="smoke")["images"].tolist() == ["eNo" * 400]


def test_a_figure_borrows_the_runs_of_a_table():
    run_artifact("fake/grid", profile="reduced")
    rows = load_rows(find_artifact("fake/curve"), profile="reduced")
    assert set(rows["method"]) == {"fedavg"}
    assert set(rows["artifact"]) == {"grid"}
    assert run_artifact("fake/curve", profile="reduced", seeds=2).computed == 0
    with pytest.raises(UsageError, match="the rows of fake/curve are filed under fake/grid; export that"):
        export_results(find_artifact("fake/curve"), "reduced")


def test_runs_at_a_profile_that_only_the_borrower_has_are_exported(tmp_path, monkeypatch):
    wider = [
        replace(one, profiles=PROFILES) if one.id == "fake/curve" else one
        for one in fake_federation.ARTIFACTS
    ]
    monkeypatch.setattr(fake_federation, "ARTIFACTS", tuple(wider))
    assert "extended" not in find_artifact("fake/grid").profiles
    run_artifact("fake/curve", profile="extended", seeds=1)
    path = export_results(find_artifact("fake/grid"), "extended")
    assert path.name == "grid-extended.parquet"
    path.unlink()
    with pytest.warns(StoreWarning, match="where 1 run of fake/grid at extended is filed"):
        export_results(find_artifact("fake/grid"), "extended")
    rows = load_rows(find_artifact("fake/curve"), profile="extended", store=tmp_path / "empty")
    assert set(rows["source"]) == {"results"}


def test_borrowing_from_committed_rows_warns_of_nothing(tmp_path, recwarn):
    run_artifact("fake/grid", profile="reduced")
    export_results(find_artifact("fake/grid"), "reduced")
    rows = load_rows(find_artifact("fake/curve"), profile="reduced", store=tmp_path / "empty")
    assert set(rows["source"]) == {"results"}
    assert not recwarn.list


def test_a_lost_file_of_shared_runs_is_told_with_the_number_of_runs(tmp_path, recwarn):
    run_artifact("fake/grid", profile="reduced")
    path, empty = export_results(find_artifact("fake/grid"), "reduced"), tmp_path / "empty"
    path.unlink()
    told = "grid-reduced.parquet is missing, where 3 runs of fake/curve at reduced are filed; restore it with"
    with pytest.warns(StoreWarning, match=told):
        assert load_rows(find_artifact("fake/curve"), profile="reduced", store=empty).empty
    with pytest.warns(StoreWarning, match="where 1 run of fake/curve"):  # two are in the store
        load_rows(find_artifact("fake/curve"), profile="reduced")
    run_artifact("fake/curve", profile="reduced")
    recwarn.clear()
    assert load_rows(find_artifact("fake/curve"), profile="reduced")["seed"].nunique() == 3
    assert load_rows(find_artifact("fake/curve"), profile="paper", store=empty).empty, "never committed"
    assert not recwarn.list


def test_a_claim_about_data_that_are_not_at_hand_is_not_run(monkeypatch):
    def absent(profile):
        raise DataError("no such file")

    broken = replace(KEPT, measurement=None, compute=absent)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (broken,))
    claim = replace(fake_federation.CLAIMS[0], artifact="fake/timing")
    monkeypatch.setattr(fake_federation, "CLAIMS", (claim,))
    ((_, verdict),) = decide_claims("fake")
    assert verdict.verdict == "not run"


def test_figures_are_drawn_from_the_largest_profile_with_rows(monkeypatch, tmp_path):
    drawn = []
    drawing = replace(fake_federation.ARTIFACTS[0], plot=lambda rows: drawn.append(rows) or plt.figure())
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (drawing,))
    assert list(draw_figures(["fake"])) == ["fake/grid: no rows stored at any profile"]
    run_artifact("fake/grid", profile="smoke")
    run_artifact("fake/grid", profile="reduced")
    with mpl.rc_context(
        {"figure.constrained_layout.use": False}
    ):  # every paper is drawn in the suite's style
        assert list(draw_figures(["fake"], folder=tmp_path)) == [
            f"fake/grid: {tmp_path / 'fake' / 'grid.png'}"
        ]
        assert mpl.rcParams["figure.constrained_layout.use"]
    assert set(drawn[0]["profile"]) == {"reduced"}
    with pytest.raises(UsageError, match="unknown paper 'nonsense'"):
        list(draw_figures(["nonsense"]))


def test_kept_rows_of_other_settings_count_as_none(monkeypatch, capsys):
    def install(width):
        changed = replace(TIMING, settings=lambda profile: [profile, (width, 50)])
        artifact = replace(KEPT, measurement=changed)
        monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], artifact))

    install(30)
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    exported = export_results(find_artifact("fake/timing"), "reduced")
    about = read_details(exported)
    assert about["settings"] == ["reduced", [30, 50]]
    install(40)
    for source in ("store", "results"):
        with pytest.warns(
            StoreWarning, match="computed with other settings; left out, run fake/timing again"
        ):
            assert load_rows(find_artifact("fake/timing"), profile="reduced", source=source).empty
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert "other settings" in capsys.readouterr().err
    assert CALLS == ["reduced", "reduced"]
    assert load_rows(find_artifact("fake/timing"), profile="reduced")["value"].tolist() == [1 / 3, 2]
    install(40)
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced", "reduced"]


def test_rows_kept_before_there_were_settings_are_taken(monkeypatch):
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    artifact = replace(KEPT, measurement=replace(TIMING, settings=lambda profile: [profile]))
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], artifact))
    assert len(load_rows(find_artifact("fake/timing"), profile="reduced")) == 2
