"""Claims of ours, C1 to C20 registered before any rows of the comparison, and of the devices, were looked at.

C21 to C24, on what training is worth in simulated time, were registered when all other rows had been looked
at, before any run of their controls (A17). C25 asks on a third data set what was first seen on the second.

The paper is ours, so nothing is printed: the margin is the default half point. Each contrast of the
comparison is one value per seed, the mean over the cells of the protocol.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from fedlib.analysis.claims import Claim, Gate, Part, Supplement
from fedlib.analysis.gates import at_scale, curves_flat
from fedlib.analysis.intervals import interval_words, mean_interval
from fedlib.analysis.memo import kept_per_frame
from fedlib.analysis.supplements import supplement
from fedlib.errors import check
from fedlib.experiments.results import finished_rows
from fedlib.papers.head_to_head import device_quantities, device_runs
from fedlib.papers.head_to_head.device_corrections import corrected, corrected_on_training
from fedlib.papers.head_to_head.quantities import equal_sizes, labelled, levels_by_seed, per_run
from fedlib.papers.head_to_head.runs import CONTESTANTS, OTHER_SETS, RAN_ELSEWHERE, SCALES, TRANSFERRED
from fedlib.papers.head_to_head.training import training_words

BASELINES = tuple(name for name, one in CONTESTANTS.items() if not one.learns and not one.twin_of)
_CURVES = curves_flat(("dataset", "cell", "contestant"), length=SCALES["extended"].rounds, whose="protocol")


@kept_per_frame
def _curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the curves whose flatness counts; runs that diverged end before the others."""
    return labelled(finished_rows(rows))[["dataset", "cell", "contestant", "round", "test_accuracy"]]


FLAT = replace(_CURVES, check=lambda rows: _CURVES.check(_curves(rows)))


def best_baseline(runs: pd.DataFrame) -> str:
    """The baseline with the highest validation accuracy over all runs; test data do not choose."""
    own = runs[runs.contestant.isin(BASELINES)]
    return str(own.groupby("contestant").validation.mean().idxmax())


def strongest_baseline(runs: pd.DataFrame) -> str:
    """The baseline with the highest level. Test data choose it, so that no claim is decided against it."""
    return str(runs[runs.contestant.isin(BASELINES)].groupby("contestant")["level"].mean().idxmax())


CHOSEN = {"best": best_baseline, "strongest": strongest_baseline}


def _flat(*contestants: str, cell: str = "") -> Gate:
    """`FLAT` of these contestants' curves alone, names or `CHOSEN` ones; cell: in this one alone."""

    def check(rows: pd.DataFrame) -> tuple[bool, str]:
        names = [CHOSEN[name](per_run(rows)) if name in CHOSEN else name for name in contestants]
        own = _curves(rows)
        return _CURVES.check(own[own.contestant.isin(names) & ((own.cell == cell) if cell else True)])

    return replace(_CURVES, check=check)


def less(rows: pd.DataFrame, ours: str, theirs: str) -> pd.DataFrame:
    """Level of one contestant less another's, points [seeds, cells]; theirs: a name or one of `CHOSEN`."""
    runs = per_run(rows)
    other = CHOSEN[theirs](runs) if theirs in CHOSEN else theirs
    for name in (ours, other):
        check(name in set(runs.contestant), f"no rows of {name}")
    levels = _levels(rows)
    return levels[ours] - levels[other]


@kept_per_frame
def _levels(rows: pd.DataFrame) -> pd.DataFrame:
    return levels_by_seed(per_run(rows))


def less_if_run(rows: pd.DataFrame, ours: str, theirs: str) -> pd.DataFrame:
    """`less`, empty where either was not run; of `CHOSEN`, without FedAvg."""
    needed = {ours, "fedavg" if theirs in CHOSEN else theirs}
    return less(rows, ours, theirs) if needed <= set(per_run(rows).contestant) else pd.DataFrame()


CELLS = len(SCALES["paper"].datasets) * len(SCALES["paper"].cells)
EQUAL_SIZES = (
    "In all cells but volume and labels clients hold equally many images, so that FedNova is FedAvg there "
    "but for rounding, which alone can move a run by points: beside the verdict stands the same against "
    "FedNova."
)
FAVOR_TRAINED = (
    "FAVOR's agent is trained in ten episodes of the run's length with one client a round, at 300 rounds in "
    "less than a third of the steps of the public reproduction (HEAD-A6). No gate on that was registered: "
    "the verdict speaks of FAVOR so trained. A run that diverged counts as 0 %: one of 20 of FAVOR and of "
    "its untrained policy, three of FAVOR with permuted rewards, one of them before round 1. Without the "
    "seeds in which either of the pair diverged the verdicts are the same; of the pair with permuted rewards "
    "that leaves one seed, and no verdict."
)
LATER_CELLS = (
    "The cell of two labels a client joined after the verdicts over the first two were known, that of volume "
    "and labels on 2026-11-28 after those over three; each was registered before its own runs. In the cell "
    "of two labels FedExP, FAVOR, the repaired agent, both with permuted rewards and FedDRL with them ran on "
    "a CPU, all others on a GPU with another version of torch, so that some pairs there cross devices."
)
PERMUTED_LATER = (
    "FedDRL's control on permuted rewards was added on 2026-11-27, when all other rows had been looked at: "
    "it stands beside, and decides no claim (HEAD-A14)."
)
ON_OTHERS = (
    "The same on CIFAR-10 (HEAD-A18, registered on 2026-11-28) and on MNIST (HEAD-A21, on 2026-11-30) "
    "stands beside the verdict, in the cells that all contestants there ran in. Both were registered before "
    "any run there; Dirichlet shares were run when the other cell had been looked at. MNIST's cell of two "
    "labels a client was registered on 2026-12-01, when those two were known, that of volume and labels on "
    "2026-12-02, before any row of two labels was looked at, CIFAR-10's cells of two labels and of volume "
    "and labels that day, when all other rows were known but, for the last, part of two labels; each before "
    "any run in it."
)
CONTROLS_ELSEWHERE = (
    "The same {} stands beside the verdict. It was registered on 2026-12-01, when the "
    "other rows there were known, before any run of the control ({})."
)
ON_ALL_IMAGES = (
    "So does the same on all images of Fashion-MNIST, with cluster skew (HEAD-A23): registered on "
    "2026-12-02, when all other rows were known but those of MNIST's volume and labels, before any run of it."
)
SEEN_ON_CIFAR = (
    "With cluster skew on CIFAR-10 FedDRL's lead over both was seen in a cell that no claim had named; this "
    "one asks whether it repeats on other images. Registered on 2026-11-30, before any run on them "
    "(HEAD-A21). The cell of Dirichlet shares is not asked for."
)
FEDEXP_LATER = (
    "FedExP, one of the baselines, is evaluated as in its authors' code since 2026-11-28, when all other "
    "rows had been looked at (HEAD-A19)."
)
NOTES = {"fedavg": EQUAL_SIZES, "feddrl_shuffled": PERMUTED_LATER, "best": FEDEXP_LATER}  # by rival
NOTES_OF = {"favor": FAVOR_TRAINED}  # by who learns


def _claim(number: int, ours: str, theirs: str, words: str) -> Claim:
    name = LEARNED[ours]
    training = Supplement("head_to_head/comparison", lambda rows: training_words(rows, ours, name))
    elsewhere = _elsewhere(ours, theirs, words)
    on_others = ON_OTHERS if theirs in (*CHOSEN, *TRANSFERRED) else _controls_elsewhere(theirs)
    at_full_size = ON_ALL_IMAGES * (theirs in (*CHOSEN, *RAN_ELSEWHERE["full_size"]))
    notes = NOTES.get(theirs), NOTES_OF.get(ours), LATER_CELLS, elsewhere and on_others, at_full_size
    return Claim(
        id=f"HEAD-C{number}",
        statement=f"{name} ends with a higher accuracy than {words}",
        place="ours",
        artifact="head_to_head/comparison",
        parts=(Part(f"{name} - {words}", lambda rows: less(rows, ours, theirs), cells=CELLS),),
        gates=(_flat(ours, theirs),),
        supplements=(*_beside(ours, theirs), *elsewhere, training),
        how=" ".join(filter(None, notes)),
    )


def _controls_elsewhere(control: str) -> str:
    """The note on other data sets for a control, which was not run on all of them."""
    sets = {"second_set": ("on CIFAR-10", "A18"), "third_set": ("on MNIST", "A21")}
    ran = [sets[name] for name in OTHER_SETS if control in RAN_ELSEWHERE[name]]
    titles, readings = zip(*ran, strict=True)
    return CONTROLS_ELSEWHERE.format(" and ".join(titles), " and ".join(f"HEAD-{one}" for one in readings))


def _beside(ours: str, theirs: str) -> tuple[Supplement, ...]:
    """Beside FedAvg the same with FedNova (`EQUAL_SIZES`), beside shuffled clients permuted rewards."""
    if theirs == "feddrl_shuffled":
        elsewhere = _elsewhere(ours, "feddrl_permuted", device_runs.PERMUTED)
        return (Supplement("head_to_head/comparison", permuted_words), *elsewhere)
    part = Part(f"{LEARNED[ours]} - FedNova", lambda rows: less(rows, ours, "fednova"))
    beside = supplement(
        "head_to_head/comparison", part, where="where clients are equally large", chosen=equal_sizes
    )
    return (beside,) * (theirs == "fedavg")


def _elsewhere(ours: str, theirs: str, words: str) -> tuple[Supplement, ...]:
    """Supplements with the claim's contrast on other data sets and at full size, for rivals run there."""
    part = Part(f"{LEARNED[ours]} - {words}", lambda rows: less_if_run(rows, ours, theirs))
    where = {name: f"on a {name.removesuffix('_set')} data set" for name in OTHER_SETS}
    where["full_size"] = "on all images, with cluster skew"
    return tuple(
        supplement(f"head_to_head/{name}", part, where=where[name])
        for name, ran in RAN_ELSEWHERE.items()
        if theirs in (*CHOSEN, *ran)
    )


def _claim_on_third_set(number: int, ours: str, rivals: Mapping[str, str]) -> Claim:
    """Our claim that a method is ahead of each rival (name -> words) with cluster skew on a third set."""
    name = LEARNED[ours]
    return Claim(
        id=f"HEAD-C{number}",
        statement=f"with cluster skew on MNIST {name} ends with a higher accuracy than "
        f"{' and than '.join(rivals.values())}",
        place="ours",
        artifact="head_to_head/third_set",
        parts=tuple(
            Part(
                f"{name} - {words}",
                lambda rows, rival=rival: less(rows[labelled(rows).cell == "cluster skew"], ours, rival),
                cells=1,
            )
            for rival, words in rivals.items()
        ),
        gates=(_flat(ours, *rivals, cell="cluster skew"),),
        how=SEEN_ON_CIFAR,
    )


def permuted_words(rows: pd.DataFrame) -> str:
    """Say what FedDRL's online agent is worth against itself on permuted rewards; empty without its rows."""
    if not {"feddrl", "feddrl_permuted"} <= set(per_run(rows).contestant):
        return ""
    gaps = less(rows, "feddrl", "feddrl_permuted").dropna(axis=1, how="all").dropna().mean(axis=1)
    return (
        f"{LEARNED['feddrl']} less itself with permuted rewards: "
        f"{interval_words(mean_interval(gaps.to_numpy()))} points (a control that was added when the other "
        "rows had been looked at)"
    )


def _trained(rows: pd.DataFrame) -> tuple[bool, str]:
    made, needed = device_quantities.updates(rows), UPDATES
    return made >= needed, f"agents learned in {made} of the {needed} rounds of FedDdrl's paper"


FAILED = ("SchedulerFL",)  # of which some runs end in a round for which nobody is drawn
UPDATES = 600  # 40 episodes of 15 rounds
LONG_ENOUGH = at_scale("devices' rounds", rounds=device_runs.ROUNDS["reduced"])
TRAINED = Gate(f"agents trained: {UPDATES} rounds, as in FedDdrl's paper", _trained)
Rivals = Callable[[str], Mapping[str, str]]  # name of a method -> words -> contestant
UNGATED = " No gate on the agent's own training was registered."
OF_OTHERS = (
    f"{UNGATED} Until 2026-11-27 the gate on FedDdrl's and FedMarl's training was listed here; it is about "
    "other agents, and the rows pass it."
)
EQUAL_TIME = (
    "Equal time is that of the run of a pair that is over first, the sum of its rounds' `latency_seconds`; "
    "a failed run counts as 0 % and is never over. A run's accuracy there is its mean over the rounds that "
    "end within the last tenth of that time, its start left out, or that of the last round before. "
    "Decided by runs of 200 rounds (`extended`), registered on 2026-12-03, when those of 60 were known "
    "(HEAD-A24); of these, seeds 5 to 14 had been added after five with which all was inconclusive."
)
AS_PRINTED = (
    " A dropped client costs no time, by eq. (1) as printed (FEDDDRL-A2), though the server needs its probe."
)
BY_A2 = (
    f"{AS_PRINTED} Numbers with a server that waits for the probes of dropped clients (FedMarl's rule) were "
    "added on 2026-11-27, after the rows had been looked at."
)
REGISTERED_LATER = (
    " Registered on 2026-11-28, when all other rows had been looked at, before any run of the two controls "
    "(A17); numbers beside the verdict were added when these had been looked at. The verdict is not "
    "corrected for the four methods of C21 to C24; beside it stands what Holm's correction leaves."
)
REPLACED = (
    " The second control first had rewards of any earlier round; it was replaced and run anew when the rows "
    "of the first version had been looked at (A17)."
)


def _at_equal_time(name: str, rivals: Rivals, *, failed: bool = True) -> tuple[Part, ...]:
    """A method less each rival at equal simulated time; failed: whether seeds with a failed run count."""
    return tuple(
        Part(
            f"{name} - {words}{'' if failed else ', without failed runs'}",
            lambda rows, rival=rival: device_quantities.less_at_equal_time(rows, name, rival, failed=failed),
        )
        for words, rival in rivals(name).items()
    )


def _claim_in_time(number: int, name: str, rivals: Rivals, between: str, how: str) -> Claim:
    """Our claim that a method is ahead of each rival at equal simulated time; between: their names."""
    return Claim(
        id=f"HEAD-C{number}",
        statement=f"after equal simulated time {name} is more accurate than {between.join(rivals(name))}",
        place="ours",
        artifact="head_to_head/devices",
        parts=_at_equal_time(name, rivals),
        gates=(LONG_ENOUGH, TRAINED) if _learns_before(name) else (LONG_ENOUGH,),
        supplements=_beside_in_time(name, rivals),
        how=how,
    )


def _beside_in_time(name: str, rivals: Rivals) -> tuple[Supplement, ...]:
    """Numbers without failed runs, with a server that waits for probes, and corrected for all methods."""
    without = supplement("head_to_head/devices", *_at_equal_time(name, rivals, failed=False))
    waiting = supplement(
        "head_to_head/devices", *_at_equal_time(name, rivals), chosen=device_quantities.waiting_for_probes,
        where="where the server waits for every probe", decided=True,
    )  # fmt: skip
    probes, twins = _learns_before(name), rivals is device_runs.twins
    at_once = Supplement("head_to_head/devices", corrected_on_training if twins else corrected)
    return (*([without] * (name in FAILED)), *([waiting] * probes), *([at_once] * (twins or probes)))


def _learns_before(name: str) -> bool:
    return name.lower() in device_runs.LEARN_BEFORE


LEARNED = {
    "feddrl": "FedDRL (online)",
    "repaired": "Repaired FedDRL",
    "favor": "FAVOR",
    "auto_fedrl": "Auto-FedRL",
}
CLAIMS = (
    _claim(1, "feddrl", "fedavg", "FedAvg"),
    _claim(2, "feddrl", "feddrl_untrained", "its untrained policy"),
    _claim(3, "feddrl", "feddrl_shuffled", "itself with clients shuffled"),
    _claim(4, "feddrl", "best", "the best baseline"),
    _claim(5, "repaired", "fedavg", "FedAvg"),
    _claim(6, "repaired", "repaired_untrained", "its untrained policy"),
    _claim(7, "repaired", "repaired_permuted", "itself with permuted rewards"),
    _claim(8, "repaired", "best", "the best baseline"),
    _claim(9, "favor", "fedavg", "FedAvg"),
    _claim(10, "favor", "favor_untrained", "its untrained policy"),
    _claim(11, "favor", "favor_permuted", "itself with permuted rewards"),
    _claim(12, "favor", "best", "the best baseline"),
    _claim(13, "auto_fedrl", "fedavg", "FedAvg"),
    _claim(14, "auto_fedrl", "auto_fedrl_untrained", "its untrained policy"),
    _claim(15, "auto_fedrl", "auto_fedrl_permuted", "itself with permuted rewards"),
    _claim(16, "auto_fedrl", "best", "the best baseline"),
    *(
        _claim_in_time(
            17 + place, name, device_runs.rivals, ", ",
            f"{EQUAL_TIME}{BY_A2 if _learns_before(name) else OF_OTHERS}",
        )
        for place, name in enumerate(device_runs.TIMED)
    ),
    *(
        _claim_in_time(
            21 + place, name, device_runs.twins, " and than ",
            f"Equal time is that of C17 to C20.{AS_PRINTED if _learns_before(name) else UNGATED}"
            f"{REGISTERED_LATER}{REPLACED * (name == 'EvaluatorFL')}",
        )
        for place, name in enumerate(device_runs.TIMED)
    ),
    _claim_on_third_set(
        25, "feddrl", {"fedavg": "FedAvg", "feddrl_untrained": "its untrained policy"}
    ),
)  # fmt: skip
