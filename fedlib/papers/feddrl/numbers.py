"""Numbers of docs/feddrl.md, of README's results and of the first screen of 01_feddrl."""

import json
from dataclasses import replace

from fedlib.analysis.contrasts import paired
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import README, TIMES, Number, RowsOf, single
from fedlib.data.titles import title_of
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import learning, tables
from fedlib.papers.feddrl.estimands import ROUNDS, factor_gap, factor_gap_in_slot, picked
from fedlib.papers.feddrl.length_runs import EARLY_ROUNDS
from fedlib.papers.feddrl.quantities import best as best_by_seed
from fedlib.papers.feddrl.quantities import late_levels, named, over_rounds
from fedlib.papers.feddrl.runs import CLUSTERED

TABLE3 = "feddrl/table3"
LENGTH = {  # by cell: Fashion-MNIST under a partition, and MNIST under CE
    "ce": "feddrl/paper_length", "cn": "feddrl/paper_length_cn", "pa": "feddrl/paper_length_pa",
    "mnist": "feddrl/paper_length_mnist",
}  # fmt: skip
EARLY_LEAD = "feddrl/early_lead"
PAGE, NOTEBOOK = "docs/feddrl.md", "notebooks/01_feddrl.ipynb"
BOTH = (PAGE, NOTEBOOK)
OF_README = (
    *(f"feddrl-length-{scheme}fedavg" for scheme in ("", "cn-", "pa-")),
    *(
        f"feddrl-length-{scheme}late-{control}"
        for scheme in ("", "cn-", "pa-")
        for control in ("fedavg", "uniform", "untrained")
    ),
    "feddrl-length-drawn-late-fedavg", "feddrl-length-cn-drawn-late-fedavg",
    "feddrl-updates-length", *(f"feddrl-{agent}-fmnist" for agent in ("printed", "repaired")),
)  # fmt: skip
RIVALS = {
    "fedavg": "FedAvg", "uniform": "uniform weights", "untrained": "its untrained policy",
    "shuffled": "itself with shuffled input",
}  # fmt: skip
OF_REPAIRED = {"feddrl": "the agent as printed", "repaired_untrained": "its untrained policy"}
AGENT_WORDS = {
    "feddrl": "the agent as printed", "untrained": "the agent never trained",
    "repaired": "the repaired agent", "repaired_permuted": "the same with permuted rewards",
    "small_groups": "the rule that gives small groups e times the weight",
}  # fmt: skip
OWN = {
    "feddrl": "FedDRL's", "drawn": "FedDRL's, with slots in drawn order,", "repaired": "the repaired agent's",
}  # fmt: skip
AGENT_IDS = {"feddrl": "printed"}
CURVES, METHODS = (
    "feddrl/full_scale_curves",
    {"fedavg": "FedAvg", "fedprox": "FedProx", "feddrl_online": "FedDRL"},
)
# Rounds of the cell at full scale that three seeds have of all three methods, and that one seed has
REACHED, WHOLE = 526, 1000


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


def _at_length(
    control: str, scheme: str, own: str = "feddrl", *, late: bool = False, places: tuple[str, ...] = BOTH
) -> Number:
    """FedDRL, or a variant, less a control in a cell of the paper's length: best accuracy, or late."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(LENGTH[scheme])
        cell = named(rows[rows["rounds"] == ROUNDS]) if len(rows) else rows
        if not len(cell) or not {own, control} <= set(cell.variant):
            return None
        levels = late_levels(cell) if late else {name: best_by_seed(cell, name) for name in (own, control)}
        return paired(levels[own], levels[control])

    what = f"mean accuracy of the last {tables.LAST_ROUNDS} rounds" if late else "best accuracy"
    twin = control.removeprefix("repaired_")
    parts = ("feddrl-length", scheme * (scheme != "ce"), own * (own != "feddrl"), "late" * late, twin)
    return Number(
        id="-".join(filter(None, parts)),
        what=f"{OWN[own]} {what} less that of {(RIVALS | OF_REPAIRED)[control]}, {_cell(scheme)}",
        unit="points", artifacts=(LENGTH[scheme],), compute=compute,
        places=places,
    )  # fmt: skip


def _cell(scheme: str) -> str:
    where = {"ce": "", "mnist": " on MNIST"}.get(scheme, f" under {scheme.upper()}")
    return f"one cell of {ROUNDS} rounds{where}"


def _factors_at_length(scheme: str, *, in_slot: bool) -> Number:
    """Factor of a small group's client less that of a main group's, in that cell."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(LENGTH[scheme])
        own = named(rows[rows["rounds"] == ROUNDS]) if len(rows) else rows
        if not len(own) or "feddrl" not in set(own.variant):
            return None
        return mean_interval((factor_gap_in_slot if in_slot else factor_gap)(own, "feddrl").to_numpy())

    words = ", among clients in the same slot" * in_slot
    return Number(
        id=f"feddrl-length-{'cn-' * (scheme == 'cn')}factors{'-in-slot' * in_slot}",
        what=f"factor of a client of a small group less that of the main group{words}, {_cell(scheme)}",
        unit="% of 1/K", artifacts=(LENGTH[scheme],), compute=compute,
        places=(PAGE,),
    )  # fmt: skip


def _of_the_cell(scheme: str) -> tuple[Number, ...]:
    """Numbers of this cell of the paper's length, as far as it has rows."""
    explains = {"pa": "uniform", "mnist": "untrained"}.get(scheme)  # the late lead, on the first screen
    stated = {("fedavg", False), ("fedavg", True), (explains, True)}
    against = [
        _at_length(name, scheme, late=late, places=BOTH if (name, late) in stated else (PAGE,))
        for late in (False, True)
        for name in RIVALS
    ]
    against += [
        _at_length(name, scheme, "repaired", late=late, places=(PAGE,))
        for late in (False, True)
        for name in ("uniform", *OF_REPAIRED)
    ]
    if scheme not in CLUSTERED:
        return tuple(against)
    return (
        *against,
        _at_length("fedavg", scheme, "drawn", places=(PAGE,)),
        _at_length("fedavg", scheme, "drawn", late=True),
        *(_factors_at_length(scheme, in_slot=in_slot) for in_slot in (False, True)),
    )


def _early(rival: str, words: str) -> Number:
    """The repaired agent less a rival in the mean accuracy over the first rounds under CN."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(EARLY_LEAD)
        if rows.empty or rows["rounds"].max() < EARLY_ROUNDS:
            return None
        cell = named(rows)
        return paired(over_rounds(cell, "repaired"), over_rounds(cell, rival))

    return Number(
        id=f"feddrl-early-{rival.removeprefix('repaired_')}",
        what=f"the repaired agent's mean accuracy over the first {EARLY_ROUNDS} rounds under CN less that of "
        f"{words}", unit="points", artifacts=(EARLY_LEAD,), compute=compute, places=BOTH,
    )  # fmt: skip


def _repair(data: str, variant: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        found = learning.gains(rows_of("feddrl/repair_judged"))
        found = found[(found.dataset == data) & (found.variant == variant)]
        return Interval.from_columns(found.iloc[0], "nats") if len(found) else None

    return Number(
        id=f"feddrl-{AGENT_IDS.get(variant, variant).replace('_', '-')}-{data}",
        what=f"mean reward of {what} less that of uniform weights, {title_of(data)}", unit="nats",
        artifacts=("feddrl/repair_judged",), compute=compute, places=(PAGE,),
    )  # fmt: skip


def _updates(name: str, artifact: str, what: str, variant: str = "feddrl") -> Number:
    """Updates that the main agent of a run makes, before round 1 and within it (FEDDRL-A19, A23)."""

    def compute(rows_of: RowsOf) -> Interval | None:
        own = named(rows_of(artifact))
        own = own[own.variant == variant]
        if own.empty:
            return None
        method = FedDRL(**json.loads(own.method_options.iloc[0]))
        return single(learning.updates(method, int(own["rounds"].iloc[0])))

    return Number(id=f"feddrl-updates-{name}", what=f"updates of the agent in {what}", unit="",
                  artifacts=(artifact,), compute=compute, places=(PAGE,), tolerance=0.5)  # fmt: skip


def _timed(name: str, what: str, unit: str, column: str, *, model: str = "mlp", alone: bool = True) -> Number:
    """A column of `tables.agent_share`; alone: learning in line, where no core is free for it."""

    def compute(rows_of: RowsOf) -> Interval | None:
        found = tables.agent_share(rows_of("feddrl/fig9"))
        found = found[(found.model == model) & (found.timed_on == "cpu")].sort_values("threads")
        return single(found[column].iloc[-1 if alone else 0]) if len(found) and column in found else None

    return Number(id=f"feddrl-{name}", what=what, unit=unit, artifacts=("feddrl/fig9",), compute=compute,
                  places=(PAGE,), factor=TIMES)  # fmt: skip


def _decision(model: str, words: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of("feddrl/fig9")
        own = rows[(rows.what == "decision") & (rows.model == model) & (rows.timed_on == "cpu")]
        return single(own.median_ms.iloc[0]) if len(own) else None

    return Number(id=f"feddrl-decision-{model}", what=f"median time of a decision, {words}", unit="ms",
                  artifacts=("feddrl/fig9",), compute=compute, places=(PAGE,), factor=TIMES)  # fmt: skip


def _full_scale(variant: str, best: bool, less: str = "", to: int = REACHED) -> Number:
    """Accuracy in the full-scale cell up to a round, or a lead there; None before all methods are there."""
    measure = best_by_seed if best else tables.last_rounds

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(CURVES)
        part = dict(tables.full_scale_stages(rows)).get(to) if len(rows) else None
        if part is None:
            return None
        ours = measure(part, variant)
        return paired(ours, measure(part, less)) if less else single(ours.mean())

    which = f"best up to round {to}" if best else f"mean of the {tables.LAST_ROUNDS} rounds to {to}"
    which += ", one seed" * (to == WHOLE)
    lead = f" less that of {METHODS[less]}" if less else ""
    name = f"{'lead-' if less else ''}{variant.removesuffix('_online')}-{'best' if best else 'late'}"
    return Number(
        id=f"feddrl-full-scale-{'whole-' * (to == WHOLE)}{name}",
        what=f"accuracy of {METHODS[variant]}{lead} in one cell at full scale, {which}",
        unit="points" if less else "%", artifacts=(CURVES,), compute=compute, places=(PAGE,),
        tolerance=None if less and to == REACHED else 2.0, first=("feddrl/table3_fmnist_ce_n100",),
    )  # fmt: skip


_OWN = (
    *(_in_table3(control) for control in ("uniform", "untrained")),
    *(_in_table3(control, scheme) for control in RIVALS for scheme in ("pa", "ce", "cn")),
    *(number for scheme in LENGTH for number in _of_the_cell(scheme)),
    _early("uniform", "uniform weights"),
    _early("repaired_untrained", "its untrained policy"),
    *(_repair(data, variant, what) for variant, what in AGENT_WORDS.items() for data in ("fmnist", "mnist")),
    _updates("length", LENGTH["ce"], "a run of the paper's length"),
    _updates("table3", TABLE3, "a short run of table 3"),
    _updates("printed", "feddrl/repair_judged", "the small setting, as printed"),
    _updates("repaired", "feddrl/repair_judged", "the small setting, repaired", "repaired"),
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
    *(
        _full_scale(name, best, to=to)
        for to in (REACHED, WHOLE)
        for best in (False, True)
        for name in METHODS
    ),
    *(
        _full_scale("feddrl_online", best, less="fedavg", to=to)
        for to in (REACHED, WHOLE)
        for best in (False, True)
    ),
)  # fmt: skip
NUMBERS = tuple(replace(one, places=(README, *one.places)) if one.id in OF_README else one for one in _OWN)
