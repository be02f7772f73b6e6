"""SchedulerFL: state, reward and times by hand, a world with known fast workers, controls, resume."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_world, through_a_file

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.federation import Cohort, rounds
from fedlib.methods import make_method
from fedlib.methods.baselines.fedavg import FedAvg
from fedlib.methods.fedddrl.device_costs import DeviceCosts
from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.methods.frl.scheduler_agent import Scheduler, World, to_probabilities, train_scheduler
from fedlib.methods.frl.schedulerfl import FIRST_TURN, SchedulerFL, participation_variance
from fedlib.methods.frl.workers import mean_workers
from fedlib.papers.frl.runs import DRAWS_STORED
from fedlib.papers.frl.static_times import EXPLORES, StaticWorld, on_one_line


def test_networks_have_the_reports_size():
    rule = Scheduler().ddpg(100)
    assert (rule.policy_network.parameters, rule.critic_network.parameters) == (84_452, 84_481)
    assert to_probabilities(torch.tensor([0.0, 20.0, -20.0])).tolist() == [0.5, 1.0, 0.0]


def test_normalisation_by_hand():
    """Times 1, 2, 3: z = -1, 0, 1, and over the norm sqrt(2): 0.7071; equal times tell nothing."""
    times = np.array([[1.0, 10.0, 5.0], [2.0, 20.0, 5.0], [3.0, 30.0, 5.0]])
    z = Scheduler().normalise(times)
    np.testing.assert_allclose(z, [[-1, -1, 0], [0, 0, 0], [1, 1, 0]])
    unit = Scheduler(normalisation="unit").normalise(times)
    np.testing.assert_allclose(unit, z / np.sqrt(2))
    assert np.linalg.norm(unit, axis=0) == pytest.approx([1, 1, 0])


def test_maximum_time_and_reward_by_hand():
    """Means over the columns -0.5, 0.2, 0.6 with chances 0.9, 0.8, 0.1: the maximum is 0.16; of the
    drawn first two it is 0.2. With nu = 0.3: 0.3 - 0.16, and printed -0.16 - 0.3."""
    state = np.array([[-0.5] * 3, [0.2] * 3, [0.6] * 3])
    chances, drawn = np.array([0.9, 0.8, 0.1]), np.array([True, True, False])
    assert Scheduler().maximum_time(state, chances, drawn) == pytest.approx(0.16)
    assert Scheduler(maximum="selected").maximum_time(state, chances, drawn) == pytest.approx(0.2)
    kinds = {"difference": 0.14, "printed": -0.46, "positive": 0.46}
    for kind, value in kinds.items():
        assert Scheduler(reward=kind).reward_of(0.16, 0.3) == pytest.approx(value)
    assert Scheduler(offset=1.0).reward_of(0.16, 0.3) == pytest.approx(1.14)


def test_first_times_of_those_who_did_not_take_part():
    times, took = np.array([[10.0, 1, 2], [20.0, 3, 4], [90.0, 9, 9]]), np.array([True, True, False])
    plain = Scheduler(first_times="mean").first_times_of(times, took, seeds.rng(0))
    np.testing.assert_allclose(plain, [[10, 1, 2], [20, 3, 4], [15, 2, 3]])
    jittered = Scheduler().first_times_of(times, took, seeds.rng(0))
    np.testing.assert_array_equal(jittered[:2], times[:2])
    ratio = jittered[2] / [15, 2, 3]
    assert ((ratio >= 0.9) & (ratio <= 1.1)).all()
    assert len(set(ratio)) == 3


def outcomes(options, workers, *, seeds_=(0,), **changes):
    """Of both sides: (world, training) in a world of constant times."""
    rule = Scheduler(**{**options, "stop_below": None, **changes})
    worlds = [StaticWorld(s, np.full(workers, 600), mirrored) for s in seeds_ for mirrored in (False, True)]
    return [(world, train_scheduler(rule, world)) for world in worlds]


def ahead(world, chances):
    return chances[~world.slow].mean() - chances[world.slow].mean()


@pytest.mark.parametrize("options", [EXPLORES, DRAWS_STORED], ids=["report's state and action", "ours"])
def test_finds_the_fast_workers_of_a_static_world(options):
    """Ten workers. With the report's own state, action and reward it takes what `EXPLORES` adds.

    How many of the fast ones it settles on depends on a processor's rounding; that rounds become shorter
    does not.
    """
    leads = []
    for world, training in outcomes(options, 10):
        chances = training.rounds[-1]["chances"]
        assert chances[world.slow].mean() < 0.1
        leads.append(ahead(world, chances))
        seconds = [row["max_seconds"] for row in training.rounds]
        assert np.mean(seconds[-50:]) < np.mean(seconds[:20]) - 25  # the noise still draws slow ones
    assert np.mean(leads) > 0.2


def test_the_reports_agent_does_not_find_them_and_why():
    """Ten workers, its printed settings: whoever is fast, the same workers end up probable.

    What its critic learns from varies in one direction, which cannot tell a worker from another; with
    noise on the action it varies in all.
    """
    found, ends = 0, []
    for world, training in outcomes({}, 10):
        chances = training.rounds[-1]["chances"]
        found += bool(chances[world.slow].max() < 0.1 < chances[~world.slow].mean())
        ends.append(ahead(world, chances))
        assert on_one_line(np.stack([row["action"] for row in training.rounds[:50]])) > 0.8
    assert found < len(ends)
    assert abs(np.mean(ends)) < 0.15
    for _, training in outcomes(EXPLORES, 10, experiments=3):
        assert on_one_line(np.stack([row["action"] for row in training.rounds[:50]])) < 0.35


def test_nor_does_it_among_a_hundred_where_its_training_stops():
    """FRL-A17 ends the training at fewer than ten: the fast ones are not ahead, in either reading of A12."""
    for options in ({}, {"normalisation": "unit"}):
        for world, training in outcomes(options, 100, stop_below=10):
            assert abs(ahead(world, training.rounds[-1]["chances"])) < 0.15


def test_on_one_line_by_hand():
    """Points on a line through (1, 2): all variance; a square's corners: half of it on either axis."""
    assert on_one_line(np.array([[0.0, 0], [1, 2], [2, 4]])) == pytest.approx(1)
    assert on_one_line(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])) == pytest.approx(0.5)
    assert on_one_line(np.ones((3, 2))) == 1


def test_noise_is_ddpgs_and_off_by_default():
    chances, rng = np.array([0.0, 0.5, 1.0]), np.random.default_rng(0)
    assert Scheduler().explore(chances, rng) is chances
    noisy = Scheduler(noise=0.3).explore(chances, np.random.default_rng(7))
    expected = np.clip(chances + 0.3 * np.random.default_rng(7).standard_normal(3), 0, 1)
    np.testing.assert_allclose(noisy, expected)
    rule = Scheduler(noise=0.3, experiments=1, stop_below=None)
    first = train_scheduler(rule, World(0, np.full(20, 600), rule)).rounds[0]
    assert not np.array_equal(first["action"], first["chances"])
    with pytest.raises(UsageError, match="noise=-1 given for SchedulerFL; allowed: 0 or more"):
        Scheduler(noise=-1)


@pytest.mark.parametrize(("offset", "end"), [(1.0, 1.0), (-1.0, 0.0)])
def test_rewards_of_one_sign_drive_all_probabilities_to_one_end(offset, end):
    rule = Scheduler(offset=offset, stop_below=None, experiments=6)
    training = train_scheduler(rule, World(0, np.full(40, 600), rule))
    assert abs(training.rounds[-1]["chances"].mean() - end) < 0.25
    assert abs(training.rounds[0]["chances"].mean() - 0.5) < 0.1


def test_training_stops_below_ten_and_keeps_the_agent_before():
    rule = Scheduler(offset=-1.0)
    world = World(0, np.full(100, 600), rule)
    training = train_scheduler(rule, world)
    assert all(row["selected"].sum() >= 10 for row in training.rounds)
    assert len(training.rounds) < 19 * 30
    last = training.rounds[-1]
    longer = train_scheduler(Scheduler(offset=-1.0, stop_below=None), world)
    after = longer.rounds[len(training.rounds)]
    assert after["selected"].sum() < 10
    assert (after["turn"], last["turn"]) == (last["turn"] + 1, last["turn"])
    assert not torch.equal(training.actor, training.agent.policy)


def test_rewards_of_an_experiment_telescope():
    """FRL-A11: the sum over an experiment is M_0 - M_T = -M_T."""
    rule = Scheduler(experiments=2, stop_below=None)
    rows = train_scheduler(rule, World(1, np.full(20, 600), rule)).rounds
    for experiment in (1, 2):
        own = [row for row in rows if row["experiment"] == experiment]
        assert sum(row["reward"] for row in own) == pytest.approx(-own[-1]["maximum"])


def test_experiments_of_a_hundred_workers_are_one_update_a_decision():
    """Times alone, no task model: 3 x 19 decisions, an update for each once more than ten are stored."""
    rule = Scheduler(stop_below=None, experiments=3)
    training = train_scheduler(rule, World(0, np.full(100, 600), rule))
    assert len(training.rounds) == 3 * 19
    assert training.agent.steps == 3 * 19 - 10


def test_expected_seconds_by_hand():
    """600 samples count 3,000: 46 batches, 138 in 3 epochs; 38.396 Mb over the means."""
    rule, means = Scheduler(), mean_workers(3, 4)
    expected = 138 * means.batch_seconds + 38.396224 * (1 / means.upload_mbps + 1 / means.download_mbps)
    np.testing.assert_allclose(World(3, np.full(4, 600), rule).expected_seconds(), expected)


def test_participation_variance_is_the_reports_table_1():
    assert participation_variance([4, 7, 9, 3]) == pytest.approx(7.583, abs=5e-4)
    assert participation_variance([[5, 7, 10, 3], [10, 10, 10, 10]]) == pytest.approx([8.917, 0], abs=5e-4)
    with pytest.raises(UsageError, match="1 worker given; a variance needs 2 or more"):
        participation_variance([3])


def world(**changes):
    settings = {"seeds": (0, 1), "sizes": (8, 12, 6, 10, 9, 7), "rounds": 4, "local_epochs": 1}
    return make_world(**{**settings, **changes})


QUICK = {"experiments": 1, "experiment_rounds": 14, "stop_below": None}


def test_everybody_is_fedavg_bit_for_bit():
    task = world(seeds=(0,))
    ours = list(rounds(task, SchedulerFL(policy="all")))
    theirs = list(rounds(task, FedAvg()))
    assert [r.rows[0][0]["test_loss"] for r in ours] == [r.rows[0][0]["test_loss"] for r in theirs]
    assert ours[-1].rows[0][0]["participation_variance"] == 0


def test_a_round_by_hand():
    """The fastest third of six workers, every round the same two; time and weights recomputed."""
    task, method = world(), SchedulerFL(policy="fastest", share=1 / 3)
    for result in list(rounds(task, method))[1:]:
        for r, (row,) in enumerate(result.rows):
            known = method.world(task, r)
            best = sorted(np.argsort(known.expected_seconds())[:2].tolist())
            assert json.loads(row["clients"]) == best
            sizes = task.sizes(np.array([best]))[0] if r == 0 else task.sizes(np.array([[0, 0], best]))[1]
            assert json.loads(row["weights"]) == pytest.approx((sizes / sizes.sum()).tolist(), abs=1e-6)
            seconds = known.times(FIRST_TURN + result.round).sum(axis=1)[best]
            assert row["max_seconds"] == seconds.max()
            assert row["selected"] == 2
            assert row["participation_variance"] == pytest.approx(result.round**2 * 4 / 15)


def test_controls_share_the_world_and_the_learned_rate():
    task = world()
    runs = {p: list(rounds(task, SchedulerFL(policy=p, **QUICK))) for p in ("agent", "shuffled", "random")}
    for first, second in zip(runs["agent"][1].rows, runs["random"][1].rows, strict=True):
        assert first[0]["clients"] == second[0]["clients"]  # round 1 is random for all
    agent, shuffled = (runs[p][2].rows[0][0] for p in ("agent", "shuffled"))
    assert agent["selected"] == shuffled["selected"]  # the same state in round 2, as many workers
    assert runs["agent"][0].rows[0][0]["training_rounds"] == 13


def test_the_untrained_policy_is_the_one_that_training_starts_from():
    """Its actor is that of an agent whose first decision ends the training; random numbers are shared."""
    task = world()
    plain = SchedulerFL(policy="untrained", **QUICK)
    start = plain.init(task).memory
    assert "training_rounds" not in start
    for r, actor in enumerate(start["actor"]):
        stopped = train_scheduler(replace(plain, stop_below=10**6), plain.world(task, r))
        assert not stopped.rounds
        assert torch.equal(actor, stopped.actor[0])
    trained = SchedulerFL(**QUICK).init(task).memory["actor"]
    assert not torch.equal(start["actor"], trained)
    rows = [list(rounds(task, SchedulerFL(policy=p, **QUICK)))[1].rows[0][0] for p in ("untrained", "agent")]
    assert rows[0]["clients"] == rows[1]["clients"]  # round 1 is random for all


def test_permuted_rewards_train_another_agent_in_the_same_world():
    """The first decisions are the same: nothing is learned before there are more than a batch."""
    rule = Scheduler(stop_below=None, experiments=2)
    own, permuted = (
        train_scheduler(replace(rule, reward_order=order), World(0, np.full(10, 600), rule))
        for order in ("own", "permuted")
    )
    first = rule.batch_size
    for mine, theirs in zip(own.rounds[:first], permuted.rounds[:first], strict=True):
        assert mine["reward"] == theirs["reward"]
    assert not torch.equal(own.agent.policy, permuted.agent.policy)


def test_resume_is_exact():
    task, method = world(), SchedulerFL(**QUICK)
    whole = list(rounds(task, method))
    resumed = list(rounds(task, method, through_a_file(whole[2].state)))
    assert [r.rows for r in resumed] == [r.rows for r in whole[3:]]


def test_nobody_selected_ends_an_experiment_and_fails_a_run():
    rule = Scheduler(offset=-1.0, stop_below=None, experiments=8)
    training = train_scheduler(rule, World(0, np.full(10, 600), rule))
    ended = [row for row in training.rounds if row["round"] < 20 and row is training.rounds[-1]]
    lengths = np.bincount([row["experiment"] for row in training.rounds], minlength=9)[1:]
    assert lengths.min() < 19 or ended
    task, method = world(seeds=(0,)), SchedulerFL(**QUICK)
    state = method.init(task)
    actor = torch.zeros_like(state.memory["actor"])
    actor[:, -6:] = -20.0  # probabilities of 0
    state.memory["actor"] = actor
    packed = {**vars(state), "failed": {}}
    results = list(rounds(task, method, packed))
    assert results[0].failed == {}
    assert results[1].failed == {0: "failed: no worker selected in round 2 (FRL-A18)"}
    assert len(results) == 2


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match="unknown reward of SchedulerFL 'max'; allowed: difference, printed"):
        Scheduler(reward="max")
    with pytest.raises(UsageError, match=r"share=0 given for SchedulerFL; allowed: above 0 to 1"):
        SchedulerFL(share=0)
    with pytest.raises(UsageError, match=r"actor_rate=-1 given for SchedulerFL; allowed: above 0"):
        SchedulerFL(actor_rate=-1)
    with pytest.raises(UsageError, match="discount=7 given for SchedulerFL; allowed: 0 to 1"):
        SchedulerFL(policy="random", discount=7)
    with pytest.raises(UsageError, match="critic_decay=-1 given for SchedulerFL; allowed: 0 or more"):
        Scheduler(critic_decay=-1)
    with pytest.raises(UsageError, match="unknown policy of SchedulerFL 'best'"):
        SchedulerFL(policy="best")
    with pytest.raises(UsageError, match="cohort_size=3 given; allowed: 6"):
        SchedulerFL().check(world(cohort_size=3).run)
    with pytest.raises(
        UsageError, match="client_eval='cohort' given for method 'schedulerfl'; allowed: none"
    ):
        SchedulerFL().check(world(client_eval="cohort").run)
    with pytest.raises(UsageError, match="stop_below=10 given for 6 workers; allowed: fewer than there are"):
        SchedulerFL().check(world().run)
    with pytest.raises(UsageError, match="worker 1 has 0 samples; allowed: 1 or more"):
        World(0, np.array([5, 0]), Scheduler()).times(1)


def test_fedddrls_devices_are_the_clock_of_both():
    """All workers selected: a round lasts as long as FedAvg's on the same devices, whatever its number."""
    run = {"rounds": 2, "seeds": (0, 1)}
    options = {"policy": "all", "devices": "fedddrl", "time_epochs": 2}
    scheduled = list(rounds(make_world(**run), make_method("schedulerfl", options)))
    averaged = list(rounds(make_world(**run), DeviceCosts(make_method("fedavg"))))
    for ours, theirs in zip(scheduled[1:], averaged[1:], strict=True):
        for own, other in zip(ours.rows, theirs.rows, strict=True):
            assert own[0]["latency_seconds"] == other[0]["latency_seconds"]
            assert own[0]["uploads"] == other[0]["uploads"] == 4


def test_a_runs_rows_do_not_depend_on_the_runs_beside_it():
    """With another number of workers selected in each."""
    options = {"policy": "shuffled", "stop_below": None, "experiments": 1, "experiment_rounds": 3}

    def rows(seeds):
        settings = {"rounds": 4, "client_eval": "none", "sizes": (9, 4, 7, 6, 8, 5, 3)}
        found = list(rounds(make_world(seeds=seeds, **settings), make_method("schedulerfl", options)))
        return [result.rows[0][0] for result in found]

    alone, together = rows((0,)), rows((0, 1, 2, 3))
    for one, other in zip(alone, together, strict=True):
        loss = one.pop("test_loss")  # its sum differs in the last bit on some machines
        assert other.pop("test_loss") == pytest.approx(loss, rel=1e-6)
    assert alone == together
    assert [len(json.loads(row["clients"])) for row in alone[1:]] == [row["selected"] for row in alone[1:]]
    weights = [json.loads(row["weights"]) for row in alone[1:]]
    assert [sum(own) for own in weights] == pytest.approx([1.0] * 4, abs=1e-5)


def test_device_costs_add_nothing_to_those_that_the_scheduler_reports():
    """Its clients include idle ones that fill up narrower selections: no column may count these."""
    task = make_world(rounds=2, seeds=(0, 1))
    method = make_method("schedulerfl", {"policy": "random", "devices": "fedddrl", "time_epochs": 2})
    _, plain = method.apply(task, method.init(task), Cohort(1, task.everyone()))
    _, costed = DeviceCosts(method).apply(task, method.init(task), Cohort(1, task.everyone()))
    assert costed.columns == plain.columns
    assert "latency_share" not in costed.columns


def test_no_second_devices_beside_the_reports_workers():
    task = make_world(rounds=2, device_costs=True, local_epochs=3)
    make_method("schedulerfl", {"devices": "fedddrl", "policy": "random"}).check(task.run)
    with pytest.raises(UsageError, match=r'devices="report" given .*; allowed: devices="fedddrl"'):
        make_method("schedulerfl", {"devices": "report", "policy": "random"}).check(task.run)


def test_device_costs_are_of_the_epochs_that_are_trained():
    """Else its rounds would be shorter or longer than those of other methods on the same devices."""
    method = make_method("schedulerfl", {"devices": "fedddrl", "policy": "random", "time_epochs": 2})
    method.check(make_world(rounds=2, device_costs=True, local_epochs=2).run)
    method.check(make_world(rounds=2, local_epochs=4).run)
    with pytest.raises(UsageError, match=r"time_epochs=2 given .*; allowed: time_epochs=4, the local_epochs"):
        method.check(make_world(rounds=2, device_costs=True, local_epochs=4).run)


def test_times_of_fedddrls_devices_by_hand():
    """Seconds per sample times samples times epochs, seconds of the upload, none for the download."""
    sizes = np.array([10, 20, 30])
    world = World(3, sizes, Scheduler(devices="fedddrl", time_epochs=5))
    devices = draw_devices(3, 3)
    expected = np.stack([devices.compute_seconds * sizes * 5, devices.upload_seconds, np.zeros(3)], axis=1)
    np.testing.assert_allclose(world.times(1), expected)
    np.testing.assert_allclose(world.times(9), expected)
    np.testing.assert_allclose(world.expected_seconds(), expected.sum(axis=1))


def test_costs_are_those_of_the_clients_that_a_method_chose():
    task = make_world(cohort_size=2, rounds=1)
    method = DeviceCosts(make_method("power_of_choice", {"candidates": 4}))
    _, report = method.apply(task, method.init(task), Cohort(1, np.array([[0, 1]])))
    devices, chosen = draw_devices(0, 4), report.clients[0]
    training = devices.compute_seconds[chosen] * task.sizes(report.clients)[0] * task.run.local_epochs
    assert report.columns["latency_seconds"] == [(training + devices.upload_seconds[chosen]).max()]
    assert set(chosen) != {0, 1}  # else the test shows nothing
