"""Which reading of FedDisk's MNIST setting gives the printed level: a search for FedAvg alone.

The paper prints two facts about FedAvg on MNIST with noise x = 0.3: no competitor is above 51.7 %, and
FedAvg's best round is number 500 (table 1). With two epochs a round it is above 80 % after 20 rounds. A
reading fits if its best accuracy and the round of it are both near the printed ones. On all images a round
of two epochs has sixteen times the mini-batches of the other readings, and fewer rounds are run: what a best
has passed it stays above, and a curve that has its best in its first half has passed it.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedlib.analysis.published import printed_value
from fedlib.analysis.tables import listed
from fedlib.papers.feddisk.runs import NOISE_STRENGTH
from fedlib.papers.feddisk.tables import ACCURACY, trial_mean
from fedlib.words import counted

OUTPUTS = 10  # of the network, one for each digit
EPOCHS = "2 epochs"  # the work a round where it is no number of mini-batches
TOO_SHORT = "too short"  # in a table: a run that leaves its reading open
POINTS, ROUNDS_OFF = 3.0, 150.0  # how near is near: accuracy in points, the round of the best


def printed() -> tuple[float, float]:
    """The best competitor's level in percent, and the round of FedAvg's best."""
    level = printed_value("feddisk_text", dataset="MNIST", method="best other", artifact="fig3")
    return level, printed_value("feddisk_table1", dataset="MNIST", method="FedAvg")


def reading_table(rows: pd.DataFrame) -> pd.DataFrame:
    """`reading_lines` as shown: headers in words, with the printed values that ours are compared with.

    Rounds and images have a column only where they vary; other outputs than ten stand beside the local work.
    """
    level, at = printed()
    names = {
        "work": "local work a round",
        "noise times": f"noise: x (times {NOISE_STRENGTH:g})",
        "noise as": "noise: x is a",
        "clipped": "noise: pixels clipped",
        "images a class": "training images a class",
        "best": f"best accuracy (%), printed {level:g}",
        "best round": f"round of it, printed {at:g}",
        "of rounds": "rounds run",
        "fits": f"within {POINTS:g} points and {ROUNDS_OFF:g} rounds",
    }
    table = reading_lines(rows)
    table = table.replace({"noise as": {"std": "s.d."}, "fits": {"open": TOO_SHORT}})
    more = [f", {outputs} outputs" * (outputs != OUTPUTS) for outputs in table.outputs]
    alike = [name for name in ("images a class", "of rounds") if table[name].nunique() == 1]
    table = table.assign(work=table.work + more).drop(columns=["outputs", "points off", "rounds off", *alike])
    return table.rename(columns=names)


def reading_lines(rows: pd.DataFrame) -> pd.DataFrame:
    """Readings: best accuracy (%) and its round, less the printed ones (`off`), and whether both fit."""
    level, at = printed()
    lines = []
    reading = ["dataset", "dataset_options", "local_steps"]
    for (dataset, options, steps), own in rows.groupby(reading, dropna=False):
        curve = trial_mean(own, dataset, "fedavg", ACCURACY)
        line = {
            **describe(json.loads(options), None if pd.isna(steps) else int(steps)),
            "best": 100 * curve.max(),
        }
        line |= {"points off": line["best"] - level, "best round": int(curve.idxmax())}
        line |= {"rounds off": line["best round"] - at, "of rounds": int(own["rounds"].iloc[0])}
        lines.append(line | {"fits": _fits(line, at)})
    return pd.DataFrame(lines).sort_values("points off", key=abs, ignore_index=True)


def _fits(line: Mapping[str, Any], at: float) -> str:
    """yes or no; open: not above the level, and the best is in the second half of too short a run.

    The printed level is that of the best competitor, so that FedAvg's may be any below it.
    """
    rising = line["of rounds"] < min(at, 2 * line["best round"])
    if rising and line["points off"] <= POINTS:
        return "open"
    return "yes" if line["points off"] <= POINTS and abs(line["rounds off"]) <= ROUNDS_OFF else "no"


def _long_enough(table: pd.DataFrame, at: float) -> pd.Series:
    """Whether each reading ran long enough to have its best near the printed round."""
    return table["of rounds"] >= at - ROUNDS_OFF


def reading_answer(rows: pd.DataFrame) -> list[str]:
    """Readings whose FedAvg comes near the printed level, and the round of it; none without rows."""
    if rows.empty:
        return []
    table, (level, at) = reading_lines(rows), printed()
    near, images = table["points off"].abs() <= POINTS, int(table["images a class"].max())
    told = (
        f"{_scope(table, images, rows.seed.nunique())} {int(near.sum()) or 'none'} of "
        f"{counted(len(table), 'reading')} come{'s' * int(near.sum() < 2)} within {POINTS:g} points of the "
        f"printed {level:g} %."
    )
    if near.any():
        best = [
            f"{_words(one, images)} (best in round {one['best round']})" for _, one in table[near].iterrows()
        ]
        fit = int((table.fits == "yes").sum())
        own = f"{fit} of these have their" if fit > 1 else f"{fit or 'None'} of these has its"
        told += f" {'They are' if len(best) > 1 else 'It is'} {'; '.join(best)}. "
        if _long_enough(table[near], at).any():
            told += f"{own} best within {ROUNDS_OFF:g} rounds of the printed {at:g}."
        else:
            told += (
                f"None ran long enough to have its best within {ROUNDS_OFF:g} rounds of the printed {at:g}."
            )
    else:
        nearest = table.iloc[0]
        told += (
            f" The nearest, {_words(nearest, images)}, has its best, {nearest.best:.1f} %, in round "
            f"{nearest['best round']} (printed: {at:g})."
        )
    reach = f" All reach {table.best.min():.1f} to {table.best.max():.1f} %." * (len(table) > 1)
    unrun = "" if EPOCHS in set(table.work) else f" None with {EPOCHS} was run."
    return [f"{told}{reach}{unrun}"]


def _scope(table: pd.DataFrame, images: int, seeds: int) -> str:
    """`On up to 600 training images a class (1 seed, up to 150 rounds)`."""
    rounds = {str(work): int(part["of rounds"].max()) for work, part in table.groupby("work")}
    within = f"up to {max(rounds.values())} rounds"
    if rounds.get(EPOCHS, math.inf) < max(rounds.values()):
        within += f", {rounds[EPOCHS]} of {EPOCHS}"
    several = "up to " * (table["images a class"].nunique() > 1)
    return f"On {several}{images} training images a class ({counted(seeds, 'seed')}, {within})"


def decided_together(*searches: pd.DataFrame) -> list[str]:
    """Whether any reading fits, and which are open, each decided by the last of the searches that has it.

    Searches: rows, those on fewer images first. None without any.
    """
    there = [rows for rows in searches if len(rows)]
    if not there:
        return []
    last: dict[str, pd.Series] = {}
    for table in map(reading_lines, there):
        images = int(table["images a class"].max())
        last |= {_words(line, images): line for _, line in table.iterrows()}
    fit, may = ([name for name, line in last.items() if line.fits == fits] for fits in ("yes", "open"))
    decided, seeds = len(last) - len(may), max(rows.seed.nunique() for rows in there)
    head = f"{len(fit) or 'None'} of the {counted(decided, 'decided reading')} fit{'s' * (len(fit) < 2)}"
    head += f" ({counted(seeds, 'seed')} each)" + f": {'; '.join(fit)}" * bool(fit)
    are_open = f"; {len(may)} {'is' if len(may) == 1 else 'are'} open: {'; '.join(may)}" * bool(may)
    told = f"**{head}{are_open}.**"
    lines = pd.DataFrame(list(last.values()))
    if len(there) > 1:
        sizes = lines["images a class"].value_counts().sort_index(ascending=False)
        per = listed([f"{size} a class for {count}" for size, count in sizes.items()])
        told += f" Each is decided by its run with most images, {per} of them."
    short = int((~_long_enough(lines, printed()[1]) & (lines.fits == "no")).sum())
    if short:
        told += f" {short} ran too few rounds to fit, ruled out by their level or an early best."
    if may:
        most = max(last[name].best for name in may)
        told += f" The open ones have {most:.1f} % or less in runs that ended before round {printed()[1]:g}."
    return [told]


def fitting_words(rows: pd.DataFrame) -> str:
    """`; none of 18 readings that ran long enough fits (section 6)`; empty without rows."""
    if rows.empty:
        return ""
    table = reading_lines(rows)
    fit, long = int((table.fits == "yes").sum()), int(_long_enough(table, printed()[1]).sum())
    own = f"{counted(long, 'reading')} that ran long enough"
    return f"; {fit or 'none'} of {own} fit{'s' * (fit < 2)} (section 6)"


def _words(line: pd.Series, images: int) -> str:
    """A reading in words, what is at its default left out: `2 epochs, 30 times the noise, not clipped`."""
    parts = [line["work"]]
    parts += [f"{line['noise times']} times the noise"] if line["noise times"] != 1 else []
    parts += ["as standard deviation"] if line["noise as"] == "std" else []
    parts += [] if line["clipped"] else ["not clipped"]
    parts += ["a tenth of the images"] if line["images a class"] < images else []
    parts += [f"{line['outputs']} outputs"] if line["outputs"] != OUTPUTS else []
    return ", ".join(parts)


def describe(images: Mapping[str, Any], local_steps: int | None) -> dict[str, Any]:
    """A reading in columns: work a round, noise, clipping, images of a class, outputs."""
    noise = images["client_noise"]
    return {
        "work": f"{local_steps} mini-batches" if local_steps else EPOCHS,
        "noise times": round(noise["strength"] / NOISE_STRENGTH),
        "noise as": noise.get("noise_as", "variance"),
        "clipped": noise.get("clip", True),
        "images a class": images.get("train_per_class", 6000),
        "outputs": images.get("num_classes", OUTPUTS),
    }
