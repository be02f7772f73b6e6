"""SingleSet: one model trained on the union of the clients' data, the papers' upper reference.

FedDRL sec. 4.1; FEDDRL-A35: same model, learning rate and batch size as the clients. A round
is one epoch over the union; nothing is sent. The optimiser's state carries over from epoch
to epoch, since nothing is downloaded in between.
"""

from dataclasses import dataclass

import numpy as np
import torch

from fedlib.engine import LocalState, make_work, stream_keys, train
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, refuse_mixup
from fedlib.federation.client_updates import broadcast, initial_state
from fedlib.run import Run


@dataclass(frozen=True)
class SingleSet(Method):
    """Centralised training, one epoch a round, whatever the run's `local_epochs`."""

    def check(self, run: Run) -> None:
        refuse_mixup("singleset", run)
        check(
            not run.device_costs,
            "device_costs=true given for method 'singleset'; allowed: false (no client trains)",
        )
        check(
            run.local_steps is None,
            f"local_steps={run.local_steps} given for method 'singleset'; allowed: null (whole epochs)",
        )

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        state = initial_state(task)
        local = task.trainer.start(state.params, state.buffers)
        return ServerState(
            0, state.params, state.buffers, {"optimizer": local.optimizer, "steps": local.steps}
        )

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        replicas = np.arange(len(task.runs))
        work = make_work(
            [np.unique(np.concatenate(lists)) for lists in task.clients],
            replica=replicas,
            client=np.zeros_like(replicas),
            key=stream_keys(task.seeds, cohort.round, np.zeros_like(replicas)),
            epochs=1,
            learning_rate=task.run.local_learning_rate,
            order=task.run.sample_order,
            device=task.device,
        )
        own = broadcast(state.params, work.replica), broadcast(state.buffers, work.replica)
        memory = {slot: [t.clone() for t in tensors] for slot, tensors in state.memory["optimizer"].items()}
        local = LocalState(*own, memory, state.memory["steps"].clone())
        trained = train(task.trainer, task.train, local, work)
        after = trained.state
        report = RoundReport(
            clients=np.full((len(replicas), 1), -1),  # no client: the union of all
            weights=torch.ones(len(replicas), 1),
            train_loss=trained.loss.view(-1, 1),
            uplink_bytes=0,
            downlink_bytes=0,
        )
        return state.advance(
            after.params, after.buffers, optimizer=after.optimizer, steps=after.steps
        ), report
