"""Algorithm 1 of FedDdrl: the weights (w1, w2, w3) of the reward, from one episode of FedAvg.

Constraints by their descriptions (FEDDDRL-A4): (10b) all w > 0; (10c) w3 sum H > Omega_1 w2 sum B;
(10d) w1 U(0.01) > Omega_2 E(w2 B + w3 H); (10e) w1 sum U(dA) > Omega_3 (w2 sum B + w3 sum H).
The paper takes the point with the smallest R ("worst case of max"); the largest and the complete
feasible set are kept beside it (A5). B and H are normalised (A3).
"""

import numpy as np
import pandas as pd

from fedlib.analysis.published import printed_values
from fedlib.methods.fedddrl.method import GAIN
from fedlib.papers.fedddrl.quantities import shown_roles, traces

OMEGAS = (0.2, 0.3, 1.0)
LIMITS = (30, 10, 10)  # tenths: w1 to 3.0, w2 and w3 to 1.0
PRINTED = (2.9, 0.1, 0.2)
UNITS = {"largest": "its largest value", "cohort": "the cohort's sum"}  # of H (FEDDDRL-A3)
CONSTRAINTS = ("c10b", "c10c", "c10d", "c10e")


def search_weights(gains: np.ndarray, costs: np.ndarray, latencies: np.ndarray) -> pd.DataFrame:
    """All 31 x 11 x 11 points of the grid: w1, w2, w3, the four constraints, `feasible`, R.

    gains, costs, latencies: [T] traces of dA_t, B_t, H_t.
    """
    tenths = np.stack(np.meshgrid(*(np.arange(n + 1) for n in LIMITS), indexing="ij"), axis=-1)
    w1, w2, w3 = (tenths.reshape(-1, 3) / 10).T
    omega1, omega2, omega3 = OMEGAS
    utility, cost, latency = GAIN * gains.sum(), costs.sum(), latencies.sum()
    penalty = w2 * cost + w3 * latency
    table = pd.DataFrame({"w1": w1, "w2": w2, "w3": w3})
    table["c10b"] = (w1 > 0) & (w2 > 0) & (w3 > 0)
    table["c10c"] = w3 * latency > omega1 * w2 * cost
    table["c10d"] = w1 * GAIN * 0.01 > omega2 * penalty / len(gains)
    table["c10e"] = w1 * utility > omega3 * penalty
    table["feasible"] = table[list(CONSTRAINTS)].all(axis=1)
    return table.assign(R=w1 * utility - penalty)


def choose(table: pd.DataFrame, *, largest: bool = False) -> tuple[float, float, float] | None:
    """The feasible point with the smallest R (or the largest); None if none is feasible."""
    feasible = table[table.feasible]
    if feasible.empty:
        return None
    best = feasible.loc[feasible.R.idxmax() if largest else feasible.R.idxmin()]
    return float(best.w1), float(best.w2), float(best.w3)


def weights_of_traces(rows: pd.DataFrame) -> pd.DataFrame:
    """Algorithm 1 on the first evaluation episode of every role and seed of FedAvg's rows, H in both units.

    Columns: H_by, role, seed, total_gain, needed_gain (by (10e) with the printed weights), mean_H, feasible
    (points), smallest_R, largest_R (points), printed_is_feasible, printed_fails (the constraints that the
    printed point breaks).
    """
    tables = []
    for unit, words in UNITS.items():
        found = traces(rows, unit)
        found = found[found.episode == found.groupby(["role", "seed"]).episode.transform("min")]
        tables += [
            {"H_by": words, "role": role, "seed": seed, **_summary(own)}
            for (role, seed), own in found.groupby(["role", "seed"])
        ]
    found = pd.DataFrame(tables)
    return found.assign(role=found.role.map(shown_roles(rows)))


def needed_gain(costs: np.ndarray, latencies: np.ndarray) -> float:
    """Total accuracy gain above which the printed weights satisfy (10e)."""
    w1, w2, w3 = PRINTED
    return OMEGAS[2] * float(w2 * costs.sum() + w3 * latencies.sum()) / (w1 * GAIN)


def printed_gains() -> dict[str, float]:
    """FedAvg's printed accuracies less those of a model that guesses, by the paper's data set."""
    printed = printed_values("fedddrl_table4", "dataset", metric="accuracy_mean", method="FedAvg")
    levels = printed / 100
    return {role: level - 1 / (7 if role == "CrisisIBD" else 10) for role, level in levels.items()}


def feasibility_sentence(rows: pd.DataFrame) -> str:
    """Whether the printed weights satisfy (10e) and have the smallest R, in both units of H."""
    table, printed = weights_of_traces(rows), printed_gains()
    gains = [f"{100 * gain:.0f} points on {role}" for role, gain in printed.items()]
    parts = []
    for words, own in table.groupby("H_by", sort=False):
        needed = own.needed_gain.mean()
        enough = [role for role, gain in printed.items() if gain > needed]
        parts.append(
            f"With H normalised by {words} FedAvg's H is {own.mean_H.mean():.2f}, and (10e) needs a gain "
            f"above {100 * needed:.0f} points, as it has on {' and '.join(enough) or 'no data set'}. The "
            f"printed point is feasible in {int(own.printed_is_feasible.sum())} of our {len(own)} runs. It "
            f"has the smallest R in {_at_printed(own.smallest_R)}, the largest in "
            f"{_at_printed(own.largest_R)}."
        )
    given = _at_printed(table.smallest_R)
    answer = f"In {given} of {len(table)} runs: " if given else "No: "
    return f"{answer}the accuracy of the paper's FedAvg rises by {', '.join(gains)}. {' '.join(parts)}"


def _at_printed(points: pd.Series) -> int:
    return sum(point is not None and np.allclose(point, PRINTED) for point in points)


def _summary(trace: pd.DataFrame) -> dict[str, object]:
    table = search_weights(*(trace[name].to_numpy() for name in ("dA", "B", "H")))
    at = np.isclose(table[["w1", "w2", "w3"]].to_numpy(), PRINTED).all(axis=1)
    printed = table[at].iloc[0]
    return {
        "total_gain": trace.dA.sum(), "needed_gain": needed_gain(trace.B.to_numpy(), trace.H.to_numpy()),
        "mean_H": trace.H.mean(), "feasible": int(table.feasible.sum()), "smallest_R": choose(table),
        "largest_R": choose(table, largest=True), "printed_is_feasible": bool(printed.feasible),
        "printed_fails": ", ".join(f"({name[1:]})" for name in CONSTRAINTS if not printed[name]),
    }  # fmt: skip
