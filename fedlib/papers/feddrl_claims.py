"""FedDRL's claims FEDDRL-C1 to C17, each decided from rows with the interval that decided it."""

import json
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fedlib.papers import Claim, Verdict, decide
from fedlib.papers import feddrl_analysis as analysis
from fedlib.papers.decide import words
from fedlib.papers.feddrl_errata import from_text
from fedlib.papers.feddrl_grid import DELTA

if TYPE_CHECKING:
    import pandas as pd

    from fedlib.intervals import Interval

Decide = Callable[["pd.DataFrame"], Verdict]
ABOUT_ONE = 1.5  # percent: what rounds to "around 1 %"
SAME = 1.0  # points: a difference that counts as none in C11, the resolution of the published tables
TABLE_3, TABLE_4 = 18, 4  # cells
EARLY = 0.25  # share of the rounds that is the "initial phase": 200 to 300 of 1000


def _testable(rows: "pd.DataFrame", least: int = 2) -> bool:
    return rows.seed.nunique() >= least


def _too_few(rows: "pd.DataFrame", needed: str = "two seeds") -> Verdict:
    return Verdict("not testable at this scale", f"{rows.seed.nunique()} seed(s); needs {needed}")


def _unfinished() -> Verdict:
    return Verdict("not testable at this scale", "the cells that it needs have not all been run yet")


def in_every_cell(found: "dict[str, Interval]", what: str, unit: str, expected: int | None = None) -> Verdict:
    """A claim about all cells: one cell clearly below 0 refutes it, all at least 0 support it.

    expected: how many cells there are; None: those found. Cells that have not been run cannot support it.
    """
    if not found:
        return _unfinished()
    ahead = [cell for cell, interval in found.items() if interval.low >= 0]
    behind = [cell for cell, interval in found.items() if interval.high < 0]
    worst = min(found, key=lambda cell: found[cell].mean)
    total = expected or len(found)
    evidence = (
        f"{what}: clearly at least 0 in {len(ahead)}, clearly below in {len(behind)} of {total} cells; "
        f"smallest in {worst}, {words(found[worst], unit)}"
    )
    if behind:
        return Verdict("not supported", evidence)
    return Verdict("supported" if len(ahead) == total else "mixed", evidence)


def against_printed(interval: "Interval | None", printed: float, what: str) -> Verdict:
    """Supported if clearly above 0 and up to the printed size, not supported if clearly below that size."""
    if interval is None:
        return _unfinished()
    evidence = f"{what} {words(interval, '%')}, printed {printed:g} %"
    if interval.n < 2:
        return Verdict("not testable at this scale", evidence)
    if interval.high < printed:
        return Verdict("not supported", evidence)
    return Verdict("supported" if interval.low > 0 else "mixed", evidence)


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """A claim of several parts: all must be supported; one that is not refutes it."""
    parts = list(verdicts)
    evidence = "; ".join(part.evidence for part in parts)
    names = {part.verdict for part in parts}
    for name in ("not testable at this scale", "not supported", "mixed"):
        if name in names:
            return Verdict(name, evidence)
    return Verdict("supported", evidence)


def leads_in(cells: int) -> Decide:
    """C1, C14: FedDRL's best accuracy against the better baseline of each of so many cells."""

    def decide_lead(rows: "pd.DataFrame") -> Verdict:
        if not _testable(rows):
            return _too_few(rows)
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


def _needs_real_data(decide_it: Decide) -> Decide:
    """A number printed for CIFAR-100 is decided on CIFAR-100: generated images only give evidence."""

    def decide_on(rows: "pd.DataFrame") -> Verdict:
        verdict = decide_it(rows)
        if "stand_in" in rows and _where(analysis.named(rows), "CIFAR-100").stand_in.astype(bool).any():
            return Verdict("not testable at this scale", f"on the stand-in: {verdict.evidence}")
        return verdict

    return decide_on


def _gains_as_printed(clients: int) -> Decide:
    def decide_gains(rows: "pd.DataFrame") -> Verdict:
        named = analysis.named(rows)
        if not _testable(named):
            return _too_few(named)
        parts = []
        for over in ("best", "worst"):
            metric = f"mean_relative_gain_over_{over}_baseline"
            printed = from_text(metric, n_clients=str(clients))
            gain = _mean_gain(named, over, data="CIFAR-100", num_clients=clients)
            parts.append(against_printed(gain, printed, f"over the {over} baseline"))
        return weakest(parts)

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
        return _unfinished()
    difference = decide.pooled(pairs)
    each = ", ".join(f"{name} {sum(values) / len(values):+.2f}" for name, values in by_data.items())
    return decide.by_sign(difference, f"gain at N=100 - at N=10: {words(difference, '%')} ({each})")


def within_one_percent(rows: "pd.DataFrame") -> Verdict:
    """C6: largest relative difference among the three methods on MNIST and Fashion-MNIST."""
    named, high, spreads = analysis.named(rows), [], []
    if not _testable(named):
        return _too_few(named)
    for data in ("MNIST", "Fashion-MNIST"):
        for _, part in analysis.cells(_where(named, data), needs=analysis.THREE):
            means = sorted((analysis.best(part, n) for n in analysis.THREE), key=lambda values: values.mean())
            gap = decide.paired(analysis.relative_gain(means[-1], means[0]), 0 * means[0])
            high.append(gap.high)
            spreads.append(gap.mean)
    if not high:
        return _unfinished()
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
        return _unfinished()
    drops = {"SingleSet": decide.pooled(from_single), "PA": decide.pooled(from_pa)}
    return weakest(
        decide.by_sign(drop, f"{words(drop)} below {reference}") for reference, drop in drops.items()
    )


def single_set_bounds(rows: "pd.DataFrame") -> Verdict:
    """C8: SingleSet against the best of the three federated methods, in every cell."""
    if not _testable(rows):
        return _too_few(rows)
    found = {}
    for cell, part in analysis.cells(analysis.named(rows), needs=("singleset", *analysis.THREE)):
        top = max((analysis.best(part, name) for name in analysis.THREE), key=lambda values: values.mean())
        found[analysis.cell_name(cell)] = decide.paired(analysis.best(part, "singleset"), top)
    return in_every_cell(found, "SingleSet - best federated", "points", TABLE_3 + TABLE_4)


def losses_fall_below(rows: "pd.DataFrame") -> Verdict:
    """C9: log ratio of the baselines' client losses to FedDRL's, after and in the initial phase."""
    import pandas as pd

    named = analysis.named(rows)
    if not _testable(named):
        return _too_few(named)
    complete = list(analysis.cells(named, needs=analysis.THREE))
    if not complete:
        return _unfinished()
    late, early = {}, {}
    for value in ("client_loss_mean", "client_loss_variance"):
        logs = []
        for _, part in complete:
            ratios = analysis.loss_ratios(part, value, window=1)
            logs.append(ratios[ratios.variant.isin(analysis.BASELINES)].assign(total=part["round"].max()))
        logs = pd.concat(logs)
        logs = logs.assign(log=logs.ratio.map(math.log), late=logs["round"] > EARLY * logs.total)
        means = logs.groupby(["late", "seed"]).log.mean()
        late[value], early[value] = means[True], means[False]
    parts = []
    for value, name in (("client_loss_mean", "mean"), ("client_loss_variance", "variance")):
        after, before = (decide.paired(x[value], 0 * x[value]) for x in (late, early))
        parts.append(decide.by_sign(after, f"log ratio of the {name} later {words(after, '')}"))
        parts.append(decide.by_sign(_negative(before), f"at first {words(before, '')}"))
    return weakest(parts)


def _negative(interval: "Interval") -> "Interval":
    return type(interval)(-interval.mean, -interval.high, -interval.low, interval.n)


def main_group_counts_less(rows: "pd.DataFrame") -> Verdict:
    """C10: mean factor of the small groups' clients less that of the main group's, later rounds."""
    named, parts = analysis.named(rows), {}
    complete = list(analysis.cells(named, needs=("feddrl", "untrained")))
    if not complete:
        return _unfinished()
    for variant in ("feddrl", "untrained"):
        pairs = []
        for _, part in complete:
            factors = analysis.group_factors(part[part.variant == variant])
            later = factors[factors["round"] > EARLY * factors["round"].max()].groupby("seed")
            pairs.append((100 * later.others.mean(), 100 * later.main.mean()))
        parts[variant] = decide.pooled(pairs)
    shown = [f"{name} {words(interval, '% of the weight')}" for name, interval in parts.items()]
    return decide.by_sign(parts["feddrl"], "factor of small groups - of the main group: " + "; ".join(shown))


def speed_not_accuracy(rows: "pd.DataFrame") -> Verdict:
    """C11: FedDRL's best accuracy at the largest K less that at the smallest; its lead at every K."""
    named = analysis.named(rows)
    if not _testable(named):
        return _too_few(named)
    complete = analysis.cells(named, ("cohort_size",), needs=analysis.THREE)
    of_size = {int(size): part for (size,), part in complete}
    sizes = sorted(of_size)
    if len(sizes) < 2:
        return _unfinished()
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
    return weakest([same, in_every_cell(leads, "FedDRL - best baseline", "points")])


def _by_delta(rows: "pd.DataFrame") -> "pd.DataFrame":
    import json

    return analysis.named(rows).assign(
        delta=lambda r: r.partition_options.map(lambda t: json.loads(t)["delta"])
    )


def falls_with_delta(rows: "pd.DataFrame") -> Verdict:
    """C12: accuracy at the smallest delta less that at the largest, of each method under CE and CN."""
    named, found = _by_delta(rows), {}
    if not _testable(named):
        return _too_few(named)
    whole = [part for _, part in analysis.cells(named, ("partition", "delta"), needs=analysis.THREE)]
    if len(whole) < 4:  # two ends of delta, CE and CN
        return _unfinished()
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


def no_slower(rows: "pd.DataFrame") -> Verdict:
    """C15: rounds of the faster baseline less FedDRL's, to what all three reach; with stage 1 counted too."""
    import pandas as pd

    if not _testable(rows):
        return _too_few(rows)
    saved, with_stage_1 = {}, {}
    for cell, part in analysis.cells(analysis.named(rows), needs=analysis.THREE):
        target = analysis.target_accuracy(part)
        of = {name: analysis.rounds_to(part, name, target) for name in analysis.THREE}
        fastest = pd.concat([of[name] for name in analysis.BASELINES], axis=1).min(axis=1)
        feddrl = part[part.variant == "feddrl"].iloc[0]
        before = json.loads(feddrl.method_options).get("worker_rounds", feddrl.rounds)
        saved[analysis.cell_name(cell)] = decide.paired(fastest, of["feddrl"])
        with_stage_1[analysis.cell_name(cell)] = decide.paired(fastest, of["feddrl"] + before)
    counted = sum(interval.mean >= 0 for interval in with_stage_1.values())
    what = "rounds of the faster baseline - FedDRL's"
    verdict = in_every_cell(saved, what, "rounds", TABLE_3)
    extra = f"; with the worker rounds of stage 1 counted FedDRL is no slower in {counted} (A24)"
    return Verdict(verdict.verdict, verdict.evidence + extra)


def agent_is_cheap(rows: "pd.DataFrame") -> Verdict:
    """C16: decision time of the agent, and averaging times of VGG-11 and the CNN, on this machine."""
    agent = rows[rows.what == "decision"].set_index(["model", "cohort_size"])
    ten = agent.xs(10, level="cohort_size").median_ms
    averaging = rows[(rows.what == "averaging") & (rows.cohort_size == 10)].set_index("model").median_ms
    slowest, spread = agent.median_ms.max(), ten.max() / ten.min()
    ratio = averaging["vgg11"] / averaging["cnn-feddrl"]
    where = rows.device_name.iloc[0] if "device_name" in rows else "this machine"
    evidence = (
        f"decision at most {slowest:.2f} ms (K up to {rows.cohort_size.max()}), {spread:.2f} times from the "
        f"fastest to the slowest model; averaging VGG-11 / CNN {ratio:.1f}; {where}"
    )
    flags = [slowest < 5, spread < 2, ratio > 5]
    return decide.by_count(flags, evidence)


def two_stages_help(rows: "pd.DataFrame") -> Verdict:
    """C17: best accuracy of the two-stage mode less that of the online mode; rewards as evidence."""
    named = analysis.named(rows)
    if not {"feddrl", "feddrl_online"} <= set(named.variant):
        return _unfinished()
    accuracy = decide.paired(analysis.best(named, "feddrl"), analysis.best(named, "feddrl_online"))
    reward = decide.paired(analysis.rewards(named, "feddrl"), analysis.rewards(named, "feddrl_online"))
    return decide.by_sign(accuracy, f"two_stage - online: {words(accuracy)}; reward {words(reward, 'nats')}")


CLAIMS = (
    Claim(
        "FEDDRL-C1",
        "FedDRL's best accuracy is at least that of FedAvg and FedProx in all 18 cells",
        "feddrl/table3",
        leads_in(TABLE_3),
    ),
    Claim(
        "FEDDRL-C2",
        "CIFAR-100, N = 10: mean gain 2.17 % over the best and 4.05 % over the worst baseline",
        "feddrl/table3",
        _needs_real_data(_gains_as_printed(10)),
    ),
    Claim(
        "FEDDRL-C3",
        "CIFAR-100, N = 100: mean gain 0.7 % over the best and 6.67 % over the worst baseline",
        "feddrl/table3",
        _needs_real_data(_gains_as_printed(100)),
    ),
    Claim(
        "FEDDRL-C4",
        "the largest gain is 10.03 % (CIFAR-100, CE, N = 100)",
        "feddrl/table3",
        _needs_real_data(largest_gain),
    ),
    Claim("FEDDRL-C5", "the gain is larger for N = 100 than for N = 10", "feddrl/table3", grows_with_clients),
    Claim(
        "FEDDRL-C6",
        "on MNIST and Fashion-MNIST the three methods are within about 1 %",
        "feddrl/table3",
        within_one_percent,
    ),
    Claim(
        "FEDDRL-C7",
        "cluster skew lowers FedAvg and FedProx clearly below PA and SingleSet",
        "feddrl/table3",
        cluster_skew_costs,
    ),
    Claim("FEDDRL-C8", "SingleSet is an upper bound in every cell", "feddrl/upper_bound", single_set_bounds),
    Claim(
        "FEDDRL-C9",
        "mean and variance of the clients' losses are lower with FedDRL after an initial phase, higher in it",
        "feddrl/fig6",
        losses_fall_below,
    ),
    Claim(
        "FEDDRL-C10",
        "clients of the main group receive smaller impact factors than those of small groups",
        "feddrl/impact_factors",
        main_group_counts_less,
    ),
    Claim(
        "FEDDRL-C11",
        "K from 10 to 50 changes the speed, not the accuracy reached, and FedDRL stays ahead",
        "feddrl/fig7",
        speed_not_accuracy,
    ),
    Claim(
        "FEDDRL-C12",
        "the accuracy of all methods falls as delta rises from 0.2 to 0.6",
        "feddrl/fig8",
        falls_with_delta,
    ),
    Claim("FEDDRL-C13", "at delta = 0.6 FedDRL leads by 2 to 3 %", "feddrl/fig8", leads_at_full_delta),
    Claim("FEDDRL-C14", "FedDRL is best in the four cells of table 4", "feddrl/table4", leads_in(TABLE_4)),
    Claim(
        "FEDDRL-C15",
        "FedDRL needs no more rounds to the target than the faster baseline, in every cell",
        "feddrl/fig10",
        no_slower,
    ),
    Claim(
        "FEDDRL-C16",
        "the agent takes a few ms whatever the model; averaging grows with the model, VGG-11 about 15 x CNN",
        "feddrl/fig9",
        agent_is_cheap,
    ),
    Claim("FEDDRL-C17", "two-stage training helps", "feddrl/small_setting", two_stages_help),
)
