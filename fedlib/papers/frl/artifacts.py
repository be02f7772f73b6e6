"""The FRL report (Orange, 2023): every table and figure of its experiments, with controls.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, report, 26 February 2023.
Readings FRL-A1 to A34: see `fedlib.methods.frl.evaluatorfl`, `fedlib.methods.frl.scheduler_agent`,
`fedlib.rl.reinforce`, `fedlib.methods.frl.workers` and `fedlib.partition.label_volume`.
"""

from functools import partial

from fedlib.experiments.artifact import PROFILES, Artifact, Deferred, Measurement
from fedlib.papers.frl import runs

_paper = Deferred("fedlib.papers.frl")
embedding, figures, measurements = _paper.embedding, _paper.figures, _paper.measurements
full_scale = _paper.full_scale
scheduler_training, scheduler_readings = _paper.scheduler_training, _paper.scheduler_readings
scheduler_figures, static_times, tables = _paper.scheduler_figures, _paper.static_times, _paper.tables
untrained = _paper.untrained

SEEDS = {"smoke": 1, "reduced": 3, "paper": 3}
SCHEDULER_SEEDS = {"smoke": 2, "reduced": 20, "paper": 5}  # single runs with a heavy tail (FRL-A31)
_NO_DATA: dict[str, tuple[str, ...]] = dict.fromkeys(PROFILES, ())
_MNIST = {"smoke": ("fmnist-embedded",), "reduced": ("mnist",), "paper": ("mnist",)}

UPDATES = Measurement(
    "frl/fig24", embedding.measure_embeddings, embedding.embedding_settings, parts=embedding.seeds_measured
)
SCHEDULER = Measurement("frl/fig26", scheduler_training.trace_training, scheduler_training.training_settings)

_trained = partial(Artifact, seeds=SEEDS)
_timed = partial(Artifact, seeds=SCHEDULER_SEEDS)

ARTIFACTS = (
    Artifact(
        "frl/table1", "Variance of participation",
        compute=measurements.measure_participation, datasets=_NO_DATA,
    ),
    Artifact(
        "frl/fig9", "Labels and volumes of 20 workers",
        measurement=Measurement("frl/fig9", measurements.measure_partitions),
        plot=figures.plot_partitions, datasets=_MNIST,
    ),
    *(
        _trained(
            f"frl/{figure}", f"FedAvg, {case}",
            runs=partial(runs.fedavg_runs, figure=figure), plot=figures.plot_case,
        )
        for figure, (case, _) in runs.CASES.items()
    ),
    _trained(
        "frl/cases", "FedAvg in the four cases (figs. 10 to 13)", "figure",
        runs=runs.case_runs, plot=figures.plot_cases, tables=(tables.cases,),
    ),
    *(
        _trained(f"frl/{figure}", title, runs=partial(runs.evaluator_runs, figure=first), plot=plot)
        for figure, first, plot, title in (
            ("fig14", "fig14", figures.plot_selections, "EvaluatorFL 1, 20 workers: selections"),
            ("fig15", "fig15", figures.plot_selections, "EvaluatorFL 1, 100 workers: selections"),
            ("fig17", "fig14", figures.plot_accuracies, "EvaluatorFL 1, 20 workers: accuracy by round"),
            ("fig18", "fig15", figures.plot_accuracies, "EvaluatorFL 1, 100 workers: accuracy by round"),
            ("fig19", "fig19", figures.plot_selections, "EvaluatorFL 2, 20 workers: selections"),
            ("fig20", "fig20", figures.plot_selections, "EvaluatorFL 2, 100 workers: selections"),
            ("fig22", "fig19", figures.plot_accuracies, "EvaluatorFL 2, 20 workers: accuracy by round"),
            ("fig23", "fig20", figures.plot_accuracies, "EvaluatorFL 2, 100 workers: accuracy by round"),
        )
    ),
    Artifact(
        "frl/full_scale", "EvaluatorFL 1, 20 workers, at the report's own scale, as far as run", "figure",
        measurement=Measurement("frl/full_scale", full_scale.as_far_as_run, reads_store=True),
        plot=figures.plot_selections, tables=(full_scale.by_episode,), datasets=_NO_DATA,
    ),
    _trained(
        "frl/fig16", "EvaluatorFL 1: rewards, 20 and 100 workers",
        runs=partial(runs.approach_runs, approach=1), plot=figures.plot_rewards,
    ),
    _trained(
        "frl/fig21", "EvaluatorFL 2: rewards, 20 and 100 workers",
        runs=partial(runs.approach_runs, approach=2), plot=figures.plot_rewards,
    ),
    _trained(
        "frl/evaluatorfl_code", "EvaluatorFL 2: the code's reward, and its first average", "figure",
        runs=runs.code_runs, plot=figures.plot_code_readings, tables=(tables.first_rounds,),
    ),
    _trained(
        "frl/evaluatorfl_rate", "EvaluatorFL 1 with the rate of its code, Adam 0.01", "table",
        runs=runs.rate_runs, tables=(tables.evaluators,),
    ),
    _trained(
        "frl/first-round", "EvaluatorFL 2: accuracy after the first round", "table",
        runs=runs.first_round_runs, tables=(tables.first_rounds,),
    ),
    _trained(
        "frl/sec5", "EvaluatorFL beside FedAvg and keep-all",
        runs=runs.sec_v_runs, plot=figures.plot_evaluators, tables=(tables.evaluators,),
    ),
    _trained(
        "frl/evaluatorfl_untrained", "EvaluatorFL beside its untrained and uninformed twins", "table",
        runs=runs.evaluator_twins, tables=(untrained.evaluator_table,),
    ),
    *(
        Artifact(
            f"frl/{figure}",
            "PCA of 40 local updates in 4 clusters" if method == "pca" else f"{name} of the same updates",
            measurement=UPDATES, where={} if method == "pca" else {"method": method},
            plot=partial(figures.plot_embedding, method=method), datasets=_MNIST,
            tables=(tables.embeddings, tables.compare_pca) if method == "pca" else (),
        )
        for method, (figure, name) in runs.EMBEDDINGS.items()
    ),
    *(
        Artifact(
            f"frl/{figure}", f"SchedulerFL: {what}", measurement=SCHEDULER, plot=plot, datasets=_NO_DATA,
            profiles=PROFILES,
        )
        for figure, plot, what in (
            ("fig26", scheduler_figures.plot_scheduler_reward, "reward while it trains on times"),
            ("fig27", scheduler_figures.plot_probabilities, "probabilities, workers sorted by speed"),
            ("fig28", scheduler_figures.plot_draws, "selections, workers sorted by speed"),
            ("fig29", scheduler_figures.plot_maximum_time, "maximum time per experiment"),
        )
    ),
    Artifact(
        "frl/draw-rewarded", "SchedulerFL: the draw rewarded, as in the authors' script", "table",
        measurement=Measurement(
            "frl/draw-rewarded",
            partial(scheduler_training.trace_training, agents=runs.DRAW_REWARDED),
            partial(scheduler_training.training_settings, agents=runs.DRAW_REWARDED),
        ),
        tables=(tables.ends_of_training,), datasets=_NO_DATA, profiles=PROFILES,
    ),
    Artifact(
        "frl/readings", "SchedulerFL: the literal reward alone, and with other readings", "figure",
        measurement=Measurement(
            "frl/readings", scheduler_readings.measure_reading, scheduler_readings.reading_settings,
            parts=scheduler_readings.readings_measured,
        ),
        plot=scheduler_readings.plot_readings, tables=(scheduler_readings.reading_table,),
        datasets=_NO_DATA,
    ),
    Artifact(
        "frl/credit", "What one decision of the scheduler can teach", "table",
        compute=scheduler_readings.measure_credit, tables=(scheduler_readings.credit_table,),
        datasets=_NO_DATA,
    ),
    Artifact(
        "frl/static", "SchedulerFL where times never change",
        measurement=Measurement("frl/static", static_times.trace_static, static_times.static_settings),
        plot=scheduler_figures.plot_static, datasets=_NO_DATA,
    ),
    Artifact(
        "frl/sec5-rewards", "Rewards of one sign",
        measurement=Measurement(
            "frl/sec5-rewards", scheduler_training.trace_one_sign, scheduler_training.training_settings
        ),
        plot=scheduler_figures.plot_one_sign, datasets=_NO_DATA,
    ),
    _timed(
        "frl/fig30", "Accuracy: trained scheduler, random 10 %, controls",
        runs=runs.scheduler_runs, plot=scheduler_figures.plot_schedulers, tables=(tables.schedulers,),
    ),
    _timed(
        "frl/table2", "Maximum time per round, IID",
        runs=partial(runs.table_runs, table="table2"), plot=scheduler_figures.plot_times,
        tables=(partial(tables.compare_times, table="table2"),),
    ),
    _timed(
        "frl/table3", "Maximum time per round, non-IID",
        runs=partial(runs.table_runs, table="table3"), plot=scheduler_figures.plot_times,
        tables=(partial(tables.compare_times, table="table3"),),
    ),
    _timed(
        "frl/schedulerfl_untrained", "SchedulerFL beside its untrained and uninformed twins", "table",
        runs=runs.scheduler_twins, tables=(untrained.scheduler_table,),
    ),
    _timed(
        "frl/fairness", "Variance of participation of every scheduler", "figure",
        runs=runs.scheduler_runs, plot=scheduler_figures.plot_fairness,
    ),
)  # fmt: skip
