"""FedDdrl and FedMarl: rewards and state by hand, FedAvg as a special case, exact resume."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_world, through_a_file

from fedlib.errors import UsageError
from fedlib.federation import Method, next_cohort, rounds, sample_cohort
from fedlib.federation.task import check_setting
from fedlib.methods import make_method, method_of
from fedlib.methods.baselines.fedavg import FedAvg
from fedlib.methods.baselines.fedprox import FedProx
from fedlib.methods.fedddrl import devices
from fedlib.methods.fedddrl.device_costs import DeviceCosts
from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.methods.fedddrl.environment import DeviceEnvironment
from fedlib.methods.fedddrl.fedmarl import FedMarl
from fedlib.methods.fedddrl.heuristics import DropSlowest, FewestEpochs, RandomDrop
from fedlib.methods.fedddrl.method import GAIN, FedDdrl, utility
from fedlib.methods.pretraining_cache import forget
from fedlib.rl.vdn import Transitions


def test_gain_and_rewards_by_hand():
    """U(0) = -1.7324, slope 1.7324 (7). dA = 0.1, B = 0.5, H = 0.4 with (2.9, 0.1, 0.2):

    r^2 = 0.50240 - 0.08 + 0.0837 = 0.50610, r^1 = r^2 - 0.05; dA = -0.1: -0.50240 - 0.08, no bonus.
    """
    assert pytest.approx(1.7324, abs=1e-4) == GAIN
    deviation = [abs(utility(a) - 1.732 * (a - 1)) for a in np.linspace(0, 1, 101)]  # fig. 5
    assert max(deviation) == pytest.approx(0.0070, abs=1e-4)
    first, second = FedDdrl().rewards(
        np.array([0.1, -0.1]), np.array([0.5, 0.5]), np.array([0.4, 0.4]), 0.0837
    )
    np.testing.assert_allclose(second, [0.50610, -0.58240], atol=2e-5)
    np.testing.assert_allclose(first, [0.45610, -0.63240], atol=2e-5)
    (only,) = FedMarl().rewards(np.array([0.1]), np.array([0.5]), np.array([0.4]), 0.0)
    np.testing.assert_allclose(only, [0.17324 - 0.13], atol=2e-5)


def world(**changes):
    """Six clients of 12 samples in two replicas, four of them in a round; one episode of 15 rounds."""
    settings = {
        "seeds": (0, 1), "sizes": (12,) * 6, "cohort_size": 4, "local_epochs": 5, "rounds": 15,
        "dataset_options": {"server_share": 0.5},
    }  # fmt: skip
    return make_world(**{**settings, **changes})


def always(method, state, *choices):
    """Agents that always take these actions: zero weights, a large bias at the action's output."""
    for vdn, agent, choice in zip(method.vdns(), state.memory["agents"], choices, strict=True):
        network = torch.zeros_like(agent["team"]["network"])
        network[:, network.shape[1] - vdn.sizes[-1] + choice] = 100.0
        agent["team"]["network"] = network
    return state


def run(task, method, state, count, start=1):
    reports = []
    for r in range(start, start + count):
        cohort = next_cohort(task, r)
        state, report = method.apply(task, state, cohort)
        reports.append(report)
    return state, reports


@pytest.mark.parametrize("alpha", [None, 0.4])
def test_keeping_everyone_for_five_epochs_is_fedavg_bit_for_bit(alpha):
    task = world(mixup_alpha=alpha)
    average, _ = run(task, FedAvg(), FedAvg().init(task), 3)
    for method, choices in ((FedDdrl(episodes=0), (1, 1)), (FedMarl(episodes=0), (1,))):
        state, reports = run(task, method, always(method, method.init(task), *choices), 3)
        assert all(torch.equal(state.params[n], average.params[n]) for n in average.params)
        assert reports[0].columns["uploads"] == [4, 4]


def test_a_round_by_hand():
    """VDN 1 drops everyone, so two clients stay (A25); VDN 2 gives them 7 epochs.

    The dropped have weight 0, the kept 1/2 each, since all have 12 samples; the latency is the
    slower one's 12 * 7 * seconds per sample + upload.
    """
    task, method = world(), FedDdrl(episodes=0)
    _, (report,) = run(task, method, always(method, method.init(task), 0, 2), 1)
    for r, seed in enumerate(task.seeds):
        kept = np.array(json.loads(report.columns["kept"][r]), bool)
        assert kept.tolist() == [True, True, False, False]  # equal values: the lower slots
        assert json.loads(report.columns["epochs"][r]) == [7, 7, 1, 1]
        assert report.weights[r].tolist() == [0.5, 0.5, 0, 0]
        devices, clients = draw_devices(seed, 6), report.clients[r][kept]
        seconds = 84 * devices.compute_seconds[clients] + devices.upload_seconds[clients]
        assert report.columns["latency_seconds"][r] == seconds.max()


def test_state_of_an_agent_by_hand():
    """First sight of a client with 6 of at most 12 samples: its history is its current value.

    (L; 3 x H^p / (0.75 * 12); 3 x H^u / 2; B; |D| / 12; t / T) with L clipped to 10.
    """
    task = world(seeds=(5,), sizes=(12, 6, 12, 12, 12, 12), cohort_size=6)
    state = FedDdrl().init(task)
    cohort = sample_cohort(task.seeds, 1, 6, 6)
    loss = torch.tensor([[0.5, 50.0, 1, 1, 1, 1]])
    states, histories = DeviceEnvironment.of(task, cohort).observe(state.memory, loss, 0.2)
    devices = draw_devices(5, 6)
    probing, upload = devices.compute_seconds[1] * 6 / 9, devices.upload_seconds[1] / 2
    expected = [10.0, *[probing] * 3, *[upload] * 3, 1.0, 0.5, 0.2]
    np.testing.assert_allclose(states[0, 1], expected, rtol=1e-6)
    assert float(histories["probing"][0, 1, -1]) == devices.compute_seconds[1] * 6


def test_agents_learn_before_round_1_and_in_no_evaluation():
    """Two training episodes of 3 rounds, then two evaluations; every episode starts from w_0."""
    task, method = world(rounds=6, episode_rounds=3, local_epochs=1), FedDdrl(episodes=2)
    results = [*rounds(task, method)]
    assert [result.round for result in results] == [*range(-6, 7)]
    teams = [result.state["memory"]["agents"][0]["team"]["network"] for result in results]
    done = [result.state["memory"]["agents"][1]["memory"]["done"][0].tolist() for result in results]
    assert [len(seen) for seen in done] == [0, 0, 1, 3, 3, 4, 6, *[6] * 6]
    assert done[-1] == [0.0, 0.0, 1.0] * 2
    assert all(torch.equal(team, teams[6]) for team in teams[6:])
    start = results[0].state["params"]
    for at, restarts in ((1, False), (3, True), (6, True), (7, False)):
        assert torch.equal(results[at].state["params"]["fc1.weight"], start["fc1.weight"]) == restarts
    assert [len(result.rows[0]) for result in results] == [*[0] * 6, *[1] * 7]
    assert [result.rows[0][0]["episode"] for result in results[7:]] == [1, 1, 1, 2, 2, 2]


def test_the_row_of_round_0_sums_the_training_up():
    task, method = world(rounds=3, local_epochs=1), FedDdrl(episodes=2)
    played, state = [], method.init(task)
    while state.round < 0:
        cohort = next_cohort(task, state.round + 1)
        _, report = method._play(task, state, cohort, learns=True)
        played.append(report.columns)
        state, failed = method.pretrain(task, state)
        assert not failed
    columns = method.initial_columns(task, state)
    uploads = np.array([one["uploads"] for one in played]).reshape(2, 3, 2)
    for r in range(2):
        told = json.loads(columns["training_uploads"][r])
        np.testing.assert_allclose(told, uploads[:, :, r].mean(axis=1), atol=1e-6)
        assert len(json.loads(columns["training_server_accuracy"][r])) == 2


def test_a_lost_training_fails_its_replica_alone():
    task, method = world(rounds=3, local_epochs=1), FedDdrl(episodes=1)
    state = method.init(task)
    state.params["fc1.weight"][1] = torch.nan
    _, failed = method.pretrain(task, state)
    assert failed == {1: "failed: a training loss is not finite in round -2"}


def evaluation_rows(task, method):
    """Replica 0's rows of the two evaluation episodes of 3 rounds."""
    runs = tuple(replace(run, rounds=6, episode_rounds=3) for run in task.runs)
    return [result.rows[0][0] for result in rounds(replace(task, runs=runs), method) if result.round > 0]


@pytest.mark.parametrize("method", [FedDdrl, FedMarl])
def test_every_method_meets_the_same_clients_and_devices_in_an_evaluation_round(method):
    """Common random numbers: evaluation round r is FedAvg's round r, however long the agents learned."""
    task = world(local_epochs=2)
    average, rule = evaluation_rows(task, FedAvg()), evaluation_rows(task, RandomDrop())
    for episodes in (1, 2):
        learned = evaluation_rows(task, method(episodes=episodes))
        for column in ("clients", "upload_seconds", "probing_seconds", "probing_loss"):
            expected = average if column == "clients" else rule
            expected = [row[column] for row in expected]
            if column == "probing_loss":  # of other models from round 2 on
                assert learned[0][column] == expected[0]
                assert learned[3][column] == expected[3]
            else:
                assert [row[column] for row in learned] == expected


def test_keeping_everyone_after_training_is_fedavgs_evaluation_bit_for_bit():
    """Mini-batches and mixing partners, too, are those of FedAvg's rounds."""
    task = world(local_epochs=5, rounds=3, mixup_alpha=0.4)
    average, expected = run(task, DeviceCosts(FedAvg()), FedAvg().init(task), 2)
    method = FedDdrl(episodes=2)
    state = method.init(task)
    while state.round < 0:
        state, _ = method.pretrain(task, state)
    state, reports = run(task, method, always(method, state, 1, 1), 2)
    assert all(torch.equal(state.params[n], average.params[n]) for n in average.params)
    for column in ("latency_seconds", "latency_share", "uploads"):
        assert [r.columns[column] for r in reports] == [r.columns[column] for r in expected]


def test_agents_learn_on_draws_that_no_evaluation_has():
    task = world(rounds=3)
    training = {next_cohort(task, r).clients.tobytes() for r in range(-5, 1)}
    assert len(training) > 1
    assert next_cohort(task, 1).clients.tolist() == sample_cohort((0, 1), 1, 6, 4).clients.tolist()


def test_the_reward_is_measured_on_the_servers_images():
    """dA of the rewards is that of w_1 and w_0 on the server's seven images."""
    task = world()
    own = replace(task.server, inputs=task.server.inputs[:7], labels=task.server.labels[:7])
    task, method = replace(task, server=own), FedDdrl(episodes=0)
    start = method.init(task)
    state, (report,) = run(task, method, start, 1)
    for r in range(2):
        reached = []
        for params in (start.params, state.params):
            task.model.load_state_dict({n: t[r] for n, t in params.items()})
            found = task.model(own.fetch(torch.arange(7))).argmax(dim=1)
            reached.append((found == own.labels).double().mean().item())
        assert report.columns["accuracy_gain"][r] == pytest.approx(reached[1] - reached[0], abs=1e-6)
        assert report.columns["server_accuracy"][r] == pytest.approx(reached[1], abs=1e-6)
    with pytest.raises(UsageError, match=r"needs images on the server.*server_share"):
        FedDdrl().init(world(dataset_options={}))
    with pytest.raises(UsageError, match="allowed: null, for FedMarl counts in epochs"):
        FedMarl().init(world(local_steps=2))


def test_resume_is_exact_while_the_agents_learn():
    """Saved after round 5 of 7 training rounds, in the middle of an episode, with a pending transition."""
    task, method = world(rounds=7, local_epochs=1), QuickFedDdrl(episodes=1)
    whole = list(rounds(task, method))
    resumed = list(rounds(task, method, through_a_file(whole[5].state)))
    assert [r.rows for r in resumed] == [r.rows for r in whole[6:]]
    first, last = (whole[i].state["memory"]["agents"][1]["team"] for i in (4, -1))
    assert last["steps"] > first["steps"] > 0
    assert torch.equal(resumed[-1].state["memory"]["agents"][1]["team"]["network"], last["network"])


class QuickFedDdrl(FedDdrl):
    """Learns from three transitions on."""

    def vdns(self, episode_rounds=15):
        vdns = super().vdns(episode_rounds)
        return [type(vdn)(sizes=vdn.sizes, batch_size=3, epsilon_rounds=7) for vdn in vdns]


@pytest.mark.parametrize("alpha", [None, 0.4])
@pytest.mark.parametrize("method", [FedAvg(), FedProx()])
def test_an_episode_starts_from_w_0(method, alpha):
    """Episode 2 of 2 rounds is what the method does from w_0 in rounds 3 and 4."""
    task = world(mixup_alpha=alpha, rounds=4, episode_rounds=2)
    results = [*rounds(task, method)]
    other, _ = run(task, method, replace(method.init(task), round=2), 2, start=3)
    assert all(torch.equal(results[-1].state["params"][n], other.params[n]) for n in other.params)
    assert [result.rows[0][0].get("episode") for result in results] == [None, 1, 1, 2, 2]


def test_latency_of_a_round_without_agents_by_hand():
    """Everybody trains 5 epochs on 12 samples, and uploads."""
    task = world(device_costs=True)
    _, (average,) = run(task, method_of(task.runs), FedAvg().init(task), 1)
    for r, seed in enumerate(task.seeds):
        own, clients = draw_devices(seed, 6), average.clients[r]
        train, upload = 60 * own.compute_seconds[clients], own.upload_seconds[clients]
        assert average.columns["latency_seconds"][r] == (train + upload).max()
        assert average.columns["latency_share"][r] == (train + upload).max() / (5 * 0.75 * 12 + 2)
        assert average.columns["uploads"][r] == 4
    assert "uploads" not in run(task, FedAvg(), FedAvg().init(task), 1)[1][0].columns


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [("fedavg", {"local_steps": 2}, "local_steps=2 given"), ("fedsgd", {}, "device_costs=true given")],
)
def test_costs_of_other_work_than_whole_epochs_are_refused(method, given, words):
    """The devices' times are those of E epochs, which neither a limit of steps nor FedSGD's one step has."""
    task = world(device_costs=True, method=method, **given)
    with pytest.raises(UsageError, match=words):
        method_of(task.runs).check(task.run)


def test_costs_that_a_method_reports_itself_stay():
    task, method = world(), RandomDrop(keep_share=0.5)
    _, (bare,) = run(task, method, method.init(task), 1)
    _, (wrapped,) = run(task, DeviceCosts(method), method.init(task), 1)
    assert wrapped.columns == bare.columns
    assert wrapped.columns["uploads"] == [2, 2]


def test_b_of_fedavgs_own_traces():
    """b = 0.3 (w2 B + w3 mean of H): B = 1, H as FedAvg's rows have it over the first episode (A10)."""
    task = world(local_epochs=5, rounds=3)
    _, reports = run(task, DeviceCosts(FedAvg()), FedAvg().init(task), 3)
    latency = np.mean([report.columns["latency_share"] for report in reports], axis=0)
    method = FedDdrl(episodes=0)
    _, (report,) = run(task, method, method.init(task), 1)
    np.testing.assert_allclose(report.columns["bias"], 0.3 * (0.1 + 0.2 * latency), rtol=1e-12)


def test_h_by_the_cohorts_sum_by_hand():
    """20 images, 5 epochs: 26, 77 and 51.25 s. FedAvg's H is 77 / 154.25; by its largest value 77 / 77."""
    own = devices.Devices(np.array([0.25, 0.75, 0.50]), np.array([1.0, 2.0, 1.25]))
    rows, sizes = np.arange(3)[None], np.full((1, 3), 20)
    there = DeviceEnvironment(own, rows, sizes, rows, np.array([[20]]), own.probing_seconds(rows, sizes))
    latency = devices.round_latency(own, rows, sizes, 5, np.ones((1, 3), dtype=bool))
    assert (latency / there.latency_unit("largest", 5)).tolist() == [1.0]
    assert (latency / there.latency_unit("cohort", 5)).tolist() == pytest.approx([77 / 154.25])


def test_rewards_and_b_in_the_cohorts_unit():
    """Everybody kept for E epochs: H is FedAvg's latency over the sum of all, and so is the H in b."""
    task, method = world(rounds=1), FedDdrl(episodes=0, latency_unit="cohort")
    state = always(method, method.init(task), 1, 1)
    _, (report,) = run(task, method, state, 1)
    for r, seed in enumerate(task.seeds):
        own, clients = draw_devices(seed, 6), report.clients[r]
        seconds = 60 * own.compute_seconds[clients] + own.upload_seconds[clients]
        assert report.columns["latency_share"][r] == pytest.approx(seconds.max() / seconds.sum())
        assert report.columns["bias"][r] == pytest.approx(
            0.3 * (0.1 + 0.2 * report.columns["latency_share"][r])
        )


@pytest.mark.parametrize("rule", ["random", "fastest"])
def test_a_control_keeps_as_many_as_its_agent(rule):
    """The same untrained agent in the same first round: its number of clients, another choice."""
    task = world(seeds=tuple(range(6)))
    found = {}
    for deployed in ("agent", rule):
        method = FedDdrl(episodes=0, deployed=deployed)
        state = method.init(task)
        _, (report,) = run(task, method, state, 1)
        found[deployed] = report.columns
    assert found["agent"]["uploads"] == found[rule]["uploads"]
    assert min(found["agent"]["uploads"]) < 4, "somebody is dropped"
    assert found["agent"]["kept"] != found[rule]["kept"]
    if rule == "fastest":
        for kept, seconds in zip(found[rule]["kept"], found[rule]["probing_seconds"], strict=True):
            kept, seconds = np.array(json.loads(kept), dtype=bool), np.array(json.loads(seconds))
            assert kept.all() or seconds[kept].max() <= seconds[~kept].min()


def test_agents_are_numbered_and_the_first_is_the_old_one():
    """Agent 0 has the streams of before; agent 1 other networks on the same partition."""
    task = world()
    first, same, other = (
        FedDdrl(episodes=0, **given).init(task).memory["agents"][0]["team"]["network"]
        for given in ({}, {"agent": 0}, {"agent": 1})
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    for bad, words in (({"agent": -1}, "agent=-1 given"), ({"deployed": "best"}, "unknown deployed 'best'")):
        with pytest.raises(UsageError, match=words):
            FedDdrl(**bad)


def test_rules_by_hand():
    """Four clients, ranks of their probing latency 2, 0, 3, 1: whom each rule keeps, and for how long."""
    slow, rng = np.array([2, 0, 3, 1]), np.random.default_rng(0)
    kept, epochs = DropSlowest(keep_share=0.5).decide(slow, rng)
    assert (kept.tolist(), epochs) == ([False, True, False, True], 0)
    kept, epochs = FewestEpochs().decide(slow, rng)
    assert kept.all()
    assert epochs.tolist() == [5, 7, 3, 7]
    rule = RandomDrop(keep_share=0.5)
    drawn = np.array([rule.decide(slow, rng)[0] for _ in range(2000)])
    assert set(drawn.sum(axis=1)) == {2}
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=0.05)
    assert RandomDrop(keep_share=0.1).decide(slow, rng)[0].sum() == 2  # never fewer (A25)


def test_a_rule_that_keeps_everyone_is_fedavg_bit_for_bit():
    task = world()
    average, _ = run(task, FedAvg(), FedAvg().init(task), 2)
    rule = RandomDrop()
    state, reports = run(task, rule, rule.init(task), 2)
    assert all(torch.equal(state.params[n], average.params[n]) for n in average.params)
    assert {"reward_1", "reward_2", "latency_seconds"} <= set(reports[0].columns)


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match=r"keep_share=1.5 given; allowed: above 0, at most 1"):
        DropSlowest(keep_share=1.5)
    with pytest.raises(UsageError, match="unknown option of method 'random_drop' 'episodes'"):
        make_method("random_drop", {"episodes": 3})
    with pytest.raises(UsageError, match=r"w2=-0\.1 given; allowed: 0 or more"):
        FedDdrl(w2=-0.1)
    with pytest.raises(UsageError, match="FedDdrl: w1=null given; allowed: a number"):
        FedDdrl(w1=None)
    with pytest.raises(UsageError, match=r"bias=-1 given; allowed: 0 or more, or None for 0.3 of the mean"):
        FedMarl(bias=-1)
    with pytest.raises(UsageError, match="cohort_size=1 given; allowed: 2 or more clients selected"):
        FedDdrl().init(world(cohort_size=1))
    with pytest.raises(UsageError, match="local_steps=2 given; allowed: null"):
        FewestEpochs().check(world(local_steps=2).run)
    task = world(mixup_alpha=0.4)
    task.train.labels[12:24] = 0
    with pytest.raises(UsageError, match="client 1 has no minority labels"):
        run(task, FedAvg(), FedAvg().init(task), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episode_rounds": 0}, "episode_rounds=0 given; allowed: 1 or more"),
        ({"episode_rounds": 4, "rounds": 9}, "rounds=9 given for episodes of episode_rounds=4; allowed: mul"),
        ({"mixup_alpha": 1.5}, "alpha=1.5 given for Balanced-MixUp; allowed: above 0, at most"),
        ({"local_steps": 0}, "local_steps=0 given; allowed: 1 or more, or null for E epochs"),
    ],
)
def test_a_setting_that_does_not_exist_is_one_line(changes, message):
    with pytest.raises(UsageError, match=message):
        check_setting(world(**changes).run)


@pytest.mark.parametrize("name", ["fedrod", "feddisk", "singleset"])
def test_methods_with_a_loss_of_their_own_refuse_balanced_mixup(name):
    with pytest.raises(UsageError, match=rf"mixup_alpha=0.4 given for method '{name}'; allowed: null"):
        make_method(name).check(world(mixup_alpha=0.4).run)


def test_no_column_of_a_row_has_the_name_of_a_runs_field():
    """The description of a run stands beside its rows; equal names would hide what the round reports."""
    task, method = world(), FedDdrl(episodes=0)
    _, (report,) = run(task, method, method.init(task), 1)
    assert not set(report.columns) & set(task.run.describe())


def test_permuted_rewards_teach_other_agents_and_stay_as_earned_in_the_memory():
    """In one episode of 40 rounds the first 32 transitions are the same, as nobody has learned before."""
    task = world(episode_rounds=40, rounds=40)
    own, permuted = (
        next(
            result.state["memory"]["agents"][0]
            for result in rounds(task, FedDdrl(episodes=1, bias=0.1, reward_order=order))
            if result.round == 0
        )
        for order in ("own", "permuted")
    )
    before = slice(0, 32)
    for name in ("states", "actions", "rewards"):
        assert torch.equal(own["memory"][name][:, before], permuted["memory"][name][:, before]), name
    assert not torch.equal(own["team"]["network"], permuted["team"]["network"])


def test_learning_on_permuted_rewards_by_hand():
    """Each transition keeps its state and action, and gets the reward of one of the others."""
    task, rewards = world(), torch.arange(10.0).repeat(2, 1)
    memory = Transitions.empty(2, 4, 10)
    for n in range(10):
        zeros = torch.zeros(2, 4, 10)
        actions = torch.zeros(2, 4, dtype=torch.int64)
        memory = memory.add(zeros + n, actions, rewards[:, n], zeros, done=False, capacity=300)
    assert FedDdrl()._experience(task, memory, ("replay", 1)) is memory
    seen = FedDdrl(reward_order="permuted")._experience(task, memory, ("replay", 1))
    assert torch.equal(seen.rewards.sort(dim=1).values, rewards)
    assert not torch.equal(seen.rewards, rewards)
    assert seen.states is memory.states


def played(task, **options):
    return list(rounds(task, FedDdrl(episodes=2, bias=0.1, **options)))


@pytest.mark.parametrize("rule", ["random", "fastest"])
def test_agents_deployed_by_another_rule_are_trained_once(rule):
    """The rows are those of agents trained for this rule alone."""
    task = world(episode_rounds=5, rounds=5)
    alone = played(task, deployed=rule)
    assert [result.round for result in alone] == [*range(-10, 6)]
    forget()
    learning = played(task)
    after = played(task, deployed=rule)
    assert [result.round for result in after] == [*range(6)]
    assert after[0].rows[0][0]["training_reward_1"] == learning[10].rows[0][0]["training_reward_1"]
    assert [result.rows for result in after] == [result.rows for result in alone[10:]]
    assert after[-1].rows != learning[-1].rows


def test_what_decides_the_agents_is_not_taken_from_other_runs():
    settings = {"episode_rounds": 5, "rounds": 5}
    assert played(world(**settings))[0].round == -10
    assert played(world(**{**settings, "rounds": 10}))[0].round == 0
    for changes in ({"seeds": (1, 0)}, {"local_learning_rate": 0.02}, {"episode_rounds": 6, "rounds": 6}):
        assert played(world(**{**settings, **changes}))[0].round < 0, changes
    for options in ({"w1": 1.0}, {"agent": 1}, {"latency_unit": "cohort"}, {"reward_order": "permuted"}):
        assert played(world(**settings), **options)[0].round == -10, options
    assert next(rounds(world(**settings), FedMarl(episodes=2, bias=0.1))).round == -10


def test_device_costs_have_the_weights_of_their_method():
    assert DeviceCosts(FedAvg()).weights_sum_to_1
    assert not DeviceCosts(make_method("fedlaw")).weights_sum_to_1


def test_device_costs_pass_on_every_part_of_the_protocol():
    protocol = {name for name in vars(Method) if not name.startswith("_")}
    assert {"apply", "evaluated", "client_models"} <= protocol <= set(vars(DeviceCosts))
