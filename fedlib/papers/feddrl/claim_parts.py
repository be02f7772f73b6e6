"""Parts of FedDRL's claims FEDDRL-C1 to C15: what each measures, its printed effect, margin and kind."""

from dataclasses import replace
from functools import partial

from fedlib.analysis.claims import Part
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.papers.feddrl import estimands
from fedlib.papers.feddrl.errata import from_text
from fedlib.papers.feddrl.estimands import by_cell
from fedlib.papers.feddrl.quantities import BASELINES, THREE
from fedlib.papers.feddrl.runs import CLIENTS, PARTITIONS, SHARDS

TABLE_3, TABLE_4 = 18, 4  # cells
SMALL_SETS = ("MNIST", "Fashion-MNIST")
OF_ACCURACY = "% of accuracy"

LEAD = Part("FedDRL - best baseline", by_cell(estimands.lead), printed=estimands.printed_lead())
LATE_LEAD = Part(
    "FedDRL - best baseline, mean of the last 50 rounds",
    by_cell(partial(estimands.lead, level=estimands.late)),
)


def gain(
    over: str,
    data: tuple[str, ...],
    clients: tuple[int, ...] = CLIENTS,
    schemes: tuple[str, ...] = PARTITIONS,
) -> Part:
    """Relative gain over the best or worst baseline in some of table 3's cells."""
    measure = partial(estimands.gain_over, end={"best": max, "worst": min}[over])
    return Part(
        what=f"gain over {over} baseline, {', '.join(data)}" + f", N = {clients[0]}" * (len(clients) == 1),
        estimand=by_cell(measure, data=data, num_clients=clients, partition=schemes),
        unit=OF_ACCURACY,
        printed=estimands.gains_from_printed(over, data, clients, schemes),
    )


MEAN_GAINS = {n: tuple(gain(over, ("CIFAR-100",), (n,)) for over in ("best", "worst")) for n in CLIENTS}
ALIKE_ON_SMALL_SETS = replace(gain("best", SMALL_SETS), kind=EQUIVALENCE, margin=1.0)  # "around 1 %"
ROOM = Part(
    "SingleSet - best federated",
    by_cell(estimands.bound_by_single_set, needs=("singleset", *THREE)),
    kind=EVERYWHERE,
    printed=estimands.printed_room,
    cells=TABLE_3 + TABLE_4,
)
LARGEST_GAIN = gain("worst", ("CIFAR-100",), (100,), ("ce",))
GAIN_AT_FULL_DELTA = Part(
    "gain over best baseline, delta = 0.6",
    by_cell(estimands.gain_over, data=("Fashion-MNIST",), num_clients=100, partition=("ce", "cn")),
    unit=OF_ACCURACY,
    printed=lambda: (from_text("gain_at_delta_0.6_low") + from_text("gain_at_delta_0.6_high")) / 2,
)  # fmt: skip
GAIN_IN_DRAWN_ORDER = Part(
    "gain over best baseline, slots in drawn order (A5)",
    by_cell(partial(estimands.gain_over, own="drawn"), needs=("drawn", *BASELINES)),
    unit=OF_ACCURACY, cells=1,
)  # fmt: skip
GROWTH = Part(
    "gain over best baseline, N = 100 - N = 10", estimands.growth, unit=OF_ACCURACY,
    printed=estimands.printed_growth,
)  # fmt: skip
LEAD_IN_TABLE_4 = Part(
    "FedDRL - best baseline, both kinds of shards", by_cell(estimands.lead, partition=SHARDS),
    printed=estimands.printed_lead("feddrl_table4"),
)  # fmt: skip
SPEED = Part(
    "rounds to the target, faster baseline / FedDRL (100 log)",
    by_cell(estimands.speed_lead), unit="%", kind=EVERYWHERE,
)  # fmt: skip
MEAN_SPEED = Part(
    f"{SPEED.what}, mean over cells", lambda rows: by_cell(estimands.speed_lead)(rows).mean(axis=1),
    unit="%", kind=EVERYWHERE,  # one cell, their mean: as fast, or no slower than the margin
)  # fmt: skip
FACTORS = Part(
    "factor of small groups - of the main group, after a quarter of the rounds",
    by_cell(estimands.factor_gap, needs=("feddrl",), partition=("ce", "cn")), unit="%",
)  # fmt: skip
FACTORS_ON_MNIST = replace(
    FACTORS,
    estimand=by_cell(estimands.factor_gap, needs=("feddrl",), data=("MNIST",), partition=("ce", "cn")),
)
FACTORS_IN_SLOT = Part(
    "the same among clients in the same slot (A5)",
    by_cell(
        lambda part: estimands.factor_gap_in_slot(part, "feddrl"), needs=("feddrl",), partition=("ce", "cn")
    ),
    unit="%",
)  # fmt: skip


def losses(**where: tuple[str, ...]) -> tuple[Part, ...]:
    """The clients' losses beside the baselines' (fig. 6); where: methods and data of `loss_ratio`."""
    mean, variance = (
        partial(estimands.loss_ratio, f"client_loss_{name}", **where) for name in ("mean", "variance")
    )
    later, at_first = "baselines / FedDRL later (100 log)", "FedDRL / baselines at first (100 log)"
    return (
        Part(f"mean loss, {later}", mean(initial=False), unit="%"),
        Part(f"variance, {later}", variance(initial=False), unit="%"),
        Part(f"mean loss, {at_first}", mean(initial=True), unit="%"),
    )


BELOW = (
    Part(
        "SingleSet - FedAvg and FedProx",
        by_cell(
            estimands.below_single_set, needs=("singleset", "fedavg", "fedprox"), partition=("ce", "cn")
        ),
        printed=estimands.printed_below_single_set,
    ),
    Part(
        "FedAvg and FedProx, PA - CE and CN", estimands.below_pareto,
        printed=estimands.printed_below_pareto,
    ),
)  # fmt: skip
BESIDE_C7 = (
    Part(
        "SingleSet - FedAvg and FedProx under PA",
        by_cell(
            estimands.below_single_set, needs=("singleset", "fedavg", "fedprox"), partition=("pa",)
        ),
    ),
    Part(
        "FedAvg and FedProx, PA - CE and CN, mean of the last 50 rounds",
        partial(estimands.below_pareto, level=estimands.late),
    ),
)  # fmt: skip
