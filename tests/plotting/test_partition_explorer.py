"""The explorer: one static figure without a front end, controls that redraw with one."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from fedlib.plotting import partition_explorer
from fedlib.plotting.partition_explorer import FAMILIES, KINDS, STRENGTHS, draw_choice, make_explorer

LABELS = np.repeat(np.arange(10), 60)


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


def test_headless_run_draws_one_figure_without_ipywidgets(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # an import would fail
    partition_explorer.explore_partitions(LABELS, 10)
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_family_can_be_drawn(name, kind):
    fig = draw_choice(LABELS, 10, None, name=name, kind=kind)
    assert fig.get_suptitle().startswith(f"{name}: ")


def test_other_class_counts_work():
    fig = draw_choice(np.repeat(np.arange(62), 20), 62, None, name="pa")
    assert "labels_per_client 12, spread 1.6" in fig.get_suptitle()


def controls(box):
    (name, clients), (strength, seed), kind = (
        box.children[0].children,
        box.children[1].children,
        box.children[2],
    )
    return name, clients, strength, seed, kind


def test_moving_a_control_draws_once_with_the_new_choice(monkeypatch):
    pytest.importorskip("ipywidgets")
    monkeypatch.setattr(partition_explorer, "_show", lambda area, draw: draw())
    drawn = []
    name, clients, strength, seed, kind = controls(make_explorer(lambda **choice: drawn.append(choice)))
    assert drawn == [dict(name="ce", num_clients=10, seed=0, kind="bubbles", strength=0.6)]
    name.value = "dirichlet"
    assert (strength.description, strength.min, strength.max) == ("alpha", 0.05, 5.0)
    strength.value = 1.0
    clients.value = 100
    name.value = "iid"
    kind.value = "bars"
    seed.value = 3
    assert len(drawn) == 7
    assert drawn[3] == dict(name="dirichlet", num_clients=100, seed=0, kind="bubbles", strength=1.0)
    assert drawn[-1] == dict(name="iid", num_clients=100, seed=3, kind="bars", strength=None)


def test_each_range_change_is_valid(monkeypatch):
    pytest.importorskip("ipywidgets")
    monkeypatch.setattr(partition_explorer, "_show", lambda area, draw: draw())
    drawn = []
    name, _, strength, _, _ = controls(make_explorer(lambda **choice: drawn.append(choice)))
    for family in (*FAMILIES, *reversed(FAMILIES)):
        name.value = family
        if family in STRENGTHS:
            expected = STRENGTHS[family]
            assert (strength.min, strength.max) == (expected.low, expected.high)
            assert drawn[-1]["strength"] == expected.start


def test_a_refused_choice_is_one_line(monkeypatch, capsys):
    pytest.importorskip("ipywidgets")
    labels = np.repeat(np.arange(10), 3)
    box = make_explorer(lambda **choice: draw_choice(labels, 10, None, **choice))
    capsys.readouterr()
    controls(box)[1].value = 100
    assert "num_clients is 100; allowed: a whole number from 1 to 30" in capsys.readouterr().out
