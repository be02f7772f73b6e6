"""The artifacts of notebook 05: the public benchmark, the search of settings, the comparison."""

from functools import partial

from fedlib.experiments.artifact import PROFILES, Artifact, Deferred, Measurement
from fedlib.papers.head_to_head import device_runs, public, runs

_paper = Deferred("fedlib.papers.head_to_head")
beyond, device_time, device_server_time = _paper.beyond, _paper.device_time, _paper.device_server_time
figures, server_time, tables = _paper.figures, _paper.server_time, _paper.tables

ARTIFACTS = (
    Artifact(
        "head_to_head/benchmark", "Our baselines beside NIID-Bench's public numbers", "check",
        runs=public.niid_bench, plot=figures.plot_benchmark, tables=(tables.benchmark,), counts_failed=True,
        profiles=PROFILES, seeds={"smoke": 1, "reduced": 3, "extended": 3, "paper": 3},
    ),
    Artifact(
        "head_to_head/fedbench", "FedYogi and FedAdam beside FedBench's public numbers", "check",
        runs=public.fedbench, plot=figures.plot_benchmark, tables=(tables.benchmark,), counts_failed=True,
        profiles=("smoke", "extended", "paper"), seeds={"smoke": 1, "extended": 3, "paper": 3},
    ),
    Artifact(
        "head_to_head/tuning", "Search of every method's settings on held-back training images", "check",
        runs=runs.tuning, tables=(tables.search,), counts_failed=True, profiles=PROFILES,
        seeds={"smoke": (100,), **dict.fromkeys(("reduced", "extended", "paper"), runs.TUNING_SEEDS)},
    ),
    Artifact(
        "head_to_head/beyond_search", "Settings beyond the ends of the search, at full length", "check",
        runs=runs.beyond_search, tables=(beyond.further_settings,), counts_failed=True,
        profiles=("extended", "paper"), seeds={"extended": 5, "paper": 5},
    ),
    Artifact(
        "head_to_head/comparison", "Learned methods against strong baselines", "figure",
        runs=runs.comparison, plot=figures.plot_differences, counts_failed=True,
        tables=(tables.levels, tables.aggregates, tables.diverged), profiles=PROFILES,
        seeds={"smoke": 2, "reduced": 3, "extended": 5, "paper": 5},
    ),
    *(
        Artifact(
            f"head_to_head/{name}", f"Learned methods and strong baselines on {title}", "figure",
            runs=partial(runs.on_other_set, name), keep=_paper.quantities.whole_cells,
            plot=figures.plot_differences, counts_failed=True,
            tables=(tables.levels, tables.diverged), profiles=tuple(runs.OTHER_SETS[name]),
            seeds=dict.fromkeys(runs.OTHER_SETS[name], 5),
        )
        for name, title in (("second_set", "CIFAR-10"), ("third_set", "MNIST"))
    ),
    Artifact(
        "head_to_head/full_size", "Learned methods and five baselines on all images", "figure",
        runs=runs.full_size, plot=figures.plot_differences, counts_failed=True,
        tables=(tables.levels, tables.diverged), profiles=("paper",), seeds={"paper": 5},
    ),
    Artifact(
        "head_to_head/server_time", "What a round costs on the server", "check",
        measurement=Measurement("head_to_head/server_time", server_time.server_time, alone=True),
        tables=(server_time.table,), profiles=PROFILES,
        datasets={profile: runs.scale_of(profile).datasets[:1] for profile in PROFILES},
    ),
    Artifact(
        "head_to_head/devices", "Accuracy in simulated time", "figure",
        runs=device_runs.runs, plot=device_time.plot_accuracy_in_time, counts_failed=True,
        tables=(device_time.time_to_target,), profiles=PROFILES,
        seeds={"smoke": 2, "reduced": 15, "extended": 15, "paper": 5},  # HEAD-A24
    ),
    Artifact(
        "head_to_head/devices_short", "Accuracy in simulated time, 60 rounds", "check",
        runs=device_runs.runs, counts_failed=True, tables=(device_time.time_to_target,),
        profiles=("reduced",), seeds={"reduced": 15},
    ),
    Artifact(
        "head_to_head/device_server_time", "What a round in simulated time costs on the server", "check",
        measurement=Measurement(
            "head_to_head/device_server_time", device_server_time.device_server_time, alone=True
        ),
        tables=(device_server_time.table,), profiles=PROFILES,
        datasets={profile: runs.scale_of(profile).datasets[:1] for profile in PROFILES},
    ),
)  # fmt: skip
