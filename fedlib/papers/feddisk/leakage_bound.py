"""`feddisk/sec5-privacy`: eq. (17), `I(Z_k; Z_Theta) <= kappa_k H(Z_k)`, computed exactly on a discrete toy.

Every client draws one value Z_k ~ Q_k out of m, Theta picks a client with probability kappa_k, and
Z_Theta is what an observer of the mixture P = sum_i kappa_i Q_i sees. The joint law of the two is

    P(Z_k = a, Z_Theta = b) = kappa_k 1[a = b] q_k(a) + sum_{i != k} kappa_i q_k(a) q_i(b),

so both sides can be computed without sampling. The inequality is about one draw from the mixture. It is
not about the parameters of a MADE, which depend on all of a client's data at once.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fedlib import seeds

VALUES = 12  # m
CLIENTS = (2, 3, 5, 10, 20, 50, 100, 200)
TRIALS = 5


def mutual_information(joint: np.ndarray) -> float:
    """I in nats of two discrete variables with joint law [m, m]."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    held = joint > 0
    return float((joint[held] * np.log(joint[held] / product[held])).sum())


def entropy(law: np.ndarray) -> float:
    """H in nats of a law [m]."""
    held = law > 0
    return float(-(law[held] * np.log(law[held])).sum())


def joint_law(laws: np.ndarray, kappa: np.ndarray, client: int) -> np.ndarray:
    """[m, m] law of (Z_k, Z_Theta) for client k; laws [K, m], kappa [K]."""
    others = kappa @ laws - kappa[client] * laws[client]
    return kappa[client] * np.diag(laws[client]) + np.outer(laws[client], others)


def check_bound(profile: str) -> pd.DataFrame:
    """Table with a row per trial, K and kind of kappa: the largest leakage over clients and its bound (nats).

    kappa is 1 / K, or drawn at random (data of unequal size). Every profile computes the same.
    """
    return pd.DataFrame(
        row for seed in range(TRIALS) for clients in CLIENTS for row in _trial(seed, clients)
    ).assign(dataset="discrete toy", stand_in=False)


def _trial(seed: int, clients: int) -> Iterator[dict]:
    rng = seeds.rng(seed, "feddisk-privacy", clients)
    laws = rng.dirichlet(np.full(VALUES, 0.3), clients)  # clients that differ much
    for kind, kappa in (
        ("equal", np.full(clients, 1 / clients)),
        ("random", rng.dirichlet(np.ones(clients))),
    ):
        leaks = np.array([mutual_information(joint_law(laws, kappa, k)) for k in range(clients)])
        bounds = np.array([kappa[k] * entropy(laws[k]) for k in range(clients)])
        yield {
            "seed": seed, "kappa": kind, "clients": clients, "leakage": leaks.mean(), "bound": bounds.mean(),
            "violations": int((leaks > bounds + 1e-12).sum()),
            "largest_share_of_bound": float((leaks / np.maximum(bounds, 1e-300)).max()),
        }  # fmt: skip
