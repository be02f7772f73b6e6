"""Numbers of README, of docs/findings.md and of the first screen of 03_fedddrl."""

from functools import partial

import pandas as pd

from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import FINDINGS, README, Number, RowsOf, of_claim, of_part
from fedlib.papers.fedddrl.claims import CLAIMS
from fedlib.papers.fedddrl.returns import less_rule
from fedlib.papers.fedddrl.supplements import BIAS_ALONE, SAVED_WAITING, SECOND_AGENT
from fedlib.papers.fedddrl.tables import FASTEST, RANDOM, UNTRAINED, at_learned_rate

ROWS, FULL_SIZE = "fedddrl/controls", "fedddrl/full-size"
NOTEBOOK = "notebooks/03_fedddrl.ipynb"
PLACES = (FINDINGS, NOTEBOOK)


def _mean_of(table: pd.DataFrame, method: str, name: str) -> Interval | None:
    """A column of `at_learned_rate` for one policy, mean over the data sets, by seed; None without values."""
    gaps = table[table.method == method].dropna(subset=name) if len(table) else table
    return mean_interval(gaps.groupby("seed")[name].mean().to_numpy()) if len(gaps) else None


def _by_the_cohorts_sum(rows_of: RowsOf) -> Interval | None:
    """FedDdrl's return, H by the cohort's sum (A3), less that of as many at random, on real images."""
    rows = real_rows(rows_of(ROWS))
    return None if rows.empty else _mean_of(at_learned_rate(rows, "cohort"), "fedddrl", f"return - {RANDOM}")


def _less(rule: str, quantity: str, unit: str, role: str = "", artifact: str = ROWS) -> Number:
    """FedDdrl's return (15) or accuracy less that of a one-line rule at as many uploads, on real images.

    role: on one data set alone; otherwise the mean over them. artifact: FULL_SIZE has clients of the
    paper's size.
    """

    def compute(rows_of: RowsOf) -> Interval | None:
        table = at_learned_rate(real_rows(rows_of(artifact)))
        table = table[table.role.isin([role] if role else table.role)] if len(table) else table
        return _mean_of(table, "fedddrl", f"{quantity} - {rule}")

    words = rule.replace("_", " ")
    full = artifact == FULL_SIZE
    in_findings = not full and (quantity, role) in (("return", ""), ("accuracy", "MNIST"))
    parts = ("full" * full, "return" * (quantity == "return"), role.lower().replace("-10", "10"))
    return Number(
        id="-".join(filter(None, ("fedddrl", *parts, words.replace(" ", "-")))),
        what=f"FedDdrl's {quantity} less that of the rule '{words}' at as many uploads"
        f"{f', {role} alone' * bool(role)}{', clients of full size' * full}",
        unit=unit, artifacts=(artifact,), compute=compute,
        places=(FINDINGS,) * in_findings + (NOTEBOOK,),
    )  # fmt: skip


def _untrained_less_random(rows_of: RowsOf) -> Interval | None:
    """The untrained agents' return less that of as many clients at random, mean over real images, by seed."""
    rules, agents = (real_rows(rows_of(name)) for name in (ROWS, "fedddrl/untrained"))
    if rules.empty or agents.empty:
        return None
    table = at_learned_rate(pd.concat([rules[~rules.run.isin(agents.run)], agents]))
    return _mean_of(table, UNTRAINED, f"return - {RANDOM}")


def _less_fifth(rows_of: RowsOf, rule: str, quantity: str, artifact: str) -> Interval | None:
    """FedDdrl's return or accuracy less a rule's, such as one that keeps a fifth, on real images."""
    rows = real_rows(rows_of(artifact))
    return None if rows.empty else less_rule(rows, rule, quantity)


def _of_a_fifth(
    kept: str, rule: str, quantity: str, artifact: str = ROWS, places: tuple[str, ...] = PLACES
) -> Number:
    """Number of `_less_fifth`; kept: who the fifth is, `random` or `fastest`."""
    words = {"random": "a fifth of the clients at random", "fastest": "the fastest fifth of the clients"}
    full = artifact == FULL_SIZE
    parts = ("fedddrl", "full" * full, "return" * (quantity == "return"), f"{kept}-fifth")
    return Number(
        id="-".join(filter(None, parts)),
        what=f"FedDdrl's {quantity} less that of keeping {words[kept]}{', clients of full size' * full}",
        unit="" if quantity == "return" else "points", artifacts=(artifact,),
        places=places,
        compute=partial(_less_fifth, rule=rule, quantity=quantity, artifact=artifact),
    )  # fmt: skip


BY_COHORT = Number(
    id="fedddrl-return-cohort-random-drop", unit="", artifacts=(ROWS,), places=PLACES,
    what="FedDdrl's return with H by the cohort's sum less that of the rule 'random drop' at as many uploads",
    compute=_by_the_cohorts_sum,
)  # fmt: skip
LESS_EPOCHS = tuple(
    Number(
        id=f"fedddrl-{'return-' * (quantity == 'return')}fewest-epochs", artifacts=(ROWS,), unit=unit,
        what=f"FedDdrl's {quantity} less that of the rule that gives slow clients fewer epochs",
        places=(NOTEBOOK,),
        compute=partial(_less_fifth, rule="fewest_epochs", quantity=quantity, artifact=ROWS),
    )
    for quantity, unit in (("return", ""), ("accuracy", "points"))
)  # fmt: skip
LESS_LATENCY_C, LESS_ACCURACY_C = (
    of_claim(CLAIMS, claim, part, id=f"fedddrl-c-{name}", places=(NOTEBOOK,))
    for claim, part, name in (("FEDDDRL-C5", 0, "latency"), ("FEDDDRL-C3", 2, "accuracy"))
)
UNTRAINED_LESS_RANDOM = Number(
    id="fedddrl-return-untrained-random", unit="", artifacts=(ROWS, "fedddrl/untrained"), places=PLACES,
    what="return of FedDdrl's untrained agents less that of the rule 'random drop' at as many uploads",
    compute=_untrained_less_random,
)  # fmt: skip
TRAINED, NOT_PERMUTED = (
    of_claim(CLAIMS, "FEDDDRL-R1", part, id=f"fedddrl-return-{name}", places=PLACES)
    for part, name in enumerate(("untrained", "permuted"))
)
LESS_RANDOM_FIFTH, LESS_FASTEST_FIFTH = (
    tuple(_of_a_fifth(*kept, quantity) for quantity in ("return", "accuracy"))
    for kept in (("random", "random_drop_20%"), ("fastest", "drop_slowest_20%"))
)
FULL_RANDOM_FIFTH, FULL_FASTEST_FIFTH = (
    tuple(
        _of_a_fifth(*kept, quantity, FULL_SIZE, PLACES if quantity in told else (NOTEBOOK,))
        for quantity in ("return", "accuracy")
    )
    for kept, told in (
        (("random", "random_drop_20%"), ()), (("fastest", "drop_slowest_20%"), ("return",)),
    )
)  # fmt: skip
LESS_RULE = {
    rule: (_less(rule, "return", ""), _less(rule, "accuracy", "points")) for rule in (RANDOM, FASTEST)
}
FULL_LESS = {
    rule: tuple(_less(rule, *of, artifact=FULL_SIZE) for of in (("return", ""), ("accuracy", "points")))
    for rule in LESS_RULE
}
ROLES = ("MNIST", "CIFAR-10")
BY_DATA = {rule: {role: _less(rule, "accuracy", "points", role) for role in ROLES} for rule in LESS_RULE}
RETURN_BY_DATA, FULL_BY_DATA = (
    {rule: {role: _less(rule, "return", "", role, artifact) for role in ROLES} for rule in LESS_RULE}
    for artifact in (ROWS, FULL_SIZE)
)
NAMES = ("latency-saved", "uploads-saved", "accuracy-fedavg")  # of C16's parts
PROMISED, AT_FULL_SIZE = (
    tuple(
        of_claim(
            CLAIMS, "FEDDDRL-C16", part, id=f"fedddrl-{name}", places=(README, *PLACES), artifact=artifact
        )
        for part, name in enumerate(names)
    )
    for names, artifact in ((NAMES, ""), ([f"full-{name}" for name in NAMES], FULL_SIZE))
)
NUMBERS = (
    *PROMISED,
    *AT_FULL_SIZE,
    of_part(
        SAVED_WAITING, id="fedddrl-latency-saved-waiting",
        what="latency saved by FedDdrl where the server waits for the probing of dropped clients",
        artifact="fedddrl/table4", places=(FINDINGS,),
    ),
    of_part(
        SECOND_AGENT, id="fedddrl-second-agent", artifact="fedddrl/bias-alone", places=(FINDINGS,),
        what="accuracy of FedDdrl (D) less that of C with the bias b, which has one agent",
    ),
    of_part(
        BIAS_ALONE, id="fedddrl-bias-alone", artifact="fedddrl/bias-alone", places=(FINDINGS,),
        what="accuracy of C with the bias b less that of C",
    ),
    *(number for numbers in LESS_RULE.values() for number in numbers),
    *(number for numbers in FULL_LESS.values() for number in numbers),
    *(
        number
        for by_rule in (BY_DATA, RETURN_BY_DATA, FULL_BY_DATA)
        for numbers in by_rule.values()
        for number in numbers.values()
    ),
    *LESS_RANDOM_FIFTH,
    *LESS_FASTEST_FIFTH,
    *FULL_RANDOM_FIFTH,
    *FULL_FASTEST_FIFTH,
    BY_COHORT,
    *LESS_EPOCHS,
    LESS_LATENCY_C,
    LESS_ACCURACY_C,
    UNTRAINED_LESS_RANDOM,
    TRAINED,
    NOT_PERMUTED,
)  # fmt: skip
