"""Algorithm 1 of FedDdrl: the weights (w1, w2, w3) of the reward, from one episode of FedAvg.

Constraints by their descriptions (FEDDDRL-A4): (10b) all w > 0; (10c) w3 sum H > Omega_1 w2 sum B;
(10d) w1 U(0.01) > Omega_2 E(w2 B + w3 H); (10e) w1 sum U(dA) > Omega_3 (w2 sum B + w3 sum H).
The paper takes the point with the smallest R ("worst case of max"); the largest and the complete
feasible set are kept beside it (A5). B and H are normalised (A3).
"""

import numpy as np
import pandas as pd

from fedlib.analysis.published import printed_values
from fedlib.analysis.tables import listed, span_words
from fedlib.methods.fedddrl.method import GAIN
from fedlib.papers.fedddrl.quantities import in_papers_order, shown_roles, traces

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


def weights_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`weights_of_traces` with a line for each unit of H and data set: least and most over its runs.

    smallest R, largest R: the points (w1, w2, w3) at which the runs have it, a dash where none is feasible.
    """
    lines = []
    for (unit, role), own in in_papers_order(weights_of_traces(rows)).groupby(["H_by", "role"], sort=False):
        fails = ", ".join(name for name in own.printed_fails.unique() if name)
        lines.append(
            {
                "H by": unit,
                "role": role,
                "runs": len(own),
                "gain (points)": _span(100 * own.total_gain),
                "gain needed": _span(100 * own.needed_gain),
                "feasible points": span_words(own.feasible.tolist()),
                "smallest R": _points(own.smallest_R),
                "largest R": _points(own.largest_R),
                "printed: feasible": f"{own.printed_is_feasible.sum()} of {len(own)}",
                "printed: breaks": fails or "–",
            }
        )
    order = list(UNITS.values())
    return pd.DataFrame(lines).sort_values("H by", key=lambda names: names.map(order.index), kind="stable")


def _span(values: pd.Series) -> str:
    """`71 to 76` of rounded values."""
    return span_words([round(value) for value in values])


def _points(found: pd.Series) -> str:
    """`(2.3, 0.1, 0.2)`: each point once, a dash where no point is feasible."""
    points = sorted({point for point in found if point is not None})
    return "; ".join(f"({', '.join(f'{w:.1f}' for w in point)})" for point in points) or "–"


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
    """Whether Algorithm 1 gives the printed weights, where it gives any, and what (10e) needs."""
    table, printed = in_papers_order(weights_of_traces(rows)), printed_gains()
    some = table[table.feasible > 0]
    of = [f"{role} with H by {unit}" for role, unit in dict.fromkeys(zip(some.role, some.H_by, strict=True))]
    given = _at_printed(table.smallest_R)
    runs = len(table) // table.H_by.nunique()  # each is there once for each unit of H
    answer = f"In {given} of {runs} runs" if given else "No"
    found = f"{answer}: of {runs} runs of FedAvg feasible weights exist in {len(some) or 'none'}"
    if of:
        found += f", all of {listed(of)}. The smallest R is there at {_points(some.smallest_R)}"
    needed = table.groupby("H_by").needed_gain.mean()
    needs = " or ".join(f"{100 * needed[unit]:.0f} points with H by {unit}" for unit in UNITS.values())
    gains = listed([f"{100 * gain:.0f} on {role}" for role, gain in printed.items()])
    return (
        f"{found}. The printed point is ({', '.join(map(str, PRINTED))}). (10e) needs a gain above {needs}. "
        f"From chance the paper's FedAvg gains {gains} (points)."
    )


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
