"""Grids beyond the paper's: more agents and episodes, their controls, other readings, full-size clients.

Agent and partition are one seed in table 4; `agents` tells them apart.
"""

from dataclasses import replace
from typing import Any

from fedlib.papers.fedddrl import runs
from fedlib.run import Run

DEPLOYED = ("random", "fastest")  # instead of the agent's own choice of as many clients
PERMUTED = {"reward_order": "permuted"}


def real_roles(profile: str) -> tuple[str, ...]:
    """The data sets whose images are real; at `smoke` the first one."""
    return tuple(role for role in runs.roles(profile) if role != "CrisisIBD")


def _learned(run: Run, artifact: str, **options: Any) -> Run:
    """FedDdrl with further options of its agents, filed under an artifact."""
    return replace(run, artifact=artifact, method_options={**run.method_options, **options})


def agents(profile: str) -> list[Run]:
    """Three agents of FedDdrl on each partition, and what a rule makes of the number of clients they keep.

    random, fastest: an agent whose number of clients in each round is kept and whose choice is not. Each
    run trains its agent anew, and agent 0's own runs are table 4's: on another machine the training differs,
    and the control has another agent (`further_tables.deployments`). Agent 2 was added for that when 20 of
    40 controls of the others had one. FedAvg and the two dropping rules beside them.
    """
    among = real_roles(profile)
    found = runs.table4(profile, ("fedavg_mixup", "fedddrl"), among)
    learned = [run for run in found if run.method == "fedddrl"]
    for run in learned:
        found += [_learned(run, "agents", deployed=rule) for rule in DEPLOYED]
        for agent in (1, 2):
            other = _learned(run, "agents", agent=agent)
            found += [other, *(_learned(other, "agents", deployed=rule) for rule in DEPLOYED)]
    rules = [name for name in runs.CONTROLS if name != "fewest_epochs"]
    return found + runs.control_runs(profile, among, rules)


def episodes(profile: str) -> list[Run]:
    """FedDdrl after the printed number of training episodes and after 2.5 and 5 times as many."""
    among = real_roles(profile)
    found = runs.table4(profile, ("fedavg_mixup", "fedddrl"), among)
    for run in [run for run in found if run.method == "fedddrl"]:
        printed = run.method_options["episodes"]
        found += [_learned(run, "episodes", episodes=int(factor * printed)) for factor in (2.5, 5)]
    return found + runs.control_runs(profile, among, ("random_drop_20%", "drop_slowest_20%"))


def units(profile: str) -> list[Run]:
    """FedDdrl that learns with H_t as a share of its largest value, and of the cohort's sum (A3)."""
    found = runs.table4(profile, ("fedavg_mixup", "fedddrl"), real_roles(profile))
    learned = [run for run in found if run.method == "fedddrl"]
    return found + [_learned(run, "latency-unit", latency_unit="cohort") for run in learned]


def untrained(profile: str) -> list[Run]:
    """FedDdrl, the same without training episodes, and trained on rewards in another order."""
    found = runs.table4(profile, ("fedavg_mixup", "fedddrl"), real_roles(profile))
    for run in [run for run in found if run.method == "fedddrl"]:
        found += [_learned(run, "untrained", **options) for options in ({"episodes": 0}, PERMUTED)]
    return found


def bias_alone(profile: str) -> list[Run]:
    """C and D of the ablation, and between them C with the bias b, which D has as well as VDN 2 (A24)."""
    among = real_roles(profile)
    between = [runs.make_run(profile, "bias-alone", role, runs.FEDMARL_MIXUP_BIAS) for role in among]
    return runs.table4(profile, ("fedavg_mixup", "fedmarl", "fedddrl"), among) + between


def lambdas(profile: str) -> list[Run]:
    """FedAvg without Balanced-MixUp, and with one lambda for each mini-batch or for each pair (A31)."""
    found = runs.table4(profile, ("fedavg", "fedavg_mixup"))
    mixed = [run for run in found if run.mixup_alpha is not None]
    return found + [replace(run, artifact="mixup-lambda", mixup_lambda="pair") for run in mixed]


def full_size(profile: str) -> list[Run]:
    """C and D of the ablation with clients of the paper's size, beside FedAvg and rules."""
    among = real_roles(profile)
    names = ("fedavg_mixup", "fedmarl", "fedddrl")
    rules = ("random_drop_20%", "random_drop_40%", "drop_slowest_20%", "drop_slowest_40%")
    return runs.table4(profile, names, among) + runs.control_runs(profile, among, rules)
