"""Answers at the paper's length on rows made by hand: levels, groups, speed, cluster size, missing hours."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedlib.analysis.intervals import Interval
from fedlib.papers.feddrl import headline, length_answers, length_figure_answers, length_tables
from tests.papers.feddrl.test_claims import ROUNDS, at_length, cell, exact, over_delta, with_weights

NONE = pd.DataFrame()


def stored(**artifacts):
    """`rows_of` of a store that has these rows of FedDRL's artifacts."""
    return lambda name: artifacts.get(name.removeprefix("feddrl/"), NONE)


def lengthened(rows):
    """The same rows as of 1000 rounds."""
    return rows.assign(rounds=1000, round=rows["round"] * 1000 // ROUNDS)


ANSWERS = (
    length_answers.how_far_from_the_published, length_figure_answers.do_small_groups_get_more_at_length,
    length_figure_answers.is_it_faster_at_length, length_figure_answers.at_the_ends_of_fig8,
    length_answers.does_the_gain_grow_with_clients,
)  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_nothing_is_said_of_no_rows_and_of_short_ones(answer):
    assert answer(lambda name: NONE) == []
    assert answer(lambda name: over_delta(5, 0)) == []


def test_levels_stand_against_the_published_ones():
    """FedAvg at 50.1 +- 0.25; table 3 prints 84.88 under CE and 83.82 under CN: 34.78 and 33.72 below."""
    rows = at_length([52.0, 52.2, 52.1])
    (told,) = length_answers.how_far_from_the_published(
        stored(paper_length=rows, paper_length_cn=rows.assign(partition="cn"))
    )
    assert told.startswith(
        "After 1000 rounds FedAvg's best accuracy on Fashion-MNIST is −34.78 [−35.03, −34.53]"
    )
    assert told.endswith(" (CE) and −33.72 [−33.97, −33.47] (CN) points from the published one.")


def test_a_cell_of_ten_clients_says_so():
    rows = at_length([52.0, 52.2, 52.1]).assign(num_clients=10)
    first, *_ = length_answers.at_the_papers_length(lambda asked: rows, "feddrl/paper_length_ten")
    start = (
        "On Fashion-MNIST under CE, with ten clients, all of whom take part, FedDRL leads FedAvg in the best"
    )
    assert first.startswith(start)


def test_losses_of_ten_clients_are_told_by_their_ratio():
    """FedDRL's mean loss is 1; FedAvg's half of it in the first quarter, twice it later, its variance too."""
    rows = cell("fmnist", feddrl=[50, 50], fedavg=[50, 50])
    loss = np.where(rows["round"] > ROUNDS / 4, 2.0, 0.5)
    loss = np.where(rows.method == "fedavg", loss, 1.0)
    rows = rows.assign(client_loss_mean=loss, client_loss_variance=loss, rounds=1000)
    lower, ratios, then = length_figure_answers.does_it_lower_the_losses_with_ten(
        stored(paper_length_ten=rows)
    )
    assert "FedDRL's mean loss over the clients is lower than FedAvg's after a quarter of the" in lower
    assert lower.endswith("its variance lower.")
    assert ratios == "FedAvg's are 2.00 [2.00, 2.00] and 2.00 [2.00, 2.00] times FedDRL's."
    assert then == (
        "In the first quarter FedDRL's mean is 2.00 [2.00, 2.00] times FedAvg's: higher, as in the paper."
    )
    assert length_figure_answers.does_it_lower_the_losses_with_ten(lambda name: NONE) == []
    drawn = rows[rows.method == "feddrl"].assign(method_options='{"slot_order": "drawn"}', run="drawn")
    drawn = drawn.assign(client_loss_mean=4.0)
    *_, told = length_figure_answers.does_it_lower_the_losses_with_ten(
        stored(paper_length_ten=pd.concat([rows, drawn]))
    )
    assert told.startswith("With clients in drawn order its mean is higher than FedAvg's after that quarter")


def test_the_gain_is_told_by_the_number_of_clients():
    """Of 50: half a point (1 %) with 100 clients and two points (4 %) with ten: three per cent less."""
    drl = {100: [50.5, 50.7, 50.6], 10: [52.0, 52.2, 52.1]}
    rows = pd.concat(at_length(values).assign(num_clients=number) for number, values in drl.items())
    (told,) = length_answers.does_the_gain_grow_with_clients(stored(clients_at_length=rows))
    assert told.startswith(
        "FedDRL's gain over the better baseline on Fashion-MNIST under CE is smaller with 100 clients, +0.998"
    )
    assert "than with ten, +3.99" in told
    assert "(printed: +2.16 and +0.08). The one less the other is −2.99" in told


def test_the_exact_cell_is_told_beside_the_others():
    """FedDRL, online, 2 points above FedAvg (50.1 %; printed 84.88), with clients in drawn order 1."""
    rows = exact([52.0, 52.2, 52.1], [51.0, 51.2, 51.1])
    name = "feddrl/table3_fmnist_ce_n100"
    first, training, order = length_answers.at_the_papers_length(lambda asked: rows, name)
    assert first.startswith(
        "On Fashion-MNIST under CE, with the paper's CNN, online FedDRL leads FedAvg in the best round, +2.0"
    )
    assert training.startswith("Training raises the mean of these last rounds and the best round")
    assert " is +1.00 [+1.00, +1.00] points from FedAvg's; with a fixed order it is +1.00 [" in order
    (open_,) = length_answers.at_the_papers_length(lambda asked: NONE, name)
    assert open_ == f"Open: no runs of this length are shown; `run {name} --profile paper`."
    told, each = length_answers.how_far_from_the_published(stored(table3_fmnist_ce_n100=rows))
    assert each.startswith(
        "With the paper's CNN the best rounds of FedAvg, FedProx and FedDRL (online) are "
        "−34.78 [−35.03, −34.53], "
    )
    assert " and −34.61 [−34.86, −34.36] points from the published ones. The paper prints no late " in each
    assert told.endswith(" −34.78 [−35.03, −34.53] (CE with the paper's CNN) points from the published one.")
    (lead,) = headline.cell_leads(stored(table3_fmnist_ce_n100=rows))
    assert lead.cell == "CE with the paper's CNN, online"
    assert lead.drawn.mean == pytest.approx(1)


def test_tables_of_the_exact_cell_take_the_online_mode_for_feddrl():
    rows = exact([52.0, 52.2, 52.1], [51.0, 51.2, 51.1])
    levels = length_tables.length_table(rows).set_index("variant")
    assert levels.published["feddrl_online"] == 86.71
    assert levels.published.isna().sum() == 2  # the untrained policy and drawn slots
    leads = length_tables.length_leads(rows).set_index("variant")
    assert leads.loc["feddrl_online", "less FedAvg: best"] == pytest.approx(2)
    assert leads.loc["drawn_online", "FedDRL less it: late"] == pytest.approx(1)
    factors = length_tables.length_factors(rows).set_index("variant")
    group = "small group less main group (%)"
    assert factors.loc["drawn_online", f"{group}: all clients"] == pytest.approx(200)
    assert pd.isna(factors.loc["drawn_online", f"{group}: in the same slot"])


@pytest.mark.parametrize(("main", "mean", "says"), [(0.42, "+7", "larger"), (0.8, "−8", "smaller")])
def test_groups_at_the_papers_length(main, mean, says):
    """A share of 0.43 for six of ten clients leaves a small group's client 70.8 % of a factor more."""
    told = length_figure_answers.do_small_groups_get_more_at_length(
        stored(cluster_skew_at_length=lengthened(with_weights(main)))
    )
    assert told[0].startswith(f"Under CE and CN on Fashion-MNIST it is {mean}")
    assert told[0].endswith(f" %: it is {says}.")
    assert told[1].startswith("It is +0.00 [+0.00, +0.00] % for the untrained policy")


def test_groups_at_the_papers_length_are_told_by_data_set():
    fmnist = lengthened(with_weights(0.42))
    both = pd.concat([lengthened(with_weights(0.8)).assign(dataset="mnist"), fmnist])
    told = length_figure_answers.do_small_groups_get_more_at_length(
        stored(cluster_skew_at_length=fmnist, small_sets_at_length=both)
    )
    over_all, fashion, _, digits, _ = told
    assert over_all.startswith("Over 2 cells of 1000 rounds, which decide C10, a small group's factor less ")
    assert fashion.startswith("Under CE and CN on Fashion-MNIST it is +")
    assert fashion.endswith(": it is larger.")
    assert digits.startswith("Under CE and CN on MNIST it is −")
    assert digits.endswith(": it is smaller.")


def test_a_gap_that_goes_with_the_place_says_so(monkeypatch):
    """The gap among clients in the same slot is a tenth of that of all clients."""
    rows = lengthened(with_weights(0.42))
    answer = length_figure_answers.do_small_groups_get_more_at_length
    assert "place in the list" not in answer(stored(cluster_skew_at_length=rows))[1]
    tenth = length_figure_answers.estimands.factor_gap
    monkeypatch.setattr(
        length_figure_answers.estimands, "factor_gap_in_slot", lambda *given: tenth(*given) / 10
    )
    assert answer(stored(cluster_skew_at_length=rows))[1].endswith(
        "in the same slot: most of it goes with the place in the list."
    )


@pytest.mark.parametrize(
    ("first", "effect", "says"),
    [("feddrl", "2.00", "FedDRL is faster."), ("fedavg", "0.500", "FedDRL is slower.")],
)
def test_speed_at_the_papers_length(first, effect, says):
    """One method reaches its accuracy in round 500, the others in round 1000: twice the rounds, or half."""
    rows = at_length([50.0, 50.2, 50.1], early={first: ROUNDS // 2})
    told = length_figure_answers.is_it_faster_at_length(stored(small_sets_at_length=rows))
    assert told[0] == (
        f"After 1000 rounds (1 cell, 3 seeds) the faster baseline needs {effect} [{effect}, {effect}] times "
        "FedDRL's rounds to the common accuracy."
    )
    assert told[1] == says
    assert told[2] == (
        "With the 1,000 rounds that its workers play before round 1 (A24) it needs more, by the means, in 1 "
        "of 1 cell."
    )


def test_the_ends_of_fig_8_at_the_papers_length():
    """All methods five points higher at 0.2; FedDRL 52.1 against 50.1 at 0.6 is 3.992 %."""
    told = length_figure_answers.at_the_ends_of_fig8(
        stored(
            delta_ends=lengthened(over_delta(5, 5)),
            cluster_skew_at_length=at_length([52.0, 52.2, 52.1]),
        )
    )
    assert told[0].startswith("After 1000 rounds the best accuracy of the three methods at delta = 0.2 less ")
    assert " that at 0.6 is +5.00" in told[0]
    assert told[1].startswith("By the main group's share FedDRL's lead, mean over the partitions, is ")
    assert told[1].endswith(" points: undecided.")  # all methods fall alike
    assert told[2].startswith("At 0.6 FedDRL's gain over the better baseline is +3.99")
    assert told[2].endswith(" % of its accuracy (printed: 2 to 3).")


def test_the_table_of_the_ends_has_levels_and_falls():
    table = length_tables.delta_table(over_delta(5, 5)).set_index(["partition", "variant"])
    assert len(table) == 6
    assert table["fall (points)"].tolist() == pytest.approx([5.0] * 6)
    low, high = (table[f"best accuracy (%): delta = {end}"] for end in (0.2, 0.6))
    assert (low - high).tolist() == pytest.approx([5.0] * 6)


def test_missing_hours_name_the_claims_that_want_them(monkeypatch):
    """2500 s are 42 min, 7900 s 2.2 h."""

    class Timings:
        def of_runs(self, runs):
            (run,) = runs
            assert run.num_clients == 10
            return pd.Series({"seconds": {"fedavg": 2500.0, "feddrl": 7900.0}[run.method]})

    monkeypatch.setattr(length_answers, "Timings", Timings)
    verdicts = {"FEDDRL-C1": "supported", "FEDDRL-C5": "not testable here", "FEDDRL-C6": "not testable here"}
    records = [{"claim": name, "verdict": verdict} for name, verdict in verdicts.items()]
    assert length_answers.which_hours_are_missing(records) == [
        "C5 and C6 need ten clients over the paper's 1000 rounds in more cells than Fashion-MNIST's under "
        "CE.",
        "There a seed took about 42 min of one thread with FedAvg, 2.2 h with FedDRL.",
        "C5 needs CIFAR-100 too.",
        "For C6 all of MNIST's cells with 100 clients would do (`feddrl/small_sets_at_length`).",
    ]
    assert length_answers.which_hours_are_missing([]) == []


def test_a_lead_in_drawn_order_is_told_over_uniform_weights_too():
    """Two late leads in drawn order over FedAvg, one of which stands over uniform weights: of three runs."""
    lead, none = Interval(2.0, 1.9, 2.1, 5), Interval(0.0, -1.0, 1.0, 5)
    one = headline.CellLead(
        "MNIST", "CN", *[lead] * 7, equal=False, exact=False, clients=100,
        authors=False, paper=1.0,
    )  # fmt: skip
    weak = replace(one, drawn_uniform=none)
    assert headline._left_in_drawn_order([one, weak, replace(weak, drawn=none)])[1] == (
        "Over uniform weights 1 of them does."
    )
    assert headline._left_in_drawn_order([weak])[1] == "Over uniform weights none of them does."
    assert len(headline._left_in_drawn_order([one])) == 1


def test_what_a_fixed_list_is_worth_to_ten_clients_is_told_by_both_accuracies():
    """In drawn order the best round keeps its lead of 2 points, the last rounds do not."""
    lead, none = Interval(2.0, 1.9, 2.1, 5), Interval(0.0, -1.0, 1.0, 5)
    ten = headline.CellLead(
        "Fashion-MNIST", "CE", lead, lead, None, lead, none, none, lead, equal=True, exact=False, clients=10,
        authors=False, paper=0.1,
    )  # fmt: skip
    assert headline._left_in_drawn_order([ten])[-1].endswith(
        "the lead in the best round stays, +2.00 [+1.90, +2.10], that in the last rounds does not show."
    )


def test_gains_and_losses_that_hold_are_counted():
    """Half-widths of 0.1 over five seeds: a mean of 2 holds, one of 0.11 (p = 0.019) beside others not."""
    gain, barely = Interval(2.0, 1.9, 2.1, 5), Interval(0.11, 0.01, 0.21, 5)
    loss, open_ = Interval(-2.0, -2.1, -1.9, 5), Interval(0.0, -1.0, 1.0, 5)
    assert headline._holding([gain, barely, loss, open_, open_]) == (
        "1 of the gains and 1 of the losses hold"
    )
    assert headline._holding([barely, open_, open_]) == "none of the gains hold"
    assert headline._holding([open_]) == "none shows"
