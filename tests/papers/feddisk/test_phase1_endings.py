"""How phase 1 ended, counted on rows made by hand."""

import json

import pandas as pd

from fedlib.papers.feddisk.phase1_endings import ablations_caveat, endings, phase1_answer, phase1_table


def start(seed, ratio, local=(10, 20), made=(40, 45), artifact="fig3", **options):
    """FedDisk's row of round 0, its MADE best and ended in these rounds, and a row of round 1."""
    told = {"ratio_epochs": json.dumps(ratio), "made_local_epochs": json.dumps(local)}
    told |= {"made_rounds": made[0], "made_rounds_run": made[1]}
    common = {"dataset": "mnist", "method": "feddisk", "seed": seed, "artifact": artifact}
    common["method_options"] = json.dumps(options)
    return [{**common, "round": 0, **told}, {**common, "round": 1}]


def test_endings_by_hand():
    """Of four classifiers two took all 200 epochs; of four MADEs one was at its best in epoch 496 of 500."""
    rows = pd.DataFrame([*start(0, [200, 60]), *start(1, [200, 80], local=(496, 495), made=(70, 75))])
    (line,) = endings(rows).itertuples()
    assert (line.trials, line.classifiers, line.cut, line.least, line.longest) == (2, 4, 2, 60, 200)
    assert (line.mades, line.mades_cut) == (4, 1)
    assert (line.global_least, line.global_most, line.global_cut) == (40, 70, 0)


def test_caps_are_those_of_the_run():
    (line,) = endings(pd.DataFrame(start(0, [200, 6], made_max_rounds=45, ratio_max_epochs=6))).itertuples()
    assert (line.cut, line.global_cut) == (2, 1)


def test_answer_and_table_name_each_length():
    short, long = pd.DataFrame(start(0, [200, 60])), pd.DataFrame(start(0, [42, 169]))
    smoke = pd.DataFrame(start(0, [5, 5])).assign(profile="smoke")
    stored = {"feddisk/fig3": short, "feddisk/converged": long, "feddisk/two_epochs": smoke}
    (told,) = phase1_answer(lambda name: stored.get(name, pd.DataFrame()))
    assert told == (
        "A cap ended ratio classifiers before their stopping rule: 1 of 2 in short runs and 0 of 2 at the "
        "paper's length."
    )
    table = phase1_table(lambda name: stored.get(name, pd.DataFrame())).set_index("runs")
    assert table.index.tolist() == ["in short runs", "at the paper's length"]
    last = table.loc["at the paper's length"]
    assert last["ratio classifiers: epochs"] == "42 to 169 of 200"
    assert last["local MADEs: cut off"] == "0 of 2"
    assert last["global MADE: best round"] == "40 to 40"
    assert phase1_answer(lambda name: pd.DataFrame()) == []
    assert phase1_table(lambda name: pd.DataFrame()).empty


def test_the_ablations_carry_a_caveat_where_a_cap_ended_their_classifiers():
    variant = start(0, [200, 200], artifact="ablations", control="shuffled")
    short, none = pd.DataFrame([*start(0, [200, 60]), *variant]), pd.DataFrame()
    cut, other = ablations_caveat(short, none)
    assert cut == (
        "In short runs on MNIST 1 of the 2 classifiers that estimate the weights were cut off at 200 epochs."
    )
    assert other == "Classifiers trained longer may give weights worth something else."
    assert ablations_caveat(pd.DataFrame([*start(0, [60, 60]), *variant]), none) == []
    assert ablations_caveat(none, none) == []


def test_classifiers_that_were_not_cut_off_tell_what_longer_training_gives():
    """At the paper's length none of four is cut off."""
    found = []
    for seed in range(2):
        found += start(seed, [42, 169], artifact="converged")
        found += start(seed, [42, 169], artifact="converged_weights", control="shuffled")
    *_, told = ablations_caveat(pd.DataFrame(start(0, [200, 60])), pd.DataFrame(found))
    assert told == "At the paper's length 0 of 4 were."
