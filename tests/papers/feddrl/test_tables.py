"""FedDRL's tables against numbers worked by hand, its measurements, and its figures drawn from made rows."""

import json
from contextlib import nullcontext
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fedlib.data.synthetic import natural_images
from fedlib.errors import UsageError
from fedlib.experiments.artifact import PROFILES
from fedlib.papers import artifacts, find_artifact
from fedlib.papers.feddrl import (
    figures,
    length_figures,
    length_tables,
    measurements,
    partition_tables,
    quantities,
    runs,
    tables,
    timing,
)
from fedlib.papers.feddrl.quantities import named
from fedlib.processors import cores
from fedlib.reporting.figure_files import draw_figure
from tests.papers.feddrl.test_claims import ROUNDS, at_length, cell, over_delta, over_k, three, with_weights


def finished(rows, **more):
    """Rows with the columns that captions need."""
    return rows.assign(profile="reduced", stand_in=False, **more)


def line(table, **where):
    for column, value in where.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_published_ours_and_difference_stand_side_by_side():
    """Fashion-MNIST, CE, N = 10: FedDRL 82.59 in the paper, 52.0 +- 0.1 in the made rows."""
    table = tables.accuracy_table(three(52.0))
    row = line(table, data="Fashion-MNIST", partition="CE", N=10, variant="feddrl")
    assert (row.published, row.ours, row.difference, row.n) == (82.59, 52.0, -30.59, 3)
    half = 4.3027 * 0.1 / np.sqrt(3)  # t(2) at 97.5 %
    assert (row.low, row.high) == (round(52 - half, 2), round(52 + half, 2))
    assert len(table) == 18 * 4
    wide = tables.side_by_side(three(52.0))
    assert len(wide) == 18
    assert line(wide, data="Fashion-MNIST", partition="CE", N=10)["FedDRL: difference"] == -30.59
    assert list(wide.columns[3:5]) == ["SingleSet: published", "SingleSet: ours"]


def test_generated_images_have_no_difference_from_the_published():
    rows = three(52.0)
    table = tables.accuracy_table(rows.assign(stand_in=rows.dataset.str.startswith("standin")))
    made_up = table.data == "CIFAR-100 (stand-in)"
    assert made_up.sum() == 6 * 4
    assert table[made_up].difference.isna().all()
    run = table.ours.notna()
    assert run[made_up].any()
    assert table[run & ~made_up].difference.notna().all()


def test_gains_are_relative():
    """52 against 50 is 4 %, against 49 it is 6.12 %."""
    row = line(tables.gain_table(three(52.0)), data="MNIST", partition="PA", N=10)
    assert (row["over the better: paper"], row["over the worse: paper"]) == (0.08, 8.63)
    assert row["over the better: ours"] == pytest.approx(4.0, abs=0.02)
    assert row["over the worse: ours"] == pytest.approx(6.12, abs=0.02)


def test_a_cell_at_length_by_hand():
    """Of the evaluated rounds the last counts as late; FedDRL has 52.1 % there."""
    rows = at_length([52.0, 52.2, 52.1])
    levels = length_tables.length_table(rows).set_index("variant")
    assert list(levels.index[:3]) == ["fedavg", "fedprox", "feddrl"]
    assert levels.published["feddrl"] == 86.71
    assert levels.difference["feddrl"] == pytest.approx(-34.61)
    assert levels.published.isna().sum() == 4  # the controls and the repaired agent
    assert levels.best["feddrl"] == levels.late["feddrl"] == pytest.approx(52.1)
    assert (levels.seeds == 3).all()


def test_tables_at_the_papers_length_stand_against_fedavg_and_feddrl():
    """FedDRL 2 points above the others, with drawn slots 1; factors of a client of a small group."""
    rows = at_length([52.0, 52.2, 52.1], drawn=[51.0, 51.2, 51.1])
    table = length_tables.length_leads(rows).set_index("variant")
    assert table.loc["drawn", "less FedAvg: late"] == pytest.approx(1)
    assert table.loc["drawn", "FedDRL less it: best"] == pytest.approx(1)
    assert table.loc["feddrl", "less FedAvg: best"] == pytest.approx(2)
    assert table.loc["fedavg", "FedDRL less it: late"] == pytest.approx(2)
    assert np.isnan(table.loc["fedavg", "less FedAvg: late"])
    assert np.isnan(table.loc["feddrl", "FedDRL less it: best"])
    factors = length_tables.length_factors(rows).set_index("variant")
    group = "small group less main group (%)"
    assert factors.loc["feddrl", f"{group}: in the same slot"] == pytest.approx(0)
    assert factors.loc["drawn", f"{group}: all clients"] == pytest.approx(200)
    assert np.isnan(factors.loc["drawn", f"{group}: in the same slot"])
    assert not {"fedavg", "uniform", "shuffled"} & set(factors.index)
    apart = rows.assign(clients="[0, 99]")  # either slot has clients of one group only
    apart = length_tables.length_factors(apart).set_index("variant")
    assert np.isnan(apart.loc["feddrl", f"{group}: in the same slot"])


def test_a_cell_at_length_of_which_only_fedavg_was_run_is_drawn():
    rows = at_length([52.0, 52.2, 52.1]).assign(profile="extended")
    figure = figures.plot_length(rows[(rows.method == "fedavg") & (rows.method_options == "{}")])
    levels, leads = figure.axes
    assert len(levels.lines) == 1
    assert not leads.axison  # nothing is there to draw


def test_levels_start_below_the_curves_of_later_rounds(monkeypatch):
    """FedAvg at 10 % in round 1, then 60 and 70 %: the panel starts a tenth of 10 below 60."""
    monkeypatch.setattr(figures, "SMOOTHED", 1000)  # no moving average
    rows = at_length([52.0, 52.2, 52.1]).assign(profile="extended")
    own = rows[(rows.method == "fedavg") & (rows.method_options == "{}")]
    own = own.assign(test_accuracy=own["round"].map({1: 0.1, 500: 0.6, 1000: 0.7}))
    assert figures.plot_length(own).axes[0].get_ylim() == pytest.approx((59, 71))


def test_late_accuracies_of_a_seed_by_hand():
    """Twenty rounds: 5 % of them is the last one, which is not the best."""
    part = pd.DataFrame({"round": range(1, 21), "test_accuracy": [0.9] + 18 * [0.1] + [0.5]})
    late = quantities.late_levels(part.assign(seed=0, variant="fedavg"))
    assert late.fedavg.tolist() == [50.0]
    two = pd.DataFrame({"round": range(1, 41), "test_accuracy": 38 * [0.9] + [0.5, 0.54]})
    two = two.assign(seed=0, variant="fedavg")
    assert quantities.late_levels(two).fedavg.tolist() == pytest.approx([52.0])
    assert quantities.late_spread(two).fedavg.tolist() == pytest.approx([8**0.5])  # 2 and -2 over 2 - 1


def test_the_highest_mean_in_a_row_by_hand():
    """Forty rounds, windows of two: 60 and 80 % in a row are 70 %; a single 90 % among 10 % is not."""
    accuracies = [0.1, 0.9, 0.1, 0.6, 0.8, *35 * [0.5]]
    part = pd.DataFrame({"round": range(1, 41), "test_accuracy": accuracies, "seed": 0, "variant": "fedavg"})
    twice = pd.concat([part, part.assign(seed=1, test_accuracy=0.3)])
    assert quantities.highest_mean(twice, "fedavg").tolist() == pytest.approx([70, 30])
    start = pd.DataFrame({"round": [0], "test_accuracy": [0.99], "seed": 0, "variant": "fedavg"})
    assert quantities.highest_mean(pd.concat([start, part]), "fedavg").tolist() == pytest.approx([70])


def test_controls_are_pooled_over_cells():
    pooled = tables.pooled_controls(three(lambda d, p, n: 52.0 if n == 10 else 50.0))
    row = line(pooled, **{"FedDRL less": "fedavg"})
    assert row.points == 1.0
    assert (row["clearly ahead"], row["cells"]) == (9, 18)


def test_rounds_with_and_without_stage_1():
    rows = cell(feddrl=[50] * 3, fedavg=[50] * 3, fedprox=[50] * 3,
                early={"feddrl": 2, "fedavg": 4, "fedprox": 6})  # fmt: skip
    row = tables.rounds_table(rows).iloc[0]
    assert pd.isna(row.uniform)
    assert (row.FedDRL, row.FedAvg, row.FedProx, row["FedAvg / FedDRL"]) == (2, 4, 6, 2)
    assert row["with stage 1"] == 2 + ROUNDS
    shorter = rows.method_options.where(rows.method != "feddrl", json.dumps({"worker_rounds": 3}))
    assert tables.rounds_table(rows.assign(method_options=shorter)).iloc[0]["with stage 1"] == 5


def test_rounds_of_controls_stand_beside_feddrls():
    """Uniform weights reach 50 % in round 3; the untrained policy stops at 40 % in one seed."""
    rows = cell(feddrl=[50] * 3, fedavg=[50] * 3, fedprox=[50] * 3, uniform=[50] * 3, untrained=[50, 50, 40],
                early={"feddrl": 2, "fedavg": 4, "fedprox": 6, "uniform": 3, "untrained": 3})  # fmt: skip
    row = tables.rounds_table(rows).iloc[0]
    assert row.uniform == 3
    assert pd.isna(row.untrained)
    (three_,) = tables.rounds_of_three(rows).to_dict("records")
    assert (three_["rounds to it: FedAvg"], three_["over FedDRL's: FedAvg"]) == (4, 2)
    (controls,) = tables.rounds_of_controls(rows).to_dict("records")
    group = "rounds to the target"
    assert {name for name in controls if name.startswith(group)} == {
        f"{group}: FedDRL", f"{group}: uniform weights",
    }  # fmt: skip
    assert controls[f"{group}: uniform weights"] == 3


def test_printed_rounds_stand_beside_ours():
    rows = cell("standin-cifar100", feddrl=[50] * 3, fedavg=[50] * 3, fedprox=[50] * 3,
                early={"feddrl": 2, "fedavg": 4, "fedprox": 6})  # fmt: skip
    table = tables.printed_rounds(rows).set_index("quantity")
    assert table.published.tolist() == [62.1, 80, 1.16, 1.2]
    assert table.ours.tolist() == [50, 2, 2, 3]
    assert table.difference.tolist() == [-12.1, -78, 0.84, 1.8]
    generated = tables.printed_rounds(rows.assign(stand_in=True)).set_index("quantity")
    assert generated.ours.tolist() == [50, 2, 2, 3]
    assert generated.difference.isna().all()
    assert tables.printed_rounds(rows.assign(dataset="mnist")).empty


def test_factors_by_group_in_percent():
    row = line(tables.factor_table(with_weights(0.42)), variant="untrained")
    assert (row.main, row.others, row["others - main"]) == (10, 10, 0)


def test_policies_alone_stand_in_the_table_of_their_factors():
    uniform = with_weights(0.42).assign(method="fedavg", method_options="{}", run="fedavg")
    rows = pd.concat([with_weights(0.42), uniform])
    assert set(tables.factor_table(rows).variant) == {"fedavg", "feddrl", "untrained"}
    assert set(tables.policy_factors(rows).variant) == {"feddrl", "untrained"}


DATA_OF = {"mlp": "fmnist", "cnn-feddrl": "fmnist", "vgg11": "cifar100"}


def timings(decision, cnn, vgg):
    """Milliseconds of a decision with any network, and of averaging the CNN and VGG-11."""
    rows = [{"what": "decision", "model": m, "cohort_size": k, "median_ms": decision}
            for m in DATA_OF for k in (10, 50)]  # fmt: skip
    rows += [{"what": "averaging", "model": m, "cohort_size": 10, "median_ms": ms}
             for m, ms in (("cnn-feddrl", cnn), ("vgg11", vgg))]  # fmt: skip
    found = pd.DataFrame(rows).assign(device_name="a machine", timed_on="cpu", threads=2)
    found = found.assign(p10_ms=0.9 * found.median_ms, p90_ms=1.2 * found.median_ms)
    return found.assign(data=found.model.map(DATA_OF))


def test_agent_share_by_hand():
    """Decision 0.1 ms of a 100 ms round; learning makes it 19.9 ms longer: 20 %."""
    rows = timings(0.1, 3, 45)
    extra = [("round, 40 in D", "mlp", "fmnist", 119.9), ("round", "mlp", "fmnist", 100.0)]
    columns = ["what", "model", "data", "median_ms"]
    extra = [dict(zip(columns, row, strict=True), cohort_size=10, timed_on="cpu", threads=1) for row in extra]
    more = [{**row, "threads": 2, "median_ms": row["median_ms"] / 2} for row in extra]
    shares = tables.agent_share(pd.concat([rows, pd.DataFrame(extra + more)]))
    assert shares.threads.tolist() == [1, 2]
    assert shares["decision_%"].tolist() == [0.1, 0.2]
    assert shares["40 in D_%"].tolist() == pytest.approx([20.0, 20.1])


def test_printed_times_stand_beside_ours():
    rows = timings(0.1, 4, 40).assign(p10_ms=0.0, p90_ms=99.0)
    table = tables.time_table(rows)
    row = line(table, what="averaging", model="vgg11")
    assert (row.paper_ms, row.median_ms, row.difference_ms) == (45, 40, -5)
    assert line(table, what="averaging", model="cnn-feddrl").paper_ms == 3
    assert line(table, what="decision", model="vgg11").paper_ms == 3
    assert pd.isna(line(table, what="decision", model="mlp").paper_ms)
    assert pd.isna(line(table, what="decision", model="mlp").difference_ms)


def test_leads_over_the_better_baseline_are_paired_by_seed():
    """FedProx is the better one at 0.2 (means 50 and 51), FedAvg at 0.6; FedDRL less it in every seed."""
    best = {
        (0.2, "fedavg"): (50, 50), (0.2, "fedprox"): (50, 52), (0.2, "feddrl"): (51, 54),
        (0.6, "fedavg"): (60, 60), (0.6, "fedprox"): (40, 41), (0.6, "feddrl"): (59, 60),
        (0.2, "singleset"): (80, 80), (0.2, "untrained"): (50, 51),
    }  # fmt: skip
    found = pd.DataFrame(
        {"variant": variant, "partition": "ce", "delta": delta, "seed": seed, "best": value}
        for (delta, variant), values in best.items()
        for seed, value in enumerate(values)
    )
    leads = tables.over_baseline(found, "delta")
    by = {key: own.tolist() for key, own in leads.groupby(["delta", "variant"]).lead}
    assert by == {(0.2, "feddrl"): [1, 2], (0.2, "untrained"): [0, -1], (0.6, "feddrl"): [-1, 0]}


def test_levels_stand_above_leads_under_the_name_of_the_partition():
    fig = find_artifact("feddrl/fig8").plot(finished(over_delta(5, 1)))
    titles, labels = ([getattr(ax, name)() for ax in fig.axes] for name in ("get_title", "get_ylabel"))
    plt.close(fig)
    half = len(fig.axes) // 2
    assert set(labels[:half]) == {"best accuracy (%)"}
    assert set(labels[half:]) == {"over the better\nbaseline (points)"}
    assert titles == ["CE", "CN"][:half] + [""] * half


def test_ratios_of_rounds_by_seed():
    rows = cell("standin-cifar100", feddrl=[50] * 3, fedavg=[50] * 3, fedprox=[50] * 3,
                early={"feddrl": 2, "fedavg": 4, "fedprox": 6})  # fmt: skip
    found = tables.seed_ratios(rows)
    assert found.place.tolist() == [0] * 6
    assert found.ratio.tolist() == [2] * 3 + [3] * 3
    assert found.variant.tolist() == ["fedavg"] * 3 + ["fedprox"] * 3


def test_the_early_lead_is_in_the_caption_of_its_curves():
    rows = FIGURE_ROWS["early_lead"]()
    told = [figures.plot_early_lead(finished(part)) for part in (rows, two_cells())]
    words = [" ".join(fig.get_supxlabel().split()) for fig in told]
    plt.close("all")
    assert ["repaired FedDRL less uniform weights, paired by seed: " in text for text in words] == [
        {"repaired", "uniform"} <= set(named(part).variant) for part in (rows, two_cells())
    ]


def test_leads_at_the_papers_length_are_drawn_in_a_panel_each():
    """Over uniform weights no point under CE, where they are FedAvg's; nothing to draw without rows."""
    stored = {
        "feddrl/paper_length": at_length([52.0, 52.2, 52.1]),
        "feddrl/paper_length_cn": at_length([52.0, 52.2, 52.1]).assign(partition="cn"),
    }
    fig = length_figures.plot_leads(lambda name: stored.get(name, pd.DataFrame()))
    titles = [ax.get_title().replace("\n", " ") for ax in fig.axes]
    points = [len(ax.containers) for ax in fig.axes]
    labels = [text.get_text() for text in fig.axes[0].get_yticklabels()]
    plt.close(fig)
    assert titles[:3] == ["best round, less FedAvg", "last 50, less FedAvg", "last 50, less uniform weights"]
    assert points[:4] == [2, 2, 1, 2]
    assert labels == ["CE", "CN"]
    with pytest.raises(UsageError, match="no panel"):
        length_figures.plot_leads(lambda name: pd.DataFrame())


def test_cells_come_in_the_papers_order():
    order = tables.accuracy_table(three(52.0))[["data", "N", "partition"]].drop_duplicates()
    assert order.iloc[0].tolist() == ["CIFAR-100 (stand-in)", 10, "PA"]
    ours = tables.best_accuracies(three(52.0)).drop_duplicates(["data", "N", "partition"])
    assert ours[["data", "N", "partition"]].iloc[[0, 3, 17]].to_numpy().tolist() == [
        ["CIFAR-100", 10, "PA"], ["CIFAR-100", 100, "PA"], ["MNIST", 100, "CN"]
    ]  # fmt: skip


def test_foreign_labels_count_under_their_scheme():
    rows = cell("cifar10-jpeg", "foreign_labels", feddrl=[50])
    rows = rows.assign(partition_options=json.dumps({"scheme": "cn"}))
    assert set(named(rows).partition) == {"cn"}


def test_figures_call_a_stand_in_a_stand_in():
    assert quantities.cell_name(("standin-cifar100", "ce", 10)) == "CIFAR-100 (stand-in)/CE/N=10"


# --- without training ---------------------------------------------------------------------------


def test_kinds_of_skew_are_held_to_what_is_printed():
    """Two seeds: one kind as printed, one in no partition though printed, one in one of two."""
    cell = {"dataset": "mnist", "partition": "ce", "num_clients": 10}
    sizes = {"images": [100, 101], "smallest": [9, 8], "largest": [11, 12]}
    had = {"clustered_skew": True, "label_size_imbalance": False, "quantity_imbalance": [True, False]}
    paper = {"clustered_skew_printed": True, "label_size_imbalance_printed": True,
             "quantity_imbalance_printed": False}  # fmt: skip
    row = line(partition_tables.skew_agreement(pd.DataFrame({**sizes, **cell, **had, **paper})))
    assert [row[f"has: {name}"] for name in partition_tables.SKEWS] == [
        "yes", "no (printed: yes)", "yes in 1 of 2 (printed: no)",
    ]  # fmt: skip
    assert (row["images: smallest client"], row["images: largest client"], row.seeds) == (8, 12, 2)


def test_table1_agrees_with_the_defaults():
    table = measurements.table1("paper")
    assert len(table) == 8
    assert np.allclose(table.printed, table.ours)


def test_fig1_holds_words_and_nothing_invented():
    assert measurements.fig1("paper").note.tolist() == ["three groups: diabetes, hypertension, others"]


def test_fig4_counts_images_of_ten_clients():
    rows = measurements.fig4("smoke")
    main = rows[(rows.partition == "ce") & (rows.client < 6)]
    assert set(main.label) == {0, 1}
    assert set(main.images) == {100}  # 600 of each label among six clients


def test_label_mix_of_foreign_labels_is_that_of_a_random_deal(monkeypatch, tmp_path):
    """On all labels of the stand-in; 60,000 pictures, which nobody looks at, take 15 s to draw."""
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path))
    blank = lambda scenes, labels, *_: np.zeros((len(labels), 1, 1, 3), np.uint8)  # noqa: E731
    monkeypatch.setattr(natural_images, "draw_scenes", blank)
    rows = measurements.label_mix("smoke").groupby("made_from").label_distance.mean()
    assert rows["as run"] == pytest.approx(rows["random deal"], abs=0.05)
    assert rows["own labels"] > 1.5


@pytest.fixture(scope="module")
def timed():
    """With one thread, one local epoch and a short buffer: what is timed counts here, not how long it takes.

    A second thread spins while the core that it waits for is busy with other tests.
    """
    whole = timing.whole_run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "whole_run", lambda *given: replace(whole(*given), local_epochs=1))
        patch.setattr(timing, "LENGTHS", (40, 80))
        patch.setattr(timing, "torch_threads", lambda count: nullcontext())
        yield timing.fig9("smoke")


def test_timings_have_every_row_of_the_figure(timed):
    rows = timed
    learning = {f"{what}, {n} in D" for what in ("learning", "round") for n in timing.LENGTHS}
    assert set(rows.what) == {"decision", "averaging", "round"} | learning
    assert (rows.p10_ms <= rows.median_ms).all()
    assert (rows.median_ms <= rows.p90_ms).all()
    assert set(rows[rows.what == "averaging"].model) == {"mlp", "cnn-feddrl", "vgg11"}
    whole = rows[rows.what == "round"].groupby("threads").model.agg(set)
    assert set(whole.index) == {1, cores()}
    assert all(models == {"mlp", "cnn-feddrl"} for models in whole)
    assert rows.threads.notna().all()


# --- figures ------------------------------------------------------------------------------------


def losses(rows):
    known = {"client_loss_mean": 1.0, "client_loss_max": 1.5, "client_loss_min": 0.5}
    return rows.assign(**known, client_loss_variance=0.2)


def over_files(*leads):
    """Like the rows of fig. 8, on the authors' lists."""
    rows = over_delta(*leads)
    deltas = rows.partition_options.map(lambda text: round(100 * json.loads(text)["delta"]))
    names = [f"a/fashion_mnist_{p}_n100_delta{d}.json" for p, d in zip(rows.partition, deltas, strict=True)]
    options = [json.dumps({"path": name}) for name in names]
    return rows.assign(partition="from_file", partition_options=options)


def two_cells():
    rows = three(52.0)
    return rows[(rows.dataset == "fmnist") & (rows.partition == "ce")]


FIGURE_ROWS = {
    "fig5": two_cells,
    "paper_length": lambda: at_length([52.0, 52.2, 52.1]),
    "paper_length_cn": lambda: at_length([52.0, 52.2, 52.1]).assign(partition="cn"),
    "paper_length_pa": lambda: at_length([52.0, 52.2, 52.1]).assign(partition="pa"),
    "paper_length_mnist": lambda: at_length([52.0, 52.2, 52.1]).assign(dataset="mnist"),
    "paper_length_mnist_cn": lambda: at_length([52.0, 52.2, 52.1]).assign(dataset="mnist", partition="cn"),
    "paper_length_mnist_pa": lambda: at_length([52.0, 52.2, 52.1]).assign(dataset="mnist", partition="pa"),
    "paper_length_ten": lambda: at_length([52.0, 52.2, 52.1]).assign(num_clients=10),
    "early_lead": lambda: at_length([52.0, 52.2, 52.1]).query("method_options != '{}'"),
    "cluster_skew_at_length": two_cells,
    "partitions_at_length": two_cells,
    "small_sets_at_length": two_cells,
    "clients_at_length": lambda: three(52.0).query("dataset == 'fmnist' and partition == 'ce'"),
    "delta_ends": lambda: over_delta(5, 1),
    "baselines_at_length": two_cells,
    "fig6": lambda: losses(cell("standin-cifar100", feddrl=[50, 51], fedavg=[49, 50], fedprox=[50, 50])),
    "fig7": lambda: over_k(0.3, 1.0, (5, 3)),
    "fig8": lambda: over_delta(5, 1),
    "fig10": two_cells,
    "table3": two_cells,
    "table4": two_cells,
    "impact_factors": lambda: with_weights(0.4),
    "small_setting": lambda: losses(cell(feddrl=[50, 51], feddrl_online=[50, 50], uniform=[49, 50])),
    "authors_ce_at_length": lambda: at_length([52.0, 52.2, 52.1]),
    "authors_cn_at_length": lambda: at_length([52.0, 52.2, 52.1]).assign(partition="cn"),
    "authors_deltas": lambda: over_files(5, 1),
    "cifar10_as_run": lambda: cell("cifar10-jpeg", feddrl=[50, 51], fedavg=[49, 50]),
    "table3_fmnist_ce_n100": lambda: cell(num_clients=100, feddrl_online=[51, 52], fedavg=[50, 50]),
    "fig4": lambda: measurements.fig4("smoke"),
}


# drawn below and in test_learning
ELSEWHERE = {
    "fig9", "repair_search", "repair_judged", "repair_means", "small_setting_means", "ddpg_bandit",
}  # fmt: skip


def test_every_figure_has_rows_here():
    assert {*FIGURE_ROWS, *ELSEWHERE} == {one.name for one in artifacts("feddrl").values() if one.plot}


def test_fig9_is_written(timed, tmp_path):
    path = draw_figure(find_artifact("feddrl/fig9"), timed.assign(profile="smoke"), tmp_path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["fig5", "table4", "cifar10_as_run", "fig6"])
def test_curves_show_every_control_and_mode(name):
    same = {variant: [50, 51] for variant in runs.FEDERATED}
    fig = find_artifact(f"feddrl/{name}").plot(finished(losses(cell("standin-cifar100", **same))))
    shown = {text.get_text() for text in fig.legends[0].get_texts()}
    plt.close(fig)
    assert {"uniform weights", "untrained policy", "shuffled input", "FedDRL, online", "FedAvg"} <= shown


def test_fig10_shows_printed_ratios_and_controls():
    rows = cell("standin-cifar100", **{variant: [50, 50] for variant in runs.FEDERATED})
    fig = figures.plot_fig10(finished(rows))
    shown = {text.get_text() for text in fig.legends[0].get_texts()}
    stars = [x for line in fig.axes[0].lines if line.get_marker() == "*" for x in line.get_xdata()]
    plt.close(fig)
    assert {"printed", "uniform weights", "untrained policy", "shuffled input"} <= shown
    assert stars == [1.16, 1.2]
    assert "seeds" in shown


@pytest.mark.parametrize("name", FIGURE_ROWS)
def test_figure_is_written(name, tmp_path):
    path = draw_figure(find_artifact(f"feddrl/{name}"), finished(FIGURE_ROWS[name]()), tmp_path)
    assert path == tmp_path / "feddrl" / f"{name}.png"
    assert path.stat().st_size > 10_000


def test_scales_are_for_all_profiles():
    assert tuple(runs.SCALES) == PROFILES


def test_the_small_setting_is_held_to_uniform_weights():
    """Uniform weights at 50 % with losses of 2.0; FedDRL 2 points higher with losses of 1.5."""
    rows = [
        cell(**{name: [best, best]}).assign(client_loss_mean=loss)
        for name, best, loss in (("uniform", 50, 2.0), ("feddrl", 52, 1.5))
    ]
    rows = pd.concat(rows).assign(client_loss_min=1.0, client_loss_max=1.0)
    row = line(tables.small_setting_table(rows), variant="feddrl")
    assert row["less uniform weights (points)"] == pytest.approx(2)
    assert row["less uniform weights (nats)"] == pytest.approx(0.5)
    assert row["mean reward"] == pytest.approx(-1.5)
