"""Trained agents: out of a run, into a file, and into a fresh federation."""

import json
from dataclasses import replace

import pytest
import torch

import fedlib
from fedlib.errors import DataError, UsageError
from fedlib.experiments.agents import FORMAT, load_agent, save_agent, train_agent
from fedlib.methods.trained_agents import LEARNED, extract, insert
from fedlib.paths import agents_folder
from fedlib.run import Run

OPTIONS = {
    "feddrl": {"mode": "online", "batch_size": 1},
    "fedddrl": {"episodes": 1, "bias": 0.0},
    "fedmarl": {"episodes": 1},
    "evaluatorfl": {},
    "schedulerfl": {"share": 0.5, "stop_below": None, "experiments": 2, "experiment_rounds": 3},
}
TWO_STAGE = {"worker_rounds": 2, "offline_passes": 1}
DECIDED = {  # the column that tells what the agent decided
    "feddrl": "weights",
    "fedddrl": "epochs",
    "fedmarl": "kept",
    "evaluatorfl": "weights",
    "schedulerfl": "expected_selected",
}


def run_of(method: str, clients: int = 4, seed: int = 0) -> Run:
    return Run(
        paper="start", artifact="agents", profile="smoke", dataset="fmnist-embedded", partition="iid",
        model="mlp", method=method, method_options=OPTIONS[method], num_clients=clients, rounds=4, seed=seed,
        client_eval="none",
        episode_rounds=2,
        dataset_options={"train_per_class": 8, "test_per_class": 10, "server_share": 0.2},
    )  # fmt: skip


@pytest.mark.parametrize(("method", "options"), [*OPTIONS.items(), ("feddrl", TWO_STAGE)])
def test_an_agent_comes_back_from_its_file_and_plays(tmp_path, method, options):
    agent = train_agent(replace(run_of(method), method_options=options))
    save_agent(agent, tmp_path / "agent.pt")
    found = load_agent(method, tmp_path / "agent.pt")
    assert found.run == agent.run
    torch.testing.assert_close(found.networks, agent.networks, rtol=0, atol=0)
    assert found.provenance["dataset"]["name"] == "fmnist-embedded"
    assert found.provenance["versions"]["torch"] == torch.__version__
    turned = replace(agent, networks={path: -3 * network for path, network in agent.networks.items()})
    played = [one.play(seed=5, rounds=2) for one in (found, agent, turned)]
    assert [row["round"] for row in played[0]] == [0, 1, 2]
    decided = [rows[-1][DECIDED[method]] for rows in played]  # SchedulerFL's first choice is at random
    assert decided[0] == decided[1]
    assert decided[0] != decided[2]


def test_the_trained_policy_decides_and_not_a_fresh_one():
    agent = train_agent(run_of("feddrl"))
    louder = {path: 10 * network for path, network in agent.networks.items()}
    rows = [type(agent)(agent.run, networks, {}).play()[1] for networks in (agent.networks, louder)]
    weights = [json.loads(row["weights"]) for row in rows]
    assert weights[0] != weights[1]
    assert agent.play()[1]["weights"] == rows[0]["weights"]


def test_another_data_set_is_taken_whole():
    """An agent trained on 500 test images a class plays on a set that has 100 of each."""
    agent = train_agent(run_of("feddrl"))
    own = replace(
        agent.run, dataset="fmnist", dataset_options={"train_per_class": 900, "test_per_class": 500}
    )
    moved = replace(agent, run=own).play(dataset="fmnist-embedded")
    assert moved == agent.play(dataset_options={})


def test_one_replicas_network_goes_into_all_of_another_state():
    memory = {"agents": [{"team": {"network": torch.arange(6.0).view(2, 3)}}], "round": 3}
    network = extract("fedmarl", memory, replica=1)["agents.0.team.network"]
    assert network.tolist() == [3.0, 4.0, 5.0]
    changed = insert(memory, {"agents.0.team.network": network})
    assert changed["agents"][0]["team"]["network"].tolist() == [[3.0, 4.0, 5.0]] * 2
    assert changed["round"] == 3
    assert memory["agents"][0]["team"]["network"][0, 0] == 0  # the given state is unchanged


def test_an_agent_decides_only_on_as_many_clients_as_it_was_trained_with():
    agent = train_agent(run_of("feddrl"))
    with pytest.raises(UsageError, match="for as many clients as the agent was trained with"):
        agent.play(num_clients=5)
    with pytest.raises(UsageError, match="unknown field of a run 'sead'"):
        agent.play(sead=3)
    with pytest.raises(UsageError, match="unknown field of a run 'method'"):
        agent.play(method="fedavg")
    with pytest.raises(UsageError, match="unknown field of a run 'episode_rounds'"):
        agent.play(episode_rounds=3)


def test_options_without_an_agent_are_one_line():
    run = run_of("schedulerfl")
    with pytest.raises(UsageError, match="no agent decides with these options of method 'schedulerfl'"):
        train_agent(replace(run, method_options={**run.method_options, "policy": "random"}))


@pytest.mark.parametrize("options", [OPTIONS["feddrl"], TWO_STAGE])
def test_a_run_that_fails_makes_no_agent(options):
    run = replace(run_of("feddrl"), method_options=options, local_learning_rate=1e20)
    with pytest.raises(UsageError, match=r"agent of 'feddrl' failed: l_a of client 0 is nan .*; allowed: "):
        train_agent(run)


def stored(tmp_path, **changes):
    path = tmp_path / "agent.pt"
    save_agent(train_agent(run_of("schedulerfl")), path)
    torch.save(torch.load(path, weights_only=True) | changes, path)
    return path


def test_a_newer_format_is_refused_with_the_version_that_wrote_it(tmp_path):
    path = stored(tmp_path, format=FORMAT + 1)
    with pytest.raises(DataError, match=rf"written by fedlib {fedlib.__version__} in format {FORMAT + 1}"):
        load_agent("schedulerfl", path)


def test_another_methods_agent_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds an agent of 'schedulerfl'; asked for: 'feddrl'"):
        load_agent("feddrl", stored(tmp_path))


def test_a_damaged_or_absent_file_is_one_clear_line(tmp_path):
    (tmp_path / "agent.pt").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(DataError, match="is damaged; `python -m fedlib agents feddrl`"):
        load_agent("feddrl", tmp_path / "agent.pt")
    path = stored(tmp_path)
    whole = path.read_bytes()
    for damaged in (b"hi", whole[: len(whole) // 3]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="is damaged; `python -m fedlib agents schedulerfl`"):
            load_agent("schedulerfl", path)
    for other in ({"weight": torch.zeros(2)}, [1], {"provenance": {}}):
        torch.save(other, path)
        with pytest.raises(DataError, match="is no file of a trained agent; `python -m fedlib agents sched"):
            load_agent("schedulerfl", path)
    with pytest.raises(DataError, match="no trained agent"):
        load_agent("feddrl", tmp_path / "absent.pt")
    with pytest.raises(UsageError, match="unknown method with an agent 'fedavg'"):
        load_agent("fedavg")


def test_an_agent_whose_run_has_other_fields_names_the_version_that_wrote_it(tmp_path):
    path = stored(tmp_path, run={"of": "another version"})
    with pytest.raises(DataError, match=f"was written by fedlib {fedlib.__version__}, whose runs have other"):
        load_agent("schedulerfl", path)


def test_an_agent_with_other_networks_names_the_version_that_wrote_it(tmp_path):
    path = stored(tmp_path, networks={"policy": torch.zeros(3)})
    with pytest.raises(DataError, match="whose schedulerfl has other networks"):
        load_agent("schedulerfl", path)


@pytest.mark.parametrize("method", LEARNED)
def test_every_learned_methods_agent_is_committed_with_its_provenance(method):
    agent = fedlib.load_agent(method)
    assert (agents_folder() / f"{method}.pt").stat().st_size < 1_000_000
    assert agent.provenance["commit"]
    assert not agent.provenance["stand_in"]
    assert all(network.isfinite().all() for network in agent.networks.values())
