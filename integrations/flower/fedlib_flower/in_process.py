"""A grid in one process: nodes are calls of a client app, so that an app runs without Ray or a network.

Node ids are random numbers and replies come in random order, as on a real grid. An exception of the app
ends the run, where a real grid would make an error message of it.
"""

import random
from collections.abc import Iterable

from flwr.app import Context, Message, RecordDict, UserConfig
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

RUN_ID, SERVER_NODE = 1, 1


class InProcessGrid(Grid):
    """`partitions` nodes, each with its `node_config` and a state of its own between messages."""

    def __init__(
        self, client_app: ClientApp, partitions: int, config: UserConfig | None = None, *, seed: int = 0
    ) -> None:
        self.app, self.random = client_app, random.Random(seed)
        identities = self.random.sample(range(2, 1 << 62), partitions)
        self.contexts = {
            node: Context(
                run_id=RUN_ID,
                node_id=node,
                node_config={"partition-id": partition, "num-partitions": partitions},
                state=RecordDict(),
                run_config=dict(config or {}),
            )
            for partition, node in enumerate(identities)
        }
        self.replies: dict[str, Message] = {}
        # since 1.38 a message is stamped with the task that makes it
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, SERVER_NODE

    def set_run(self, run: Run) -> None:
        """There is one run only."""
        raise NotImplementedError("an in-process grid has one run of its own")

    @property
    def run(self) -> Run:
        return Run.create_empty(RUN_ID)

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """A message to a node."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return self.random.sample(list(self.contexts), len(self.contexts))

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Let the nodes work; their replies are there at once."""
        identities = []
        for message in messages:
            identities.append(f"message-{len(self.replies)}")
            message.metadata.__dict__["_message_id"] = identities[-1]
            context = self.contexts[message.metadata.dst_node_id]
            self.replies[identities[-1]] = self.app(message, context)
        return identities

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        found = [self.replies[name] for name in message_ids]
        return self.random.sample(found, len(found))

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))
