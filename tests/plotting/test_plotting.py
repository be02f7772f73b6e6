"""Drawing: what is on the axes, intervals by hand, files that are the same every time."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fedlib import plotting
from fedlib.errors import UsageError
from fedlib.plotting.layout import legend_entries

METHODS = {
    *("singleset", "fedavg", "fedprox", "fedsgd", "feddrl", "fedbn", "fedrod", "feddisk"),
    *("fedmarl", "fedddrl", "evaluatorfl", "schedulerfl", "random", "uniform", "untrained", "shuffled"),
    *("favor", "auto_fedrl"),
}


@pytest.fixture
def ax():
    with mpl.rc_context():
        plt.switch_backend("agg")
        plotting.use_style()
        fig, ax = plt.subplots()
        yield ax
        plt.close(fig)


def rows(seeds=3, methods=("fedavg", "fedprox"), rounds=5):
    return pd.DataFrame(
        dict(method=method, seed=seed, round=at, test_accuracy=at + seed)
        for method in methods
        for seed in range(seeds)
        for at in range(rounds)
    )


def test_every_method_has_a_colour_and_every_entry_a_look_of_its_own():
    styles = plotting.METHOD_STYLES
    assert set(styles) >= METHODS
    assert len({styles[name].colour for name in METHODS}) == len(METHODS)
    assert len({(s.colour, s.marker, s.line) for s in styles.values()}) == len(styles)
    assert len({s.label for s in styles.values()}) == len(styles)


def test_a_variant_has_the_methods_colour_or_one_that_no_other_variant_has():
    """The report's agents are drawn beside their own variants, and lines and markers alone do not tell."""
    styles = plotting.METHOD_STYLES
    for method in METHODS:
        family = [style.colour for name, style in styles.items() if f"{name}_".startswith(f"{method}_")]
        apart = method in ("evaluatorfl", "schedulerfl")
        assert len(set(family)) == (len(family) if apart else 1), method


def test_a_method_of_ones_own_keeps_its_look():
    assert plotting.method_style("mine") == plotting.method_style("mine")
    assert plotting.method_style("mine").label == "mine"
    assert plotting.method_style("package.module:My_Method").label == "My Method"
    assert (
        plotting.method_style('drop_slowest_1{"keep_share": 0.5}').label
        == 'drop slowest 1 {"keep_share": 0.5}'
    )


def test_t_interval_by_hand():
    """Values 1, 2, 3: mean 2, s = 1, t(2) = 4.3027, half width 4.3027 / sqrt(3) = 2.4842."""
    interval = plotting.mean_interval(np.array([1.0, 2.0, 3.0]))
    assert (interval.mean, interval.n) == (2.0, 3)
    assert interval.low == pytest.approx(2 - 2.4842, abs=1e-4)
    assert interval.high == pytest.approx(2 + 2.4842, abs=1e-4)


def test_one_value_has_no_interval_and_nan_is_refused():
    interval = plotting.mean_interval(np.array([0.5]))
    assert interval.mean == 0.5
    assert np.isnan([interval.low, interval.high]).all()
    with pytest.raises(UsageError, match="finite values"):
        plotting.mean_interval(np.array([0.5, np.nan]))


def test_curves_are_means_with_bands_and_say_n(ax):
    assert plotting.plot_curves(rows(), ax) is ax
    assert [line.get_label() for line in ax.get_lines()] == ["FedAvg (n = 3)", "FedProx (n = 3)"]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), np.arange(5) + 1.0)
    edge = ax.collections[0].get_paths()[0].vertices
    assert edge[:, 1].min() == pytest.approx(1 - 2.4842, abs=1e-4)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "test accuracy")


@pytest.mark.parametrize(
    ("seeds", "says"), [(2, "mean\nover n seeds"), (3, "mean, 95 % interval\nover n seeds")]
)
def test_a_legend_names_the_interval_only_where_a_band_is_drawn(seeds, says):
    _, axes = plotting.subplots(1, 2)
    for panel in axes:
        plotting.plot_curves(rows(seeds), panel)
    assert axes[0].get_legend().get_title().get_text() == says
    plotting.legend_beside_last(axes)
    assert axes[1].get_legend().get_title().get_text() == says


def test_thin_curves_have_no_band_and_markers_of_their_own(ax):
    plotting.plot_curves(
        rows(methods=("fedavg", "uniform", "untrained"), rounds=41), ax, thin=("uniform", "untrained")
    )
    widths = [line.get_linewidth() for line in ax.get_lines()]
    assert widths[1] == widths[2] < widths[0]
    assert len(ax.collections) == 1  # FedAvg's band
    assert [line.get_markevery() for line in ax.get_lines()] == [5, (1, 5), (2, 5)]


def test_rounds_without_an_evaluation_and_missing_seeds(ax):
    frame = rows(seeds=3, methods=("fedavg",))
    frame.loc[frame["round"] == 1, "test_accuracy"] = np.nan
    frame = frame[~((frame["seed"] == 2) & (frame["round"] == 4))]
    plotting.plot_curves(frame, ax)
    assert list(ax.get_lines()[0].get_xdata()) == [0, 2, 3, 4]
    assert ax.get_lines()[0].get_label() == "FedAvg (n = 2–3)"


def test_one_legend_of_two_panels_is_true_for_both():
    """FedAvg has three seeds in the first panel and five in the second, FedProx three in both."""
    for keep in (plotting.legend_beside_last, None):
        fig, axes = plotting.subplots(1, 2)
        for panel, seeds in zip(axes, (3, 5), strict=True):
            plotting.plot_curves(pd.concat([rows(seeds, ("fedavg",)), rows(3, ("fedprox",))]), panel)
        if keep is None:
            plotting.one_legend(fig, axes, counts=True)
            (legend,) = fig.legends
            assert [ax.get_legend() for ax in axes] == [None, None]
        else:
            keep(axes)
            assert axes[0].get_legend() is None
            legend = axes[1].get_legend()
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels == ["FedAvg (n = 3–5)", "FedProx (n = 3)"]
        plt.close(fig)
    assert list(legend_entries(axes, counts=False)) == ["FedAvg", "FedProx"]


def test_curves_refuse_rows_that_are_not_tidy(ax):
    with pytest.raises(UsageError, match="no column 'loss' to plot; allowed: method, seed"):
        plotting.plot_curves(rows(), ax, y="loss")
    with pytest.raises(UsageError, match="more than one row for method fedavg, round 0, seed 0"):
        plotting.plot_curves(pd.concat([rows(), rows()]), ax)
    with pytest.raises(UsageError, match="no rows with a value"):
        plotting.plot_curves(rows().assign(test_accuracy=np.nan), ax)


LABELS = np.array([0, 0, 0, 0, 1, 1, 2])
PARTITION = [np.array([0, 1, 2, 3]), np.array([4, 6])]


def test_bubbles_sit_at_client_and_label_with_area_by_count(ax):
    plotting.plot_partition(PARTITION, LABELS, ax=ax, class_names=("cat", "dog", "owl"))
    (bubbles,) = ax.collections
    np.testing.assert_array_equal(bubbles.get_offsets(), [[0, 0], [1, 1], [1, 2]])
    widths = bubbles.get_widths()
    assert widths[0] / widths[1] == pytest.approx(2)  # 4 images against 1: twice the diameter
    assert [text.get_text() for text in ax.get_yticklabels()] == ["cat", "dog", "owl"]
    assert ax.get_xlabel() == "client (largest bubble: 4 images)"


def test_bars_are_stacked_to_the_clients_sizes(ax):
    plotting.plot_partition(PARTITION, LABELS, ax=ax, kind="bars", class_names=("cat", "dog", "owl"))
    heights = [path.vertices[:, 1].max() for path in ax.collections[0].get_paths()]
    assert heights == [4, 1, 2]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["owl", "dog", "cat"]


@pytest.mark.parametrize("kind", ["bubbles", "bars"])
@pytest.mark.parametrize(("clients", "classes"), [(1, 1), (10, 100), (100, 10), (100, 100), (250, 62)])
def test_any_shape_is_drawn_inside_the_figure(kind, clients, classes):
    labels = np.repeat(np.arange(classes), clients)
    partition = [np.arange(client, len(labels), clients) for client in range(clients)]
    size = plotting.partition_figsize(clients, classes, kind)
    fig, ax = plt.subplots(figsize=size, layout="constrained")
    plotting.plot_partition(partition, labels, ax=ax, kind=kind)
    fig.canvas.draw()
    box = fig.get_tightbbox()
    plt.close(fig)
    assert box.x0 > -0.05
    assert box.y0 > -0.05
    assert box.x1 < size[0] + 0.05
    assert box.y1 < size[1] + 0.05
    assert len(ax.get_xticks()) <= 26


def test_unknown_kind_of_plot(ax):
    with pytest.raises(UsageError, match="unknown kind of partition plot 'pie'; allowed: bubbles, bars"):
        plotting.plot_partition(PARTITION, LABELS, ax=ax, kind="pie")


def test_images_are_laid_out_in_rows(ax):
    images = np.zeros((3, 14, 14), dtype=np.uint8)
    images[1] = 255
    plotting.plot_images(images, ax, columns=2, row_names=("a", "b"))
    canvas = ax.get_images()[0].get_array()
    assert canvas.shape == (29, 29)  # two rows and columns of 14 and a gap of 1
    assert canvas[:14, :14].max() == 0
    assert canvas[:14, 15:].min() == 1
    assert canvas[15:, 15:].min() == 1  # the empty place stays white
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]


def test_colour_images_and_wrong_shapes(ax):
    plotting.plot_images(np.random.default_rng(0).random((2, 8, 8, 3)), ax)
    with pytest.raises(UsageError, match=r"images of shape \(2, 8\); allowed"):
        plotting.plot_images(np.zeros((2, 8)), ax)


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_saved_figures_are_the_same_bytes(kind, tmp_path):
    """Each drawn afresh: saving one figure twice lets constrained layout move its axes."""
    contents = []
    for _ in range(2):
        fig, ax = plt.subplots()
        plotting.plot_curves(rows(), ax)
        path = plotting.save_figure(fig, "feddrl/fig5", tmp_path, kind)
        plt.close(fig)
        assert path == tmp_path / "feddrl" / f"fig5.{kind}"
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert b"Software" not in contents[0]


@pytest.mark.parametrize("name", ["", "fig.png", "/fig", "../fig"])
def test_figure_names_are_plain(ax, tmp_path, name):
    with pytest.raises(UsageError, match="allowed: a relative name without extension"):
        plotting.save_figure(ax.figure, name, tmp_path)


def test_bands_end_at_what_a_value_can_be(ax):
    """20, 30 and 70: the t interval of the mean 40 is 65.7 wide on either side."""
    frame = pd.DataFrame({"method": "fedavg", "seed": [0, 1, 2] * 2, "round": [1] * 3 + [2] * 3,
                          "accuracy": [20.0, 30, 70] * 2})  # fmt: skip
    plotting.plot_curves(frame, ax, y="accuracy", within=(0, 100))
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 100)


def test_markers_without_an_area_are_drawn_larger_than_their_bars(ax):
    frame = pd.DataFrame({"method": ["fedavg"] * 3 + ["untrained"] * 3, "seed": [0, 1, 2] * 2, "K": 10,
                          "test_accuracy": [0.5, 0.6, 0.7] * 2})  # fmt: skip
    plotting.plot_settings(frame, ax, x="K")
    filled, strokes = (container.lines[0] for container in ax.containers)
    assert strokes.get_markersize() > filled.get_markersize()


def test_means_side_by_side_over_a_few_settings(ax):
    frame = pd.DataFrame(
        {"K": k, "method": method, "seed": seed, "test_accuracy": 10.0 * k + seed + (method == "fedavg")}
        for k in (10, 30)
        for method in ("feddrl", "fedavg")
        for seed in range(3)
    )
    plotting.plot_settings(frame, ax, x="K")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "30"]
    first, second = (container[0].get_xydata() for container in ax.containers)
    np.testing.assert_allclose(first[:, 1], [101, 301])
    np.testing.assert_allclose(second[:, 1], [102, 302])
    assert (first[:, 0] < second[:, 0]).all()
    bar = ax.containers[0][2][0].get_segments()[0]
    interval = plotting.mean_interval(np.array([100.0, 101.0, 102.0]))
    np.testing.assert_allclose(bar[:, 1], [interval.low, interval.high])


@pytest.mark.parametrize("inches", [3.2, 7.2, 14.4])
def test_captions_stay_within_the_figure(inches):
    plotting.use_style()
    fig, _ = plt.subplots(figsize=(inches, 3))
    words = "data fmnist, 2,000 training images per label; profile reduced; 3 seeds (0, 1, 2); commit "
    plotting.write_caption(fig, "What is drawn.", words + "0123456789, " * 9)
    fig.draw_without_rendering()
    assert fig._supxlabel.get_text().startswith("What is drawn.\ndata fmnist")
    box = fig._supxlabel.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= fig.bbox.width
    plt.close(fig)
