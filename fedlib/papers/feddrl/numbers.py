"""Numbers of docs/feddrl.md, of README's results and of the first screen of 01_feddrl."""

import json
from dataclasses import replace

import pandas as pd

from fedlib.analysis.contrasts import paired, pooled
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.memo import kept_per_frame
from fedlib.analysis.numbers import README, Number, RowsOf, of_claim, of_part, single
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import learning, tables
from fedlib.papers.feddrl.claim_parts import LATE_LEAD
from fedlib.papers.feddrl.claims import CLAIMS
from fedlib.papers.feddrl.errata import accuracies
from fedlib.papers.feddrl.estimands import ROUNDS, factor_gap, factor_gap_in_slot, gains_by_clients
from fedlib.papers.feddrl.length_runs import EARLY_ROUNDS
from fedlib.papers.feddrl.quantities import best as best_by_seed
from fedlib.papers.feddrl.quantities import (
    equal_amounts,
    late_levels,
    late_spread,
    named,
    of_feddrl,
    over_rounds,
    rewards,
)
from fedlib.papers.feddrl.repair_numbers import REPAIR_NUMBERS
from fedlib.papers.feddrl.runs import CLUSTERED, EXACT_CELL, EXACT_METHODS
from fedlib.papers.feddrl.short_run_numbers import BOTH, RIVALS, SHORT_NUMBERS, TABLE3
from fedlib.papers.feddrl.time_numbers import PAGE, TIME_NUMBERS

TEN, EXACT = "ten", "exact"
AUTHORS = {f"authors-{scheme}": scheme for scheme in CLUSTERED}  # their own partition files
# by cell: Fashion-MNIST under a partition, MNIST, and CE with ten clients, or the paper's network
LENGTH = {
    "ce": "feddrl/paper_length", "cn": "feddrl/paper_length_cn", "pa": "feddrl/paper_length_pa",
    "mnist": "feddrl/paper_length_mnist", TEN: "feddrl/paper_length_ten", EXACT: f"feddrl/{EXACT_CELL}",
    **{f"mnist-{scheme}": f"feddrl/paper_length_mnist_{scheme}" for scheme in ("cn", "pa")},
    **{name: f"feddrl/authors_{scheme}_at_length" for name, scheme in AUTHORS.items()},
}  # fmt: skip
EARLY_LEAD, CLIENTS = "feddrl/early_lead", "feddrl/clients_at_length"
OF_README = (
    "feddrl-length-fedavg", "feddrl-length-ten-fedavg", "feddrl-lead-small-sets-late",
    "feddrl-lead-small-sets-late-uniform",
)  # fmt: skip
FEW_RIVALS = ("fedavg", "untrained")  # in the cells beside these
OF_TABLE3 = ("ce", "cn", "pa", "mnist", "mnist-cn", "mnist-pa")
OF_REPAIRED = {"feddrl": "the agent as printed", "repaired_untrained": "its untrained policy"}
OWN = {
    "feddrl": "FedDRL's", "drawn": "FedDRL's, with slots in drawn order,", "repaired": "the repaired agent's",
    "feddrl_online": "FedDRL's, in its online mode,",
}  # fmt: skip


def _at_length(
    control: str, scheme: str, own: str = "feddrl", *, late: bool = False, places: tuple[str, ...] = BOTH
) -> Number:
    """FedDRL, or a variant, less a control in a cell of the paper's length: best accuracy, or late."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, scheme, control)
        if cell is None:
            return None
        ours = dict(zip(("feddrl", "drawn"), of_feddrl(cell), strict=True)).get(own, own)
        if ours not in cell.variant.unique():
            return None
        levels = late_levels(cell) if late else {name: best_by_seed(cell, name) for name in (ours, control)}
        return paired(levels[ours], levels[control])

    what = f"mean accuracy of the last {tables.LAST_ROUNDS} rounds" if late else "best accuracy"
    twin = control.removeprefix("repaired_")
    parts = ("feddrl-length", scheme * (scheme != "ce"), own * (own != "feddrl"), "late" * late, twin)
    return Number(
        id="-".join(filter(None, parts)),
        what=f"{OWN[own]} {what} less that of {(RIVALS | OF_REPAIRED)[control]}, {_cell(scheme)}",
        unit="points", artifacts=(LENGTH[scheme],), compute=compute, places=places,
    )  # fmt: skip


def _second_half(scheme: str, own: str = "feddrl", control: str = "fedavg") -> Number:
    """FedDRL, or with drawn slots, less a control over the second half of the rounds (ten windows)."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, scheme, own, control)
        if cell is None:
            return None
        levels = late_levels(cell, 0.5)
        return paired(levels[own], levels[control])

    return Number(
        id=f"feddrl-length-{scheme}-{'drawn-' * (own == 'drawn')}second-half",
        what=f"{OWN[own]} mean accuracy of the last {ROUNDS // 2} rounds less that of {RIVALS[control]}, "
        f"{_cell(scheme)}", unit="points", artifacts=(LENGTH[scheme],), compute=compute, places=(PAGE,),
    )  # fmt: skip


def _cell_with(rows_of: RowsOf, scheme: str, *variants: str) -> pd.DataFrame | None:
    """The cell of `LENGTH`; None where one of these variants was not run."""
    cell = _whole(rows_of(LENGTH[scheme]))
    return cell if len(cell) and set(variants) <= set(cell.variant.unique()) else None


@kept_per_frame
def _whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Named rows of the runs that are as long as the paper's."""
    return named(rows[rows["rounds"] == ROUNDS]) if len(rows) else rows


def _cell(scheme: str) -> str:
    named_otherwise = {
        "ce": "", "mnist": " on MNIST", TEN: " with ten clients", "mnist-cn": " on MNIST under CN",
        "mnist-pa": " on MNIST under PA", EXACT: " with the paper's CNN, FedDRL online",
        **{name: f" by the authors' file of {scheme.upper()}" for name, scheme in AUTHORS.items()},
    }  # fmt: skip
    where = named_otherwise.get(scheme, f" under {scheme.upper()}")
    return f"one cell of {ROUNDS} rounds{where}"


def _factors_at_length(scheme: str, *, in_slot: bool) -> Number:
    """Factor of a small group's client less that of a main group's, in that cell."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, scheme, "feddrl")
        if cell is None:
            return None
        return mean_interval((factor_gap_in_slot if in_slot else factor_gap)(cell, "feddrl").to_numpy())

    words = "after a quarter of the rounds" + ", among clients in the same slot" * in_slot
    return Number(
        id=f"feddrl-length-{'cn-' * (scheme == 'cn')}factors{'-in-slot' * in_slot}",
        what=f"factor of a client of a small group less that of the main group {words}, {_cell(scheme)}",
        unit="% of 1/K", artifacts=(LENGTH[scheme],), compute=compute, places=(PAGE,),
    )  # fmt: skip


def _spread_with_ten(own: str) -> Number:
    """Spread of the accuracy over the last rounds, FedDRL's less FedAvg's: what the best round gains by."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, TEN, own, "fedavg")
        if cell is None:
            return None
        spread = late_spread(cell)
        return paired(spread[own], spread.fedavg)

    return Number(
        id=f"feddrl-length-{TEN}-{f'{own}-' * (own != 'feddrl')}spread",
        what=f"{OWN[own]} standard deviation over the last {tables.LAST_ROUNDS} rounds less that of FedAvg, "
        f"{_cell(TEN)}", unit="points", artifacts=(LENGTH[TEN],), compute=compute, places=(PAGE,),
    )  # fmt: skip


def _of_the_cell(scheme: str) -> tuple[Number, ...]:
    """Numbers of this cell of the paper's length, as far as it has rows."""
    # of the late lead, on the first screen
    explains = "uniform" if scheme.endswith("pa") else "untrained" if "mnist" in scheme else None
    stated = {("fedavg", False), ("fedavg", True), (explains, True)} if scheme not in AUTHORS else set()
    against = [
        _at_length(name, scheme, late=late, places=BOTH if (name, late) in stated else (PAGE,))
        for late in (False, True)
        for name in (RIVALS if scheme in OF_TABLE3 else FEW_RIVALS)
    ]
    if scheme in AUTHORS:
        even = "fedavg" if AUTHORS[scheme] == "ce" else "uniform"  # the same where sizes are equal
        pairs = [("uniform", "feddrl")] * (even == "uniform")
        pairs += [(name, "feddrl_online") for name in FEW_RIVALS]
        pairs += [(name, "repaired") for name in (even, "feddrl")]
        pairs += [("shuffled", "feddrl"), *((name, "drawn") for name in dict.fromkeys(("fedavg", even)))]
        return (
            *against,
            *(_at_length(control, scheme, own, late=late, places=(PAGE,)) for late in (False, True)
              for control, own in pairs),
        )  # fmt: skip
    drawn = (
        _at_length("fedavg", scheme, "drawn", places=(PAGE,)),
        _at_length("fedavg", scheme, "drawn", late=True),
    )
    if scheme in (EXACT, TEN):
        return (*against, *drawn)
    online = FEW_RIVALS * scheme.startswith("mnist")
    even = "fedavg" if scheme == "mnist" else "uniform"  # with clients of equal size FedAvg's are the same
    against += [
        _at_length(name, scheme, own, late=late, places=(PAGE,))
        for own, rivals in (("repaired", (even, *OF_REPAIRED)), ("feddrl_online", online))
        for late in (False, True)
        for name in rivals
    ]
    if scheme not in CLUSTERED:
        return (*against, *[_second_half(scheme, control="uniform")] * (scheme == "pa"))
    return (
        *against,
        *drawn,
        *(_factors_at_length(scheme, in_slot=in_slot) for in_slot in (False, True)),
        *(_second_half(scheme, own) for own in ("feddrl", "drawn")),
    )


def _over_the_six(control: str) -> Number:
    """FedDRL's late accuracy less a control's, mean over the cells of C1 at the paper's length."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cells = [_cell_with(rows_of, scheme, "feddrl", "fedavg") for scheme in OF_TABLE3]
        if any(cell is None for cell in cells):
            return None
        rivals = ["fedavg" if control == "uniform" and equal_amounts(cell) else control for cell in cells]
        levels = [late_levels(cell) for cell in cells]
        if any(rival not in late for rival, late in zip(rivals, levels, strict=True)):
            return None
        return pooled((late["feddrl"], late[rival]) for rival, late in zip(rivals, levels, strict=True))

    return Number(
        id=f"feddrl-lead-small-sets-late-{control}",
        what=f"FedDRL's mean accuracy of the last {tables.LAST_ROUNDS} rounds less that of "
        f"{RIVALS[control]}, mean over six cells of {ROUNDS} rounds", unit="points",
        artifacts=tuple(LENGTH[scheme] for scheme in OF_TABLE3), compute=compute, places=BOTH,
    )  # fmt: skip


def _gain(name: str, what: str, *clients: int) -> Number:
    """FedDRL's gain over the better baseline with so many clients, or with more less with fewer."""

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(CLIENTS)
        rows = rows[rows["rounds"] == ROUNDS] if len(rows) else rows
        gains = gains_by_clients(named(rows)) if len(rows) else {}
        if not set(clients) <= set(gains):
            return None
        first, *fewer = (gains[n] for n in clients)
        return mean_interval((first - fewer[0] if fewer else first).to_numpy())

    return Number(
        id=f"feddrl-gain-{name}", what=f"FedDRL's best accuracy over that of the better baseline, {what}",
        unit="%", artifacts=(CLIENTS,), compute=compute, places=(PAGE,),
    )  # fmt: skip


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


def _reward_with_ten(own: str) -> Number:
    """FedDRL's mean reward with ten clients at the paper's length less FedAvg's, by number or drawn."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, TEN, own, "fedavg")
        if cell is None:
            return None
        return paired(rewards(cell, own), rewards(cell, "fedavg"))

    return Number(
        id=f"feddrl-length-{TEN}-{f'{own}-' * (own != 'feddrl')}reward",
        what=f"{OWN[own]} mean reward less that of FedAvg, {_cell(TEN)}", unit="nats",
        artifacts=(LENGTH[TEN],), compute=compute, places=(PAGE,),
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


def _from_printed(variant: str, *, late: bool) -> Number:
    """Accuracy of a method in the cell with the paper's CNN, best or of the last rounds, less table 3's."""

    def compute(rows_of: RowsOf) -> Interval | None:
        cell = _cell_with(rows_of, EXACT, variant)
        if cell is None:
            return None
        levels = late_levels(cell)[variant] if late else best_by_seed(cell, variant)
        return mean_interval(
            (levels - accuracies().loc["Fashion-MNIST", "CE", 100][EXACT_METHODS[variant]]).to_numpy()
        )

    what = f"mean accuracy of the last {tables.LAST_ROUNDS} rounds" if late else "best accuracy"
    return Number(
        id=f"feddrl-length-{EXACT}-{variant.removesuffix('_online')}-{'late' if late else 'best'}",
        what=f"{EXACT_METHODS[variant]}'s {what} less the printed one, {_cell(EXACT)}", unit="points",
        artifacts=(LENGTH[EXACT],), compute=compute, places=(PAGE,),
    )  # fmt: skip


OVER_UNIFORM, OVER_UNTRAINED = _OVER_SIX = tuple(map(_over_the_six, ("uniform", "untrained")))
_OWN = (
    *_OVER_SIX,
    *SHORT_NUMBERS,
    *(number for scheme in LENGTH for number in _of_the_cell(scheme)),
    *(_spread_with_ten(own) for own in ("feddrl", "drawn")),
    *(
        of_claim(CLAIMS, "FEDDRL-C1", 0, id=f"feddrl-lead-{name}".replace("_", "-"), places=(PAGE,),
                 artifact=f"feddrl/{name}_at_length")
        for name in ("small_sets", "partitions")
    ),
    of_part(LATE_LEAD, id="feddrl-lead-small-sets-late", what=LATE_LEAD.what, places=BOTH,
            artifact="feddrl/small_sets_at_length"),
    _gain("hundred", "CE, 100 clients", 100),
    _gain("ten", "CE, ten clients", 10),
    _gain("growth", "CE, with 100 clients less with ten", 100, 10),
    _early("uniform", "uniform weights"),
    _early("repaired_untrained", "its untrained policy"),
    *REPAIR_NUMBERS,
    *(_reward_with_ten(own) for own in ("feddrl", "drawn")),
    _updates("length", LENGTH["ce"], "a run of the paper's length"),
    _updates("exact", LENGTH[EXACT], f"a run of {_cell(EXACT)}", "feddrl_online"),
    _updates("table3", TABLE3, "a short run of table 3"),
    _updates("printed", "feddrl/repair_judged", "the small setting, as printed"),
    _updates("repaired", "feddrl/repair_judged", "the small setting, repaired", "repaired"),
    *TIME_NUMBERS,
    *(_from_printed(name, late=late) for late in (False, True) for name in EXACT_METHODS),
)  # fmt: skip
NUMBERS = tuple(replace(one, places=(README, *one.places)) if one.id in OF_README else one for one in _OWN)
