"""The runs of notebook 00: baselines under cluster skew, FedAvg on IID data, bfloat16 beside float32."""

from dataclasses import replace

from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.run import Run

# of `bf16_runs`: one cell per partition
BF16_CELLS = {
    "ce": {"model": "lenet", "partition_options": {"delta": 0.6}},
    "pa": {"model": "cnn-feddrl", "partition_options": {}},
    "iid": {"model": "cnn-feddisk", "partition_options": {}},
}
BF16_ROUNDS = 300  # of `extended`: those of the head to head
CURVE_METHODS = {"singleset": {}, "fedavg": {}, "fedprox": {"mu": 0.01}}


def _base(profile: str) -> Run:
    """FedDRL's small setting: 10 clients, all taking part, E = 5, B = 10, lr 0.01 (its sec. 4.1)."""
    run = Run(
        paper="start", artifact="curves", profile=profile, dataset="fmnist-embedded", method="fedavg",
        partition="ce", partition_options={"delta": 0.6}, model="lenet", num_clients=10, rounds=10,
        local_epochs=2, batch_size=10, local_learning_rate=0.05, client_eval="all",
    )  # fmt: skip
    sizes = {
        "smoke": {"rounds": 7},
        "reduced": {"dataset": "fmnist", "rounds": 30, "dataset_options": {"train_per_class": 2000}},
        "paper": {
            "dataset": "fmnist",
            "rounds": 1000,
            "local_epochs": 5,
            "local_learning_rate": 0.01,
            "model": "cnn-feddrl",
        },
    }
    return replace(run, **sizes[check_name("profile", profile, PROFILES)])


def curve_runs(profile: str) -> list[Run]:
    """SingleSet, FedAvg and FedProx on the same clients, cohorts and initial weights."""
    base = _base(profile)
    return [replace(base, method=name, method_options=options) for name, options in CURVE_METHODS.items()]


def sanity_runs(profile: str) -> list[Run]:
    """FedAvg, IID, N = 10, LeNet-size CNN, E = 1, B = 32, lr 0.05, 20 rounds; full data above smoke."""
    check_name("profile", profile, PROFILES)
    run = replace(
        _base("smoke"), artifact="sanity", profile=profile,
        dataset="fmnist-embedded" if profile == "smoke" else "fmnist", partition="iid", partition_options={},
        rounds=20, local_epochs=1, batch_size=32, local_learning_rate=0.05, client_eval="none",
    )  # fmt: skip
    return [run]


def bf16_runs(profile: str) -> list[Run]:
    """FedAvg in float32 and in bfloat16, the same seeds, on three partitions.

    A processor without AMX trains the LeNet in float32 whatever is asked (docs/speed.md), and then its cell
    compares float32 with itself: `extended` has FedDisk's CNN in its place.
    """
    base = replace(_base("smoke"), artifact="bf16", profile=profile, local_epochs=1, client_eval="none")
    sizes = {
        "smoke": {"rounds": 3},
        "reduced": {"dataset": "fmnist", "rounds": 30, "dataset_options": {"train_per_class": 600}},
        "extended": {"dataset": "fmnist", "rounds": BF16_ROUNDS, "dataset_options": {"train_per_class": 100}},
        "paper": {"dataset": "fmnist", "rounds": 100},
    }
    cells = BF16_CELLS | (
        {"ce": BF16_CELLS["ce"] | {"model": "cnn-feddisk"}} if profile == "extended" else {}
    )
    base = replace(base, **sizes[check_name("profile", profile, sizes)])
    return [
        replace(base, partition=partition, precision=precision, **cell)
        for partition, cell in cells.items()
        for precision in ("float32", "bf16")
    ]
