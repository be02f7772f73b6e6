"""A problem of two dimensions in which p, q_k and alpha can be seen, and FedDisk's phase 1 on it.

Two clients draw points of the unit square from Gaussians of their own, so `p = (q_0 + q_1) / 2` and the
true `alpha = p / q_k` are known. The method's own code then estimates the weights, with both MADE
outputs of FEDDISK-A3. A point is an image of two pixels: `u_1` is a constant and `u_2` depends on `x_1`.
The last pixel is conditioned on, but nothing is conditioned on it: no u knows `x_2`.
"""

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from fedlib import plotting, seeds
from fedlib.data.dataset import Dataset, Split
from fedlib.engine import Samples, Trainer, make_optimizer
from fedlib.federation import Task
from fedlib.methods.feddisk.method import FedDisk
from fedlib.models import make_model
from fedlib.run import Run

COUNT = 300  # points of each client
CENTRES = ((0.38, 0.45), (0.62, 0.55))
COVARIANCE = ((0.016, 0.006), (0.006, 0.010))


def toy_weights(seed: int = 0) -> pd.DataFrame:
    """Table of points: client, x1, x2, the true alpha, and FedDisk's with feeds local and global."""
    rng = seeds.rng(seed, "feddisk-toy")
    points = np.concatenate([rng.multivariate_normal(c, COVARIANCE, COUNT) for c in CENTRES])
    owner = np.repeat(np.arange(2), COUNT)
    laws = [stats.multivariate_normal(centre, COVARIANCE) for centre in CENTRES]
    q = np.stack([law.pdf(points) for law in laws])
    frame = pd.DataFrame({"client": owner, "x1": points[:, 0], "x2": points[:, 1]})
    frame["true"] = q.mean(axis=0) / q[owner, np.arange(len(points))]
    task = _task(np.clip(points, 0, 1), owner, seed)
    for feed in ("local", "global"):
        method = FedDisk(
            made_hidden=20, made_learning_rate=0.1, made_batch_size=50, made_max_rounds=40, ratio_hidden=20,
            ratio_learning_rate=0.2, ratio_batch_size=2 * COUNT, ratio_max_epochs=300, ratio_least=0.0,
            feed=feed,
        )  # fmt: skip
        frame[feed] = method.start(task).memory["alpha"][0].numpy()
    return frame


def _task(points: np.ndarray, owner: np.ndarray, seed: int) -> Task:
    """Two clients with points [n, 2] as images of 1 x 2 pixels."""
    run = Run(
        paper="feddisk", artifact="toy", profile="smoke", dataset="toy", method="feddisk", partition="toy",
        model="mlp", num_clients=2, rounds=1, local_epochs=2, seed=seed,
    )  # fmt: skip
    labels = np.zeros(len(points), dtype=np.int64)
    split = Split(points[:, None], labels)
    dataset = Dataset("toy", split, split, 2, ("a", "b"), "generated", "", "none", stand_in=True)
    samples = Samples(torch.from_numpy(points).float()[:, None, None], torch.from_numpy(labels))
    model = make_model("mlp", image_shape=(1, 1, 2), num_classes=2, generator_seed=(seed,), hidden=2)
    trainer = Trainer(model, "stacked", make_optimizer("sgd"), run.batch_size)
    clients = [[np.flatnonzero(owner == client) for client in range(2)]]
    return Task((run,), dataset, samples, samples, clients, model, trainer, torch.device("cpu"))


def draw_toy(frame: pd.DataFrame) -> Figure:
    """Plot all points with contours of q_0, q_1 and p, and client 0's points by three kinds of alpha."""
    fig, axes = plotting.subplots(1, 4, figsize=(9.2, 2.7), sharex=True, sharey=True)
    _draw_densities(axes[0], frame)
    own = frame[frame.client == 0]
    titles = {"true": "true alpha", "local": "FedDisk's alpha", "global": "alpha by u_glob (A3)"}
    for ax, (column, title) in zip(axes[1:], titles.items(), strict=True):
        shown = own[column] / own[column].mean()
        dots = ax.scatter(own.x1, own.x2, c=shown, s=8, cmap="viridis", vmin=0, vmax=3)
        ax.set_title(title)
        ax.set_xlabel("x_1")
    fig.colorbar(dots, ax=axes[-1], label="alpha (mean 1)")
    return fig


def _draw_densities(ax: Axes, frame: pd.DataFrame) -> None:
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 80), np.linspace(0, 1, 80)), axis=-1)
    densities = [stats.multivariate_normal(centre, COVARIANCE).pdf(grid) for centre in CENTRES]
    for client, colour in enumerate(("#0072B2", "#D55E00")):
        own = frame[frame.client == client]
        ax.scatter(own.x1, own.x2, s=3, color=colour, alpha=0.4, label=f"client {client}")
        ax.contour(grid[..., 0], grid[..., 1], densities[client], levels=3, colors=colour, linewidths=0.8)
    ax.contour(grid[..., 0], grid[..., 1], np.mean(densities, axis=0), levels=4, colors="k", linewidths=0.6)
    ax.set(title="q_0, q_1 and p (black)", xlabel="x_1", ylabel="x_2")
    ax.legend(loc="upper left", fontsize=8)


def agreement(frame: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rank correlation of estimated and true alpha, by client and feed."""
    return pd.DataFrame(
        {
            "client": client,
            **{
                f"rank correlation: {feed}": stats.spearmanr(own[feed], own["true"]).statistic
                for feed in ("local", "global")
            },
        }
        for client, own in frame.groupby("client")
    )
