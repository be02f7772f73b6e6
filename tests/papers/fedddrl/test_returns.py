"""The return (15) against numbers worked out by hand, and against the rewards that stored runs report."""

import json

import numpy as np
import pandas as pd
import pytest
from fedddrl_by_hand import ROUNDS, frame

import fedlib
from fedlib.errors import UsageError
from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.papers.fedddrl import (
    claims,
    further_tables,
    quantities,
    return_tables,
    returns,
    tables,
    weight_search,
)
from fedlib.papers.fedddrl.latencies import latencies

SLOPE = 2.9 * (10 - 20 / (1 + np.exp(0.35)))  # w1 (U(1) - U(0)), U(1) = 0


def policies():
    """FedAvg+: 10 -> 40 % in 15 equal steps, everybody. Fastest 20 %: 10 -> 25 %, two clients, 40 s."""
    full = {"accuracy": 0.4, "kept": 10, "latency": 100.0, "sway": 0}
    few = {"accuracy": 0.25, "kept": 2, "latency": 40.0, "sway": 0}
    mixup, fast = ("fedavg_mixup", "MNIST"), ("drop_slowest_20%", "MNIST")
    return frame({mixup: full, fast: few})


def test_the_return_of_fedavg_and_of_a_rule_by_hand():
    """b = 0.3 (0.1 + 0.2) = 0.09; FedAvg pays 15 (0.1 + 0.2), the rule 15 (0.1 * 0.2 + 0.2 * 0.4)."""
    found = returns.returns(policies()).groupby("variant").mean()
    assert found["fedavg_mixup"] == pytest.approx(0.3 * SLOPE - 4.5 + 15 * 0.09)
    assert found["fedavg_mixup"] == pytest.approx(-1.64285, abs=1e-5)
    assert found["drop_slowest_20%"] == pytest.approx(0.15 * SLOPE - 1.5 + 15 * 0.09)
    assert found["drop_slowest_20%"] == pytest.approx(0.60358, abs=1e-5)


def test_a_gain_that_is_lost_again_is_paid_by_the_bonus_only():
    """A see-saw of 5 points rises in the 7 even rounds: same gain of the episode, 7 bonuses, not 15."""
    wobbly = frame({("fedavg_mixup", "MNIST"): {"accuracy": 0.4, "wobble": 0.05, "sway": 0}})
    terms = returns.episode_terms(wobbly).iloc[0]
    assert terms.gain == pytest.approx(0.3 * SLOPE)
    assert terms.bonus == pytest.approx(7 * 0.09)
    straight = returns.episode_terms(policies()).xs("fedavg_mixup", level="variant").iloc[0]
    assert straight.bonus == pytest.approx(15 * 0.09)
    assert straight.gain == pytest.approx(terms.gain)


def test_the_rewards_of_stored_runs_are_recomputed():
    """FedDdrl's rows report r^1 as the agents got it; accuracies, uploads and latencies give the same."""
    rows = fedlib.load_results("fedddrl/table4", "reduced")
    terms = returns.reward_terms(rows)
    own = terms[terms.variant == "fedddrl"]
    stored = rows.reward_1.astype(float).reindex(own.index)
    assert len(own) == own.groupby(["role", "seed"]).ngroups * 5 * 15 >= 3 * 3 * 5 * 15
    np.testing.assert_allclose(own.reward, stored, atol=1e-5)


def test_training_episodes_are_returns_and_not_means():
    """A mean reward of 0.1 a round is a return of 1.5 in an episode of 15."""
    rows = frame({("fedddrl", "MNIST"): 0.4})
    rows["training_reward_1"] = np.where(rows["round"] == 0, json.dumps([0.1, -0.2]), None)
    found = returns.training_returns(rows)
    assert found["return"].tolist() == pytest.approx([1.5, -3.0] * 3)
    assert found.episode.tolist() == [1, 2] * 3
    gain = returns.learning_gain(rows, few=1)
    assert gain.gain.tolist() == pytest.approx([-4.5] * 3)


def test_the_return_beside_a_rule_is_at_the_learned_rate():
    """The rule earns x with 2 kept and y with 10: a policy that keeps 6 is held to (x + y) / 2."""
    policy = frame({("fedddrl", "MNIST"): {"accuracy": 0.4, "kept": 6, "latency": 100.0, "sway": 0}})
    rows = pd.concat([policies(), policy], ignore_index=True)
    table = tables.at_learned_rate(rows)
    by = returns.returns(rows).groupby("variant").mean()
    between = (by["fedavg_mixup"] + by["drop_slowest_20%"]) / 2
    np.testing.assert_allclose(table["return - drop_slowest"], by["fedddrl"] - between)
    assert table["return - random_drop"].isna().all(), "that rule was not run"
    other, by = (
        tables.at_learned_rate(rows, "cohort"),
        returns.returns(rows, "cohort").groupby("variant").mean(),
    )
    between = (by["fedavg_mixup"] + by["drop_slowest_20%"]) / 2
    np.testing.assert_allclose(other["return - drop_slowest"], by["fedddrl"] - between)
    assert not np.allclose(other["return - drop_slowest"], table["return - drop_slowest"])


def test_tables_and_sentences_of_the_return():
    table = return_tables.return_table(policies())
    assert table.method.tolist() == ["keep the fastest 20%", "FedAvg + Balanced-MixUp"], "rules first"
    assert table["MNIST: return"].tolist() == pytest.approx([0.60358, -1.64285], abs=1e-5)
    assert table["MNIST: accuracy (%)"].tolist() == pytest.approx([25, 40])
    assert pytest.approx(0.050238, abs=1e-6) == return_tables.POINT
    words = return_tables.price_sentence(policies())
    assert "costs 0.15 of return in uploads alone, as much as 3.0 points" in words
    assert "kept in all 15 rounds costs, in uploads alone, the return that 3 points" in (
        return_tables.price_in_short(policies())
    )
    assert "saves 3.00 of uploads and latency and gives up 0.75 of accuracy gain (mean over MNIST)." in words


def test_policies_stand_in_lines_and_data_sets_in_groups():
    """A policy that a data set lacks has no number there."""
    other = frame({("fedavg_mixup", "CIFAR-10"): {"accuracy": 0.2, "kept": 10, "latency": 100.0}})
    table = tables.cost_table(pd.concat([other, policies()], ignore_index=True)).set_index("method")
    assert [name.partition(":")[0] for name in table] == ["MNIST", "MNIST", "CIFAR-10", "CIFAR-10"]
    column = "uploads (% of FedAvg's)"
    assert table[f"MNIST: {column}"].tolist() == [20, 100]
    assert np.isnan(table[f"CIFAR-10: {column}"].iloc[0])


def test_sentences_of_the_return_leave_generated_images_out():
    """The same sentences with and without rows of a stand-in on which every policy ends higher."""
    own = pd.concat([policies(), frame({("fedddrl", "MNIST"): {"accuracy": 0.4, "kept": 6}})])
    generated = own.assign(dataset="standin-crisis", stand_in=True, test_accuracy=0.1 + own.test_accuracy)
    own, both = (pd.concat(parts, ignore_index=True) for parts in ((own,), (own, generated)))
    for sentence in (
        return_tables.price_sentence, return_tables.telescoping_sentence, return_tables.idle_sentence,
    ):  # fmt: skip
        assert sentence(both) == sentence(own)
    generated = both[both.stand_in]
    assert return_tables.price_sentence(generated) != return_tables.price_sentence(own)


def one_round(kept=None, epochs=None):
    """Three clients of 20 images on devices of seed 3, five epochs; decisions or none."""
    row = {"clients": "[0, 2, 4]", "seed": 3, "num_clients": 5, "local_epochs": 5}
    row |= {"partition_options": json.dumps({"images_per_client": 20})}
    return pd.DataFrame([{**row, "kept": kept, "epochs": epochs}])


def test_latencies_by_both_rules_by_hand():
    """First and last kept for 3 and 7 epochs: FedMarl's rule waits for all probes, then for the rest."""
    own = draw_devices(3, 5)
    per_epoch, upload = 20 * own.compute_seconds[[0, 2, 4]], own.upload_seconds[[0, 2, 4]]
    finish = 5 * per_epoch + upload
    everyone = latencies(one_round()).iloc[0]
    assert everyone.printed == finish.max()
    assert everyone.cohort_share == pytest.approx(finish.max() / finish.sum())
    assert everyone.fedmarl == per_epoch.max() + (finish - per_epoch).max()
    some = latencies(one_round("[1, 0, 1]", "[3, 1, 7]")).iloc[0]
    first, last = (n * per_epoch[i] + upload[i] for i, n in ((0, 3), (2, 7)))
    assert some.printed == max(first, last)
    assert some.fedmarl == per_epoch.max() + max(first - per_epoch[0], last - per_epoch[2])
    assert some.cohort_share == pytest.approx(max(first, last) / finish.sum()), "of all clients, five epochs"


def test_clients_of_unequal_size_are_refused():
    """The row's seconds are twice those of clients that are all as large as the first."""
    told = latencies(one_round()).printed
    probes = json.dumps((20 * draw_devices(3, 5).compute_seconds[[0, 2, 4]]).tolist())
    rows = one_round().assign(partition_options='{"alpha": 0.5}', probing_seconds=probes)
    assert latencies(rows.assign(latency_seconds=told)).printed.tolist() == told.tolist()
    with pytest.raises(UsageError, match="clients of unequal size given"):
        latencies(rows.assign(latency_seconds=2 * told))


def test_a_cohort_of_all_clients_has_their_number():
    rows = frame({("fedavg", "MNIST"): {"accuracy": 0.4}})
    everyone = quantities.labelled(
        rows.assign(cohort_size=np.nan, num_clients=10).drop(columns="variant", errors="ignore")
    )
    assert set(everyone.cohort_size) == {10}


def test_lines_of_data_sets_that_the_paper_lacks_come_last():
    table = pd.DataFrame({"role": ["mnist-5k", "CrisisIBD", "MNIST"]})
    assert quantities.in_papers_order(table).role.tolist() == ["MNIST", "CrisisIBD", "mnist-5k"]


def test_latencies_of_stored_rounds_are_those_stored():
    rows = fedlib.load_results("fedddrl/table4", "reduced")
    own = rows[(rows["round"] > 0) & (rows.seed == 1) & rows.method.isin(("fedavg", "fedddrl"))]
    np.testing.assert_array_equal(latencies(own).printed, own.latency_seconds)


@pytest.mark.parametrize("artifact", ["table4", "latency-unit"])
def test_sizes_that_no_option_has_follow_from_the_rows(artifact):
    """As of CrisisIBD at `paper`, whose clients are as large as its classes allow: the size is hidden."""
    rows = fedlib.load_results(f"fedddrl/{artifact}", "reduced")
    own = rows[(rows["round"] > 0) & (rows.seed == 1)]
    hidden = own.assign(partition_options='{"sigma": 0.8}')
    pd.testing.assert_frame_equal(latencies(hidden), latencies(own))


def test_the_printed_weights_under_both_units_of_h():
    """(10e): 15 (0.1 + 0.2 H) / (2.9 * 1.73236): H = 1 needs a gain of 0.8957, H = 0.15 one of 0.3882."""
    ones = np.ones(15)
    assert weight_search.needed_gain(ones, ones) == pytest.approx(0.8957, abs=1e-4)
    assert weight_search.needed_gain(ones, 0.15 * ones) == pytest.approx(0.3882, abs=1e-4)
    assert weight_search.printed_gains()["MNIST"] == pytest.approx(0.846)
    for height, feasible in ((1.0, False), (0.15, True)):
        found = weight_search.search_weights(0.75 / 15 * ones, ones, height * ones)
        at = np.isclose(found[["w1", "w2", "w3"]], weight_search.PRINTED).all(axis=1)
        assert found.feasible[at].tolist() == [feasible]


def test_a_return_without_b_is_refused():
    """Without FedAvg's rows nothing says what b is: an error, and no return without its bonus."""
    rule = policies().query("method == 'drop_slowest'")
    with pytest.raises(UsageError, match=r"no rows of FedAvg .* b of \(15\) is not known"):
        returns.returns(rule)


def agents_by_hand():
    """One partition, two agents that keep 6: 40 and 46 %; as many at random 38 % with both; FedAvg 42 %."""
    mixup = ("fedavg_mixup", "MNIST")
    base = frame({mixup: {"accuracy": 0.42, "kept": 10, "latency": 100.0, "sway": 0}})
    parts = [base]
    for agent, accuracy in ((0, 0.40), (1, 0.46)):
        for deployed, reached in (("agent", accuracy), ("random", 0.38)):
            part = frame({("fedddrl", "MNIST"): {"accuracy": reached, "kept": 6, "sway": 0}})
            more = {"agent": agent, "deployed": deployed}
            options = part.method_options.map(lambda text, more=more: json.dumps(json.loads(text) | more))
            trained = np.where(part["round"] == 0, json.dumps([0.1 * agent]), None)
            parts.append(part.assign(method_options=options, training_reward_1=trained))
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows.seed == 0]


def test_agents_are_held_to_as_many_clients_at_random():
    """Two agents on one partition: +2 and +8 points against their own controls, mean 5."""
    (line,) = further_tables.deployments(agents_by_hand()).to_dict("records")
    assert (line["FedDdrl less"], line["agents"], line["left out"]) == ("random", 2, 0)
    assert line["accuracy (points)"] == pytest.approx(5)
    assert line["return"] == pytest.approx(0.05 * SLOPE)
    assert line["latency (% of FedAvg's)"] == 0


def test_agents_of_one_partition_count_once():
    """+2 and +8 points on one partition, +2 on another: mean 3.5 of two partitions, not 4 of three agents."""
    first = agents_by_hand()
    second = first[~first.method_options.str.contains('"agent": 1')]
    rows = pd.concat([first, second.assign(seed=1, run=second.run + "1")], ignore_index=True)
    (line,) = further_tables.deployments(rows).to_dict("records")
    assert line["agents"] == 3
    assert line["accuracy (points)"] == pytest.approx(3.5)
    assert line["accuracy (points) high"] == pytest.approx(3.5 + 12.7062 * 1.5, abs=1e-3)
    assert "on MNIST (3 agents on 2 partitions)" in further_tables.choice_sentence(rows)


def test_agents_and_partitions_vary_apart():
    """40 and 46 % on one partition, 60 and 66 % on the next: between agents the root of 18, between means of
    43 and 63 that of 200 - 18 / 2. A third partition with one agent does not count."""
    first = agents_by_hand()
    later = first.test_accuracy + 0.2 * (first.method == "fedddrl")
    second = first.assign(seed=1, run=first.run + "1", test_accuracy=later)
    third = first[~first.method_options.str.contains('"agent": 1')]
    rows = pd.concat([first, second, third.assign(seed=2, run=third.run + "2")], ignore_index=True)
    accuracy, kept = further_tables.apart(rows).to_dict("records")
    assert accuracy["agents"] == 4
    assert accuracy["agents of one partition"] == pytest.approx(18**0.5)
    assert accuracy["partitions"] == pytest.approx(191**0.5)
    assert (kept["agents of one partition"], kept["partitions"]) == (0, 0)
    told = further_tables.apart_sentence(rows)
    assert "On MNIST (4 agents) the standard deviation of accuracy is 4.2 points between agents of" in told
    assert told.endswith("kept is 0.0 and 0.0 (0: partitions vary no more than their agents do).")
    assert further_tables.apart_sentence(rows[:0]).startswith("No further agents")


@pytest.mark.parametrize("trained", [json.dumps([0.3]), None])
def test_a_control_with_another_agent_is_left_out(trained):
    """The first agent's control trained to other rewards, or to none that are stored: +8 points remain."""
    rows = agents_by_hand()
    control = rows.method_options.str.contains("random") & rows.method_options.str.contains('"agent": 0')
    rows.loc[control & (rows["round"] == 0), "training_reward_1"] = trained
    (line,) = further_tables.deployments(rows).to_dict("records")
    assert (line["agents"], line["left out"]) == (1, 1)
    assert line["accuracy (points)"] == pytest.approx(8)
    told = further_tables.choice_sentence(rows)
    assert told.endswith("1 of 2 control runs are left out: they trained to other rewards.")
    none = rows.drop(columns="training_reward_1")
    assert further_tables.deployments(none).empty
    assert further_tables.choice_sentence(none).startswith("No agents")


def test_stored_controls_of_further_agents_have_the_agent_that_they_replace():
    """Two further agents on each of five partitions; the first one's own runs are table 4's."""
    rows = fedlib.load_results("fedddrl/agents", "reduced")
    table = further_tables.deployments(rows)
    assert len(table) == 4
    assert table["agents"].eq(10).all()
    assert table["left out"].eq(5).all()
    assert "20 of 60 control runs are left out" in further_tables.choice_sentence(rows)


def test_savings_by_the_unit_of_h():
    """The second agent learned with the cohort's sum: its savings stand beside the first one's."""
    rows = agents_by_hand().query("not method_options.str.contains('random')")
    second = rows.method_options.str.contains('"agent": 1')
    rows["method_options"] = rows.method_options.mask(
        second, rows.method_options.str.replace('"agent": 1', '"latency_unit": "cohort"')
    )
    table = further_tables.by_unit(rows).set_index("H by")
    assert table["accuracy less FedAvg's (points)"].to_dict() == pytest.approx(
        {"largest value": -2, "cohort's sum": 4}
    )
    assert table["uploads saved (%)"].tolist() == pytest.approx([40, 40])
    assert "undecided, +0.00 points on MNIST (1 seed)" in further_tables.unit_sentence(rows)
    further = rows[rows.method == "fedavg"].assign(seed=7, run="a seed that no agent has")
    more = further_tables.by_unit(pd.concat([rows, further], ignore_index=True)).set_index("H by")
    assert (
        more["accuracy less FedAvg's (points)"].to_dict()
        == table["accuracy less FedAvg's (points)"].to_dict()
    )


def untrained_by_hand(seeds=1):
    """Trained agents 40 %, untrained ones 46 %; those on permuted rewards 38 %; FedAvg 42 %."""
    rows = agents_by_hand()
    for old, new in (
        ('"agent": 1, "deployed": "agent"', '"episodes": 0'),
        ('"agent": 0, "deployed": "random"', '"reward_order": "permuted"'),
    ):
        rows["method_options"] = rows.method_options.str.replace(old, new)
    rows = rows[~rows.method_options.str.contains("random")]
    more = [rows.assign(seed=seed, run=rows.run + str(seed)) for seed in range(1, seeds)]
    return pd.concat([rows, *more], ignore_index=True)


def test_what_training_is_worth_by_hand():
    """6 points behind untrained agents, 2 ahead of those on permuted rewards; a seed that one lacks goes."""
    table = further_tables.worth_of_training(untrained_by_hand()).set_index("FedDdrl less")
    assert table["accuracy (points)"].tolist() == pytest.approx([-6, 2])
    assert table["return"].tolist() == pytest.approx([-0.06 * SLOPE, 0.02 * SLOPE])
    assert table["kept: control"].tolist() == [6, 6]
    rows = untrained_by_hand(seeds=3)
    lost = (rows.seed == 2) & rows.method_options.str.contains("permuted")
    assert further_tables.worth_of_training(rows[~lost]).seeds.tolist() == [2, 2]
    told = further_tables.training_sentence(rows)
    assert told.startswith(
        "The return of trained agents less that of others: against untrained agents it is "
    )
    assert told.endswith(" (3 seeds).")
    assert "behind" in told.split(";")[0]
    assert "ahead" in told.split(";")[1]
    none = further_tables.training_sentence(agents_by_hand())
    assert none == further_tables.NOT_UNTRAINED


def test_the_claim_on_training_is_decided_by_both_controls():
    claim = next(one for one in claims.CLAIMS if one.id == "FEDDDRL-R1")
    controls = ("FedDdrl untrained", "FedDdrl on permuted rewards")
    untrained, permuted = (
        part.estimand(untrained_by_hand(seeds=2))[f"MNIST: FedDdrl - {words}"]
        for part, words in zip(claim.parts, controls, strict=True)
    )
    assert untrained.tolist() == pytest.approx([-0.06 * SLOPE] * 2)
    assert permuted.tolist() == pytest.approx([0.02 * SLOPE] * 2)
    assert claim.parts[0].margin == pytest.approx(0.005 * SLOPE)


def test_traces_keep_methods_apart():
    """Two methods of one seed: each starts from its own accuracy of w_0."""
    found = quantities.traces(policies())
    gains = found.groupby(["variant", "seed"]).dA.sum().groupby("variant").mean()
    assert gains["fedavg_mixup"] == pytest.approx(0.3)
    assert gains["drop_slowest_20%"] == pytest.approx(0.15)
    assert len(found) == 2 * 3 * ROUNDS


def longer_by_hand():
    """Two partitions: the second agent, 6 points more accurate, becomes the first one after 100 episodes."""
    rows = agents_by_hand().query("not method_options.str.contains('random')")
    longer = rows.method_options.str.contains('"agent": 1')
    rows["method_options"] = rows.method_options.mask(
        longer, rows.method_options.str.replace('"agent": 1', '"episodes": 100')
    ).mask(~longer, rows.method_options.str.replace('"agent": 0', '"episodes": 40'))
    return pd.concat([rows, rows.assign(seed=1, run=rows.run + "1")], ignore_index=True)


def test_longer_training_by_hand():
    rows = longer_by_hand()
    told = further_tables.episodes_sentence(rows)
    gain = f"{0.06 * SLOPE:+.2f}"
    assert told == (
        "After more episodes of training (2 agents each) the return is higher, "
        f"{gain} [{gain}, {gain}] on MNIST (100 instead of 40); the accuracy higher, "
        "+6.00 [+6.00, +6.00] points on MNIST (100 instead of 40)."
    )
    none = further_tables.episodes_sentence(rows[rows.method == "fedavg"].iloc[:0])
    assert none == "No agents were trained for longer."


def test_longer_training_that_decides_nothing_is_told_in_a_sentence():
    """6 points more on one partition, 12 less on the other: by -3 points on the mean, which is open."""
    rows = longer_by_hand()
    worse = (rows.seed == 1) & rows.method_options.str.contains('"episodes": 100') & (rows["round"] > 0)
    for name in ("test_accuracy", "server_accuracy"):
        rows[name] = rows[name].mask(worse, rows[name] - 0.18)
    assert further_tables.episodes_sentence(rows) == (
        "That 100 episodes of training in place of 40 change return or accuracy on MNIST does not show "
        "(2 agents each)."
    )
    short, long = further_tables.by_episodes(rows).to_dict("records")
    assert [short["policy"], long["policy"]] == ["FedDdrl, 40 episodes", "FedDdrl, 100 episodes"]
    assert long["less 40 episodes: accuracy (points)"] == pytest.approx(-3)
    assert np.isnan(short["less 40 episodes: return"])


def test_episodes_stand_by_data_set_in_the_papers_order():
    other = longer_by_hand()
    other = other.assign(dataset="cifar10", run=other.run + "c")
    table = further_tables.by_episodes(pd.concat([other, longer_by_hand()], ignore_index=True))
    assert table.role.tolist() == ["MNIST", "MNIST", "CIFAR-10", "CIFAR-10"]


def test_what_the_choice_earns_is_told_with_its_agents():
    told = further_tables.choice_sentence(agents_by_hand())
    assert "(2 agents on 1 partition)" in told
    assert told.count("Against as many at random") == 1
    assert "shortest probing epochs" not in told  # not run
    assert "left out" not in told
    assert further_tables.choice_sentence(agents_by_hand().iloc[:0]).startswith("No agents")


def test_a_correlation_over_agents_is_told_with_its_number_and_chance():
    """Ranks 1 to 4 against 3, 4, 1, 2: rho = 1 - 6 * 16 / (4 * 15) = -0.6, as t with two degrees p = 0.4."""
    values = pd.DataFrame(
        {"return": [1.0, 2.0, 3.0, 4.0], "accuracy": [0.8, 0.7, 0.6, 0.5]},
        index=pd.MultiIndex.from_product([["MNIST"], range(4)], names=["role", "seed"]),
    )
    assert return_tables._rank_words(values, {"MNIST": "MNIST"}) == "−1.00 on MNIST"
    told = return_tables._rank_words(
        values.assign(accuracy=[0.7, 0.8, 0.5, 0.6]), {"MNIST": "M"}, chance=True
    )
    assert told == "−0.60 on M (4 agents, p = 0.4)"


@pytest.mark.parametrize(
    ("means", "agents", "answer", "of_means", "of_agents"),
    [
        ([4, 3, 2, 1], [3, 1, 4, 2, 5], "No", "less", "is undecided"),
        ([1, 2, 3, 4], [5, 4, 3, 2, 1], "Yes", "more", "goes with less"),
    ],
)
def test_whether_return_goes_with_accuracy(monkeypatch, means, agents, answer, of_means, of_agents):
    """Ranks of four policies, all in order, and of five agents: rho 0.5 with p 0.39, or -1."""

    def made(accuracies, name):
        values = {"return": range(len(accuracies)), "accuracy": accuracies}
        places = pd.MultiIndex.from_product([["MNIST"], range(len(accuracies))], names=["role", name])
        return pd.DataFrame(values, index=places)

    monkeypatch.setattr(return_tables, "_means", lambda rows: made(means, "variant"))
    monkeypatch.setattr(return_tables, "_agents", lambda rows: made(agents, "seed"))
    words, numbers = return_tables.rank_answer(policies())
    assert words == (
        "Over the means of 2 policies, 2 of which cannot learn, more return goes with "
        f"{of_means} accuracy on MNIST. Among FedDdrl's agents it {of_agents} on MNIST (section 7)."
    )
    assert numbers.startswith(
        f"Does more return go with more accuracy? {answer}: over the means of 2 policies the rank "
        f"correlation is {'−+'[answer == 'Yes']}1.00 on MNIST."
    )
    assert return_tables.rank_answer(policies().iloc[:0]) == ("", "")


def test_data_sets_that_differ_in_rank_are_told_apart():
    shown = {"MNIST": "MNIST", "CIFAR-10": "CIFAR-10"}
    assert return_tables._on(dict.fromkeys(shown, "less"), shown) == "less on MNIST and CIFAR-10"
    told = return_tables._on({"MNIST": "more", "CIFAR-10": "less"}, shown)
    assert told == "more on MNIST and less on CIFAR-10"
