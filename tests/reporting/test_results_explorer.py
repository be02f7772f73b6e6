"""The results explorer: controls that follow each other, curves of one setting only."""

import pandas as pd
import pytest

from fedlib.plotting.style import METHOD_STYLES
from fedlib.reporting import results_explorer
from fedlib.reporting.session import begin


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path))
    return begin("start")


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn, as (cell, methods, seeds)."""
    found = []
    monkeypatch.setattr(results_explorer, "show_figure", lambda *given: None)
    monkeypatch.setattr(results_explorer, "draw_results", lambda rows, *given: found.append(given))
    return found


def test_known_methods_keep_their_colours_and_others_get_what_is_left():
    styles = results_explorer._styles(["FedProx", "mine", "SingleSet", "another"])
    assert styles["FedProx"].colour == METHOD_STYLES["fedprox"].colour
    assert styles["SingleSet"].colour == METHOD_STYLES["singleset"].colour
    assert len({style.colour for style in styles.values()}) == 4
    everyone = [style.label for style in METHOD_STYLES.values()]
    assert set(results_explorer._styles([*everyone, "mine"])) == {*everyone, "mine"}


def test_a_method_with_options_has_its_colour_where_no_other_has_it():
    styles = results_explorer._styles(
        ["FedAvg", "FedProx, mu 0.01", "FedDRL, mode online", "FedDRL, agent x"]
    )
    by_label = {style.label: style.colour for style in METHOD_STYLES.values()}
    assert styles["FedProx, mu 0.01"].colour == by_label["FedProx"]
    assert len({style.colour for style in styles.values()}) == 4
    both = results_explorer._styles(["FedProx", "FedProx, mu 0.01"])
    assert both["FedProx"].colour == by_label["FedProx"] != both["FedProx, mu 0.01"].colour


def test_each_choice_opens_the_next_and_draws_once(session, drawn):
    paper, artifact, cell, methods, seeds = (
        control for box in results_explorer.make_explorer(session).children[:2] for control in box.children
    )
    assert drawn == [(cell.value, (), ())]
    assert (artifact.value, cell.value) == ("start/curves", "fmnist, ce, N = 10")
    methods.value = ("FedAvg",)
    seeds.value = (1,)
    paper.value = "feddrl"
    assert artifact.value == "feddrl/table3"
    cell.index = 1
    assert [given[1:] for given in drawn] == [
        ((), ()), (("FedAvg",), ()), (("FedAvg",), (1,)), ((), ()), ((), ())
    ]  # fmt: skip
    assert [given[0] for given in drawn[-2:]] == list(cell.options[:2])


@pytest.mark.parametrize("name", ["feddrl/fig8", "frl/fig30", "start/bf16", "fedddrl/eq13-14"])
def test_a_curve_has_one_setting(session, name):
    rows = results_explorer.explorable(session, name)
    assert len(rows)
    assert not rows.duplicated(["cell", "variant", "round", "seed"]).any()


def test_options_are_told_where_they_differ():
    options = pd.Series(['{"delta": 0.2, "k": 2}', '{"delta": 0.4, "k": 2}'], name="partition_options")
    assert results_explorer._words(options).tolist() == [", delta 0.2", ", delta 0.4"]
    assert results_explorer._words(options[:1]).tolist() == [", delta 0.2, k 2"]
    assert results_explorer._words(pd.Series([0.5, None], name="mixup_alpha")).tolist() == [
        ", mixup alpha 0.5",
        "",
    ]


def test_methods_are_drawn_in_colours_of_their_own(session):
    rows = results_explorer.explorable(session, "feddrl/table3")
    figure = results_explorer.draw_results(rows, sorted(rows.cell.unique())[0])
    curves, forest = figure.axes
    assert figure.get_suptitle().startswith(sorted(rows.cell.unique())[0])
    assert "reduced" in figure.get_suptitle()
    assert "seeds (0" in figure.get_suptitle()
    assert len({line.get_color() for line in curves.lines}) == len(forest.get_yticklabels()) == 8
