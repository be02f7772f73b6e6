"""Which reading of FedDisk's MNIST setting gives the printed level: a search for FedAvg alone.

The paper prints two facts about FedAvg on MNIST with noise x = 0.3: no competitor is above 51.7 %, and
FedAvg's best round is number 500 (table 1). With two epochs a round it is above 80 % after 20 rounds. A
reading fits if its best accuracy and the round of it are both near the printed ones.
"""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedlib.analysis.published import printed_value
from fedlib.papers.feddisk.runs import NOISE_STRENGTH
from fedlib.papers.feddisk.tables import ACCURACY, trial_mean

POINTS, ROUNDS_OFF = 3.0, 150.0  # how near is near: accuracy in points, the round of the best


def printed() -> tuple[float, float]:
    """The best competitor's level in percent, and the round of FedAvg's best."""
    level = printed_value("feddisk_text", dataset="MNIST", method="best other", artifact="fig3")
    return level, printed_value("feddisk_table1", dataset="MNIST", method="FedAvg")


def reading_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of readings: best accuracy (%) and its round, less the printed ones, and whether both fit."""
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
        line["fits"] = abs(line["points off"]) <= POINTS and abs(line["rounds off"]) <= ROUNDS_OFF
        lines.append(line)
    return pd.DataFrame(lines).sort_values("points off", key=abs, ignore_index=True)


def describe(images: Mapping[str, Any], local_steps: int | None) -> dict[str, Any]:
    """A reading in columns: work a round, noise, clipping, images of a class, outputs."""
    noise = images["client_noise"]
    return {
        "work": f"{local_steps} mini-batches" if local_steps else "2 epochs",
        "noise times": round(noise["strength"] / NOISE_STRENGTH),
        "noise as": noise.get("noise_as", "variance"),
        "clipped": noise.get("clip", True),
        "images a class": images.get("train_per_class", 6000),
        "outputs": images.get("num_classes", 10),
    }
