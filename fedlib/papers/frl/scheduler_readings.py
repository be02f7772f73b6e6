"""SchedulerFL in each reading of the report, on times alone: what it learns, and what a decision can teach.

The suite's default has the report's state (z-scores, FRL-A12) and later code's reward (the maximum weighted
by the probabilities, A10). `READINGS` starts from the report's literal reward, the maximum over the
participants, which the script behind figs. 26 to 30 has too, and adds the other open readings one at a time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis.intervals import Interval, interval_words, mean_interval
from fedlib.analysis.tables import listed
from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.methods.frl.scheduler_agent import Scheduler, Training, World
from fedlib.papers.frl import static_times
from fedlib.papers.frl.runs import DRAWS_STORED, LITERAL, UNIT
from fedlib.papers.frl.scheduler_training import SAMPLES, SIZES, expected_maximum, train

READINGS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "schedulerfl": ("default: the report's state, later code's reward (A10)", {}),
    "unit": ("later code's state (A12) and reward", UNIT),
    "literal": ("literal reward: maximum over participants (A10)", LITERAL),
    "literal_unit": ("literal, later code's state (A12)", {**LITERAL, **UNIT}),
    "literal_mean": ("literal, first times their mean (A13)", {**LITERAL, "first_times": "mean"}),
    "literal_drawn": ("literal, the draw stored (A14)", {**LITERAL, "stored_action": "draw"}),
    "literal_undecayed": ("literal, critic without decay", {**LITERAL, "critic_decay": 0.0}),
    "literal_both": (
        "literal, draw stored, no decay",
        {**LITERAL, "stored_action": "draw", "critic_decay": 0.0},
    ),
    "draws": ("ours (draws stored): discount 0, larger memory", DRAWS_STORED),
}
SEEDS = {"smoke": 1, "reduced": 20, "extended": 20, "paper": 20}
WORKERS = {"smoke": (10,), "reduced": (10, 100), "extended": (10, 100), "paper": (10, 100)}
AT_THE_STOP = {"stops_after", "ahead_at_stop"}  # of static workers, stated by `frl/static` alone
STATIC_SEEDS = {"smoke": 1, "reduced": 3, "extended": 3, "paper": 3}
DECISIONS = 570  # 30 experiments of 19


def reading_settings(profile: str) -> list[Any]:
    """Settings that the rows depend on."""
    readings = {name: dict(options) for name, (_, options) in READINGS.items()}
    sizes = [list(table[profile]) if isinstance(table[profile], tuple) else table[profile]
             for table in (SIZES, SEEDS, WORKERS, STATIC_SEEDS)]  # fmt: skip
    return [*sizes, SAMPLES, static_times.SECONDS, readings]


def readings_measured(profile: str) -> tuple[str, ...]:
    """The readings of a profile, each a part of the measurement."""
    check_name("profile", profile, PROFILES)
    return tuple(READINGS)


def measure_reading(profile: str, reading: str) -> pd.DataFrame:
    """Measure a reading in each world and seed; `world` is changing times, or static ones of k workers."""
    _, options = READINGS[reading]
    rows: list[dict[str, Any]] = []
    for seed in range(SEEDS[profile]):
        training, world = train(options, seed, profile)
        about = {"method": reading, "world": "changing times", "seed": seed}
        rows.append({**about, **_before_stop(training, world)})
    static = static_times.outcomes(reading, options, profile, WORKERS[profile], STATIC_SEEDS[profile])
    rows += [{name: value for name, value in one.items() if name not in AT_THE_STOP} for one in static]
    print(f"{reading}: {len(rows)} rows", flush=True)
    return pd.DataFrame(rows)


def _before_stop(training: "Training", world: "World") -> dict[str, Any]:
    """Quantities of fig. 26 to 29's claims up to the stop of A17, beside as many workers at random."""
    tenth = max(len(world.sizes) // 10, 1)
    stop = training.rounds_before(tenth)
    own = training.rounds[: max(stop, 1)]
    fastest = np.argsort(world.expected_seconds(), kind="stable")[:tenth]
    chances = own[-1]["chances"]
    seconds = [world.times(one["turn"]).sum(axis=1) for one in own]
    drawn = [int(one["selected"].sum()) for one in own]
    random = [expected_maximum(times, number) for times, number in zip(seconds, drawn, strict=True)]
    return {
        "round": len(training.rounds),
        "stops_after": stop,
        "fastest_ahead": float(100 * (chances[fastest].mean() - chances.mean())),
        "max_seconds": float(np.mean([one["max_seconds"] for one in own])),
        "same_number_seconds": float(np.mean(random)),
        "expected_selected": float(training.rounds[-1]["chances"].sum()),
    }


def reading_table(rows: pd.DataFrame) -> pd.DataFrame:
    """By reading: when it stops, the fastest tenth's lead there, time less as many at random's; found."""
    found = []
    for reading, (words, _) in READINGS.items():
        own = rows[rows["method"] == reading]
        changing = own[own["world"] == "changing times"]
        if changing.empty:
            continue
        line: dict[str, Any] = {"reading": words, "stops after (mean)": changing["stops_after"].mean()}
        gap = changing["max_seconds"] - changing["same_number_seconds"]
        for name, values in (("fastest ahead (points)", changing["fastest_ahead"]),
                             ("time less random's (s)", gap)):  # fmt: skip
            line |= mean_interval(values.to_numpy(dtype=float)).columns(name)
        static = own[own["world"] != "changing times"]
        for world, part in static.groupby("world", sort=False):
            line[f"found, {world}"] = f"{int(part['found'].astype(bool).sum())} of {len(part)}"
        found.append(line | {"seeds": len(changing)})
    return pd.DataFrame(found)


def readings_sentence(rows: pd.DataFrame) -> str:
    """Say whether a reading helps: agents ahead of chance, by their intervals, and where nothing varies."""
    table = reading_table(rows)
    if table.empty or table["seeds"].max() < 2:
        return "Every reading was trained with one seed at most: no result."
    is_ahead, is_quick = table["fastest ahead (points) low"] > 0, table["time less random's (s) high"] < 0
    ahead = _beyond(table, "fastest ahead (points)", "points", is_ahead)
    quick = _beyond(table, "time less random's (s)", "s", is_quick)
    better = int((is_ahead | is_quick).sum())
    answer = (
        f"Ahead of chance in a measure where times change: {better} of {len(table)} agents."
        if better
        else "None shows to help where times change: no agent is ahead of chance in either measure."
    )
    static = []
    for world, own in rows[rows["world"] != "changing times"].groupby("world", sort=False):
        always = own.groupby("method")["found"].mean() == 1
        names = [READINGS[name][0] for name in READINGS if always.get(name, False)]
        found = listed([f"'{name}'" for name in names]) if names else "none"
        static.append(f"among {world.split()[0]} workers {found}")
    ours = int(table["reading"].str.startswith("ours").sum())
    return (
        f"{answer} {len(table)} agents ({len(table) - ours} readings of the report, {ours} of ours) are "
        "compared with chance up to the stop, by their intervals. Ahead in the probability of the fastest "
        f"tenth of the workers over the mean: {ahead}. Ahead in time of as many workers at random: {quick}. "
        f"Where times never change, the agents that find the fast workers in every run are {listed(static)}."
    )


def _beyond(table: pd.DataFrame, column: str, unit: str, chosen: pd.Series) -> str:
    """`2 (literal +3.1 [+0.2, +6.0] points; ...)`, or `none`."""
    bounds = [column, f"{column} low", f"{column} high"]
    told = [
        f"{line['reading']} {interval_words(Interval(*line[bounds], 2))} {unit}"
        for _, line in table[chosen].iterrows()
    ]
    return f"{len(told)} ({'; '.join(told)})" if told else "none"


def plot_readings(rows: pd.DataFrame) -> Figure:
    """Fastest tenth's lead at the stop, and maximum time less that of as many workers at random."""
    changing = rows[rows["world"] == "changing times"]
    changing = changing.assign(gap=changing["max_seconds"] - changing["same_number_seconds"])
    shown = [name for name in READINGS if (changing["method"] == name).any()]
    fig, axes = plotting.subplots(1, 2, figsize=(9.2, 0.36 * len(shown) + 1.8), sharey=True)
    panels = (("fastest_ahead", "probability of the fastest tenth\nless the mean (points)"),
              ("gap", "maximum time less that of\nas many at random (s)"))  # fmt: skip
    for ax, (column, label) in zip(axes, panels, strict=True):
        for place, name in enumerate(shown):
            values = changing.loc[changing["method"] == name, column].to_numpy(dtype=float)
            interval = mean_interval(values)
            ax.plot(values, np.full(len(values), place) + 0.18, ".", color="#999933", alpha=0.5, ms=4)
            arms = plotting.arms([interval.mean], [interval.low], [interval.high])
            ax.errorbar(interval.mean, place, xerr=arms, fmt="d", color="#000000", capsize=3)
        ax.axvline(0, color="#333333", linewidth=0.8)
        ax.set_xlabel(label)
    axes[0].set_yticks(range(len(shown)), [READINGS[name][0] for name in shown])
    axes[0].invert_yaxis()
    what = (
        "Up to the stop of A17; a dot per seed, mean with its 95 % interval. Better than chance lies right "
        "of 0 in the left panel, left of 0 in the right one"
    )
    return plotting.caption(fig, changing, above=what)


def measure_credit(profile: str) -> pd.DataFrame:
    """Which workers the literal maximum M_t depends on, over as many decisions as a training has.

    Each worker is drawn with probability 1/2 (an untrained actor) or 1/10. A decision teaches the reward's
    dependence on one worker alone, the slowest drawn: leaving any other out changes nothing.
    """
    check_name("profile", profile, PROFILES)
    rows = []
    for k in (10, 100):
        world = World(0, np.full(k, SAMPLES // 100), Scheduler())
        half = np.argsort(world.expected_seconds(), kind="stable")[: k // 2]
        for chance in (0.5, 0.1):
            rng = np.random.default_rng(0)
            slowest, drop = [], []
            for turn in range(1, DECISIONS + 1):
                seconds = world.times(turn).sum(axis=1)
                drawn = np.flatnonzero(rng.random(k) < chance)
                if len(drawn) < 2:
                    continue
                order = drawn[np.argsort(seconds[drawn])]
                slowest.append(order[-1])
                drop.append(seconds[order[-1]] - seconds[order[-2]])
            counts = np.bincount(slowest, minlength=k)
            rows.append(
                {
                    "workers": k, "chance": chance, "decisions": len(slowest),
                    "never_slowest": int((counts == 0).sum()),
                    "decided_by_fast_half": float(counts[half].sum() / counts.sum()),
                    "seconds_without_slowest": float(np.median(drop)),
                    "seed": 0,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def credit_sentence(rows: pd.DataFrame) -> str:
    """Sentence on the information in the decisions of a training, in the untrained actor's world."""
    own = rows[rows["chance"] == 0.5].set_index("workers")
    parts = [
        f"Of {k} workers {k - own.loc[k, 'never_slowest']:.0f} were ever the slowest in {one.decisions:.0f} "
        f"decisions; the fast half were it in {100 * one.decided_by_fast_half:.0f} % of them."
        for k, one in own.iterrows()
    ]
    return (
        "The literal reward is the change of a maximum that one worker sets, the slowest drawn. In one world "
        f"of changing times, where each is drawn with probability 0.5: {' '.join(parts)}"
    )


def credit_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Workers, probability, decisions; the share that the fast half decides, and who never decides."""
    names = {
        "decided_by_fast_half": "decided by the fast half (%)",
        "never_slowest": "workers never the slowest",
        "seconds_without_slowest": "median s without the slowest",
    }
    table = rows.assign(decided_by_fast_half=100 * rows["decided_by_fast_half"])
    return table[["workers", "chance", "decisions", *names]].rename(columns=names)
