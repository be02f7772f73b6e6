"""FedDdrl's claims C1 to C16, each decided from the rows of its artifact.

Most have several parts ("on every data set", "A < B <= C <= D"). Such a claim is supported if every
part is, not supported as soon as one part is refuted, and mixed otherwise; a part is decided by the
95 % interval over seeds of a difference paired by seed. FedMarl with Balanced-MixUp is setting C.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedlib.intervals import Interval, mean_interval
from fedlib.papers import NOT_TESTABLE, Claim, Verdict, decide
from fedlib.papers import fedddrl_grid as grid
from fedlib.papers.decide import by_sign, paired, pooled, words

if TYPE_CHECKING:
    import pandas as pd

ROLES = tuple(grid.ALPHAS)
HARD = ("CIFAR-10", "CrisisIBD")
EARLY, LATE = 2, 5  # first rounds of C7, last rounds of C14
AS_GOOD = -1.0  # points: B <= C holds if C is less than one point below B
SHORT = {
    "fedavg_mixup": "FedAvg+", "fedprox_mixup": "FedProx+", "fedavg": "FedAvg", "fedprox": "FedProx",
    "fedmarl_a": "A", "fedmarl_b": "B", "fedmarl": "C", "fedddrl": "D",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One comparison of a claim: the claim says that the interval lies above `margin`."""

    what: str
    interval: Interval
    unit: str = "points"
    margin: float = 0.0
    digits: int = 1

    @property
    def verdict(self) -> Verdict:
        return by_sign(self.interval, str(self), margin=self.margin)

    def __str__(self) -> str:
        return f"{self.what} {words(self.interval, self.unit, self.digits)}"


def all_parts(parts: Sequence[Part], note: str = "", shown: int | None = None) -> Verdict:
    """Every part has to hold; one that is refuted refutes the claim. shown: parts in the evidence, the
    weakest first (all, in their order, by default)."""
    if not parts:
        return Verdict(NOT_TESTABLE, note or "no cell of this claim was run")
    listed = parts if shown is None else sorted(parts, key=lambda p: p.interval.mean - p.margin)[:shown]
    left_out = f"the {len(listed)} weakest of {len(parts)} shown" if len(listed) < len(parts) else ""
    evidence = "; ".join([*map(str, listed), *filter(None, (left_out, note))])
    return Verdict(decide.all_of(part.verdict for part in parts).verdict, evidence)


def differences(
    values: "pd.Series",
    pairs: Iterable[tuple[str, str]],
    roles: Iterable[str],
    *,
    unit: str = "points",
    margin: float = 0.0,
    cohort_size: float | None = None,
) -> list[Part]:
    """Parts `first - second` for pairs of settings on each data set, where both were run."""
    from fedlib.papers.fedddrl_rows import cell

    parts = []
    for role in roles:
        for first, second in pairs:
            a, b = (cell(values, role, name, cohort_size) for name in (first, second))
            if len((a - b).dropna()):
                what = f"{role} {SHORT[first]} - {SHORT[second]}"
                parts.append(Part(what, paired(a, b), unit, margin))
    return parts


def accuracy_of(rows: "pd.DataFrame") -> "pd.Series":
    from fedlib.papers.fedddrl_rows import final_accuracy

    return final_accuracy(rows)


def rivals(values: "pd.Series", best: str, others: Iterable[str], roles: Iterable[str]) -> list[Part]:
    """`best` against each of the others."""
    return differences(values, [(best, other) for other in others], roles)


def decide_c1(rows: "pd.DataFrame") -> Verdict:
    others = [name for name in grid.TABLE4 if name != "fedddrl"]
    return all_parts(rivals(accuracy_of(rows), "fedddrl", others, HARD), shown=2)


def decide_c2(rows: "pd.DataFrame") -> Verdict:
    """FedProx without Balanced-MixUp, the better of its two rows in the paper's table (95.6)."""
    accuracy = accuracy_of(rows)
    others = [name for name in grid.TABLE4 if not name.startswith("fedprox")]
    beaten = ("fedavg", "fedavg_mixup", "fedmarl_a", "fedmarl_b", "fedmarl")
    parts = rivals(accuracy, "fedprox", others, ("MNIST",)) + rivals(accuracy, "fedddrl", beaten, ("MNIST",))
    return all_parts(parts, shown=3)


def decide_c3(rows: "pd.DataFrame") -> Verdict:
    accuracy = accuracy_of(rows)
    strict = differences(accuracy, [("fedmarl_b", "fedmarl_a")], ROLES)
    loose = differences(accuracy, [("fedmarl", "fedmarl_b"), ("fedddrl", "fedmarl")], ROLES, margin=AS_GOOD)
    return all_parts(strict + loose, f"<= is taken to hold within {-AS_GOOD:g} point")


def decide_c4(rows: "pd.DataFrame") -> Verdict:
    pairs = [(fixed, marl) for marl in ("fedmarl_a", "fedmarl_b") for fixed in ("fedavg", "fedprox")]
    return all_parts(differences(accuracy_of(rows), pairs, ROLES))


def normalised(rows: "pd.DataFrame", value: str) -> "pd.Series":
    """Percent of FedAvg's total of the same seed (FEDDDRL-A39)."""
    from fedlib.papers.fedddrl_rows import CELL, totals

    total = totals(rows, value).rename("total").reset_index()
    unit = total[total.variant == "fedavg_mixup"].groupby(["role", "seed"]).total.first().rename("unit")
    joined = total.join(unit, on=["role", "seed"])
    return (100 * joined.total / joined.unit).set_axis(total.set_index(CELL).index)


def decide_c5(rows: "pd.DataFrame") -> Verdict:
    """FedProx's samples cost what FedAvg's do by default (A40), so its place is not decided here."""
    pairs = [("fedmarl", "fedddrl"), ("fedavg_mixup", "fedmarl")]
    parts = differences(normalised(rows, "latency_seconds"), pairs, ROLES, unit="% of FedAvg's latency")
    return all_parts(parts, "FedProx = FedAvg by construction, its longer steps are not modelled (A40)")


def decide_c6(rows: "pd.DataFrame") -> Verdict:
    share, unit = normalised(rows, "uploads"), "% of FedAvg's uploads"
    fewer = differences(
        share, [("fedavg_mixup", "fedddrl"), ("fedavg_mixup", "fedmarl")], ROLES, unit=unit, margin=10
    )
    return all_parts(
        fewer + differences(share, [("fedmarl", "fedddrl")], HARD, unit=unit), "clearly: 10 % or more"
    )


def decide_c7(rows: "pd.DataFrame") -> Verdict:
    """Clients kept in rounds 3 to T minus rounds 1 and 2, mean over data sets and episodes."""
    from fedlib.papers.fedddrl_rows import kept_by_round

    kept = kept_by_round(rows)
    early = kept[kept.t <= EARLY].groupby("seed").uploads.mean()
    later = kept[kept.t > EARLY].groupby("seed").uploads.mean()
    cohort = int(rows.cohort_size.max())
    note = f"{early.mean():.1f} of {cohort} kept in rounds 1-{EARLY}, {later.mean():.1f} later"
    return all_parts([Part("later - first rounds", paired(later, early), "clients")], note)


def decide_c8(rows: "pd.DataFrame") -> Verdict:
    """Dropped minus kept within the same round, mean over rounds with both, data sets and episodes."""
    from fedlib.papers.fedddrl_rows import decisions

    table = decisions(rows)
    parts = []
    for name, unit in (("probing_loss", "nats"), ("probing_seconds", "s")):
        means = table.groupby(["role", "seed", "episode", "t", "kept"])[name].mean().unstack("kept").dropna()
        if means.shape[1] == 2 and len(means):
            by_seed = (means[False] - means[True]).groupby("seed").mean()
            words_of = name.replace("_seconds", " latency").replace("_", " ")
            parts.append(Part(f"{words_of}, dropped - kept", mean_interval(by_seed), unit, digits=2))
    return all_parts(parts)


def epochs_against_latency(rows: "pd.DataFrame") -> "pd.Series":
    """Mean epochs of fast (0.25 s) minus slow (0.75 s) kept clients, by seed, mean over data sets."""
    from fedlib.papers.fedddrl_rows import decisions

    table = decisions(rows)
    table = table[table.kept]
    lowest, highest = (table.groupby("role").probing_seconds.transform(f) for f in ("min", "max"))
    speed = table.assign(fast=table.probing_seconds == lowest, slow=table.probing_seconds == highest)
    fast = speed[speed.fast].groupby(["role", "seed"]).epochs.mean()
    slow = speed[speed.slow].groupby(["role", "seed"]).epochs.mean()
    return (fast - slow).dropna().groupby("seed").mean()


def decide_c9(rows: "pd.DataFrame") -> Verdict:
    found = epochs_against_latency(rows)
    if found.empty:
        return Verdict(NOT_TESTABLE, "no seed kept both a fast and a slow client")
    return all_parts(
        [Part("epochs of fast - of slow kept clients", mean_interval(found), "epochs", digits=2)]
    )


def decide_c10(rows: "pd.DataFrame") -> Verdict:
    accuracy = accuracy_of(rows)
    parts = [
        Part(f"C={size:g} {part.what}", part.interval)
        for size in sorted(rows.cohort_size.unique())
        for part in differences(accuracy, [("fedavg_mixup", "fedavg")], HARD, cohort_size=size)
    ]
    top = max((part.interval.mean for part in parts), default=float("nan"))
    return all_parts(parts, f"largest gain {top:+.1f} points, published +17.0")


def decide_c11(rows: "pd.DataFrame") -> Verdict:
    """FedAvg without Balanced-MixUp, as in fig. 2; steadiness: spread of the last five rounds."""
    from fedlib.papers.fedddrl_rows import cell, unsteadiness

    sizes = sorted(rows.cohort_size.unique())
    if len(sizes) < 2:
        return Verdict(NOT_TESTABLE, f"only C = {sizes[0]:g} was run")
    few, many = sizes[0], sizes[-1]
    parts = []
    for role in ROLES:
        for values, what, sign in (
            (accuracy_of(rows), "accuracy", 1),
            (unsteadiness(rows), "unsteadiness", -1),
        ):
            a, b = (cell(values, role, "fedavg", size) for size in (many, few))
            if len((a - b).dropna()):
                order = f"C={many:g} - C={few:g}" if sign > 0 else f"C={few:g} - C={many:g}"
                parts.append(Part(f"{role} {what} {order}", paired(sign * a, sign * b)))
    return all_parts(parts)


def decide_c12(rows: "pd.DataFrame") -> Verdict:
    found = rows.set_index("mixup")
    plain, mixed = found.loc["none"], found.loc["strict"]
    evidence = (
        f"{plain.emd:.3g} -> {mixed.emd:.3g} by (23), (26), factor {mixed.emd / plain.emd:.3f}; "
        f"labels drawn from a client: {plain.emd_drawn:.3f} -> {mixed.emd_drawn:.3f}"
    )
    lower = mixed.emd < plain.emd and abs(mixed.emd_drawn / plain.emd_drawn - 4 / 7) < 0.02
    return Verdict("supported" if lower else "not supported", evidence)


def decide_c13(rows: "pd.DataFrame") -> Verdict:
    largest, span = rows.deviation.abs().max(), rows.utility.max() - rows.utility.min()
    evidence = f"largest deviation from the line {largest:.4f}, {largest / span:.2%} of the range {span:.3f}"
    return Verdict("supported" if largest < 0.01 * span else "not supported", evidence)


def decide_c14(rows: "pd.DataFrame") -> Verdict:
    """B has reward (12), `fedmarl_bias` the bias: gain against penalty and clients kept near the end."""
    from fedlib.papers.fedddrl_rows import evaluations, reward_terms

    terms = reward_terms(evaluations(rows))
    late = terms[terms.t > terms.t.max() - LATE]
    plain, biased = (late[late.variant == name].groupby("seed") for name in ("fedmarl_b", "fedmarl_bias"))
    earlier = terms[(terms.variant == "fedmarl_b") & (terms.t <= terms.t.max() - LATE)].groupby("seed")
    if not len(plain) or not len(biased):
        return Verdict(NOT_TESTABLE, "one of the two rewards was not run")
    gain, penalty = plain.gain.mean(), plain.penalty.mean()
    parts = [
        Part("half the penalty - gain, last 5 rounds", paired(0.5 * penalty, gain), "", digits=3),
        *(
            [
                Part(
                    "kept with (12), earlier - last 5",
                    paired(earlier.uploads.mean(), plain.uploads.mean()),
                    "clients",
                )
            ]
            if len(earlier)
            else []
        ),
        Part(
            "kept in the last 5, with b - without",
            paired(biased.uploads.mean(), plain.uploads.mean()),
            "clients",
        ),
    ]
    return all_parts(parts, f"gain {gain.mean():.4f}, penalty {penalty.mean():.3f}; published 0.0273, 0.279")


def decide_c15(rows: "pd.DataFrame") -> Verdict:
    parts = differences(accuracy_of(rows), [("fedmarl_b", "fedmarl_a")], ROLES)
    return all_parts(parts, "published +1.7, +6.2, +2.0")


def decide_c16(rows: "pd.DataFrame") -> Verdict:
    """Against FedAvg with Balanced-MixUp, pooled over data sets; "about 30 %" holds above 20 % (A41)."""
    share = {value: normalised(rows, value) for value in ("latency_seconds", "uploads")}
    parts = [
        *_pooled(share["latency_seconds"], "fedavg_mixup", "fedddrl", "latency saved", "%", margin=20),
        *_pooled(share["uploads"], "fedavg_mixup", "fedddrl", "uploads saved", "%", margin=20),
        *_pooled(accuracy_of(rows), "fedddrl", "fedavg_mixup", "accuracy D - FedAvg+", "points"),
    ]
    note = _pooled(accuracy_of(rows), "fedddrl", "fedmarl_b", "accuracy D - B", "points")
    return all_parts(parts, str(note[0]) if note else "")


def _pooled(
    values: "pd.Series", first: str, second: str, what: str, unit: str, *, margin: float = 0.0
) -> list[Part]:
    """`first - second`, mean over the data sets that both were run on."""
    from fedlib.papers.fedddrl_rows import cell

    cells = [(cell(values, role, first), cell(values, role, second)) for role in ROLES]
    both = [(a, b) for a, b in cells if len((a - b).dropna())]
    return [Part(what, pooled(both), unit, margin)] if both else []


CLAIMS = tuple(
    Claim(f"FEDDDRL-C{number}", statement, f"fedddrl/{artifact}", decide)
    for number, statement, artifact, decide in (
        (1, "FedDdrl has the highest accuracy on CIFAR-10 and CrisisIBD", "table4", decide_c1),
        (2, "on MNIST FedProx is best, and FedDdrl beats FedAvg and FedMarl", "table4", decide_c2),
        (3, "ablation order A < B <= C <= D on every data set", "table4", decide_c3),
        (4, "FedMarl (A, B) without Balanced-MixUp is below FedAvg and FedProx", "table4", decide_c4),
        (5, "lowest total latency: FedDdrl, then FedMarl, FedAvg, FedProx", "fig8", decide_c5),
        (6, "FedDdrl and FedMarl upload clearly less than FedAvg = FedProx; FedDdrl less than FedMarl on "
            "CIFAR-10 and CrisisIBD", "fig9", decide_c6),
        (7, "fewer clients are kept in the first rounds than later", "fig10", decide_c7),
        (8, "kept clients have lower probing loss and shorter probing latency", "fig11", decide_c8),
        (9, "slow clients get fewer epochs, fast ones more, with exceptions", "fig12", decide_c9),
        (10, "Balanced-MixUp raises FedAvg on CIFAR-10 and CrisisIBD for C = 5 and 10, by up to 17.0 points",
         "table5", decide_c10),
        (11, "a larger C gives higher and steadier accuracy", "table5", decide_c11),
        (12, "Balanced-MixUp lowers the EMD (factor 0.571)", "sec5.5-emd", decide_c12),
        (13, "U is nearly linear on [0, 1]", "fig5", decide_c13),
        (14, "with reward (12) the gain term becomes much smaller than the penalty near the end and the "
             "agents drop more clients; the bias repairs this", "eq13-14", decide_c14),
        (15, "optimised weights improve FedMarl on all data sets", "table4", decide_c15),
        (16, "about 30 % less latency and communication at higher accuracy", "table4", decide_c16),
    )
)  # fmt: skip
