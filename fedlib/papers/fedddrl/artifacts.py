"""FedDdrl (Sensors 2023): every table and figure, with rules of one line beside what is learned.

Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT with
Adaptive Early Client Termination and Local Epoch Adjustment", Sensors 23 (2023) 2494,
https://doi.org/10.3390/s23052494. Readings FEDDDRL-A1 to A42: see the modules of methods, agents
and `fedlib.methods.fedddrl.devices`.
"""

from functools import partial

from fedlib.experiments.artifact import PROFILES, Artifact, Deferred, Measurement
from fedlib.papers.fedddrl import further_runs, runs

_paper = Deferred("fedlib.papers.fedddrl")
figures, further_tables, measurements = _paper.figures, _paper.further_tables, _paper.measurements
quantities = _paper.quantities
return_plots, return_tables = _paper.return_plots, _paper.return_tables
bias_tables, tables = _paper.bias_tables, _paper.tables

_TEN_EXTENDED = {"smoke": 1, "reduced": 3, "extended": 10, "paper": 3}
_FIVE = dict.fromkeys(("reduced", "extended", "paper"), 5)
_Artifact = partial(Artifact, seeds={"smoke": 1, "reduced": 3, "paper": 3})

_fig8 = partial(runs.table4, names=runs.FIG8)
_decisions = partial(runs.table4, names=("fedddrl",))  # for the scatter of figures 10 to 13

ARTIFACTS = (
    _Artifact(
        "fedddrl/sgd-search", "Local SGD chosen on FedAvg's published accuracies",
        runs=runs.sgd_search, tables=(tables.local_search,),
    ),
    _Artifact(
        "fedddrl/table4", "Accuracy after an episode (15 rounds in the paper), with the ablation A to D",
        runs=runs.table4, plot=figures.plot_table4, tables=(tables.table4,),
    ),
    _Artifact(
        "fedddrl/table5", "Balanced-MixUp on FedAvg, 5 and 10 clients a round",
        runs=runs.table5, tables=(tables.table5,), profiles=PROFILES, seeds=_TEN_EXTENDED,
    ),
    _Artifact(
        "fedddrl/fig2", "FedAvg's accuracy per round, 5 and 10 clients a round",
        runs=runs.fig2, plot=figures.plot_fig2, profiles=PROFILES, seeds=_TEN_EXTENDED,
    ),
    _Artifact(
        "fedddrl/alg1-weights", "Algorithm 1: the weights of the reward", "table",
        runs=partial(runs.table4, names=("fedavg",)), plot=figures.plot_weights,
    ),
    _Artifact(
        "fedddrl/eq13-14", "Reward (12) near the end, and with the bias b",
        runs=runs.eq13_14, plot=figures.plot_bias, tables=(bias_tables.bias,),
    ),
    _Artifact(
        "fedddrl/fig8", "Normalised training latency", runs=_fig8,
        plot=partial(figures.plot_normalised, value="latency_seconds", label="total latency (% of FedAvg's)"),
    ),
    _Artifact(
        "fedddrl/fig9", "Normalised communication cost", runs=_fig8,
        plot=partial(figures.plot_normalised, value="uploads", label="total uploads (% of FedAvg's)"),
    ),
    _Artifact(
        "fedddrl/fig10", "Whom FedDdrl keeps, by probing loss", runs=_decisions,
        plot=figures.plot_kept,
    ),
    _Artifact(
        "fedddrl/fig11", "Whom FedDdrl keeps, by probing latency", runs=_decisions,
        plot=figures.plot_kept_latency,
    ),
    _Artifact(
        "fedddrl/fig12", "How long the kept clients train, by probing latency",
        runs=_decisions, plot=partial(figures.plot_epochs, which=0),
    ),
    _Artifact(
        "fedddrl/fig13", "The same in another run", runs=_decisions,
        plot=partial(figures.plot_epochs, which=1),
    ),
    _Artifact(
        "fedddrl/episode", "One episode unfolds: who is dropped, who trains how long, what it costs",
        "figure", runs=runs.one_episode, plot=figures.plot_episode,
    ),
    _Artifact(
        "fedddrl/controls", "Rules of one line beside the learned decisions", "figure",
        runs=runs.controls, plot=figures.plot_controls, tables=(tables.cost_table, tables.gain_over_rules),
    ),
    _Artifact(
        "fedddrl/returns", "Return (15) of every method, rule and control", "figure",
        runs=runs.returns, plot=return_plots.plot_returns,
        tables=(return_tables.return_table, return_tables.term_table, return_tables.agent_table),
    ),
    _Artifact(
        "fedddrl/learning", "Return of the training episodes", "figure",
        runs=runs.controls, plot=return_plots.plot_learning,
    ),
    _Artifact(
        "fedddrl/agents", "Agents whose choice of clients is replaced", "table",
        runs=further_runs.agents, tables=(further_tables.deployments,),
        profiles=("reduced", "extended", "paper"), seeds=_FIVE,
    ),
    _Artifact(
        "fedddrl/untrained", "FedDdrl untrained, and trained on permuted rewards", "table",
        runs=further_runs.untrained, tables=(further_tables.worth_of_training,),
        profiles=("reduced", "paper"), seeds=_FIVE,
    ),
    _Artifact(
        "fedddrl/episodes", "Return after 40, 100 and 200 episodes of training", "table",
        runs=further_runs.episodes, tables=(further_tables.by_episodes,),
        profiles=("reduced", "extended", "paper"), seeds=_FIVE,
    ),
    _Artifact(
        "fedddrl/latency-unit", "H by its largest value, or by the cohort's sum (A3)", "table",
        runs=further_runs.units, tables=(further_tables.by_unit,), profiles=("reduced", "paper"),
    ),
    _Artifact(
        "fedddrl/bias-alone", "From FedMarl+ (C) to FedDdrl: the bias b, then the epochs (A24)", "table",
        runs=further_runs.bias_alone, tables=(tables.costs,),
        profiles=("reduced", "paper"), seeds={"reduced": 10, "paper": 5},
    ),
    _Artifact(
        "fedddrl/mixup-lambda", "Balanced-MixUp: one lambda per batch, or per pair (A31)", "table",
        runs=further_runs.lambdas, tables=(further_tables.by_lambda,), profiles=("reduced", "paper"),
    ),
    _Artifact(
        "fedddrl/full-size", "FedMarl+ (C) and FedDdrl with clients of the paper's size", "figure",
        runs=further_runs.full_size, keep=quantities.of_agents, plot=figures.plot_controls,
        tables=(tables.gain_over_rules, return_tables.return_table, return_tables.agent_table),
        profiles=("extended",), seeds=_FIVE,
    ),
    _Artifact(
        "fedddrl/fig5", "The utility U(A) and its line",
        compute=measurements.utility_line, plot=figures.plot_fig5,
    ),
    _Artifact(
        "fedddrl/sec5.5-emd", "EMD with and without Balanced-MixUp", "table", compute=measurements.emd_table
    ),
    _Artifact("fedddrl/table1", "Features of related methods", compute=measurements.feature_table),
    _Artifact(
        "fedddrl/sec5.4", "Time and memory of the agents beside the formula", "table",
        measurement=Measurement("fedddrl/sec5.4", measurements.agents_cost, alone=True),
        datasets={profile: (scale.datasets["MNIST"],) for profile, scale in runs.SCALES.items()},
    ),
)  # fmt: skip
