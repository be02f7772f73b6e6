"""Kept computations are computed once, vouched for, exported; and figures borrow the runs of tables."""

import json
import sys
import warnings
from dataclasses import replace
from types import ModuleType

import fake_federation
import matplotlib as mpl
import pandas as pd
import pytest
from fake_federation import grid_runs

from fedlib import results, suite
from fedlib.cli import main
from fedlib.errors import DataError, UsageError
from fedlib.kept import compute_kept, kept_path
from fedlib.papers import Artifact
from fedlib.publish import draw_figures
from fedlib.results import export_results, load_rows
from fedlib.store import Store, StoreWarning
from fedlib.verdicts import decide_claims

CALLS = []


def measure(profile):
    CALLS.append(profile)
    return pd.DataFrame({"seed": [0, 1], "value": [1 / 3, len(CALLS)], "dataset": "made-up"})


KEPT = Artifact(id="fake/timing", kind="figure", title="a timing", compute=measure, keep=True)
LENT = Artifact(id="fake/one", kind="figure", title="seed 1", lender="fake/timing", lent={"seed": 1})
BORROWED = Artifact(id="fake/curve", kind="figure", title="one curve", runs=lambda p: grid_runs(p)[:1])


@pytest.fixture(autouse=True)
def world(monkeypatch, tmp_path):
    CALLS.clear()
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], KEPT, BORROWED, LENT))
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path / "runs"))
    monkeypatch.setattr(results, "results_folder", lambda: tmp_path / "committed")


def test_a_kept_computation_runs_once_and_loading_never_computes(tmp_path):
    assert load_rows("fake/timing", profile="reduced").empty
    assert CALLS == []
    for _ in range(2):
        assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced"]
    rows = load_rows("fake/timing", profile="reduced")
    assert rows["value"].tolist() == [1 / 3, 1]  # to the last bit
    assert set(rows["source"]) == {"store"}
    assert rows["commit"].notna().all()
    assert main(["run", "fake/timing", "--profile", "reduced", "--again"]) == 0
    assert load_rows("fake/timing", profile="reduced")["value"].tolist() == [1 / 3, 2]


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_damaged_kept_rows_are_set_aside_and_computed_again(suffix):
    store = Store()
    compute_kept(KEPT, "reduced", store)
    path = kept_path(KEPT, "reduced", store).with_suffix(suffix)
    path.write_text(path.read_text()[:-7])
    with pytest.warns(StoreWarning, match="is damaged; left out"):
        assert load_rows("fake/timing", profile="reduced").empty
    with pytest.warns(StoreWarning, match="set aside"):
        compute_kept(KEPT, "reduced", store)
    assert len(CALLS) == 2
    assert list(path.parent.glob("*.damaged-1"))


def test_kept_rows_are_exported_with_their_provenance(tmp_path):
    compute_kept(KEPT, "reduced", Store())
    path = export_results("fake/timing", "reduced")
    about = json.loads(path.with_suffix(".json").read_text())
    assert about["provenance"]["wall_seconds"] >= 0
    assert "device" in about["provenance"]
    committed = load_rows("fake/timing", profile="reduced", store=tmp_path / "empty")
    assert set(committed["source"]) == {"results"}
    assert committed["value"].tolist() == [0.333333, 1]


def test_only_a_computation_can_be_kept():
    with pytest.raises(UsageError, match="nothing to keep without `compute`"):
        Artifact(id="fake/x", kind="table", title="x", keep=True)


def listed(capsys, artifact_id):
    capsys.readouterr()
    assert main(["list", "--paper", "fake"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return next(line.split("  ")[-1].strip() for line in lines if line.startswith(artifact_id))


def test_an_artifact_shows_the_kept_rows_of_another_and_whose_they_are(capsys, tmp_path, monkeypatch):
    assert load_rows("fake/one", profile="reduced").empty
    assert listed(capsys, "fake/one") == "none"
    assert main(["run", "fake/one", "--profile", "reduced", "--dry-run"]) == 0
    assert "fake/one at reduced: computed once and kept" in capsys.readouterr().out
    assert main(["run", "fake/one", "--profile", "reduced"]) == 0  # its lender's rows are what is missing
    assert main(["run", "fake/one", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced"]
    rows = load_rows("fake/one", profile="reduced")
    assert rows[["seed", "value", "source", "artifact"]].values.tolist() == [[1, 1, "store", "one"]]
    assert load_rows("fake/one", profile="reduced", store=tmp_path / "empty").empty
    assert listed(capsys, "fake/one") == "reduced: rows of fake/timing"
    export_results("fake/timing", "reduced")
    assert listed(capsys, "fake/one") == "reduced: rows + results of fake/timing"
    assert listed(capsys, "fake/timing") == "reduced: rows + results"
    quick = replace(KEPT, id="fake/quick", keep=False)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (*fake_federation.ARTIFACTS, quick))
    assert listed(capsys, "fake/quick") == "computed on demand"
    with pytest.raises(UsageError, match="the rows of fake/one belong to fake/timing; export that"):
        export_results("fake/one", "reduced")
    with pytest.raises(
        UsageError, match="fake/one: rows of its own and of fake/timing; allowed: one of them"
    ):
        replace(LENT, compute=measure)


def test_pictures_among_the_rows_do_not_flood_the_terminal(capsys, monkeypatch):
    wide = replace(KEPT, id="fake/wide", compute=lambda profile: pd.DataFrame({"images": ["eNo" * 400]}))
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (*fake_federation.ARTIFACTS, wide))
    assert main(["run", "fake/wide"]) == 0
    shown = capsys.readouterr().out
    assert f"{('eNo' * 400)[:60]}..." in shown
    assert "eNo" * 21 not in shown
    assert load_rows("fake/wide", profile="smoke")["images"].tolist() == ["eNo" * 400]


def test_a_figure_borrows_the_runs_of_a_table():
    suite.run_artifact("fake/grid", profile="reduced")
    rows = load_rows("fake/curve", profile="reduced")
    assert set(rows["method"]) == {"fedavg"}
    assert set(rows["artifact"]) == {"grid"}
    assert suite.run_artifact("fake/curve", profile="reduced", seeds=2).computed == 0
    with pytest.raises(UsageError, match="the runs of fake/curve belong to fake/grid; export that"):
        export_results("fake/curve", "reduced")


def test_borrowing_from_committed_rows_warns_of_nothing(tmp_path, recwarn):
    suite.run_artifact("fake/grid", profile="reduced")
    export_results("fake/grid", "reduced")
    rows = load_rows("fake/curve", profile="reduced", store=tmp_path / "empty")
    assert set(rows["source"]) == {"results"}
    assert not recwarn.list


def test_a_claim_about_data_that_are_not_at_hand_is_not_run(monkeypatch):
    def absent(profile):
        raise DataError("no such file")

    broken = replace(KEPT, compute=absent, keep=False)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (broken,))
    claim = replace(fake_federation.CLAIMS[0], artifact="fake/timing")
    monkeypatch.setattr(fake_federation, "CLAIMS", (claim,))
    ((_, verdict),) = decide_claims("fake")
    assert verdict.verdict == "not run"


def test_figures_are_drawn_from_the_largest_profile_with_rows(monkeypatch, tmp_path):
    drawn = []
    module = ModuleType("fedlib.papers.fake_figures")
    module.FIGURES = {"grid": lambda rows, folder: drawn.append(rows) or folder / "g"}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert list(draw_figures(["fake"])) == ["fake/grid: no rows stored at paper or reduced or smoke"]
    suite.run_artifact("fake/grid", profile="smoke")
    suite.run_artifact("fake/grid", profile="reduced")
    with mpl.rc_context(
        {"figure.constrained_layout.use": False}
    ):  # every paper is drawn in the suite's style
        assert list(draw_figures(["fake"], folder=tmp_path)) == [f"fake/grid: {tmp_path / 'g'}"]
        assert mpl.rcParams["figure.constrained_layout.use"]
    assert set(drawn[0]["profile"]) == {"reduced"}
    with pytest.raises(UsageError, match="unknown paper 'nonsense'"):
        list(draw_figures(["nonsense"]))


def test_kept_rows_of_other_settings_count_as_none(monkeypatch, capsys):
    def install(width):
        artifact = replace(KEPT, settings=lambda profile: [profile, (width, 50)])
        monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], artifact))

    install(30)
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    exported = export_results("fake/timing", "reduced")
    about = json.loads(exported.with_suffix(".json").read_text())
    assert about["settings"] == ["reduced", [30, 50]]
    install(40)
    for source in ("store", "results"):
        with pytest.warns(
            StoreWarning, match="computed with other settings; left out, run fake/timing again"
        ):
            assert load_rows("fake/timing", profile="reduced", source=source).empty
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert "other settings" in capsys.readouterr().err
    assert CALLS == ["reduced", "reduced"]
    assert load_rows("fake/timing", profile="reduced")["value"].tolist() == [1 / 3, 2]
    install(40)
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    assert CALLS == ["reduced", "reduced"]


def test_rows_kept_before_there_were_settings_are_taken(monkeypatch):
    assert main(["run", "fake/timing", "--profile", "reduced"]) == 0
    artifact = replace(KEPT, settings=lambda profile: [profile])
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (fake_federation.ARTIFACTS[0], artifact))
    assert len(load_rows("fake/timing", profile="reduced")) == 2
