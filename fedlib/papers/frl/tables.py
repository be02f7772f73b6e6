"""The report's tables from stored rows: published value, ours with its interval, and the difference."""

from math import nan
from typing import Any

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.published import load_published
from fedlib.analysis.tables import compare, listed, summarise_seeds
from fedlib.papers.frl import quantities
from fedlib.papers.frl.errata import times
from fedlib.papers.frl.runs import CASES, EMBEDDINGS, SCHEDULERS
from fedlib.plotting.style import method_style

LESS_FEDAVG = "less FedAvg (points)"
PRINTED = {"schedulerfl": "DDPG", "random": "random"}  # our variant: the name in tables 2 and 3
QUANTITIES = {
    "max_seconds": "maximum time per round (s)",
    "rounds": "rounds",
    "total_seconds": "total time (s)",
}


def published_times(table: str) -> pd.DataFrame:
    """Rounds, mean maximum time and total time of tables 2 and 3, from their printed rounds."""
    rows = []
    for variant, method in PRINTED.items():
        seconds = times(table, method)
        values = {"max_seconds": seconds.mean(), "rounds": len(seconds), "total_seconds": seconds.sum()}
        rows += [
            {"method": variant, "quantity": words, "value": float(values[name])}
            for name, words in QUANTITIES.items()
        ]
    return pd.DataFrame(rows)


def compare_times(rows: pd.DataFrame, table: str) -> pd.DataFrame:
    """Table 2 or 3, printed beside ours; a seed that misses the threshold has no number of rounds.

    reached: how many seeds do reach it; the mean number of rounds is over these only, and has no difference
    where others miss it.
    """
    ours = quantities.rounds_to_threshold(quantities.named(rows))
    frames = []
    for name, words in QUANTITIES.items():
        part = ours[ours["variant"].isin(PRINTED)].dropna(subset=[name])
        frames.append(summarise_seeds(part, "variant", name).assign(quantity=words))
    found = pd.concat(frames).rename(columns={"variant": "method"})
    beside = compare(published_times(table), found, ["method", "quantity"])
    reached = {
        name: f"{part['rounds'].notna().sum()} of {len(part)}" for name, part in ours.groupby("variant")
    }
    missed = [name for name, part in ours.groupby("variant") if part["rounds"].isna().any()]
    partial = beside["method"].isin(missed) & (beside["quantity"] == QUANTITIES["rounds"])
    beside.loc[partial, "difference"] = nan  # the mean of the quicker seeds is not what the report gives
    return beside.assign(reached=beside["method"].map(reached))


def schedulers(rows: pd.DataFrame) -> pd.DataFrame:
    """Every policy of fig. 30 in both cases: means over seeds, and how many seeds reach the threshold."""
    table = quantities.rounds_to_threshold(quantities.named(rows))
    order = ["schedulerfl", *SCHEDULERS]
    found: list[dict[str, Any]] = []
    for (case, variant), part in table.groupby(["case", "variant"], sort=False):
        reached = part["rounds"].notna().sum()
        found.append(
            {
                "case": case, "policy": variant, "workers a round": part["selected"].mean(),
                "reached": f"{reached} of {len(part)}", "rounds": part["rounds"].mean(),
                "max s": part["max_seconds"].mean(), "total s": part["total_seconds"].mean(),
                "final (%)": part["final"].mean(),
                "variance of participation": part["participation_variance"].mean(),
                "never drawn": part["never_selected"].mean(),
            }
        )  # fmt: skip
    frame = pd.DataFrame(found)
    rank = frame["policy"].map({name: place for place, name in enumerate(order)})
    return frame.assign(rank=rank).sort_values(["case", "rank"]).drop(columns="rank").reset_index(drop=True)


def missing_seeds(rows: pd.DataFrame) -> str:
    """Sentence on policies of fig. 30 that lack a seed which others have; empty if none does."""
    told = []
    for case, same in quantities.named(rows).groupby("case"):
        every = set(same["seed"])
        for policy, own in same.groupby("variant", sort=False):
            lacking = ", ".join(map(str, sorted(every - set(own["seed"]))))
            told += [f"{method_style(str(policy)).label}, {case}, seed {lacking}"] * bool(lacking)
    return f"Failed or not run: {'; '.join(told)}." if told else ""


def cases(rows: pd.DataFrame) -> pd.DataFrame:
    """Figs. 10 to 13: accuracy after the first and last round, and its mean over the rounds, in percent."""
    found = []
    for figure, (title, _) in CASES.items():
        own = rows[(rows["artifact"] == figure) & (rows["round"] > 0)]
        own = own.assign(test_accuracy=100 * own["test_accuracy"])
        last = own["round"].max()
        line: dict[str, Any] = {"figure": figure.removeprefix("fig"), "case": title}
        for words, part in (
            ("after round 1", own[own["round"] == 1]),
            (f"after round {last}", own[own["round"] == last]),
            ("mean over rounds", own.groupby("seed", as_index=False)["test_accuracy"].mean()),
        ):
            interval = mean_interval(part["test_accuracy"].to_numpy())
            line |= interval.columns(f"accuracy (%): {words}")
        found.append(line | {"seeds": interval.n})
    return pd.DataFrame(found)


def evaluators(rows: pd.DataFrame) -> pd.DataFrame:
    """Sec. V: final accuracy of the last episodes less FedAvg's, share selected, when it settles.

    redrawn: rounds in which too few were drawn at first (FRL-A5).
    """
    rows, found = quantities.named(rows), []
    for workers in sorted(set(rows["num_clients"])):
        same = rows[rows["num_clients"] == workers]
        fedavg = contrasts.final(same[same["variant"] == "fedavg"])
        for (approach, variant), own in same.groupby([quantities.approach(same), "variant"], sort=True):
            learns = own["method"].iloc[0] == "evaluatorfl"
            final = by_seed(own, quantities.late_final) if learns else contrasts.final(own)
            both = final.index.intersection(fedavg.index)  # none while FedAvg's runs are missing
            gap = contrasts.paired(final, fedavg) if len(both) else Interval(nan, nan, nan, 0)
            line = {
                "workers": workers, "approach": approach or "-", "variant": variant,
                "final (%)": final.mean(), **gap.columns(LESS_FEDAVG, ""), "n": gap.n,
            }  # fmt: skip
            if learns:
                line["redrawn (%)"] = 100 * (own.loc[own["round"] > 0, "redraws"] > 0).mean()
                settled = by_seed(own, quantities.settled_from)
                line["selected (%)"] = 100 * by_seed(own, quantities.share_selected).mean()
                line["settled"] = f"{int(settled.notna().sum())} of {len(settled)}"
            found.append(line)
    return pd.DataFrame(found)


def evaluator_gaps(rows: pd.DataFrame, variant: str = "evaluatorfl") -> dict[str, Interval]:
    """EvaluatorFL's final accuracy less FedAvg's and less that of as many workers at random (points).

    Means over the sizes and approaches that the variant has; empty where a control has no runs.
    """
    named, against = quantities.named(rows), {"fedavg": {}, "evaluatorfl_shuffled": {}}
    for (workers, approach), part in named.groupby(["num_clients", quantities.approach(named)]):
        ours = by_seed(part[part["variant"] == variant], quantities.late_final)
        shuffled = by_seed(part[part["variant"] == "evaluatorfl_shuffled"], quantities.late_final)
        fedavg = contrasts.final(named[(named["variant"] == "fedavg") & (named["num_clients"] == workers)])
        if approach and len(ours):
            against["fedavg"][workers, approach] = ours - fedavg
            against["evaluatorfl_shuffled"][workers, approach] = ours - shuffled
    frames = {name: pd.DataFrame(gaps).dropna() for name, gaps in against.items()}
    if any(frame.empty for frame in frames.values()):
        return {}
    return {name: mean_interval(frame.mean(axis=1).to_numpy()) for name, frame in frames.items()}


def help_sentence(rows: pd.DataFrame) -> str:
    """Sentence on EvaluatorFL's final accuracy against FedAvg and against as many workers at random."""
    found = evaluator_gaps(rows)
    if not found:
        return "No runs of EvaluatorFL stand beside its controls."
    says = by_sign(
        found["evaluatorfl_shuffled"], above="its choice helps", below="its choice harms",
        undecided="that its choice helps does not show",
    )  # fmt: skip
    return (
        f"EvaluatorFL ends {effect_words(found['fedavg'], 'points')} against FedAvg after as many rounds "
        f"(mean over both approaches and sizes, {found['fedavg'].n} seeds). Against as many workers at "
        f"random it ends {effect_words(found['evaluatorfl_shuffled'], 'points')}: {says}."
    )


def first_rounds(rows: pd.DataFrame) -> pd.DataFrame:
    """EvaluatorFL 2 by number of workers and reading: accuracies after the first round, and rewards.

    global: theta_G's on the test set; rewarded: Rhat, of the models that the reading rewards, on the workers'
    own test data; both in percent, mean over episodes. |R|: mean size of the reward.
    """
    rows = quantities.named(rows)
    rows, found = rows[rows["round"] > 0], []
    for (workers, variant), own in rows.groupby(["num_clients", "variant"], sort=True):
        first = own["episode_round"] == 1
        line: dict[str, Any] = {"workers": workers, "variant": variant}
        for name, column, part in (
            ("global", "test_accuracy", own[first]),
            ("rewarded", "value", own[first]),
        ):
            percent = by_seed(part, lambda one, column=column: 100 * one[column].mean())
            line |= mean_interval(percent.to_numpy()).columns(f"{name}: %", f"{name}: ")
        line["|R|: first round"] = own[first]["reward"].abs().mean()
        line["|R|: others"] = own[~first]["reward"].abs().mean()
        found.append(line | {"seeds": own["seed"].nunique()})
    return pd.DataFrame(found)


def first_round_sentence(rows: pd.DataFrame) -> str:
    """Sentence on C6: accuracy after an episode's first round of either model; empty without rows."""
    if rows.empty:
        return ""
    lines = [line for _, line in first_rounds(rows).iterrows()]
    ours, local = (
        listed([f"{_level(line, model)} with {line.workers} workers" for line in lines])
        for model in ("global", "rewarded")
    )
    return (
        f"After the first round of an episode the new global model has {ours} at "
        f"`{rows['profile'].iloc[0]}`. The workers' own models, which the code rewards, have {local}. The "
        "report has about 85 %."
    )


def _level(line: pd.Series, model: str) -> str:
    """`60 [27, 93] %` of a line of `first_rounds`."""
    found = Interval(line[f"{model}: %"], line[f"{model}: low"], line[f"{model}: high"], line.seeds)
    return effect_words(found, "%").replace("+", "")


ADJUSTED = "adjusted_Rand_index"


def embeddings(rows: pd.DataFrame) -> pd.DataFrame:
    """Figs. 24, 25, 31 to 34: adjusted Rand index of k-means on two dimensions."""
    table = summarise_seeds(rows, "method", "rand_index").rename(columns={"mean": ADJUSTED})
    figures = table["method"].map({method: figure for method, (figure, _) in EMBEDDINGS.items()})
    names = table["method"].map({method: name for method, (_, name) in EMBEDDINGS.items()})
    return table.assign(figure=figures, method=names)[["figure", "method", ADJUSTED, "low", "high", "n"]]


def compare_pca(rows: pd.DataFrame) -> pd.DataFrame:
    """Fig. 24: explained variance of two components and components for 95 %, printed beside ours."""
    own = rows[rows["method"] == "pca"]
    parts = {
        "explained_variance_2_components": own.assign(value=100 * own["explained_2"]),
        "components_for_95_percent": own.assign(value=own["components_95"].astype(float)),
    }
    words = ("explained variance, 2 components (%)", "components for 95 % of the variance")
    ours = pd.concat(
        [summarise_seeds(part.assign(metric=name), "metric", "value") for name, part in parts.items()]
    )
    printed = load_published("frl_settings")
    printed = printed[printed["metric"].isin(parts)][["metric", "value"]]
    beside = compare(printed.assign(value=printed["value"].astype(float)), ours, ["metric"])
    return beside.replace({"metric": dict(zip(parts, words, strict=True))})


def ends_of_training(rows: pd.DataFrame) -> pd.DataFrame:
    """Per agent: decisions until fewer than ten are selected, and the probabilities at the end of training.

    Median over seeds, with the smallest and the largest; stopped: seeds in which fewer than ten are selected
    before the last decision.
    """
    last = rows.loc[rows.groupby(["method", "seed"])["round"].idxmax()]
    stop = rows[rows["before_stop"].astype(bool)].groupby(["method", "seed"])["round"].max()
    found = last.set_index(["method", "seed"]).join(stop.rename("stops_after"))
    columns = {
        "stops_after": ("stops after", 0), "expected_selected": ("selected", 0),
        "chance_fastest_tenth": ("fastest tenth", 2), "chance_slow_half": ("slow half", 2),
    }  # fmt: skip
    lines = []
    for method, own in found.reset_index().groupby("method", sort=False):
        early = int((own["stops_after"] < own["round"]).sum())
        spread = {
            words: f"{own[name].median():.{n}f} ({own[name].min():.{n}f} to {own[name].max():.{n}f})"
            for name, (words, n) in columns.items()
        }
        lines.append({"method": method, "stopped": f"{early} of {len(own)}", **spread})
    return pd.DataFrame(lines)


def static_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """The static world: mean probabilities by number of workers and agent, and how many runs succeed."""
    found = rows.groupby(["workers", "method"], sort=False)
    names = {
        "ahead_at_stop": "probability at the stop: fast less slow",
        "fast": "probability at the end: fast", "slow": "probability at the end: slow",
        "slow_max": "probability at the end: slow, largest", "on_one_line": "on one line",
    }  # fmt: skip
    table = found[list(names)].mean().rename(columns=names)
    counts = found["found"].agg(["sum", "size"])
    table["found"] = [f"{one} of {all_}" for one, all_ in zip(counts["sum"], counts["size"], strict=True)]
    return table.sort_index(level="workers", sort_remaining=False).reset_index()


def static_sentence(rows: pd.DataFrame) -> str:
    """Say whether noise alone hinders SchedulerFL: runs of it and its variants that find the fast without."""
    told, alone = [], []
    always = rows.loc[rows["method"] == "schedulerfl", "found"].all()
    answer = "Nothing but noise hinders it" if always else "Noise is not all that hinders it"
    for workers, same in rows.groupby("workers"):
        counts = same.groupby("method", sort=False)["found"].sum().astype(int)
        runs = same.groupby("method", sort=False).size()
        alone.append(f"{counts['schedulerfl']} of {runs['schedulerfl']} runs among {workers} workers")
        others = [
            f"{method_style(str(name)).label.removeprefix('SchedulerFL, ')} ({count} of {runs[name]})"
            for name, count in counts.items()
            if count and name != "schedulerfl"
        ]
        told.append(f"Changed agents that do among {workers} workers: {', '.join(others) or 'none'}.")
    return (
        f"{answer}: where times never change, SchedulerFL finds the fast half of the workers in "
        f"{listed(alone)}. "
        f"{' '.join(told)}"
    )
