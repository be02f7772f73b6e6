"""Ends of FedDisk's phase 1, counted from the rows of round 0: its stopping rules, or their caps."""

import json

import pandas as pd

from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.data.titles import title_of
from fedlib.methods.feddisk.method import FedDisk

SHORT = "in short runs"
LENGTHS = {  # artifact: in words
    "feddisk/fig3": SHORT, "feddisk/converged": "at the paper's length",
    "feddisk/two_epochs": "with two epochs a round",
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


def _lengths(rows_of: RowsOf) -> dict[str, pd.DataFrame]:
    """`endings` by length of the runs, in words; without lengths that have no rows or only smoke's."""
    stored = {words: rows_of(artifact) for artifact, words in LENGTHS.items()}
    return {
        words: endings(rows)
        for words, rows in stored.items()
        if len(rows) and (words == SHORT or not only_smoke(rows))
    }


def phase1_table(rows_of: RowsOf) -> pd.DataFrame:
    """Ends of phase 1, a line for each length of runs and data set: models cut off, and what all took.

    Epochs and rounds are the least and the most over trials and clients, beside the cap.
    """
    return pd.DataFrame(
        {
            "runs": words,
            "data": line.dataset,
            "ratio classifiers: cut off": f"{line.cut} of {line.classifiers}",
            "ratio classifiers: epochs": f"{line.least} to {line.longest} of {line.most}",
            "local MADEs: cut off": f"{line.mades_cut} of {line.mades}",
            "global MADE: cut off": f"{line.global_cut} of {line.trials}",
            "global MADE: best round": f"{line.global_least} to {line.global_most}",
        }
        for words, found in _lengths(rows_of).items()
        for line in found.itertuples()
    )


def phase1_answer(rows_of: RowsOf) -> list[str]:
    """Sentence on the ratio classifiers that their cap ended, by length of runs; none without rows."""
    counts = [
        f"{found.cut.sum()} of {found.classifiers.sum()} {words}"
        for words, found in _lengths(rows_of).items()
    ]
    return [f"A cap ended ratio classifiers before their stopping rule: {listed(counts)}."] if counts else []


def only_smoke(rows: pd.DataFrame) -> bool:
    """Whether there are rows and all of them are of the profile `smoke`, which is no result."""
    return set(rows.get("profile", ())) == {"smoke"}


def ablations_caveat(rows: pd.DataFrame, longer: pd.DataFrame) -> list[str]:
    """Tell which of the ablations' ratio classifiers a cap ended, and which at the paper's length.

    rows: of the ablations, longer: of `feddisk/converged_weights`; FedDisk has its phase 1 in common with
    the variants. None where no cap ended one.
    """
    at_length = _of_feddisk(longer, "converged")
    beside = "Classifiers trained longer may give weights worth something else."
    if len(at_length):
        beside = f"At the paper's length {at_length.cut.sum()} of {at_length.classifiers.sum()} were."
    told = []
    for line in _of_feddisk(rows, "fig3").itertuples():
        if line.cut:
            told.append(
                f"In short runs on {line.dataset} {line.cut} of the {line.classifiers} classifiers that "
                f"estimate the weights were cut off at {line.most} epochs."
            )
    return [*told, *[beside] * bool(told)]


def _of_feddisk(rows: pd.DataFrame, artifact: str) -> pd.DataFrame:
    return endings(rows[rows.artifact == artifact] if "ratio_epochs" in rows else rows[:0])
