"""The runs behind the report's tables and figures: every printed setting at `paper`, sizes elsewhere.

Sec. IV of the report: 20 or 100 workers; FedAvg on Fashion-MNIST for 10 rounds of 3 epochs; EvaluatorFL
on MNIST with at least 3 labels per worker and skewed volume, 20 episodes of 10 rounds; SchedulerFL
on MNIST with 100 workers, IID and not. From its code: the task model `cnn-frl`, Adadelta with rate
1.0, batches of 64, optimiser state reset at each download (FRL-A29). Epochs that never shuffle, another
habit of that code, are an option of every run and off by default (`--set sample_order=stored`). `SCALES`
is the one place where the profiles differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedlib.experiments.artifact import by_profile
from fedlib.run import Run

# fig. 10 to 13: the report's four cases of labels and volume
CASES = {
    "fig10": ("IID labels, IID volume", {}),
    "fig11": ("IID labels, non-IID volume", {"volume_skew": True}),
    "fig12": ("non-IID labels, balanced", {"label_skew": "balanced"}),
    "fig13": ("non-IID labels, unbalanced", {"label_skew": "unbalanced"}),
}
# Figs. 24, 25, 31 to 34: how local updates are embedded in two dimensions
EMBEDDINGS = {
    "pca": ("fig24", "PCA"),
    "spectral": ("fig25", "spectral embedding (RBF)"),
    "mds": ("fig31", "MDS"),
    "isomap": ("fig32", "Isomap"),
    "tsne": ("fig33", "t-SNE"),
    "lle": ("fig34", "locally linear embedding"),
}
SKEWED = {"label_skew": "balanced", "volume_skew": True}  # "non-IID labels and non-IID volume"

# What the released code of EvaluatorFL does otherwise than the report says (FRL-A3, A4, A7, A8)
CODE = {"returns": "immediate", "likelihood": "code", "state_data": "code", "rewarded_model": "old"}
# Approach 2 in that code, read again (FRL-F1): workers' own models are rewarded, delta starts at theta_G^0's
LOCAL, INITIAL = {"rewarded_model": "local"}, {"first_average": "initial"}
CODE_2 = {**CODE, **LOCAL, **INITIAL}
RATE = {"learning_rate": 0.01}  # of Adam in the code of approach 1; the report is silent (FRL-A33)
UNIT = {"normalisation": "unit"}  # the state of later code, not of the script behind figs. 26 to 30 (FRL-A12)
LITERAL = {"maximum": "selected"}  # the draw is rewarded, as in the script behind figs. 26 to 30 (FRL-A10)
DRAW_REWARDED = {"schedulerfl_literal": LITERAL}
# Ours: the draw is stored and rewarded; no discount or weight decay, a larger memory, other rates
DRAWS_STORED = {
    "maximum": "selected", "stored_action": "draw", "discount": 0.0, "critic_rate": 1e-3,
    "critic_decay": 0.0, "actor_rate": 1e-4, "capacity": 500, "batch_size": 32,
}  # fmt: skip

# name -> method and options; the first that matches names a row's variant
EVALUATORS = {
    "fedavg_uniform": ("fedavg", {"weights": "uniform"}),
    "evaluatorfl_old": ("evaluatorfl", {**CODE, "approach": 2}),
    "evaluatorfl_code": ("evaluatorfl", {name: CODE[name] for name in ("returns", "likelihood")}),
    "evaluatorfl_local": ("evaluatorfl", LOCAL),
    "evaluatorfl_initial": ("evaluatorfl", INITIAL),
    "evaluatorfl_rate": ("evaluatorfl", RATE),
    "evaluatorfl_shuffled": ("evaluatorfl", {"agent": "shuffled"}),
    **{f"evaluatorfl_{agent}": ("evaluatorfl", {"agent": agent}) for agent in ("untrained", "redrawn")},
}
SCHEDULERS = {
    "random": ("schedulerfl", {"policy": "random"}),
    "learned_rate": ("schedulerfl", {"policy": "shuffled"}),
    "fastest": ("schedulerfl", {"policy": "fastest"}),
    "keep_all": ("schedulerfl", {"policy": "all"}),
    "untrained": ("schedulerfl", {"policy": "untrained"}),
    "schedulerfl_permuted": ("schedulerfl", {"reward_order": "permuted"}),
    "schedulerfl_unit": ("schedulerfl", UNIT),
    "schedulerfl_draws": ("schedulerfl", DRAWS_STORED),
    **{name: ("schedulerfl", options) for name, options in DRAW_REWARDED.items()},
}
VARIANTS = {**EVALUATORS, **SCHEDULERS}


@dataclass(frozen=True)
class Scale:
    """Scale of a profile: sizes, data sets and network."""

    fedavg: Mapping[str, Any]  # fields of figs. 10 to 13
    evaluator: Mapping[str, Any]  # of figs. 14 to 23
    scheduler: Mapping[str, Any]  # of fig. 30
    embedding: Mapping[str, Any]  # of fig. 24
    workers: tuple[int, int] = (20, 100)
    episodes: int = 20
    episode_rounds: int = 10
    training: Mapping[str, Any] = field(default_factory=dict)  # of the scheduler's agent


_MLP = {"model": "mlp", "model_options": {"hidden": 32}}
_TINY = {**_MLP, "dataset": "fmnist-embedded", "dataset_options": {"train_per_class": 60}}

SCALES = {
    "smoke": Scale(
        fedavg={**_TINY, "rounds": 2, "local_epochs": 1, "num_clients": 10},
        evaluator={**_TINY, "local_epochs": 1},
        scheduler={**_TINY, "num_clients": 20, "rounds": 3, "local_epochs": 1},
        embedding={**_TINY, "num_clients": 8, "local_epochs": 1},
        workers=(8, 12),
        episodes=2,
        episode_rounds=4,
        training={"experiments": 2, "experiment_rounds": 12, "stop_below": 2},
    ),
    "reduced": Scale(
        fedavg={"model": "mlp", "dataset": "fmnist", "rounds": 10},
        evaluator={**_MLP, "dataset": "mnist", "local_epochs": 1},
        scheduler={**_MLP, "dataset": "mnist", "rounds": 20},
        embedding={"dataset": "mnist"},
    ),
    "paper": Scale(
        fedavg={"dataset": "fmnist", "rounds": 10},
        evaluator={"dataset": "mnist", "local_epochs": 3},
        scheduler={"dataset": "mnist", "rounds": 40},
        embedding={"dataset": "mnist"},
    ),
}
scale_of = by_profile(SCALES)


def base(profile: str, artifact: str, **changes: Any) -> Run:
    """The report's task: FedAvg of `cnn-frl` by Adadelta on 20 workers, all taking part."""
    run = Run(
        paper="frl", artifact=artifact, profile=profile, dataset="mnist", method="fedavg",
        partition="label_volume", model="cnn-frl", num_clients=20, rounds=10, local_epochs=3, batch_size=64,
        local_optimizer="adadelta", local_learning_rate=1.0, client_eval="none",
    )  # fmt: skip
    return replace(run, **changes)


def fedavg_runs(profile: str, figure: str) -> list[Run]:
    """Figs. 10 to 13: FedAvg on Fashion-MNIST, one case of labels and volume each.

    With the same shares of training and test data (FRL-A23) the accuracies of the workers on their
    own test data, weighted by its size, add up to the accuracy on the test set.
    """
    fields = {"dataset": "fmnist", "partition_options": CASES[figure][1], **scale_of(profile).fedavg}
    return [base(profile, figure, **fields)]


def case_runs(profile: str) -> list[Run]:
    """Figs. 10 to 13 together."""
    return [run for figure in CASES for run in fedavg_runs(profile, figure)]


def evaluator_runs(profile: str, figure: str) -> list[Run]:
    """Figs. 14, 15 (approach 1, 20 and 100 workers), 19, 20 (approach 2) with their controls.

    Each as the report describes it and as its code works (FRL-A3, A4, A7, A8). The control of either
    approach aggregates as many workers as its agent drew, at random.
    """
    sizes, approach = scale_of(profile), 1 if figure in ("fig14", "fig15") else 2
    workers = sizes.workers[0 if figure in ("fig14", "fig19") else 1]
    rounds = {"rounds": sizes.episodes * sizes.episode_rounds, "episode_rounds": sizes.episode_rounds}
    run = base(
        profile, figure, method="evaluatorfl", num_clients=workers, partition_options=SKEWED, **rounds,
        **sizes.evaluator,
    )  # fmt: skip
    own = {"approach": approach}
    options = [own, {**own, **CODE}, {**own, "agent": "shuffled"}]
    return [replace(run, method_options=chosen) for chosen in options]


def approach_runs(profile: str, approach: int) -> list[Run]:
    """Both sizes of one approach."""
    figures = ("fig14", "fig15") if approach == 1 else ("fig19", "fig20")
    return [run for figure in figures for run in evaluator_runs(profile, figure)]


def code_runs(profile: str) -> list[Run]:
    """Approach 2 as the report has it, with the code's reward alone, its first delta alone, all of its code.

    The first are figs. 19 and 20's own runs (FRL-F1).
    """
    found = []
    for figure in ("fig19", "fig20"):
        report = evaluator_runs(profile, figure)[0]
        own = replace(report, artifact="evaluatorfl_code")
        options = ({"approach": 2, **more} for more in (LOCAL, INITIAL, CODE_2))
        found += [report, *(replace(own, method_options=chosen) for chosen in options)]
    return found


def rate_runs(profile: str) -> list[Run]:
    """Approach 1 as figs. 14 and 15 have it, and with ten times Adam's rate."""
    found = []
    for figure in ("fig14", "fig15"):
        report = evaluator_runs(profile, figure)[0]
        own = {**report.method_options, **RATE}
        found += [report, replace(report, artifact="evaluatorfl_rate", method_options=own)]
    return found


def first_round_runs(profile: str) -> list[Run]:
    """Approach 2's first round, of which no agent has learned yet (C6).

    The new global model's accuracy is the report's reward, that of the workers' own models its code's.
    """
    runs = [evaluator_runs(profile, figure)[0] for figure in ("fig19", "fig20")]
    fields = {"artifact": "first-round", "rounds": 1, "episode_rounds": 1}
    return [replace(run, **fields, method_options={"approach": 2, **LOCAL}) for run in runs]


def sec_v_runs(profile: str) -> list[Run]:
    """EvaluatorFL beside FedAvg on the same workers: one episode, weights n_k / n and 1 / K (keep-all)."""
    sizes, own = scale_of(profile), []
    for workers in sizes.workers:
        fields = {"rounds": sizes.episode_rounds, "num_clients": workers, **sizes.evaluator}
        run = base(profile, "sec5", partition_options=SKEWED, **fields)
        own += [replace(run, method_options=options) for options in ({}, {"weights": "uniform"})]
    return own + approach_runs(profile, 1) + approach_runs(profile, 2)


def scheduler_runs(profile: str) -> list[Run]:
    """Fig. 30: the trained scheduler, random 10 %, and controls, on IID and non-IID data."""
    sizes = scale_of(profile)
    found = []
    for skew in ({}, SKEWED):
        fields = {"num_clients": 100, "partition_options": skew, **sizes.scheduler}
        run = base(profile, "fig30", method="schedulerfl", **fields)
        controls = ({"policy": p} for p in ("random", "shuffled", "fastest", "all"))
        policies = ({}, *controls, UNIT, DRAWS_STORED, LITERAL)
        found += [replace(run, method_options={**sizes.training, **options}) for options in policies]
    return found


def table_runs(profile: str, table: str) -> list[Run]:
    """Table 2: those of fig. 30 on IID data; table 3: on non-IID data."""
    skew = {} if table == "table2" else SKEWED
    return [run for run in scheduler_runs(profile) if run.partition_options == skew]


def evaluator_twins(profile: str) -> list[Run]:
    """EvaluatorFL of either approach, the same untrained, and taught on redrawn selections (HEAD-A17)."""
    found = []
    for figure in ("fig14", "fig15", "fig19", "fig20"):
        report = evaluator_runs(profile, figure)[0]
        own = replace(report, artifact="evaluatorfl_untrained")
        options = ({**report.method_options, "agent": agent} for agent in ("untrained", "redrawn"))
        found += [report, *(replace(own, method_options=chosen) for chosen in options)]
    return found


def scheduler_twins(profile: str) -> list[Run]:
    """Fig. 30's scheduler, the same untrained, and taught on permuted rewards (HEAD-A17)."""
    found, plain = [], scale_of(profile).training
    for report in (run for run in scheduler_runs(profile) if run.method_options == plain):
        own = replace(report, artifact="schedulerfl_untrained")
        twins = ({"policy": "untrained"}, {"reward_order": "permuted"})
        options = ({**report.method_options, **twin} for twin in twins)
        found += [report, *(replace(own, method_options=chosen) for chosen in options)]
    return found


def embedding_run(profile: str) -> Run:
    """Fig. 24: one local training of 40 workers with IID data, E = 1 (FRL-A25)."""
    fields = {"num_clients": 40, "rounds": 1, "local_epochs": 1, **scale_of(profile).embedding}
    return base(profile, "fig24", **fields)
