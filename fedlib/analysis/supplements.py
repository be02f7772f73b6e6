"""Effects of further parts in words, shown beside a verdict and deciding nothing."""

from collections.abc import Callable

import pandas as pd

from fedlib.analysis.claims import Part, Supplement, effects_of, real_rows


def supplement(
    artifact: str,
    *parts: Part,
    where: str = "",
    absent: str = "",
    chosen: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
    decided: bool = False,
) -> Supplement:
    """The effects of these parts on the rows of an artifact, in words.

    where: said first. absent: said where no part has rows. chosen: rows to the rows that count. Rows of
    generated stand-ins count, as for a claim, only where there are no others. decided: with each verdict
    by its part's own rule.
    """

    def tell(rows: pd.DataFrame) -> str:
        real = real_rows(rows)
        own = chosen(real if len(real) else rows)
        effects = [effect for part in parts for effect in effects_of((part,), own)]
        rule = " (by its rule {})" if decided else ""
        told = "; ".join(one.described + rule.format(one.verdict_words) for one in effects)
        return f"{where}: {told}" if where and told else told or absent

    return Supplement(artifact, tell)
