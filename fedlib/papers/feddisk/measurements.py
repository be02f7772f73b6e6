"""Table 2: what a client sends in a round, printed and counted on real models."""

import pandas as pd
from torch import Tensor, nn

from fedlib.analysis.published import printed_value
from fedlib.methods.baselines.fedbn import batch_norm_names
from fedlib.models import make_model
from fedlib.models.made import make_made
from fedlib.papers.feddisk.runs import CASES, MADE_HIDDEN, METHODS, WIDTH

PAPER_NAMES = {
    "feddisk": "FedDisk", "fedavg": "FedAvg", "fedprox": "FedProx", "fedbn": "FedBN", "fedrod": "FedROD",
}  # fmt: skip
SIDES = {"mnist": (28,), "xray": (32,), "femnist": (28, 32)}  # FEDDISK-A18: both for FEMNIST
CLASSES = {"mnist": 10, "xray": 2, "femnist": 62}
# Sec. VI.B.3 says 28x28 and 400 units, sec. VI.A 32x32; only 300 units give the printed size there.
_HIDDEN_AT = {("femnist", 32): 300}
# of the images as our loaders give them; pneumoniamnist-subset is the one X-ray set of 28x28
SIDE_OF = {
    "mnist": 28, "fmnist-embedded": 28, "pneumoniamnist-subset": 28, "chest-xray": 32, "standin-xray": 32,
    "femnist": 28, "standin-femnist": 28,
}  # fmt: skip


def count_sizes(profile: str) -> pd.DataFrame:
    """Table 2: what a client sends in a round at the paper's sizes, counted on real models, by method.

    The paper counts the MADE's weight matrices without biases, and FedBN's layers of BatchNorm, which
    never leave a client. counted: by the paper's rule for the MADE, less FedBN's BatchNorm.
    message_bytes: all that the federation sends, BatchNorm statistics and biases too.
    """
    rows = []
    for case, sides in SIDES.items():
        for side in sides:
            for part, method in (("made", "feddisk"), *(("classifier", m) for m in METHODS)):
                size = {"hidden": made_hidden(case, side)} if part == "made" else {"width": WIDTH[case]}
                classes = {} if part == "made" else {"classes": CLASSES[case]}
                rows.append(
                    {
                        "dataset": CASES[case], "method": method, "part": part, "side": side,
                        "hidden_or_width": next(iter(size.values())),
                        "printed": printed_size(part, CASES[case], PAPER_NAMES[method]),
                        "counted": count_weights(part, side, method=method, **size, **classes),
                        "message_bytes": count_bytes(part, side, method=method, **size, **classes),
                    }
                )  # fmt: skip
    return pd.DataFrame(rows).assign(seed=0, stand_in=False)


def count_weights(part: str, side: int, *, method: str = "feddisk", **size: int) -> int:
    """Parameters that a client sends of a real model for grey images of side x side pixels.

    part: "classifier" (size: width, classes), or "made" (size: hidden), whose biases table 2 leaves out.
    """
    sent = [t for t in sent_tensors(part, side, method=method, **size) if isinstance(t, nn.Parameter)]
    return sum(t.numel() for t in sent if part == "classifier" or t.ndim == 2)


def count_bytes(part: str, side: int, *, method: str = "feddisk", **size: int) -> int:
    """Bytes of one message: parameters and buffers of `sent_tensors`."""
    return sum(t.numel() * t.element_size() for t in sent_tensors(part, side, method=method, **size))


def sent_tensors(
    part: str, side: int, *, method: str, width: int = 16, classes: int = 10, hidden: int = 30
) -> list[Tensor]:
    """Parameters and buffers of a real model that its client sends; FedBN keeps its BatchNorm."""
    if part == "made":
        return [*make_made(side * side, hidden=hidden).parameters()]
    model = make_model(
        "cnn-feddisk", image_shape=(1, side, side), num_classes=classes, generator_seed=(0,), width=width
    )
    kept = batch_norm_names(model) if method == "fedbn" else []
    return [t for name, t in (*model.named_parameters(), *model.named_buffers()) if name not in kept]


def made_hidden(case: str, side: int) -> int:
    """Hidden units of the MADE that table 2 counts for images of this size (FEDDISK-A18, E3)."""
    return _HIDDEN_AT.get((case, side), MADE_HIDDEN[case])


def printed_size(part: str, dataset: str, method: str) -> float:
    """Weights by table 2; dataset, method: the paper's names."""
    return printed_value("feddisk_table2", dataset=dataset, method=method, metric=f"model_size_{part}")
