"""Numbers of README, of docs/findings.md and of the first screen of 02_feddisk."""

import pandas as pd

from fedlib.analysis.contrasts import final, paired
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import FINDINGS, README, Number, RowsOf, of_claim
from fedlib.analysis.variants import with_variant
from fedlib.papers.feddisk.ablation_tables import ablation_table, weights_worth
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.quantities import gap_to_fedavg, last_lead, nats_of_width
from fedlib.papers.feddisk.runs import ABLATIONS
from fedlib.papers.feddisk.tables import ACCURACY

ROWS, AT_LENGTH, SHUFFLED = "feddisk/ablations", "feddisk/converged", "feddisk/converged_weights"
NOTEBOOK = "notebooks/02_feddisk.ipynb"
PLACES = (FINDINGS, NOTEBOOK)
AGAINST_BEST_CLAIM = "FEDDISK-C1"


def last_against_fedavg(rows_of: RowsOf) -> Interval | None:
    """FedDisk's accuracy less FedAvg's in the last round at the paper's length; None without both."""
    rows = rows_of(AT_LENGTH)
    if rows.empty or not {"feddisk", "fedavg"} <= set(rows.method):
        return None
    return last_lead(rows)


def _best_against_fedavg(rows_of: RowsOf) -> Interval | None:
    rows = rows_of(AT_LENGTH)
    gaps = gap_to_fedavg(rows) if len(rows) else rows
    return mean_interval(gaps.to_numpy()) if len(gaps) else None


def _shuffled_against_fedavg(rows_of: RowsOf) -> Interval | None:
    """The weights on other samples less FedAvg, after the last round at the paper's length."""
    shuffled, others = rows_of(SHUFFLED), rows_of(AT_LENGTH)
    if shuffled.empty or others.empty:
        return None
    own = with_variant(shuffled, ABLATIONS)
    own, fedavg = own[own.variant == "feddisk_shuffled"], others[others.method == "fedavg"]
    if own.empty or fedavg.empty or set(own["rounds"]) != set(fedavg["rounds"]):
        return None
    return paired(final(own, ACCURACY), final(fedavg, ACCURACY))


def _of_variant(table: pd.DataFrame, name: str = "feddisk") -> Interval | None:
    own = table[table.variant == name]
    return Interval.from_columns(own.iloc[0], "mean", "") if len(own) else None


def _raw_odds(name: str, what: str) -> Number:
    """FedDisk's accuracy with weights that change the step, less FedAvg's, in short runs."""
    return Number(
        id=f"feddisk-{name}", what=f"accuracy after the last of 20 rounds with {what}, less FedAvg's",
        unit="points", artifacts=(ROWS,), places=(NOTEBOOK,),
        compute=lambda rows_of: _of_variant(ablation_table(rows_of(ROWS)), f"feddisk_{name}"),
    )  # fmt: skip


def _wider(rows: pd.DataFrame) -> Interval | None:
    found = nats_of_width(rows[rows.dataset == "mnist"]) if len(rows) else rows
    return mean_interval(found.to_numpy()) if len(found) else None


(
    AGAINST_BEST, ROUNDS_SAVED, LAST_AGAINST_FEDAVG, AGAINST_FEDAVG, AGAINST_SHUFFLED, SHUFFLED_AT_LENGTH,
    WIDER, WIDER_IN_NATS, BEST_AGAINST_FEDAVG, RAW_ODDS, MEAN_ODDS, SHUFFLED_AGAINST_FEDAVG, ALPHA_ORDER,
) = NUMBERS = (
    of_claim(
        CLAIMS, AGAINST_BEST_CLAIM, 0, id="feddisk-best", places=(README, *PLACES), artifact=AT_LENGTH,
    ),
    of_claim(CLAIMS, "FEDDISK-C4", 0, id="feddisk-rounds", places=PLACES, artifact=AT_LENGTH),
    Number(
        id="feddisk-length-fedavg", what="FedDisk's accuracy after the last of 1500 rounds less FedAvg's",
        unit="points", artifacts=(AT_LENGTH,), compute=last_against_fedavg, places=PLACES,
    ),
    Number(
        id="feddisk-fedavg", what="FedDisk's accuracy after the last of 20 rounds less FedAvg's",
        unit="points",
        artifacts=(ROWS,), compute=lambda rows_of: _of_variant(ablation_table(rows_of(ROWS))),
        places=(NOTEBOOK,),
    ),
    Number(
        id="feddisk-shuffled", what="FedDisk's less that with its weights on other samples, 20 rounds",
        unit="points",
        artifacts=(ROWS,), compute=lambda rows_of: _of_variant(weights_worth(rows_of(ROWS))), places=PLACES,
    ),
    of_claim(CLAIMS, "FEDDISK-R1", 1, id="feddisk-length-shuffled", places=(README, *PLACES)),
    of_claim(CLAIMS, "FEDDISK-C8", 0, id="feddisk-width", places=(FINDINGS,)),
    Number(
        id="feddisk-width-nats", unit="nats", artifacts=("feddisk/made-width",), places=(FINDINGS,),
        what="least validation loss of the MADE with the paper's width less the best wider one's, MNIST",
        compute=lambda rows_of: _wider(rows_of("feddisk/made-width")),
    ),
    Number(
        id="feddisk-best-fedavg", what="FedDisk's best of 1500 rounds less FedAvg's", unit="points",
        artifacts=(AT_LENGTH,), compute=_best_against_fedavg, places=(NOTEBOOK,),
    ),
    _raw_odds("raw", "weights that are raw odds"),
    _raw_odds("mean", "the client's mean of these odds as weights"),
    Number(
        id="feddisk-length-shuffled-fedavg", unit="points", artifacts=(SHUFFLED, AT_LENGTH), places=PLACES,
        what="FedDisk's accuracy with its weights on other samples after the last of 1500 rounds less "
        "FedAvg's",
        compute=_shuffled_against_fedavg,
    ),
    of_claim(CLAIMS, "FEDDISK-C11", 0, id="feddisk-alpha-order", places=PLACES, artifact=AT_LENGTH),
)  # fmt: skip
