"""Estimands of FedDisk's claims, by trial and data set, and the same from the printed numbers.

The paper compares with the best competitor. Accuracies are those of the round at which a method's
trial-mean curve is highest (FEDDISK-A21), per trial, for the spread over clients too. Cells are the
paper's data sets; a data set in a setting that the paper does not have (`FOREIGN`) decides nothing.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np
import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.intervals import Interval
from fedlib.analysis.published import load_published, printed_values
from fedlib.analysis.tables import json_column
from fedlib.papers.feddisk.runs import CASES, METHODS, ROUNDS, case_of
from fedlib.papers.feddisk.tables import ACCURACY, effective_rounds, sent_per_client, trial_mean

RIVALS = tuple(m for m in METHODS if m != "feddisk")
FOREIGN = ("pneumoniamnist-subset",)  # X-rays with MNIST's noise, one hospital: no setting of the paper
QUARTILES = ("lower_quartile", "median", "upper_quartile")
TENS = 100  # rounds: "tens of rounds" are fewer

Measure = Callable[[pd.DataFrame], pd.Series]
Estimand = Callable[[pd.DataFrame], pd.DataFrame]


def by_data(measure: Measure, *, foreign: bool = False, cases: tuple[str, ...] = tuple(CASES)) -> Estimand:
    """The estimand that measures each of these data sets of the paper; foreign: only `FOREIGN` ones."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        found = {}
        for dataset, own in rows.groupby("dataset", sort=False):
            if (dataset in FOREIGN) == foreign and case_of(dataset) in cases:
                found[dataset if foreign else CASES[case_of(dataset)]] = measure(own)
        return pd.DataFrame(found)

    return estimand


def has_all_methods(measure: Measure) -> Measure:
    """A comparison with competitors: nothing where one of the five methods was not run."""

    def measured(rows: pd.DataFrame) -> pd.Series:
        return measure(rows) if set(METHODS) <= set(rows.method) else pd.Series(dtype=float)

    return measured


def at_the_best_round(rows: pd.DataFrame, method: str, value: str = ACCURACY) -> pd.Series:
    """`value` in percent, by seed, at the round where the method's trial-mean accuracy is highest."""
    own = rows.loc[rows.method == method, ["round", "seed", value]]
    at = trial_mean(rows, rows.dataset.iloc[0], method).idxmax()
    return 100 * own[own["round"] == at].set_index("seed")[value].sort_index()


def best_rival(rows: pd.DataFrame) -> str:
    """The competitor at hand with the highest trial-mean accuracy on one data set; of equals the first."""
    dataset, there = rows.dataset.iloc[0], set(rows.method)
    return max((m for m in RIVALS if m in there), key=lambda m: trial_mean(rows, dataset, m).max())


def gap_to_those_run(rows: pd.DataFrame) -> pd.Series:
    """FedDisk's best mean accuracy less that of the best competitor at hand, in points."""
    return at_the_best_round(rows, "feddisk") - at_the_best_round(rows, best_rival(rows))


gap = has_all_methods(gap_to_those_run)


@has_all_methods
def gap_to_fedavg(rows: pd.DataFrame) -> pd.Series:
    """FedDisk's best mean accuracy less FedAvg's, in points."""
    return at_the_best_round(rows, "feddisk") - at_the_best_round(rows, "fedavg")


def has_shuffled_weights(rows: pd.DataFrame) -> pd.Series:
    """Whether FedDisk's weights are on other samples, by row."""
    return json_column(rows.method_options).map(lambda options: options.get("control") == "shuffled")


def worth_of_weights(level: Measure) -> Measure:
    """A level of FedDisk less that of FedDisk with the same weights on other samples, by trial (points)."""

    def measure(rows: pd.DataFrame) -> pd.Series:
        shuffled = has_shuffled_weights(rows)
        if not shuffled.any():
            return pd.Series(dtype=float)
        return level(rows[~shuffled]) - level(rows[shuffled])

    return measure


def last_lead(rows: pd.DataFrame) -> Interval:
    """FedDisk's accuracy after the last round less FedAvg's, on one data set."""
    return contrasts.paired(
        *(contrasts.final(rows[rows.method == own], ACCURACY) for own in ("feddisk", "fedavg"))
    )


def printed_gap() -> Mapping[str, float]:
    """FedDisk minus the best other method in fig. 3, in points, by data set."""
    where = {"artifact": "fig3", "metric": "mean_test_accuracy"}
    values = printed_values("feddisk_text", "dataset", "method", **where).unstack("method")
    return dict((values.FedDisk - values.drop(columns="FedDisk").max(axis=1)).items())


def box(name: str) -> Measure:
    """A statistic over the clients, against the competitor that is best in it (points)."""
    column = f"client_test_accuracy_{name}"

    @has_all_methods
    def measure(rows: pd.DataFrame) -> pd.Series:
        found = {m: at_the_best_round(rows, m, column) for m in METHODS}
        return found["feddisk"] - found[max(RIVALS, key=lambda m: found[m].mean())]

    return measure


def boxes(rows: pd.DataFrame) -> pd.DataFrame:
    """Quartiles and median over the clients, by data set and statistic."""
    tables = {name: by_data(box(name))(rows) for name in QUARTILES}
    return pd.concat(
        [table.rename(columns=lambda data, name=name: f"{data} {name}") for name, table in tables.items()],
        axis=1,
    )


def _totals(own: pd.DataFrame) -> tuple[float, float, pd.DataFrame]:
    """Of one trial: FedDisk's MADE rounds, its task rounds to the target, and the table of all methods.

    A target that FedDisk never reaches counts as reached after the last round, in its favour.
    """
    table = effective_rounds(own).set_index("method")
    reached = table.classifier["feddisk"]
    return table.made["feddisk"], own["round"].max() if math.isnan(reached) else reached, table


def rounds_saved_of_those_run(rows: pd.DataFrame) -> pd.Series:
    """Rounds of the quickest competitor at hand less FedDisk's, both phases, by trial (FEDDISK-A20)."""

    def saved(own: pd.DataFrame) -> float:
        made, reached, table = _totals(own)
        return table.total.drop("feddisk").min() - made - reached

    return by_seed(rows, saved)


rounds_saved = has_all_methods(rounds_saved_of_those_run)


def trials_that_reach(rows: pd.DataFrame) -> tuple[int, int]:
    """Trials in which FedDisk reaches the best competitor's level (FEDDISK-A20), and all trials."""
    found = [
        effective_rounds(own).set_index("method").classifier["feddisk"] for _, own in rows.groupby("seed")
    ]
    return sum(not math.isnan(one) for one in found), len(found)


def printed_rounds_saved() -> Mapping[str, float]:
    """Rounds saved according to table 1."""
    table = load_published("feddisk_table1")
    found = {}
    for data, own in table.groupby("dataset"):
        values = own.set_index(["method", "metric"]).value.astype(float)
        ours = values["FedDisk", "effective_communication_rounds_total"]
        others = own[own.method != "FedDisk"].groupby("method").value.max().astype(float)
        found[str(data)] = float(others.min() - ours)
    return found


def reduction_of_those_run(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the traffic of the cheapest competitor at hand over FedDisk's, eqs. (18), (19), by trial.

    Sizes of one message are those that the federation counted.
    """
    sizes = sent_per_client(rows).set_index(["method", "part"]).bytes

    def factor(own: pd.DataFrame) -> float:
        made, reached, table = _totals(own)
        rivals = min(sizes[m, "classifier"] * table.classifier[m] for m in table.index if m in RIVALS)
        ours = sizes["feddisk", "made"] * made + sizes["feddisk", "classifier"] * reached
        return 100 * math.log(rivals / ours)

    return by_seed(rows, factor)


reduction = has_all_methods(reduction_of_those_run)


def printed_reduction() -> Mapping[str, float]:
    """100 x log of how many times less traffic sec. VI.C.3 prints."""
    printed = printed_values("feddisk_text", "dataset", metric="cost_reduction")
    return {data: 100 * math.log(value) for data, value in printed.items()}


GLOBAL_LOSS, LOCAL_LOSS = "client_loss_mean", "train_loss_mean"  # the latter with FedDisk's weights (A31)


def _mean_loss(rows: pd.DataFrame, loss: str) -> pd.Series:
    """A loss (nats) in the mean over all rounds, by trial."""
    return rows[rows["round"] > 0].groupby("seed")[loss].mean()


def _loss_saved_to(rivals: Collection[str], rows: pd.DataFrame, loss: str = GLOBAL_LOSS) -> pd.Series:
    """100 x log of the lowest of these rivals' training loss over FedDisk's, mean over all rounds."""
    rival = lowest_loss(rows, rivals, loss)
    theirs, ours = (_mean_loss(rows[rows.method == name], loss) for name in (rival, "feddisk"))
    return 100 * (theirs / ours).map(math.log)


def lowest_loss(rows: pd.DataFrame, rivals: Collection[str] = RIVALS, loss: str = GLOBAL_LOSS) -> str:
    """The rival whose training loss is the lowest, in the mean over rounds and trials."""
    return min(rivals, key=lambda name: _mean_loss(rows[rows.method == name], loss).mean())


loss_saved = has_all_methods(partial(_loss_saved_to, RIVALS))
loss_saved_to_fedavg = has_all_methods(partial(_loss_saved_to, ("fedavg",)))
local_loss_saved = has_all_methods(partial(_loss_saved_to, RIVALS, loss=LOCAL_LOSS))
local_loss_saved_to_fedavg = has_all_methods(partial(_loss_saved_to, ("fedavg",), loss=LOCAL_LOSS))


def local_loss_saved_by_information(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the loss of local training with the same weights on other samples over FedDisk's."""
    shuffled = has_shuffled_weights(rows)
    losses = [_mean_loss(rows[which], LOCAL_LOSS) for which in (shuffled, ~shuffled)]
    return 100 * (losses[0] / losses[1]).map(math.log).dropna()


def rounds_below_hundred(rows: pd.DataFrame) -> pd.Series:
    """100 less the round of the global MADE's lowest validation loss, by trial."""
    start = rows[(rows["round"] == 0) & rows.made_rounds.notna()]
    return TENS - start.set_index("seed").made_rounds.astype(float)


def before_first_rise(rows: pd.DataFrame) -> pd.Series:
    """100 less the MADE's round before its validation loss first rises, the literal rule of sec. IV.B (A11).

    Trials whose loss never rises are left out.
    """

    def first(losses: list[float]) -> float:
        rises = np.flatnonzero(np.diff(losses) > 0)
        return rises[0] + 1 if len(rises) else math.nan

    return (TENS - _validation_losses(rows).map(first)).dropna()


def near_the_lowest(rows: pd.DataFrame) -> pd.Series:
    """100 less the first round whose validation loss is within 0.5 % of the lowest, by trial."""
    return TENS - _validation_losses(rows).map(
        lambda losses: int(np.argmax(np.array(losses) <= 1.005 * min(losses))) + 1
    )


def _validation_losses(rows: pd.DataFrame) -> pd.Series:
    """The global MADE's validation loss after every round of phase 1, by trial."""
    start = rows[(rows["round"] == 0) & rows.made_rounds.notna()].set_index("seed")
    return json_column(start.made_validation_loss)


def printed_made_rounds() -> Mapping[str, float]:
    """100 less table 1's rounds of phase 1."""
    rounds = printed_values("feddisk_table1", "dataset", metric="effective_communication_rounds_made")
    return dict((TENS - rounds).items())


def nats_of_width(rows: pd.DataFrame) -> pd.Series:
    """Reduction of the lowest validation loss by a wider MADE than the chosen one (nats an image)."""
    wider = rows[rows.hidden > rows.chosen].groupby("seed").validation_loss.min()
    return _of_chosen_width(rows) - wider if len(wider) else pd.Series(dtype=float)


def gain_of_width(rows: pd.DataFrame) -> pd.Series:
    """Reduction of the lowest validation loss by a wider MADE than the chosen one (%)."""
    return 100 * nats_of_width(rows) / _of_chosen_width(rows)


def _of_chosen_width(rows: pd.DataFrame) -> pd.Series:
    return rows[rows.hidden == rows.chosen].set_index("seed").validation_loss


def change_with_mu(rows: pd.DataFrame) -> pd.Series:
    """FedROD's accuracy after the last round with the largest mu less that with mu = 1, in points."""
    rows = rows.assign(mu=json_column(rows.method_options).map(lambda options: options["mu"]))
    last = rows[(rows["round"] == rows["round"].max()) & rows[ACCURACY].notna()]
    table = 100 * last.pivot_table(index="seed", columns="mu", values=ACCURACY)
    return table[max(table)] - table[1] if {1} < set(table) else pd.Series(dtype=float)


def alpha_agreement(rows: pd.DataFrame) -> pd.Series:
    """Rank correlation of alpha with `log gd(x) - log ld_k(x)`, mean over clients, by trial."""
    start = rows[(rows["round"] == 0) & rows.alpha_agreement.notna()]
    return json_column(start.alpha_agreement).map(np.mean).set_axis(start.seed).sort_index()


def longest(rows: pd.DataFrame) -> int:
    """The paper's rounds of the data sets at hand; the fewest of them."""
    return min(ROUNDS[case_of(name)] for name in rows.dataset.unique())
