"""Commands: what they print, and one line with exit status 2 for every kind of bad input."""

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace

import fake_federation
import pytest
from processes import PATIENCE
from project_files import ROOT

from fedlib.cli import grid, output
from fedlib.cli.main import main
from fedlib.errors import DataError, UsageError
from fedlib.experiments import result_files
from fedlib.experiments.cluster import missing_groups
from fedlib.experiments.durations import Expected, Timings
from fedlib.experiments.preflight import check_run_names, with_numbers_as_annotated
from fedlib.experiments.results import stored_counts
from fedlib.experiments.selection import expand, group, override, parse_seeds, parse_setting
from fedlib.experiments.store import Store
from fedlib.papers import find_artifact
from fedlib.reporting import agents


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)


def test_an_absent_data_set_is_one_line_and_status_2(capsys, monkeypatch):
    def prepare(runs, *, device):
        raise DataError("the data set femnist is absent: looked for x")

    monkeypatch.setattr("fedlib.federation.prepare", prepare)
    assert main(["run", "fake/grid"]) == 2
    assert capsys.readouterr().err == "fedlib: error: the data set femnist is absent: looked for x\n"


def test_run_then_run_again(capsys):
    assert main(["run", "fake/grid"]) == 0
    assert "fake/grid: 4 runs, 4 computed now, 0 failed" in capsys.readouterr().out
    assert main(["run", "fake/grid"]) == 0
    assert "fake/grid: 4 runs, 0 computed now, 0 failed" in capsys.readouterr().out


def test_a_failed_run_is_a_line_and_status_1(capsys, monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    assert main(["run", "fake/grid"]) == 1
    captured = capsys.readouterr()
    assert "fake/grid: 4 runs, 4 computed now, 2 failed" in captured.out
    assert captured.err.count("seed 1: failed: loss is nan") == 2


def test_list_reads_each_place_of_the_store_once(monkeypatch, capsys):
    """Two artifacts show runs of one place."""
    first = fake_federation.ARTIFACTS[0]
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (first, replace(first, id="fake/again")))
    main(["run", "fake/grid", "--seeds", "1"])
    scanned, scan = [], Store.scan
    monkeypatch.setattr(Store, "scan", lambda store, place: scanned.append(place) or scan(store, place))
    capsys.readouterr()
    assert main(["list", "fake"]) == 0
    assert scanned == ["fake/grid"]
    assert capsys.readouterr().out.count("smoke: 2 runs") == 2


@pytest.mark.parametrize(
    ("command", "function", "resumes"),
    [
        ("run fake/grid", "fedlib.cli.grid.planned_runs", True),
        ("run fake/grid --dry-run", "fedlib.cli.grid.planned_runs", False),
        ("figures fake", "fedlib.reporting.figure_files.draw_figures", False),
        ("data check", "fedlib.data.check", False),
    ],
)
def test_an_interrupt_says_that_it_resumes_where_it_does(capsys, monkeypatch, command, function, resumes):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(function, interrupt)
    assert main(command.split()) == 130
    rest = "; what was finished is stored, the rest resumes" if resumes else ""
    assert capsys.readouterr().err == f"fedlib: interrupted{rest}\n"


def test_a_used_up_budget_is_status_3(capsys):
    assert main(["run", "fake/grid", "--budget-minutes", "0.0001"]) == 3
    assert "the time budget of 0.0001 minutes is used up" in capsys.readouterr().err


def test_whole_paper_is_run_by_its_name(capsys):
    assert main(["run", "fake", "fake/grid", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("fake/grid at smoke: 4 runs") == 1


def test_runs_that_artifacts_share_count_once(capsys, monkeypatch):
    shared = replace(fake_federation.ARTIFACTS[0], id="fake/again")
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (*fake_federation.ARTIFACTS, shared))
    monkeypatch.setattr(Timings, "_of_run", lambda self, run: Expected(1.0, ("a laptop",), 1))
    assert main(["run", "fake", "--dry-run"]) == 0
    *_, one, other, both = capsys.readouterr().out.splitlines()
    assert "4 runs, 0 stored; about 4 s" in one
    assert "4 runs, 0 stored; about 4 s" in other
    assert both == "2 artifacts: about 4 s (measured on a laptop)"


def test_dry_run_computes_nothing(capsys, tmp_path):
    assert main(["run", "fake/grid", "--dry-run", "--seeds", "3", "--set", "rounds=5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    why = " (no committed run to go by)"
    group = "fake/grid fmnist-embedded iid N=2 fedavg seeds 0,1,2"
    assert lines[0] == f"{group}: 5 rounds, 0 of 3 stored, time not known"
    assert lines[-1] == f"fake/grid at smoke: 6 runs, 0 stored; time not known{why}"
    assert sum(why in line for line in lines) == 1
    assert not (tmp_path / "runs").exists()


ABSENT = "the data set mnist is absent: looked for the folder "


@pytest.mark.parametrize(
    "given", ["run fake/grid --data mnist", "submit fake/grid --data mnist", "run frl/fig9 --profile reduced"]
)
def test_a_dry_run_names_the_absent_data_set_and_how_to_get_it(given, capsys):
    assert main([*given.split(), "--dry-run"]) == 0
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(ABSENT)]
    assert "to get it: run `python -m fedlib data fetch mnist`" in told


@pytest.mark.parametrize("command", ["run", "submit", "export"])
def test_a_profile_that_an_artifact_lacks_is_refused_in_one_line(command, capsys):
    assert main([command, "start/curves", "--profile", "extended"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.endswith("start/curves has no profile 'extended'; allowed: smoke, reduced, paper")


def test_a_dry_run_is_silent_about_data_that_nothing_needs(capsys):
    assert main(["run", "fake/grid", "--data", "mnist"]) == 0  # a fake task, which needs no images
    capsys.readouterr()
    assert main(["run", "fake/grid", "--data", "mnist", "--dry-run"]) == 0
    assert main(["run", "fake/grid", "--dry-run"]) == 0
    assert "absent" not in capsys.readouterr().out


def test_a_dry_run_of_submit_shows_the_groups_and_submits_nothing(capsys, tmp_path):
    assert main(["submit", "fake/grid", "--dry-run", "--seeds", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "fake/grid fmnist-embedded iid N=2 fedavg seeds 0,1,2: 8 rounds, 0 of 3 stored"
    )
    assert lines[-1].startswith("fake/grid at smoke: 6 runs, 0 stored")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "option", [["--processes", "2"], ["--budget-minutes", "3"], ["--log", "tensorboard"]]
)
def test_submit_refuses_options_that_its_jobs_do_not_have(option, capsys):
    assert main(["submit", "fake/grid", *option]) == 2
    assert f"unrecognized arguments: {' '.join(option)}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--log", "foo"], "unknown tracker 'foo'; allowed: tensorboard"),
        (
            ["--set", "dataset.train_per_class=-1"],
            "train_per_class=-1 given; allowed: 1 or more, or null for all",
        ),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_dry_run_refuses_what_a_run_refuses(capsys, option, told, dry):
    assert main(["run", "fake/grid", *option, *dry]) == 2
    assert told in capsys.readouterr().err


def test_failed_runs_are_missing_where_they_are_to_be_computed_again(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    assert main(["run", "fake/grid"]) == 1
    runs = expand(fake_federation.ARTIFACTS[0], "smoke")
    assert missing_groups(runs, Store()) == []
    assert [len(members) for members in missing_groups(runs, Store(), retry_failed=True)] == [2, 2]


def test_part_of_a_grid_is_run_by_a_piece_of_its_line(capsys):
    line = "fake/grid fmnist-embedded iid N=2 fedprox(mu=0.1) seeds 0,1: 8 rounds, 0 of 2 stored"
    assert main(["run", "fake", "--dry-run", "--only", "N=2 fedprox"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith(line)
    assert "fake/grid at smoke: 2 runs, 0 stored" in last
    both = ["--only", "fedprox(mu=0.1)", "--only", "fedavg"]
    assert main(["run", "fake/grid", "--dry-run", *both]) == 0
    assert "4 runs, 0 stored" in capsys.readouterr().out


def test_a_line_keeps_its_settings_where_its_neighbours_are_left_out(monkeypatch, capsys):
    """So that a text of any line finds it, and a run says which of the grid's it is."""
    runs = [replace(fake_federation.BASE, local_steps=steps) for steps in (None, 2, 3)]
    artifact = replace(fake_federation.ARTIFACTS[0], runs=lambda profile: runs)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (artifact,))
    assert main(["run", "fake/grid", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [" local_steps=2 seeds" in line for line in lines[:3]] == [False, True, False]
    second = [run for run in expand(artifact, "smoke") if run.local_steps == 2]
    monkeypatch.setattr(result_files, "without_committed", lambda runs: second)
    for options in (["--only", "local_steps=2 seeds"], ["--skip-committed"]):
        assert main(["run", "fake/grid", "--dry-run", *options]) == 0
        assert capsys.readouterr().out.splitlines()[0] == lines[1]
    assert main(["run", "fake/grid", "--only", "local_steps=2 seeds"]) == 0
    assert "] fake/grid fmnist-embedded iid N=2 fedavg local_steps=2 seeds" in capsys.readouterr().out


def test_runs_are_told_apart_by_the_methods_options(capsys):
    assert main(["run", "fake/grid", "--dry-run", "--method", "fedprox", "--set", "method.mu=0.5"]) == 0
    assert " fedprox(mu=0.5) seeds 0" in capsys.readouterr().out


def test_the_time_that_runs_will_take_is_printed_before_they_start(capsys):
    run = ["run", "fake/grid", "--profile", "reduced", "--seeds", "1"]
    assert main(run) == 0
    assert "; time not known" in capsys.readouterr().out.splitlines()[0]
    main(["export", "fake/grid", "--profile", "reduced"])
    path = result_files.results_file("fake/grid", "reduced")
    details = result_files.read_details(path)
    for item in details["runs"].values():  # groups of one seed
        item["provenance"] |= {"group_wall_seconds": 100.0, "device_name": "Abacus"}
    result_files.write_rows(path, result_files.read_rows(path), details)
    capsys.readouterr()
    assert main([*run[:-1], "3"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    # two descriptions with two seeds missing in each
    assert first == "fake/grid at reduced: 6 runs, 2 stored; about 7 min (measured on cpu, Abacus)"


def test_committed_runs_are_left_out_on_request(capsys):
    rest = ["run", "fake/grid", "--profile", "reduced", "--dry-run", "--skip-committed"]
    main(["run", "fake/grid", "--profile", "reduced", "--seeds", "1"])
    main(["export", "fake/grid", "--profile", "reduced"])
    capsys.readouterr()
    assert main([*rest, "--seeds", "3"]) == 0
    assert "at reduced: 4 runs, 0 stored" in capsys.readouterr().out.splitlines()[-1]
    assert main([*rest, "--seeds", "1"]) == 0
    assert capsys.readouterr().out == "fake/grid: 2 runs, all committed\n"


def test_list_shows_what_is_stored(capsys):
    main(["run", "fake/grid"])
    capsys.readouterr()
    assert main(["list", "fake"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("  ")[-1] == "smoke: 4 runs"


def test_the_runs_of_an_artifact_are_read_once_for_all_profiles(monkeypatch):
    main(["run", "fake/grid", "--seeds", "1"])
    scanned, scan = [], Store.scan
    monkeypatch.setattr(Store, "scan", lambda self, place: scanned.append(place) or scan(self, place))
    artifact = find_artifact("fake/grid")
    assert len(artifact.profiles) > 1
    assert stored_counts(artifact, Store()) == {"smoke": "2 runs"}
    assert scanned == ["fake/grid"]


@pytest.mark.parametrize(
    "command",
    ["list", "run start/curves --dry-run", "submit --status", "reproduce-number", "run --help", "--version"],
)
def test_a_command_that_computes_nothing_ends_quietly_without_a_reader(command):
    whole = f"'{sys.executable}' -m fedlib {command} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", whole], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_verdicts(capsys):
    assert main(["verdicts", "fake"]) == 0
    assert "not run" in capsys.readouterr().out


def test_seeds_are_a_count_or_a_list():
    assert parse_seeds("3") == [0, 1, 2]
    assert parse_seeds("0,4,4") == [0, 4]
    assert parse_seeds("7,") == [7]


@pytest.mark.parametrize("command", ["run", "results", "show", "submit"])
def test_help_says_how_one_seed_is_written(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "one seed alone: 0,)" in " ".join(capsys.readouterr().out.split())


def test_a_new_name_drops_the_options_of_the_old_one():
    run = override(fake_federation.grid_runs("smoke")[1], {"method": "fedavg", "partition.delta": 0.4})
    assert (run.method_options, run.partition_options) == ({}, {"delta": 0.4})
    assert parse_setting("local_learning_rate=1") == ("local_learning_rate", 1)
    assert override(run, {"dataset": "MNIST_5k"}).dataset == "mnist-5k"
    with pytest.raises(UsageError, match="data set 'MNIST_5k' given in a run; allowed: its name, 'mnist-5k'"):
        check_run_names(dataclasses.replace(run, dataset="MNIST_5k"))
    assert override(run, {"local_learning_rate": 1}).key == override(run, {"local_learning_rate": 1.0}).key


def test_run_needs_neither_jupyter_nor_papermill():
    code = (
        "import sys; from fedlib.experiments import runner, group_training, results; import fedlib.cli.main; "
        "import fedlib.federation, fedlib.methods; "
        "print([m for m in ('papermill', 'nbclient', 'jupyter_core', 'IPython') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def without_notebook_packages(*arguments: str) -> subprocess.CompletedProcess:
    """A command where the extra `notebooks` is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.match("[a-z0-9]+", text)[0] for text in project["optional-dependencies"]["notebooks"]]
    absent = ["IPython", "nbformat", "nbclient", *names]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); from fedlib.cli.main import main\n"
    code += "sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    "command",
    [
        "figures start --profile reduced --out {}",
        "show start/curves --profile reduced --out {}/start/curves.png",
    ],
)
def test_figures_and_tables_need_no_notebook_package(command, tmp_path):
    done = without_notebook_packages(*command.format(tmp_path).split(), "--store", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "start" / "curves.png").exists()


@pytest.mark.parametrize("command", ["report", "notebooks", "reproduce"])
def test_a_command_whose_packages_are_absent_says_how_to_install_them(command):
    done = without_notebook_packages(command)
    assert done.returncode == 2
    way = r"which is not installed; in a checkout: pip install -e '\.\[notebooks\]'"
    assert re.fullmatch(rf"fedlib: error: {command} needs \w+, {way}\n", done.stderr)


def test_an_absent_package_that_every_command_needs_asks_for_no_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "filelock", None)
    monkeypatch.delitem(sys.modules, "fedlib.experiments.store", raising=False)
    assert main(["list"]) == 2
    way = "in a checkout: pip install -e ."
    assert capsys.readouterr().err == f"fedlib: error: list needs filelock, which is not installed; {way}\n"


def test_list_data_list_dry_runs_and_errors_import_no_large_package(tmp_path):
    code = "import sys; from fedlib.cli.main import main; main(['list']); main(['run', 'x'])\n"
    code += "main(['data', 'list'])\n"
    dry = ["--dry-run", "--store", str(tmp_path)]
    code += f"assert main(['run', 'start', 'feddrl', *{dry}]) == 0\n"
    code += f"assert main(['submit', 'frl', *{dry}]) == 0\n"
    code += f"assert main(['run', 'start/curves', '--data', 'mnist-5k', '--method', 'fedavg', *{dry}]) == 0\n"
    code += f"assert main(['run', 'start/curves', '--data', 'mnist', '--partition', 'ce', *{dry}]) == 0\n"
    for partition in (["--set", "partition.delta=0.4"], ["--partition", "iid", "--data", "mnist-5k"]):
        code += f"assert main(['run', 'start/curves', *{partition}, *{dry}]) == 0\n"
    code += f"assert main(['run', 'start/curves', '--set', 'partition.delta=2', *{dry}]) == 2\n"
    code += f"assert main(['submit', '--status', *{dry[1:]}]) == 0\n"
    for option in ("--profile", "--data", "--partition"):
        code += f"assert main(['results', {option!r}, 'x', *{dry[1:]}]) == 2\n"
    code += "print([name for name in ('torch', 'pandas', 'matplotlib') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.endswith("[]\n")


def test_numbers_are_listed_and_jobs_refused_without_torch():
    code = "import sys; sys.modules['torch'] = None; from fedlib.cli.main import main\n"
    code += "assert main(['reproduce-number']) == 0\n"
    code += "assert main(['reproduce', '--jobs', '0']) == 2\n"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_data_list_shows_the_sets_named(capsys):
    assert main(["data", "list", "fmnist-embedded", "mnist-5k"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:] if line[0] != " "] == ["fmnist-embedded", "mnist-5k"]


def test_a_set_that_is_absent_is_listed_with_the_place_it_belongs_to(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "999")
    assert main(["data", "list", "femnist"]) == 0
    assert f"{tmp_path / 'femnist'}: put LEAF's JSON shards" in capsys.readouterr().out


def test_a_table_is_cut_for_a_terminal_and_whole_in_a_file(capsys, monkeypatch):
    title = "Does the repaired agent's lead grow with the rounds?"
    row = {"id": "x", "title": title}
    monkeypatch.delenv("COLUMNS", raising=False)
    output.print_table([row | {"stored": "-" * 200}])
    assert title in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "40")
    output.print_table([row])
    assert "Does the repaired agent's lead grow…" in capsys.readouterr().out


def test_a_data_set_may_be_named_as_its_file_is(capsys):
    """`My_Set.npz` is the data set my-set."""
    for command in ("run start/curves --dry-run --data", "results --data", "data list"):
        assert main([*command.split(), "FMNIST_embedded"]) == 0, command
        assert "unknown" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--method", "fedavg", "--method", "fedprox"], "--method given twice; allowed: once"),
        (["--seeds", "1", "--seeds", "3"], "--seeds given twice; allowed: once"),
        (["--profile", "smoke", "--profile", "paper"], "--profile given twice; allowed: once"),
        (["--set", "rounds=3", "--set", "rounds=5"], "--set rounds given twice; allowed: each key once"),
    ],
)
def test_an_option_that_is_given_twice_is_refused(given, says, capsys):
    assert main(["run", "start/curves", "--dry-run", *given]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", ["run fake/grid --dry-run --retry", "list --stor x", "--vers", "results --prof smoke"]
)
def test_an_abbreviated_option_is_refused(given, capsys):
    """Further processes of a command get its options but for two, which are found by their whole names."""
    assert main(given.split()) == 2
    assert "--help)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("run fake/grid --seed 3", "unrecognized arguments: --seed 3 (did you mean --seeds?) (see python"),
        ("run fake/grid --methd=x", "unrecognized arguments: --methd=x (did you mean --method?)"),
        ("show fake/grid --methd x", "(did you mean --method?) (see python -m fedlib show --help)"),
        ("run fake/grid --nothing", "unrecognized arguments: --nothing (see python -m fedlib run --help)"),
        ("run fake/grid --set mu=0.5", "unknown setting 'mu' (did you mean 'method.mu'?); allowed: "),
        ("run fake/grid --method feddrl --set discount=1", "'discount' (did you mean 'method.discount'?)"),
        ("run start/curves --set delta=0.5", "unknown setting 'delta' (did you mean 'partition.delta'?)"),
        (
            "run start/curves --partition dirichlet --set alpha=0.3",
            "unknown setting 'alpha' (did you mean 'partition.alpha'?)",
        ),
    ],
)
def test_the_option_that_was_meant_is_suggested(given, reason, capsys):
    assert main(given.split()) == 2
    assert reason in capsys.readouterr().err


def test_the_method_that_has_an_option_is_named_where_others_have_it_not(capsys):
    """Not where one method alone is run."""
    assert main(["run", "feddrl/table3", "--set", "method.discount=0.5", "--dry-run"]) == 2
    assert capsys.readouterr().err.endswith("'discount' was given; name the method: --method feddrl\n")
    assert (
        main(["run", "feddrl/table3", "--method", "singleset", "--set", "method.discount=0.5", "--dry-run"])
        == 2
    )
    assert capsys.readouterr().err.endswith("'discount' was given\n")
    assert main(["run", "feddrl/table3", "--set", "method.nonsense=0.5", "--dry-run"]) == 2
    assert capsys.readouterr().err.endswith("'nonsense' was given\n")


def test_the_examples_of_run_are_runs(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    examples = re.findall("  python -m fedlib (run .+)", capsys.readouterr().out.split("examples:")[1])
    assert len(examples) >= 3
    for example in examples:
        given = example.replace("mypackage.module:MyMethod", "fedlib.methods:FedAvg").split()
        assert main([*given, "--dry-run", "--store", str(tmp_path)]) == 0, example


def test_the_console_script_finds_a_module_of_the_current_folder(tmp_path):
    """As `python -m fedlib` does; its usage names the script."""
    (tmp_path / "mine.py").write_text("from fedlib.methods import FedAvg as Mine\n")
    script = tmp_path / "bin" / "fedlib"
    script.parent.mkdir()
    script.write_text("import sys; from fedlib.cli.main import main; sys.exit(main())")
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    for options, said in (
        (["run", "start/curves", "--method", "mine:Mine", "--dry-run"], "mine:Mine"),
        (["run", "--help"], "usage: fedlib run "),
    ):
        done = subprocess.run(
            [sys.executable, script, *options],
            cwd=tmp_path, env=path, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert said in done.stdout


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("method.share=NaN", "NaN given in a setting; allowed: finite numbers"),
        ("method.share=-Infinity", "-Infinity given in a setting"),
    ],
)
def test_settings_are_finite(setting, reason):
    with pytest.raises(UsageError, match=reason):
        parse_setting(setting)


def test_agents_without_a_name_are_listed_and_nothing_is_trained(capsys, monkeypatch):
    monkeypatch.setattr(agents, "train_agents", lambda methods: pytest.fail(f"trains {methods}"))
    assert main(["agents"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [*agents.TRAINED_BY]
    assert main(["agents", "wrongname"]) == 2
    assert "'wrongname'; allowed: feddrl, " in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--data", "mnist"], ["--method", "fedavg"], ["--partition", "iid"], ["--set", "rounds=3"]]
)
def test_a_measurement_has_no_runs_to_narrow_or_change(option, capsys):
    assert main(["run", "feddrl/ddpg_bandit", *option, "--dry-run"]) == 2
    assert "feddrl/ddpg_bandit trains no runs that they could narrow or change" in capsys.readouterr().err


def test_a_measurement_is_not_begun_without_time(capsys):
    assert main(["run", "feddrl/ddpg_bandit", "--budget-minutes", "0.0001"]) == 3
    assert "feddrl/ddpg_bandit: not begun, the time budget is used up" in capsys.readouterr().err


def test_numbers_of_a_setting_are_those_of_the_option():
    """1 where a float belongs is 1.0, 2.0 where a whole number belongs is 2: one run each."""
    (base,) = (
        run for run in expand(find_artifact("start/curves"), "smoke", seeds=1) if run.method == "fedprox"
    )
    one, same = (
        with_numbers_as_annotated(override(base, {"method.mu": value}), ["method.mu"]) for value in (1, 1.0)
    )
    assert one.key == same.key
    agent = with_numbers_as_annotated(
        override(base, {"method": "feddrl", "method.workers": 2.0}), ["method", "method.workers"]
    )
    assert isinstance(agent.method_options["workers"], int)


@pytest.mark.parametrize("delta", ["1", "1.0"])
def test_numbers_of_a_partition_are_those_of_the_option_without_torch_too(delta):
    """The same runs as where another setting, at the value that it has, asks for all of a run's checks."""
    parser = argparse.ArgumentParser()
    grid.add_selection(parser)
    grid.add_training(parser)
    command = ["start/curves", "--set", f"partition.delta={delta}"]
    quick, whole = (
        grid.all_of(grid.planned_runs(parser.parse_args([*command, *more]))[0])
        for more in ([], ["--set", "rounds=7"])
    )
    assert [run.key for run in quick] == [run.key for run in whole]
    assert isinstance(quick[0].partition_options["delta"], float)


def test_runs_that_are_given_twice_are_one():
    runs = expand(find_artifact("start/curves"), "smoke", seeds=2)
    assert group([*runs, *runs]) == group(runs)
