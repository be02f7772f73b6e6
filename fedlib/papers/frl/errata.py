"""Contradictions within the report (FRL-E1 to E9).

E1, E2, E4 and E8 are recomputed from printed numbers. E3, E5, E6, E7 and E9 set two passages against each
other; nothing is printed that could be recomputed, and an example of ours shows that they differ.
"""

import numpy as np
import pandas as pd

from fedlib.analysis.published import Erratum, printed_rows, printed_value
from fedlib.methods.frl.scheduler_agent import Scheduler, World, train_scheduler


def times(table: str, method: str) -> pd.Series:
    """Printed maximum times of a method's rounds, in seconds."""
    return printed_rows(f"frl_{table}", method=method, metric="max_time")["value"].astype(float)


def mean_of_table_2() -> tuple[str, str, bool]:
    """E1: mean and sample standard deviation of the DDPG's three rounds."""
    rounds = times("table2", "DDPG")
    printed = [
        printed_value("frl_table2", method="DDPG", metric=f"max_time_{name}") for name in ("mean", "std")
    ]
    found = rounds.mean(), rounds.std(ddof=1)
    agrees = abs(found[0] - printed[0]) < 0.0006 and abs(found[1] - printed[1]) < 0.006
    return f"{printed[0]:.3f} ± {printed[1]:g} s", f"{found[0]:.3f} ± {found[1]:.2f} s", agrees


def components() -> tuple[str, str, bool]:
    """E2: 40 centred samples span at most 39 dimensions."""
    names = ("components_for_95_percent", "components_for_95_percent_second_figure")
    first, second = (int(printed_value("frl_settings", metric=name)) for name in names)
    most = 40 - 1
    possible = [n for n in (first, second) if n <= most]
    return (
        f"40 x {first}, and {second} components",
        f"at most {most}: only {possible[0]} of them possible",
        second <= most,
    )


def aggregation() -> tuple[str, str, bool]:
    """E3: two equal local models, averaged, must give that model; with theta_G added they do not."""
    theta_g, local = 1.0, (3.0, 3.0)
    average = sum(local) / len(local)
    with_old = theta_g + average
    return (
        f"theta_G + average: local models 3, 3 and theta_G = 1 give {with_old:g}",
        f"average (Algorithm 1, line 20): {average:g}",
        with_old == local[0],
    )


def reward_sign() -> tuple[str, str, bool]:
    """E4: two printed times that fall must be rewarded; as printed the reward is below 0."""
    before, now = times("table2", "DDPG").iloc[:2]
    printed, meant = -now - before, before - now
    text = f"from {before:g} to {now:g} s"
    return f"-max - nu = {printed:.3f} {text}", f"M_(t-1) - M_t = {meant:+.3f} {text}", printed > 0


def accuracy_index() -> tuple[str, str, bool]:
    """E5: classify x > 0 by theta x > 0 from theta_G = -1; worker 1 learns theta = 1, worker 2 does not."""
    samples, downloaded, trained = (1.0, 2.0), (-1.0, -1.0), (1.0, -1.0)
    before, after = (
        tuple(sum(theta * x > 0 for x in samples) / len(samples) for theta in models)
        for models in (downloaded, trained)
    )
    return (
        f"Acc(theta_i^t): the same model everywhere, state {before[0]:g}, {before[1]:g}",
        f"Acc(theta_i^(t+1)): state {after[0]:g}, {after[1]:g} tells the workers apart",
        before == after,
    )


def likelihood() -> tuple[str, str, bool]:
    """E6: omega^s (1 - omega)^(1 - s) at s = 1 is omega, so omega is P(s = 1)."""
    omega = 0.8
    at = {s: omega**s * (1 - omega) ** (1 - s) for s in (0, 1)}
    return (
        f"P(s = 0) = omega = {omega:g}, product over i = 1..T",
        f"the printed likelihood at s = 0 is {at[0]:.1f}, at s = 1 {at[1]:.1f}; one factor per worker, 1..n",
        abs(at[0] - omega) < 1e-12,
    )


def critic_target() -> tuple[str, str, bool]:
    """E7: with the main network on both sides a critic of one weight can fit its own bootstrap."""
    reward, gamma, main, target = 1.0, printed_value("frl_settings", metric="gamma"), 100.0, 0.0
    first, second = (reward + gamma * q for q in (main, target))
    return (
        f"Y = R + gamma Q(theta^Q): {first:g} for R = 1, Q = 100, Q' = 0",
        f"Y = R + gamma Q(theta^Q'), as Algorithm 2, line 33: {second:g}",
        first == second,
    )


def rounds_to_converge() -> tuple[str, str, bool]:
    """E8: rounds and total time of table 3, DDPG over random."""
    ours, random = times("table3", "DDPG"), times("table3", "random")
    ratio = len(ours) / len(random)
    total = ours.sum() / random.sum()
    recomputed = (
        f"{len(ours)} / {len(random)} = {ratio:.2f} times the rounds; {ours.sum():,.0f} / "
        f"{random.sum():,.0f} s = {total:.2f} times the time"
    )
    return "takes twice rounds to converge", recomputed, round(ratio) == 2


def distributed() -> tuple[str, str, bool]:
    """E9: Algorithm 2, run for three rounds, trains one actor and one critic in one place."""
    rule = Scheduler(experiments=1, experiment_rounds=3, stop_below=None)
    agent = train_scheduler(rule, World(0, np.full(4, 64), rule)).agent
    learners = len(agent.policy)
    return (
        "DDPG: a chief averages the gradients of several workers (table 4)",
        f"Algorithm 2 trains {learners} actor and {len(agent.critic)} critic, no gradient is sent",
        learners > 1,
    )


ERRATA = (
    Erratum("FRL-E1", "table 2: mean of the DDPG's maximum times", mean_of_table_2),
    Erratum("FRL-E2", "sec. IV.iii.3: components that keep 95 % of the variance", components),
    Erratum(
        "FRL-E3",
        "sec. III.ii.1: theta_G plus the average of the local models (two passages, example ours)",
        aggregation,
    ),
    Erratum("FRL-E4", "sec. III.iii.3: sign of the reward", reward_sign),
    Erratum(
        "FRL-E5", "Algorithm 1, line 10: which model's accuracy (two passages, example ours)", accuracy_index
    ),
    Erratum(
        "FRL-E6", "sec. II.iii.3: what omega is the probability of (two passages, example ours)", likelihood
    ),
    Erratum(
        "FRL-E7",
        "sec. III.iii.4: network in the target of the first loss (two passages, example ours)",
        critic_target,
    ),
    Erratum("FRL-E8", "sec. IV.iv.3: twice the rounds", rounds_to_converge),
    Erratum("FRL-E9", "table 4: DDPG distributes work (two passages, example ours)", distributed),
)
