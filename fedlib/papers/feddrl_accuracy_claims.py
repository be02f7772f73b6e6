"""FedDRL's claims about best accuracies: FEDDRL-C1 to C8 and C11 to C14, decided from rows."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.papers import NOT_TESTABLE, Verdict, decide
from fedlib.papers import feddrl_analysis as analysis
from fedlib.papers.decide import against_printed, all_of, in_every_cell, words
from fedlib.papers.feddrl_errata import from_text
from fedlib.papers.feddrl_grid import DELTA

if TYPE_CHECKING:
    import pandas as pd

    from fedlib.intervals import Interval

Decide = Callable[["pd.DataFrame"], Verdict]
ABOUT_ONE = 1.5  # percent: what rounds to "around 1 %"
SAME = 1.0  # points: a difference that counts as none in C11, the resolution of the published tables
TABLE_3, TABLE_4 = 18, 4  # cells
UNFINISHED = Verdict(NOT_TESTABLE, "the cells that it needs have not all been run yet")


def enough_seeds(rows: "pd.DataFrame") -> bool:
    return rows.seed.nunique() >= 2


def too_few(rows: "pd.DataFrame", needed: str = "two seeds") -> Verdict:
    return Verdict(NOT_TESTABLE, f"{rows.seed.nunique()} seed(s); needs {needed}")


def leads_in(cells: int) -> Decide:
    """C1, C14: FedDRL's best accuracy against the better baseline of each of so many cells."""

    def decide_lead(rows: "pd.DataFrame") -> Verdict:
        if not enough_seeds(rows):
            return too_few(rows)
        found = {
            analysis.cell_name(cell): decide.paired(
                analysis.best(part, "feddrl"), analysis.best_baseline(part)
            )
            for cell, part in analysis.cells(analysis.named(rows), needs=analysis.THREE)
        }
        return in_every_cell(found, "FedDRL - best baseline", "points", cells)

    return decide_lead


def _mean_gain(rows: "pd.DataFrame", over: str, **where: object) -> "Interval | None":
    """Mean relative gain over the cells of a sub-table, then over seeds; None without cells."""
    baseline = {"best": analysis.best_baseline, "worst": analysis.worst_baseline}[over]
    pairs = []
    for _, part in analysis.cells(_where(rows, **where), needs=analysis.THREE):
        gain = analysis.relative_gain(analysis.best(part, "feddrl"), baseline(part))
        pairs.append((gain, 0 * gain))
    return decide.pooled(pairs) if pairs else None


def _where(rows: "pd.DataFrame", data: str | None = None, **columns: object) -> "pd.DataFrame":
    if data is not None:
        rows = rows[rows.dataset.map(analysis.PAPER_DATA) == data]
    for name, value in columns.items():
        rows = rows[rows[name] == value]
    return rows


def needs_real_data(decide_it: Decide) -> Decide:
    """A number printed for CIFAR-100 is decided on CIFAR-100: generated images only give evidence."""

    def decide_on(rows: "pd.DataFrame") -> Verdict:
        verdict = decide_it(rows)
        if "stand_in" in rows and _where(analysis.named(rows), "CIFAR-100").stand_in.astype(bool).any():
            return Verdict(NOT_TESTABLE, f"on the stand-in: {verdict.evidence}")
        return verdict

    return decide_on


def gains_as_printed(clients: int) -> Decide:
    def decide_gains(rows: "pd.DataFrame") -> Verdict:
        named = analysis.named(rows)
        if not enough_seeds(named):
            return too_few(named)
        parts = []
        for over in ("best", "worst"):
            metric = f"mean_relative_gain_over_{over}_baseline"
            printed = from_text(metric, n_clients=str(clients))
            gain = _mean_gain(named, over, data="CIFAR-100", num_clients=clients)
            parts.append(against_printed(gain, printed, f"over the {over} baseline"))
        return all_of(parts)

    return decide_gains


def largest_gain(rows: "pd.DataFrame") -> Verdict:
    """C4: CIFAR-100, CE, N = 100, over the worse baseline."""
    gain = _mean_gain(analysis.named(rows), "worst", data="CIFAR-100", partition="ce", num_clients=100)
    return against_printed(gain, from_text("max_relative_gain"), "gain over the worst baseline")


def grows_with_clients(rows: "pd.DataFrame") -> Verdict:
    """C5: gain over the best baseline at N = 100 less that at N = 10, same data and partition."""
    named, pairs, by_data = analysis.named(rows), [], {}
    for (dataset, _), part in analysis.cells(named, ("dataset", "partition")):
        gain = {}
        if not all(set(analysis.THREE) <= set(part.variant[part.num_clients == n]) for n in (10, 100)):
            continue
        for clients in (10, 100):
            cell = part[part.num_clients == clients]
            gain[clients] = analysis.relative_gain(
                analysis.best(cell, "feddrl"), analysis.best_baseline(cell)
            )
        pairs.append((gain[100], gain[10]))
        by_data.setdefault(analysis.PAPER_DATA[dataset], []).append((gain[100] - gain[10]).mean())
    if not pairs:
        return UNFINISHED
    difference = decide.pooled(pairs)
    each = ", ".join(f"{name} {sum(values) / len(values):+.2f}" for name, values in by_data.items())
    return decide.by_sign(difference, f"gain at N=100 - at N=10: {words(difference, '%')} ({each})")


def within_one_percent(rows: "pd.DataFrame") -> Verdict:
    """C6: largest relative difference among the three methods on MNIST and Fashion-MNIST."""
    named, high, spreads = analysis.named(rows), [], []
    if not enough_seeds(named):
        return too_few(named)
    for data in ("MNIST", "Fashion-MNIST"):
        for _, part in analysis.cells(_where(named, data), needs=analysis.THREE):
            means = sorted((analysis.best(part, n) for n in analysis.THREE), key=lambda values: values.mean())
            gap = decide.paired(analysis.relative_gain(means[-1], means[0]), 0 * means[0])
            high.append(gap.high)
            spreads.append(gap.mean)
    if not high:
        return UNFINISHED
    flags = [value < ABOUT_ONE for value in high]
    within = f"{sum(flags)} of {len(flags)} cells with an interval below {ABOUT_ONE:g} %"
    return decide.by_count(
        flags, f"best - worst of the three: {min(spreads):.2f} to {max(spreads):.2f} %, {within}"
    )


def cluster_skew_costs(rows: "pd.DataFrame") -> Verdict:
    """C7: FedAvg and FedProx under CE and CN against PA, and against SingleSet in the same cell."""
    named, from_pa, from_single = analysis.named(rows), [], []
    needed = {(p, m) for p in ("pa", "ce", "cn") for m in ("singleset", *analysis.BASELINES)}
    for _, part in analysis.cells(named, ("dataset", "num_clients")):
        if not needed <= set(zip(part.partition, part.variant, strict=True)):
            continue
        for partition in ("ce", "cn"):
            cell = part[part.partition == partition]
            for method in analysis.BASELINES:
                ours = analysis.best(cell, method)
                from_pa.append((analysis.best(part[part.partition == "pa"], method), ours))
                from_single.append((analysis.best(cell, "singleset"), ours))
    if not from_pa:
        return UNFINISHED
    drops = {"SingleSet": decide.pooled(from_single), "PA": decide.pooled(from_pa)}
    return all_of(
        decide.by_sign(drop, f"{words(drop)} below {reference}") for reference, drop in drops.items()
    )


def single_set_bounds(rows: "pd.DataFrame") -> Verdict:
    """C8: SingleSet against the best of the three federated methods, in every cell."""
    if not enough_seeds(rows):
        return too_few(rows)
    found = {}
    for cell, part in analysis.cells(analysis.named(rows), needs=("singleset", *analysis.THREE)):
        top = max((analysis.best(part, name) for name in analysis.THREE), key=lambda values: values.mean())
        found[analysis.cell_name(cell)] = decide.paired(analysis.best(part, "singleset"), top)
    return in_every_cell(found, "SingleSet - best federated", "points", TABLE_3 + TABLE_4)


def speed_not_accuracy(rows: "pd.DataFrame") -> Verdict:
    """C11: FedDRL's best accuracy at the largest K less that at the smallest; its lead at every K."""
    named = analysis.named(rows)
    if not enough_seeds(named):
        return too_few(named)
    complete = analysis.cells(named, ("cohort_size",), needs=analysis.THREE)
    of_size = {int(size): part for (size,), part in complete}
    sizes = sorted(of_size)
    if len(sizes) < 2:
        return UNFINISHED
    change = decide.paired(*(analysis.best(of_size[size], "feddrl") for size in (sizes[-1], sizes[0])))
    inside, outside = (
        max(abs(change.low), abs(change.high)) < SAME,
        min(abs(change.low), abs(change.high)) > SAME,
    )
    crossing = change.low < 0 < change.high
    verdict = "supported" if inside else "not supported" if outside and not crossing else "mixed"
    same = Verdict(verdict, f"FedDRL at K={sizes[-1]} - at K={sizes[0]}: {words(change)}")
    leads = {
        f"K={size}": decide.paired(analysis.best(part, "feddrl"), analysis.best_baseline(part))
        for size, part in of_size.items()
    }
    return all_of([same, in_every_cell(leads, "FedDRL - best baseline", "points")])


def _by_delta(rows: "pd.DataFrame") -> "pd.DataFrame":
    return analysis.named(rows).assign(
        delta=lambda r: r.partition_options.map(lambda t: json.loads(t)["delta"])
    )


def falls_with_delta(rows: "pd.DataFrame") -> Verdict:
    """C12: accuracy at the smallest delta less that at the largest, of each method under CE and CN."""
    named, found = _by_delta(rows), {}
    if not enough_seeds(named):
        return too_few(named)
    whole = [part for _, part in analysis.cells(named, ("partition", "delta"), needs=analysis.THREE)]
    if len(whole) < 4:  # two ends of delta, CE and CN
        return UNFINISHED
    for (partition,), part in analysis.cells(named, ("partition",), needs=analysis.THREE):
        low, high = (part[part.delta == end] for end in (part.delta.min(), part.delta.max()))
        for method in analysis.THREE:
            fall = decide.paired(analysis.best(low, method), analysis.best(high, method))
            found[f"{method}/{analysis.PAPER_PARTITIONS[partition]}"] = fall
    what = f"accuracy at delta {named.delta.min():g} - at delta {named.delta.max():g}"
    return in_every_cell(found, what, "points")


def leads_at_full_delta(rows: "pd.DataFrame") -> Verdict:
    """C13: relative gain over the best baseline at delta 0.6, CE and CN together."""
    named = _by_delta(rows)
    gain = _mean_gain(named[named.delta == DELTA], "best")
    return against_printed(gain, from_text("gain_at_delta_0.6_low"), "gain over the best baseline")
