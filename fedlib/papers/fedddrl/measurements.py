"""FedDdrl's artifacts without federated training: fig. 5, sec. 5.5's EMD, table 1, sec. 5.4's cost."""

from itertools import pairwise

import numpy as np
import pandas as pd
import torch

from fedlib import seeds
from fedlib.analysis.published import load_published
from fedlib.engine import Batch, LocalRule, Samples
from fedlib.engine.mixup import BalancedMixUp
from fedlib.experiments.stopwatch import timed
from fedlib.federation import initial_state, prepare, sample_cohort, train_cohort
from fedlib.methods.fedddrl.fedmarl import FedMarl
from fedlib.methods.fedddrl.method import GAIN, FedDdrl, utility
from fedlib.papers.fedddrl import runs
from fedlib.rl.vdn import Transitions

DRAWN_BATCHES, BATCH = 4000, 32  # behind a measured label distribution
IN_TURNS = 5  # measurements of FedProx's step over FedAvg's, of which sec5.4 takes the median
TIMED = {"smoke": 20, "reduced": 200, "paper": 200}  # repeats of which sec5.4 takes the median


def utility_line(profile: str) -> pd.DataFrame:
    """Fig. 5: U(A) of eq. (4) and its line (8) on [0, 1], with their difference."""
    accuracy = np.linspace(0, 1, 101)
    line = GAIN * accuracy + utility(0.0)  # eq. (8)
    exact = utility(accuracy)
    return pd.DataFrame({"accuracy": accuracy, "utility": exact, "line": line, "deviation": exact - line})


def emd(share: float, classes: int) -> float:
    """Eqs. (23), (26): distance to uniform of a client with `share` of one label, the rest spread evenly."""
    minority = (1 - share) / (classes - 1)
    return abs(share - 1 / classes) + (classes - 1) * abs(minority - 1 / classes)


def emd_table(profile: str) -> pd.DataFrame:
    """Sec. 5.5: EMD by the formula and of labels drawn from a client, without and with Balanced-MixUp.

    A client of 900 images: 80 % of one label, 20 images of each of the nine others.
    """
    kinds = {
        "none": runs.SIGMA,
        "strict": 0.5,  # E(lam), eq. (25)
        "galdran": (runs.SIGMA + 1 / 10) / 2,  # first loader instance-based, second class-based (A30)
    }
    return pd.DataFrame(
        {
            "mixup": kind,
            "majority_share": share,
            "emd": emd(share, 10),
            "without_factor": abs(share - 0.1) + abs((1 - share) / 9 - 0.1),  # (n_c - 1) left out (E1)
            "emd_drawn": float(np.abs(_drawn_labels(kind) - 0.1).sum()),
        }
        for kind, share in kinds.items()
    )


def _drawn_labels(kind: str) -> np.ndarray:
    """[10] mean label of mini-batches that the client trains on."""
    labels = np.repeat(np.arange(10), [720, *[20] * 9])
    if kind == "none":
        return np.bincount(labels) / len(labels)
    samples = Samples(torch.zeros(len(labels), 1), torch.from_numpy(labels))
    mixup = BalancedMixUp.of([[np.arange(len(labels))]], samples.labels, 10, alpha=0.4, kind=kind)
    index = torch.from_numpy(np.random.default_rng(0).integers(0, len(labels), (DRAWN_BATCHES, BATCH)))
    only, keys = torch.zeros(DRAWN_BATCHES, dtype=torch.int64), torch.arange(DRAWN_BATCHES)
    _, mixed = mixup(samples, Batch(index, torch.ones(index.shape), samples.labels[index], only, only, keys))
    return mixed.targets.double().mean(dim=(0, 1)).numpy()


def feature_table(profile: str) -> pd.DataFrame:
    """Table 1 beside what our methods do, read off their options; "" where we have no such method."""
    printed = load_published("fedddrl_table1").pivot(index="method", columns="metric", values="value")
    fixed = {"resource_optimization": "-", "client_selection": "Random", "local_epoch_adjustment": "Fixed"}
    ours = {
        "FedAvg": fixed,
        "FedProx": fixed,
        "FedMarl": _features(FedMarl()),
        "FedDdrl": _features(FedDdrl()),
    }
    order = load_published("fedddrl_table1").method.unique()
    return pd.DataFrame(
        {
            "method": method,
            **{name: printed.loc[method, name] for name in fixed},
            **{f"our_{name}": ours.get(method, {}).get(name, "") for name in fixed},
        }
        for method in order
    )


def _features(method: "object") -> dict[str, str]:
    kinds = [word for word, weight in (("Computing", method.w3), ("Communication", method.w2)) if weight > 0]
    return {
        "resource_optimization": " + ".join(kinds),
        "client_selection": "DRL Agent" if method.vdns()[0].sizes[-1] == 2 else "Random",
        "local_epoch_adjustment": "DRL Agent" if len(method.vdns()) == 2 else "Fixed",
    }


def agents_cost(profile: str) -> pd.DataFrame:
    """Sec. 5.4: operations by the formula, measured seconds and bytes of the agents, per replica.

    One row per VDN, and one for a local step of FedProx over one of FedAvg (A40), both on this machine.
    """
    vdns = FedDdrl().vdns()
    rows = [
        {"part": f"VDN {number}", **_cost_of_agents(vdn, TIMED[profile])}
        for number, vdn in enumerate(vdns, start=1)
    ]
    step = {"part": "FedProx step over FedAvg step", **_proximal_factor(profile)}
    return pd.DataFrame([*rows, step])


def operations(sizes: tuple[int, ...]) -> int:
    """`n_0 n_1 + sum_{i=1}^{L-1} n_i n_{i+1}`: products of one forward pass of an agent."""
    return sum(a * b for a, b in pairwise(sizes))


def _cost_of_agents(vdn: "object", repeats: int) -> dict[str, float]:
    agents, states = 10, 10
    team = vdn.init([seeds.torch_generator(0, "cost")])
    rng, random = np.random.default_rng(0), torch.Generator().manual_seed(0)
    per_step = torch.zeros(1, vdn.capacity)
    shape = (1, vdn.capacity, agents)
    memory = Transitions(
        torch.rand(*shape, states, generator=random), torch.zeros(shape, dtype=torch.int64), per_step,
        torch.rand(*shape, states, generator=random), per_step.clone(),
    )  # fmt: skip
    seen = memory.states[:, 0]
    forward = operations(vdn.sizes)
    return {
        "parameters": vdn.net.parameters,
        "products_per_decision": forward,  # online deployment, one agent
        "products_of_training": vdn.epsilon_rounds * vdn.batch_size * forward,  # N_ep T N_b (...)
        "decision_seconds": float(np.median(timed(lambda: vdn.act(team, seen, 0.0, [rng]), repeats, 1))),
        "learning_step_seconds": float(np.median(timed(lambda: vdn.learn(team, memory, [rng]), repeats, 1))),
        "learning_steps": vdn.epsilon_rounds,
        "network_bytes": _bytes(team),
        "memory_bytes": _bytes(memory),
    }


def _bytes(holder: object) -> int:
    """Bytes of an object's tensors."""
    return sum(t.numel() * t.element_size() for t in vars(holder).values() if isinstance(t, torch.Tensor))


def _proximal_factor(profile: str) -> dict[str, object]:
    """Ratio of a cohort's training times with and without the proximal term, measured in turns."""
    run = runs.make_run(profile, "sec5.4", runs.roles(profile)[0], runs.TABLE4["fedavg"])
    task = prepare([run])
    state, cohort = initial_state(task), sample_cohort([0], 1, run.num_clients, task.cohort_size)

    def train(rule: LocalRule | None) -> float:
        return timed(lambda: train_cohort(task, state, cohort, epochs=1, rule=rule), 1, 1)[0]

    ratios = [train(LocalRule(proximal=runs.MU)) / train(None) for _ in range(IN_TURNS)]
    data = {"dataset": run.dataset, "stand_in": task.dataset.stand_in, "seed": 0}
    return {"factor": float(np.median(ratios)), **data}
