"""Numbers of README's results and of the first screen of 01_feddrl."""

from fedlib.analysis.contrasts import paired
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import README, Number, RowsOf, single
from fedlib.papers.feddrl import learning, tables
from fedlib.papers.feddrl.estimands import ROUNDS, factor_gap, factor_gap_in_slot, picked
from fedlib.papers.feddrl.quantities import best, named
from fedlib.papers.feddrl.quantities import late as late_by_seed

TABLE3, FILES, LENGTH = "feddrl/table3", "feddrl/authors_partitions", "feddrl/paper_length"
NOTEBOOK = "notebooks/01_feddrl.ipynb"
CONTROLS = {
    "fedavg": "FedAvg", "uniform": "equal weights", "untrained": "its untrained policy",
    "shuffled": "itself with clients shuffled",
}  # fmt: skip
AGENTS = {
    "feddrl": "the agent as printed", "untrained": "the agent never trained",
    "repaired": "the repaired agent", "repaired_permuted": "the same with permuted rewards",
    "small_groups": "the rule that gives small groups e times the weight",
}  # fmt: skip
OWN = {
    "feddrl": "FedDRL's", "drawn": "FedDRL's, with slots in drawn order,",
    "untrained": "the untrained policy's", "shuffled": "FedDRL's, with clients shuffled,",
    "repaired": "the repaired agent's",
}  # fmt: skip
LENGTH_CONTROLS = {**CONTROLS, "drawn": "itself with slots in drawn order"}
AGENT_IDS = {"feddrl": "printed"}
DATA = {"fmnist": "Fashion-MNIST", "mnist": "MNIST"}
CURVES, METHODS = (
    "feddrl/full_scale_curves",
    {"fedavg": "FedAvg", "fedprox": "FedProx", "feddrl_online": "FedDRL"},
)
REACHED = 422  # rounds of the cell at full scale that all three methods have


def _less(artifact: str, control: str, **where: object) -> Number:
    """FedDRL's best accuracy less a control's, mean over the cells that `where` picks."""
    scheme, place = where.get("partition", ""), "table3" if artifact == TABLE3 else "files"
    cells = f"its cells{' of real images' * bool(where)}{f' under {str(scheme).upper()}' * bool(scheme)}"
    shown: tuple[str, ...] = (README,)
    if artifact == TABLE3 and not scheme and control != "shuffled":
        both = control == "fedavg" and not where
        shown = (README, NOTEBOOK) if both else (NOTEBOOK,) if where else shown
    return Number(
        id="-".join(filter(None, ("feddrl", place, scheme or "real" * bool(where), control))),
        what=f"FedDRL's best accuracy less that of {CONTROLS[control]}, mean over {cells}", unit="points",
        artifacts=(artifact,),
        compute=lambda rows_of: tables.pooled_lead(picked(named(rows_of(artifact)), **where), control),
        places=shown,
    )  # fmt: skip


def _at_length(control: str, late: bool, own: str = "feddrl") -> Number:
    """FedDRL, or a variant, less a control in the cell of the paper's length: best accuracy, or late."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(LENGTH)
        cell = named(rows[rows["rounds"] == ROUNDS]) if len(rows) else rows
        if not len(cell) or not {own, control} <= set(cell.variant):
            return None
        levels = late_by_seed(cell) if late else {name: best(cell, name) for name in (own, control)}
        return paired(levels[own], levels[control])

    what = f"mean accuracy of the last {tables.LAST_ROUNDS} rounds" if late else "best accuracy"
    on_screen = own == "feddrl" and control in ("fedavg", "untrained") and not late
    return Number(
        id="-".join(filter(None, ("feddrl-length", own * (own != "feddrl"), "late" * late, control))),
        what=f"{OWN[own]} {what} less that of {LENGTH_CONTROLS[control]}, one cell of {ROUNDS} rounds",
        unit="points", artifacts=(LENGTH,), compute=compute,
        places=(README, NOTEBOOK) if on_screen else (README,),
    )  # fmt: skip


def _factors_at_length(in_slot: bool, variant: str = "feddrl") -> Number:
    """Factor of a small group's client less that of a main group's, in that cell."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(LENGTH)
        own = named(rows[rows["rounds"] == ROUNDS]) if len(rows) else rows
        if not len(own) or variant not in set(own.variant):
            return None
        return mean_interval((factor_gap_in_slot if in_slot else factor_gap)(own, variant).to_numpy())

    words = ", among clients in the same slot" * in_slot + ", slots in drawn order" * (variant == "drawn")
    return Number(
        id=f"feddrl-length-{'drawn-' * (variant == 'drawn')}factors{'-in-slot' * in_slot}",
        what=f"factor of a client of a small group less that of the main group{words}, the same cell",
        unit="% of 1/K", artifacts=(LENGTH,), compute=compute,
    )  # fmt: skip


def _repair(data: str, variant: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        found = learning.gains(rows_of("feddrl/repair_judged"))
        found = found[(found.dataset == data) & (found.variant == variant)]
        return Interval(*found[["nats", "nats low", "nats high", "n"]].iloc[0]) if len(found) else None

    return Number(
        id=f"feddrl-{AGENT_IDS.get(variant, variant).replace('_', '-')}-{data}",
        what=f"mean reward of {what} less that of equal weights, {DATA[data]}", unit="nats",
        artifacts=("feddrl/repair_judged",), compute=compute,
    )  # fmt: skip


TIMES = 3.0  # factor within which another machine's times count as the same


def _timed(name: str, what: str, unit: str, column: str, *, model: str = "mlp", alone: bool = True) -> Number:
    """A column of `tables.agent_share`; alone: learning in line, where no core is free for it."""

    def compute(rows_of: RowsOf) -> Interval | None:
        found = tables.agent_share(rows_of("feddrl/fig9"))
        found = found[(found.model == model) & (found.timed_on == "cpu")].sort_values("threads")
        return single(found[column].iloc[-1 if alone else 0]) if len(found) and column in found else None

    return Number(id=f"feddrl-{name}", what=what, unit=unit, artifacts=("feddrl/fig9",), compute=compute,
                  factor=TIMES)  # fmt: skip


def _decision(model: str, words: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of("feddrl/fig9")
        own = rows[(rows.what == "decision") & (rows.model == model) & (rows.timed_on == "cpu")]
        return single(own.median_ms.iloc[0]) if len(own) else None

    return Number(id=f"feddrl-decision-{model}", what=f"median time of a decision, {words}", unit="ms",
                  artifacts=("feddrl/fig9",), compute=compute, factor=TIMES)  # fmt: skip


def _full_scale(variant: str, best: bool) -> Number:
    """Accuracy at the round up to which these numbers look; None where a method has not reached it."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(CURVES)
        if rows.groupby("method")["round"].max().min() < REACHED:
            return None
        found = tables.full_scale_table(rows[rows["round"] <= REACHED]).set_index("variant")
        column = next(name for name in found if name.startswith("best" if best else "mean"))
        return single(found.loc[variant, column]) if variant in found.index else None

    which = f"best up to round {REACHED}" if best else f"mean of the {tables.LAST_ROUNDS} rounds to {REACHED}"
    return Number(
        id=f"feddrl-full-scale-{variant.removesuffix('_online')}-{'best' if best else 'late'}",
        what=f"accuracy of {METHODS[variant]} in one cell at full scale, {which}", unit="%",
        artifacts=(CURVES,), compute=compute, tolerance=2.0, first=("feddrl/table3_fmnist_ce_n100",),
    )  # fmt: skip


NUMBERS = (
    *(_less(artifact, control) for artifact in (TABLE3, FILES) for control in CONTROLS),
    *(_less(TABLE3, control, stand_in=False) for control in ("fedavg", "uniform", "untrained")),
    *(
        _less(TABLE3, control, partition=scheme, stand_in=False)
        for control in CONTROLS
        for scheme in ("pa", "ce", "cn")
    ),
    *(_at_length(control, late) for late in (False, True) for control in LENGTH_CONTROLS),
    *(_at_length("fedavg", late, "drawn") for late in (False, True)),
    _at_length("fedavg", False, "untrained"), _at_length("fedavg", True, "shuffled"),
    *(_at_length("uniform", late, "repaired") for late in (False, True)),
    *(_factors_at_length(in_slot) for in_slot in (False, True)),
    _factors_at_length(False, "drawn"),
    *(_repair(data, variant, what) for variant, what in AGENTS.items() for data in DATA),
    _decision("mlp", "MLP"),
    _decision("cnn-feddrl", "the paper's smaller CNN"),
    _timed("round-mlp", "median time of an MLP's round, one thread", "ms", "round_ms", alone=False),
    _timed("learning-40-aside", "what deciding and learning from 40 experiences add to that round, learning "
           "on a core of its own", "%", "40 in D_%", alone=False),
    _timed("learning-40-in-line", "the same without a free core", "%", "40 in D_%"),
    _timed("learning-1000-aside", "the same from 1,000 experiences, on a core of its own", "%",
           "1000 in D_%", alone=False),
    _timed("learning-1000-in-line", "the same without a free core", "%", "1000 in D_%"),
    _timed("learning-1000-cnn", "the same for the smaller CNN's round", "%", "1000 in D_%",
           model="cnn-feddrl"),
    *(_full_scale(variant, best) for best in (False, True) for variant in METHODS),
)  # fmt: skip
