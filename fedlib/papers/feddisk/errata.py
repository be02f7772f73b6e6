"""FedDisk's errata, each computed again from the printed numbers (data/published) and from real models."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlib.analysis.published import Erratum, load_published, printed_value
from fedlib.papers.feddisk.measurements import CLASSES, count_weights, made_hidden, printed_size
from fedlib.papers.feddisk.runs import CASES, MADE_HIDDEN

# images of the three public sources named in sec. VI.A: COVID-19 Radiography, Shenzhen, UCSD (Kermany)
XRAY_SOURCES = (21_165, 662, 5_856)


def printed_cost(dataset: str, method: str, counted: Mapping[str, float] | None = None) -> float:
    """Eqs. (18) and (19) on tables 1 and 2: weights that one client sends and receives.

    counted: sizes of "made" and "classifier" to take in place of table 2's.
    """
    total, of = 0.0, {"dataset": dataset, "method": method}
    for part, row in (("made", "rounds_made"), ("classifier", "rounds_classifier")):
        if part == "classifier" or method == "FedDisk":  # the others have no MADE
            times = printed_value("feddisk_table1", metric=f"effective_communication_{row}", **of)
            size = (counted or {}).get(part) or printed_size(part, **of)
            total += 2 * size * times
    return total


def printed_costs(dataset: str) -> pd.Series:
    """Cost of each method, cheapest first."""
    methods = load_published("feddisk_table1").method.unique()
    return pd.Series({method: printed_cost(dataset, method) for method in methods}).sort_values()


def _text(dataset: str, metric: str, method: str = "FedDisk", **where: str) -> float:
    return printed_value("feddisk_text", dataset=dataset, method=method, metric=metric, **where)


def cost_reductions() -> tuple[str, str, bool]:
    """E1: the cheapest competitor over FedDisk, by the paper's own rule; on MNIST the others too."""
    names = list(CASES.values())
    printed = [_text(name, "cost_reduction") for name in names]
    costs = {name: printed_costs(name) for name in names}
    ours = [own.drop("FedDisk").iloc[0] / own["FedDisk"] for own in costs.values()]
    agree = all(round(b, 1) == a or round(b) == a for a, b in zip(printed, ours, strict=True))
    mnist = costs["MNIST"]
    others = [name for name in mnist.index[1:] if name != "FedAvg"]  # the cheapest is among `ours`
    against = _listed(others, [mnist[name] / mnist["FedDisk"] for name in others], "{:.2f}")
    recomputed = f"{_listed(names, ours, '{:.2f}')} (MNIST against {against})"
    return _listed(names, printed, "{:g}"), recomputed, agree


def _listed(names: list[str], values: list[float], form: str) -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in zip(names, values, strict=True))


def femnist_costs() -> tuple[str, str, bool]:
    """E2: tables 1 and 2 multiplied, in whole millions as printed."""
    methods = ["FedROD", "FedDisk"]
    printed = [_text("FEMNIST", "effective_communication_cost", method) for method in methods]
    ours = [printed_cost("FEMNIST", method) for method in methods]
    return (
        _listed(methods, printed, "{:,.0f}"),
        _listed(methods, ours, "{:,.0f}"),
        printed == [round(one, -6) for one in ours],
    )


def made_size() -> tuple[str, str, bool]:
    """E3: 2 d H weights for the sizes of sec. VI.B.3, and for those that give the printed number."""
    printed = printed_size("made", "FEMNIST", "FedDisk")
    described = count_weights("made", 28, hidden=MADE_HIDDEN["femnist"])
    fitting = made_hidden("femnist", 32)
    other = count_weights("made", 32, hidden=fitting)
    ours = f"{described:,} for 784-{MADE_HIDDEN['femnist']}-784; {other:,} for 1024-{fitting}-1024"
    return f"{printed:,.0f}", ours, round(described, -3) == printed


def femnist_classifier() -> tuple[str, str, bool]:
    """E4: sec. VI.A says 32x32 images."""
    printed = printed_size("classifier", "FEMNIST", "FedAvg")
    large, small = (count_weights("classifier", side, width=128, classes=62) for side in (32, 28))
    return f"{printed:,.0f} with 32x32 images", f"{large:,} (32x32), {small:,} (28x28)", _same(large, printed)


def mnist_classifier() -> tuple[str, str, bool]:
    """E5: 62 outputs would explain it, images of 32x32 would not."""
    printed = printed_size("classifier", "MNIST", "FedAvg")
    sizes = ((28, CLASSES["mnist"]), (32, CLASSES["mnist"]), (28, 62))
    right, large, wrong = (count_weights("classifier", side, width=16, classes=n) for side, n in sizes)
    recomputed = f"{right:,} ({large:,} if 32x32); {wrong:,} with 62 outputs"
    return f"{printed:,.0f}", recomputed, _same(right, printed)


def _same(counted: int, printed: float) -> bool:
    return round(counted, -3) == printed


def fedrod_accuracy() -> tuple[str, str, bool]:
    """E6: sec. VI.C.1 and VI.C.2."""
    first = _text("FEMNIST", "mean_test_accuracy", "FedROD", artifact="fig3")
    second = _text("FEMNIST", "target_accuracy", "FedROD", artifact="sec6c2")
    return f"{first:g} % (VI.C.1)", f"{second:g} % (VI.C.2)", first == second


def missing_weights() -> tuple[str, str, bool]:
    """E7: a density must integrate to 1. Here 100 densities q_i on 12 points, and c_i = 1 / K."""
    laws = np.random.default_rng(0).dirichlet(np.ones(12), 100)
    plain, weighted = float(laws.sum()), float((laws / 100).sum())
    recomputed = f"q_1 + ... + q_K integrates to {plain:g}, sum_i c_i q_i to {weighted:g}"
    return "p = q_1 + ... + q_K, eq. (10)", recomputed, bool(np.isclose(plain, 1))


def xray_images() -> tuple[str, str, bool]:
    """E8: clients times their mean size, against all images of the sources."""
    clients = _text("all", "n_clients", method="", artifact="sec6a")
    needed, there = clients * _text("Chest-Xray", "client_size_mean", method=""), sum(XRAY_SOURCES)
    return f"{needed:,.0f} images on 100 clients", f"the three sources hold {there:,}", needed <= there


def cited_figure() -> tuple[str, str, bool]:
    """E9: rounds are counted in the figure that shows accuracy per round."""
    text = load_published("feddisk_text")
    shown = text[(text.metric == "mean_test_accuracy") & (text.dataset == "FEMNIST")].artifact.iloc[0]
    panels = text[text.artifact == shown].dataset.drop_duplicates().tolist()
    panel = "abc"[panels.index("FEMNIST")]
    return (
        "105 rounds shown in fig. 4b",
        f"fig. {shown.removeprefix('fig')}{panel}",
        f"{shown}{panel}" == "fig4b",
    )


def one_letter() -> tuple[str, str, bool]:
    """E10: K is the number of clients and, in sec. III, of hidden units."""
    text = load_published("feddisk_text")
    units = sorted(int(v) for v in text[text.metric == "made_hidden_neurons"].value)
    clients = int(text.n_clients.iloc[0])
    recomputed = f"K = {clients} clients, K = {', '.join(map(str, units))} hidden units"
    return "K for both (sec. II, III)", recomputed, set(units) == {clients}


ERRATA = (
    Erratum("FEDDISK-E1", "traffic is reduced by these factors (VI.C.3)", cost_reductions),
    Erratum("FEDDISK-E2", "cost on FEMNIST (VI.C.3) is table 1 times table 2", femnist_costs),
    Erratum("FEDDISK-E3", "weights of FEMNIST's MADE (table 2)", made_size),
    Erratum("FEDDISK-E4", "weights of FEMNIST's classifier (table 2)", femnist_classifier),
    Erratum("FEDDISK-E5", "weights of MNIST's classifier (table 2)", mnist_classifier),
    Erratum("FEDDISK-E6", "FedROD's accuracy on FEMNIST is printed twice", fedrod_accuracy),
    Erratum("FEDDISK-E7", "p is a density", missing_weights),
    Erratum("FEDDISK-E8", "the X-ray clients' images come from the three named sources (VI.A)", xray_images),
    Erratum("FEDDISK-E9", "the figure cited for FedDisk's 105 rounds (VI.C.2)", cited_figure),
    Erratum("FEDDISK-E10", "K stands for one thing", one_letter),
)
