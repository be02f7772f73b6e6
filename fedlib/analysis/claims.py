"""A claim as data: what is estimated, what the paper prints, which difference matters, what must hold first.

A claim is registered before its rows are looked at. `verdict_on` decides it from rows with the rules of
`fedlib.analysis.decisions`; everything that a table, a figure or the report shows comes from the `Verdict`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

import pandas as pd

from fedlib.analysis import decisions
from fedlib.analysis.decisions import (
    ARITHMETIC,
    EVERYWHERE,
    INCONCLUSIVE,
    KINDS,
    NOT_TESTABLE,
    REFUTED,
    SUPERIORITY,
    SUPPORTED,
    VERDICTS,
)
from fedlib.analysis.intervals import (
    LOGARITHM,
    NO_INTERVAL,
    Interval,
    barely_decided,
    interval_words,
    mean_interval,
    number_words,
    ratio_words,
)
from fedlib.analysis.memo import kept_per_frame
from fedlib.analysis.samples import rows_that_count, samples_of
from fedlib.analysis.tables import dataset_words
from fedlib.data.titles import title_of
from fedlib.errors import check, check_name

# Smallest effect of interest where the paper prints none, by unit: half a point of accuracy, 5 % of a
# time or a cost
DEFAULT_MARGINS = {"points": 0.5, "% of accuracy": 0.5, "%": 5.0}
MOST_PARTS = 3

Printed = Callable[[], float | Mapping[str, float]]


@dataclass(frozen=True)
class Part:
    """An estimand of a claim and the rule that decides it.

    A claim of superiority says that the mean over the cells is above 0; orient the estimand so.
    """

    what: str  # the estimand in words: "FedDRL - best baseline"
    # rows -> one line per seed, one column per cell that the claim speaks of (a series: one cell)
    estimand: Callable[[pd.DataFrame], pd.DataFrame | pd.Series]
    _: KW_ONLY
    unit: str = "points"
    kind: str = SUPERIORITY
    # The paper's value of the estimand, from data/published: by cell, or of their mean
    printed: Printed | None = None
    margin: float | None = None  # smallest effect of interest; None: half the printed one, else the default
    cells: int | None = None  # how many cells the claim speaks of; None: those at hand
    over: str = "seeds"  # what the lines of the estimand are
    gates: "tuple[Gate, ...]" = ()  # beside the claim's own, for this part alone

    def __post_init__(self) -> None:
        check_name("kind of claim", self.kind, KINDS)
        known = self.margin is not None or self.unit in DEFAULT_MARGINS
        check(
            known or (self.printed is not None and self.kind == SUPERIORITY),
            f"{self.what}: no margin for the unit {self.unit!r}; allowed: {', '.join(DEFAULT_MARGINS)}, "
            "a margin, or a printed effect",
        )

    def printed_over(self, cells: "list[str]") -> float:
        """The printed effect, mean over these cells; NaN if the paper prints none for one of them."""
        if self.printed is None:
            return math.nan
        value = self.printed()
        if not isinstance(value, Mapping):
            return float(value)
        found = [value.get(cell, math.nan) for cell in cells or value]
        return math.fsum(found) / len(found) if found else math.nan

    def margin_over(self, cells: "list[str]") -> float:
        """The smallest effect of interest: as stated, half the printed effect, or the unit's default."""
        if self.margin is not None:
            return self.margin
        printed = self.printed_over(cells) if self.kind == SUPERIORITY else math.nan
        if printed > 0:
            return printed / 2
        check(self.unit in DEFAULT_MARGINS, f"{self.what}: no margin, and no printed effect above 0")
        return DEFAULT_MARGINS[self.unit]


@dataclass(frozen=True)
class Gate:
    """A condition that rows must fulfil before they decide a claim."""

    name: str
    check: Callable[[pd.DataFrame], tuple[bool, str]]  # rows -> passed, what was found


@dataclass(frozen=True)
class Supplement:
    """Words from the rows of a further artifact: shown beside the verdict, deciding nothing."""

    artifact: str
    tell: Callable[[pd.DataFrame], str]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and how rows decide it: by parts, or by recomputation (arithmetic)."""

    id: str  # e.g. FEDDRL-C1
    statement: str
    place: str  # where the paper says so: "sec. 4.2.1, table 3"
    artifact: str  # id of the artifact whose rows decide
    _: KW_ONLY
    fallback: tuple[str, ...] = ()  # ids of artifacts that decide where its rows cannot
    parts: tuple[Part, ...] = ()
    gates: tuple[Gate, ...] = ()
    recompute: Callable[[pd.DataFrame], tuple[bool, str]] | None = None  # holds, in numbers
    supplements: tuple[Supplement, ...] = ()
    how: str = ""  # sentences: how the estimands' numbers are taken from the rows, beyond their names

    def __post_init__(self) -> None:
        check(
            bool(self.parts) != (self.recompute is not None),
            f"{self.id}: a claim has parts, or is arithmetic",
        )
        check(
            len(self.parts) <= MOST_PARTS,
            f"{self.id}: {len(self.parts)} parts; at most {MOST_PARTS}, pool the rest",
        )

    @property
    def paper(self) -> str:
        return self.artifact.split("/")[0]

    @property
    def ours(self) -> bool:
        """Whether no paper makes this claim."""
        return self.place.startswith("ours") or self.place.endswith("our check")

    @property
    def kind(self) -> str:
        return ARITHMETIC if self.recompute else " and ".join(dict.fromkeys(p.kind for p in self.parts))


@dataclass(frozen=True)
class Effect:
    """Effect of one part of a claim, computed from rows."""

    what: str
    unit: str
    kind: str
    verdict: str
    interval: Interval  # of the mean over cells; of a claim about all cells, of the cell that decides
    printed: float  # NaN: the paper prints none
    margin: float
    cells: Mapping[str, Interval] = field(default_factory=dict)
    missing: int = 0  # cells of the claim without rows
    deciding: str = ""  # the cell that decides a claim about all cells
    over: str = "seeds"
    samples: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)  # by seed and cell

    @property
    def effect(self) -> str:
        """`+1.20 [+0.80, +1.60]`, without its unit; its bounds are not rounded to the margin."""
        return interval_words(self.interval, apart=(self.margin, -self.margin)) if self.interval.n else "-"

    @property
    def described(self) -> str:
        """The effect in words, without margin and verdict."""
        if not self.interval.n:
            return f"{self.what}: its cells have not been run"
        at = f" in {self.deciding}" if self.deciding else ""
        over = self.over.removesuffix("s") if self.interval.n == 1 else self.over
        same = self.interval.n > 1 and self.interval.low == self.interval.high  # no width, and no certainty
        shown = Interval(self.interval.mean, math.nan, math.nan, 1) if same else self.interval
        value = (f"{shown.mean:+g}" if shown.mean else "0") if same else self.effect
        ratio = LOGARITHM in self.what  # which the name says: no unit beside the number
        size = f"{value}, a ratio of {ratio_words(shown)}" if ratio else f"{value} {self.unit}"
        words = f"{self.what}{at}: {size}{' in each of' if same else ','} "
        words += f"{self.interval.n} {over}"
        if not math.isnan(self.printed):
            words += f", printed {number_words(self.printed, signed=True)}"
        return words + self._span()

    def __str__(self) -> str:
        margin = f", margin {self.margin:.3g}" if self.interval.n else ""
        return f"{self.described}{margin}: {self.verdict_words}"

    @property
    def verdict_words(self) -> str:
        """The verdict, with a note where a supported effect lies below the margin, or an end by a bound."""
        notes = ["below the margin"] * self.below_margin + ["barely"] * self.barely
        return f"{self.verdict} ({', '.join(notes)})" if notes else self.verdict

    @property
    def below_margin(self) -> bool:
        """Whether a plainly supported superiority lies below the margin: no size is printed to compare."""
        return self.verdict == SUPPORTED and self.kind == SUPERIORITY and self.interval.high < self.margin

    @property
    def barely(self) -> bool:
        """Whether an end of the interval that decides lies next to the bound which it is held against."""
        bounds = decisions.bounds_of(self.kind, self.verdict, self.margin)
        return any(barely_decided(self.interval, bound) for bound in bounds)

    def _span(self) -> str:
        """Spread of the cells' effects: described, not decided."""
        missing = f", {self.missing} more of the claim not in these rows" if self.missing else ""
        if len(self.cells) < 2:
            return missing
        low, high = (f(self.cells, key=lambda cell: self.cells[cell].mean) for f in (min, max))
        ends = (
            f"{number_words(self.cells[cell].mean, signed=True)} in "
            f"{title_of(str(cell).removesuffix(f': {self.what}'))}"
            for cell in (low, high)
        )
        return f" ({len(self.cells)} cells, {' to '.join(ends)}{missing})"


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim, with its effects and scale."""

    verdict: str  # one of VERDICTS
    evidence: str  # the numbers it rests on, a finding a line
    effects: tuple[Effect, ...] = ()
    profile: str = ""
    data: str = ""  # data sets of the rows that decide, with a word for stand-ins
    artifact: str = ""  # whose rows decide

    def __post_init__(self) -> None:
        check_name("verdict", self.verdict, VERDICTS)

    @property
    def deciding(self) -> Effect | None:
        """The part that the short table shows: the one that keeps the claim from more, else the first."""
        order = (REFUTED, INCONCLUSIVE, NOT_TESTABLE, decisions.SMALLER, SUPPORTED)
        return min(self.effects, key=lambda e: order.index(e.verdict)) if self.effects else None


def verdict_on(claim: Claim, rows: pd.DataFrame) -> Verdict:
    """Decide a claim from rows: gates first, then its parts, then the table that joins them.

    Rows on generated stand-ins decide nothing: without others the claim is *not testable here*, with
    their number beside it. Errors: UsageError where the rows lack what the claim compares.
    """
    if claim.recompute is not None:
        holds, evidence = claim.recompute(rows)
        return Verdict(SUPPORTED if holds else REFUTED, evidence, data=dataset_words(rows))
    real = real_rows(rows)
    effects = effects_of(claim.parts, real)
    if not effects:
        return _without_real_rows(claim, rows)
    failed, found = _gates(claim.gates, real)
    if failed:
        effects = tuple(_undecided(effect) for effect in effects)
    else:
        effects, held_back = _through_own_gates(claim.parts, effects, real)
        found = [*held_back, *found]
    evidence = "\n".join([*failed, *map(str, effects), *found])
    data = dataset_words(rows_that_count(claim.parts, real, [effect.samples for effect in effects]))
    return Verdict(str(decisions.combine([e.verdict for e in effects])), evidence, effects, data=data)


@kept_per_frame
def real_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are not of generated stand-ins; the frame itself where none are."""
    if "stand_in" not in rows:
        return rows
    made_up = rows["stand_in"].fillna(False).astype(bool)
    return rows[~made_up] if made_up.any() else rows


def _gates(gates: tuple[Gate, ...], rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Findings of the failed gates and of the others."""
    checked = [gate.check(rows) for gate in gates]
    failed = [words for passed, words in checked if not passed]
    return failed, [words for passed, words in checked if passed and words]


def _through_own_gates(
    parts: tuple[Part, ...], effects: tuple[Effect, ...], rows: pd.DataFrame
) -> tuple[tuple[Effect, ...], list[str]]:
    """The effects, undecided where a gate of their own part fails, and what failed."""
    failed = [_gates(part.gates, rows)[0] for part in parts]
    kept = tuple(_undecided(e) if own else e for e, own in zip(effects, failed, strict=True))
    return kept, [f"{part.what}: {words}" for part, own in zip(parts, failed, strict=True) for words in own]


def _undecided(effect: Effect) -> Effect:
    return replace(effect, verdict=NOT_TESTABLE)


def _without_real_rows(claim: Claim, rows: pd.DataFrame) -> Verdict:
    effects = tuple(_undecided(effect) for effect in effects_of(claim.parts, rows))
    if not effects:
        return Verdict(NOT_TESTABLE, "the cells that it needs have not been run")
    made_up = rows[rows.stand_in.fillna(False).astype(bool)]
    told = f"on the stand-in: {'; '.join(map(str, effects))}"
    return Verdict(NOT_TESTABLE, told, effects, data=dataset_words(made_up))


def effects_of(parts: tuple[Part, ...], rows: pd.DataFrame) -> tuple[Effect, ...]:
    """Every part's effect; empty if no part has a cell among the rows."""
    samples = [samples_of(part, rows) for part in parts]
    if all(table.empty for table in samples):
        return ()
    return tuple(effect_of(part, table) for part, table in zip(parts, samples, strict=True))


def effect_of(part: Part, table: pd.DataFrame) -> Effect:
    """Decide one part from its samples: one line per seed, one column per cell; none: not testable here."""
    if table.empty:
        nothing = (NOT_TESTABLE, NO_INTERVAL, math.nan, math.nan)
        return Effect(part.what, part.unit, part.kind, *nothing, samples=table)
    names, values = [str(name) for name in table.columns], table.to_numpy(dtype=float)
    cells = {name: mean_interval(values[:, i]) for i, name in enumerate(names)}
    margin, printed = part.margin_over(names), part.printed_over(names)
    found = str(decisions.decide(values, part.kind, margin, sized=not math.isnan(printed)))
    missing = max((part.cells or len(names)) - len(names), 0)
    if part.kind != EVERYWHERE:
        interval, deciding = mean_interval(values.mean(axis=1)), ""
    else:
        deciding = _deciding(cells, found)
        interval, printed = cells[deciding], part.printed_over([deciding])
        deciding = deciding if len(cells) > 1 else ""
        found = INCONCLUSIVE if missing and found == SUPPORTED else found
    return Effect(
        part.what, part.unit, part.kind, found, interval, printed, margin, cells, missing, deciding,
        part.over, table,
    )  # fmt: skip


def _deciding(cells: Mapping[str, Interval], verdict: str) -> str:
    """The cell that decides a claim about all cells: the one farthest below, else the lowest bound."""
    if verdict == REFUTED:
        return min(cells, key=lambda cell: cells[cell].high)
    return min(cells, key=lambda cell: (not math.isnan(cells[cell].low), cells[cell].low))
