"""A round of FedDRL: local training, the agent's decision, aggregation (Algorithm 2, lines 6 to 22).

The agent's updates of the round before run in a side thread while the cohort trains (sec. 3.4.1), where a
core is free. The decision waits for them, so the numbers are those of one thread.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedlib.engine import Trained, evaluate_clients, evaluate_lanes
from fedlib.engine.batches import on_device
from fedlib.engine.hardware.device import to_host
from fedlib.federation import Cohort, RoundReport, ServerState, Task, finish_round, train_cohort
from fedlib.federation.aggregate import LOSS_BYTES
from fedlib.federation.client_updates import method_streams
from fedlib.methods.feddrl.agent import AgentState, AggregationAgent
from fedlib.processors import cores

REPORT_BYTES = 2 * LOSS_BYTES  # l_b and l_a of a client


def play_round(
    agent: AggregationAgent, task: Task, state: ServerState, cohort: Cohort
) -> tuple[ServerState, RoundReport]:
    """The state after one round whose impact factors `agent` chose; its own state is `memory["learner"]`."""

    def streams(name: str, number: int = cohort.round) -> list[np.random.Generator]:
        return method_streams(task, name, number)

    learner = AgentState.unpack(state.memory["learner"])
    learn = partial(agent.learn, learner, streams("replay", cohort.round - 1))
    with ThreadPoolExecutor(1) as side_thread:  # lines 19 to 22 of the round before
        learning = side_thread.submit(learn) if core_is_free(task) else None
        before = losses_before(task, state, cohort)  # line 7
        trained = train_cohort(task, state, cohort)  # lines 8 to 10
        after = losses_after(task, trained, cohort)  # line 11
        before, after = to_host([before, after])  # together, once all is launched
        learner, critic_loss = learning.result() if learning else learn()
    sizes = torch.from_numpy(task.sizes(cohort.clients))
    learner, factors, columns = agent.decide(learner, before, after, sizes, streams)
    columns["critic_loss"] = [None] * len(factors) if critic_loss is None else critic_loss.tolist()
    weights = on_device(factors.numpy(), task.device)
    state, report = finish_round(task, state, cohort, trained, weights, learner=learner.pack())  # line 16
    sent = report.uplink_bytes + REPORT_BYTES * task.cohort_size
    failed = find_failures(cohort, before, after)
    return state, replace(report, uplink_bytes=sent, columns=columns, failed=failed)


def core_is_free(task: Task) -> bool:
    """Whether a side thread has a core to itself while clients train."""
    return task.device.type != "cpu" or torch.get_num_threads() < cores()


def losses_before(task: Task, state: ServerState, cohort: Cohort) -> Tensor:
    """l_b [R, K]: mean cross-entropy of w^t on each client's training data (FEDDRL-A4), on the device."""
    indices = task.train_index(cohort.clients)
    results = evaluate_clients(task.trainer, task.train, state.params, state.buffers, indices)
    return torch.stack([result.loss for result in results])


def losses_after(task: Task, trained: Trained, cohort: Cohort) -> Tensor:
    """l_a [R, K]: the same of each client's own model w_k^t."""
    indices = [task.clients[r][k] for r, k in zip(cohort.replica, cohort.client, strict=True)]
    local = trained.state
    result = evaluate_lanes(task.trainer, task.train, local.params, local.buffers, indices)
    return result.loss.view(cohort.clients.shape)


def find_failures(cohort: Cohort, before: Tensor, after: Tensor) -> dict[int, str]:
    """Replica -> the first of its clients' losses that is not finite."""
    failed = {}
    for name, losses in (("l_a", after), ("l_b", before)):
        for r, slot in torch.nonzero(~losses.isfinite()).flip(0).tolist():
            client, value = cohort.clients[r, slot], float(losses[r, slot])
            failed[r] = f"failed: {name} of client {client} is {value} in round {cohort.round}"
    return failed
