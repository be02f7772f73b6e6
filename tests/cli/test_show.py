"""`show`: what it prints of incomplete grids, of methods compared and of wide tables."""

import functools
from dataclasses import replace

import fake_federation
import pandas as pd
import pytest

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
    assert main(["show", "fake/grid", *store, "--out", str(tmp_path / "a.png")]) == 0
    assert "final accuracy %" in capsys.readouterr().out
