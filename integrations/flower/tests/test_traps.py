"""What goes wrong with Flower in silence: node ids, the order of replies, missing nodes, failed clients."""

import pytest
import torch
from fedlib_flower.client_app import Client, make_client_app
from fedlib_flower.in_process import InProcessGrid
from fedlib_flower.strategy import EvaluatorFL, FedDRL, PartitionedFedAvg, SchedulerFL, weighted_arrays
from flwr.app import ArrayRecord, ConfigRecord, Error, Message
from torch import nn

from fedlib.errors import UsageError
from fedlib.methods.frl.evaluatorfl import EvaluatorFL as EvaluatorMethod
from fedlib.methods.frl.schedulerfl import SchedulerFL as SchedulerMethod


def load(context):
    """Partition k has k + 1 samples and a network of its own user's making."""
    partition = context.node_config["partition-id"]
    torch.manual_seed(partition)
    return Client(nn.Linear(4, 3), torch.randn(partition + 1, 4), torch.arange(partition + 1) % 3)


def start(strategy, grid, rounds=1):
    torch.manual_seed(9)
    return strategy.start(grid, ArrayRecord(nn.Linear(4, 3).state_dict()), num_rounds=rounds)


def test_weights_follow_partitions_whatever_the_nodes_are_called():
    strategy = PartitionedFedAvg(4)
    grid = InProcessGrid(make_client_app(load), 4)
    result = start(strategy, grid)
    assert sorted(grid.contexts) != list(grid.contexts)  # node ids are in another order than partitions
    assert result.train_metrics_clientapp[1]["weights"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert {k: grid.contexts[node].node_config["partition-id"] for k, node in strategy.nodes.items()} == {
        k: k for k in range(4)
    }


def test_any_pytorch_model_learns_with_feddrl():
    strategy = FedDRL(5, cohort_size=3)
    result = start(strategy, InProcessGrid(make_client_app(load), 5), rounds=4)
    weights = [result.train_metrics_clientapp[t]["weights"] for t in range(1, 5)]
    assert all(len(one) == 3 and sum(one) == pytest.approx(1) for one in weights)
    assert len(strategy.state.replay) == 3


def test_a_failed_client_leaves_model_and_agent_as_they_were():
    app = make_client_app(load)

    def sometimes(message, context):
        fails = context.node_config["partition-id"] == 2 and message.metadata.message_type == "train"
        return Message(Error(code=0, reason="killed"), reply_to=message) if fails else app(message, context)

    strategy = FedDRL(4)
    state = strategy.state
    grid = InProcessGrid(sometimes, 4)
    messages = strategy.configure_train(1, ArrayRecord(nn.Linear(4, 3).state_dict()), ConfigRecord(), grid)
    assert strategy.aggregate_train(1, grid.send_and_receive(messages)) == (None, None)
    assert strategy.state is state


def test_the_scheduler_starts_at_the_first_round_that_succeeds():
    """Before it nobody's times are known, and workers not heard from get guesses, not 0 s."""
    app, failing = make_client_app(load), {1}

    def first_fails(message, context):
        train = message.metadata.message_type == "train"
        if train and message.content["config"]["server-round"] in failing:
            return Message(Error(code=0, reason="killed"), reply_to=message)
        return app(message, context)

    strategy = SchedulerFL(6, SchedulerMethod(share=0.5, stop_below=None, experiments=1))
    grid, arrays = InProcessGrid(first_fails, 6), ArrayRecord(nn.Linear(4, 3).state_dict())
    for server_round in (1, 2):
        assert not strategy.times_known
        messages = strategy.configure_train(server_round, arrays, ConfigRecord(), grid)
        drawn = strategy.rule.first_round(6, strategy.stream("select", server_round))
        assert strategy.cohort == drawn.nonzero()[0].tolist()
        assert 0 < len(strategy.cohort) < 6
        found, _ = strategy.aggregate_train(server_round, grid.send_and_receive(messages))
        assert (found is None) == (server_round == 1)
    assert (strategy.known.sum(axis=1) > 0).all()


def test_a_run_waits_for_all_nodes(monkeypatch):
    grid = InProcessGrid(make_client_app(load), 3)
    everyone = list(grid.contexts)
    seen = iter([everyone[:1], everyone[:2], everyone, everyone])
    monkeypatch.setattr(grid, "get_node_ids", lambda: next(seen))
    monkeypatch.setattr("flwr.serverapp.strategy.strategy_utils.sleep", lambda seconds: None)
    strategy = PartitionedFedAvg(3)
    strategy.connect(grid)
    assert strategy.sizes.tolist() == [1, 2, 3]


def test_two_nodes_with_one_partition_are_refused():
    grid = InProcessGrid(make_client_app(load), 3)
    for context in grid.contexts.values():
        context.node_config["partition-id"] = min(context.node_config["partition-id"], 1)
    with pytest.raises(UsageError, match=r"partitions \[0, 1\] connected; allowed: 0 to 2"):
        PartitionedFedAvg(3).connect(grid)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PartitionedFedAvg(3, cohort_size=4), "cohort_size=4 given; allowed: 1 to 3"),
        (lambda: EvaluatorFL(3, cohort_size=2), "all workers train"),
        (lambda: EvaluatorFL(3, EvaluatorMethod(approach=2)), "approach=2 given"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_counts_are_averaged_as_counts():
    """BatchNorm's batch counts are integers; they stay so."""
    models = [ArrayRecord({"n": torch.tensor(count)}) for count in (2, 4)]
    (found,) = weighted_arrays(models, torch.tensor([0.5, 0.5])).to_torch_state_dict().values()
    assert found.dtype == torch.int64
    assert int(found) == 3
