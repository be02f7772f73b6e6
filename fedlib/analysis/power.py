"""Operating characteristics of the registered rules, by simulation with the spread of the stored rows.

The simulation applies `decisions.decide` itself to normal samples. A claim is false by the least where
one of its parts is (superiority: an effect of 0; equivalence: a difference as large as the margin;
everywhere: one cell at -margin) and the others, or the other cells, hold beyond doubt. Supporting it is
an error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fedlib.analysis import decisions
from fedlib.analysis.claims import Claim, Part
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE, NOT_TESTABLE, SMALLER, SUPERIORITY, SUPPORTED
from fedlib.analysis.samples import samples_of

REPEATS = 4000  # experiments per simulation: a rate of 5 % is known within 0.7 points
SEARCH_REPEATS = 1000  # while searching for the number of seeds: 80 % is known within 2.5 points
WANTED_POWER = 0.8
MOST_SEEDS = 200


@dataclass(frozen=True)
class Spread:
    """Input of a simulation: a part's rule and its standard deviation over seeds, from rows."""

    part: Part
    names: tuple[str, ...]  # cells
    deviations: tuple[float, ...]  # of each cell; of the mean over cells where that is what decides
    seeds: int

    @cached_property
    def margin(self) -> float:
        return self.part.margin_over(list(self.names))

    @cached_property
    def printed(self) -> float:
        return self.part.printed_over(list(self.names))

    @cached_property
    def printed_cells(self) -> tuple[float, ...]:
        return tuple(self.part.printed_over([name]) for name in self.names)


@dataclass(frozen=True)
class Power:
    """Probability that a rule supports its claim."""

    seeds: tuple[int, ...]  # of each part that is simulated, drawn with as many
    spread: float  # standard deviation over seeds, in the unit of the first part
    without_effect: float  # highest rate of *supported* where one part of the claim is false
    at_printed: float  # power: at the printed effect, else at twice the margin (equivalence: at 0)
    seeds_needed: int | None  # for a power of 80 %; None: more than MOST_SEEDS
    over: str = "seeds"  # what is drawn


def spread_of(part: Part, table: pd.DataFrame) -> Spread | None:
    """The spread of a part's samples by seed and cell; None with fewer than two seeds."""
    if len(table) < 2 or table.empty:
        return None
    values = table if part.kind == EVERYWHERE else table.mean(axis=1).to_frame()
    deviations = values.std(ddof=1).to_numpy(dtype=float)
    return Spread(part, tuple(map(str, table.columns)), tuple(deviations), len(table))


def power_of(claim: Claim, rows: pd.DataFrame, *, repeats: int = REPEATS) -> Power | None:
    """Operating characteristics of a claim's rule with the spread of these rows, as `power_with`."""
    return power_with(claim, [samples_of(part, rows) for part in claim.parts], repeats=repeats)


def power_with(claim: Claim, samples: Sequence[pd.DataFrame], *, repeats: int = REPEATS) -> Power | None:
    """Operating characteristics of a claim's rule; None where its parts' samples have no spread to simulate.

    A part whose samples are all equal has none, and is left out beside others.
    """
    found = [spread_of(*pair) for pair in zip(claim.parts, samples, strict=True)]
    if None in found:
        return None
    spreads = [spread for spread in found if spread and not np.isclose(spread.deviations, 0).all()]
    if not spreads:
        return None
    return Power(
        tuple(spread.seeds for spread in spreads),
        spreads[0].deviations[0] if len(spreads[0].deviations) == 1 else _typical(spreads[0]),
        max(supported_rate([one], effect=False, repeats=repeats) for one in spreads),
        supported_rate(spreads, effect=True, repeats=repeats),
        seeds_needed(spreads, repeats=min(repeats, SEARCH_REPEATS)),
        spreads[0].part.over,
    )


def _typical(spread: Spread) -> float:
    return math.sqrt(sum(d * d for d in spread.deviations) / len(spread.deviations))


def supported_rate(
    spreads: list[Spread], seeds: int | None = None, *, effect: bool, repeats: int = REPEATS
) -> float:
    """Share of simulated experiments in which the claim is supported, its parts drawn independently.

    seeds: of all parts; None: each part has as many as its rows.
    """
    rng = np.random.default_rng(0)
    found = [_simulated(one, one.seeds if seeds is None else seeds, effect, repeats, rng) for one in spreads]
    return float(np.isin(decisions.combine(np.stack(found)), (SUPPORTED, SMALLER)).mean())


def _simulated(
    spread: Spread, seeds: int, effect: bool, repeats: int, rng: "np.random.Generator"
) -> np.ndarray:
    if seeds < 2:
        return np.full(repeats, NOT_TESTABLE)
    truth = np.array(_effect(spread) if effect else _no_effect(spread))
    deviations = np.array(spread.deviations if effect else [max(spread.deviations)])
    samples = truth + deviations * rng.standard_normal((repeats, seeds, len(deviations)))
    return decisions.decide(samples, spread.part.kind, spread.margin, sized=not math.isnan(spread.printed))


def _no_effect(spread: Spread) -> list[float]:
    """The weakest truth under which the part is false; everywhere: that of its widest cell alone."""
    least = {SUPERIORITY: 0.0, EQUIVALENCE: spread.margin, EVERYWHERE: -spread.margin}
    return [least[spread.part.kind]]


def _effect(spread: Spread) -> list[float]:
    """The truth as the paper prints it; without a printed size twice the margin, for equality 0."""
    if spread.part.kind == SUPERIORITY:
        printed = spread.printed
        return [2 * spread.margin if math.isnan(printed) or printed <= 0 else printed]
    if spread.part.kind == EQUIVALENCE:
        return [0.0 if math.isnan(spread.printed) else spread.printed]
    return [0.0 if math.isnan(value) else value for value in spread.printed_cells]


def seeds_needed(spreads: list[Spread], *, repeats: int = SEARCH_REPEATS) -> int | None:
    """Fewest seeds with a power of 80 %, by bisection; None beyond `MOST_SEEDS`."""

    def enough(seeds: int) -> bool:
        return supported_rate(spreads, seeds, effect=True, repeats=repeats) >= WANTED_POWER

    if not enough(MOST_SEEDS):
        return None
    low, high = 1, MOST_SEEDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
