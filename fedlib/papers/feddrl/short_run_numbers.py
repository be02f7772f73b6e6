"""Numbers of FedDRL's short runs: table 3's cells of real images, and CIFAR-10."""

from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import Number, RowsOf
from fedlib.papers.feddrl import tables
from fedlib.papers.feddrl.estimands import picked
from fedlib.papers.feddrl.quantities import named
from fedlib.papers.feddrl.time_numbers import PAGE

TABLE3 = "feddrl/table3"
NOTEBOOK = "notebooks/01_feddrl.ipynb"
BOTH = (PAGE, NOTEBOOK)
RIVALS = {
    "fedavg": "FedAvg", "uniform": "uniform weights", "untrained": "its untrained policy",
    "shuffled": "itself with shuffled input",
}  # fmt: skip


def _in_table3(control: str, scheme: str = "") -> Number:
    """FedDRL's best accuracy less a control's, mean over table 3's cells of real images, or a partition's."""
    where = ({"partition": scheme} if scheme else {}) | {"stand_in": False}
    cells = f"its cells of real images{f' under {scheme.upper()}' * bool(scheme)}"
    return Number(
        id="-".join(("feddrl-table3", scheme or "real", control)),
        what=f"FedDRL's best accuracy less that of {RIVALS[control]}, mean over {cells}", unit="points",
        artifacts=(TABLE3,),
        compute=lambda rows_of: tables.pooled_lead(picked(named(rows_of(TABLE3)), **where), control),
        places=(PAGE,) * bool(scheme) + (NOTEBOOK,) * (not scheme or control == "fedavg"),
    )  # fmt: skip


def _on_cifar(control: str) -> Number:
    """FedDRL's best accuracy less a control's on JPEG copies of CIFAR-10 under PA with 100 clients."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of("feddrl/cifar10_as_run")
        if rows.empty:
            return None
        return tables.pooled_lead(picked(named(rows), partition="pa", num_clients=100), control)

    return Number(
        id=f"feddrl-cifar10-pa-{control}", unit="points", artifacts=("feddrl/cifar10_as_run",),
        what=f"FedDRL's best accuracy less that of {RIVALS[control]}, CIFAR-10 (JPEG), PA, 100 clients, "
        "short runs", compute=compute, places=BOTH,
    )  # fmt: skip


CIFAR_FEDAVG, CIFAR_UNIFORM = _CIFAR = tuple(map(_on_cifar, ("fedavg", "uniform")))
SHORT_NUMBERS = (
    *(_in_table3(control) for control in ("uniform", "untrained")),
    *(_in_table3(control, scheme) for control in RIVALS for scheme in ("pa", "ce", "cn")),
    *_CIFAR,
)
