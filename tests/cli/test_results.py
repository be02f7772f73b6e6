"""`results` and `show` find runs outside of every grid, also of a method from outside the package."""

import re
import shutil
import sys
from dataclasses import replace

import fake_federation
import pandas as pd
import pytest

import fedlib
from fedlib.cli import show, show_tables
from fedlib.cli.main import main
from fedlib.errors import UsageError
from fedlib.experiments import stored_runs
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import Store
from fedlib.plotting.style import method_style

METHOD = """
from dataclasses import dataclass

from fedlib.methods.baselines.fedavg import FedAvg


@dataclass(frozen=True)
class Mine(FedAvg):
    pass
"""
SMALL = [
    "--set",
    "rounds=1",
    "--set",
    "dataset.train_per_class=20",
    "--set",
    "local_epochs=1",
    "--seeds",
    "2",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with two runs of a method of the user's own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mypackage.py").write_text(METHOD)
    sys.path.insert(0, str(folder))
    try:
        given = ["--method", "mypackage:Mine", "--store", str(folder / "store")]
        assert main(["run", "start/curves", *given, *SMALL]) == 0
        yield folder / "store"
    finally:
        sys.path.remove(str(folder))


def test_a_run_outside_of_the_grid_is_listed(store, capsys):
    assert main(["results", "start/curves", "--store", str(store)]) == 0
    printed = capsys.readouterr().out
    assert "mypackage:Mine" in printed
    assert "0,1" in printed
    assert "2 runs in" in printed


def test_runs_that_share_another_artifacts_name_are_shown_under_it(tmp_path, capsys):
    """Runs of fig. 9 are table 4's; on another data set they lie outside of both grids."""
    given = ["--method", "fedavg", "--partition", "iid", "--seeds", "1", "--store", str(tmp_path)]
    assert main(["run", "fedddrl/fig9", "--profile", "smoke", *given, "--set", "batch_size=64"]) == 0
    following = capsys.readouterr().out.splitlines()[-1]
    assert following.startswith("next: python -m fedlib show fedddrl/table4 ")
    words = following.removeprefix("next: python -m fedlib ").split()
    assert main([*words, "--out", str(tmp_path / "a.png")]) == 0
    assert "no rows stored" not in capsys.readouterr().out


def test_a_method_of_ones_own_stands_beside_fedavg(store, capsys, tmp_path, monkeypatch):
    """The line that `run` ends with, and the same rows as a data frame."""
    monkeypatch.syspath_prepend(str(store.parent))
    own = ["start/curves", "--method", "mypackage:Mine", "--store", str(store)]
    assert main(["run", *own, *SMALL]) == 0
    told = "next: python -m fedlib show start/curves --profile smoke --method mypackage:Mine --seeds 2"
    assert f"{told} --store {store} --against fedavg\n" in capsys.readouterr().out
    copied = tmp_path / "store"
    shutil.copytree(store, copied)
    own[-1] = str(copied)
    assert main(["run", own[0], "--method", "fedavg", *own[3:], *SMALL]) == 0
    shown_of = ["--method", "fedavg,mypackage:Mine", "--out", str(tmp_path / "a.png"), *own[3:]]
    assert main(["show", own[0], *shown_of]) == 0
    printed = capsys.readouterr().out
    assert "final accuracy %" in printed
    assert main(["show", own[0], "--method", "mypackage:Mine", *shown_of[2:], "--against", "fedavg"]) == 0
    heading, columns, _, line, *_ = capsys.readouterr().out.splitlines()
    assert heading == "start/curves at smoke (also stored: reduced; --profile)"
    assert columns.endswith("less fedavg (points)  seeds")
    assert re.search(r"mypackage:Mine +\S+ \[\S+, \S+\] +2$", line)
    small = [*shown_of, "--profile", "smoke"]
    assert main(["show", own[0], *small, "--against", "fedprox"]) == 2
    told = "no rows of fedprox stored to compare with; python -m fedlib run start/curves --profile smoke "
    assert told + "--method fedprox" in capsys.readouterr().err
    assert main(["show", own[0], *small, "--against", "fedprxo"]) == 2
    assert "unknown method 'fedprxo' (did you mean 'fedprox'?)" in capsys.readouterr().err
    assert main(["show", own[0], *small[2:], "--method", "fedavg,fedprox"]) == 0
    assert capsys.readouterr().err == "fedlib: no rows stored of method fedprox\n"
    assert main(["show", own[0], *small[2:], "--method", "fedavg,fedprxo"]) == 2
    assert "unknown method 'fedprxo'" in capsys.readouterr().err
    rows = fedlib.load_results("start/curves", "smoke", store=copied)
    assert set(rows["method"]) == {"fedavg", "mypackage:Mine"}
    assert rows["settings"].notna().all()


def test_a_method_is_compared_by_seed():
    """40 and 50 % against 38 and 47 %: 2 and 3 points more; a third seed of one of them does not count."""
    lines = [("fedavg", 0, 0.38), ("fedavg", 1, 0.47), ("mine", 0, 0.40), ("mine", 1, 0.50), ("mine", 2, 0.9)]
    rows = pd.DataFrame(
        {
            "dataset": "a", "partition": "iid", "num_clients": 4, "method": method, "seed": seed, "round": 1,
            "run": f"{method}{seed}", "test_accuracy": accuracy, "settings": "",
            **{f"{name}_options": "{}" for name in ("dataset", "partition", "method")},
        }
        for method, seed, accuracy in lines
    )  # fmt: skip
    table, equal = show_tables.less_method(rows, "fedavg")
    (line,) = table.to_dict("records")
    assert (line["method"], line["seeds"], equal) == ("mine", 2, [])
    assert line["less fedavg (points)"] == pytest.approx(2.5)
    assert line["less fedavg (points) low"] == pytest.approx(2.5 - 12.706 * 0.5, abs=1e-3)
    rows["test_accuracy"] = 0.5
    assert show_tables.less_method(rows, "fedavg")[1] == [
        "a iid N=4, mine: same accuracy as fedavg on every seed"
    ]
    rows.loc[rows.method == "mine", "partition"] = "ce"
    with pytest.raises(UsageError, match="a cell and a seed in common with fedavg; allowed: 'mine'"):
        show_tables.less_method(rows, "fedavg")


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_show_draws_its_table_and_figure(kind, begins, store, capsys, tmp_path):
    out = tmp_path / f"curves.{kind}"
    given = ["--method", "mypackage:Mine", "--store", str(store), "--out", str(out)]
    assert main(["show", "start/curves", *given]) == 0
    assert "mypackage:Mine" in capsys.readouterr().out
    assert out.read_bytes()[:4] == begins


def test_an_unknown_kind_of_figure_is_refused_before_anything_is_drawn(store, capsys, tmp_path):
    given = ["--method", "mypackage:Mine", "--store", str(store), "--out", str(tmp_path / "curves.jpg")]
    assert main(["show", "start/curves", *given]) == 2
    printed = capsys.readouterr().err
    assert "unknown kind of figure file 'jpg'" in printed
    assert "allowed: png, pdf, svg" in printed


def test_failed_runs_are_counted_and_not_averaged(tmp_path, capsys, monkeypatch):
    """Seed 1 of both methods fails in round 3; seed 0 goes on."""
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    assert main(["run", "fake/grid", "--store", str(tmp_path)]) == 1
    runs = stored_runs.find_runs(Store(tmp_path))
    (good,) = {stored.final["test_accuracy"] for stored in runs if stored.run.seed == 0}
    lines = stored_runs.overview(runs)
    assert [line["accuracy"] for line in lines] == [f"{100 * good:.1f} %, 1 of 2 failed"] * 2
    assert set(stored_runs.rows_of(runs).seed) == {0}
    (only,) = stored_runs.overview([stored for stored in runs if stored.run.seed == 1])[:1]
    assert only["accuracy"] == "1 of 1 failed"


@pytest.mark.filterwarnings("default")  # as on the command line
def test_a_damaged_file_is_told_once(tmp_path, capsys, monkeypatch):
    """However often a command comes across it."""
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    assert main(["run", "fake/grid", "--store", str(tmp_path)]) == 0
    path = stored_runs.find_runs(Store(tmp_path))[0].folder / "rows.csv"
    path.write_bytes(path.read_bytes()[:-5])
    capsys.readouterr()
    for _ in range(2):  # as two processes
        assert main(["show", "fake/grid", "--store", str(tmp_path), "--out", str(tmp_path / "a.png")]) == 0
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"fedlib: warning: {path} does not match its sha256; left out")


def test_descriptions_of_one_name_are_told_apart(tmp_path, capsys, monkeypatch):
    """By the settings that differ, in the list and where a run ends; a path with a space is quoted."""
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    folder = tmp_path / "my store"
    for batch in (4, 5):
        given = ["--set", f"batch_size={batch}", "--seeds", "1", "--store", str(folder)]
        assert main(["run", "fake/grid", *given]) == 0
    assert f"--store '{folder}'" in capsys.readouterr().out
    lines = [line["method"] for line in stored_runs.overview(stored_runs.find_runs(Store(folder)))]
    assert len(set(lines)) == len(lines) == 4
    assert all(line.endswith(("batch_size=4", "batch_size=5")) for line in lines)


def test_run_of_an_artifact_without_training_names_the_command_that_shows_it(capsys, tmp_path):
    """A choice of seeds, which such an artifact has not, is not repeated."""
    given = ["--profile", "smoke", "--store", str(tmp_path)]
    assert main(["run", "feddrl/table1", "--seeds", "3", *given]) == 0
    told, following = capsys.readouterr().out.splitlines()[-2:]
    assert re.fullmatch(r"feddrl/table1: \d+ rows", told)
    assert following == f"next: python -m fedlib show feddrl/table1 {' '.join(given)}"
    assert main(following.removeprefix("next: python -m fedlib ").split()) == 0


def test_show_prints_what_an_artifact_computes_on_demand_and_draws_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(show, "_MOST_LINES", 3)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", "feddrl/table1", "--store", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["setting", "printed", "ours", "note"]
    assert re.fullmatch(r"3 of \d+ lines; --all shows all", lines[6])
    assert not any(line.startswith("figure") for line in lines)
    assert max(map(len, lines)) <= 80


def test_show_names_methods_as_figures_do(tmp_path, capsys):
    """From the committed rows; where filters choose, the names are those that `--method` takes."""
    assert main(["show", "feddrl/paper_length", "--store", str(tmp_path), "--out", f"{tmp_path}/a.png"]) == 0
    printed = capsys.readouterr().out
    assert "repaired FedDRL" in printed
    assert "repaired_untrained" not in printed
    assert main(["show", "feddrl/paper_length", "--method", "fedprox", "--out", f"{tmp_path}/b.png"]) == 0
    assert "fedprox(mu=0.01)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given", [["--method", "fedprox"], ["frl"], ["--data", "mnist"], ["--profile", "paper"]]
)
def test_filters_that_nothing_fits_are_told_in_one_line(given, store, capsys):
    assert main(["results", *given, "--store", str(store)]) == 0
    assert capsys.readouterr().out.startswith("no such runs in")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("results feddrll", "unknown artifact or paper 'feddrll' (did you mean 'feddrl'?); allowed: start, "),
        ("results start start/curvess", "'start/curvess' (did you mean 'start/curves'?); allowed: start, "),
        (
            "show start/curves --method fedavgg",
            "unknown method 'fedavgg' (did you mean 'fedavg'?); allowed: ",
        ),
        ("results --method fedavgg", "unknown method 'fedavgg' (did you mean 'fedavg'?); allowed: "),
        ("results --method mypackage:Yours", "method 'mypackage:Yours' cannot be imported"),
        ("results --data minst", "unknown data set 'minst' (did you mean 'mnist'?); allowed: "),
        ("results --partition idd", "unknown partition 'idd' (did you mean 'iid'?); allowed: iid, "),
        ("results --profile papr", "unknown profile 'papr' (did you mean 'paper'?); allowed: smoke, "),
    ],
)
def test_a_name_that_exists_nowhere_is_one_line(command, reason, store, capsys):
    assert main([*command.split(), "--store", str(store)]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def test_names_that_only_the_store_has_are_allowed(store, tmp_path, capsys):
    """A method that is no longer there, and an artifact of a paper that is not in the catalogue."""
    shutil.copytree(store / "start", tmp_path / "gone")
    rest = ["--store", str(tmp_path)]
    assert main(["results", "gone", *rest, "--method", "mypackage:Mine"]) == 0
    assert "2 runs in" in capsys.readouterr().out
    assert main(["results", "gone/curves", *rest, "--method", "mypackage:Mine", "--profile", "paper"]) == 0
    assert capsys.readouterr().out.startswith("no such runs in")


def test_show_is_named_for_artifacts_that_it_knows(store, tmp_path, capsys):
    assert main(["results", "--store", str(store)]) == 0
    assert capsys.readouterr().out.endswith("; one artifact: python -m fedlib show start/curves\n")
    (stored, *_) = stored_runs.find_runs(Store(store), ["start/curves"])
    run_runs([replace(stored.run, paper="mine", artifact="first", method="fedavg")], store=tmp_path)
    assert main(["results", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"1 run in {tmp_path}\n")


def test_runs_are_deleted_on_a_second_word_only(store, capsys):
    assert main(["results", "--store", str(store), "--delete"]) == 2
    assert "2 runs would be deleted" in capsys.readouterr().err
    assert main(["results", "--store", str(store), "--delete", "--yes"]) == 0
    assert "2 runs deleted" in capsys.readouterr().out
    assert main(["results", "--store", str(store)]) == 0
    assert capsys.readouterr().out.startswith("no such runs in")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere:Mine", "No module named 'nowhere'"),
        ("json:Mine", "has no attribute"),
        ("json:JSONDecoder", "dataclass"),
    ],
)
def test_a_method_that_cannot_be_used_is_one_line(name, reason, capsys):
    assert main(["run", "start/curves", "--method", name, "--dry-run"]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


def test_a_method_of_ones_own_has_a_style_of_its_own():
    style = method_style("mypackage.module:Mine")
    assert style.label == "Mine"
    assert style == method_style("mypackage.module:Mine")


def test_runs_with_other_settings_are_no_further_seeds(tmp_path, capsys, monkeypatch):
    """The same method with one round and with two: two lines of one seed."""
    monkeypatch.setenv("COLUMNS", "300")
    run = ["run", "start/curves", "--method", "fedavg", "--store", str(tmp_path), *SMALL[2:-1], "1"]
    for rounds in ("rounds=1", "rounds=2"):
        assert main([*run, "--set", rounds]) == 0
    capsys.readouterr()
    shown = ["show", "start/curves", "--profile", "smoke", "--method", "fedavg", "--store", str(tmp_path)]
    assert main([*shown, "--out", str(tmp_path / "curves.png")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "fedavg rounds=" in line]
    assert [line[-1] for line in lines] == ["1", "1"]
    assert {word for line in lines for word in line if word.startswith("rounds=")} == {"rounds=1", "rounds=2"}


@pytest.fixture
def committed(monkeypatch, tmp_path):
    """Two methods, two seeds each, committed at `reduced`; `fake/curve` shows one of them. An empty store."""
    fake_federation.install_for(monkeypatch, tmp_path)
    (grid,) = fake_federation.ARTIFACTS
    curve = replace(grid, id="fake/curve", runs=lambda profile: fake_federation.grid_runs(profile)[:1])
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (grid, curve))
    first = ["--profile", "reduced", "--store", str(tmp_path / "first")]
    assert main(["run", "fake/grid", *first]) == main(["export", "fake/grid", *first]) == 0
    return ["--store", str(tmp_path / "second")]


def shown(capsys, tmp_path, *arguments):
    """Method words and number of seeds of each line of the table, and the line of provenance."""
    capsys.readouterr()
    assert main(["show", *arguments, "--out", str(tmp_path / "figure.png")]) == 0
    _, _, _, *lines, origin, figure = filter(None, capsys.readouterr().out.splitlines())
    assert figure.startswith("figure: ")
    cells = [re.split(r" {2,}", line.strip()) for line in lines if "fmnist-embedded iid" in line]
    return [(cell[1], cell[-1]) for cell in cells], origin


def test_options_of_rows_are_written_as_in_labels():
    assert show_tables._in_brackets({"mu": 0.1, "mode": "online"}) == "(mu=0.1, mode=online)"
    assert show_tables._in_brackets({}) == ""


def test_cells_are_named_by_the_options_that_tell_them_apart():
    options = ['{"delta": 0.2, "skew": 1}', '{"delta": 0.6, "skew": 1}', '{"delta": 0.6, "skew": 1}', "{}"]
    names = pd.Series(["ce", "ce", "pa", "iid"], index=[3, 4, 5, 6])
    told = show_tables._told_apart(names, pd.Series(options, index=names.index))
    assert told.to_dict() == {3: "ce(delta=0.2)", 4: "ce(delta=0.6)", 5: "pa", 6: "iid"}


@pytest.mark.parametrize("artifact", ["fake/grid", "fake/curve"])
def test_filters_choose_among_committed_rows(artifact, committed, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    lines, origin = shown(capsys, tmp_path, artifact, "--method", "fedavg", *committed)
    assert lines == [("fedavg", "2")]
    assert "profile reduced; 2 seeds (0, 1)" in origin
    lines, origin = shown(capsys, tmp_path, artifact, "--seeds", "1,", *committed)
    assert {seeds for _, seeds in lines} == {"1"}
    assert "1 seed (1)" in origin


def test_the_stores_runs_join_the_committed_rows(committed, capsys, tmp_path, monkeypatch):
    """Seed 0 is in both and counts once, seed 4 is further, and 5 rounds are another description."""
    monkeypatch.setenv("COLUMNS", "300")
    run = ["run", "fake/grid", "--profile", "reduced", "--method", "fedavg", *committed]
    assert main([*run, "--seeds", "0,4"]) == main([*run, "--seeds", "1", "--set", "rounds=5"]) == 0
    chosen = ["--method", "fedavg", *committed]
    lines, _ = shown(capsys, tmp_path, "fake/grid", *chosen)
    assert sorted(lines) == [("fedavg rounds=12", "3"), ("fedavg rounds=5", "1")]
    assert main([*run[:2], *run[4:], "--seeds", "1"]) == 0
    assert shown(capsys, tmp_path, "fake/grid", *chosen)[0] == lines, "of one profile, as without a filter"
    assert "profile smoke" in shown(capsys, tmp_path, "fake/grid", *chosen, "--profile", "smoke")[1]


def test_rows_that_no_filter_finds_are_named_with_the_command_that_computes_them(
    committed, capsys, monkeypatch, tmp_path
):
    assert main(["show", "fake/grid", "--method", "fednova", *committed]) == 2
    given = f"fake/grid --method fednova {' '.join(committed)}"
    assert f"no rows stored; python -m fedlib run {given} computes them" in capsys.readouterr().err
    assert main(["show", "fake/grid", "--method", "fednova,fedexp", *committed]) == 2
    assert f"run {given} computes the first of them" in capsys.readouterr().err
    monkeypatch.setattr(
        fake_federation, "ARTIFACTS", (replace(fake_federation.ARTIFACTS[0], profiles=("extended",)),)
    )
    assert main(["show", "fake/grid", "--store", str(tmp_path / "empty")]) == 2
    assert "fedlib run fake/grid --profile extended --store" in capsys.readouterr().err
    assert main(["show", "feddrl/table1", "--method", "fedavg", *committed]) == 2
    told = "feddrl/table1 has no runs to choose from; allowed: no --data, --partition, --method, --seeds"
    assert told in capsys.readouterr().err


def test_what_has_no_accuracy_is_not_compared(capsys):
    assert main(["show", "feddrl/table1", "--against", "fedavg"]) == 2
    assert "these rows have no accuracy" in capsys.readouterr().err
