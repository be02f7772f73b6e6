"""Figs. 24, 25, 31 to 34: can one see in a local update which labels a worker has swapped?

40 workers with IID data in four clusters; each cluster has a fixed permutation of the labels, the
first the identity (FRL-A26). All train once from a common start; theta_i - theta_G, flattened,
is embedded in two dimensions six ways (FRL-A25, A27). The report shows scatter plots; the number
beside each is ours: adjusted Rand index of k-means with four centres, mean over 5 starts.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.spatial.distance import pdist
from sklearn import decomposition, manifold
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from fedlib import seeds
from fedlib.errors import check
from fedlib.federation import initial_state, prepare, sample_cohort, train_cohort
from fedlib.papers.frl.runs import EMBEDDINGS, embedding_run

CLUSTERS, KMEANS_SEEDS, VARIANCE = 4, 5, 0.95
SEEDS = {"smoke": 1, "reduced": 10, "paper": 10}


def swap_labels(
    labels: np.ndarray, clients: list[np.ndarray], num_classes: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(labels of all samples after the swap, cluster of each worker).

    Workers are dealt to the clusters at random, equally many each; permutations differ.
    """
    check(len(clients) % CLUSTERS == 0, f"{len(clients)} workers given; allowed: a multiple of {CLUSTERS}")
    permutations = [np.arange(num_classes)]
    while len(permutations) < CLUSTERS:
        drawn = rng.permutation(num_classes)
        if not any((drawn == one).all() for one in permutations):
            permutations.append(drawn)
    cluster = rng.permutation(np.arange(len(clients)) % CLUSTERS)
    swapped = np.array(labels)
    for own, which in zip(clients, cluster, strict=True):
        swapped[own] = permutations[which][swapped[own]]
    return swapped, cluster


def local_updates(profile: str, seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """(theta_i - theta_G [workers, P], clusters, the task) after one local training."""
    run = replace(embedding_run(profile), seed=seed)
    task = prepare([run])
    rng = seeds.rng(seed, "label swap")
    labels, cluster = swap_labels(task.train.labels.numpy(), task.clients[0], task.dataset.num_classes, rng)
    task = replace(task, train=replace(task.train, labels=torch.from_numpy(labels)))
    state = initial_state(task)
    trained = train_cohort(task, state, sample_cohort([seed], 1, run.num_clients, run.num_clients))
    local = trained.state.params
    parts = [(local[name] - start).flatten(1) for name, start in state.params.items()]
    return torch.cat(parts, dim=1).numpy(), cluster, task


def explained_variance(updates: np.ndarray) -> np.ndarray:
    """Share of the variance on each principal component, falling; at most workers - 1 of them."""
    return PCA(svd_solver="full").fit(updates).explained_variance_ratio_


def embed(updates: np.ndarray, method: str) -> np.ndarray:
    """[workers, 2] by scikit-learn with its defaults; gamma of the RBF is 1 / median squared distance."""
    if method == "pca":
        return decomposition.PCA(2, svd_solver="full").fit_transform(updates)
    if method == "spectral":
        gamma = 1 / np.median(pdist(updates, "sqeuclidean"))
        return manifold.SpectralEmbedding(affinity="rbf", gamma=gamma, random_state=0).fit_transform(updates)
    perplexity = min(30.0, (len(updates) - 1) / 3)  # t-SNE needs fewer neighbours than workers
    neighbours = min(5, len(updates) - 1)
    reducer = {
        "mds": lambda: manifold.MDS(random_state=0, n_init=4, init="random"),
        "isomap": lambda: manifold.Isomap(n_neighbors=neighbours),
        "tsne": lambda: manifold.TSNE(random_state=0, perplexity=perplexity),
        "lle": lambda: manifold.LocallyLinearEmbedding(n_neighbors=neighbours, random_state=0),
    }[method]()
    return reducer.fit_transform(updates)


def separation(points: np.ndarray, cluster: np.ndarray) -> float:
    """Adjusted Rand index of k-means with four centres against the clusters, mean over 5 starts."""
    found = [
        adjusted_rand_score(cluster, KMeans(CLUSTERS, n_init=10, random_state=s).fit_predict(points))
        for s in range(KMEANS_SEEDS)
    ]
    return float(np.mean(found))


def embedding_settings(profile: str) -> list[Any]:
    """Settings that the rows depend on."""
    return [embedding_run(profile).named(), SEEDS[profile]]


def seeds_measured(profile: str) -> range:
    """The seeds of a profile, each a part of the measurement."""
    return range(SEEDS[profile])


def measure_embeddings(profile: str, seed: int) -> pd.DataFrame:
    """Measure separation and coordinates for each method, and for PCA the variance it keeps, of one seed."""
    updates, cluster, task = local_updates(profile, seed)
    shares = explained_variance(updates)
    needed = int(np.searchsorted(np.cumsum(shares), VARIANCE) + 1)
    about = {
        "dataset": task.dataset.name, "dataset_checksum": task.dataset.checksum,
        "stand_in": task.dataset.stand_in, "seed": seed, "workers": len(updates),
        "parameters": updates.shape[1], "samples": int(sum(task.facts["train_samples"])),
        "explained_2": float(shares[:2].sum()), "components_95": needed,
        "components_possible": min(len(updates) - 1, updates.shape[1]),
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    for method in EMBEDDINGS:
        points = embed(updates, method)
        rows.append(
            {
                "method": method,
                **about,
                "rand_index": separation(points, cluster),
                "points": json.dumps([[float(f"{x:.5g}") for x in point] for point in points]),
                "cluster": json.dumps(cluster.tolist()),
            }
        )
        print(f"{method}, seed {seed}: adjusted Rand index {rows[-1]['rand_index']:.3f}", flush=True)
    return pd.DataFrame(rows)
