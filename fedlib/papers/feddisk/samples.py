"""`feddisk/fig2`: sample images of clients that differ in noise, writer or source.

The pictures travel inside the rows (zlib and base64), so that the figure can be drawn without the data.
"""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from fedlib.federation import Task, prepare
from fedlib.papers.feddisk.runs import fig3

CLIENTS, IMAGES = 5, 6  # shown of each data set


def sample_images(profile: str) -> pd.DataFrame:
    """Sample the first images of some clients, a row per data set and client."""
    runs = [run for run in fig3(profile) if run.method == "fedavg"]
    tasks = [prepare([replace(run, artifact="fig2")]) for run in runs]
    return pd.DataFrame(row for task in tasks for row in _rows(task))


def _rows(task: "Task") -> Iterator[dict]:
    strength = task.run.dataset_options.get("client_noise", {}).get("strength", 0.0)
    clients = task.clients[0]
    for client in np.linspace(0, len(clients) - 1, min(CLIENTS, len(clients))).astype(int):
        images = task.train.inputs[clients[client]].numpy()[:, 0]
        pixels = images / 255 if images.dtype == np.uint8 else images
        shown = np.rint(255 * pixels[:IMAGES]).astype(np.uint8)
        yield {
            "dataset": task.run.dataset, "stand_in": task.dataset.stand_in, "seed": task.run.seed,
            "client": int(client), "noise_variance": client * strength / len(clients),
            "mean_pixel": float(pixels.mean()), "spread_of_pixels": float(pixels.std()),
            "shape": "x".join(map(str, shown.shape)),
            "images": base64.b64encode(zlib.compress(shown.tobytes(), 9)).decode(),
        }  # fmt: skip


def unpack_images(shape: str, images: str) -> np.ndarray:
    """[n, height, width] uint8 from a row's columns `shape` and `images`."""
    values = zlib.decompress(base64.b64decode(images))
    return np.frombuffer(values, dtype=np.uint8).reshape([int(side) for side in shape.split("x")])
