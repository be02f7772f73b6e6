"""What a notebook's session computes: failed runs that an artifact counts, and a time budget."""

from dataclasses import replace

import fake_federation
import pandas as pd
import pytest

from fedlib.errors import UsageError
from fedlib.experiments import measurements
from fedlib.experiments.artifact import Artifact, Measurement
from fedlib.experiments.durations import Expected
from fedlib.experiments.progress import NotebookProgress
from fedlib.experiments.results import export_results
from fedlib.experiments.store import FAILED, Store, StoreWarning
from fedlib.papers import find_artifact, run_artifact
from fedlib.reporting.session import begin

GRID = fake_federation.ARTIFACTS[0]
LONG = Measurement("fake/search", lambda profile: pd.DataFrame({"value": [1.0]}))


@pytest.fixture(autouse=True)
def world(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)


def put(monkeypatch, *own):
    monkeypatch.setattr(fake_federation, "ARTIFACTS", own)


def computed(**parameters):
    """Statuses of the runs that a session has stored."""
    session = begin("fake", compute="all", seeds=2, device="cpu", **parameters)
    session.run()
    return [stored.status for stored in Store().scan("fake/grid")]


def test_failed_runs_end_the_session_with_their_number_and_reason(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    with pytest.raises(UsageError, match="2 runs failed: failed: loss is nan"):
        computed()


def test_failed_runs_are_rows_of_an_artifact_that_counts_them(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    put(monkeypatch, replace(GRID, counts_failed=True))
    assert computed().count(FAILED) == 2


def test_failed_runs_of_another_artifact_are_not_excused(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    other = [replace(run, artifact="other") for run in fake_federation.grid_runs("smoke")[:1]]
    put(monkeypatch, replace(GRID, counts_failed=True), replace(GRID, id="fake/other", runs=lambda p: other))
    with pytest.raises(UsageError, match="1 run failed"):
        computed()


def test_a_measurement_without_time_leaves_the_rest_to_be_computed(monkeypatch, capsys):
    put(monkeypatch, Artifact("fake/search", "a search", measurement=LONG), GRID)
    expected = Expected(6000.0, ("an abacus",), runs=1)
    monkeypatch.setattr(measurements, "expected_measurement", lambda measurement, profile: expected)
    assert len(computed(budget_minutes=9)) == 4
    last = capsys.readouterr().out.splitlines()[-1]
    assert "computed 2 groups of runs in " in last
    assert "fake/search: not begun, it takes about 1.7 h (measured on an abacus), and 9 min" in last


def test_a_measurement_that_artifacts_share_is_planned_and_counted_once(monkeypatch, capsys):
    shared = [Artifact(f"fake/{name}", name, "table", measurement=LONG) for name in ("search", "a", "b")]
    put(monkeypatch, *shared)
    hour = Expected(3600.0, ("an abacus",), runs=1)
    monkeypatch.setattr("fedlib.reporting.session.expected_measurement", lambda measurement, profile: hour)
    steps = []
    monkeypatch.setattr(NotebookProgress, "expect", lambda self, count: steps.append(count))
    session = begin("fake", compute="all", device="cpu")
    plan = session.plan()
    assert plan[["artifact", "missing"]].values.tolist() == [["fake/search", "measurement"]]
    session.run()
    assert sum(steps) == 1
    assert "fake/search (measurement); about 60 min (measured on an abacus)\n" in capsys.readouterr().out
    assert [len(session.rows(artifact.id)) for artifact in shared] == [1, 1, 1]
    assert session.plan().empty


def test_a_session_tells_a_lost_file_but_not_rows_of_an_earlier_grid(tmp_path, monkeypatch, recwarn):
    run_artifact("fake/grid", profile="reduced")
    path = export_results(find_artifact("fake/grid"), "reduced")
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path / "empty"))
    kept = fake_federation.ARTIFACTS
    put(monkeypatch, replace(GRID, runs=lambda profile: fake_federation.grid_runs(profile)[:1]))
    assert set(begin("fake").rows("fake/grid").method) == {"fedavg"}
    assert not recwarn.list
    put(monkeypatch, *kept)
    path.unlink()
    with pytest.warns(StoreWarning, match="is missing, where .* runs of fake/grid at reduced are filed"):
        assert begin("fake", shown="largest", seeds=3).rows("fake/grid").empty


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"paper": "fakee"}, "unknown paper 'fakee' (did you mean 'fake'?)"),
        ({"paper": "fake", "live": ["gird"]}, "unknown artifact 'fake/gird' (did you mean 'fake/grid'?)"),
    ],
)
def test_a_wrong_name_ends_the_session_before_it_begins(given, told):
    with pytest.raises(UsageError) as error:
        begin(**given)
    assert str(error.value).startswith(told)


def test_inconclusive_claims_stand_beside_their_seeds(monkeypatch):
    """Four seeds of the 40 needed; another claim was never simulated, and a third is decided."""
    verdicts = [
        {"claim": name, "verdict": verdict, "seeds": 4}
        for name, verdict in (("X-C1", "inconclusive"), ("X-C2", "supported"), ("X-C3", "inconclusive"))
    ]
    shown = []
    monkeypatch.setattr("fedlib.reporting.display.display", lambda text: shown.append(text.data))
    monkeypatch.setattr("fedlib.reporting.session.records", lambda paper, store: verdicts)
    monkeypatch.setattr("fedlib.reporting.session.stored_seeds", lambda: {"X-C1": "40"})
    begin("start").undecided()
    assert shown[0].startswith("Inconclusive: X-C1 (4; 40), X-C3 (4; not simulated). In brackets ")


def test_claims_can_be_shown_by_name(monkeypatch):
    shown = []
    monkeypatch.setattr("fedlib.reporting.display.display", lambda html: shown.append(html.data))
    session = begin("start")
    session.claims("START-C2", "START-C1")
    assert shown[0].index("START-C2 (ours) · ") < shown[0].index("START-C1 (ours) · ")
    assert "START-C3" not in shown[0]
    with pytest.raises(UsageError, match="unknown claim 'START-C9'"):
        session.claims("START-C9")


def test_a_session_shares_its_rows_with_functions_and_gives_readers_their_own():
    run_artifact("fake/grid", profile="smoke")
    session = begin("fake")
    shared = session.rows_of("fake/grid")
    own = session.rows("fake/grid").assign(test_accuracy=0.0)
    own.loc[:, "seed"] = 9
    assert session.rows_of("fake/grid") is shared
    pd.testing.assert_frame_equal(session.rows("fake/grid"), shared)
    assert set(shared.seed) == {0, 1}
