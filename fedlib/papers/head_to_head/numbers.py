"""Numbers of docs/findings.md and of the first screen of 05_head_to_head."""

from collections.abc import Collection

import pandas as pd

from fedlib.analysis.decisions import NOT_TESTABLE, SUPPORTED
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import FINDINGS, TIMES, Number, RowsOf, single
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import device_runs, public
from fedlib.papers.head_to_head.claims import less_if_run
from fedlib.papers.head_to_head.device_lengths import SHORT, less_with_longer_training
from fedlib.papers.head_to_head.device_quantities import less_at_equal_time
from fedlib.papers.head_to_head.quantities import benchmark_cells
from fedlib.papers.head_to_head.runs import CELL_WORDS, CELLS, CONTESTANTS, RAN_ELSEWHERE

ROWS, DEVICES = "head_to_head/comparison", "head_to_head/devices"
BENCHMARKS = ("head_to_head/benchmark", "head_to_head/fedbench")
SERVER, DECISIONS = "head_to_head/server_time", "head_to_head/device_server_time"
SECOND, THIRD = "head_to_head/second_set", "head_to_head/third_set"
FULL = "head_to_head/full_size"
OTHERS = {SECOND: ("second", "CIFAR-10"), THIRD: ("third", "MNIST")}  # artifact -> part of an id; data set
ELSEWHERE = {**OTHERS, FULL: ("full", "all images")}
NOTEBOOK = "notebooks/05_head_to_head.ipynb"
# Contrasts in simulated time that docs/findings.md states
TOLD = (
    ("FedDdrl", "FedDdrl, random"), ("FedDdrl", "FedAvg"), ("FedDdrl", "FedDdrl, untrained"),
    ("FedDdrl", "FedDdrl, permuted rewards"), ("FedMarl", "FedAvg"), ("FedMarl", "FedMarl, untrained"),
    ("FedMarl", "FedMarl, permuted rewards"), ("EvaluatorFL", "FedAvg"),
    ("SchedulerFL", "FedAvg"), ("SchedulerFL", "SchedulerFL, random"),
    ("SchedulerFL", "SchedulerFL, untrained"), ("SchedulerFL", "SchedulerFL, permuted rewards"),
    ("EvaluatorFL", "EvaluatorFL, untrained"), ("EvaluatorFL", "EvaluatorFL, redrawn selections"),
)  # fmt: skip
STRONG = {"fedyogi": "FedYogi", "fedavgm": "FedAvgM", "fedadam": "FedAdam", "feddyn": "FedDyn"}
LEARNED = tuple(name for name, one in CONTESTANTS.items() if one.learns)


def _short(artifact: str) -> str:
    return artifact.removeprefix("head_to_head/")


def twin_of(name: str) -> str:
    """The untrained policy that stands beside a learned one."""
    return next(twin for twin, one in CONTESTANTS.items() if one.twin_of == name)


def controls_of(name: str) -> list[tuple[str, str]]:
    """Words and names of the controls of a method that learn without its signal."""
    words = {"permuted": device_runs.PERMUTED, "shuffled": "itself with clients shuffled"}
    return [
        (words[one.options["agent"]], twin)
        for twin, one in CONTESTANTS.items()
        if one.twin_of == name and one.options["agent"] in words
    ]


def control_of(name: str) -> tuple[str, str]:
    """Words and name of the registered control that learns without its signal: the first of a method."""
    return controls_of(name)[0]


def _rivals(name: str, run: Collection[str] = CONTESTANTS) -> list[tuple[str, str]]:
    """Words and name of whom a learned method is held against, of those that were run."""
    rivals = (("FedAvg", "fedavg"), ("its untrained policy", twin_of(name)), control_of(name))
    return [*((words, rival) for words, rival in rivals if rival in run), ("the best baseline", "best")]


def _less(name: str, rival: str, words: str, artifact: str = ROWS) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(artifact)
        gaps = pd.DataFrame() if rows.empty else less_if_run(rows, name, rival).dropna()
        return mean_interval(gaps.mean(axis=1).to_numpy()) if len(gaps) else None

    which, title = ELSEWHERE.get(artifact, ("", ""))
    one = " (one for all cells)" * (rival == "best")
    told = (FINDINGS,) * (bool(which) and name == "feddrl")
    return Number(
        id=f"head-to-head-{which}{'-' * bool(which)}{name}-{words.split()[-1].lower()}",
        what=f"accuracy of {name} less that of {words}{one}, mean over the cells{', ' * bool(title)}{title}",
        unit="points",
        artifacts=(artifact,), compute=compute, places=(*told, NOTEBOOK),
    )  # fmt: skip


def _in_cell(artifact: str, rival: str, words: str, cell: str) -> Number:
    """FedDRL's distance from a rival in one cell of another data set: the cells part."""
    which, title = OTHERS[artifact]

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(artifact)
        gaps = pd.DataFrame() if rows.empty else less_if_run(rows, "feddrl", rival)
        own = next((gaps[name].dropna() for name in gaps if name.endswith(f", {cell}")), ())
        return mean_interval(own.to_numpy()) if len(own) else None

    return Number(
        id=f"head-to-head-{which}-feddrl-{words.split()[-1].lower()}-{cell.split()[0].lower()}",
        what=f"accuracy of feddrl less that of {words}, {CELL_WORDS.get(cell, cell)}, {title}",
        unit="points", artifacts=(artifact,), compute=compute,
        places=(FINDINGS,),
    )  # fmt: skip


def judged_cells(rows_of: RowsOf) -> pd.DataFrame:
    """`benchmark_cells` of both public benchmarks, those with whole runs of ours."""
    rows = [found for name in BENCHMARKS if not (found := rows_of(name)).empty]
    if not rows:
        return pd.DataFrame({"verdict": []})
    cells = pd.concat([benchmark_cells(own) for own in rows], ignore_index=True)
    return cells[cells.verdict != NOT_TESTABLE]


def _cells(column: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        verdicts = judged_cells(rows_of).verdict
        count = len(verdicts) if column == "judged" else (verdicts == SUPPORTED).sum()
        return single(count) if len(verdicts) else None

    return Number(
        id=f"head-to-head-cells-{column}", what=f"cells of the public benchmarks that {what}", unit="",
        artifacts=BENCHMARKS, compute=compute, places=(NOTEBOOK,), tolerance=0.5,
    )  # fmt: skip


def _benchmark_difference(artifact: str, dataset: str, cell: str, method: str) -> Number:
    words, short = public.CELL_WORDS[cell], _short(artifact)
    which = short if short == "benchmark" else f"{short}-{dataset}"

    def compute(rows_of: RowsOf) -> Interval | None:
        found = judged_cells(lambda name: rows_of(name) if name == artifact else pd.DataFrame())
        own = found[(found.method == method) & (found.cell == cell) & (found.dataset == dataset)]
        return own.difference.iloc[0] if len(own) else None

    return Number(
        id=f"head-to-head-{which}-{method}-{words.partition(' (')[0].lower().replace(' ', '-')}",
        what=f"accuracy of {method} less the public one, {title_of(dataset)}, {words}", unit="points",
        artifacts=(artifact,), compute=compute, places=(NOTEBOOK,),
    )  # fmt: skip


def _in_time(name: str, rival: str, words: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        found = less_at_equal_time(rows_of(DEVICES), name, rival)
        return None if found.empty else mean_interval(found.to_numpy())

    return Number(
        id=f"head-to-head-in-time-{name.lower()}-{words.split()[-1].lower()}",
        what=f"accuracy of {name} less that of {words}, after equal simulated time", unit="points",
        artifacts=(DEVICES,), compute=compute, places=(*(FINDINGS,) * ((name, rival) in TOLD), NOTEBOOK),
    )  # fmt: skip


def _in_short_runs(name: str, rival: str, words: str, *places: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        gaps = less_at_equal_time(rows_of(SHORT), name, rival)
        return mean_interval(gaps.to_numpy()) if len(gaps) else None

    return Number(
        id=f"head-to-head-in-short-time-{name.lower()}-{words.split()[-1].lower()}",
        what=f"accuracy of {name} less that of {words}, after equal simulated time, runs of 60 rounds",
        unit="points", artifacts=(SHORT,), compute=compute, places=places,
    )  # fmt: skip


def _with_longer_training(name: str, *places: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        gaps = less_with_longer_training(rows_of, name, device_runs.at_random(name))
        return mean_interval(gaps.to_numpy()) if len(gaps) else None

    return Number(
        id=f"head-to-head-lead-with-longer-training-{name.lower()}", unit="points",
        what=f"lead of {name} over as many clients at random after 60 rounds in simulated time, with agents "
        "that learned in 600 rounds less that with 2,000",
        artifacts=(DEVICES, SHORT), compute=compute, places=places,
    )  # fmt: skip


def _server_time(name: str, artifact: str = SERVER, over_whose: str = "FedAvg's") -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        over = rows_of(artifact).set_index("contestant").over_ms
        return single(over[name]) if name in over.index else None

    return Number(
        id=f"head-to-head-server-{name.lower()}", unit="ms", artifacts=(artifact,), compute=compute,
        what=f"median time of a round of {name} over {over_whose}, clients of one mini-batch",
        places=(FINDINGS,), factor=TIMES,
    )  # fmt: skip


# contestant -> its numbers, by the rival's words
LESS = {name: {words: _less(name, rival, words) for words, rival in _rivals(name)} for name in LEARNED}
LESS_ELSEWHERE = {
    artifact: {
        name: {
            words: _less(name, rival, words, artifact)
            for words, rival in _rivals(name, RAN_ELSEWHERE[_short(artifact)])
        }
        for name in LEARNED
    }
    for artifact in ELSEWHERE
}
IN_OTHER_CELLS = tuple(
    _in_cell(artifact, rival, words, cell)
    for artifact in OTHERS
    for rival, words in (
        ("fedavg", "FedAvg"), (twin_of("feddrl"), "its untrained policy"),
        ("feddrl_shuffled", "itself with clients shuffled"),
    )
    for cell in CELLS
) + tuple(
    # whether the lead that FedDRL has in one of them needs its rewards (HEAD-A18)
    _in_cell(SECOND, "feddrl_permuted", device_runs.PERMUTED, cell)
    for cell in CELLS
)  # fmt: skip
IN_TIME = {
    name: {
        words: _in_time(name, rival, words)
        for words, rival in (device_runs.rivals(name) | device_runs.twins(name)).items()
    }
    for name in device_runs.TIMED
}
# artifact -> the strong baselines less FedAvg, by their labels
STRONG_LESS = {
    artifact: {label: _less(name, "fedavg", "FedAvg", artifact) for name, label in STRONG.items()}
    for artifact in (ROWS, *ELSEWHERE)
}
STRONGEST = {name: _less(name, "strongest", "the baseline that is strongest") for name in LEARNED}
AGREE, JUDGED = (
    _cells("agree", "agree with ours within two public standard deviations or one point"),
    _cells("judged", "ours were run whole in"),
)
NUMBERS = (
    *(number for each in LESS.values() for number in each.values()),
    *STRONGEST.values(),
    *(number for each in STRONG_LESS.values() for number in each.values()),
    *(number for on in LESS_ELSEWHERE.values() for each in on.values() for number in each.values()),
    *IN_OTHER_CELLS,
    *(number for each in IN_TIME.values() for number in each.values()),
    *(
        _in_short_runs(name, device_runs.at_random(name), "as many clients at random", *places)
        for name, places in (("FedDdrl", (FINDINGS, NOTEBOOK)), ("FedMarl", (NOTEBOOK,)))
    ),
    _in_short_runs("FedDdrl", device_runs.untrained("FedDdrl"), "its untrained policy", FINDINGS),
    _in_short_runs("FedDdrl", device_runs.uninformed("FedDdrl"), device_runs.PERMUTED, FINDINGS),
    _with_longer_training("FedDdrl", FINDINGS, NOTEBOOK),
    _with_longer_training("FedMarl", NOTEBOOK),
    *(
        _benchmark_difference(BENCHMARKS[0], "fmnist", cell, method)
        for method in public.NIID_METHODS
        for cell in public.PUBLIC_CELLS
    ),
    *(
        _benchmark_difference(BENCHMARKS[1], dataset, "dirichlet 0.5 cap", method)
        for dataset in ("mnist", "fmnist")
        for method in public.FEDBENCH_METHODS
    ),
    *(_server_time(name) for name in LEARNED),
    *(_server_time(name, DECISIONS, "that of a rule without an agent") for name in device_runs.TIMED),
    AGREE,
    JUDGED,
)
