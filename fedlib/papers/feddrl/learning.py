"""Diagnosis of FedDRL's agent: room to gain, signal in the reward, policy learned.

rows: as `load_rows` gives them for grids of the small setting (N = K = 10, CE). Rewards in nats,
accuracies in percent.
"""

import functools
import itertools
import json

import numpy as np
import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import mean_interval
from fedlib.analysis.tables import json_lists
from fedlib.errors import check
from fedlib.experiments.artifact import PROFILES
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.papers.feddrl.runs import COHORT, scale_of

TREND_RATE = 0.3  # of the running mean that is removed, as `centring` does
SMALL = "reduced"  # profile at which the small setting has rounds of its own
LAST_TENTH = 0.1  # share of the rounds, the last, over which `mean_gaps` averages


def gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Every variant's mean reward and best accuracy less those of uniform weights, with intervals over seeds.

    of the room: its gain in reward as a share of the best one within the agent's reach.
    """
    lines = []
    for data, part in quantities.named(rows).groupby("dataset"):
        rewards = {v: quantities.rewards(part, v) for v in quantities.variant_order(part)}
        check("uniform" in rewards, "no rows of uniform weights, with which the others are compared")
        found = {v: contrasts.paired(own, rewards["uniform"]) for v, own in rewards.items()}
        room = max((found[v].mean for v in quantities.REACHABLE if v in found), default=float("nan"))
        for variant, gain in found.items():
            points = contrasts.paired(quantities.best(part, variant), quantities.best(part, "uniform"))
            lines.append(
                {"dataset": data, "variant": variant, "reward": rewards[variant].mean()}
                | gain.columns("nats")
                | points.columns("points")
                | {"of the room": gain.mean / room, "n": gain.n}
            )
    return pd.DataFrame(lines)


def share_of_rule(named: pd.DataFrame) -> pd.Series:
    """Gain of the repaired agent over uniform weights, by seed, in % of that of the rule for small groups."""
    own, rule, uniform = (quantities.rewards(named, v) for v in ("repaired", "small_groups", "uniform"))
    return 100 * (own - uniform) / (rule - uniform)


def bandit_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """Ends of the agent alone, by its settings and the level of the rewards, with intervals over agents.

    Where a tilt to the small groups pays, the best answer is a difference of 1 between the groups' mu; a
    constant reward gives no reason to leave the 1/2 that they start from.
    """
    last = rows[rows["round"] == rows["round"].max()]
    lines = []
    for (settings, offset), part in last.groupby(["settings", "offset"], sort=False):
        pays, flat = part[part.amplitude > 0], part[part.amplitude == 0]
        tilt = (pays.mu_small - pays.mu_main).groupby(pays.seed).mean()
        level = (flat.mu_small + flat.mu_main).groupby(flat.seed).mean() / 2
        line = {"settings": settings, "rewards around (nats)": offset}
        for words, values in (("a tilt pays: small less main group", tilt), ("constant reward: mu", level)):
            line |= mean_interval(values.to_numpy()).columns(words) if len(values) else {words: np.nan}
        lines.append(line)
    return pd.DataFrame(lines)


def tilts(part: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Tilt to the small groups and reward of every round: columns seed, round, tilt, raw, detrended.

    tilt: mean log-weight of their clients less that of the main group's. raw: eq. (7), negated, of the
    model that these weights made. detrended: less its running mean over the rounds before.
    """
    own = part[(part.variant == variant) & (part["round"] > 0) & part.client_loss_mean.notna()]
    own = own.sort_values(["seed", "round"])
    logs = np.log(np.array(json_lists(own.weights)))
    main = np.array(json_lists(own.clients)) < quantities.main_group(COHORT)
    tilt = _mean_where(logs, ~main) - _mean_where(logs, main)
    raw = quantities.reward(own)
    before = raw.groupby(own.seed).transform(lambda x: x.ewm(alpha=TREND_RATE, adjust=False).mean().shift())
    found = own[["seed", "round"]].assign(tilt=tilt, raw=raw, detrended=raw - before)
    return found.reset_index(drop=True)


def _mean_where(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return (values * chosen).sum(axis=1) / chosen.sum(axis=1)


def signal(rows: pd.DataFrame, variant: str = "untrained") -> pd.DataFrame:
    """Regress the reward on the tilt, raw and detrended: sd, slope (nats per unit), R^2, t.

    Least squares over all rounds with a level for each seed. The agent that is not trained explores
    only, so its tilts are independent of the loss.
    """
    lines = []
    named = quantities.named(rows)
    parts = {
        data: tilts(p, variant) for data, p in named.groupby("dataset") if variant in set(p.variant.unique())
    }
    for data, name in itertools.product(parts, ("raw", "detrended")):
        known = parts[data][["seed", "tilt", name]].dropna()
        x, y = (known[c] - known.groupby("seed")[c].transform("mean") for c in ("tilt", name))
        free = len(known) - known.seed.nunique() - 1
        if free < 1:  # too few rounds
            continue
        slope = (x @ y) / (x @ x)
        error = np.sqrt((y - slope * x) @ (y - slope * x) / free / (x @ x))
        sizes = {"sd": np.sqrt(y @ y / (free + 1)), "slope": slope, "R2": slope**2 * (x @ x) / (y @ y)}
        lines.append({"dataset": data, "reward": name, **sizes, "t": slope / error, "rounds": len(known)})
    return pd.DataFrame(lines, columns=["dataset", "reward", "sd", "slope", "R2", "t", "rounds"])


def means(rows: pd.DataFrame, variants: tuple[str, ...]) -> pd.DataFrame:
    """mu of every client by round, mean over seeds: columns dataset, variant, round, client, mu."""
    named = quantities.named(rows)
    own = named[named.variant.isin(variants) & named.get("mu", pd.Series(index=named.index)).notna()]
    if own.empty:
        return pd.DataFrame(columns=["dataset", "variant", "round", "client", "mu"])
    long = own.assign(mu=own.mu.map(json.loads), client=own.clients.map(json.loads))
    long = long[["dataset", "variant", "round", "client", "mu"]].explode(["client", "mu"])
    by = ["dataset", "variant", "round", "client"]
    return long.astype({"mu": float}).groupby(by, as_index=False).mu.mean()


def mean_gaps(part: pd.DataFrame, variant: str) -> pd.Series:
    """Mean mu of small groups' clients less that of the main group's in the last rounds, by seed."""
    own = part[(part.variant == variant) & part.get("mu", pd.Series(index=part.index)).notna()]
    own = own[own["round"] > (1 - LAST_TENTH) * own["rounds"]]
    if own.empty:
        return pd.Series(dtype=float)
    mu, clients = (np.array(json_lists(own[name])) for name in ("mu", "clients"))
    main = clients < quantities.main_group(COHORT)
    gap = pd.Series(_mean_where(mu, ~main) - _mean_where(mu, main), index=own.seed.to_numpy())
    return gap.groupby(level=0).mean()


def learning_cost(profile: str) -> dict[str, int]:
    """Experiences and updates of FedDRL's main agent in table 3 at a profile (FEDDRL-A19, A23)."""
    scale = scale_of(profile)
    return count_updates(FedDRL(worker_rounds=scale.worker_rounds), scale.rounds)


def count_updates(method: FedDRL, rounds: int) -> dict[str, int]:
    """Count for any settings: merged experiences, offline updates, own experiences, online updates."""
    stage_1 = method.workers * ((method.worker_rounds or rounds) - 1) if method.mode == "two_stage" else 0
    passes = method.offline_passes * (stage_1 // min(method.offline_batch_size, stage_1)) if stage_1 else 0
    kept = stage_1 if method.keep_experience else 0
    sizes = [kept + max(0, t - 2) for t in range(1, rounds + 1)]  # of D when round t begins
    each = [size // method.batch_size if method.updates is None else method.updates for size in sizes]
    online = sum(b for size, b in zip(sizes, each, strict=True) if size >= method.batch_size)
    return {"merged": stage_1, "offline updates": passes, "own": rounds - 1, "online updates": online}


@functools.cache  # every claim's gate asks
def updates(method: FedDRL, rounds: int) -> int:
    """DDPG updates of the main agent, offline (A23) and online (A19)."""
    counts = count_updates(method, rounds)
    return counts["offline updates"] + counts["online updates"]


def learning_costs() -> pd.DataFrame:
    """`learning_cost` of every profile, the paper's last; then both agents of the small setting."""
    found = {f"table 3, {profile}": learning_cost(profile) for profile in PROFILES}
    rounds = scale_of(SMALL).small_rounds
    for words, options in (("small setting", {}), ("the same, repaired", REPAIRED)):
        found[f"{words}, {SMALL}"] = count_updates(FedDRL(**options), rounds)
    return pd.DataFrame(
        {"runs": name, **own, "updates": own["offline updates"] + own["online updates"]}
        for name, own in found.items()
    )
