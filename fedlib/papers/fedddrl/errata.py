"""FedDdrl's errata FEDDDRL-E1 to E13, recomputed from its printed numbers and equations.

Printed tables come from data/published; what only the text says is quoted in the statement.
"""

import numpy as np

from fedlib.analysis.published import Erratum, load_published, printed_value
from fedlib.methods.fedddrl.method import GAIN, utility
from fedlib.models import count_parameters, make_model
from fedlib.papers.fedddrl import runs
from fedlib.papers.fedddrl.estimands import accuracies
from fedlib.papers.fedddrl.measurements import emd

DATA = ("MNIST", "CIFAR-10", "CrisisIBD")
FEDDDRL, FEDMARL_C = "D: C + local epoch adjustment (FedDdrl)", "C: B + Balanced-MixUp"
MIXED = " + Balanced-MixUp"

Found = tuple[str, str, bool]


def printed(artifact: str, metric: str) -> float:
    """A number of the text, by where it stands and what it is."""
    return printed_value("fedddrl_text", artifact=artifact, metric=metric)


def table4_gains(other: str) -> list[float]:
    """FedDdrl minus another row of table 4 on the three data sets, in points."""
    values = accuracies("table4")
    return [round(float(values[name, FEDDDRL] - values[name, other]), 1) for name in DATA]


def _points(values: list[float]) -> str:
    return ", ".join(f"{value:+.1f}" for value in values)


def e1() -> Found:
    given = printed("sec5.5", "EMD_ori"), printed("sec5.5", "EMD_MixUp")
    found = emd(0.8, 10), emd(0.5, 10)
    largest = 2 * (1 - 1 / 10)
    text = (
        f"{found[0]:.3g}, {found[1]:.3g}; over the maximum {largest:g}: "
        f"{found[0] / largest:.4f}, {found[1] / largest:.4f}, the same ratio {found[1] / found[0]:.3f}"
    )
    agrees = all(abs(a - b) < 0.001 for a, b in zip(given, found, strict=True))
    return f"{given[0]}, {given[1]}", text, agrees


def e2() -> Found:
    w1, omega, penalty = (
        printed("sec3.2", "w1"),
        printed("sec3.2", "Omega_2"),
        printed("eq14", "mean_penalty_last5"),
    )
    left, right = w1 * GAIN * 0.01, omega * penalty
    text = f"{left:.4f} against {right:.4f}; holds for a mean penalty below {left / omega:.3f}"
    return "w1 U(0.01) > Omega_2 E(w2 B + w3 H)", text, left > right


def e3() -> Found:
    rounds, last = 15, 5
    terms = list(range(rounds - last, rounds + 1))
    return (
        f"1/{last} sum from t = T-5 to T",
        f"{len(terms)} terms, t = {terms[0]}..{terms[-1]}",
        len(terms) == last,
    )


def e4() -> Found:
    """The mean slope by midpoints over A, beside U(1) - U(0)."""
    a = (np.arange(100_000) + 0.5) / 100_000
    odds = np.exp(0.35 * (1 - a))
    mean = float((7 * odds / (1 + odds) ** 2).mean())  # eq. (5)
    value = printed("eq6", "mean_slope_of_U")
    text = f"over dA: {mean:.4f} = U(1) - U(0) = {GAIN:.4f}; the value is right, the variable is not"
    return f"integral over dt, {value}", text, False


def e5() -> Found:
    return "(A_t) = 1.732 A_t - 1.732", f"U(A_t) = {GAIN:.3f} A_t {utility(0.0):+.3f}", False


def e6() -> Found:
    values = accuracies("table4")["MNIST"].sort_values(ascending=False)
    rank = list(values.index).index(FEDDDRL) + 1
    algorithm = {setting.label: setting.method for setting in runs.TABLE4.values()}
    algorithms = list(values.index.map(algorithm).unique())
    among = algorithms.index("fedddrl") + 1
    return (
        "second-best on MNIST",
        f"{', '.join(map(str, values[:rank]))}: rank {rank} of {len(values)} settings, {among} of "
        f"{len(algorithms)} algorithms, each by its best setting",
        rank == 2,
    )


def e7() -> Found:
    values = {f"C={size}": accuracies("table5", size) for size in (5, 10)}
    gains = {
        (name, note): round(float(own[name, "FedAvg" + MIXED] - own[name, "FedAvg"]), 1)
        for name in DATA
        for note, own in values.items()
    }
    worst = min(gains, key=gains.get)
    text = f"{gains[worst]:+.1f} points on {worst[0]}, {worst[1]}"
    return "a drastic boost to FedAvg in all data sets", text, gains[worst] > 0


def e8() -> Found:
    values = [accuracies("table5", size, "accuracy_std") for size in (5, 10)]
    pairs = {name: tuple(float(own[name, "FedAvg"]) for own in values) for name in DATA}
    text = "; ".join(f"{name} {few} against {many}" for name, (few, many) in pairs.items())
    few, many = pairs["CIFAR-10"]
    return "CIFAR-10: more spread with C = 5 than with C = 10", text, few > many


def e9() -> Found:
    others = ("FedAvg" + MIXED, "FedProx (mu=0.01)" + MIXED, FEDMARL_C, "FedAvg")
    found = {other: table4_gains(other) for other in others}
    text = "; ".join(f"{other.split(':')[0]}: {_points(gains)}" for other, gains in found.items())
    about = printed("abstract", "accuracy_gain")
    return f"about {about:g} % higher accuracy", text, any(min(g) >= about - 0.5 for g in found.values())


def e10() -> Found:
    """Figures 10, 11: 3 clients in rounds 1 and 2, 6 rising to 10 in rounds 3 to 6, about 5 in the rest."""
    early, first, last, late = (
        printed("sec5.2", f"clients_completing_{when}") for when in ("t1_t2", "t3", "t6", "after_t6")
    )
    kept = 2 * early + 4 * (first + last) / 2 + 9 * late
    saved = 100 * (1 - kept / 150)
    about = printed("abstract", "communication_reduction")
    return (
        f"{about:g} % less",
        f"{kept:g} of 150 uploads in one example run: {saved:.0f} % less; no mean is printed",
        abs(saved - about) < 5,
    )


def e11() -> Found:
    sizes = [
        4
        * count_parameters(
            make_model("mobilenetv2", image_shape=(3, 32, 32), num_classes=n, generator_seed=0)
        )
        / 1e6
        for n in (10, 1000)
    ]
    given = printed("sec3.1", "mobilenetv2_size")
    text = f"{sizes[0]:.1f} MB as float32 with 10 classes, {sizes[1]:.1f} MB with 1000"
    return f"{given} MB", text, any(abs(size - given) < 1 for size in sizes)


def e12() -> Found:
    return "caption of fig. 12: fig. 10; text: fig. 11; caption of fig. 10: Fiddly", "fig. 11; FedDdrl", False


def e13() -> Found:
    table = load_published("fedddrl_table3")
    sizes = table[table.metric == "vdn1_mlp"].value.iloc[0].split("x")
    layers = len(sizes) - 1
    return "two-layer MLP", f"{'x'.join(sizes)}: {layers} weight layers, {layers - 1} hidden", layers == 2


ERRATA = tuple(
    Erratum(f"FEDDDRL-E{number}", statement, compute)
    for number, statement, compute in (
        (1, "EMD for sigma 0.8, 10 classes, E(lam) 0.5, eqs. (23), (26)", e1),
        (2, "constraint (10d) holds for (2.9, 0.1, 0.2), with the penalty of (14)", e2),
        (3, "number of terms in (13), (14)", e3),
        (4, "mean slope of U, eq. (6)", e4),
        (5, "left side of eq. (8)", e5),
        (6, "rank of FedDdrl on MNIST, sec. 5.1.1 and table 4", e6),
        (7, "Balanced-MixUp on FedAvg, sec. 5.5 and table 5", e7),
        (8, "spread over C, sec. 2.2 and table 5", e8),
        (9, "accuracy gain of the abstract against table 4 (MNIST, CIFAR-10, CrisisIBD)", e9),
        (10, "communication of the abstract beside the example run of figs 10, 11", e10),
        (11, "size of a MobileNetV2 file, sec. 3.1", e11),
        (12, "references and names in the captions of figs 10, 12", e12),
        (13, "depth of the agents, sec. 4.1 and table 3", e13),
    )
)
