"""FedDisk's drawings on rows made by hand, and the sentences beside them."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fedlib.papers import find_artifact
from fedlib.papers.feddisk import figures, headline, weights_answers
from fedlib.papers.feddisk.leakage_bound import check_bound
from fedlib.papers.feddisk.runs import ABLATIONS, METHODS
from fedlib.papers.feddisk.tables import all_bytes
from fedlib.reporting.figure_files import draw_figure

COMMON = {"dataset": "mnist", "stand_in": False, "profile": "reduced", "num_clients": 2}


def run(method, seed, options=None, accuracy=0.5):
    """Rounds 0 to 2 of one run; accuracies over clients differ by 0.1."""
    for number in range(3):
        value = accuracy * number / 2
        row = {**COMMON, "method": method, "seed": seed, "round": number, "client_loss_mean": 2 - value}
        row |= {"method_options": json.dumps(options or {}), "client_test_accuracy_mean": value}
        row |= {"uplink_bytes": 200, "downlink_bytes": 200}
        if number == 2:
            row["client_test_accuracies"] = json.dumps([value - 0.05, value + 0.05])
        if number == 0 and method == "feddisk":
            row |= {"made_rounds": 2, "made_rounds_run": 3, "made_train_loss": "[3.0, 2.0, 1.0]"}
            row["made_validation_loss"] = "[3.0, 2.5, 2.6]"
        yield row


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(row for m in METHODS for seed in range(2) for row in run(m, seed))


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5", "fig6", "fig7", "converged", "without_noise"])
def test_figures_of_the_runs_are_written(rows, tmp_path, name):
    path = draw_figure(find_artifact(f"feddisk/{name}"), rows, tmp_path)
    assert path == tmp_path / "feddisk" / f"{name}.png"
    assert path.stat().st_size > 8_000


@pytest.mark.parametrize(
    ("trials", "title"), [(2, "mean over n trials"), (3, "mean, 95 % interval over n trials")]
)
def test_the_legend_names_bands_only_where_they_are_drawn(trials, title):
    """Two trials have no band (`plot_curves`)."""
    own = [row for m in ("fedavg", "feddisk") for seed in range(trials) for row in run(m, seed)]
    figure = figures.plot_accuracy(pd.DataFrame(own))
    assert figure.legends[0].get_title().get_text() == title
    plt.close(figure)


def test_the_run_of_the_papers_length_is_drawn_less_fedavg_of_the_same_trial():
    """FedDisk 55 % in the end where FedAvg has 50, in both trials: 5 points, and 2.5 in round 1."""
    rows = [row for seed in range(2) for own, level in (("fedavg", 0.5), ("feddisk", 0.55))
            for row in run(own, seed, accuracy=level)]  # fmt: skip
    figure = figures.plot_length(pd.DataFrame(rows))
    levels, leads = figure.axes
    assert len(levels.lines) == 2
    np.testing.assert_allclose(leads.lines[0].get_ydata(), [2.5, 5.0])
    assert leads.get_ylim()[1] > 5
    widths = {line.get_label(): line.get_linewidth() for line in levels.lines}
    assert widths["FedAvg (n = 2)"] > 2 * widths["FedDisk (n = 2)"], "another may lie on it"
    plt.close(figure)


def test_the_lower_panel_has_all_leads():
    """FedDisk 40 points behind in round 1 and level in round 2."""
    rows = pd.DataFrame(row for seed in range(2) for own in ("fedavg", "feddisk") for row in run(own, seed))
    late = (rows.method == "feddisk") & (rows["round"] == 1)
    rows.loc[late, "client_test_accuracy_mean"] -= 0.4
    figure = figures.plot_length(rows)
    assert figure.axes[1].get_ylim()[0] < -40
    plt.close(figure)


def test_a_level_never_reached_has_a_bar_of_all_that_was_sent():
    """FedDisk ends below the others: its bar is as high as its bytes, on a logarithmic axis."""
    rows = pd.DataFrame(
        row
        for m in METHODS
        for seed in range(2)
        for row in run(m, seed, accuracy=0.3 if m == "feddisk" else 0.5)
    )
    figure = figures.plot_costs(rows)
    (ax,) = figure.axes
    assert ax.get_yscale() == "log"
    heights = dict(zip(METHODS, [bar.get_height() for bar in ax.patches], strict=True))
    assert heights["feddisk"] == pytest.approx(all_bytes(rows[rows.method == "feddisk"]) / 1e6)
    assert ax.get_ylim()[1] > heights["feddisk"]
    plt.close(figure)


def test_weights_are_drawn_client_by_client_of_the_first_trial(tmp_path, monkeypatch):
    """Two clients; another trial's numbers, ten times as large, stay out."""
    found = []
    for seed, times in ((0, 1), (1, 10)):
        (start, *_) = run("feddisk", seed)
        levels = [[0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.3, 0.4, 0.5, 0.6]]
        start["h_quantiles"] = start["alpha_quantiles"] = json.dumps((times * np.array(levels)).tolist())
        found.append({**start, "effective_sample_size": json.dumps([7 * times, 9 * times])})
    drawn = []
    monkeypatch.setattr(figures, "finish", lambda fig, *given: drawn.append(fig))
    figures.plot_weights(pd.DataFrame(found))
    h, alpha, size = drawn[0].axes
    assert h.lines[0].get_ydata().tolist() == alpha.lines[0].get_ydata().tolist() == [0.3, 0.4]
    assert [bar.get_height() for bar in size.patches] == [7, 9]
    ends = [[line[:, 1].tolist() for line in lines.get_segments()] for lines in h.collections]
    assert ends == [[[0.1, 0.5], [0.2, 0.6]], [[0.2, 0.4], [0.3, 0.5]]]
    plt.close(drawn[0])


def test_figures_without_runs_are_written(tmp_path):
    widths = pd.DataFrame(
        {**COMMON, "seed": s, "hidden": h, "chosen": 30, "validation_loss": 100 - h / 10 + s}
        for s in range(2)
        for h in (30, 50)
    )
    bounds = check_bound("smoke").assign(profile="paper")
    assert draw_figure(find_artifact("feddisk/made-width"), widths, tmp_path).stat().st_size > 8_000
    assert draw_figure(find_artifact("feddisk/sec5-privacy"), bounds, tmp_path).stat().st_size > 8_000


@pytest.mark.parametrize(("shuffled", "says"), [(0.3, "a gain."), (0.5, "no gain shows"), (0.7, "a loss.")])
def test_what_the_weights_are_worth_is_said_as_the_trials_say(shuffled, says):
    """FedDisk at 50 % in both trials; its weights on other samples half a point around `shuffled`."""
    rows = [row for name in ("fedavg", "feddisk") for seed in range(2) for row in run(name, seed)]
    options = ABLATIONS["feddisk_shuffled"][1]
    for seed, gap in enumerate((-0.005, 0.005)):
        rows += run("feddisk", seed, options, shuffled + gap)
    stored = {"feddisk/ablations": pd.DataFrame(rows)}
    *_, told = headline.conclusion(lambda name: stored.get(name, pd.DataFrame()))
    assert f": {says}" in told


def test_the_headline_tells_images_rounds_and_seeds():
    """Two trials of 2 rounds; the paper's MNIST has 1500. Without an option all images are trained on."""
    rows = pd.DataFrame(row for m in ("fedavg", "feddisk") for s in range(2) for row in run(m, s))
    for options, images in (({"train_per_class": 600}, "600 training images a class, "), ({}, "")):
        stored = rows.assign(dataset_options=json.dumps(options), rounds=2)
        told = headline.headline(lambda name, stored=stored: stored if "ablations" in name else stored[:0])
        assert f"points against FedAvg (MNIST, {images}2 of 1500 rounds, 2 seeds)." in told[0]
        assert weights_answers.size_words(stored, 2) == f"{images}2 of 1500 rounds, 2 seeds"
