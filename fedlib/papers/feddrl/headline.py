"""Findings about FedDRL in sentences, for the notebook's head and end, and the report."""

import json
from collections.abc import Iterable

import pandas as pd

from fedlib.analysis.claims import samples_of, verdict_on
from fedlib.analysis.decisions import above_zero
from fedlib.analysis.intervals import Interval, barely_decided, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.cell_leads import AT_LENGTH, MOST_CLIENTS, CellLead, cell_leads, lead_of
from fedlib.papers.feddrl.claim_parts import LATE_LEAD
from fedlib.papers.feddrl.claims import CLAIMS
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.learning import updates
from fedlib.papers.feddrl.learning_answers import repaired, reward_gain, what_the_level_does
from fedlib.papers.feddrl.length_answers import SMALL_SETS, of_length
from fedlib.papers.feddrl.length_runs import WITH_TEN
from fedlib.papers.feddrl.numbers import OVER_UNIFORM, OVER_UNTRAINED
from fedlib.papers.feddrl.runs import COHORT
from fedlib.papers.feddrl.short_run_answers import on_cifar, short_runs
from fedlib.papers.feddrl.tables import LAST_ROUNDS
from fedlib.words import counted

LEARNS = "**Does its agent learn?** Rewards are minus a loss, in nats."
REPAIRED = "section 3 repairs it by changing seven of its settings"
FIRST = "FEDDRL-C1"


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three findings: FedDRL against FedAvg and controls, at the paper's length, and repaired.

    The numbers of the first are in `leads_at_length`.
    """
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    judged = rows_of("feddrl/repair_judged")
    at_length = [" ".join(in_brief_at_length(rows_of))] if cell_leads(rows_of) else []
    small = ""
    if len(judged):
        printed, again = (_updates(quantities.named(judged), name) for name in ("feddrl", "repaired"))
        small = f"In the small setting{printed} {REPAIRED}{again}."
    learns = [" ".join(repaired(judged, [LEARNS, *_with_ten(rows_of), small]))] if small else []
    return [*at_length, " ".join([*short_runs(rows), *on_cifar(rows_of)]), *learns]


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answers: does the agent learn and does a repair, why not, does it matter at length, does it lead.

    Fewer where rows are missing.
    """
    leads = cell_leads(rows_of)
    return [*_who_learns(rows_of), *_what_training_changes(leads), *(_in_the_mean(rows_of) if leads else [])]


def in_brief_at_length(rows_of: RowsOf) -> list[str]:
    """Whether FedDRL leads in the mean over cells, in how many late ones, and what is left of these leads."""
    if not (leads := cell_leads(rows_of)):
        return []
    late = [one.late for one in leads]
    held = [one.cell for one, holds in zip(leads, above_zero(late), strict=True) if holds]
    which = f": {listed(held)}" * bool(held)
    return [
        *_in_the_mean(rows_of),
        f"Against FedAvg that mean is {_cells_ahead(late)} (first table); corrected (Holm), "
        f"{len(held) or 'none'} of these leads {'holds' if len(held) == 1 else 'hold'}{which}.",
        *_training_words(leads),
        *_left(leads),
    ]


def _in_the_mean(rows_of: RowsOf) -> list[str]:
    """Claim FEDDRL-C1 at the paper's length: question, answer, and the effect over its cells."""
    rows = of_length(rows_of(SMALL_SETS))
    found = verdict_on(next(one for one in CLAIMS if one.id == FIRST), rows) if len(rows) else None
    if found is None or not found.effects:
        return []
    (lead,) = found.effects
    answer = by_sign(lead.interval, above="it does", below="it trails", undecided="that does not show")
    late = mean_interval(samples_of(LATE_LEAD, rows).mean(axis=1).to_numpy())
    later = by_sign(late, above="it leads", below="it trails", undecided="no lead shows")
    beside = [number.value(rows_of) for number in (OVER_UNIFORM, OVER_UNTRAINED)]
    controls = ""
    if all(beside):
        uniform, untrained = map(effect_words, beside)
        controls = f" Less uniform weights that mean is {uniform}, less its untrained policy {untrained}."
    return [
        f"**Does FedDRL beat the baselines?** In the best round {answer}. Over "
        f"{counted(len(lead.cells), 'cell')} ({ROUNDS} rounds, {MOST_CLIENTS} clients) it is in the mean "
        f"{effect_words(lead.interval, 'points')} from the better baseline's (C1: {found.verdict}). In the "
        f"mean of the last {LAST_ROUNDS} rounds {later}: {effect_words(late)}.{controls}"
    ]


def briefly_at_length(rows_of: RowsOf) -> list[str]:
    """Say in a sentence in how many cells FedDRL is ahead of FedAvg; `in_brief_at_length` has the rest."""
    leads = cell_leads(rows_of)
    if not leads:
        return []
    found = [[getattr(one, name) for one in leads] for name in ("best", "late")]
    best, late = (_out_of(own) for own in found)
    held = " and ".join(str(sum(above_zero(own)) or "none") for own in found)
    return [
        f"FedDRL is ahead of FedAvg in {best} in the best round, in {late} in the last {LAST_ROUNDS} rounds.",
        f"Corrected for their number (Holm) {held} hold; the table at the top has the controls.",
        *_training_words(leads),
    ]


def cells_at_length(rows_of: RowsOf) -> dict[str, str]:
    """Artifacts of the paper's length, each with a line that names the cell and FedDRL's leads there."""
    leads = {f"feddrl/{name}": lead_of(rows_of, name) for name in AT_LENGTH}
    return {name: _line(lead) if lead else f"{name}: no runs of this length" for name, lead in leads.items()}


def _line(lead: CellLead) -> str:
    return (
        f"{lead.cell}: FedDRL less FedAvg {effect_words(lead.best)} points in the best round, "
        f"{effect_words(lead.late)} in the last {LAST_ROUNDS}"
    )


def _cells_ahead(found: list[Interval], above: str = "ahead", below: str = "behind") -> str:
    """`ahead in 4 of 10 cells (1 barely) and behind in 1`, by the sides of 0 of their intervals."""
    sides = ([one for one in found if one.low > 0], [one for one in found if one.high < 0])
    ahead, behind = (f"{len(own) or 'none'}" for own in sides)
    near, next_to = (sum(map(barely_decided, own)) for own in sides)
    barely = f" ({near} barely)" * bool(near)
    rest = f" and {below} in {behind}{f' ({next_to} barely)' * bool(next_to)}" * bool(sides[1])
    return f"{above} in {ahead} of {counted(len(found), 'cell')}{barely}{rest}"


def _left(leads: list[CellLead]) -> list[str]:
    """Late leads over uniform weights under PA, and those that are left in drawn order, in sentences."""
    over = [one.uniform for one in leads if one.uniform and one.scheme == "PA"]
    largest = ", where the largest lead is," * (max(leads, key=lambda one: one.late.mean).scheme == "PA")
    told = [f"Under PA{largest} FedDRL is ahead of uniform weights in {_out_of(over)}."] * bool(over)
    return [*told, *_left_in_drawn_order([one for one in leads if one.drawn and one.late.low > 0])]


def _left_in_drawn_order(leads: list[CellLead]) -> list[str]:
    """Count which of these late leads show in drawn order, over FedAvg and over uniform weights."""
    if not leads:
        return []
    over_fedavg = sum(one.drawn.low > 0 for one in leads if one.drawn)
    over_uniform = sum(one.drawn_uniform.low > 0 for one in leads if one.drawn_uniform)
    return [
        f"With clients listed in an order drawn anew in every round {over_fedavg or 'none'} of the "
        f"{counted(len(leads), 'such lead')} that {'was' if len(leads) == 1 else 'were'} run still "
        f"show{'s' * (over_fedavg < 2)}.",
        *[f"Over uniform weights {over_uniform or 'none'} of them does."] * (over_uniform < over_fedavg),
        *[_with_a_fixed_list(one) for one in leads if one.clients == COHORT and one.drawn_best],
    ]


def _with_a_fixed_list(lead: CellLead) -> str:
    """The rest of a lead in drawn order where all clients take part, best round and last rounds."""
    best, late = (
        by_sign(one, above="stays", below="becomes a lag", undecided="does not show")
        for one in (lead.drawn_best, lead.drawn)
    )
    return (
        f"With {lead.clients} clients, all of whom take part, a fixed list is the authors' own (A5); drawn "
        f"anew, the lead in the best round {best}, {effect_words(lead.drawn_best)}, that in the last rounds "
        f"{late}."
    )


def _training_words(leads: list[CellLead]) -> list[str]:
    """In how many cells of the paper's length training raises the mean of the last rounds; none without."""
    if not (trained := [one.trained for one in leads if one.trained]):
        return []
    return [f"Training {_cells_ahead(trained, 'raises the mean of the last rounds', 'lowers it')}."]


def _what_training_changes(leads: list[CellLead]) -> list[str]:
    """Answer whether training matters, with Holm's correction; none without rows."""
    if not (told := _training_words(leads)):
        return []
    held = _holding([one.trained for one in leads if one.trained])
    return [
        f"**Does it matter at the paper's length?** {told[0]} Corrected (Holm), {held}. The list at the top "
        "has FedDRL's leads."
    ]


def _holding(found: list[Interval]) -> str:
    """`2 of the gains and none of the losses hold`: with Holm's correction, of those there are."""
    sides = {
        "gains": (sum(one.low > 0 for one in found), sum(above_zero(found))),
        "losses": (sum(one.high < 0 for one in found), sum(above_zero(list(map(_negated, found))))),
    }
    told = [f"{held or 'none'} of the {name}" for name, (count, held) in sides.items() if count]
    return f"{' and '.join(told)} hold" if told else "none shows"


def _negated(found: Interval) -> Interval:
    return Interval(-found.mean, -found.high, -found.low, found.n)


def _out_of(found: list[Interval]) -> str:
    """`none of 4 cells` whose intervals lie above 0."""
    return f"{sum(one.low > 0 for one in found) or 'none'} of {counted(len(found), 'cell')}"


def leads_at_length(rows_of: RowsOf) -> pd.DataFrame:
    """FedDRL's accuracy less FedAvg's and less controls' in each cell of the paper's length, in points.

    Seeds stand in a header where all cells have as many, else in a column.
    """
    if not (leads := cell_leads(rows_of)):
        return pd.DataFrame()
    seeds = [counted(one.best.n, "seed") for one in leads]
    alike = len(set(seeds)) == 1
    less, late = f"FedDRL less FedAvg{f' ({seeds[0]})' * alike}", f"last {LAST_ROUNDS} rounds: FedDRL less"
    found = pd.DataFrame(
        {
            "cell": one.cell, "seeds": count, f"{less}: printed": one.printed,
            f"{less}: best round": effect_words(one.best),
            f"{less}: last {LAST_ROUNDS}": effect_words(one.late),
            f"{late} uniform weights": "as FedAvg" if one.equal else _control(one, one.uniform),
            f"{late} its untrained policy": _control(one, one.trained),
            "in drawn order less FedAvg: best round": _control(one, one.drawn_best),
            f"in drawn order less FedAvg: last {LAST_ROUNDS}": _control(one, one.drawn),
        }
        for one, count in zip(leads, seeds, strict=True)
    )  # fmt: skip
    return found.drop(columns="seeds") if alike else found


def _control(lead: CellLead, found: Interval | None) -> str:
    """The effect, with ` (3 seeds)` if it has fewer than FedDRL; `–` of a control that was not run."""
    if found is None:
        return "–"
    return effect_words(found) + f" ({counted(found.n, 'seed')})" * (found.n < lead.best.n)


def _who_learns(rows_of: RowsOf) -> list[str]:
    """The printed and the repaired agent's mean reward less uniform weights', and why the first is low."""
    named = quantities.named(rows_of("feddrl/repair_judged"))
    if named.empty or not {"feddrl", "repaired", "uniform"} <= set(named.variant.unique()):
        return []
    parts = {quantities.PAPER_DATA[str(name)]: part for name, part in named.groupby("dataset")}
    printed, again = (
        {name: reward_gain(part, own, "uniform") for name, part in parts.items()}
        for own in ("feddrl", "repaired")
    )
    told, repair = (
        listed([f"{effect_words(gain)} ({name})" for name, gain in found.items()])
        for found in (printed, again)
    )
    learns = (
        f"**Does the agent learn?** {_in_short(rows_of, printed.values(), again.values())} In the small "
        "setting, on images drawn from all of each data set (`repair_judged`), it is set against that of "
        "uniform weights. As printed"
        f"{_updates(named)} it is {told} nats from it, with seven settings changed"
        f"{_updates(named, 'repaired')} {repair}."
    )
    learns = " ".join([learns, *_with_ten(rows_of, "untrained")])
    if all(gain.low > 0 for gain in printed.values()):
        return [learns]
    found = ["That is open.", *what_the_level_does(rows_of("feddrl/ddpg_bandit")), *_without_level(rows_of)]
    return [learns, f"**Why not in the small setting?** {' '.join(found)}"]


def _in_short(rows_of: RowsOf, printed: Iterable[Interval], again: Iterable[Interval]) -> str:
    """Say where the mean reward is above that of uniform weights, and where it is not.

    printed, again: gains in the small setting, of the agent as printed and repaired, by data set.
    """
    small = "in the small setting"
    found = {f"{small} once repaired": list(again), f"{small} as printed": list(printed)}
    named = quantities.named(rows_of(WITH_TEN))
    with_ten = {"feddrl": "with ten clients in a fixed order", "drawn": "with ten in drawn order"}
    for name, words in with_ten.items():
        if not named.empty and {name, "fedavg"} <= set(named.variant.unique()):
            found[words] = [reward_gain(named, name, "fedavg")]
    above = [words for words, gains in found.items() if all(gain.low > 0 for gain in gains)]
    rest = [words for words in found if words not in above]
    told = [f"above that of uniform weights {listed(above)}"] * bool(above)
    told += [f"{'not' if above else 'not above that of uniform weights'} {listed(rest)}"] * bool(rest)
    return f"Its mean reward is {'; '.join(told)}."


def _updates(named: pd.DataFrame, variant: str = "feddrl") -> str:
    """` (1,776 updates)` of an agent in a run; empty without a run of it."""
    own = named[named.variant == variant]
    if own.empty:
        return ""
    method = FedDRL(**json.loads(own.method_options.iloc[0]))
    return f" ({updates(method, int(own['rounds'].iloc[0])):,} updates)"


def _with_ten(rows_of: RowsOf, *controls: str) -> list[str]:
    """Sentence on the printed agent's reward with ten clients at the paper's length; none without rows.

    controls: `untrained`, if its untrained policy is to stand beside uniform weights.
    """
    named = quantities.named(rows_of(WITH_TEN))
    variants = set() if named.empty else set(named.variant.unique())
    if not {"feddrl", "fedavg", *controls} <= variants:
        return []
    gain = effect_words(reward_gain(named, "feddrl", "fedavg"))
    trained = [effect_words(reward_gain(named, "feddrl", name)) for name in controls]
    beside = "".join(f" and {words} from that of its untrained policy" for words in trained)
    order = ""
    if "drawn" in variants:
        drawn = effect_words(reward_gain(named, "drawn", "fedavg"))
        order = f" With clients listed in drawn order it is {drawn} from that of uniform weights."
    return [
        f"As we read the paper, with ten clients at its length{_updates(named)}, its mean reward is {gain} "
        f"nats from that of uniform weights (FedAvg's there){beside}.{order}"
    ]


def _without_level(rows_of: RowsOf) -> list[str]:
    """Whether the search has the level as the cause: gains of what takes it away, and of all but that."""
    named = quantities.named(rows_of("feddrl/repair_search"))
    tried = {
        "a centred reward alone": "centring", "a state of losses alone": "losses",
        "the search's changes but the centring": "all_but_centring",
    }  # fmt: skip
    if named.empty or not {"uniform", *tried.values()} <= set(named.variant.unique()):
        return []
    gains = {words: reward_gain(named, name, "uniform") for words, name in tried.items()}
    *alone, rest = gains.values()
    shows = any(gain.low > 0 for gain in alone) and rest.low <= 0
    told = listed([f"{words} {effect_words(gain, 'nats')}" for words, gain in gains.items()])
    return [
        f"In the federation {'it shows' if shows else 'it does not show'} as the cause: less uniform "
        f"weights, {told} (section 3)."
    ]
