"""The frozen description of one run. Its hash names the run's folder in the store."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fedlib.errors import UsageError

Options = Mapping[str, Any]

# Methods that differ in numbers only: their runs may also differ in method, its options and partition.
JOINED_METHODS = ("fedavg", "fedprox")

# Fields that came later: at their default they are left out of the key, so that stored runs keep theirs.
_LATER_FIELDS = {
    "precision": "float32",
    "sample_order": "shuffled",
    "local_steps": None,
    "mixup_alpha": None,
    "mixup_lambda": "batch",
    "episode_rounds": None,
    "device_costs": False,
}
_CELL = ("dataset", "dataset_options", "partition", "partition_options", "num_clients", "cohort_size")


@dataclass(frozen=True, kw_only=True)
class Run:
    """All that decides a run's numbers on a given device; nothing else may.

    Options are plain JSON values. Runs that differ only in `seed` form a group, whose
    members are trained as replicas on the engine's client axis.
    """

    paper: str  # key of the paper: feddrl, feddisk, fedddrl, frl, head_to_head; start: notebook 00
    artifact: str  # the artifact that owns the run, e.g. table3
    profile: str  # smoke, reduced, extended or paper
    dataset: str
    method: str
    partition: str
    model: str
    num_clients: int  # N
    rounds: int  # T
    seed: int = 0
    cohort_size: int | None = None  # K; None: all clients take part
    dataset_options: Options = field(default_factory=dict)
    partition_options: Options = field(default_factory=dict)
    method_options: Options = field(default_factory=dict)
    model_options: Options = field(default_factory=dict)
    local_epochs: int = 1  # E
    batch_size: int = 32  # B
    local_optimizer: str = "sgd"
    local_learning_rate: float = 0.01
    local_optimizer_options: Options = field(default_factory=dict)
    eval_every: int = 1  # rounds between evaluations on the test set
    client_eval: str = "cohort"  # whose training data the global model is evaluated on: none, cohort, all
    precision: str = "float32"  # of local training: float32, tf32, bf16 (fedlib.engine.hardware.precision)
    sample_order: str = "shuffled"  # in a local epoch; "stored": always front to back (fedlib.engine.batches)
    local_steps: int | None = None  # at most so many mini-batches per client and round (FEDDISK-A13)
    mixup_alpha: float | None = None  # of Balanced-MixUp on the clients (FedDdrl sec. 4.2); None: none
    mixup_lambda: str = "batch"  # one lambda of Balanced-MixUp for each mini-batch, or "pair" (FEDDDRL-A31)
    episode_rounds: int | None = None  # length of an episode, which starts from w_0; None: T
    device_costs: bool = False  # rows have latency and uploads of FedDdrl's simulated devices

    @property
    def id(self) -> str:
        """`<paper>/<artifact>`, the name that `python -m fedlib run` takes."""
        return f"{self.paper}/{self.artifact}"

    def describe(self) -> dict[str, Any]:
        """Plain JSON form, every field present."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def named(self) -> dict[str, Any]:
        """The description without later fields at their default: what the key is made of."""
        return {k: v for k, v in self.describe().items() if k not in _LATER_FIELDS or v != _LATER_FIELDS[k]}

    @cached_property
    def key(self) -> str:
        """16 hex digits that name this run: the hash of its canonical JSON form."""
        return hashlib.sha256(_canonical(self.named()).encode()).hexdigest()[:16]

    @cached_property
    def group_key(self) -> str:
        """The key of the description without its seed: equal for all replicas of a group."""
        return dataclasses.replace(self, seed=-1).key

    @property
    def cell(self) -> str:
        """16 hex digits that name the data of this run and their division among clients.

        Runs of one cell are compared pair by pair: whatever the method, one seed has the same
        random numbers. Runs of two cells have none of a method's own streams in common
        (`method_rng`); FedDisk's phase 1, EvaluatorFL's tests and simulated devices follow
        from the seed alone.
        """
        named = {name: getattr(self, name) for name in _CELL}
        return hashlib.sha256(_canonical(named).encode()).hexdigest()[:16]

    @property
    def clients_per_round(self) -> int:
        """K, which is N where all clients take part."""
        return self.num_clients if self.cohort_size is None else self.cohort_size

    @property
    def rounds_per_episode(self) -> int:
        """T of an episode; a run without episodes is one."""
        return self.episode_rounds or self.rounds

    def episode(self, round_index: int) -> tuple[int, int]:
        """The episode of a round and the round's number in it, both counted from 1."""
        before, t = divmod(round_index - 1, self.rounds_per_episode)
        return before + 1, t + 1

    @property
    def joint_key(self) -> str:
        """Equal for runs that may train as one computation: replicas, and what `JOINED_METHODS` adds."""
        if self.method not in JOINED_METHODS:
            return self.group_key
        own = {"method": "", "method_options": {}, "partition": "", "partition_options": {}}
        return dataclasses.replace(self, seed=-1, **own).key

    @property
    def method_label(self) -> str:
        """The method with its options, as in `feddrl(mode=online)`."""
        options = ", ".join(f"{name}={value}" for name, value in self.method_options.items())
        return f"{self.method}({options})" if options else self.method

    def label(self) -> str:
        """Short text for progress lines."""
        where = f"{self.id} {self.dataset} {self.partition} N={self.num_clients}"
        return f"{where} {self.method_label} seed {self.seed}"


def _canonical(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:  # JSON has neither NaN nor infinity
        odd = ", ".join(f"{name}={own}" for name, own in value.items() if _has_constant(own))
        raise UsageError(f"{odd} given; allowed: finite numbers") from error


def _has_constant(value: Any) -> bool:
    """Whether a number in it is NaN or infinite."""
    found: list[str] = []
    json.loads(json.dumps(value), parse_constant=found.append)
    return bool(found)


def from_description(description: Mapping[str, Any]) -> Run:
    """The run that `describe` was called on."""
    return Run(**description)
