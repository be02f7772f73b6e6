"""Local trainings before round 1, from rows and options."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.head_to_head.quantities import labelled


def local_trainings(rows: pd.DataFrame) -> pd.Series:
    """Local trainings of a run before round 1 by contestant, the most of its runs.

    FAVOR's are in its rows; FedDRL's workers train a cohort in each of their rounds.
    """
    first = labelled(rows.drop_duplicates("run")).reset_index(drop=True)
    told = first.get("local_trainings", pd.Series(index=first.index, dtype=float)).fillna(0)
    feddrl = first[first.method == "feddrl"]
    workers = [
        _of_workers(json.loads(one.method_options), int(one.rounds), int(one.cohort_size))
        for one in feddrl.itertuples()
    ]
    told = told.add(pd.Series(workers, index=feddrl.index, dtype=float), fill_value=0)
    return told.groupby(first.contestant).max().astype(int)


def _of_workers(options: Mapping[str, Any], rounds: int, cohort: int) -> int:
    method = FedDRL(**options)
    if not method.has_workers:
        return 0
    return method.workers * (method.worker_rounds or rounds) * cohort
