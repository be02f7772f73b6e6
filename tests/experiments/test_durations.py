"""How long runs will take, and what committed ones took."""

from dataclasses import replace

import fake_federation
import pytest

from fedlib.experiments import result_files
from fedlib.experiments.durations import Expected, Timings, minutes
from fedlib.experiments.results import export_results
from fedlib.experiments.selection import expand
from fedlib.papers import find_artifact, run_artifact


@pytest.fixture
def committed(monkeypatch, tmp_path):
    """The fake grid of four runs, two seeds of each of two descriptions, 60 s a group, on two machines."""
    fake_federation.install_for(monkeypatch, tmp_path)
    run_artifact("fake/grid", profile="reduced", seeds=2)
    path = export_results(find_artifact("fake/grid"), "reduced")
    details = result_files.read_details(path)
    for item in details["runs"].values():
        name = "Abacus" if item["description"]["method"] == "fedavg" else "Slide rule"
        item["provenance"] |= {"group_wall_seconds": 60.0, "device_name": name}
    result_files.write_rows(path, result_files.read_rows(path), details)
    return find_artifact("fake/grid")


def test_a_run_takes_its_share_of_its_groups_time(committed):
    runs = expand(committed, "reduced", seeds=4)
    expected = Timings().of_runs(runs)
    assert expected.seconds == len(runs) * 30.0  # seeds 2 and 3 like those that were measured
    assert (expected.runs, expected.untimed) == (len(runs), 0)
    assert set(expected.machines) <= {"cpu, Abacus", "cpu, Slide rule"}


def test_runs_that_were_never_timed_are_counted(committed):
    known = expand(committed, "reduced", seeds=1)
    other = expand(committed, "reduced", seeds=1, settings={"rounds": 3})
    text = Timings().of_runs([*known, *other]).text()
    assert text.startswith(f"about {minutes(30.0 * len(known))} (measured on cpu, ")
    assert text.endswith(f"; {len(other)} of {len(known) + len(other)} runs never timed)")
    assert Timings().of_runs(other).text() == "time not known (no committed run to go by)"
    assert Expected().text() == "nothing to compute"


def test_a_run_on_other_data_is_expected_to_take_as_long(committed):
    known = expand(committed, "reduced", seeds=1)
    other = [replace(run, partition="dirichlet", partition_options={"alpha": 0.5}) for run in known]
    expected = Timings().of_runs([*known, *other])
    assert (expected.untimed, expected.alike) == (0, len(other))
    assert expected.seconds == 30.0 * (len(known) + len(other))
    assert f"; {len(other)} of {2 * len(known)} by runs on other data or divisions)" in expected.text()


def test_a_method_from_outside_is_expected_to_take_fedavgs_time(committed):
    own = [replace(run, method="mine:Mine") for run in expand(committed, "reduced", seeds=1)[:1]]
    expected = Timings().of_runs(own)
    assert (expected.seconds, expected.untimed, expected.alike, expected.by_fedavg) == (30.0, 0, 0, 1)
    assert expected.text().endswith("; 1 of 1 by FedAvg's)")
    elsewhere = Timings().of_runs([replace(own[0], rounds=3)])
    assert (elsewhere.untimed, elsewhere.by_fedavg) == (1, 0)


@pytest.mark.parametrize(("seconds", "text"), [(3.4, "3 s"), (120, "2 min"), (7200, "2.0 h")])
def test_times_as_a_reader_plans_with_them(seconds, text):
    assert minutes(seconds) == text
