"""`feddisk/made-width`: the global MADE's validation loss for hidden layers of several widths.

Sec. VI.B.3: the width was "tuned from a value set of {30, 50, 100, 200, 300, 400}", and more units than
those chosen "did not significantly decrease the validation loss". Only phase 1's global MADE is trained.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from fedlib.federation import Task, prepare
from fedlib.methods import make_method
from fedlib.methods.feddisk.density_models import fit_global_made
from fedlib.methods.feddisk.phase1 import mixture
from fedlib.papers.feddisk.runs import MADE_HIDDEN, WIDTH_TRIALS, case_of, made_widths


def widths_measured(profile: str) -> list[tuple[str, int]]:
    """Data set and width of each part of the measurement."""
    return [(run.dataset, width) for run, widths in made_widths(profile) for width in widths]


def measure_width(profile: str, part: tuple[str, int]) -> pd.DataFrame:
    """Measure, for each seed, the least validation loss (nats) of a data set and width, and its round."""
    dataset, width = part
    (run,) = (run for run, _ in made_widths(profile) if run.dataset == dataset)
    task = prepare([replace(run, seed=seed) for seed in range(WIDTH_TRIALS[profile])])
    rows = pd.DataFrame(_rows(task, width))
    print(f"made-width {dataset}: {width} hidden units done", flush=True)
    return rows


def _rows(task: "Task", width: int) -> Iterator[dict]:
    made = make_method("feddisk", {**task.run.method_options, "made_hidden": width}).made
    fitted = fit_global_made(task, made, mixture(task))
    for replica, seed in enumerate(task.seeds):
        course = fitted.validation_loss[:, replica]
        rounds_run = int(course.isfinite().sum())
        yield {
            "dataset": task.run.dataset, "stand_in": task.dataset.stand_in, "seed": seed, "hidden": width,
            "chosen": MADE_HIDDEN[case_of(task.run.dataset)], "made_rounds": int(fitted.best[replica]),
            "made_rounds_run": rounds_run, "validation_loss": float(course[:rounds_run].min()),
            "weights": 2 * width * task.train.inputs[0].numel(),
        }  # fmt: skip
