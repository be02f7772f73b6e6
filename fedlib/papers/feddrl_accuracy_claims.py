"""FedDRL's claims about best accuracies: FEDDRL-C1 to C8 and C11 to C14, decided from rows."""

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
DATA_SETS = 3  # of table 3
LATE = 0.75  # share of the rounds after which a run that has converged no longer rises by SAME
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
        named = analysis.named(rows)
        return in_real_cells(leads(named), named, "FedDRL - best baseline", "points", cells)

    return decide_lead


def leads(named: "pd.DataFrame") -> "dict[str, Interval]":
    """FedDRL's best accuracy less the better baseline's (points), by cell."""
    return {
        analysis.cell_name(cell): decide.paired(analysis.best(part, "feddrl"), analysis.best_baseline(part))
        for cell, part in analysis.cells(named, needs=analysis.THREE)
    }


def in_real_cells(
    found: "dict[str, Interval]", named: "pd.DataFrame", what: str, unit: str, cells: int
) -> Verdict:
    """As `in_every_cell`; cells on generated images are in the evidence, not among those that decide."""
    generated = {analysis.cell_name(cell) for cell, part in analysis.cells(named) if _is_generated(part)}
    aside = {cell: interval for cell, interval in found.items() if cell in generated}
    real = {cell: interval for cell, interval in found.items() if cell not in generated}
    verdict = in_every_cell(real or aside, what, unit, cells)
    if aside and not real:
        return Verdict(NOT_TESTABLE, f"on the stand-in: {verdict.evidence}")
    told = f"; on the stand-in, deciding nothing: {decide.tally(aside)}" if aside else ""
    return Verdict(verdict.verdict, verdict.evidence + told)


def _is_generated(part: "pd.DataFrame") -> bool:
    return "stand_in" in part and bool(part.stand_in.astype(bool).any())


def mean_gain(rows: "pd.DataFrame", over: str, cells: int, **wanted: object) -> "Interval | None":
    """Mean relative gain over a sub-table of so many cells, then over seeds; None without all of them."""
    gains = [_gain(part, over) for _, part in analysis.cells(where(rows, **wanted), needs=analysis.THREE)]
    return decide.pooled([(gain, 0 * gain) for gain in gains]) if len(gains) == cells else None


def _gain(part: "pd.DataFrame", over: str) -> "pd.Series":
    """FedDRL's relative gain (%) over the best or the worst baseline of a cell, by seed."""
    baseline = {"best": analysis.best_baseline, "worst": analysis.worst_baseline}[over]
    return analysis.relative_gain(analysis.best(part, "feddrl"), baseline(part))


def where(rows: "pd.DataFrame", data: str | None = None, **columns: object) -> "pd.DataFrame":
    """Rows of one of the paper's data sets, and of these values of columns."""
    if data is not None:
        rows = rows[rows.dataset.map(analysis.PAPER_DATA) == data]
    for name, value in columns.items():
        rows = rows[rows[name] == value]
    return rows


def needs_real_data(decide_it: Decide) -> Decide:
    """What is claimed for CIFAR-100 is decided on CIFAR-100: generated images only give evidence."""

    def decide_on(rows: "pd.DataFrame") -> Verdict:
        verdict = decide_it(rows)
        if verdict != UNFINISHED and _is_generated(where(analysis.named(rows), "CIFAR-100")):
            return Verdict(NOT_TESTABLE, f"on the stand-in: {verdict.evidence}")
        return verdict

    return decide_on


def on_real_data(decide_it: "Callable[[pd.DataFrame, int], Verdict]") -> Decide:
    """What is claimed for all data sets is decided on real images; with the generated ones it is told.

    decide_it: takes rows and the number of data sets that must be complete among them.
    """

    def decide_on(rows: "pd.DataFrame") -> Verdict:
        whole = decide_it(rows, DATA_SETS)
        if whole == UNFINISHED or not _is_generated(rows):
            return whole
        real = rows[~rows.stand_in.astype(bool)]
        if real.empty:
            return Verdict(NOT_TESTABLE, f"on the stand-in: {whole.evidence}")
        verdict = decide_it(real, real.dataset.nunique())
        told = f"{verdict.evidence}; with the stand-in, deciding nothing: {whole.evidence}"
        return Verdict(verdict.verdict, told)

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
            gain = mean_gain(named, over, 3, data="CIFAR-100", num_clients=clients)
            parts.append(against_printed(gain, printed, f"over the {over} baseline"))
        return all_of(parts)

    return decide_gains


def largest_gain(rows: "pd.DataFrame") -> Verdict:
    """C4: the gain over the worse baseline at CIFAR-100, CE, N = 100, and that no other cell's is larger."""
    named = analysis.named(rows)
    if not enough_seeds(named):
        return too_few(named)
    gains = {cell: _gain(part, "worst") for cell, part in analysis.cells(named, needs=analysis.THREE)}
    claimed = [c for c in gains if (analysis.PAPER_DATA[c[0]], *c[1:]) == ("CIFAR-100", "ce", 100)]
    if len(gains) < TABLE_3 or not claimed:
        return UNFINISHED
    top = gains.pop(claimed[0])
    size = against_printed(
        decide.paired(top, 0 * top), from_text("max_relative_gain"), "gain over the worst baseline"
    )
    others = {analysis.cell_name(cell): decide.paired(top, gain) for cell, gain in gains.items()}
    return all_of([size, in_every_cell(others, "that gain - another cell's", "%", TABLE_3 - 1)])


def grows_with_clients(rows: "pd.DataFrame", data_sets: int = DATA_SETS) -> Verdict:
    """C5: gain over the best baseline at N = 100 less that at N = 10, same data and partition."""
    named, pairs, by_data = analysis.named(rows), [], {}
    for (dataset, _), part in analysis.cells(named, ("dataset", "partition")):
        if not all(set(analysis.THREE) <= set(part.variant[part.num_clients == n]) for n in (10, 100)):
            continue
        few, many = (_gain(part[part.num_clients == clients], "best") for clients in (10, 100))
        pairs.append((many, few))
        by_data.setdefault(analysis.PAPER_DATA[dataset], []).append((many - few).mean())
    if len(pairs) < 3 * data_sets:  # PA, CE and CN
        return UNFINISHED
    difference = decide.pooled(pairs)
    each = ", ".join(f"{name} {sum(values) / len(values):+.2f}" for name, values in by_data.items())
    return decide.by_sign(difference, f"gain at N=100 - at N=10: {words(difference, '%')} ({each})")


def within_one_percent(rows: "pd.DataFrame") -> Verdict:
    """C6: the relative gap between best and worst of the three on MNIST and Fashion-MNIST, in every cell."""
    named, room = analysis.named(rows), {}
    if not enough_seeds(named):
        return too_few(named)
    for data in ("MNIST", "Fashion-MNIST"):
        for cell, part in analysis.cells(where(named, data), needs=analysis.THREE):
            means = sorted((analysis.best(part, n) for n in analysis.THREE), key=lambda values: values.mean())
            gap = analysis.relative_gain(means[-1], means[0])
            room[analysis.cell_name(cell)] = decide.paired(0 * gap + ABOUT_ONE, gap)
    what = f"{ABOUT_ONE:g} % less the relative gap between best and worst of the three"
    return in_every_cell(room, what, "%", 2 * TABLE_3 // 3)


def cluster_skew_costs(rows: "pd.DataFrame", data_sets: int = DATA_SETS) -> Verdict:
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
    if len(from_pa) < 2 * 4 * data_sets:  # at both N: CE and CN, FedAvg and FedProx
        return UNFINISHED
    drops = {"SingleSet": decide.pooled(from_single), "PA": decide.pooled(from_pa)}
    return all_of(
        decide.by_sign(drop, f"{words(drop)} below {reference}") for reference, drop in drops.items()
    )


def single_set_bounds(rows: "pd.DataFrame") -> Verdict:
    """C8: SingleSet against the best of the three federated methods, in every cell."""
    if not enough_seeds(rows):
        return too_few(rows)
    named, found = analysis.named(rows), {}
    for cell, part in analysis.cells(named, needs=("singleset", *analysis.THREE)):
        top = max((analysis.best(part, name) for name in analysis.THREE), key=lambda values: values.mean())
        found[analysis.cell_name(cell)] = decide.paired(analysis.best(part, "singleset"), top)
    return in_real_cells(found, named, "SingleSet - best federated", "points", TABLE_3 + TABLE_4)


def speed_not_accuracy(rows: "pd.DataFrame") -> Verdict:
    """C11: best accuracy and rounds at the largest K against the smallest; FedDRL's lead at every K."""
    named = analysis.named(rows)
    if not enough_seeds(named):
        return too_few(named)
    complete = analysis.cells(named, ("cohort_size",), needs=analysis.THREE)
    of_size = {int(size): part for (size,), part in complete}
    sizes = sorted(of_size)
    if len(sizes) < 2:
        return UNFINISHED
    few, many = of_size[sizes[0]], of_size[sizes[-1]]
    parts = []
    for name in analysis.THREE:
        change = decide.paired(analysis.best(many, name), analysis.best(few, name))
        parts.append(_same(change, f"{name} at K={sizes[-1]} - at K={sizes[0]}: {words(change)}"))
    saved = decide.pooled(_rounds_at(few, many, name) for name in analysis.THREE)
    moved = saved.low > 0 or saved.high < 0
    told = f"rounds to what both reach, K={sizes[0]} - K={sizes[-1]}: {words(saved, 'rounds')}"
    parts.append(Verdict("supported" if moved else "mixed", told))
    leads = {
        f"K={size}": decide.paired(analysis.best(part, "feddrl"), analysis.best_baseline(part))
        for size, part in of_size.items()
    }
    found = all_of([*parts, in_every_cell(leads, "FedDRL - best baseline", "points")])
    rising = [size for size, part in of_size.items() if not has_converged(part)]
    if rising:
        told = f"not converged at K = {', '.join(map(str, sorted(rising)))}: {found.evidence}"
        return Verdict(NOT_TESTABLE, told)
    return found


def _same(change: "Interval", evidence: str) -> Verdict:
    """Whether a change is none: its whole interval within SAME; refuted if it lies wholly outside."""
    ends = sorted((abs(change.low), abs(change.high)))
    if ends[1] < SAME:
        return Verdict("supported", evidence)
    outside = ends[0] > SAME and not change.low < 0 < change.high
    return Verdict("not supported" if outside else "mixed", evidence)


def _rounds_at(few: "pd.DataFrame", many: "pd.DataFrame", name: str) -> "tuple[pd.Series, pd.Series]":
    """Rounds of a method with few and with many participants to the accuracy that both reach, by seed."""
    target = analysis.best(few, name).combine(analysis.best(many, name), min)
    return analysis.rounds_to(few, name, target), analysis.rounds_to(many, name, target)


def has_converged(part: "pd.DataFrame") -> bool:
    """Whether none of the three methods rises by SAME points or more in the last quarter of its rounds."""
    for name in analysis.THREE:
        own = part[part.variant == name]
        early = own[own["round"] <= LATE * own["round"].max()]
        if (analysis.best(own, name) - analysis.best(early, name)).mean() >= SAME:
            return False
    return True


def _by_delta(rows: "pd.DataFrame") -> "pd.DataFrame":
    return analysis.named(rows).assign(
        delta=lambda r: [analysis.partition_setting(text, "delta") for text in r.partition_options]
    )


def falls_with_delta(rows: "pd.DataFrame") -> Verdict:
    """C12: accuracy at the smallest delta less that at the largest, of each method under CE and CN."""
    named, found = _by_delta(rows), {}
    if not enough_seeds(named):
        return too_few(named)
    ends = [
        cell
        for cell, part in analysis.cells(named, ("partition", "delta"), needs=analysis.THREE)
        if cell[1] in (named.delta.min(), named.delta.max())
    ]
    if len(ends) < 4:  # two ends of delta, CE and CN
        return UNFINISHED
    for (partition,), part in analysis.cells(named, ("partition",), needs=analysis.THREE):
        low, high = (part[part.delta == end] for end in (part.delta.min(), part.delta.max()))
        for method in analysis.THREE:
            fall = decide.paired(analysis.best(low, method), analysis.best(high, method))
            found[f"{method}/{analysis.PAPER_PARTITIONS[partition]}"] = fall
    what = f"accuracy at delta {named.delta.min():g} - at delta {named.delta.max():g}"
    return in_every_cell(found, what, "points", 2 * len(analysis.THREE))


def leads_at_full_delta(rows: "pd.DataFrame") -> Verdict:
    """C13: relative gain over the best baseline at delta 0.6, CE and CN together."""
    named = _by_delta(rows)
    gain = mean_gain(named[named.delta == DELTA], "best", 2)
    low, high = (from_text(f"gain_at_delta_0.6_{end}") for end in ("low", "high"))
    return against_printed(gain, low, "gain over the best baseline", high)
