"""EvaluatorFL 1 among 20 workers at the report's own scale, as far as run (figs. 14, 16, 17).

`paper` has the report's CNN and three epochs: 200 rounds of some four minutes on one CPU core, two in
bfloat16. The rows are those of every seed that was begun, up to its last checkpoint; FedAvg's on the same
workers stand beside them where they were run.
"""

from dataclasses import replace

import pandas as pd

from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.intervals import by_sign, effect_words, mean_interval
from fedlib.analysis.tables import span_words
from fedlib.experiments.provenance import ORIGIN
from fedlib.experiments.store import Store
from fedlib.experiments.stored_runs import rows_as_far_as_run
from fedlib.papers.frl import quantities
from fedlib.papers.frl.runs import evaluator_runs, sec_v_runs
from fedlib.run import Run
from fedlib.words import counted

PRECISION = {"paper": "bf16"}  # of local training; float32 at the other profiles (START-C4 compares the two)
_KEPT = [
    "method", "method_options", "dataset", "partition", "partition_options", "num_clients", "model",
    "local_epochs", "precision", "seed", "rounds", "episode_rounds", "round", "episode", "episode_round",
    "test_accuracy", "reward", "value", "selected", "weights", *ORIGIN,
]  # fmt: skip


def full_scale_runs(profile: str) -> list[Run]:
    """Fig. 14's agent as the report describes it, and one episode of FedAvg on the same workers."""
    runs = (evaluator_runs(profile, "fig14")[0], sec_v_runs(profile)[0])
    return [replace(run, precision=PRECISION.get(profile, "float32")) for run in runs]


def as_far_as_run(profile: str, store: Store) -> pd.DataFrame:
    """Rows of `full_scale_runs`, finished or not, as far as the store has them."""
    rows = rows_as_far_as_run(full_scale_runs(profile), store)
    return rows.reindex(columns=_KEPT).assign(stand_in=False)


def by_episode(rows: pd.DataFrame) -> pd.DataFrame:
    """Every episode that some seeds have whole: means over these seeds.

    decided as before: share of the workers with the decision of the round before, where settled is
    `quantities.SETTLED` or more. |R|: mean size of the reward.
    """
    found = []
    for episode, own in _whole_episodes(rows).groupby("episode"):
        first = own["episode_round"] == 1
        found.append(
            {
                "episode": int(episode), "seeds": own["seed"].nunique(),
                "accuracy at its end (%)": by_seed(own, _at_its_end).mean(),
                "selected (%)": 100 * (own["selected"] / own["num_clients"]).mean(),
                "decided as before (%)": 100 * by_seed(own, _alike).mean(),
                "|R|: first round": own.loc[first, "reward"].abs().mean(),
                "|R|: others": own.loc[~first, "reward"].abs().mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def full_scale_sentence(rows: pd.DataFrame) -> str:
    """Say how far the runs are, if they settled, and their accuracy beside FedAvg's.

    Empty without a whole episode, and for rows of a smaller network.
    """
    whole = _whole_episodes(rows) if len(rows) else rows
    if whole.empty or set(whole["model"]) != {"cnn-frl"}:
        return ""
    agent = rows[rows["method"] == "evaluatorfl"]
    common = int(whole.groupby("seed")["episode"].max().min())
    rounds = agent.groupby("seed")["round"].max()
    last, first = (whole[whole["episode"] == episode] for episode in (common, 1))
    settled = int((by_seed(last, _alike) >= quantities.SETTLED).sum())
    told = (
        f"At the report's own scale (its CNN, {agent['local_epochs'].iloc[0]:.0f} epochs), "
        f"{span_words(rounds.tolist())} of {agent['rounds'].iloc[0]:.0f} rounds of approach 1 are run with "
        f"{counted(len(rounds), 'seed')} among {agent['num_clients'].iloc[0]:.0f} workers. "
        f"{settled} of {len(rounds)} runs keep their selection in episode {common}, the last that all have "
        "whole; the report has them settled within one."
    )
    ends = by_seed(last, _at_its_end)
    if common > 1:
        gain = _against(ends, by_seed(first, _at_its_end))
        told += f" The accuracy at its end is {gain} against that of episode 1."
    fedavg = rows[rows["method"] == "fedavg"]
    fedavg = fedavg[fedavg.groupby("seed")["round"].transform("max") == fedavg["rounds"]]
    if set(ends.index) <= set(fedavg["seed"]):
        gap = _against(ends, by_seed(fedavg, _at_its_end))
        told += f" It is {gap} against FedAvg's after as many rounds on the same workers."
    return told


def _against(ours: pd.Series, other: pd.Series) -> str:
    gap = mean_interval((ours - other).dropna().to_numpy())
    words = by_sign(gap, above="higher", below="lower", undecided="no clear difference")
    return f"{effect_words(gap, 'points')} ({words})"


def _whole_episodes(rows: pd.DataFrame) -> pd.DataFrame:
    """The agent's rows of the episodes that a seed has up to their last round."""
    agent = rows[(rows["method"] == "evaluatorfl") & (rows["round"] > 0)]
    reached = agent.groupby(["seed", "episode"])["episode_round"].transform("max")
    return agent[reached == agent["episode_rounds"]]


def _alike(episode: pd.DataFrame) -> float:
    return float(quantities.agreement(episode).iloc[-1])


def _at_its_end(episode: pd.DataFrame) -> float:
    return float(100 * episode.sort_values("round")["test_accuracy"].iloc[-1])
