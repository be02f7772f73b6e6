"""Ends of FedDisk's phase 1, counted from the rows of round 0: its stopping rules, or their caps."""

import json

import pandas as pd

from fedlib.analysis.numbers import RowsOf
from fedlib.data.titles import title_of
from fedlib.methods.feddisk.method import FedDisk

LONGER = {  # artifact: in words
    "feddisk/converged": "At the paper's length", "feddisk/two_epochs": "With two epochs a round",
}  # fmt: skip


def endings(rows: pd.DataFrame) -> pd.DataFrame:
    """Counts of models and epochs of phase 1 by data set, over trials and clients; one line each.

    `cut`: a ratio classifier that took all its epochs, a MADE whose best epoch or round is so late that
    its patience did not run out within `made_max_rounds`.
    """
    if rows.empty:
        return pd.DataFrame()
    start = rows[(rows["round"] == 0) & rows.ratio_epochs.notna()]
    found = []
    for dataset, own in start.groupby("dataset", sort=False):
        given = json.loads(own.method_options.iloc[0])
        most = int(given.get("ratio_max_epochs", FedDisk.ratio_max_epochs))
        made_most = int(given.get("made_max_rounds", FedDisk.made_max_rounds))
        ratio, local = (
            pd.Series([epochs for text in own[name] for epochs in json.loads(text)])
            for name in ("ratio_epochs", "made_local_epochs")
        )
        patience = int(given.get("made_patience", FedDisk.made_patience))
        found.append(
            {
                "dataset": title_of(str(dataset)), "trials": own.seed.nunique(),
                "classifiers": len(ratio), "cut": int((ratio >= most).sum()), "most": most,
                "least": int(ratio.min()), "longest": int(ratio.max()),
                "mades": len(local), "mades_cut": int((local + patience > made_most).sum()),
                "made_most": made_most, "global_least": int(own.made_rounds.min()),
                "global_most": int(own.made_rounds.max()),
                "global_cut": int((own.made_rounds_run >= made_most).sum()),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def ratio_words(rows: pd.DataFrame, where: str) -> list[str]:
    """Counts of ratio classifiers that their cap ended: a sentence a data set."""
    return [
        f"{where} on {line.dataset} {line.cut} of {line.classifiers} ratio classifiers were cut off at "
        f"{line.most} epochs." + (f" They took {line.least} to {line.longest}." if line.cut == 0 else "")
        for line in endings(rows).itertuples()
    ]


def made_words(rows: pd.DataFrame, where: str) -> list[str]:
    """Best rounds of the global MADEs, and how many MADEs their cap ended: two sentences a data set."""
    told = []
    for line in endings(rows).itertuples():
        told += [
            f"{where} the global MADE was best in rounds {line.global_least} to {line.global_most}; the cap "
            f"ended it in {line.global_cut} of {line.trials} trials.",
            f"Of {line.mades} local MADEs {line.mades_cut} had not stopped by epoch {line.made_most}.",
        ]
    return told


def phase_one_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on the ends of phase 1: in short runs, at the paper's length, with two epochs a round."""
    told = ratio_words(rows_of("feddisk/fig3"), "In short runs")
    for artifact, where in LONGER.items():
        rows = rows_of(artifact)
        if only_smoke(rows):
            continue
        told += [*ratio_words(rows, where), *made_words(rows, where)]
    return told


def only_smoke(rows: pd.DataFrame) -> bool:
    """Whether there are rows and all of them are of the profile `smoke`, which is no result."""
    return set(rows.get("profile", ())) == {"smoke"}


def ablations_caveat(rows: pd.DataFrame) -> list[str]:
    """A warning where a cap ended classifiers that the ablations' weights come from; none otherwise.

    rows: of the ablations, whose FedDisk has its phase 1 in common with the variants.
    """
    return [
        f"On {line.dataset} {line.cut} of the {line.classifiers} classifiers behind these weights were cut "
        f"off at {line.most} epochs. Classifiers trained longer may give weights worth something else."
        for line in endings(rows[rows.artifact == "fig3"] if len(rows) else rows).itertuples()
        if line.cut
    ]
