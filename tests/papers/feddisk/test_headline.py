"""FedDisk's answers in sentences, on rows made by hand."""

import json
import re
from types import SimpleNamespace

import claims
import numpy as np
import pandas as pd
import pytest

from fedlib.analysis.intervals import Interval
from fedlib.papers.feddisk import answers, headline, rounds_words, weights_answers
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.quantities import gap, rounds_saved
from fedlib.papers.feddisk.runs import ABLATIONS
from tests.papers.feddisk.test_claims import rows
from tests.papers.feddisk.test_figures import run
from tests.papers.feddisk.test_reading_search import made, peak

LATE = [0.1] * 8 + [0.8, 0.75]


def of(**stored):
    return lambda name: stored.get(name.removeprefix("feddisk/"), pd.DataFrame())


@pytest.fixture
def at_length():
    """FedDisk 90 % from round 1 on after 2 rounds of the MADE; FedAvg 80 % in round 9; correlation 0.5."""
    frame = rows([0.9] * 10, LATE, rounds=10)
    start = (frame.method == "feddisk") & (frame["round"] == 0)
    return frame.assign(alpha_agreement=np.where(start, json.dumps([0.4, 0.6]), None))


@pytest.fixture
def ablations():
    """FedDisk ends at 50 %, its weights on other samples at 49.5 and 48.5 %."""
    found = [row for name in ("fedavg", "feddisk") for seed in range(2) for row in run(name, seed)]
    for seed, level in enumerate((0.495, 0.485)):
        found += run("feddisk", seed, ABLATIONS["feddisk_shuffled"][1], level)
    return pd.DataFrame(found)


def test_the_conclusion_answers_and_names_the_profile_of_each_correlation(at_length, ablations):
    short = pd.concat([at_length, at_length.assign(dataset="standin-xray")])
    short["alpha_agreement"] = [
        "[-0.1]" if data == "standin-xray" and isinstance(text, str) else text
        for data, text in zip(short.dataset, short.alpha_agreement, strict=True)
    ]
    own = of(
        converged=at_length.assign(profile="extended"), ablations=ablations,
        fig3=short.assign(profile="reduced"),
    )  # fmt: skip
    ahead, saved, weights = headline.conclusion(own)
    assert ahead == (
        "On MNIST FedDisk's best of 10 rounds is +10.00 [+10.00, +10.00] points from the best "
        "competitor's: it is ahead."
    )
    assert saved.startswith("It saves rounds: ")
    assert saved.endswith("+6.00 [+6.00, +6.00].")
    assert weights.startswith("FedDisk's weights are worth +1.0 ")  # [-5.4, +7.4]
    assert weights.endswith(" (short runs only): no gain shows.")
    (order,) = weights_answers.correlation_answer(own)
    assert order == (
        "Alpha's rank correlation with the MADEs' log ratio is +0.50 on MNIST (`extended`) and "
        "−0.10 to +0.50 on 2 data sets (`reduced`); 1 is the same order."
    )
    assert headline.conclusion(of()) == ["No rows of the ablations are stored."]


def test_rounds_to_a_level_never_reached_are_a_bound(at_length):
    """Of 10 rounds FedDisk stays at 70 %, below FedAvg's 80 of round 9: its phases exceed 2 and 10."""
    never = rows([0.7] * 10, LATE, rounds=10)
    assert headline.conclusion(of(converged=never))[1] == (
        "It saves no rounds: in 10 it never reaches the best competitor's level (0 of 3 trials). On "
        "average it is at least 3 behind."
    )
    bound = rounds_words.saved_words(never)
    assert bound == (
        "FedDisk never reaches the best competitor's level in 10 rounds (0 of 3 trials). Its two phases end "
        "at least 3 rounds after the quickest competitor, on average over trials. That is a bound, set "
        "by the length of the runs. With the level counted as reached in the last round, the difference is "
        "−3.00 [−3.00, −3.00] rounds."
    )
    assert bound in answers.at_length(of(converged=never))
    assert rounds_words.saved_words(at_length) == (
        "The quickest competitor's rounds less those of FedDisk's two phases are +6.00 [+6.00, +6.00] "
        "rounds. FedDisk reaches the best competitor's level in 3 of 3 trials."
    )
    some = pd.concat([never[never.seed == 0], at_length[at_length.seed != 0]])
    assert rounds_words.saved_words(some).endswith(
        " rounds at most. FedDisk reaches the best competitor's level in 2 of 3 trials; elsewhere it counts "
        "as reached in the last round."
    )
    assert rounds_words.reached_words(pd.concat([never, at_length.assign(dataset="standin-xray")])) == [
        "FedDisk reaches the best competitor's level in 0 of 3 trials on MNIST. Elsewhere it counts as "
        "reached in the last round: the length of the runs sets these numbers, which are bounds."
    ]


def test_fedavg_is_earlier_at_feddisks_own_best(at_length):
    """FedDisk rises to 70 % in round 8; FedAvg has 80 % in round 9, or from round 3 on."""
    late = rows([0.1] * 7 + [0.7] * 3, LATE, rounds=10)
    assert rounds_words.fedavg_is_earlier(late) == []
    soon = rows([0.1] * 7 + [0.7] * 3, [0.1] * 2 + [0.8] * 8, rounds=10)
    assert rounds_words.fedavg_is_earlier(soon) == [
        "FedAvg reaches FedDisk's own best level 5 rounds earlier."
    ]
    assert rounds_words.fedavg_is_earlier(at_length) == []


def test_the_furthest_round_and_the_traffic_of_the_deciding_runs(at_length):
    """FedDisk 60 points behind in round 2 of 3; it counts with 3 rounds of 100 bytes and 2 of 400."""
    frame = rows([0.5, 0.1, 0.7], [0.5, 0.7, 0.8], rounds=3)
    assert rounds_words.furthest_behind(frame) == [
        "FedDisk is furthest behind FedAvg in round 2, picked after the fact: −60.00 [−60.00, −60.00] points."
    ]
    assert rounds_words.furthest_behind(at_length[at_length["round"] < 9]) == []
    assert rounds_words.traffic_words(frame) == [
        "In runs of 3 rounds the cheapest competitor's traffic is 0.273 [0.273, 0.273] times FedDisk's at "
        "most: FedDisk reaches the level in 0 of 3 trials, and counts with its last round elsewhere."
    ]
    assert rounds_words.traffic_words(at_length)[0].endswith(" times FedDisk's.")
    assert rounds_words.traffic_words(frame[:0]) == []


def test_a_traffic_up_to_the_last_round_is_a_bound():
    """FedDisk never reaches FedAvg's 80 %."""
    frame = rows([0.7] * 10, LATE, rounds=10, dataset_options="{}")
    *_, traffic = answers.two_epochs_answer(of(two_epochs=frame[frame.method != "fedbn"]))
    assert traffic.endswith(" times FedDisk's at most.")


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        (
            (-0.3, -0.2),
            "The weights do depend on the images, but against the order of the MADEs' own log ratio",
        ),
        ((0.2, 0.3), "The weights do depend on the images, in the order of the MADEs' own log ratio"),
        ((-0.1, 0.1), "Whether the weights follow the MADEs' own log ratio of an image is undecided"),
    ],
)
def test_a_correlation_of_the_weights_says_that_they_depend_on_the_images(bounds, says, monkeypatch):
    order = SimpleNamespace(value=lambda _: Interval(sum(bounds) / 2, *bounds, 5))
    monkeypatch.setattr(weights_answers, "ALPHA_ORDER", order)
    (told,) = weights_answers._beside(of())
    assert told.startswith(f"{says}: rank correlation ")


def test_levels_above_the_paper_name_no_cause(at_length):
    """The lowest of the five best rounds is 70 %; the paper prints 54.5 and 51.7 %."""
    told = answers.above_the_paper(of(converged=at_length))
    assert told == (
        "All five methods' best rounds lie 16 points or more above both accuracies that the paper prints. "
        "The cause is not known."
    )
    tried = made(peak(0.53, 480), {"strength": 9.0})
    told = answers.above_the_paper(of(converged=at_length, readings=tried))
    assert told.endswith(" The cause is not known; 1 of 1 reading that ran long enough fits (section 6).")
    far = made(peak(0.9, 480), {"strength": 9.0})
    told = answers.above_the_paper(of(converged=at_length, readings=far))
    assert told.endswith(" The cause is not known; none of 1 reading that ran long enough fits (section 6).")
    assert answers.above_the_paper(of(converged=rows([0.5] * 10, LATE, rounds=10))) == ""


def test_the_weights_at_length_take_the_place_of_short_runs(at_length, ablations):
    """FedDisk ends at 90 % in 1500 rounds, its weights on other samples at 88 %: they are worth 2 points."""
    own = at_length[at_length.method == "feddisk"].assign(rounds=1500, local_steps=2)
    lower = own.client_test_accuracy_mean - 0.02
    own = own.assign(artifact="converged")
    shuffled = own.assign(
        method_options='{"control": "shuffled"}',
        client_test_accuracy_mean=lower,
        artifact="converged_weights",
    )
    short = ablations.assign(dataset_options='{"train_per_class": 600}', rounds=20, artifact="ablations")
    stored = {"converged_weights": pd.concat([own, shuffled]), "ablations": short}
    whole = at_length.assign(local_steps=2, dataset_options="{}", profile="extended")
    (told,) = headline.conclusion(of(**stored))
    assert told.endswith(
        "worth +2.00 [+2.00, +2.00] points against the same on other samples (last round): a gain."
    )
    accuracy, fewer, weights, level = headline.headline(of(**stored, converged=whole))
    assert accuracy.startswith(
        "**Is it the most accurate?** Yes. On MNIST (10 of 1500 rounds, 2 mini-batches "
    )
    assert " It is the lowest of the five methods in none of 3 trials. " in accuracy
    assert fewer.startswith("**Fewer rounds?** It saves rounds: ")
    assert weights.startswith(
        "**Do the weights help?** They do. Against the same weights on other samples they are worth "
        "+2.00 [+2.00, +2.00] points (last round). Divided by their mean, "
    )
    told_apart = whole.assign(h_quantiles=json.dumps([[0, 0, 0.01, 0, 1]]))
    guessing = of(converged=told_apart, without_noise=whole.assign(h_quantiles="[[0, 0, 0.52, 1, 1]]"))
    apart, guess = weights_answers.what_tells_models_apart(guessing)
    assert apart.startswith("On MNIST they are no density ratio: ")
    assert guess == "On MNIST without noise it cannot tell them, and all weights lie near 1."
    assert level.startswith("**Is the level the paper's?** No. All five methods' best rounds lie 16 points ")
    _, beside, _ = weights_answers.what_the_weights_are_worth(of(**stored, converged=whole))
    assert beside.endswith(
        "The weights do depend on the images, in the order of the MADEs' own log ratio: rank correlation "
        "+0.50 [+0.50, +0.50] (C11)."
    )
    last = whole["round"] == whole["round"].max()
    lower = whole.assign(client_test_accuracy_mean=whole.client_test_accuracy_mean.where(~last, 0.91))
    told, _ = weights_answers._beside(of(**stored, converged=lower.assign(rounds=1500)))
    assert told == (
        "With the weights on other samples FedDisk is −3.00 [−3.00, −3.00] points from FedAvg: unequal "
        "weights cost accuracy whoever gets them."
    )
    effects = claims.decide(CLAIMS, "FEDDISK-R1", stored["converged_weights"]).effects
    assert [effect.interval.mean for effect in effects] == pytest.approx([2, 2])
    short = {**stored, "converged_weights": stored["converged_weights"].assign(rounds=20)}
    assert "short runs only" in headline.conclusion(of(**short))[0]


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ((-0.5, -0.1), "unequal weights cost accuracy whoever gets them."),
        ((-0.59, -0.01), "that unequal weights cost accuracy whoever gets them is barely decided."),
        ((-0.7, 0.1), "that unequal weights cost accuracy whoever gets them does not show."),
        ((0.1, 0.5), "unequal weights help whoever gets them."),
    ],
)
def test_an_interval_that_ends_next_to_0_decides_barely(bounds, says, monkeypatch):
    shuffled = SimpleNamespace(value=lambda _: Interval(sum(bounds) / 2, *bounds, 5))
    monkeypatch.setattr(weights_answers, "SHUFFLED_AGAINST_FEDAVG", shuffled)
    (told,) = weights_answers._beside(of())
    assert told.endswith(f" points from FedAvg: {says}")


@pytest.mark.parametrize(
    ("bounds", "says"),
    [((-0.7, 0.4), ["A gain of half a point is excluded."]), ((-0.7, 0.6), []), ((-0.7, -0.1), [])],
)
def test_a_gain_of_half_a_point_is_excluded_where_the_worth_is_open(bounds, says):
    assert weights_answers.excluded(Interval(sum(bounds) / 2, *bounds, 5)) == says


def test_raw_odds_and_their_mean_stand_beside_fedavg():
    """FedAvg and FedDisk end alike, raw odds 20 points and their mean 19 points lower in both seeds."""
    found = [row for name in ("fedavg", "feddisk") for seed in range(2) for row in run(name, seed)]
    level = found[-1]["client_test_accuracy_mean"]
    for name, lower in (("feddisk_raw", 0.20), ("feddisk_mean", 0.19)):
        found += [row for seed in range(2) for row in run("feddisk", seed, ABLATIONS[name][1], level - lower)]
    (told,) = weights_answers._step(pd.DataFrame(found))
    assert told.endswith(
        "As raw odds they end −20.00 [−20.00, −20.00] points from FedAvg in short runs, with a client's mean "
        "in their place −19.00 [−19.00, −19.00]."
    )


def test_clients_whose_h_is_clipped_are_counted(at_length):
    """Two of three medians lie below 0.01 in one of the trials, none in the others."""
    start = (at_length.method == "feddisk") & (at_length["round"] == 0)
    clear = json.dumps([[0, 0.1, 0.2, 0.3, 1]] * 3)
    own = at_length.assign(h_quantiles=np.where(start, clear, None), dataset="mnist")
    assert weights_answers.clipped_words(of(converged=own)) == []
    first = start & (own.seed == own.seed.min())
    own.loc[first, "h_quantiles"] = json.dumps([[0, 0, 0.005, 0.3, 1]] * 2 + [[0, 0.1, 0.2, 0.3, 1]])
    (told,) = weights_answers.clipped_words(of(converged=own))
    assert f"median h of 2 of {3 * start.sum()} clients on MNIST (all trials) lies below 0.01" in told
    assert weights_answers.clipped_words(of()) == []


def test_two_epochs_against_two_competitors_by_hand():
    """9 rounds of FedAvg less 2 and 1; its 9 messages of 100 bytes are as many as FedDisk's."""
    frame = rows([0.9] * 10, LATE, rounds=300, dataset_options='{"train_per_class": 750}')
    three = frame[frame.method.isin(["feddisk", "fedavg", "fedprox"])]
    level, saved, traffic = answers.two_epochs_answer(of(two_epochs=three))
    assert level == (
        "With two epochs a round (300 rounds, 750 images a class, 3 trials) FedDisk's best round is "
        "+10.00 [+10.00, +10.00] points from FedAvg's. It is ahead."
    )
    assert "two phases are +6.00 [+6.00, +6.00] rounds." in saved
    assert traffic == "The cheaper one's traffic is 1.00 [1.00, 1.00] times FedDisk's."
    assert answers.two_epochs_answer(of()) == []
    assert answers.two_epochs_answer(of(two_epochs=three[three.method != "fedprox"])) == []
    (smoke,) = answers.two_epochs_answer(of(two_epochs=three.assign(profile="smoke")))
    assert "only `smoke` was run" in smoke


def test_x_rays_without_noise_stand_beside_those_with_it():
    """Last rounds: 70 % against FedAvg's 80 without noise, 85 with it."""
    name = "pneumoniamnist-subset"
    plain, noisy = (rows([0.5, level], [0.5, 0.8], dataset=name) for level in (0.7, 0.85))
    last, best, beside = answers.without_noise_answer(of(without_noise=plain, fig3=noisy))
    assert last.endswith("last round is −10.00 [−10.00, −10.00] points from FedAvg's (3 trials).")
    assert best.endswith(
        "−10.00 [−10.00, −10.00] points from that of the best competitor, FedAvg: it is behind."
    )
    assert beside.endswith("its last round is +5.00 [+5.00, +5.00] points from FedAvg's.")
    assert answers.without_noise_answer(of(fig3=noisy)) == []


def test_each_data_set_is_compared_and_stand_ins_are_marked():
    """Best rounds 70 and 90 % against FedAvg's 80."""
    behind = rows([0.5, 0.7], [0.5, 0.8], dataset="mnist")
    ahead = rows([0.5, 0.9], [0.5, 0.8], dataset="standin-xray").assign(stand_in=True)
    both = pd.concat([behind.assign(stand_in=False), ahead])
    (found,) = answers.each_data_set(both, gap)
    first, second = "+10.00 [+10.00, +10.00] on chest X-rays (stand-in)", "−10.00 [−10.00, −10.00] on MNIST"
    assert found == (
        "FedDisk's accuracy in the best round less that of the best competitor (in brackets; picked on the "
        f"same test parts), in points, in runs of 2 rounds: ahead, {first} (FedAvg); behind, {second} "
        "(FedAvg). Not corrected for their number."
    )
    assert answers.each_data_set(behind[behind.method != "fedbn"], gap) == []


@pytest.mark.parametrize(("made", "told"), [(10, True), (9, False)])
def test_runs_shorter_than_the_first_phase_are_told(made, told):
    frame = rows([0.9] * 10, LATE, rounds=10)
    frame.loc[frame.made_rounds.notna(), "made_rounds"] = made
    *_, last = answers.each_data_set(frame, rounds_saved)
    words = (
        "On MNIST these runs cannot show it ahead: its first phase alone takes 10 to 10 rounds, and they "
        "have 10 at most."
    )
    assert (last == words) == told


def test_sentences_have_at_most_25_words(at_length, ablations):
    ablations = ablations.assign(dataset_options='{"train_per_class": 600}', rounds=20, artifact="ablations")
    own = of(
        converged=at_length.assign(local_steps=2, dataset_options="{}", profile="extended"),
        ablations=ablations,
    )
    never = rows([0.7] * 10, LATE, rounds=10).assign(local_steps=2, dataset_options="{}", profile="extended")
    behind = of(converged=never, ablations=ablations)
    told = [*headline.headline(own), *headline.conclusion(own)]
    told += [*headline.headline(behind), *headline.conclusion(behind)]
    assert len(told) >= 12
    told += weights_answers.what_the_weights_are_worth(own)[2:]
    for sentence in re.split(r"\.\s+", " ".join(told)):
        assert len(sentence.split()) <= 25, sentence
