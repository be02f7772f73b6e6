"""`show`: what it prints of incomplete grids, of methods compared and of wide tables."""

import functools
import math
import re
from dataclasses import replace

import fake_federation
import pandas as pd
import pytest

from fedlib.cli import show, show_tables
from fedlib.cli.main import main
from fedlib.errors import UsageError
from fedlib.experiments.artifact import Deferred


def no_such_table(rows):
    raise UsageError("no rows of fednova")


def seeds_of(rows, name="seeds"):
    return pd.DataFrame({name: [rows.seed.nunique()]})


def nothing_of(rows):
    return pd.DataFrame()


@pytest.fixture
def store(monkeypatch, tmp_path):
    """An empty store, as options; `fake/grid` has two methods with two seeds each."""
    fake_federation.install_for(monkeypatch, tmp_path)
    return ["--store", str(tmp_path / "runs"), "--profile", "smoke"]


def with_tables(monkeypatch, *names, plot=None):
    here = Deferred(__name__)
    (grid,) = fake_federation.ARTIFACTS
    tables = tuple(getattr(here, name) for name in names)
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (replace(grid, tables=tables, plot=plot),))


def test_a_table_or_figure_that_rows_do_not_suffice_for_is_left_out_in_a_line(
    store, monkeypatch, capsys, tmp_path
):
    """The other table is printed, and accuracies are drawn."""
    plot = functools.partial(Deferred(__name__).no_such_table)
    with_tables(monkeypatch, "no_such_table", "nothing_of", "seeds_of", plot=plot)
    assert main(["run", "fake/grid", "--seeds", "1", *store]) == 0
    capsys.readouterr()
    assert main(["show", "fake/grid", *store, "--out", str(tmp_path / "a.png")]) == 0
    printed = capsys.readouterr()
    assert printed.err == "fedlib: no_such_table left out: no rows of fednova\n" * 2
    assert "seeds\n" in printed.out
    assert "final accuracy" not in printed.out
    assert (tmp_path / "a.png").exists()


def test_final_accuracies_stand_in_for_tables_that_are_all_left_out(store, monkeypatch, capsys, tmp_path):
    with_tables(monkeypatch, "no_such_table", "nothing_of")
    assert main(["run", "fake/grid", "--seeds", "1", *store]) == 0
    assert main(["show", "fake/grid", *store, "--out", str(tmp_path)]) == 0
    assert "final accuracy %" in capsys.readouterr().out
    assert (tmp_path / "grid.png").is_file()  # in the folder that was given


def shown(capsys, tmp_path, *options):
    """Lines that `show fake/grid` prints, and what it tells on standard error."""
    capsys.readouterr()
    assert main(["show", "fake/grid", *options, "--out", str(tmp_path / "a.png")]) == 0
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


def test_a_method_is_compared_with_one_that_no_filter_names_and_with_runs_outside_of_the_grid(
    store, capsys, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["run", "fake/grid", *store]) == 0
    other = ["--method", "fedprox", "--set", "method.mu=0.5", "--seeds", "0,"]
    assert main(["run", "fake/grid", *other, *store]) == 0
    (_, head, _, *lines), err = shown(capsys, tmp_path, *store, "--method", "fedprox", "--against", "fedavg")
    assert head.split() == ["cell", "method", "less", "fedavg", "(points)", "seeds"]
    compared = {line.split()[3]: line.split()[-1] for line in lines[:2]}
    assert compared == {"fedprox(mu=0.1)": "2", "fedprox(mu=0.5)": "1"}
    assert err == ""
    (_, head, _, *lines), _ = shown(capsys, tmp_path, *store, "--against", "fedprox(mu=0.1)")
    assert [line.split()[3] for line in lines[:2]] == ["fedavg", "fedprox(mu=0.5)"]
    assert max(map(len, lines)) <= 100
    assert main(["show", "fake/grid", *store, "--against", "fedprox"]) == 2
    told = "--against fedprox given, several rows are of that name; allowed: 'fedprox(mu=0.1)', 'fedprox"
    assert told in capsys.readouterr().err


def test_a_method_without_rows_is_told_with_the_command_that_computes_some(store, capsys):
    assert main(["run", "fake/grid", "--method", "fedavg", *store]) == 0
    asked = ["--method", "fedprox", "--against", "fedavg"]
    assert main(["show", "fake/grid", *asked, *store]) == 2
    told = capsys.readouterr().err
    assert "no rows of fedprox stored to compare; python -m fedlib run fake/grid" in told
    assert "--method fedprox" in told


def test_settings_that_differ_in_a_comparison_are_named(store, capsys, tmp_path):
    """Same cell and seeds, other length and rate: no comparison of methods alone."""
    assert main(["run", "fake/grid", *store]) == 0
    settings = ["--set", "method.mu=0.5", "--set", "rounds=3", "--set", "local_learning_rate=0.5"]
    assert main(["run", "fake/grid", "--method", "fedprox", *settings, *store]) == 0
    lines, _ = shown(capsys, tmp_path, *store, "--against", "fedavg")
    (told,) = [line for line in lines if "other settings" in line]
    assert told.startswith("fmnist-embedded iid N=2: other settings: fedprox(mu=0.5)")
    assert " has rounds=3, local_learning_rate=0.5; fedavg rounds=" in told


def test_equal_accuracies_are_named(store, capsys, tmp_path):
    """The fake accuracies depend on the number of seeds that train together, not on the method."""
    assert main(["run", "fake/grid", *store]) == 0
    lines, _ = shown(capsys, tmp_path, *store, "--against", "fedavg")
    equal = "fmnist-embedded iid N=2, fedprox(mu=0.1): same accuracy as fedavg on every seed"
    assert equal in lines
    assert "+0.00 [+0.00, +0.00]" in lines[3]


def test_the_first_line_names_the_profile_and_the_others_that_are_stored(store, capsys, tmp_path):
    for profile in ("smoke", "reduced"):
        assert main(["run", "fake/grid", *store[:2], "--profile", profile, "--seeds", "1"]) == 0
    lines, _ = shown(capsys, tmp_path, *store)
    assert lines[0] == "fake/grid at smoke (also stored: reduced; --profile)"
    lines, _ = shown(capsys, tmp_path, *store[:2])
    assert lines[0] == "fake/grid at reduced (also stored: smoke; --profile)"


def test_all_lines_are_shown_on_request(store, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(show, "_MOST_LINES", 1)
    assert main(["run", "fake/grid", *store]) == 0
    lines, _ = shown(capsys, tmp_path, *store)
    assert "1 of 2 lines; --all shows all" in lines
    lines, _ = shown(capsys, tmp_path, *store, "--all")
    assert [line.split()[3] for line in lines[3:5]] == ["fedavg", "fedprox(mu=0.1)"]
    assert not any("--all" in line for line in lines)


def test_a_mean_and_its_bounds_are_one_column(monkeypatch):
    """`X`, `X low`, `X high`; `G: X`, `G: low`, `G: high`; and X, low, high; other columns stay."""
    monkeypatch.setenv("COLUMNS", "100")
    table = pd.DataFrame(
        {
            "variant": ["a", "b"],
            "lead": [-1.5, 2.0], "lead low": [-2.5, math.nan], "lead high": [-0.5, math.nan],
            "best: ours": [80.0, 81.0], "best: low": [79.0, 80.5], "best: high": [81.0, 81.5],
            "late": [70.0, 71.27], "low": [69.0, math.nan], "high": [71.0, math.nan],
            "h": [1.0, 2.0], "alpha_low": [0.1, 0.2], "alpha_high": [0.3, 0.4],
        }
    )  # fmt: skip
    head, _, *lines = show_tables.table_text(table).splitlines()
    assert re.split(" {2,}", head) == [
        "variant",
        "lead",
        "best: ours",
        "late",
        "h",
        "alpha low",
        "alpha high",
    ]
    first, second = (re.split(" {2,}", line) for line in lines)
    assert first[1:4] == ["-1.5 [-2.5, -0.5]", "80.0 [79.0, 81.0]", "70.0 [69.0, 71.0]"]
    assert second[:4] == ["b", "+2", "81.00 [80.50, 81.50]", "71.27"]


def test_a_comparison_is_one_piece_at_100_columns(monkeypatch):
    """Long names are cut for it."""
    monkeypatch.setenv("COLUMNS", "100")
    name = "less fedavg (points)"
    table = pd.DataFrame(
        {"cell": ["c" * 60], "method": ["m" * 70], name: [-14.0], f"{name} low": [-20.1],
         f"{name} high": [-8.0], "seeds": [3]}
    )  # fmt: skip
    lines = show_tables.table_text(table).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 100
    assert "-14.0 [-20.1, -8.0]" in lines[2]


def test_figures_leave_out_a_plot_that_rows_do_not_suffice_for(store, monkeypatch, capsys, tmp_path):
    with_tables(monkeypatch, plot=Deferred(__name__).no_such_table)
    assert main(["run", "fake/grid", "--seeds", "1", *store]) == 0
    capsys.readouterr()
    assert main(["figures", "fake", *store[:2], "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "fake/grid: left out: no rows of fednova\n"


def test_runs_of_a_grid_that_differ_in_a_setting_alone_are_lines_of_their_own(
    store, monkeypatch, capsys, tmp_path
):
    """Pooled they would be one line with each seed counted twice."""
    (grid,) = fake_federation.ARTIFACTS
    longer = Deferred(__name__).both_epochs
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (replace(grid, runs=longer),))
    assert main(["run", "fake/grid", *store]) == 0
    (_, _, _, *lines), _ = shown(capsys, tmp_path, *store)
    told = [line for line in lines if line.startswith("fmnist-embedded")]
    assert sorted(line.split()[3:5] for line in told) == [
        ["fedavg", "local_epochs=1"],
        ["fedavg", "local_epochs=2"],
    ]
    assert {line.split()[-1] for line in told} == {"2"}


def both_epochs(profile):
    return [replace(fake_federation.BASE, profile=profile, local_epochs=epochs) for epochs in (1, 2)]
