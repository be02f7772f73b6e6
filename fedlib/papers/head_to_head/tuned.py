"""The search's outcome: each contestant's settings with the best validation accuracy.

`python -m fedlib.papers.head_to_head.tuned PROFILE` writes `settings.json` from the stored rows of
`head_to_head/tuning`. Until the search has been run, the file holds a trial chosen by hand for each.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from fedlib.experiments.results import load_rows
from fedlib.files import write_atomically
from fedlib.papers.head_to_head.artifacts import ARTIFACTS
from fedlib.papers.head_to_head.runs import CHOSEN, CONTESTANTS
from fedlib.papers.head_to_head.runs import chosen as settings
from fedlib.papers.head_to_head.tables import trials
from fedlib.plotting.style import method_style


def choose(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Contestant -> rate and options (those beside its fixed ones) of its best trial."""
    best = trials(rows).sort_values("validation", kind="stable").groupby("contestant").last()
    chosen = {}
    for name, one in CONTESTANTS.items():
        if one.twin_of:
            continue
        given = json.loads(best.loc[name, "options"])
        own = {key: value for key, value in given.items() if key not in one.options}
        chosen[name] = {"rate": float(best.loc[name, "rate"]), "options": own}
    return chosen


def answer(rows: pd.DataFrame) -> list[str]:
    """Say which rates the search chose, which options, and how many trials had a diverged run."""
    rates: dict[float, list[str]] = {}
    for name, one in settings().items():
        rates.setdefault(one["rate"], []).append(method_style(name).label)
    most = max(rates, key=lambda rate: len(rates[rate]))
    others = "; ".join(f"{', '.join(rates[rate])} {rate:g}" for rate in sorted(rates) if rate != most)
    told = [
        f"{len(rates[most])} of {len(settings())} methods get the rate {most:g}{others and f'; {others}'}."
    ]
    if len(rows):
        found = trials(rows)
        lost = int((found.diverged > 0).sum())
        told.append(f"{lost} of {len(found)} trials had a run that diverged.")
    return told


def chosen_table() -> pd.DataFrame:
    """The settings that the comparison uses: contestant, rate, options in words."""
    lines = [
        (name, one["rate"], ", ".join(f"{key} {value}" for key, value in one["options"].items()))
        for name, one in settings().items()
    ]
    return pd.DataFrame(lines, columns=["contestant", "rate", "options"])


def write_settings(profile: str) -> Path:
    """Write the outcome of the search at a profile beside this module; the path."""
    (search,) = (artifact for artifact in ARTIFACTS if artifact.name == "tuning")
    path = Path(__file__).with_name(CHOSEN)
    outcome = choose(load_rows(search, profile=profile))
    write_atomically(path, (json.dumps(outcome, indent=1) + "\n").encode())
    return path


if __name__ == "__main__":
    print(write_settings(sys.argv[1]))
