"""The search of settings: which trial is chosen, and what its table and sentences say."""

import pandas as pd

from fedlib.papers.head_to_head import runs, tables, tuned
from fedlib.papers.head_to_head.artifacts import ARTIFACTS
from tests.support.head_to_head_rows import lines


def test_the_best_trial_is_chosen_by_validation_and_divergence_counts_as_nothing():
    parts = []
    for name, one in runs.CONTESTANTS.items():
        if one.twin_of:
            continue
        for place, (rate, options) in enumerate(one.trials):
            parts += [
                lines(name, seed, [0.5 + place / 100] * 10, rate=rate, options=options) for seed in (0, 1)
            ]
    rows = pd.concat(parts)
    best = {name: one.trials[-1] for name, one in runs.CONTESTANTS.items() if not one.twin_of}
    assert tuned.choose(rows) == {n: {"rate": r, "options": dict(o)} for n, (r, o) in best.items()}
    last = rows["run"] == f"fedavg-cluster skew-0-{runs.RATES[-1]}-{{}}"
    rows = rows.assign(status=rows.status.where(~last, "failed: nan"))
    assert tuned.choose(rows)["fedavg"]["rate"] == runs.RATES[-2]


def test_runs_that_diverged_are_seen_where_settings_are_chosen():
    """With the survivors alone a rate at which every other run diverges would look as good as any."""
    (search,) = (one for one in ARTIFACTS if one.name == "tuning")
    assert search.counts_failed
    rows = pd.concat([lines("fedavg", seed, [0.8] * 10) for seed in (0, 1)])
    rows = rows.assign(status=rows.status.where(rows.seed == 0, "failed: test_loss is nan"))
    (trial,) = tables.trials(rows).to_dict("records")
    assert (trial["validation"], trial["runs"], trial["diverged"]) == (40, 2, 1)


def test_the_search_is_read_by_option_and_rate():
    trials = ((0.03, [0.8] * 10), (0.1, [0.6] * 10))
    rows = pd.concat([lines("fedavgm", 0, a, rate=rate, options={"beta": 0.9}) for rate, a in trials])
    (line,) = tables.search(rows).to_dict("records")
    held = "accuracy on held-back images (%)"
    assert line == {
        "contestant": "fedavgm",
        "option": "beta 0.9",
        f"{held}: rate 0.03": 80,
        f"{held}: rate 0.1": 60,
    }


def test_the_search_is_answered_in_words():
    """FedAvg's trials: at 0.3 one of two runs diverges; FedProx's one trial is sound."""
    rows = pd.concat(
        [lines("fedavg", seed, [0.5] * 20, rate=rate) for seed in (0, 1) for rate in (0.1, 0.3)]
        + [lines("fedprox", 0, [0.5] * 20, options={"mu": 0.01})]
    )
    lost = (rows["run"] == "fedavg-cluster skew-1-0.3-None") & (rows["round"] == 20)
    rows = rows.assign(status=rows.status.where(~lost, "failed: nan"))
    rates, diverged = tuned.answer(rows)
    assert rates.startswith("13 of 16 methods get the rate 0.1; ")  # settings.json
    assert diverged == "1 of 3 trials had a run that diverged."
