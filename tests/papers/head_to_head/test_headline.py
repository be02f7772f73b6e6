"""Sentences on the comparison, and the claims and controls behind them."""

import json

import pandas as pd
import pytest

from fedlib.errors import UsageError
from fedlib.papers.head_to_head import claims, headline, numbers, on_all_sets, other_sets
from fedlib.papers.head_to_head.runs import CELLS
from tests.support.head_to_head_rows import failing, lines, table_of

UNEQUAL = next(name for name, (partition, _) in CELLS.items() if partition == "label_volume")


def test_the_answer_is_a_sentence_for_each_method():
    """FedDRL 10 points ahead of FedAvg in three seeds, its untrained policy level with it; FAVOR behind."""
    rows = table_of(
        fedavg=[0.50, 0.51, 0.52], feddrl=[0.60, 0.612, 0.621], feddrl_untrained=[0.60, 0.611, 0.623],
        favor=[0.40, 0.412, 0.421],
    )  # fmt: skip
    first, *told = headline.comparison_answer(lambda name: rows)
    assert first.startswith("Ahead of FedAvg: FedDRL, untrained (+10.13")
    at_once = "Corrected for 3 comparisons with FedAvg (Holm), the leads of FedDRL (online) and "
    assert at_once in first
    assert told[0].startswith("Over 1 cell (3 seeds) FedDRL (online) is ahead of FedAvg (+10.1")
    assert " points) and the best baseline, FedAvg (+10.1" in told[0]
    assert "; equal within half a point to its untrained policy (−0.03 [−0.41, +0.35] points)" in told[0]
    assert told[0].endswith("; without rows against itself with clients shuffled (no rows).")
    assert told[1].startswith("Over 1 cell (3 seeds) FAVOR is behind FedAvg (−9.9")
    assert not any("less itself with permuted" in sentence for sentence in told)


def test_the_conclusion_names_leads_that_hold_on_all_data_sets():
    """FedYogi 20 points ahead on two sets, FedDRL on the second alone; one seed decides nothing."""
    seeds = {"fedavg": [0.50, 0.51, 0.52], "fedyogi": [0.70, 0.712, 0.721], "feddrl": [0.50, 0.50, 0.53]}
    first, none = table_of(**seeds).assign(buffer_length=9.0), pd.DataFrame()
    second = table_of(**seeds | {"feddrl": [0.60, 0.612, 0.621]}).assign(dataset="cifar10-jpeg")
    stored = {"head_to_head/comparison": first, "head_to_head/second_set": second}
    learns, leads, rests = headline.conclusion(lambda name: stored.get(name, none))
    assert learns == (
        "**Does an agent on the server beat FedAvg?** Of 1 learned method, FedDRL (online), FedDRL "
        "(online) on CIFAR-10 (JPEG) is ahead of FedAvg, none is ahead of its untrained policy and all are "
        "behind the best baseline, uncorrected. Each set counts by its own mean: 1 cell of Fashion-MNIST and "
        "1 cell of CIFAR-10 (JPEG). By held-back images the best baseline is FedYogi on Fashion-MNIST and "
        "CIFAR-10 (JPEG)."
    )
    table = on_all_sets.less_fedavg(lambda name: stored.get(name, none)).set_index("less FedAvg")
    assert list(table.columns) == ["Fashion-MNIST, 1 cell", "CIFAR-10 (JPEG), 1 cell"]
    assert list(table.index) == ["FedDRL (online)", "FedYogi"]
    assert table.loc["FedDRL (online)", "CIFAR-10 (JPEG), 1 cell"] == "+10.10 [+9.85, +10.35]"
    assert leads == (
        "**Which baseline does?** Corrected for all comparisons on a data set (Holm), these lead FedAvg: "
        "FedYogi on Fashion-MNIST and CIFAR-10 (JPEG). Of what learns these lead FedAvg: FedDRL (online) on "
        "CIFAR-10 (JPEG)."
    )
    assert rests.startswith("**What does this rest on?** The comparison has ")
    further = table_of(**seeds, fedavgm=[0.60, 0.611, 0.621]).assign(buffer_length=9.0)
    both = {"head_to_head/comparison": further, "head_to_head/second_set": second}
    (told,) = other_sets.leads_on_all(lambda name: both.get(name, none))
    assert "baselines alone" not in told
    fedavgm = "FedAvgM on Fashion-MNIST (not run on CIFAR-10 (JPEG))"
    assert f"these lead FedAvg: {fedavgm}; FedYogi on Fashion-MNIST and CIFAR-10 (JPEG). Of what" in told
    alone = {name: rows[rows.seed == 0] for name, rows in stored.items()}
    _, leads, _ = headline.conclusion(lambda name: alone.get(name, none))
    assert leads.endswith(" no baseline leads FedAvg. Of what learns none leads FedAvg.")
    assert headline.conclusion(lambda name: none) == ["No rows of the comparison are stored."]


def test_the_order_on_other_images_is_compared_in_the_same_cells():
    """Fashion-MNIST: FedYogi, FedAvg, FedDRL; CIFAR-10: FedDRL before FedAvg. Ranks differ by 1, 1 and 0."""
    first = table_of(fedavg=[0.7, 0.7], fedyogi=[0.8, 0.8], feddrl=[0.6, 0.6])
    other = pd.concat(lines("feddrl", seed, [0.99] * 20, cell=UNEQUAL) for seed in (0, 1))
    second = table_of(fedavg=[0.4, 0.4], fedyogi=[0.6, 0.6], feddrl=[0.5, 0.5]).assign(dataset="cifar10-jpeg")
    stored = {"head_to_head/comparison": pd.concat([first, other]), "head_to_head/second_set": second}
    assert other_sets.order_words(numbers.SECOND, stored.__getitem__) == [
        "Does the order of the 3 contestants on Fashion-MNIST hold on CIFAR-10 (JPEG), twins left out? Not "
        "shown: by mean level in cluster skew their rank correlation is 0.50 [−1.00, 1.00]; without FedDRL, "
        "last on Fashion-MNIST, it is 1.00 [−1.00, 1.00] (by Fisher's z, as if contestants were drawn; "
        "to hold, the first two intervals have to lie above 0). Highest of these in these cells: FedYogi on "
        "Fashion-MNIST and FedYogi on CIFAR-10 (JPEG). "
        "FedDRL, behind FedAvg on Fashion-MNIST, is ahead of it on CIFAR-10 (JPEG)."
    ]
    # r = 0.83 of 11: artanh 1.188 -+ 1.96 / sqrt(8) = 0.495 and 1.881
    assert other_sets._fisher(0.83, 11) == pytest.approx((0.458, 0.955), abs=1e-3)
    alone = {"head_to_head/comparison": first[:0], "head_to_head/second_set": second}
    assert other_sets.order_words(numbers.SECOND, alone.__getitem__) == []


def test_an_order_that_rests_on_the_last_contestant_is_not_shown():
    """r = 0.89 of 6, FAVOR last on both: low 0.26; of the other five 0.8: low -0.28. Twins do not count."""
    names = ("favor", "fedavg", "fedprox", "fedadam", "fedyogi", "fedexp")

    def told(*order):
        levels = {name: [0.1 * place] * 2 for name, place in zip(names, order, strict=True)}
        twin = {"favor_untrained": [0.99, 0.99]}
        stored = {numbers.SECOND: table_of(**levels, **twin).assign(dataset="mnist")}
        stored[numbers.ROWS] = table_of(**{name: [0.1 * n] * 2 for n, name in enumerate(names)}, **twin)
        return other_sets.order_words(numbers.SECOND, stored.__getitem__)[0]

    assert "twins left out? Not shown: by mean level" in told(1, 2, 4, 3, 6, 5)
    assert "twins left out? In the main: by mean level" in told(1, 2, 3, 4, 5, 6)
    assert " is behind it" not in told(1, 2, 3, 4, 5, 6)
    assert "of the 6 contestants" in told(1, 2, 3, 4, 5, 6)


def test_learned_methods_stand_against_fedavgs_twin():
    """FedDRL level with FedAvg, and a point behind FedNova, which is FedAvg but for rounding."""
    rows = table_of(fedavg=[0.6, 0.6], fednova=[0.61, 0.61], feddrl=[0.6, 0.6])
    (told,) = [one for one in headline.comparison_answer(lambda name: rows) if "Less FedNova" in one]
    assert told.endswith("Less FedNova, in points: FedDRL (online) −1.00 [−1.00, −1.00].")
    names = ("fedavg", "fednova", "feddrl")
    unequal = pd.concat(lines(one, seed, [0.6] * 20, cell=UNEQUAL) for one in names for seed in (0, 1))
    assert headline._twin_words(unequal, ["feddrl"]) == ""
    both = headline._twin_words(pd.concat([rows, unequal]), ["feddrl"])
    assert both.endswith("FedDRL (online) −1.00 [−1.00, −1.00].")
    assert headline._twin_words(table_of(fedavg=[0.6], feddrl=[0.6]), ["feddrl"]) == ""


def test_the_later_control_stands_beside_the_registered_one():
    """FedDRL 1 point ahead of itself with clients shuffled, 3 and 4 ahead of itself on permuted rewards."""
    own = {"feddrl": [0.60, 0.62], "feddrl_shuffled": [0.59, 0.61], "feddrl_permuted": [0.57, 0.58]}
    rows = table_of(fedavg=[0.6, 0.6], **own)
    assert numbers.control_of("feddrl") == ("itself with clients shuffled", "feddrl_shuffled")
    number = numbers.LESS["feddrl"]["itself with clients shuffled"]
    assert number.value(lambda _: rows).mean == pytest.approx(1)
    claim = next(one for one in claims.CLAIMS if one.id == "HEAD-C3")
    assert claims.less(rows, "feddrl", "feddrl_shuffled").to_numpy().ravel() == pytest.approx([1, 1])
    told = claim.supplements[0].tell(rows)
    assert "permuted rewards: +3.5 [-2.9, +9.9] points (a control" in told
    assert f"{told}.".replace("-", "−") in headline.comparison_answer(lambda _: rows)
    assert claim.supplements[0].tell(rows[rows["run"].str.startswith("feddrl-")]) == ""


def test_cells_that_part_are_told_where_their_mean_shows_nothing():
    """FedDRL is 10 points ahead of FedAvg in one cell and 10 behind in the other: 0 in the mean."""
    ahead = table_of(fedavg=[0.5, 0.51], feddrl=[0.6, 0.61])
    levels = {"fedavg": (0.6, 0.61), "feddrl": (0.5, 0.51)}
    behind = pd.concat(
        lines(name, seed, [level] * 20, cell=UNEQUAL)
        for name, own in levels.items()
        for seed, level in enumerate(own)
    )
    told = other_sets.parting_words(pd.concat([ahead, behind]))
    assert told.startswith(
        "A mean over the cells can hide what one of them shows: FedDRL (online) less FedAvg is "
    )
    assert f"+10.00 [+10.00, +10.00] ({next(iter(CELLS))})" in told
    assert f"−10.00 [−10.00, −10.00] ({UNEQUAL})" in told
    assert told.endswith(
        "With cluster skew on Fashion-MNIST FedDRL (online) is ahead of FedAvg, by +10.00 [+10.00, +10.00] "
        "points. Corrected for 1 comparison there (Holm) this holds."
    )
    far = behind.assign(test_accuracy=behind.test_accuracy - 0.3 * (behind.method == "feddrl"))
    assert "less FedAvg is +10.00 [+10.00, +10.00] (cluster skew), in" in other_sets.parting_words(
        pd.concat([ahead, far])
    )
    assert other_sets.parting_words(ahead) == ""
    assert other_sets.parting_words(behind) == ""
    control = pd.concat(lines("feddrl_shuffled", seed, [0.6] * 20) for seed in (0, 1))
    (alone,) = other_sets.single_cell_leads(pd.concat([ahead, control]))
    assert alone.endswith(" holds. There it is +0.5 [−5.9, +6.9] less itself with clients shuffled.")
    (brief,) = other_sets.single_cell_leads(pd.concat([ahead, control]), controls=False)
    assert alone.startswith(f"{brief} There")
    both = pd.concat([ahead, behind]).assign(dataset="cifar10-jpeg")
    stored = {"head_to_head/second_set": both}
    brief = on_all_sets.cells_words(lambda name: stored.get(name, pd.DataFrame()))
    counts = "Of 2 contrasts with FedAvg in single cells 1 lies above 0 and 1 below, uncorrected."
    assert brief == f"{counts} {other_sets.single_cell_leads(both)[0]}"
    whole = other_sets.parting_words(pd.concat([ahead, behind]), leads=False)
    assert told.startswith(whole)
    assert whole.endswith(" in points, uncorrected.")


def test_a_second_data_set_stands_beside_the_claims():
    """FedDRL level with FedAvg and 10 points behind FedYogi, which held-back images choose; no FAVOR."""
    rows = table_of(fedavg=[0.5, 0.51], fedyogi=[0.6, 0.61], feddrl=[0.5, 0.51]).assign(
        dataset="cifar10-jpeg"
    )
    stored = {"head_to_head/second_set": rows}
    told, ahead, *_ = other_sets.answer(numbers.SECOND, lambda name: stored.get(name, pd.DataFrame()))
    assert ahead.startswith(
        "Ahead of FedAvg: FedYogi (+10.00 [+10.00, +10.00] points); none of them by reinf"
    )
    assert told.startswith("On CIFAR-10 (JPEG), cluster skew (2 seeds), FedDRL (online) is equal within ")
    assert "; behind the best baseline, FedYogi (−10.00 [−10.00, −10.00] points)" in told
    assert "untrained policy" not in told  # it has no rows
    assert other_sets.answer(numbers.SECOND, lambda name: pd.DataFrame()) == []
    by_id = {claim.id: claim for claim in claims.CLAIMS}
    beside = {
        number: [one for one in by_id[f"HEAD-C{number}"].supplements if one.artifact.endswith("second_set")]
        for number in (1, 2, 3, 4, 9)
    }
    assert {number: len(found) for number, found in beside.items()} == {1: 1, 2: 1, 3: 2, 4: 1, 9: 1}
    words = "on a second data set: FedDRL (online) - the best baseline: -10 points in each"
    assert beside[4][0].tell(rows).startswith(words)
    assert beside[9][0].tell(rows) == ""  # FAVOR has no rows there


def test_controls_on_the_third_set_stand_beside_their_claims():
    """The repaired agent 1 point ahead of itself with permuted rewards; other controls have no rows."""
    rows = table_of(fedavg=[0.5, 0.51], repaired=[0.52, 0.53], repaired_permuted=[0.51, 0.52])
    rows = rows.assign(dataset="mnist")
    control = "itself with permuted rewards"
    own, less = numbers.LESS_ELSEWHERE[numbers.THIRD], numbers.LESS_ELSEWHERE[numbers.SECOND]
    assert own["repaired"][control].value(lambda _: rows).mean == pytest.approx(1)
    assert [name for name, one in own.items() if control in one] == ["repaired", "favor", "auto_fedrl"]
    assert [name for name, one in less.items() if control in one] == ["repaired", "favor", "auto_fedrl"]
    beside = {
        claim.id: [one.tell(rows) for one in claim.supplements if one.artifact == numbers.THIRD]
        for claim in claims.CLAIMS
    }
    assert beside["HEAD-C7"] == [
        "on a third data set: Repaired FedDRL - itself with permuted rewards: +1 points in each of 2 seeds"
    ]
    assert beside["HEAD-C3"] == ["", ""]  # clients shuffled, rewards permuted: no rows here
    assert beside["HEAD-C11"] == [""]


def test_a_cell_that_was_not_run_has_no_number():
    """FedDRL 10 points ahead with cluster skew, the only cell at hand."""
    rows = table_of(fedavg=[0.5, 0.51], feddrl=[0.6, 0.61])
    values = {one.id: one.value(lambda _: rows) for one in numbers.IN_OTHER_CELLS}
    assert values["head-to-head-third-feddrl-fedavg-cluster"].mean == pytest.approx(10)
    assert values["head-to-head-third-feddrl-fedavg-dirichlet"] is None
    assert values["head-to-head-third-feddrl-policy-cluster"] is None


def test_cluster_skew_alone_decides_on_the_third_set():
    """FedDRL 2 points ahead of FedAvg and 1 behind its untrained policy there; the other cell counts not."""
    rows = table_of(fedavg=[0.5, 0.51], feddrl=[0.52, 0.53], feddrl_untrained=[0.53, 0.54])
    rows = pd.concat([rows, *(lines("fedavg", seed, [0.9] * 20, cell="Dirichlet 0.1") for seed in (0, 1))])
    claim = next(one for one in claims.CLAIMS if one.id == "HEAD-C25")
    assert claim.artifact == numbers.THIRD
    assert [part.estimand(rows).mean(axis=None) for part in claim.parts] == pytest.approx([2, -1])
    with pytest.raises(UsageError, match="no rows of feddrl_untrained"):
        claim.parts[1].estimand(rows[~rows["run"].str.startswith("feddrl_untrained")])


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        (
            [0.60, 0.61],
            "Yes: +10.00 [+10.00, +10.00] less FedAvg and +5.00 [+5.00, +5.00] less its untrained",
        ),
        ([0.52, 0.53], "No: +2.00 [+2.00, +2.00] less FedAvg and −3.00 [−3.00, −3.00] less its untrained"),
        ([0.60, 0.56], "Not shown: +8 [−24, +39] less FedAvg and +2 [−29, +34] less its untrained"),
    ],
)
def test_the_third_set_answers_whether_the_lead_repeats(levels, says):
    """FedDRL against 50 and 51 % of FedAvg, 55 and 56 % of its twin; the other cell and set count not."""
    rows = table_of(fedavg=[0.50, 0.51], feddrl=levels, feddrl_untrained=[0.55, 0.56])
    far = pd.concat(lines("feddrl", seed, [0.9] * 20, cell="Dirichlet 0.1") for seed in (0, 1))
    rows = pd.concat([rows, far]).assign(dataset="mnist")
    asked = "Does the lead of FedDRL (online) with cluster skew on CIFAR-10 repeat on MNIST (C25)? "
    words = other_sets.repeat_words(rows)
    assert words == f"{asked}{says} policy, in points."
    stored = {numbers.THIRD: rows, numbers.SECOND: rows, numbers.ROWS: rows[:0], numbers.FULL: rows[:0]}
    assert words in other_sets.answer(numbers.THIRD, stored.__getitem__)
    assert words not in other_sets.answer(numbers.SECOND, stored.__getitem__)
    assert on_all_sets.cells_words(stored.__getitem__).endswith(words)
    assert other_sets.repeat_words(rows[~rows["run"].str.startswith("feddrl_untrained")]) == ""


def test_all_images_stand_beside_the_comparison():
    """FedYogi 10 points ahead of FedAvg on all images, FedDRL level with it; 40 clients of 450 images."""
    rows = table_of(fedavg=[0.5, 0.51], fedyogi=[0.6, 0.61], feddrl=[0.5, 0.51]).assign(
        dataset_options=json.dumps({"local_test": 0.1, "server_share": 0.1})
    )
    stored = {numbers.FULL: rows, numbers.ROWS: table_of(fedavg=[0.4, 0.41], feddrl=[0.4, 0.41])}
    told = " ".join(headline.full_size_in_brief(lambda name: stored.get(name, pd.DataFrame())))
    assert told.startswith(
        "With cluster skew on all of Fashion-MNIST, of which clients hold 20,000 images: 45 local steps a "
        "round. 0 of 3 curves still rise by more than 1 point "
        "over the last quarter. Ahead of FedAvg: FedYogi (+10.00 [+10.00, +10.00] points)"
    )
    stands = on_all_sets.stand_words(lambda name: stored.get(name, pd.DataFrame()))
    assert "own mean: 1 cell of Fashion-MNIST and 1 cell of all of Fashion-MNIST. By held-back" in stands
    assert "the best baseline is FedAvg on Fashion-MNIST, FedYogi on all of Fashion-MNIST." in stands
    own, *_ = other_sets.answer(numbers.FULL, lambda name: stored.get(name, pd.DataFrame()))
    assert own.startswith("On all of Fashion-MNIST, cluster skew (2 seeds), FedDRL (online) is equal within")
    number = numbers.LESS_ELSEWHERE[numbers.FULL]["feddrl"]["the best baseline"]
    assert number.value(lambda _: rows).mean == pytest.approx(-10)
    assert headline.full_size_in_brief(lambda name: pd.DataFrame()) == []
    beside = {
        claim.id: [one.tell(rows) for one in claim.supplements if one.artifact == numbers.FULL]
        for claim in claims.CLAIMS
    }
    assert beside["HEAD-C1"] == [
        "on all images, with cluster skew: FedDRL (online) - FedAvg: 0 points in each of 2 seeds"
    ]
    assert beside["HEAD-C7"] == []  # the repaired agent's permuted rewards were not asked for there


def test_effects_with_diverged_runs_have_a_star():
    rows = failing(table_of(fedavg=[0.5, 0.51], fedyogi=[0.6, 0.61], feddrl=[0.5, 0.51]), "fedyogi", 0)
    table = on_all_sets.less_fedavg(lambda name: rows if name == numbers.ROWS else pd.DataFrame())
    starred = table.set_index("less FedAvg")["Fashion-MNIST, 1 cell"].str.endswith(" *")
    assert starred.to_dict() == {"FedDRL (online)": False, "FedYogi": True}


def test_a_rival_that_all_methods_trail_is_told_at_once():
    rows = table_of(fedavg=[0.50, 0.51, 0.52], feddrl=[0.40, 0.412, 0.421], favor=[0.30, 0.312, 0.321])
    none = pd.DataFrame()
    told = on_all_sets.stand_words(lambda name: rows if name == numbers.ROWS else none)
    assert told == (
        "Of 2 learned methods, FedDRL (online) and FAVOR, all are behind FedAvg, none is ahead of its "
        "untrained policy and all are behind the best baseline, uncorrected. Each set counts by its own "
        "mean: 1 cell of Fashion-MNIST. By held-back images the best baseline is FedAvg on Fashion-MNIST."
    )


def test_the_best_baseline_is_chosen_among_those_with_rows():
    rows = table_of(fedavg=[0.5, 0.6], fedadam=[0.6, 0.7], feddrl=[0.4, 0.5])
    told = " ".join(
        headline.comparison_answer(lambda name: rows if name.endswith("comparison") else pd.DataFrame())
    )
    assert "The best baseline, FedAdam, is chosen among 2 on held-back images; " in told


def test_a_contestant_without_rows_leaves_its_claims_not_run():
    """As after a run of the comparison that was interrupted."""
    rows = table_of(fedavg=[0.5, 0.6], feddrl=[0.5, 0.7])
    with pytest.raises(UsageError, match="no rows of favor"):
        claims.less(rows, "favor", "fedavg")


def test_questions_without_rows_beyond_smoke_are_called_open():
    """The benchmark has rows at `reduced`, the devices at `smoke` only: the second stays open."""
    rows = {
        headline.BENCHMARKS[0]: pd.DataFrame({"profile": ["smoke", "reduced"]}),
        headline.DEVICES: pd.DataFrame({"profile": ["smoke"]}),
    }
    assert headline.open_questions(rows.get) == [
        "Still open, for want of runs longer than smoke: who gets there first in simulated time?"
    ]
    assert headline.open_questions(lambda name: rows[headline.BENCHMARKS[0]]) == []


def test_the_gate_on_curves_looks_at_those_compared():
    """FAVOR gains 40 points in the last rounds of 100; FedAvg and FedDRL have been flat throughout."""
    flat, late = [0.5] * 100, [0.2] * 75 + [0.2 + 0.016 * n for n in range(25)]
    rows = pd.concat(lines(*one) for one in (("fedavg", 0, flat), ("feddrl", 0, flat), ("favor", 0, late)))
    passed, words = claims._flat("feddrl", "fedavg").check(rows)
    assert passed
    assert words == "curves flat: up to 0.0 points in the last quarter of 100 rounds (protocol: 300)"
    assert not claims.FLAT.check(rows)[0]
    assert not claims._flat("favor", "fedavg").check(rows)[0]
    assert not claims._flat("feddrl", "fedavg", cell="two labels").check(rows)[0]  # no curves there
