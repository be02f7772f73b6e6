"""The report's claims FRL-C1 to C15, decided from rows with the interval that decided.

C10 to C14 are about the scheduler: their evidence has both readings of its state (FRL-A12).
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fedlib.papers import NOT_TESTABLE, Claim, Verdict, decide
from fedlib.papers import frl_measures as measure
from fedlib.papers.decide import all_of
from fedlib.papers.frl_readings import in_both_readings

if TYPE_CHECKING:
    import pandas as pd

EPISODES, WORKERS = 20, (20, 100)  # the claims about EvaluatorFL need all of them


def not_above(interval, evidence: str, margin: float) -> Verdict:
    """Supported if the whole interval is below `margin`, not supported if above, else mixed."""
    found = decide.by_sign(interval, evidence, margin=margin).verdict
    swapped = {"supported": "not supported", "not supported": "supported"}
    return Verdict(swapped.get(found, found), evidence)


def _difference(name: str, a: "pd.Series", b: "pd.Series", unit: str, margin: float = 0.0) -> Verdict:
    """Is a - b above the margin over the common seeds?"""
    interval = decide.paired(a, b)
    return decide.by_sign(interval, f"{name}: {decide.words(interval, unit)}", margin=margin)


def _of_seeds(values: "pd.Series"):
    return decide.paired(values, 0 * values)


def _list(values: "pd.Series", digits: int = 0) -> str:
    return ", ".join("-" if value != value else f"{value:.{digits}f}" for value in values)


def _too_few_episodes(rows: "pd.DataFrame") -> str:
    """Why the rows cannot decide about 20 episodes of 20 and 100 workers; empty if they can."""
    episodes, workers = int(rows["episode"].max()), sorted(set(rows["num_clients"]))
    if episodes >= EPISODES and set(WORKERS) <= set(workers):
        return ""
    given = f"{episodes} episodes of {', '.join(map(str, workers))} workers"
    return f"{given}; the claim is about {EPISODES} of 20 and 100"


def _of_size(rows: "pd.DataFrame", workers: int, variant: str = "evaluatorfl") -> "pd.DataFrame":
    rows = measure.named(rows) if "variant" not in rows else rows
    return rows[(rows["num_clients"] == workers) & (rows["variant"] == variant)]


def decide_cases(rows: "pd.DataFrame") -> Verdict:
    """C1 by the mean accuracy over rounds 1 to 10, which a slower rise lowers."""
    from fedlib.papers.frl_grid import CASES

    curves = {}
    for figure in CASES:
        own = rows[(rows["artifact"] == figure) & (rows["round"] > 0)]
        curves[figure] = measure.by_seed(own, lambda part: 100 * part["test_accuracy"].mean())
    pairs = (("fig10", "fig12"), ("fig11", "fig12"), ("fig12", "fig13"))
    names = {"fig10": "IID", "fig11": "volume", "fig12": "balanced labels", "fig13": "unbalanced labels"}
    return all_of([_difference(f"{names[a]} - {names[b]}", curves[a], curves[b], "points") for a, b in pairs])


def decide_settling(rows: "pd.DataFrame") -> Verdict:
    """C2: 20 workers from episode 1 or 2 on, 100 workers from one of 15 to 20 on."""
    if reason := _too_few_episodes(rows):
        return Verdict(NOT_TESTABLE, reason)
    small, large = (measure.by_seed(_of_size(rows, k), measure.settled_from) for k in WORKERS)
    flags = [bool(e <= 2) for e in small] + [bool(15 <= e <= 20) for e in large]
    evidence = f"settled from episode {_list(small)} (20 workers), {_list(large)} (100); - is never"
    return decide.by_count(flags, evidence)


def decide_rewards(rows: "pd.DataFrame") -> Verdict:
    """C3 on Rhat, whose moving average the reward lacks: late episodes over early ones, and its spread."""
    if reason := _too_few_episodes(rows):
        return Verdict(NOT_TESTABLE, reason)
    parts, spread = [], {}
    for workers in WORKERS:
        own = _of_size(rows, workers)
        gain = 100 * measure.by_seed(own, partial(measure.late_gain, column="value"))
        interval = _of_seeds(gain)
        parts.append(
            decide.by_sign(interval, f"Rhat, {workers} workers, late - early: {decide.words(interval)}")
        )
        late = own[own["episode"] > EPISODES // 2]
        spread[workers] = 100 * measure.by_seed(
            late, lambda part: part["reward"].where(part["episode_round"] > 1).std()
        )
    parts.append(_difference("spread of the reward, 100 - 20 workers", spread[100], spread[20], "points"))
    return all_of(parts)


def decide_no_faster(rows: "pd.DataFrame") -> Verdict:
    """C4: mean accuracy of the last 5 episodes over the first 5, within one point."""
    parts = []
    for workers in sorted(set(rows["num_clients"])):
        gain = 100 * measure.by_seed(
            _of_size(rows, workers), partial(measure.late_gain, column="test_accuracy")
        )
        interval = _of_seeds(gain)
        evidence = f"{workers} workers, late - early episodes: {decide.words(interval)}"
        parts.append(not_above(interval, evidence, 1.0))
    reason = _too_few_episodes(rows)
    return Verdict(NOT_TESTABLE, reason) if reason else all_of(parts)


def decide_second_settling(rows: "pd.DataFrame") -> Verdict:
    """C5: no selection is kept, and at least 80 % of the workers are used at the end."""
    if reason := _too_few_episodes(rows):
        return Verdict(NOT_TESTABLE, reason)
    flags, texts = [], []
    for variant in ("evaluatorfl", "evaluatorfl_code"):
        for workers in WORKERS:
            own = _of_size(rows, workers, variant)
            settled, used = (measure.by_seed(own, f) for f in (measure.settled_from, measure.share_selected))
            flags += [bool(e != e) for e in settled] + [bool(share >= 0.8) for share in used]
            texts.append(
                f"{variant}, {workers}: settled from {_list(settled)}, {_list(100 * used)} % used at the end"
            )
    return decide.by_count(flags, "; ".join(texts) + " (- is never)")


def decide_first_round(rows: "pd.DataFrame") -> Verdict:
    """C6: 85 % within 5 points after the first round, both sizes; a matter of the task model and E."""
    parts = []
    for workers in sorted(set(rows["num_clients"])):
        own = _of_size(rows, workers)
        first = own[own["episode_round"] == 1]
        found = _of_seeds(measure.by_seed(first, lambda part: 100 * part["test_accuracy"].mean()))
        text = f"{workers} workers: {found.mean:.1f} % [{found.low:.1f}, {found.high:.1f}]"
        inside, outside = found.low > 80 and found.high < 90, found.high < 80 or found.low > 90
        parts.append(Verdict("supported" if inside else "not supported" if outside else "mixed", text))
    if set(rows["model"]) != {"cnn-frl"} or set(rows["local_epochs"]) != {3}:
        return Verdict(NOT_TESTABLE, all_of(parts).evidence + "; the claim is about the CNN and 3 epochs")
    return all_of(parts)


def decide_against_fedavg(rows: "pd.DataFrame") -> Verdict:
    """C7: the last 5 episodes' final accuracy less FedAvg's after as many rounds, not above one point."""
    rows, parts = measure.named(rows), []
    for workers in sorted(set(rows["num_clients"])):
        fedavg = decide.final(rows[(rows["num_clients"] == workers) & (rows["variant"] == "fedavg")])
        for artifacts, approach in ((("fig14", "fig15"), 1), (("fig19", "fig20"), 2)):
            own = _of_size(rows, workers)
            ours = measure.by_seed(own[own["artifact"].isin(artifacts)], measure.late_final)
            interval = decide.paired(ours, fedavg)
            text = f"approach {approach}, {workers} workers - FedAvg: {decide.words(interval)}"
            parts.append(not_above(interval, text, 1.0))
    return all_of(parts)


def decide_pca(rows: "pd.DataFrame") -> Verdict:
    """C8: 15 to 35 % on two components, a Rand index of 0.9, 35 to 39 components for 95 %."""
    own = rows[rows["method"] == "pca"].set_index("seed").sort_index()
    if own["workers"].min() < 40:
        return Verdict(NOT_TESTABLE, f"{own['workers'].min()} workers; the claim is about 40")
    explained, index, needed = own["explained_2"], own["rand_index"], own["components_95"]
    flags = [*explained.between(0.15, 0.35), *(index >= 0.9), *needed.between(35, 39)]
    evidence = (
        f"two components {_list(100 * explained)} %, adjusted Rand index {_list(index, 2)}, "
        f"{_list(needed)} components for 95 %, {len(own)} seeds"
    )
    return decide.by_count([bool(flag) for flag in flags], evidence)


def decide_spectral(rows: "pd.DataFrame") -> Verdict:
    """C9: a Rand index of 0.9 in every seed."""
    index = rows.set_index("seed")["rand_index"].sort_index()
    evidence = f"adjusted Rand index {_list(index, 2)}, {len(index)} seeds"
    if rows["workers"].min() < 40:
        return Verdict(NOT_TESTABLE, evidence + f", {rows['workers'].min()} workers of 40")
    return decide.by_count([bool(value >= 0.9) for value in index], evidence)


def _ends(rows: "pd.DataFrame", column: str) -> "tuple[pd.Series, pd.Series]":
    """Means of the report's agent over its first and last `LATE` experiments, by seed."""
    own = rows[rows["method"] == "schedulerfl"]
    first = own[own["experiment"] <= measure.LATE]
    last = own[own["experiment"] > own.groupby("seed")["experiment"].transform("max") - measure.LATE]
    return tuple(part.groupby("seed")[column].mean() for part in (first, last))


def _enough(rows: "pd.DataFrame", verdict: Callable[[], Verdict]) -> Verdict:
    experiments, workers = int(rows["experiment"].max()), len(rows["drawn"].iloc[0])
    if experiments < 20 or workers < 100:
        return Verdict(
            NOT_TESTABLE, f"{experiments} experiments of {workers} workers; the claim is about 30 of 100"
        )
    return verdict()


@in_both_readings
def decide_reward_to_zero(rows: "pd.DataFrame") -> Verdict:
    """C10: |R| falls from the first to the last experiments, and the fastest tenth stands out at the end."""

    def verdict() -> Verdict:
        size = rows.assign(size=rows["reward"].abs(), ahead=100 * _ahead(rows))
        first, last = _ends(size, "size")
        fall = _difference("|reward|, first - last 5 experiments", first, last, "")
        _, ahead = _ends(size, "ahead")
        interval = _of_seeds(ahead)
        text = f"chance of the fastest tenth above the mean at the end: {decide.words(interval)}"
        return all_of([fall, decide.by_sign(interval, text)])

    return _enough(rows, verdict)


def _ahead(rows: "pd.DataFrame") -> "pd.Series":
    """Selection probability of the fastest tenth above the mean over all workers."""
    return rows["chance_fastest_tenth"] - rows["expected_selected"] / rows["drawn"].str.len()


@in_both_readings
def decide_concentration(rows: "pd.DataFrame") -> Verdict:
    """C11: where training would stop, the fastest tenth is more probable than the mean by 10 points."""

    def verdict() -> Verdict:
        own = rows[(rows["method"] == "schedulerfl") & rows["before_stop"].astype(bool)]
        last = own.loc[own.groupby("seed")["round"].idxmax()].set_index("seed").sort_index()
        interval = _of_seeds(100 * _ahead(last))
        text = (
            f"fastest tenth above the mean: {decide.words(interval)}; stopped after decision "
            f"{_list(last['round'])} with {_list(last['expected_selected'])} workers expected"
        )
        return decide.by_sign(interval, text, margin=10.0)

    return _enough(rows, verdict)


@in_both_readings
def decide_maximum_time(rows: "pd.DataFrame") -> Verdict:
    """C12: mean of the rounds' maximum times, first less last 5 experiments."""
    return _enough(rows, lambda: _difference("first - last 5 experiments", *_ends(rows, "max_seconds"), "s"))


def _compared(rows: "pd.DataFrame") -> "pd.DataFrame":
    return measure.rounds_to_threshold(rows if "variant" in rows else measure.named(rows))


def _rounds_words(table: "pd.DataFrame") -> str:
    agent, random = (measure.of_variant(table, v, "rounds") for v in ("schedulerfl", "random"))
    return f"rounds {_list(agent)} against {_list(random)} (- is not reached)"


@in_both_readings
def decide_iid(rows: "pd.DataFrame") -> Verdict:
    """C13: rounds within 2 of random's, and a shorter maximum time."""
    table = _compared(rows)
    agent, random = (measure.of_variant(table, v, "rounds") for v in ("schedulerfl", "random"))
    pairs = (agent - random).dropna()
    if len(pairs) < 2 or rows["num_clients"].min() < 100:
        return Verdict(NOT_TESTABLE, f"{_rounds_words(table)}, {rows['num_clients'].min()} workers")
    gap = _of_seeds(pairs)
    inside, outside = gap.low > -2 and gap.high < 2, gap.low > 2 or gap.high < -2
    speed = Verdict(
        "supported" if inside else "not supported" if outside else "mixed",
        f"{_rounds_words(table)}, difference {decide.words(gap, 'rounds')}",
    )
    times = [measure.of_variant(table, v, "max_seconds") for v in ("random", "schedulerfl")]
    ratio = (times[1] / times[0]).mean()
    return all_of([speed, _difference(f"maximum time {ratio:.2f} times; random - agent", *times, "s")])


@in_both_readings
def decide_non_iid(rows: "pd.DataFrame") -> Verdict:
    """C14: at least 1.5 times the rounds of random (never reached counts), and no shorter maximum time."""
    table = _compared(rows)
    agent, random = (measure.of_variant(table, v, "rounds") for v in ("schedulerfl", "random"))
    if len(random) < 2 or rows["num_clients"].min() < 100:
        return Verdict(NOT_TESTABLE, f"{_rounds_words(table)}, {rows['num_clients'].min()} workers")
    slower = [bool(a != a or a >= 1.5 * b) for a, b in zip(agent, random, strict=True)]
    times = [measure.of_variant(table, v, "max_seconds") for v in ("random", "schedulerfl")]
    gain = decide.paired(*times)
    text = f"maximum time, random - agent: {decide.words(gain, 's')}"
    return all_of([decide.by_count(slower, _rounds_words(table)), not_above(gain, text, 0.0)])


def decide_one_sign(rows: "pd.DataFrame") -> Verdict:
    """C15: above 0.9 at the end where all rewards are positive, below 0.1 where all are negative."""
    flags, texts = [], []
    for reward, own in rows.groupby("reward", sort=False):
        share = own["rewards_above_0"]
        texts.append(f"{reward} ({100 * share.mean():.0f} % above 0): {_list(own['last_chance'], 2)}")
        flags += [bool(last > 0.9) for last in own.loc[share == 1, "last_chance"]]
        flags += [bool(last < 0.1) for last in own.loc[share == 0, "last_chance"]]
    evidence = "mean probability at the end: " + "; ".join(texts)
    if rows["seed"].nunique() < 2:
        return Verdict(NOT_TESTABLE, evidence)
    return decide.by_count(flags, evidence)


CLAIMS = (
    Claim(
        "FRL-C1",
        "FedAvg is fast when all labels are on all workers, slower with balanced non-IID labels, worst with "
        "unbalanced ones",
        "frl/cases",
        decide_cases,
    ),
    Claim(
        "FRL-C2",
        "EvaluatorFL 1 settles on a selection within one episode with 20 workers, after about 18 of 20 with "
        "100",
        "frl/fig16",
        decide_settling,
    ),
    Claim(
        "FRL-C3",
        "its reward rises to a plateau, slower and oscillating with 100 workers",
        "frl/fig16",
        decide_rewards,
    ),
    Claim(
        "FRL-C4",
        "EvaluatorFL 1 does not make the accuracy rise faster over the episodes",
        "frl/fig16",
        decide_no_faster,
    ),
    Claim(
        "FRL-C5",
        "EvaluatorFL 2 does not converge to a selection; nearly all workers are used",
        "frl/fig21",
        decide_second_settling,
    ),
    Claim(
        "FRL-C6",
        "with approach 2 the first round already reaches about 85 % for 20 and 100 workers",
        "frl/fig21",
        decide_first_round,
    ),
    Claim("FRL-C7", "neither approach beats FedAvg", "frl/sec5", decide_against_fedavg),
    Claim(
        "FRL-C8",
        "two principal components explain about 25 % and separate the four clusters; 37 of 40 keep 95 %",
        "frl/fig24",
        decide_pca,
    ),
    Claim("FRL-C9", "spectral embedding separates the clusters too", "frl/fig25", decide_spectral),
    Claim(
        "FRL-C10",
        "the scheduler's reward tends to zero as the fastest workers are chosen",
        "frl/fig26",
        decide_reward_to_zero,
    ),
    Claim(
        "FRL-C11",
        "selection probabilities concentrate on the fastest workers",
        "frl/fig27",
        decide_concentration,
    ),
    Claim("FRL-C12", "the maximum time falls over the experiments", "frl/fig29", decide_maximum_time),
    Claim(
        "FRL-C13",
        "IID: the scheduler converges as fast as random selection, with a shorter maximum time",
        "frl/table2",
        decide_iid,
    ),
    Claim(
        "FRL-C14",
        "non-IID: it takes about twice the rounds of random selection and gains no time",
        "frl/table3",
        decide_non_iid,
    ),
    Claim(
        "FRL-C15",
        "rewards that are always positive (negative) drive all probabilities to 1 (0)",
        "frl/sec5-rewards",
        decide_one_sign,
    ),
)
