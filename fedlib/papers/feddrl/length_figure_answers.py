"""Answers of 01_feddrl's sections 5 and 6 about the paper's length, in sentences computed from rows.

Each function takes `session.rows_of` or the like. Without rows of that length it returns no sentence.
"""

import pandas as pd

from fedlib.analysis.claims import samples_of
from fedlib.analysis.intervals import by_sign, mean_interval, mean_words, ratio_words
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl import estimands, quantities, tables
from fedlib.papers.feddrl.answers import lead_by_share
from fedlib.papers.feddrl.claim_parts import FACTORS
from fedlib.papers.feddrl.errata import from_text
from fedlib.papers.feddrl.estimands import DELTA, ROUNDS, by_cell
from fedlib.papers.feddrl.length_answers import SMALL_SETS, of_length
from fedlib.papers.feddrl.length_runs import WITH_TEN
from fedlib.papers.feddrl.runs import CLUSTERED
from fedlib.words import counted

AT_LENGTH, ENDS = (f"feddrl/{name}" for name in ("cluster_skew_at_length", "delta_ends"))
LARGER = {"above": "it is larger", "below": "it is smaller", "undecided": "no clear difference"}
LOWER = {"above": "lower", "below": "higher", "undecided": "neither clearly lower nor higher"}


def do_small_groups_get_more_at_length(rows_of: RowsOf) -> list[str]:
    """Answer sec. 4.2.2 at the paper's length: over all cells, by data set, and among clients in a slot."""
    told: list[str] = []
    both = of_length(rows_of(SMALL_SETS))
    if len(both) and len(gaps := samples_of(FACTORS, both)):
        mean = mean_interval(gaps.mean(axis=1).to_numpy())
        told.append(
            f"Over {counted(gaps.shape[1], 'cell')} of {ROUNDS} rounds, which decide C10, a small group's "
            f"factor less the main group's is {mean_words(gaps.mean(axis=1))} % of a uniform one after the "
            f"first quarter: {by_sign(mean, **LARGER)}."
        )
    for data, artifact in (("Fashion-MNIST", AT_LENGTH), ("MNIST", SMALL_SETS)):
        told += _groups_on(data, of_length(rows_of(artifact)))
    return told


def _groups_on(data: str, rows: pd.DataFrame) -> list[str]:
    """The gap under CE and CN on a data set; then among clients in the same slot, and of no training."""
    if rows.empty or (gaps := _factor_gap(rows, "feddrl", estimands.factor_gap, data)).empty:
        return []
    gap = mean_interval(gaps.to_numpy())
    told = [f"Under CE and CN on {data} it is {mean_words(gaps)} %: {by_sign(gap, **LARGER)}."]
    in_slot = _factor_gap(rows, "feddrl", estimands.factor_gap_in_slot, data)
    beside = {
        "for the untrained policy": _factor_gap(rows, "untrained", estimands.factor_gap, data),
        "among clients in the same slot": in_slot,
    }
    words = [f"{mean_words(values)} % {where}" for where, values in beside.items() if len(values)]
    by_place = gap.low > 0 and len(in_slot) and in_slot.mean() < gap.mean / 2
    place = ": most of it goes with the place in the list" * bool(by_place)
    return [*told, *([f"It is {' and '.join(words)}{place}."] if words else [])]


def does_it_lower_the_losses_with_ten(rows_of: RowsOf) -> list[str]:
    """Answer fig. 6 on real images at the paper's length: FedAvg's losses over FedDRL's with ten clients."""
    rows = of_length(rows_of(WITH_TEN))
    if rows.empty:
        return []

    def over(value: str, *, initial: bool = False, own: str = "feddrl") -> pd.Series:
        measured = estimands.loss_ratio(
            f"client_loss_{value}", initial=initial, needs=("fedavg", own), data=("Fashion-MNIST",), own=own
        )
        return measured(rows).mean(axis=1).dropna()

    found = (over("mean"), over("variance"), over("mean", initial=True))
    if any(values.empty for values in found):
        return []
    mean, variance, first = (mean_interval(values.to_numpy()) for values in found)
    higher = by_sign(first, above="higher, as in the paper", below="lower, where the paper has it higher",
                     undecided="neither clearly lower nor higher")  # fmt: skip
    return [
        f"With ten clients at the paper's length (Fashion-MNIST, CE, {counted(mean.n, 'seed')}) FedDRL's "
        f"mean loss over the clients is {by_sign(mean, **LOWER)} than FedAvg's after a quarter of the "
        f"rounds, its variance {by_sign(variance, **LOWER)}.",
        f"FedAvg's are {ratio_words(mean)} and {ratio_words(variance)} times FedDRL's.",
        f"In the first quarter FedDRL's mean is {ratio_words(first)} times FedAvg's: {higher}.",
        *_losses_in_drawn_order(over("mean", own="drawn"), over("variance", own="drawn")),
    ]


def _losses_in_drawn_order(*ratios: pd.Series) -> list[str]:
    """Sentence on FedAvg's mean loss and variance over FedDRL's with clients in drawn order, or none."""
    if any(len(values) < 2 for values in ratios):
        return []
    mean, variance = (mean_interval(values.to_numpy()) for values in ratios)
    return [
        f"With clients in drawn order its mean is {by_sign(mean, **LOWER)} than FedAvg's after that quarter, "
        f"its variance {by_sign(variance, **LOWER)}: FedAvg's are {ratio_words(mean)} and "
        f"{ratio_words(variance)} times these."
    ]


def _factor_gap(rows: pd.DataFrame, variant: str, measure: estimands.Level, data: str) -> pd.Series:
    where = {"partition": CLUSTERED, "data": (data,)}
    return by_cell(lambda part: measure(part, variant), needs=(variant,), **where)(rows).dropna().mean(axis=1)


def is_it_faster_at_length(rows_of: RowsOf) -> list[str]:
    """Answer fig. 10 at the paper's length: rounds of the faster baseline over FedDRL's, mean over cells.

    Then with the rounds that FedDRL's workers play before round 1 (A24).
    """
    rows = of_length(rows_of(SMALL_SETS))
    leads = by_cell(estimands.speed_lead)(rows).dropna() if len(rows) else pd.DataFrame()
    if leads.empty:
        return []
    lead = mean_interval(leads.mean(axis=1).to_numpy())
    cells = counted(leads.shape[1], "cell")
    says = by_sign(
        lead, above="FedDRL is faster", below="FedDRL is slower",
        undecided="That either is faster does not show",
    )  # fmt: skip
    rounds = tables.rounds_table(rows)
    before = (rounds["with stage 1"] - rounds["FedDRL"]).max()
    behind = int((rounds[["FedAvg", "FedProx"]].min(axis=1) < rounds["with stage 1"]).sum())
    return [
        f"After {ROUNDS} rounds ({cells}, {lead.n} seeds) the faster baseline needs {ratio_words(lead)} "
        "times FedDRL's rounds to the common accuracy.",
        f"{says}.",
        f"With the {before:,.0f} rounds that its workers play before round 1 (A24) it needs more, by the "
        f"means, in {behind} of {counted(len(rounds), 'cell')}.",
    ]


def at_the_ends_of_fig8(rows_of: RowsOf) -> list[str]:
    """Answer fig. 8 at the paper's length: what a larger main group costs, FedDRL's lead and its gain."""
    ends, skewed = of_length(rows_of(ENDS)), of_length(rows_of(AT_LENGTH))
    falls = estimands.fall_with_delta(ends).dropna() if len(ends) else pd.DataFrame()
    told = []
    if len(falls):
        low = min(quantities.partition_setting(text, "delta") for text in ends.partition_options.unique())
        told.append(
            f"After {ROUNDS} rounds the best accuracy of the three methods at delta = {low:g} less that at "
            f"{DELTA:g} is {mean_words(falls.mean(axis=1))} points."
        )
        if words := lead_by_share(quantities.named(ends)):
            told.append(words)
    gains = by_cell(estimands.gain_over, partition=CLUSTERED)(skewed) if len(skewed) else pd.DataFrame()
    if len(gains):
        printed = [from_text(f"gain_at_delta_{DELTA:g}_{end}") for end in ("low", "high")]
        told.append(
            f"At {DELTA:g} FedDRL's gain over the better baseline is "
            f"{mean_words(gains.dropna().mean(axis=1))} % of its accuracy (printed: {printed[0]:g} to "
            f"{printed[1]:g})."
        )
    return told
