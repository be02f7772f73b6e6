"""FedDisk's tables: printed beside counted, published beside ours.

* table 1: effective communication rounds (ECR) by FEDDISK-A20, raw and over a moving average;
* fig. 3: best accuracies, and FedProx over its grid of mu;
* fig. 6: effective communication cost, eqs. (18) and (19), and the bytes that the federation counted.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlib.analysis.published import printed_value, printed_values
from fedlib.analysis.tables import json_column, stand_ins, summarise_seeds
from fedlib.data.titles import title_of
from fedlib.experiments.result_files import committed_runs
from fedlib.papers.feddisk.measurements import PAPER_NAMES
from fedlib.papers.feddisk.runs import CASES, METHODS, case_of

ACCURACY = "client_test_accuracy_mean"
SMOOTHING = 10  # evaluations of the moving average, FEDDISK-A20: rounds, where each is evaluated
LAST_ACCURACY = "accuracy after the last round (%)"


def trial_mean(rows: pd.DataFrame, dataset: str, method: str, value: str = ACCURACY) -> pd.Series:
    """Mean over trials of the mean accuracy over clients, by round from 1 on, where all trials have it."""
    chosen = (rows.dataset == dataset) & (rows.method == method) & (rows["round"] > 0)
    own = rows.loc[chosen, ["round", "seed", value]].dropna()
    return own.pivot_table(index="round", columns="seed", values=value).dropna().mean(axis=1)


def effective_rounds(rows: pd.DataFrame, smoothing: int = 1) -> pd.DataFrame:
    """Table 1 from the runs of fig. 3, one row per data set and method (FEDDISK-A20).

    Competitors: round of their trial-mean curve's maximum. FedDisk: first round at which it reaches
    the highest of these maxima (`target`), after `made` rounds of the global MADE, mean over trials.
    """
    found = []
    for dataset in rows.dataset.unique():
        methods = [m for m in METHODS if ((rows.dataset == dataset) & (rows.method == m)).any()]
        curves = {m: trial_mean(rows, dataset, m).rolling(smoothing, min_periods=1).mean() for m in methods}
        rivals = {m: c for m, c in curves.items() if m != "feddisk" and len(c)}
        if not rivals or not len(curves.get("feddisk", ())):
            continue
        target = max(c.max() for c in rivals.values())
        start = rows[(rows.dataset == dataset) & (rows.method == "feddisk") & (rows["round"] == 0)]
        made = float(start.made_rounds.mean())
        there = curves["feddisk"].index[curves["feddisk"] >= target]
        reached = float(there[0]) if len(there) else math.nan
        common = {"dataset": dataset, "target": target, "smoothing": smoothing}
        found.append(
            {**common, "method": "feddisk", "made": made, "classifier": reached, "total": made + reached,
             "best": curves["feddisk"].max()}
        )  # fmt: skip
        for method, curve in rivals.items():
            at = float(curve.idxmax())
            found.append(
                {**common, "method": method, "made": 0.0, "classifier": at, "total": at, "best": curve.max()}
            )
    columns = ["dataset", "method", "smoothing", "made", "classifier", "total", "best", "target"]
    return pd.DataFrame(found, columns=columns)


def sent_per_client(rows: pd.DataFrame) -> pd.DataFrame:
    """Bytes of an upload of a client as counted, by data set, method and phase."""
    found = []
    for (dataset, method), own in rows.groupby(["dataset", "method"], sort=False):
        clients = float(own.num_clients.iloc[0])
        first = own[own["round"] == own["round"][own["round"] > 0].min()]
        found.append((dataset, method, "classifier", float(first.uplink_bytes.mean()) / clients))
        if method == "feddisk":
            start = own[own["round"] == 0]
            per_round = start.uplink_bytes / start.made_rounds_run / clients
            found.append((dataset, method, "made", float(per_round.mean())))
    return pd.DataFrame(found, columns=["dataset", "method", "part", "bytes"])


def effective_costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Fig. 6: bytes that one client sends and receives until its effective round, eqs. (18) and (19).

    formula: `2 (S_MADE ECR_MADE + S_cls ECR_cls)` with the sizes of one message. counted: the sum of
    the rows' own up- and downlink bytes over the same rounds, per client; the two must agree.
    """
    rounds = effective_rounds(rows)
    sizes = sent_per_client(rows).set_index(["dataset", "method", "part"]).bytes
    found = []
    for row in rounds.itertuples():
        own = rows[(rows.dataset == row.dataset) & (rows.method == row.method)]
        cost = 2 * sizes[row.dataset, row.method, "classifier"] * row.classifier
        if row.method == "feddisk":
            cost += 2 * sizes[row.dataset, row.method, "made"] * row.made
        found.append((row.dataset, row.method, cost, _counted_bytes(own, row.classifier)))
    table = pd.DataFrame(found, columns=["dataset", "method", "formula", "counted"])
    return table.astype({"formula": float, "counted": float})


def all_bytes(own: pd.DataFrame) -> float:
    """Bytes up and down per client over all rounds of one method on one data set, mean over trials.

    Each trial's mean of its evaluated rounds stands for those between.
    """
    sent = own.uplink_bytes.fillna(0) + own.downlink_bytes.fillna(0)
    before, during = own["round"] == 0, own["round"] > 0
    a_round = sent[during].groupby(own.seed[during]).mean()
    counted = float(sent[before].sum()) + float(own["round"].max() * a_round.sum())
    return counted / float(own.num_clients.iloc[0]) / own.seed.nunique()


def _counted_bytes(own: pd.DataFrame, last: float) -> float:
    """Bytes up and down per client, mean over trials: rounds 1 to `last`, and the MADE's up to its best.

    Each trial's mean of its evaluated rounds stands for those between.
    """
    if math.isnan(last):  # never reached
        return float("nan")
    clients, seeds = float(own.num_clients.iloc[0]), own.seed.nunique()
    within = own[(own["round"] >= 1) & (own["round"] <= last)]
    a_round = (within.uplink_bytes + within.downlink_bytes).groupby(within.seed).mean()
    total = last * float(a_round.sum())
    if "made_rounds" in own:
        start = own[(own["round"] == 0) & own.made_rounds.notna()]
        used = start.made_rounds / start.made_rounds_run  # the counter has the rounds of the patience too
        total += float(((start.uplink_bytes + start.downlink_bytes) * used).sum())
    return total / clients / seeds


def published_beside_ours(rows: pd.DataFrame) -> pd.DataFrame:
    """Best mean accuracy of each method (FEDDISK-A21) in percent, ours beside the printed ones.

    Of the competitors the paper prints the best only, with its name on FEMNIST. Generated images have no
    difference from what is printed.
    """
    printed = printed_values(
        "feddisk_text", "dataset", "method", artifact="fig3", metric="mean_test_accuracy"
    )
    found = []
    for dataset in rows.dataset.unique():
        name = CASES[case_of(dataset)]
        own = printed[name]
        curves = {m: trial_mean(rows, dataset, m) for m in METHODS}
        curves = {m: curve for m, curve in curves.items() if len(curve)}
        stand_in = dataset in stand_ins(rows)
        shown = title_of(dataset)
        rival = max((m for m in curves if m != "feddisk"), key=lambda m: curves[m].max(), default=None)
        for method, curve in curves.items():
            value = own.get(PAPER_NAMES[method], float("nan"))
            value = own.get("best other", value) if method == rival else value
            best, final = 100 * curve.max(), 100 * curve.iloc[-1]
            gap = math.nan if stand_in else best - value
            found.append((name, shown, method, value, best, gap, final, method == rival))
    columns = ["paper_data", "dataset", "method", "published (%)", "our best (%)", "difference (points)"]
    return pd.DataFrame(found, columns=[*columns, "our last (%)", "best_competitor"])


def fedprox_of_its_grid(rows: pd.DataFrame, grid: pd.DataFrame) -> pd.DataFrame:
    """FedProx with the paper's mu, as fig. 3 has it, beside the best of its grid of mu, by data set.

    rows: fig. 3's; grid: those of `sec6b-fedprox`. Best of the trial-mean curve in percent. The best mu is
    chosen on the clients' own test parts, in FedProx's favour; "–": the grid was not run there. FedAvg
    is mu = 0: where it is higher than FedProx, the paper's mu, chosen for its data, hurts on ours.
    """
    found = []
    for dataset in rows.dataset.unique():
        peak = {m: 100 * trial_mean(rows, dataset, m).max() for m in ("fedprox", "fedavg", "feddisk")}
        own = rows[(rows.dataset == dataset) & (rows.method == "fedprox")]
        mu = float(json_column(own.method_options).iloc[0]["mu"])
        tried = grid[(grid.dataset == dataset) & (grid.method == "fedprox")]
        by_mu = {
            value: 100 * trial_mean(part, dataset, "fedprox").max()
            for value, part in tried.groupby(json_column(tried.method_options).map(lambda o: o["mu"]))
        }
        by_mu = by_mu if set(by_mu) - {mu} else {}
        best = max(by_mu, key=by_mu.__getitem__, default=None)
        chosen = ("–", math.nan) if best is None else (f"{best:g}", by_mu[best])
        found.append((dataset, f"{mu:g}", peak["fedprox"], *chosen, peak["fedavg"], peak["feddisk"]))
    columns = ["dataset", "the paper's mu", "FedProx (%)", "best mu", "FedProx, best mu (%)", "FedAvg (%)"]
    return pd.DataFrame(found, columns=[*columns, "FedDisk (%)"])


def table1_beside_ours(rows: pd.DataFrame) -> pd.DataFrame:
    """ECR printed beside ours, in all (raw and smoothed) and of the MADE alone."""
    raw, smoothed = (effective_rounds(rows, window) for window in (1, SMOOTHING))
    table = raw[["dataset", "method", "made", "classifier", "total"]].merge(
        smoothed[["dataset", "method", "total"]], on=["dataset", "method"], suffixes=("", "_smoothed")
    )
    pairs = [*zip(table.dataset, table.method, strict=True)]
    made = [_printed_rounds(d, m, "made") if m == "feddisk" else 0.0 for d, m in pairs]
    kinds = [(d, m, "total" if m == "feddisk" else "classifier") for d, m in pairs]
    table.insert(2, "printed rounds: in all", [_printed_rounds(*kind) for kind in kinds])
    table.insert(3, "printed rounds: of the MADE", made)
    names = {
        "made": "our rounds: of the MADE", "classifier": "our rounds: of the task",
        "total": "our rounds: in all", "total_smoothed": "our rounds: in all, smoothed",
    }  # fmt: skip
    return table.rename(columns=names)


def _printed_rounds(dataset: str, method: str, kind: str) -> float:
    where = {"dataset": CASES[case_of(dataset)], "method": PAPER_NAMES[method]}
    return printed_value("feddisk_table1", metric=f"effective_communication_rounds_{kind}", **where)


def client_sizes(rows: pd.DataFrame) -> dict[str, float]:
    """Mean number of training images of a client by data set, told by committed runs that are in `rows`."""
    keys, found = set(rows.run), {}
    for artifact, profile in rows[["artifact", "profile"]].drop_duplicates().itertuples(index=False):
        for run, told in committed_runs(f"feddisk/{artifact}", profile):
            if run.key in keys:
                found[run.dataset] = float(np.mean(told["facts"]["train_samples"])) / run.num_clients
    return found


def weight_report(rows: pd.DataFrame, sizes: Mapping[str, float] | None = None) -> pd.DataFrame:
    """FedDisk's weights from the rows of round 0, one row per data set: means over clients and trials.

    h: median. alpha_low, alpha_high: quartiles. effective_samples: effective sample size of a client, and
    share, its share of the client's images (`sizes`, as `client_sizes` has them). agreement: rank
    correlation of alpha with the ratio of the MADEs (see `fedlib.methods.feddisk.phase1`).
    """
    weighted = rows.get("alpha_quantiles", pd.Series(index=rows.index)).notna()
    start, found = rows[(rows["round"] == 0) & weighted], []
    for dataset, own in start.groupby("dataset", sort=False):
        h, alpha, size, agreement = (
            np.array(json_column(own[name]).tolist())
            for name in ("h_quantiles", "alpha_quantiles", "effective_sample_size", "alpha_agreement")
        )
        found.append(
            {
                "dataset": dataset, "h": h[..., 2].mean(), "alpha_low": alpha[..., 1].mean(),
                "alpha_high": alpha[..., 3].mean(), "alpha_max": alpha[..., 4].mean(),
                "effective_samples": size.mean(), "share": size.mean() / (sizes or {}).get(dataset, math.nan),
                "agreement": agreement.mean(), "trials": len(own),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def weights_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`weight_report` with the shares of the clients' images."""
    return weight_report(rows, client_sizes(rows))


def by_mu(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy (%) after the last round by data set, method and mu: mean over trials, 95 % interval."""
    last = rows[rows["round"] == rows.groupby("run")["round"].transform("max")]
    mu = json_column(last.method_options).map(lambda options: f"{options['mu']:g}")
    last = last.assign(mu=mu, accuracy=100 * last[ACCURACY]).sort_values("mu", key=lambda m: m.astype(float))
    last = last.sort_values(["dataset", "method"], kind="stable")
    table = summarise_seeds(last, ["dataset", "method", "mu"], "accuracy")
    return table.rename(columns={"mean": LAST_ACCURACY})


def best_mu_words(rows: pd.DataFrame, fig3: pd.DataFrame) -> list[str]:
    """FedROD with the best mu of its grid beside fig. 3's methods: a sentence a data set, of last rounds."""
    told = []
    for dataset, table in by_mu(rows).groupby("dataset"):
        best = table.loc[table[LAST_ACCURACY].idxmax()]
        others = {method: 100 * trial_mean(fig3, dataset, method).iloc[-1] for method in METHODS}
        first = max(others, key=others.__getitem__)
        told.append(
            f"On {title_of(dataset)} FedROD ends at {best[LAST_ACCURACY]:.1f} % with mu = {best.mu}, chosen "
            f"on the same test parts. Of fig. 3's methods {PAPER_NAMES[first]} ends highest, at "
            f"{others[first]:.1f} %; FedDisk ends at {others['feddisk']:.1f} %."
        )
    return told


def by_spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy (%) after the last round by method and distance of the styles in percent (data-set option).

    Mean over trials, 95 % interval; the lowest loss over the rounds of a trial and its last one, whose
    gap shows statistics that fit no client.
    """
    spread = json_column(rows.dataset_options).map(lambda options: options.get("spread", 100))
    rows = rows.assign(spread=spread, accuracy=100 * rows[ACCURACY])
    last = rows[rows["round"] == rows.groupby("run")["round"].transform("max")]
    keys = ["dataset", "spread", "method"]
    table = summarise_seeds(last, keys, "accuracy")
    least = rows.groupby([*keys, "seed"]).client_test_loss_mean.min().groupby(keys).mean()
    final = last.groupby(keys).client_test_loss_mean.mean()
    losses = pd.DataFrame({"test loss (nats): lowest": least, "test loss (nats): last": final}).reset_index()
    table = table.merge(losses, on=keys).sort_values(keys, ignore_index=True)
    return table.rename(columns={"mean": LAST_ACCURACY, "spread": "styles apart (%)"})
