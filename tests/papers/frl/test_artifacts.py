"""The report's grids: every printed setting at `paper`, sizes only elsewhere; label swap and embeddings."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from fedlib import load_results, seeds
from fedlib.analysis.variants import with_variant
from fedlib.errors import UsageError
from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.methods.frl.scheduler_agent import Scheduler, Training, train_scheduler
from fedlib.papers.frl import artifacts, runs, tables
from fedlib.papers.frl.embedding import EMBEDDINGS, embed, explained_variance, separation, swap_labels
from fedlib.papers.frl.scheduler_readings import (
    READINGS,
    measure_credit,
    measure_reading,
    reading_table,
    readings_measured,
    readings_sentence,
)
from fedlib.papers.frl.scheduler_training import (
    AGENTS,
    ONE_SIGN,
    expected_maximum,
    trace_one_sign,
    trace_training,
    training_settings,
)
from fedlib.papers.frl.static_times import AGENTS as STATIC_AGENTS
from fedlib.papers.frl.static_times import StaticWorld, trace_static
from fedlib.plotting import method_style

OWNED = (
    "fig10", "fig11", "fig12", "fig13", "fig14", "fig15", "fig19", "fig20", "sec5", "fig30",
    "evaluatorfl_code", "evaluatorfl_rate", "evaluatorfl_untrained", "schedulerfl_untrained", "first-round",
)  # fmt: skip


def all_runs(profile):
    found = {}
    for artifact in artifacts.ARTIFACTS:
        for run in artifact.runs(profile):
            found[run.key] = run
    return list(found.values())


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_every_run_exists_and_has_one_owner(profile):
    runs = all_runs(profile)
    for run in runs:
        check_run_names(run)
    assert {run.artifact for run in runs} == set(OWNED)
    assert len({replace(run, artifact="").key for run in runs}) == len(runs)
    for name in OWNED:
        artifact = next(a for a in artifacts.ARTIFACTS if a.id == f"frl/{name}")
        own = [run for run in runs if run.artifact == name]
        assert {run.key for run in own} <= {run.key for run in artifact.runs(profile)}


def test_printed_settings_at_paper():
    for run in all_runs("paper"):
        task = (run.model, run.batch_size, run.local_epochs, run.local_optimizer, run.local_learning_rate)
        assert task == ("cnn-frl", 64, 3, "adadelta", 1.0)
        assert run.cohort_size is None
        assert run.model_options == {} == run.dataset_options
    for figure, skew in (("fig10", {}), ("fig13", {"label_skew": "unbalanced"})):
        (run,) = runs.fedavg_runs("paper", figure)
        assert (run.dataset, run.num_clients, run.rounds) == ("fmnist", 20, 10)
        assert run.partition_options == skew
    for figure, workers, approach in (
        ("fig14", 20, 1),
        ("fig15", 100, 1),
        ("fig19", 20, 2),
        ("fig20", 100, 2),
    ):
        for run in runs.evaluator_runs("paper", figure):
            assert (run.dataset, run.num_clients, run.rounds) == ("mnist", workers, 200)
            assert run.partition_options == {"label_skew": "balanced", "volume_skew": True}
            assert (run.method_options["approach"], run.episode_rounds) == (approach, 10)
    for run in runs.scheduler_runs("paper"):
        assert (run.dataset, run.num_clients) == ("mnist", 100)
    embedding = runs.embedding_run("paper")
    assert (embedding.num_clients, embedding.local_epochs, embedding.model) == (40, 1, "cnn-frl")


def test_profiles_change_sizes_only():
    sizes = {
        *("profile", "dataset", "dataset_options", "model", "model_options", "num_clients"),
        *("rounds", "local_epochs", "episode_rounds"),
    }
    small = {"experiments", "experiment_rounds", "stop_below"}
    for artifact in artifacts.ARTIFACTS:
        paper = artifact.runs("paper")
        for profile in ("smoke", "reduced"):
            runs = artifact.runs(profile)
            assert len(runs) == len(paper)
            for run, printed in zip(runs, paper, strict=True):
                fields, wanted = run.describe(), printed.describe()
                differing = {name for name in fields if fields[name] != wanted[name]}
                assert differing <= sizes | {"method_options"}
                options = [
                    {k: v for k, v in one["method_options"].items() if k not in small}
                    for one in (fields, wanted)
                ]
                assert options[0] == options[1]


def test_reduced_runs_on_real_data_with_three_seeds():
    assert {run.dataset for run in all_runs("reduced")} == {"mnist", "fmnist"}
    for artifact in artifacts.ARTIFACTS:
        assert artifact.seeds["reduced"] >= 3


def test_variants_have_names_of_their_own():
    import pandas as pd

    grids = (
        runs.scheduler_runs, runs.sec_v_runs, runs.code_runs, runs.rate_runs, runs.evaluator_twins,
        runs.scheduler_twins,
    )  # fmt: skip
    planned = [run for grid in grids for run in grid("smoke")]
    rows = pd.DataFrame(
        {"method": run.method, "method_options": json.dumps(run.method_options)} for run in planned
    )
    named = with_variant(rows, runs.VARIANTS).variant
    assert set(named) == {"fedavg", "evaluatorfl", "schedulerfl", *runs.VARIANTS}
    assert named.iloc[:8].tolist() == [
        "schedulerfl", "random", "learned_rate", "fastest", "keep_all", "schedulerfl_unit",
        "schedulerfl_draws", "schedulerfl_literal",
    ]  # fmt: skip


def test_label_swap_is_a_permutation_per_cluster():
    labels = np.tile(np.arange(10), 80)
    clients = np.array_split(np.random.default_rng(0).permutation(800), 40)
    swapped, cluster = swap_labels(labels, clients, 10, seeds.rng(0, "swap"))
    assert np.bincount(cluster).tolist() == [10] * 4
    maps = []
    for which in range(4):
        own = np.concatenate([clients[k] for k in np.flatnonzero(cluster == which)])
        pairs = set(zip(labels[own].tolist(), swapped[own].tolist(), strict=True))
        assert len(pairs) == 10
        maps.append(tuple(new for _, new in sorted(pairs)))
    assert maps[0] == tuple(range(10))
    assert len(set(maps)) == 4
    with pytest.raises(UsageError, match="6 workers given; allowed: a multiple of 4"):
        swap_labels(labels, clients[:6], 10, seeds.rng(0))


def test_separation_of_points_by_hand():
    cluster = np.repeat(np.arange(4), 10)
    far = np.stack([cluster * 10.0, np.zeros(40)], axis=1) + np.random.default_rng(0).normal(0, 0.1, (40, 2))
    assert separation(far, cluster) == 1.0
    assert abs(separation(np.random.default_rng(1).normal(size=(40, 2)), cluster)) < 0.3


@pytest.mark.parametrize("method", EMBEDDINGS)
def test_every_embedding_has_two_dimensions_and_finds_groups_that_are_there(method):
    """In Isomap's graph of five neighbours ten workers a group would not be connected: there only shape."""
    rng = np.random.default_rng(0)
    centres, cluster = rng.normal(size=(4, 300)), np.repeat(np.arange(4), 10)
    grouped = method not in ("isomap", "lle")
    noise = rng.normal(size=(40, 300))
    points = embed(((centres[cluster] + 0.05 * noise) if grouped else noise).astype(np.float32), method)
    assert points.shape == (40, 2)
    assert np.isfinite(points).all()
    if grouped:
        assert separation(points, cluster) > 0.95


def test_explained_variance_by_hand():
    """Two directions with variances 9 and 1 (four points): shares 0.9 and 0.1, no third component."""
    points = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 1, 0], [0, -1, 0]])
    np.testing.assert_allclose(explained_variance(points)[:3], [0.9, 0.1, 0], atol=1e-12)


def test_traces_of_the_scheduler_at_smoke():
    rows = trace_training("smoke")
    assert set(rows.method) == set(AGENTS)
    first = rows.iloc[0]
    assert len(json.loads(first.chances)) == len(first.drawn) == 20
    assert first.drawn.count("x") == first.selected
    half = np.array(json.loads(first.chances)).reshape(2, 10).mean(axis=1) / 100
    assert [first.chance_fast_half, first.chance_slow_half] == pytest.approx(half.tolist(), abs=0.01)
    (artifact,) = (one for one in artifacts.ARTIFACTS if one.id == "frl/draw-rewarded")
    drawn = artifact.measurement.compute("smoke")
    assert set(drawn.method) == {"schedulerfl_literal"}
    assert drawn.iloc[0].drawn == first.drawn, "the agents begin alike"
    assert drawn.iloc[0].reward < first.reward < 0, "probabilities below 1 shorten the weighted maximum"
    assert "schedulerfl_literal" not in str(training_settings("smoke")), "rows of fig. 26 stay current"
    assert artifact.measurement.settings("smoke") == [[20, 3, 10, 1], 60_000, runs.DRAW_REWARDED]
    ends = trace_one_sign("smoke").set_index("reward")
    assert set(ends.index) == set(ONE_SIGN)
    assert ends.loc["plus_10", "rewards_above_0"] == 1
    assert ends.loc["minus_10", "rewards_above_0"] == 0


def test_the_code_of_approach_2_part_by_part():
    """FRL-F1: the report, its reward from local models, its first average, and all that the code does."""
    own = [run for run in runs.code_runs("reduced") if run.num_clients == 20]
    options = [run.method_options for run in own]
    local, initial = {"rewarded_model": "local"}, {"first_average": "initial"}
    assert options[0] == {"approach": 2}
    assert options[1] == {"approach": 2, **local}
    assert options[2] == {"approach": 2, **initial}
    code = {"returns": "immediate", "likelihood": "code", "state_data": "code"}
    assert options[3] == {"approach": 2, **code, **local, **initial}
    assert own[0].artifact == "fig19", "the report's own run is not computed again"
    for run in runs.first_round_runs("paper"):
        assert (run.model, run.local_epochs, run.rounds, run.episode_rounds) == ("cnn-frl", 3, 1, 1)


def test_expected_maximum_by_hand():
    """Two of 1, 2, 4 s: pairs (1, 2), (1, 4), (2, 4) with maxima 2, 4, 4; all three: 4; one: 7 / 3."""
    seconds = np.array([4.0, 1.0, 2.0])
    assert expected_maximum(seconds, 2) == pytest.approx(10 / 3)
    assert expected_maximum(seconds, 3) == pytest.approx(4)
    assert expected_maximum(seconds, 1) == pytest.approx(7 / 3)


def test_readings_of_the_scheduler_at_smoke():
    rows = pd.concat(measure_reading("smoke", reading) for reading in readings_measured("smoke"))
    assert list(dict.fromkeys(rows["method"])) == list(READINGS)
    changing = rows[rows["world"] == "changing times"]
    assert len(changing) == len(READINGS)
    assert (changing["same_number_seconds"] > 0).all()
    table = reading_table(rows)
    assert len(table) == len(READINGS)
    assert set(table["found, 10 static"]) <= {"0 of 2", "1 of 2", "2 of 2"}
    assert readings_sentence(rows).endswith("no result.")


def test_our_agent_has_one_name_in_figures_and_tables():
    label = method_style("schedulerfl_draws").label.removeprefix("SchedulerFL, ")
    assert READINGS["draws"][0].startswith(f"ours ({label})")
    assert AGENTS["schedulerfl_draws"] == READINGS["draws"][1]


def test_the_readings_sentence_names_those_ahead_of_chance():
    """Two readings, two seeds: one ahead by 4 +- 1 points and quicker by 10 s +- 1, the other by nothing."""
    own = {"world": "changing times", "stops_after": 30, "same_number_seconds": 100.0, "found": None}
    rows = [
        {**own, "method": name, "seed": seed, "fastest_ahead": lead, "max_seconds": seconds}
        for name, values in {
            "schedulerfl": ((4.1, 90), (3.9, 90.5)),
            "unit": ((5.0, 120), (-5.0, 80)),
        }.items()
        for seed, (lead, seconds) in enumerate(values)
    ]
    static = {"world": "10 static", "stops_after": 570}
    rows += [{**static, "method": name, "found": name == "unit"} for name in ("schedulerfl", "unit")]
    told = readings_sentence(pd.DataFrame(rows))
    assert told.startswith(
        "Ahead of chance in a measure where times change: 1 of 2 agents. 2 agents (2 readings of the report, "
        "0 of ours) are compared with chance"
    )
    rows = [one | {"fastest_ahead": -1.0 + one["seed"]} if "seed" in one else one for one in rows]
    quick = readings_sentence(pd.DataFrame(rows))
    assert quick.startswith("Ahead of chance in a measure where times change: 1 of 2 agents.")
    rows = [one | {"max_seconds": 110.0} if "seed" in one else one for one in rows]
    assert readings_sentence(pd.DataFrame(rows)).startswith(
        "None shows to help where times change: no agent is ahead of chance in either measure. 2 agents"
    )
    assert " over the mean: 1 (default: the report's state, later code's reward" in told
    assert told.count("the report's state") == 2  # ahead, and quicker; the other reading is neither
    assert told.endswith(f"in every run are among 10 workers '{READINGS['unit'][0]}'.")


def test_a_decision_among_100_teaches_about_the_slowest_only():
    """The literal maximum is one worker's: with half drawn, 570 decisions name 570 slowest workers."""
    table = measure_credit("smoke").set_index(["workers", "chance"])
    many = table.loc[(100, 0.5)]
    assert many.decisions == 570
    assert many.never_slowest > table.loc[(10, 0.5)].never_slowest
    assert many.decided_by_fast_half < 0.1


def test_the_static_sentence_counts_the_runs_that_find_the_fast_workers():
    """Two runs each: undecayed finds them once among 10, nobody does among 100; the agent itself never."""
    found = {"schedulerfl": (0, 0), "schedulerfl_undecayed": (1, 0), "schedulerfl_draws": (0, 0)}
    rows = pd.DataFrame(
        {"workers": workers, "method": name, "found": run < counts[at], "ahead_at_stop": 0.5, "fast": 0.9,
         "slow": 0.1, "slow_max": 0.3, "on_one_line": 0.2}
        for name, counts in found.items() for at, workers in enumerate((10, 100)) for run in range(2)
    )  # fmt: skip
    assert tables.static_sentence(rows) == (
        "Noise is not all that hinders it: where times never change, SchedulerFL finds the fast half of the "
        "workers in 0 of 2 runs among 10 workers and 0 of 2 runs among 100 workers. Changed agents that do "
        "among 10 workers: no weight decay (1 of 2). Changed agents that do among 100 workers: none."
    )
    told = tables.static_sentence(rows.assign(found=True))
    assert told.startswith("Nothing but noise hinders it: where times never change, SchedulerFL finds")
    table = tables.static_kinds(rows)
    assert table.workers.tolist() == [10] * 3 + [100] * 3
    assert table.found.tolist()[:3] == ["0 of 2", "1 of 2", "0 of 2"]
    assert table["probability at the end: slow, largest"].tolist() == pytest.approx([0.3] * 6)


def test_training_stops_before_the_first_decision_that_draws_too_few():
    """Three, two and five workers, and nobody after the second of these decisions (A17, A18)."""
    drawn = [{"selected": np.arange(10) < count} for count in (3, 2, 5)]
    training = Training(torch.zeros(1, 1), None, drawn, nobody=(2,))
    assert [training.rounds_before(least) for least in (1, 3, 4)] == [2, 1, 0]
    assert replace(training, nobody=()).rounds_before(1) == 3


def test_each_experiment_that_ends_early_drew_nobody():
    """Of 12 experiments of 20 rounds, the first of which has no decision."""
    rule = Scheduler(experiments=12, stop_below=None)
    training = train_scheduler(rule, StaticWorld(0, np.full(10, 600), mirrored=False))
    lengths = pd.Series([step["experiment"] for step in training.rounds]).value_counts()
    early = [number for number in range(1, 13) if lengths.get(number, 0) < 19]
    assert len(training.nobody) == len(early) > 0


def test_static_world_at_smoke():
    rows = trace_static("smoke")
    assert list(dict.fromkeys(rows["method"])) == list(STATIC_AGENTS)
    assert rows.groupby("method").size().tolist() == [2] * len(STATIC_AGENTS)  # one seed, both sides
    assert (rows["slow"] <= rows["slow_max"]).all()
    assert (rows["found"] == ((rows["slow_max"] < 0.1) & (rows["fast"] > 0.1))).all()
    assert rows["on_one_line"].between(0, 1).all()
    assert (rows["stops_after"] <= rows["round"]).all()


def test_table_1_is_recomputed_from_the_printed_counts():
    rows = load_results("frl/table1", "paper")
    assert rows.counts.tolist() == ["4 7 9 3", "5 7 10 3", "10 10 10 10"]
    np.testing.assert_allclose(rows.sample_variance, rows.printed, atol=5e-4)
    np.testing.assert_allclose(rows.population_variance, [5.6875, 6.6875, 0])


def test_whether_choosing_helps_is_told_against_as_many_at_random():
    """Two seeds: 80 and 82 % less FedAvg's 90 %; the shuffled agent 1 and 3 points behind the agent."""
    finals = {"fedavg": (0.9, 0.9), "evaluatorfl": (0.8, 0.82), "evaluatorfl_shuffled": (0.79, 0.79)}
    options = {"fedavg": {}, "evaluatorfl": {"approach": 1}}
    options["evaluatorfl_shuffled"] = {"approach": 1, "embedding": "shuffled"}
    rows = pd.DataFrame(
        {
            "method": name.partition("_")[0], "method_options": json.dumps(options[name]), "seed": seed,
            "partition_options": "{}", "num_clients": 20, "round": 1, "episode": 1, "test_accuracy": value,
            "variant": name,
        }
        for name, values in finals.items() for seed, value in enumerate(values)
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables.quantities, "named", lambda rows: rows)
        told = tables.help_sentence(rows)
    assert told.startswith("EvaluatorFL ends −9 [−22, +4] points against FedAvg")
    assert "(mean over both approaches and sizes, 2 seeds). Against as many workers at random it" in told
    assert told.endswith("ends +2 [−11, +15] points: that its choice helps does not show.")
    renamed = rows.replace({"variant": {"evaluatorfl": "evaluatorfl_rate"}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables.quantities, "named", lambda rows: rows)
        gaps = tables.evaluator_gaps(renamed, "evaluatorfl_rate")
        assert tables.evaluator_gaps(renamed) == {}
    assert gaps["evaluatorfl_shuffled"].mean == pytest.approx(2)
    alone = rows[rows["variant"] != "evaluatorfl_shuffled"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables.quantities, "named", lambda rows: rows)
        assert tables.help_sentence(alone).startswith("No runs")
