"""Fig. 30's control and its exact expectation: as many workers drawn at random, on the same clock.

The control draws once a round, as many as the agent would after the control's own rounds. Expected is the
mean of a round's maximum time over all sets of that many workers. All workers' times follow from seed and
round, and their data from the weights of keep-all.
"""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from fedlib.analysis.claims import Part
from fedlib.methods.frl.schedulerfl import FIRST_TURN
from fedlib.methods.frl.workers import Workers, draw_workers, worker_times
from fedlib.papers.frl import quantities
from fedlib.papers.frl.estimands import READ
from fedlib.papers.frl.scheduler_training import SAMPLES, expected_maximum

CONTROL = "learned_rate"
_draw = lru_cache(maxsize=1000)(draw_workers)  # both cases of a seed share its draws


def expected_rounds(rows: pd.DataFrame) -> pd.DataFrame:
    """Rounds of the agent and of its control on MNIST, with the column `expected_seconds`.

    Rounds of seeds without keep-all are left out.
    """
    named = quantities.named(rows[(rows["round"] > 0) & (rows["dataset"] == "mnist")])
    everybody = named[named["variant"] == "keep_all"].groupby(["case", "seed"])["weights"].first()
    shares = everybody.to_dict()
    own = named[named["variant"].isin((READ, CONTROL))]
    own = own.assign(shares=[shares.get(cell) for cell in zip(own["case"], own["seed"], strict=True)])
    own = own[own["shares"].notna()]
    return own.assign(expected_seconds=[_expected(one) for one in own.itertuples()])


@lru_cache(maxsize=2000)
def all_seconds(seed: int, round_index: int, shares: str) -> np.ndarray:
    """[k] time of every worker in a round of fig. 30; shares: of MNIST's images, as JSON."""
    sizes = np.round(SAMPLES * np.array(json.loads(shares))).astype(int)
    drawn: Workers = _draw(seed, len(sizes), FIRST_TURN + round_index)
    return worker_times(drawn, sizes).sum(axis=1)


def _expected(one: Any) -> float:
    return expected_maximum(all_seconds(one.seed, one.round, one.shares), int(one.selected))


def log_ratio(above: tuple[str, str], below: tuple[str, str]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """100 x log of a mean over the rounds by another, (column, variant) each, by seed and case."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        found = expected_rounds(rows).groupby(["case", "seed", "variant"])
        means = found[["max_seconds", "expected_seconds"]].mean().unstack("variant")
        if not {above, below} <= set(means.columns):
            return pd.DataFrame()
        return (100 * np.log(means[above] / means[below])).unstack("case")

    return estimand


_part = partial(Part, unit="%")
# The logarithm of the control's time by the agent's is the sum of these three
EXPECTED = (
    _part(
        "expected time of as many workers at random / the scheduler's, fig. 30 (100 log)",
        log_ratio(("expected_seconds", READ), ("max_seconds", READ)),
    ),
    _part(
        "expected time at the control's number of workers / at the scheduler's",
        log_ratio(("expected_seconds", CONTROL), ("expected_seconds", READ)),
    ),
    _part(
        "the control's own draws / their expectation",
        log_ratio(("max_seconds", CONTROL), ("expected_seconds", CONTROL)),
    ),
)
