"""FedDRL's tables: published beside ours, and FedDRL beside its controls, with intervals over seeds."""

import json
import math

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.published import printed_rows
from fedlib.analysis.tables import compare, stand_ins
from fedlib.data.titles import title_of
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.errata import from_text, printed_gains
from fedlib.papers.feddrl.estimands import INITIAL, ROUNDS
from fedlib.papers.feddrl.runs import CONTROLS
from fedlib.plotting.style import method_style

PRINTED = {"singleset": "SingleSet", "fedavg": "FedAvg", "fedprox": "FedProx", "feddrl": "FedDRL"}
CELL = ["data", "partition", "N"]
LAST_ROUNDS = round(
    quantities.LATE_SHARE * ROUNDS
)  # at the paper's length: their mean stands beside the best


def best_accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds of the best accuracy (%): data, partition, N, variant, mean, low, high, n."""
    named, found = quantities.named(rows), []
    for cell, best in quantities.best_by_cell(named):
        for variant, values in best.items():
            interval = mean_interval(values.dropna().to_numpy())
            found.append({**name_cell(cell), "variant": variant, **vars(interval)})
    return pd.DataFrame(found, columns=[*CELL, "variant", "mean", "low", "high", "n"])


def name_cell(cell: tuple) -> dict[str, object]:
    dataset, partition, clients = cell
    return {
        "data": quantities.PAPER_DATA[dataset],
        "partition": quantities.PAPER_PARTITIONS[partition],
        "N": clients,
    }


def accuracy_table(rows: pd.DataFrame, table: str = "feddrl_table3") -> pd.DataFrame:
    """Table 3 or 4: published, ours with its interval, difference (points); the paper's four methods.

    Data that are not the paper's are called so; generated ones have no difference from what it prints.
    """
    columns = {"dataset": "data", "n_clients": "N", "method": "name"}
    printed = printed_rows(table, metric="best_top1_accuracy").rename(columns=columns)
    names = {name: variant for variant, name in PRINTED.items()}
    printed = printed.assign(variant=printed.name.map(names), N=printed.N.astype(int))
    ours = best_accuracies(rows)
    ours = ours.assign(stand_in=ours.data.isin(_generated(rows)))
    return _marked(compare(printed, ours, [*CELL, "variant"]).round(2), rows)


def _generated(rows: pd.DataFrame) -> set[str]:
    """The paper's names of the data sets for which rows have generated images."""
    return {quantities.PAPER_DATA[name] for name in stand_ins(rows)}


def accuracies_run(rows: pd.DataFrame) -> pd.DataFrame:
    """`accuracy_table` without the cells of table 3 that were not run."""
    return accuracy_table(rows).dropna(subset="ours")


def side_by_side(rows: pd.DataFrame, table: str = "feddrl_table3") -> pd.DataFrame:
    """Table 3 or 4, a line per cell: for each method published, ours with its interval, and difference."""
    long = accuracy_table(rows, table)
    kinds = ["published", "ours", "low", "high", "difference"]
    found = long.set_index([*CELL, "variant"])[kinds].unstack("variant")
    order = [(kind, name) for name in PRINTED for kind in kinds]
    cells = long[CELL].drop_duplicates()
    found = found.loc[list(cells.itertuples(index=False, name=None)), order]
    found.columns = [f"{PRINTED[name]}: {kind}" for kind, name in found.columns]
    return found.reset_index()


def late_accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Best accuracy (%) beside the mean of the last rounds, 50 of 1000 (FEDDRL-A34), means over seeds.

    The best of all rounds is chosen with the test data, as the paper does, and flatters every method.
    """
    named, found = quantities.named(rows), []
    for cell, part in quantities.cells(named):
        line, late = name_cell(cell), quantities.late_levels(part)
        for variant in (name for name in PRINTED if (part.variant == name).any()):
            line[f"{PRINTED[variant]} best"] = quantities.best(part, variant).mean()
            line[f"{PRINTED[variant]} late"] = late[variant].mean()
        found.append(line)
    return _marked(pd.DataFrame(found), rows)


def _marked(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table with data sets that stand in for the paper's called so; without lines as it is."""
    if table.empty:
        return table
    names = {quantities.PAPER_DATA[name]: title_of(name) for name in rows.dataset.unique()}
    return table.assign(data=table.data.map(lambda name: names.get(name, name)))


def gain_table(rows: pd.DataFrame) -> pd.DataFrame:
    """impr.(a) and impr.(b) of table 3 (%): printed, ours with its interval."""
    named, found = quantities.named(rows), []
    printed = {over: printed_gains(over) for over in ("best", "worst")}
    for cell, best in quantities.best_by_cell(named, needs=quantities.THREE):
        line, means = name_cell(cell), best[list(quantities.BASELINES)].mean()
        for over, baseline in (("best", means.idxmax()), ("worst", means.idxmin())):
            gain = quantities.relative_gain(best.feddrl, best[baseline])
            interval = contrasts.paired(gain, 0 * gain)
            better = {"best": "over the better", "worst": "over the worse"}[over]
            line[f"{better}: paper"] = printed[over][line_key(line)]
            line |= interval.columns(f"{better}: ours", f"{better}: ")
        found.append(line)
    return _marked(pd.DataFrame(found), rows)


def line_key(line: dict[str, object]) -> tuple[str, str, int]:
    """The published tables' key of a cell."""
    return line["data"], line["partition"], line["N"]


def control_table(rows: pd.DataFrame) -> pd.DataFrame:
    """FedDRL less each control in best accuracy (points), per cell, with its interval over seeds."""
    named, found = quantities.named(rows), []
    for cell, best in quantities.best_by_cell(named, needs=("feddrl",)):
        for control, values in best.items():
            if control not in ("feddrl", "singleset"):
                interval = contrasts.paired(best.feddrl, values)
                found.append({**name_cell(cell), "control": control, **vars(interval)})
    return _marked(pd.DataFrame(found, columns=[*CELL, "control", "mean", "low", "high", "n"]), rows)


def pooled_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """FedDRL less each control, mean over the cells of a seed, then over seeds; and in how many cells.

    The cells of real images first; then all, if some have generated ones.
    """
    real, found = real_rows(rows), []
    blocks = {"real": real, "all, with the stand-in": rows} if 0 < len(real) < len(rows) else {"": rows}
    for images, part in blocks.items():
        each, named = control_table(part), quantities.named(part)
        for control, mine in each.groupby("control", sort=False):
            line = {"images": images} if images else {}
            line |= {"FedDRL less": control, **pooled_lead(named, control).columns("points", "")}
            ahead, behind = int((mine.low > 0).sum()), int((mine.high < 0).sum())
            found.append({**line, "clearly ahead": ahead, "clearly behind": behind, "cells": len(mine)})
    return pd.DataFrame(found)


def pooled_lead(named: pd.DataFrame, control: str) -> Interval:
    """FedDRL's best accuracy less a control's (points), mean over all cells of a seed, then over seeds."""
    parts = [part for _, part in quantities.cells(named, needs=("feddrl", control))]
    pairs = ((quantities.best(part, "feddrl"), quantities.best(part, control)) for part in parts)
    return contrasts.pooled(pairs)


def rounds_table(rows: pd.DataFrame) -> pd.DataFrame:
    """fig. 10: target (%), mean rounds to it, and the baselines' rounds over FedDRL's.

    "with stage 1" adds the rounds of FedDRL's workers, which run side by side (FEDDRL-A24). The target
    is what the paper's three methods reach; a control that misses it in a seed has no number.
    """
    return _marked(_rounds(rows).round(2), rows)


def rounds_of_three(rows: pd.DataFrame) -> pd.DataFrame:
    """`rounds_table` of the paper's three methods, each ratio beside the rounds that it is of."""
    table, names = rounds_table(rows), [PRINTED[name] for name in quantities.THREE]
    shown = {"target": "target (%)", **{name: f"rounds to it: {name}" for name in (*names, "with stage 1")}}
    shown |= {f"{name} / FedDRL": f"over FedDRL's: {name}" for name in ("FedAvg", "FedProx")}
    return table[[*CELL, *shown]].rename(columns=shown)


def rounds_of_controls(rows: pd.DataFrame) -> pd.DataFrame:
    """`rounds_table` of FedDRL beside its online mode and controls; of a control that was not run, none."""
    table = rounds_table(rows)
    known = [name for name in CONTROLS if table[name].notna().any()]
    labels = {name: f"rounds to the target: {method_style(name).label}" for name in known}
    shown = {"FedDRL": "rounds to the target: FedDRL", **labels}
    return table[[*CELL, *shown]].rename(columns=shown)


def seed_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Rounds of FedAvg and FedProx over FedDRL's in every seed: variant, ratio, place in `rounds_table`."""
    found = []
    for place, (_, part) in enumerate(quantities.cells(quantities.named(rows), needs=quantities.THREE)):
        target = quantities.target_accuracy(part)
        own = quantities.rounds_to(part, "feddrl", target)
        for name in quantities.BASELINES:
            ratios = quantities.rounds_to(part, name, target) / own
            found += [{"place": place, "variant": name, "ratio": ratio} for ratio in ratios]
    return pd.DataFrame(found, columns=["place", "variant", "ratio"])


def printed_rounds(rows: pd.DataFrame) -> pd.DataFrame:
    """The only numbers that fig. 10's text prints, CIFAR-100, CE, N = 10: published, ours, difference.

    No difference on generated images; empty where that cell has not been run.
    """
    found = _rounds(rows)
    cell = found[(found.data == "CIFAR-100") & (found.partition == "CE") & (found.N == 10)]
    ratio = "relative_rounds_to_target"
    printed = {
        "target": ("target accuracy (%)", from_text("target_accuracy")),
        "FedDRL": ("FedDRL's rounds", from_text("rounds_to_target")),
        "FedAvg / FedDRL": ("FedAvg / FedDRL", from_text(ratio, method="FedAvg")),
        "FedProx / FedDRL": ("FedProx / FedDRL", from_text(ratio, method="FedProx")),
    }
    lines = [
        {"quantity": name, "published": value, "ours": ours, "difference": ours - value}
        for column, (name, value) in printed.items()
        for ours in cell[column]
    ]
    table = pd.DataFrame(lines, columns=["quantity", "published", "ours", "difference"]).round(2)
    return table.assign(difference=math.nan) if "CIFAR-100" in _generated(rows) else table


def _rounds(rows: pd.DataFrame) -> pd.DataFrame:
    """`rounds_table` before rounding, with the paper's names of the data sets."""
    named, found = quantities.named(rows), []
    for cell, part in quantities.cells(named, needs=quantities.THREE):
        target = quantities.target_accuracy(part)
        needed = {name: quantities.rounds_to(part, name, target).mean() for name in quantities.THREE}
        first = part[part.variant == "feddrl"].iloc[0]
        stage_1 = json.loads(first.method_options).get("worker_rounds", first.rounds)
        line = {**name_cell(cell), "target": target.mean()}
        line |= {PRINTED[name]: value for name, value in needed.items()}
        line["with stage 1"] = needed["feddrl"] + stage_1
        for name in CONTROLS:
            known = (part.variant == name).any()
            reached = quantities.rounds_to(part, name, target) if known else target * math.nan
            line[name] = reached.mean(skipna=False)
        line["FedAvg / FedDRL"] = needed["fedavg"] / needed["feddrl"]
        line["FedProx / FedDRL"] = needed["fedprox"] / needed["feddrl"]
        found.append(line)
    columns = [*CELL, "target", *(PRINTED[name] for name in quantities.THREE), "with stage 1", *CONTROLS]
    return pd.DataFrame(found, columns=[*columns, "FedAvg / FedDRL", "FedProx / FedDRL"])


def over(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Best accuracy (%) of every seed against a setting: variant, partition, <column>, seed, best."""
    named, found = quantities.named(rows), []
    if column not in named:
        settings = [quantities.partition_setting(text, column) for text in named.partition_options]
        named = named.assign(**{column: settings})
    for (partition, at), part in named.groupby(["partition", column], sort=True):
        for variant in quantities.variant_order(part):
            for seed, value in quantities.best(part, variant).items():
                found.append(
                    {"variant": variant, "partition": partition, column: at, "seed": seed, "best": value}
                )
    return pd.DataFrame(found)


def over_baseline(found: pd.DataFrame, column: str) -> pd.DataFrame:
    """Leads (points) over the better of FedAvg and FedProx at each setting, paired by seed.

    found: `over`; the better one is chosen by its mean over seeds. Columns variant, partition, <column>,
    seed, lead; SingleSet and the baselines are left out, and settings without both of these.
    """
    lines = []
    for (partition, at), part in found.groupby(["partition", column], sort=False):
        best = part.pivot(index="seed", columns="variant", values="best")
        if not set(quantities.BASELINES) <= set(best):
            continue
        better = best[best[list(quantities.BASELINES)].mean().idxmax()]
        own = [name for name in quantities.variant_order(part) if name not in PRINTED or name == "feddrl"]
        for name in own:
            lead = (best[name] - better).dropna()
            where = {"variant": name, "partition": partition, column: at}
            lines += [{**where, "seed": seed, "lead": value} for seed, value in lead.items()]
    return pd.DataFrame(lines, columns=["variant", "partition", column, "seed", "lead"])


def factor_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean impact factor (%) of a main-group client and of another, later rounds, mean over seeds.

    With ten equal clients every factor is 10 % under FedAvg (CE).
    """
    named, found = quantities.named(rows), []
    for cell, part in quantities.cells(named):
        factors = quantities.group_factors(part)
        later = factors[factors["round"] > INITIAL * factors["round"].max()]
        for variant in quantities.variant_order(later):
            seeds = later[later.variant == variant].groupby("seed")[["main", "others"]].mean() * 100
            interval = contrasts.paired(seeds.others, seeds.main)
            line = {**name_cell(cell), "variant": variant, "main": seeds.main.mean()}
            found.append({**line, "others": seeds.others.mean(), **interval.columns("others - main", "")})
    return _marked(pd.DataFrame(found).round(3), rows)


def policy_factors(rows: pd.DataFrame) -> pd.DataFrame:
    """`factor_table` of the variants whose factors a policy decides."""
    return factor_table(rows[rows.method == "feddrl"])


def small_setting_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Best accuracy (%) and mean reward (nats) of every variant, both also less uniform weights'."""
    named, found = quantities.named(rows), []
    accuracy, reward = quantities.best(named, "uniform"), quantities.rewards(named, "uniform")
    for variant in quantities.variant_order(named):
        best, earned = quantities.best(named, variant), quantities.rewards(named, variant)
        points, nats = contrasts.paired(best, accuracy), contrasts.paired(earned, reward)
        line = {
            "variant": variant, "best accuracy": best.mean(),
            **points.columns("less uniform weights (points)", ""),
        }  # fmt: skip
        found.append({**line, "mean reward": earned.mean(), **nats.columns("less uniform weights (nats)")})
    return pd.DataFrame(found).round(3)


def time_table(rows: pd.DataFrame) -> pd.DataFrame:
    """fig. 9: printed means beside our medians (ms), their difference, and our deciles; K = 10."""
    cnn = "MNIST,Fashion-MNIST"
    printed = {("decision", model): from_text("drl_time") for model in ("vgg11", "cnn-feddrl")}
    printed["averaging", "vgg11"] = from_text("aggregation_time", dataset="CIFAR-100")
    printed["averaging", "cnn-feddrl"] = from_text("aggregation_time", dataset=cnn)
    ten = rows[rows.cohort_size == 10]
    paper = [printed.get(key) for key in zip(ten.what, ten.model, strict=True)]
    shown = ten[["what", "model", "data", "timed_on", "threads", "median_ms", "p10_ms", "p90_ms"]]
    shown.insert(5, "paper_ms", pd.array(paper, dtype="Float64"))
    shown.insert(7, "difference_ms", shown.median_ms - shown.paper_ms)
    return shown.round(3).reset_index(drop=True)


def agent_share(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of a round that the agent adds for each network, in percent, on this machine.

    The decision; then the decision and what Algorithm 1 made rounds longer, with so many experiences in
    D: in a side thread where a core is free for it, in line where `threads` are all cores.
    """
    ten, found = rows[(rows.cohort_size == 10) & (rows.data == "fmnist")], []
    decisions = ten[ten.what == "decision"].set_index(["timed_on", "model"]).median_ms
    rounds = ten[ten.what.str.startswith("round")]
    for (device, model, threads), part in rounds.groupby(["timed_on", "model", "threads"], sort=False):
        median = part.set_index("what").median_ms
        decision, whole = decisions[device, model], median["round"]
        line = {"timed_on": device, "threads": threads, "model": model, "round_ms": whole}
        line["decision_%"] = 100 * decision / whole
        for what, ms in median.filter(like="round, ").items():
            line[f"{what.removeprefix('round, ')}_%"] = 100 * (decision + ms - whole) / whole
        found.append(line)
    return pd.DataFrame(found)
