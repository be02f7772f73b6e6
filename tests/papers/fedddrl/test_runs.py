"""FedDdrl's grids: every printed setting at `paper`, and profiles that change sizes only."""

import json
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.papers import artifacts
from fedlib.papers.fedddrl import further_runs, runs
from fedlib.paths import project_root

SIZES = {
    "profile", "dataset", "dataset_options", "partition_options", "model", "model_options", "num_clients",
    "cohort_size", "rounds", "batch_size", "local_learning_rate", "local_optimizer_options", "episode_rounds",
}  # fmt: skip
METHOD_SIZES = {"episodes"}


def named(run):
    return runs.name_of(run.method, run.method_options, mixup=run.mixup_alpha is not None)


def settings(run):
    """What must not depend on the profile."""
    rest = {k: v for k, v in run.describe().items() if k not in SIZES}
    rest["method_options"] = {k: v for k, v in run.method_options.items() if k not in METHOD_SIZES}
    return {**rest, "sigma": run.partition_options["sigma"]}


def test_table4_has_the_settings_of_the_printed_table_3_at_paper():
    printed = (
        pd.read_csv(project_root() / "data" / "published" / "fedddrl_table3.csv").set_index("metric").value
    )
    planned = runs.table4("paper")
    assert len(planned) == 8 * 3
    for run in planned:
        assert run.cohort_size == int(printed.clients_per_round_C)
        assert run.num_clients == (98 if run.dataset == "crisis-ibd" else int(printed.total_clients_K))
        assert run.local_epochs == int(printed.default_local_epochs)
        assert run.partition_options["sigma"] == float(printed.sigma)
        assert run.episode_rounds == run.rounds == int(printed.rounds_T)
        assert run.method_options.get("episodes", 40) == int(printed.episodes_N_ep)
    assert {r.partition_options.get("images_per_client") for r in planned} == {600, 500, None}
    alphas = {r.dataset: r.mixup_alpha for r in planned if r.mixup_alpha is not None}
    assert alphas == {"mnist": 0.05, "cifar10": 0.4, "crisis-ibd": 0.2}


def test_the_ablation_adds_one_thing_at_a_time():
    by_name = {named(run): run for run in runs.table4("paper", among=["MNIST"])}
    assert list(by_name) == list(runs.TABLE4)
    a, b, c, d = (by_name[n].method_options for n in ("fedmarl_a", "fedmarl_b", "fedmarl", "fedddrl"))
    assert {k: (a[k], b[k]) for k in a if a[k] != b[k]} == {"w1": (1.0, 2.9)}
    assert c == b
    assert [by_name[n].mixup_alpha for n in ("fedmarl_b", "fedmarl", "fedddrl")] == [None, 0.05, 0.05]
    assert set(d.items()) - set(c.items()) == {("bias", None)}
    assert [by_name[n].method for n in ("fedmarl", "fedddrl")] == ["fedmarl", "fedddrl"]


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_a_profile_changes_sizes_only(profile):
    for artifact in artifacts("fedddrl").values():
        roles = set(runs.roles(profile))
        printed = [r for r in artifact.runs("paper") if runs.ROLE_OF[r.dataset] in roles]
        planned = artifact.runs(profile)
        for run in planned:
            check_run_names(run)
            assert named(run)
        if artifact.id not in ("fedddrl/sgd-search", "fedddrl/fig2", "fedddrl/episode"):
            ours = [{**settings(run), "profile": ""} for run in planned]
            assert ours == [{**settings(run), "profile": ""} for run in printed], artifact.id


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_every_description_has_one_owner(profile):
    """Equal but for `artifact` would be computed twice."""
    owners = {}
    for artifact in artifacts("fedddrl").values():
        for run in artifact.runs(profile):
            plain = json.dumps({**run.describe(), "artifact": ""}, sort_keys=True)
            owners.setdefault(plain, set()).add(run.artifact)
    assert {len(found) for found in owners.values()} == {1}


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_the_local_setting_in_use_was_tried(profile):
    assert runs.scale_of(profile).local in runs.scale_of(profile).search


@pytest.mark.parametrize("profile", ["reduced", "paper"])
def test_the_search_goes_beyond_the_setting_in_use(profile):
    """Smaller and larger steps with its momentum, another batch; FedAvg alone, nothing twice."""
    scale = runs.scale_of(profile)
    same = [one for one in scale.search if one.momentum == scale.local.momentum]
    assert min(one.rate for one in same) < scale.local.rate < max(one.rate for one in same)
    assert len({one.batch_size for one in scale.search}) > 1
    assert len({one.resize for one in scale.search}) == (2 if profile == "paper" else 1)
    planned = runs.sgd_search(profile)
    assert {run.method for run in planned} == {"fedavg"}
    assert {named(run) for run in planned} == {"fedavg", "fedavg_mixup"}
    assert len({run.key for run in planned}) == len(planned) == 4 * len(scale.search)


def test_between_c_and_d_stands_c_with_the_bias_of_d():
    beside = {named(run): run for run in further_runs.bias_alone("reduced") if run.dataset == "mnist"}
    c, between, d = (beside[name] for name in ("fedmarl", "fedmarl_mixup_bias", "fedddrl"))
    assert between.method_options == {**c.method_options, "bias": d.method_options["bias"]}
    assert replace(between, method_options=c.method_options, artifact=c.artifact) == c


def test_names_of_settings_are_unique():
    for profile in USUAL_PROFILES:
        planned = runs.controls(profile) + runs.eq13_14(profile) + further_runs.bias_alone(profile)
        planned += runs.table4(profile)
        names = Counter((r.dataset, named(r)) for r in {r.key: r for r in planned}.values())
        assert set(names.values()) == {1}
        assert {name for _, name in names} == set(runs.SETTINGS)
