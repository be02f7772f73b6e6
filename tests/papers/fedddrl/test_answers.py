"""Answers of 03_fedddrl's sections 2, 6, 8, 9 on rows made by hand: words, the opposite sign, and no rows."""

import json

import pandas as pd
import pytest
from fedddrl_by_hand import decided, episode, frame

from fedlib.analysis.intervals import Interval
from fedlib.papers.fedddrl import answers
from fedlib.papers.fedddrl.measurements import emd_table


def giving(rows):
    """`rows_of` of an artifact store that has these rows of whatever is asked for."""
    return lambda artifact: rows


@pytest.mark.parametrize(
    "answer",
    [
        answers.how_far_from_uniform,
        answers.whom_it_keeps,
        answers.who_trains_longer,
        answers.which_step_helps,
        answers.what_leads_from_c_to_d,
        answers.what_clients_and_mixup_do,
        answers.which_lambda,
        answers.what_it_costs,
    ],
)
def test_without_rows_nothing_is_said(answer):
    assert answer(giving(pd.DataFrame())) == []


def test_without_all_four_settings_the_ablation_is_not_told():
    assert answers.which_step_helps(giving(frame({("fedavg", "MNIST"): 0.5}))) == []


def test_what_is_saved_is_told_from_fedavg_to_fedddrl():
    """Of FedAvg's 100 s and 10 clients FedMarl takes 80 and 8, FedDdrl 60 and 9."""
    cells = {
        (name, role): {"latency": latency, "kept": kept}
        for role in ("MNIST", "CIFAR-10")
        for name, latency, kept in (("fedavg_mixup", 100.0, 10), ("fedmarl", 80.0, 8), ("fedddrl", 60.0, 9))
    }
    latency, uploads = answers.what_it_costs(giving(frame(cells)))
    assert "FedMarl saves +20" in latency
    assert "of the latency; FedDdrl +20" in latency
    assert latency.endswith("more.")
    assert "both save +15" in uploads
    assert uploads.endswith("% more than FedMarl, so less.")


EVERYONE = {
    "clients": [0, 1], "upload_seconds": [1.0, 1.0], "epochs": [5, 5], "probing_loss": [1.0, 1.0],
    "probing_seconds": [10.0, 20.0],
}  # fmt: skip


def keeping(first, later):
    """FedDdrl's runs of three seeds: so many clients in rounds 1 and 2 and after, a little noise later."""
    rows = []
    for seed in range(3):
        kept = [first] * 2 + [later + 0.1 * seed] * 13
        rows += episode("fedddrl", seed=seed, kept=kept, **EVERYONE)
    table = pd.DataFrame(rows)
    return table.assign(kept=table["round"].map(lambda number: "[true, true]" if number else None))


@pytest.mark.parametrize(
    ("later", "words"),
    [(8.0, "more, +4.10 [+3.85, +4.35] on MNIST"),
     (2.0, "fewer, −1.90 [−2.15, −1.65] on MNIST")],
)  # fmt: skip
def test_clients_kept_early_and_late(later, words):
    """4 clients, then 8, 8.1, 8.2: 4.1 more, +- 4.3027 * 0.1 / sqrt(3) = 0.25. The paper's: 3, then 5.9."""
    assert answers.whom_it_keeps(giving(keeping(4.0, later))) == [
        "In rounds 1 and 2 our agents keep 4.0 on MNIST, of 10 clients. The paper's run keeps 3.",
        f"The change from round 3 on: {words}. The paper's run keeps 2.9 more.",
    ]


@pytest.mark.parametrize(
    ("kept", "slower", "loss"),
    [([True, True, False, False], "longer", "higher"), ([False, False, True, True], "shorter", "lower")],
)
def test_whom_the_agents_drop(kept, slower, loss):
    """Slots 2 and 3 have twice the seconds and twice the loss of slots 0 and 1."""
    rows = decided(kept, [5] * 4, [1.0, 1.0, 2.0, 2.0], [10.0, 11.0, 20.0, 22.0])
    noisy = rows.probing_seconds.where(rows.seed > 0, json.dumps([10.0, 11.0, 20.0, 23.0]))
    latency, losses = answers.whom_it_keeps(giving(rows.assign(probing_seconds=noisy)))[2:]
    assert f"of clients kept in the same round is {slower}, " in latency
    assert losses.startswith(f"Their loss over that of kept clients is {loss}, ")
    assert losses.endswith("In the paper it is higher.")


@pytest.mark.parametrize(
    ("epochs", "words"),
    [([7, 5, 3, 3], "longer, +4.3 [+2.9, +5.8] epochs on MNIST"),
     ([3, 5, 7, 7], "shorter, −3.7 [−5.1, −2.2] epochs on MNIST")],
)  # fmt: skip
def test_who_trains_longer(epochs, words):
    """The fastest less the slowest: 4 epochs, in one seed 5, or minus 4 and in one seed minus 3."""
    rows = decided([True] * 4, epochs, [1.0] * 4, [10.0, 11.0, 20.0, 22.0])
    noisy = rows.epochs.where(rows.seed > 0, json.dumps([epochs[0] + 1, *epochs[1:]]))
    assert answers.who_trains_longer(giving(rows.assign(epochs=noisy))) == [
        f"Training of the fastest kept clients against the slowest: {words}. In the paper they train longer, "
        "with exceptions."
    ]


def ablation(a, b, c, d, sway=0.1):
    """MNIST's four settings; `sway` times 0.4 points between D's seeds, none between the others'."""
    values = dict(zip(answers.ABLATION, (a, b, c, d), strict=True))
    return frame({(name, "MNIST"): {"accuracy": value, "sway": sway * (name == "fedddrl")}
                  for name, value in values.items()})  # fmt: skip


def test_steps_of_the_ablation():
    """D less C: 79, 80, 81 % less 80.5 %; B and C raise the accuracy by 2 and lower it by 1.5 points."""
    (told,) = answers.which_step_helps(giving(ablation(0.80, 0.82, 0.805, 0.80, sway=2.5)))
    assert told.startswith(
        "On MNIST FedMarl-opt (B) has the highest mean accuracy of A to D, 82.0 %, and FedMarl (A) the "
        "lowest, 80.0 % (printed: FedDdrl and FedMarl (A)). FedMarl-opt (B) − FedMarl (A) raises it (+2."
    )
    assert "; FedMarl+ (C) − FedMarl-opt (B) lowers it (−1.5" in told
    assert told.endswith("; no other step is decided.")


def test_steps_of_the_mean_over_data_sets():
    """B less A: 4 points on MNIST, none on CIFAR-10, so 2 on their mean; each later step changes nothing."""
    levels = {"MNIST": (0.80, 0.84, 0.84, 0.84), "CIFAR-10": (0.3,) * 4}
    cells = {
        (name, role): {"accuracy": value, "sway": 0.1 * (name == "fedmarl_b")}
        for role, values in levels.items()
        for name, value in zip(answers.ABLATION, values, strict=True)
    }
    *_, told = answers.which_step_helps(giving(frame(cells)))
    assert told.startswith(
        "On the mean of MNIST and CIFAR-10, by which C3 and C15 are decided: FedMarl-opt (B) − FedMarl (A) "
        "raises"
    )
    assert "(+2.0" in told


def test_steps_turned_round():
    (told,) = answers.which_step_helps(giving(ablation(0.83, 0.82, 0.81, 0.80)))
    assert (
        "FedMarl (A) has the highest mean accuracy of A to D, 83.0 %, and FedDdrl the lowest, 80.0 %" in told
    )
    assert told.count("lowers it") == 3
    assert "no other step" not in told


def test_the_way_from_c_to_d_is_told_in_two_steps():
    """C 80 %, C with b 82 %, D 79 to 81 %: of three seeds with the same noise in C and C with b."""
    cells = {"fedmarl": 0.80, "fedmarl_mixup_bias": 0.82, "fedddrl": {"accuracy": 0.80, "sway": 2.5}}
    rows = frame({(variant, "MNIST"): given for variant, given in cells.items()})
    (told,) = answers.what_leads_from_c_to_d(giving(rows))
    assert told.startswith(
        "FedDdrl has the bias b as well as a second agent. In accuracy FedMarl+ with b less FedMarl+ (C) is "
        "higher, +2.0"
    )
    assert "; FedDdrl less FedMarl+ with b is undecided, −2." in told
    assert told.endswith("] points on MNIST.")
    both = frame(
        {(variant, role): given for variant, given in cells.items() for role in ("MNIST", "CIFAR-10")}
    )
    (told,) = answers.what_leads_from_c_to_d(giving(both))
    assert told.count("] points on their mean") == 2


def test_no_step_is_decided_by_one_seed():
    rows = ablation(0.80, 0.82, 0.81, 0.80)
    (told,) = answers.which_step_helps(giving(rows[rows.seed == 1]))
    assert told.endswith(" No step is decided, the largest is FedMarl-opt (B) − FedMarl (A): +2.0 points.")


def test_clients_and_mixup_are_told_by_data_and_number_of_clients():
    """FedAvg at 50 % with five clients and 52 % with ten; Balanced-MixUp gives 3 points and takes 1."""
    plain, mixed = ("fedavg", "MNIST"), ("fedavg_mixup", "MNIST")
    few = frame({plain: 0.50, mixed: 0.53}, sway=0.0, cohort=5)
    many = frame({plain: 0.52, mixed: 0.51}, sway=0.0, cohort=10)
    by_mixup, by_clients = answers.what_clients_and_mixup_do(giving(pd.concat([few, many])))
    assert "by clients a round: higher, +3" in by_mixup
    assert "points on MNIST with 5; lower, −1" in by_mixup
    assert by_clients.startswith("With 10 clients a round in place of 5 FedAvg's accuracy is higher, +2")


def test_a_step_that_is_barely_decided_is_told_so():
    """A bound of 0.04 lies outside 0 by less than a twentieth of the width 3.66; one of 1 does not."""
    barely, clear = Interval(1.87, 0.04, 3.7, 10), Interval(2.0, 1.0, 3.0, 10)
    told = answers._steps({"B − A": barely, "C − B": clear})
    assert told.startswith("B − A raises it barely (+1.87")
    assert "C − B raises it (+2.0" in told


def test_which_lambda_is_paired_by_seed():
    """One lambda a batch gives 40 %, one a pair 42 % of the same seeds: 2 points more."""
    batch = frame({("fedavg_mixup", "MNIST"): 0.40}).assign(mixup_lambda=None)
    pair = frame({("fedavg_mixup", "MNIST"): 0.42}).assign(mixup_lambda="pair")
    (told,) = answers.which_lambda(giving(pd.concat([batch, pair], ignore_index=True)))
    assert "FedAvg's accuracy is higher, +2.00" in told
    assert told.endswith("points on MNIST (3 seeds).")
    assert answers.which_lambda(giving(batch)) == []


def test_labels_lie_as_far_from_uniform_as_eq_23_says():
    """sigma 0.8 is |0.8 - 0.1| + 9 |0.2 / 9 - 0.1| = 1.4; a half is 0.8."""
    (told,) = answers.how_far_from_uniform(giving(emd_table("paper")))
    assert told.startswith("Without mixing the labels of a client lie 1.40 from uniform, with `strict` pairs")
    assert "Labels really drawn lie as far: 1.40, 0.80 and 0.70." in told
