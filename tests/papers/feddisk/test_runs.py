"""FedDisk's grids: the printed settings at `paper`, and sizes only elsewhere."""

from dataclasses import replace

import pytest

from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.experiments.result_files import committed_runs
from fedlib.papers.feddisk import runs
from fedlib.papers.feddisk.artifacts import ARTIFACTS

SIZES = {
    "profile", "dataset", "dataset_options", "num_clients", "rounds", "batch_size", "model_options",
    "partition_options",
}  # fmt: skip


def by_case(profile, artifact=runs.fig3):
    return {(runs.case_of(run.dataset), run.method): run for run in artifact(profile)}


@pytest.mark.parametrize(
    ("case", "rounds", "width", "hidden", "mu"),
    [("mnist", 1500, 16, 30, 0.01), ("xray", 500, 32, 50, 0.01), ("femnist", 1500, 128, 400, 1)],
)
def test_paper_profile_has_the_printed_settings(case, rounds, width, hidden, mu):
    runs = by_case("paper")
    for method in ("feddisk", "fedavg", "fedprox", "fedbn", "fedrod"):
        run = runs[case, method]
        assert (run.rounds, run.model_options["width"], run.num_clients) == (rounds, width, 100)
        assert (run.local_epochs, run.batch_size, run.local_learning_rate) == (2, 32, 0.01)
        assert run.local_optimizer == "sgd"
        assert run.cohort_size is None  # all take part
        assert run.dataset_options["local_test"] == 0.15
        assert (run.dataset_options["mean"], run.dataset_options["std"]) == ([0.0], [1.0])
        assert ("client_noise" in run.dataset_options) == (case == "mnist")
    assert runs[case, "feddisk"].method_options == {"made_hidden": hidden}
    assert runs[case, "fedprox"].method_options == {"mu": mu}
    assert not runs[case, "fedrod"].method_options  # mu = 1 is the default
    if case == "mnist":
        assert runs[case, "fedavg"].dataset_options["client_noise"] == {"strength": 0.3}


def test_converged_is_mnist_of_the_paper_with_two_mini_batches():
    paper = by_case("paper")
    for run in runs.converged("extended"):
        whole = replace(paper["mnist", run.method], artifact="converged", profile="extended")
        assert run == replace(whole, eval_every=10, local_steps=2)
        assert run.rounds == 1500
    assert [run.method for run in runs.converged("extended")] == list(runs.METHODS)
    assert {run.local_steps for run in runs.converged("smoke")} == {2}


def test_the_control_of_converged_differs_in_whose_weights_are_whose():
    own, shuffled = runs.converged_weights("extended")
    assert own in runs.converged("extended")
    options = {**own.method_options, "control": "shuffled"}
    assert shuffled == replace(own, artifact="converged_weights", method_options=options)


def test_two_epochs_is_converged_with_more_local_work_on_fewer_images():
    """750 images a class are 75 a client: 11 for its test, 64 in two mini-batches of 32."""
    own = {run.method: run for run in runs.two_epochs("extended")}
    assert list(own) == ["feddisk", "fedavg", "fedprox"]
    for run in runs.converged("extended")[:3]:
        images = {**run.dataset_options, "train_per_class": 750}
        fewer = replace(run, dataset_options=images, method_options=own[run.method].method_options)
        assert own[run.method] == replace(fewer, artifact="two_epochs", rounds=300, local_steps=None)
    assert (run.local_epochs, run.batch_size, run.num_clients) == (2, 32, 100)
    options = own["feddisk"].method_options
    assert options == {"made_hidden": 30, "made_batch_size": 10, "ratio_max_epochs": 5000}
    assert {run.local_steps for run in runs.two_epochs("smoke")} == {None}


def test_x_rays_without_noise_are_those_of_fig_3_but_for_the_noise():
    noisy = {run.method: run for run in runs.fig3("reduced") if run.dataset == "pneumoniamnist-subset"}
    for run in runs.without_noise("reduced"):
        given = {**run.dataset_options, "client_noise": {"strength": 0.3}}
        assert replace(run, artifact="fig3", dataset_options=given) == noisy.pop(run.method)
    assert not noisy


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_smaller_profiles_change_sizes_only(profile):
    paper = by_case("paper")
    for run in runs.fig3(profile):
        whole = paper[runs.case_of(run.dataset), run.method]
        for name, value in whole.describe().items():
            if name not in SIZES | {"method_options", "partition", "dataset_options"}:
                assert getattr(run, name) == value, name
        added = set(run.dataset_options) - set(whole.dataset_options)
        assert added <= {"train_per_class", "test_per_class", "images", "writers", "client_noise", "spread"}
        sizes = {"made_hidden", "made_batch_size", "made_max_rounds", "ratio_max_epochs"}
        assert {**run.method_options, **whole.method_options}.keys() <= sizes | {"mu"}
        assert run.method_options.get("mu") == whole.method_options.get("mu")


def test_only_the_x_rays_of_one_source_are_given_noise_instead_of_sources():
    partitions = {run.dataset: run.partition for run in runs.fig3("reduced")}
    assert partitions == {
        "mnist": "iid",
        "pneumoniamnist-subset": "iid",
        "standin-xray": "sources",
        "standin-femnist": "natural",
    }
    noisy = {run.dataset for run in runs.fig3("reduced") if "client_noise" in run.dataset_options}
    assert noisy == {"mnist", "pneumoniamnist-subset"}


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_styles_change_their_distance_only(profile):
    planned, whole = runs.styles(profile), runs.fig3(profile)
    assert [run.method for run in planned[:2]] == ["fedavg", "fedbn"]
    assert {run.key for run in planned[:2]} <= {run.key for run in whole}
    assert len(planned) == (2 if profile == "paper" else 6)  # real pictures are as far apart as they are
    for run in planned[2:]:
        same = next(first for first in planned[:2] if first.method == run.method)
        options = {**same.dataset_options, "spread": run.dataset_options["spread"]}
        assert run == replace(same, artifact="styles", dataset_options=options)


def test_grids_of_mu():
    for case, name in runs.CASES.items():
        assert name
        prox = [
            run
            for run in runs.fedprox_grid("paper")
            if run.dataset == by_case("paper")[case, "fedavg"].dataset
        ]
        assert sorted(run.method_options["mu"] for run in prox) == [0.001, 0.01, 0.1, 1]
        shared = [run for run in prox if run.artifact == "fig3"]
        assert [run.method_options["mu"] for run in shared] == [runs.PROX_MU[case]]
        assert shared[0] == by_case("paper")[case, "fedprox"]
    rod = runs.fedrod_grid("reduced")
    assert {run.dataset for run in rod} == {"mnist", "pneumoniamnist-subset"}
    assert [run.method_options["mu"] for run in rod] == [1, 5, 10, 20] * 2
    assert all(run.method_options["personal_trains_body"] for run in rod)


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_ablations_change_one_thing_of_a_run_of_fig_3(profile):
    whole, plain, *others = runs.ablations(profile)
    assert {whole.key, plain.key} <= {run.key for run in runs.fig3(profile)}
    assert len(others) == len(runs.ABLATIONS)
    for run, (method, options) in zip(others, runs.ABLATIONS.values(), strict=True):
        same = whole if method == "feddisk" else plain
        fields = {k.removeprefix("run."): v for k, v in options.items() if k.startswith("run.")}
        own = {k: v for k, v in options.items() if not k.startswith("run.")}
        whole_options = {**same.method_options, **own}
        assert run == replace(same, artifact="ablations", method_options=whole_options, **fields)


@pytest.mark.parametrize("name", ["fig3", "sec6b-fedprox", "sec6b-fedrod", "ablations", "styles"])
def test_committed_rows_are_of_this_grid(name):
    """New options of a method leave the keys of stored runs as they are."""
    artifact = next(a for a in ARTIFACTS if a.id == f"feddisk/{name}")
    own = {run.group_key for run in artifact.runs("reduced") if run.artifact == name}
    committed = {run.group_key for run, _ in committed_runs(artifact.id, "reduced")}
    assert len(own) > 0
    assert own <= committed


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_all_runs_have_names_and_options_that_exist(profile):
    for artifact in ARTIFACTS:
        for run in artifact.runs(profile) if profile in artifact.profiles else ():
            check_run_names(run)
