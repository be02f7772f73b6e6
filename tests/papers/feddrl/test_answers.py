"""Answers of 01_feddrl's sections 5 to 9 on rows made by hand: words, the opposite sign, and no rows."""

import pandas as pd
import pytest

from fedlib.papers.feddrl import answers, server_answers
from tests.papers.feddrl.test_claims import (
    cell,
    marked,
    over_delta,
    over_k,
    timings,
    with_losses,
    with_weights,
)


def giving(rows):
    """`rows_of` of an artifact store that has these rows of whatever is asked for."""
    return lambda artifact: rows


@pytest.mark.parametrize(
    "answer",
    [
        answers.do_small_groups_get_more, answers.does_it_lower_the_losses, answers.is_it_faster,
        answers.does_the_lead_grow, server_answers.what_the_server_spends, answers.does_it_lead_on_shards,
        answers.does_it_lead_as_run, answers.does_it_lead_on_their_lists, answers.do_weights_make_fedprox,
    ],
)  # fmt: skip
def test_without_rows_nothing_is_said(answer):
    assert answer(giving(pd.DataFrame())) == []


@pytest.mark.parametrize(
    "answer",
    [
        answers.do_small_groups_get_more, answers.is_it_faster, answers.does_the_lead_grow,
        answers.does_it_lead_on_shards, answers.does_it_lower_the_losses,
        answers.does_it_lead_on_their_lists, answers.do_weights_make_fedprox,
    ],
)  # fmt: skip
def test_a_grid_that_has_just_begun_says_nothing(answer):
    assert answer(giving(cell("standin-cifar100", fedavg=[50, 51, 52]))) == []


@pytest.mark.parametrize(
    ("main", "tally", "mean", "training"),
    [
        (
            0.42,
            "larger in 1, smaller in 0, undecided in 0",
            "+71 [+60, +81]",
            "adds to it",
        ),
        (
            0.8,
            "larger in 0, smaller in 1, undecided in 0",
            "−88 [−98, −77]",
            "takes from it",
        ),
    ],
)
def test_factors_of_the_groups(main, tally, mean, training):
    """A share s for six of ten: 1000 ((1 - s) / 4 - s / 6) %, for 0.43 70.8; +- 4.3027 * 4.17 / sqrt(3)."""
    _, first, second = answers.do_small_groups_get_more(giving(with_weights(main)))
    assert first == f"Of 1 cell the small groups' are {tally}."
    assert second.startswith(f"The mean difference over the cells is {mean} % of a ")
    assert "uniform factor, the untrained policy's +0.00 [" in second
    assert second.endswith(f": training {training}.")


@pytest.mark.parametrize(
    ("later", "at_first", "in_initial", "after_it"),
    [
        (1.2, 0.9, "higher in 3, lower in 0, undecided in 0", "lower in 3, higher in 0, undecided in 0"),
        (0.8, 1.1, "higher in 0, lower in 3, undecided in 0", "lower in 0, higher in 3, undecided in 0"),
    ],
)
def test_losses_in_the_initial_phase_and_after(later, at_first, in_initial, after_it):
    """The baselines' losses are `at_first` and `later` times FedDRL's in every seed, with noise."""
    rows = with_losses(later, at_first)
    noise = 1 + 0.001 * rows.seed * (rows.method == "fedavg")
    rows = rows.assign(client_loss_mean=rows.client_loss_mean * noise)
    told = answers.does_it_lower_the_losses(giving(marked(rows)))
    assert told == [
        "FedDRL's loss over the clients is compared with the baselines' after a quarter of the rounds.",
        f"Of 3 cells (all with the generated stand-in) FedDRL's mean is {after_it}.",
        f"Its variance is {after_it}.",
        f"In the first 2 of 8 rounds the mean is {in_initial}.",
        "In the paper the mean is above the baselines' for 200 to 300 of 1000 rounds; then mean and variance "
        "are below.",
    ]


def raced(drl, avg, equal, **where):
    """Everybody reaches 50 %, in these rounds."""
    early = {"feddrl": drl, "fedavg": avg, "fedprox": 7, "uniform": equal}
    return cell(early=early, **dict.fromkeys(early, [50] * 3), **where)


def test_rounds_to_the_common_accuracy():
    """Two cells with MNIST's turned round: 3 rounds against 5, and 5 against 3; uniform weights as FedDRL."""
    rows = pd.concat([raced(3, 5, 3), raced(5, 3, 5, dataset="mnist")], ignore_index=True)
    assert answers.is_it_faster(giving(rows.assign(stand_in=rows.dataset == "mnist"))) == [
        "Rounds are counted to the accuracy that FedAvg, FedProx and FedDRL all reach.",
        "Of 2 cells (1 with the generated stand-in) FedDRL needs fewer than FedAvg in 1, more in 1, "
        "undecided in 0. Fewer than FedAvg: Fashion-MNIST/CE/N=10. More: MNIST/CE/N=10.",
        "It needs fewer than uniform weights in 0, more in 0, undecided in 2.",
        "Mean rounds of FedDRL, FedAvg and uniform weights where it needs fewer: 3.0, 5.0 and 3.0 in "
        "Fashion-MNIST/CE/N=10.",
    ]


def test_equal_weights_that_miss_the_accuracy_are_counted():
    """In MNIST's cell uniform weights end at 49 %, below what the three methods reach."""
    low = raced(3, 5, 3, dataset="mnist")
    equal = low.method_options.str.contains("uniform")
    low = low.assign(test_accuracy=low.test_accuracy.where(~equal, 0.98 * low.test_accuracy))
    told = answers.is_it_faster(giving(pd.concat([raced(3, 5, 3), low], ignore_index=True)))
    assert told[2] == (
        "It needs fewer than uniform weights in 0, more in 0, undecided in 1. In 1 further cell uniform "
        "weights miss the accuracy in some seed."
    )
    assert "MNIST/CE/N=10" not in told[3].replace("Fashion-MNIST", "")


def leads(rows, few, many, column):
    """The rows with FedDRL's accuracy raised by so many points at either end of a column."""
    own = rows.method == "feddrl"
    more = rows[column].map({rows[column].min(): few, rows[column].max(): many}) * (1 + 0.1 * rows.seed)
    return rows.assign(test_accuracy=rows.test_accuracy + own * more / 100)


@pytest.mark.parametrize(
    ("many", "says"), [(3.0, ("+2.20 [", "it grows")), (-3.0, ("−4.40 [", "it shrinks"))]
)
def test_the_lead_over_participants(many, says):
    """Leads of 1, 1.1 and 1.2 points with ten, of `many` times the same with fifty: 2.2 more, 4.4 less."""
    rows = leads(over_k(0, 0, (5, 5)), 1.0, many, "cohort_size")
    by_artifact = {"feddrl/fig7": rows, "feddrl/fig8": rows.iloc[:0]}
    (told,) = answers.does_the_lead_grow(by_artifact.get)
    assert told.startswith("In runs of 8 rounds FedDRL's lead over the better baseline is +1.10 [")
    assert "points at K = 10 and" in told
    assert f"points at K = 50, on CIFAR-100 (stand-in). The change is {says[0]}" in told
    assert told.endswith(f"points: {says[1]}. The paper has it ahead at every K.")


@pytest.mark.parametrize(
    ("many", "says"), [("0.6", ("+2.20 [", "it grows")), ("0.2", ("−2.20 [", "it shrinks"))]
)
def test_the_lead_over_the_clusters_share(many, says):
    """Three times the lead at delta = 0.6, or at 0.2, in both partitions."""
    rows = over_delta(5, 0)
    rows = rows.assign(at=rows.partition_options.str.contains(many).astype(int))
    rows = leads(rows, 1.0, 3.0, "at").drop(columns="at")
    by_artifact = {"feddrl/fig7": pd.DataFrame(), "feddrl/fig8": rows}
    (told,) = answers.does_the_lead_grow(by_artifact.get)
    assert told.startswith(
        "In runs of 8 rounds, by the main group's share, FedDRL's lead, mean over the partitions, is +"
    )
    assert f"points at delta = 0.6, on Fashion-MNIST. The change is {says[0]}" in told
    assert told.endswith(f"points: {says[1]}. The paper gains 2 to 3 % at delta = 0.6.")


def test_what_training_gains_over_the_clusters_shares():
    """Its untrained policy is 1 to 1.2 points behind at 0.2 and twice as much at 0.6: 1.65 in the mean."""
    rows = over_delta(5, 0)
    own = rows[rows.method == "feddrl"]
    twin = own.assign(method_options='{"agent": "untrained"}', run=own.run + "-twin")
    rows = pd.concat([leads(rows, 1.0, 2.0, "partition_options"), twin], ignore_index=True)
    told = answers.does_the_lead_grow({"feddrl/fig7": pd.DataFrame(), "feddrl/fig8": rows}.get)
    assert len(told) == 2
    assert told[1].startswith(
        "FedDRL less its own policy before training, mean over all shares, is +1.65 [+1.28, +2.02] points: "
    )
    assert told[1].endswith(": training helps.")


def test_server_times_beside_the_printed_ones():
    """Decisions 0.3 ms and some hundredths, averaging 3 ms with the CNN and 45 ms with VGG-11."""
    rows = timings({"mlp": 9.0, "cnn-feddrl": 0.3, "vgg11": 0.4}, 45).assign(threads=1)
    (told,) = server_answers.what_the_server_spends(giving(rows))
    assert told == (
        "On the CPU a decision takes 0.31 to 0.43 ms with the paper's networks (printed: 3), the median. "
        "Averaging ten models takes "
        "3 ms with the CNN (printed: 3) and 45 ms with VGG-11 (printed: 45)."
    )


def test_what_the_agent_adds_to_a_round():
    """0.31 ms of a round of 31 ms are 1 %; a round of 40 ms with learning makes (0.31 + 9) / 31 = 30 %."""
    rows = timings({"mlp": 9.0, "cnn-feddrl": 0.3, "vgg11": 0.4}, 45).assign(threads=1)
    whole = pd.DataFrame(
        {"what": ["round", "round, 40 in D", "round, 1000 in D"], "median_ms": [31.0, 32.0, 40.0]}
    ).assign(model="cnn-feddrl", data="fmnist", timed_on="cpu", cohort_size=10, threads=1)
    told = server_answers.what_the_server_spends(giving(pd.concat([rows, whole], ignore_index=True)))
    assert told[1] == (
        "The decision alone adds 1 % to a round. With learning from 1000 experiences the agent adds 30 % to "
        "the CNN's round. The spans are over runs on 1 thread, the decision's over both networks too."
    )


@pytest.mark.parametrize(
    ("drl", "tally", "mean"),
    [
        (
            [52.0, 52.2, 52.1],
            "ahead of the better baseline in 2, behind in 0, undecided in 0",
            "+2.10 [+1.85",
        ),
        (
            [48.0, 48.2, 48.1],
            "ahead of the better baseline in 0, behind in 2, undecided in 0",
            "−1.90 [−2.15",
        ),
    ],
)
def test_the_lead_on_shards(drl, tally, mean):
    """Against 50 in every seed; a seed's 0.1 around it makes +- 4.3027 * 0.1 / sqrt(3) = 0.25 points."""
    values = {"feddrl": drl, "fedavg": [50] * 3, "fedprox": [49] * 3}
    schemes = ("equal_shards", "nonequal_shards")
    rows = pd.concat([cell("standin-cifar100", scheme, **values) for scheme in schemes], ignore_index=True)
    told = answers.does_it_lead_on_shards(giving(marked(rows)))
    assert told[0] == f"Of 2 cells (all with the generated stand-in) FedDRL is {tally}."
    assert told[1].startswith(f"Its mean lead in best accuracy is {mean}")
    assert told[1].endswith("points (printed: +0.690), which decides nothing.")  # 1.13 and 0.25
    assert len(told) == 2  # no untrained policy among these rows


@pytest.mark.parametrize(("drl", "says"), [(51.0, "training helps"), (49.0, "training lowers it")])
def test_the_untrained_policy_on_shards(drl, says):
    values = {"feddrl": [drl, drl + 0.2, drl + 0.1]}
    values |= {name: [50.1, 49.9, 50.0] for name in ("fedavg", "fedprox", "untrained")}
    rows = cell("standin-cifar100", "equal_shards", **values)
    told = answers.does_it_lead_on_shards(giving(rows.assign(stand_in=False)))
    assert told[2].endswith(f" points: {says}.")
    told = answers.does_it_lead_on_shards(giving(rows.assign(stand_in=True)))
    assert told[2].startswith("On generated images FedDRL less its own policy before training is ")
    assert told[2].endswith(" points, which decides nothing.")


def test_the_skew_that_is_left_as_run():
    """Distances 0.1 and 0.22 as run, 1.6 on the own labels: 0.16 of 1.6 are 10 %. A lead of 2.1 points."""
    mixes = pd.DataFrame(
        {
            "made_from": ["as run", "as run", "random deal", "own labels"],
            "label_distance": [0.1, 0.22, 0.06, 1.6],
        }
    )
    rows = cell("cifar10-jpeg", feddrl=[52.0, 52.2, 52.1], fedavg=[50] * 3, fedprox=[49] * 3)
    told = answers.does_it_lead_as_run({"feddrl/label_mix": mixes, "feddrl/cifar10_as_run": rows}.get)
    assert told[:3] == [
        "As run, the label mixes' distance from uniform is 0.16, of a random deal 0.06, on CIFAR-10's own "
        "labels 1.60.",
        "So 10 % of the skew is left.",
        "Of 1 cell FedDRL is ahead of the better baseline in 1, behind in 0, undecided in 0.",
    ]
    assert told[3].startswith(
        "Its mean lead in best accuracy is +2.10 [+1.85, +2.35] points (printed: +2.26)"
    )
    dealt = mixes.assign(label_distance=[0.1, 0.1, 0.1, 1.6])
    told = answers.does_it_lead_as_run({"feddrl/label_mix": dealt, "feddrl/cifar10_as_run": rows}.get)
    assert told[1] == "The label skew is gone, by construction: a random deal leaves as much."


def test_the_lead_on_the_authors_lists():
    """A lead of -0.9 points in one cell (printed: 82.59 less 82.52); 1 to 3 over the cluster's share."""
    rows = over_delta(5, 0)
    rows = rows.assign(at=rows.partition_options.str.contains("0.6").astype(int))
    own = cell(feddrl=[49.0, 49.2, 49.1], fedavg=[50] * 3, fedprox=[49] * 3)
    deltas = leads(rows, 1.0, 3.0, "at").drop(columns="at")
    told = answers.does_it_lead_on_their_lists(
        {"feddrl/authors_partitions": own, "feddrl/authors_deltas": deltas}.get
    )
    assert told[1] == "Its mean lead in best accuracy is −0.90 [−1.15, −0.65] points (printed: +0.0700)."
    assert told[2].startswith(
        "In runs of 8 rounds, by the main group's share, FedDRL's lead, mean over the partitions, is +"
    )


@pytest.mark.parametrize(
    ("level", "effect", "says"),
    [(60, "+9.10 [+8.85, +9.35]", "raises"), (40, "−10.90 [−11.15, −10.65]", "lowers")],
)
def test_weights_of_fedprox(level, effect, says):
    """FedProx 1 point above FedAvg; averaged uniformly 9.1 above that, or 10.9 below. Printed: 7.65."""
    uniform = [level, level + 0.2, level + 0.1]
    rows = cell("mnist", "pa", fedavg=[50] * 3, fedprox=[51] * 3, fedprox_uniform=uniform)
    (told,) = answers.do_weights_make_fedprox(giving(rows))
    assert told.startswith(
        "FedProx's best accuracy is +1.00 [+1.00, +1.00] points against FedAvg with the same"
    )
    assert f"Averaged uniformly it is {effect} points against that. " in told
    assert f" Averaging uniformly {says} FedProx's accuracy. " in told
    assert told.endswith("The paper has it +7.65 points against FedAvg.")
