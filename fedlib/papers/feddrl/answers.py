"""Answers of 01_feddrl's sections 5, 6, 8 and 9 in sentences computed from rows.

Each function takes `session.rows_of` or the like. It returns a few sentences, none without rows.
"""

import math
from collections.abc import Callable, Mapping

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, by_side, by_sign, mean_interval, mean_words, number_words
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl import estimands, quantities
from fedlib.papers.feddrl.errata import accuracies, from_text
from fedlib.papers.feddrl.quantities import THREE
from fedlib.words import counted

Measure = Callable[[pd.DataFrame], pd.Series]  # rows of a cell to a number for each seed
UNTRAINED = ("feddrl", "untrained")  # the agent and its policy before training
BY_SHARE = "By the main group's share"
MOST_NAMES = 4  # of cells in a sentence; more are only counted


def do_small_groups_get_more(rows_of: RowsOf) -> list[str]:
    """Answer whether FedDRL gives the small groups larger factors, and whether training is the reason."""
    named = quantities.named(rows_of("feddrl/impact_factors"))
    found = _by_cell(named, ("feddrl",), estimands.factor_gap)
    if not found:
        return []
    told = [
        "FedDRL's factors for clients of small groups and of the main group are compared after a quarter of "
        "the rounds.",
        f"{_of_cells(named, ('feddrl',))} the small groups' are {_tally(found, 'larger', 'smaller')}.",
    ]
    needs = ("feddrl", "untrained")
    own, chance = (_pooled(named, needs, lambda p, v=v: estimands.factor_gap(p, v)) for v in needs)
    if own.empty:
        return told
    says = by_sign(
        contrasts.paired(own, chance),
        above="training adds to it", below="training takes from it",
        undecided="that training changes it does not show",
    )  # fmt: skip
    return [
        *told,
        f"The mean difference over the cells is {mean_words(own, '%')} of a uniform factor, the untrained "
        f"policy's {mean_words(chance, '%')}: {says}.",
    ]


def does_it_lower_the_losses(rows_of: RowsOf) -> list[str]:
    """Answer fig. 6: losses in early rounds, in later ones, and the paper's description of them."""
    rows = rows_of("feddrl/fig6")
    early, later, variance = (
        _intervals(_by_partition(rows, f"client_loss_{value}", initial)) if len(rows) else {}
        for value, initial in (("mean", True), ("mean", False), ("variance", False))
    )
    if not later:
        return []
    low, high = (from_text(f"crossover_round_{end}") for end in ("low", "high"))
    rounds, cells = int(rows["rounds"].max()), _of_cells(quantities.named(rows), THREE)
    told = [
        "FedDRL's loss over the clients is compared with the baselines' after a quarter of the rounds.",
        f"{cells} FedDRL's mean is {_tally(later, 'lower', 'higher')}.",
        f"Its variance is {_tally(variance, 'lower', 'higher')}.",
    ]
    if early:
        told.append(
            f"In the first {int(estimands.INITIAL * rounds)} of {rounds} rounds the mean is "
            f"{_tally(early, 'higher', 'lower')}."
        )
    return [
        *told,
        f"In the paper the mean is above the baselines' for {low:.0f} to {high:.0f} of {estimands.ROUNDS} "
        "rounds; then mean and variance are below.",
    ]


def _by_partition(rows: pd.DataFrame, value: str, initial: bool) -> pd.DataFrame:
    """`loss_ratio` of fig. 6's cells, which differ in the partition only: a column per partition."""
    return estimands.loss_ratio(value, initial=initial)(rows).rename(columns=lambda name: name.split("/")[1])


def is_it_faster(rows_of: RowsOf) -> list[str]:
    """Answer fig. 10: rounds to the accuracy that all reach, of FedDRL, of FedAvg and of uniform weights."""
    named = quantities.named(rows_of("feddrl/fig10"))
    found = _by_cell(named, THREE, lambda part: _rounds_over(part, "fedavg"))
    if not found:
        return []
    told = [
        "Rounds are counted to the accuracy that FedAvg, FedProx and FedDRL all reach.",
        f"{_of_cells(named, THREE)} FedDRL needs {_tally(found, 'fewer than FedAvg', 'more')}.",
    ]
    equal = _by_cell(named, (*THREE, "uniform"), lambda part: _rounds_over(part, "uniform"))
    missed = sum(1 for _ in quantities.cells(named, needs=(*THREE, "uniform"))) - len(equal)
    if equal:
        short = f" In {counted(missed, 'further cell')} uniform weights miss the accuracy in some seed."
        told.append(f"It needs {_tally(equal, 'fewer than uniform weights', 'more')}.{short * bool(missed)}")
    faster = [name for name, interval in found.items() if interval.low > 0 and name in equal]
    return [*told, _rounds_there(named, faster)] if 0 < len(faster) <= MOST_NAMES else told


def _rounds_over(part: pd.DataFrame, variant: str) -> pd.Series:
    """100 x log of a variant's rounds over FedDRL's to the common accuracy; empty if a seed misses it."""
    target = quantities.target_accuracy(part)
    ratio = quantities.rounds_to(part, variant, target) / quantities.rounds_to(part, "feddrl", target)
    return (100 * ratio.map(math.log)) if ratio.notna().all() else ratio.iloc[:0]


def _rounds_there(named: pd.DataFrame, names: list[str]) -> str:
    """Mean rounds of FedDRL, FedAvg and uniform weights in the cells of these names, in a sentence."""
    told = []
    for cell, part in quantities.cells(named, needs=(*THREE, "uniform")):
        if quantities.cell_name(cell) in names:
            target = quantities.target_accuracy(part)
            own, fedavg, equal = (
                f"{quantities.rounds_to(part, variant, target).mean():.1f}"
                for variant in ("feddrl", "fedavg", "uniform")
            )
            told.append(f"{own}, {fedavg} and {equal} in {quantities.cell_name(cell)}")
    return f"Mean rounds of FedDRL, FedAvg and uniform weights where it needs fewer: {'; '.join(told)}."


def does_the_lead_grow(rows_of: RowsOf) -> list[str]:
    """Answer figs. 7 and 8: FedDRL's lead at the ends, over participants and over the cluster's share."""
    told = []
    rows = rows_of("feddrl/fig7")
    if words := _ends(quantities.named(rows), "cohort_size", "K = {:g}"):
        rounds = int(rows["rounds"].max())
        told.append(
            f"In runs of {rounds} rounds FedDRL's lead over the better baseline {words}. The paper has it "
            "ahead at every K."
        )
    return [*told, *_by_share(quantities.named(rows_of("feddrl/fig8")))]


def _by_share(named: pd.DataFrame) -> list[str]:
    """FedDRL's lead at the least and the largest share of the main group, the paper's, and over its twin."""
    if not (words := lead_by_share(named)):
        return []
    low, high = (from_text(f"gain_at_delta_0.6_{end}") for end in ("low", "high"))
    printed = f"The paper gains {low:g} to {high:g} % at delta = {estimands.DELTA:g}."
    parts = quantities.cells(_with_share(named), (*quantities.CELL, "delta"), UNTRAINED)
    gains = pd.DataFrame({cell: estimands.less(*UNTRAINED)(part) for cell, part in parts})
    length = f"In runs of {int(named['rounds'].max())} rounds, by the main group's share,"
    return [
        f"{words.replace(BY_SHARE, length, 1)} {printed}",
        *_gain_words(gains.dropna().mean(axis=1), of=", mean over all shares,"),
    ]


def lead_by_share(named: pd.DataFrame) -> str:
    """FedDRL's lead at the least and the largest share of the main group, and its change; or nothing.

    named: `quantities.named` of runs that differ in delta, the share.
    """
    words = _ends(_with_share(named), "delta", "delta = {:g}")
    return f"{BY_SHARE} FedDRL's lead, mean over the partitions, {words}." if words else ""


def _with_share(named: pd.DataFrame) -> pd.DataFrame:
    if named.empty:
        return named
    return named.assign(delta=[quantities.partition_setting(t, "delta") for t in named.partition_options])


def _ends(named: pd.DataFrame, column: str, at: str) -> str:
    """Leads over the better baseline at a column's least and largest value, and their change."""
    parts = {} if named.empty else {end: part for (end,), part in quantities.cells(named, (column,), THREE)}
    if len(parts) < 2:
        return ""
    few, many = (_leads(parts[end(parts)]) for end in (min, max))
    both = few.columns.intersection(many.columns)
    change = (many[both] - few[both]).dropna().mean(axis=1)
    if change.empty:
        return ""
    says = by_sign(
        mean_interval(change.to_numpy()), above="it grows", below="it shrinks", undecided="undecided"
    )
    first, last = (
        f"{mean_words(lead.loc[change.index, both].mean(axis=1), 'points')} at {at.format(end(parts))}"
        for lead, end in ((few, min), (many, max))
    )
    data = ", ".join(dict.fromkeys(name.split("/")[0] for name in both))
    return f"is {first} and {last}, on {data}. The change is {mean_words(change, 'points')}: {says}"


def _leads(named: pd.DataFrame) -> pd.DataFrame:
    """FedDRL's lead over the better baseline (points): a row per seed, a column per cell."""
    return pd.DataFrame(
        {
            quantities.cell_name(cell): estimands.lead(part)
            for cell, part in quantities.cells(named, needs=THREE)
        }
    )


def does_it_lead_in_short_runs(rows_of: RowsOf) -> list[str]:
    """Answer table 3 over its cells of real images: FedDRL less the better baseline, and untrained."""
    rows = rows_of("feddrl/table3")
    real = real_rows(rows) if len(rows) else rows
    return _lead_over_cells(quantities.named(real if len(real) else rows))


def does_it_lead_on_shards(rows_of: RowsOf) -> list[str]:
    """Answer table 4: FedDRL less the better baseline, and less its untrained policy, over the cells."""
    return _lead_over_cells(quantities.named(rows_of("feddrl/table4")))


def does_it_lead_as_run(rows_of: RowsOf) -> list[str]:
    """Answer whether the cells as they were run have label skew, and whether FedDRL leads there."""
    mixes, told = rows_of("feddrl/label_mix"), []
    if len(mixes):
        apart = mixes.groupby("made_from").label_distance.mean()
        told = [
            f"As run, the label mixes' distance from uniform is {apart['as run']:.2f}, of a random deal "
            f"{apart['random deal']:.2f}, on CIFAR-10's own labels {apart['own labels']:.2f}.",
            "The label skew is gone, by construction: a random deal leaves as much."
            if round(apart["as run"] - apart["random deal"], 2) <= 0
            else f"So {100 * apart['as run'] / apart['own labels']:.0f} % of the skew is left.",
        ]
    return [*told, *_lead_over_cells(quantities.named(rows_of("feddrl/cifar10_as_run")))]


def does_it_lead_on_their_lists(rows_of: RowsOf) -> list[str]:
    """Answer whether FedDRL leads on the authors' index lists, and more so in a larger main group."""
    told = _lead_over_cells(quantities.named(rows_of("feddrl/authors_partitions")))
    return [*told, *_by_share(quantities.named(rows_of("feddrl/authors_deltas")))]


def do_weights_make_fedprox(rows_of: RowsOf) -> list[str]:
    """Answer whether the proximal term or uniform weights set FedProx off from FedAvg."""
    named = quantities.named(rows_of("feddrl/fedprox_weights"))
    needs = ("fedavg", "fedprox", "fedprox_uniform")
    term, weights = (
        _pooled(named, needs, estimands.less(own, other))
        for own, other in (("fedprox", "fedavg"), ("fedprox_uniform", "fedprox"))
    )
    if term.empty:
        return []
    printed = accuracies().loc["MNIST", "PA", 10]
    says = by_sign(
        mean_interval(weights.to_numpy()), above="Averaging uniformly raises FedProx's accuracy",
        below="Averaging uniformly lowers FedProx's accuracy",
        undecided="That averaging uniformly changes FedProx's accuracy does not show",
    )  # fmt: skip
    return [
        f"FedProx's best accuracy is {mean_words(term, 'points')} against FedAvg with the same weights. "
        f"Averaged uniformly it is {mean_words(weights, 'points')} against that. {says}. The paper has it "
        f"{_signed(printed.FedProx - printed.FedAvg)} points against FedAvg."
    ]


def _signed(value: float) -> str:
    return number_words(value, signed=True).replace("-", "−")


def _lead_over_cells(named: pd.DataFrame) -> list[str]:
    """FedDRL less the better baseline, tallied and pooled over cells, and less its untrained policy."""
    lead = _pooled(named, THREE, estimands.lead)
    if lead.empty:
        return []
    paper = {**estimands.printed_lead()(), **estimands.printed_lead("feddrl_table4")()}
    printed = [paper[estimands.paper_name(cell)] for cell, _ in quantities.cells(named, needs=THREE)]
    tally = _tally(_by_cell(named, THREE, estimands.lead), "ahead of the better baseline", "behind")
    generated = "stand_in" in named and bool(named.stand_in.fillna(False).astype(bool).all())
    told = [
        f"{_of_cells(named, THREE)} FedDRL is {tally}.",
        f"Its mean lead in best accuracy is {mean_words(lead, 'points')} (printed: "
        f"{_signed(sum(printed) / len(printed))}){', which decides nothing' * generated}.",
        *_over_uniform_words(named),
    ]
    return [*told, *_gain_words(_pooled(named, UNTRAINED, estimands.less(*UNTRAINED)), generated=generated)]


def _over_uniform_words(named: pd.DataFrame) -> list[str]:
    """FedDRL's best accuracy less uniform weights' over the cells that have both, in a sentence or none."""
    needs = ("feddrl", "uniform")
    if (over := _pooled(named, needs, estimands.less(*needs))).empty:
        return []
    says = by_sign(
        mean_interval(over.to_numpy()), above="it is ahead of them", below="it is behind them",
        undecided="a lead over them does not show",
    )  # fmt: skip
    return [f"Less uniform weights it is {mean_words(over, 'points')}: {says}."]


def _gain_words(gain: pd.Series, of: str = "", *, generated: bool = False) -> list[str]:
    """FedDRL's best accuracy less its untrained policy's, by seed, in a sentence; none without a seed.

    generated: whether all images are, which decides nothing.
    """
    if gain.empty:
        return []
    if generated:
        own = f"FedDRL less its own policy before training{of} is {mean_words(gain, 'points')}"
        return [f"On generated images {own}, which decides nothing."]
    says = by_sign(
        mean_interval(gain.to_numpy()), above="training helps", below="training lowers it",
        undecided="that training changes it does not show",
    )  # fmt: skip
    return [f"FedDRL less its own policy before training{of} is {mean_words(gain, 'points')}: {says}."]


def _by_cell(named: pd.DataFrame, needs: tuple[str, ...], measure: Measure) -> dict[str, Interval]:
    """Intervals of a measure over seeds, by cell; cells without all of `needs`, or a number, are left out."""
    parts = quantities.cells(named, needs=needs) if len(named) else ()
    return _intervals({quantities.cell_name(cell): measure(part) for cell, part in parts})


def _intervals(values: Mapping[str, pd.Series]) -> dict[str, Interval]:
    """Intervals of series by seed, or of a table's columns; those without a number are left out."""
    known = {str(name): own.dropna() for name, own in values.items()}
    return {name: mean_interval(own.to_numpy()) for name, own in known.items() if len(own)}


def _pooled(named: pd.DataFrame, needs: tuple[str, ...], measure: Measure) -> pd.Series:
    """Mean of a measure over the cells with all of `needs`, by seed; of the seeds that all of them have."""
    if named.empty:
        return pd.Series(dtype=float)
    return estimands.by_cell(measure, needs=needs)(named).dropna().mean(axis=1)


def _tally(found: Mapping[str, Interval], above: str, below: str) -> str:
    """`faster in 2, slower in 0, undecided in 16. Faster: A, B`: cells by their interval's side of 0."""
    sides = by_side(found, above=above, below=below)
    most = min(MOST_NAMES, len(found) - 1)
    few = [side for side in (above, below) if 0 < len(sides[side]) <= most]
    counts = ", ".join(f"{side} in {len(names)}" for side, names in sides.items())
    return ". ".join([counts, *(f"{side[0].upper()}{side[1:]}: {', '.join(sides[side])}" for side in few)])


def _of_cells(named: pd.DataFrame, needs: tuple[str, ...]) -> str:
    """`Of 18 cells (6 with the generated stand-in)`: number of cells with all of `needs`."""
    parts = [part for _, part in quantities.cells(named, needs=needs)]
    generated = sum("stand_in" in part and bool(part.stand_in.any()) for part in parts)
    which = generated if generated < len(parts) else "all"
    return f"Of {counted(len(parts), 'cell')}{f' ({which} with the generated stand-in)' if generated else ''}"
