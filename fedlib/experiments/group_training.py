"""Training of a group of replicas, from its checkpoint or from scratch to stored results.

The round loop (`fedlib.federation`) hands over one `RoundResult` per round, with the whole state;
here it is turned into rows, checkpoints and finished runs. Since resuming is exact, how often
checkpoints are written changes no number.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedlib import federation, methods
from fedlib.errors import OutputError
from fedlib.experiments import provenance, tracking
from fedlib.experiments.budget import Budget
from fedlib.experiments.checkpoints import Checkpoint, GroupFolder
from fedlib.experiments.labels import group_label
from fedlib.experiments.own_files import own_files
from fedlib.experiments.progress import Progress
from fedlib.experiments.store import FAILED, FINISHED, Store, plain
from fedlib.run import Run

if TYPE_CHECKING:
    import torch

CHECKPOINT_SECONDS = 20.0
_NOTHING_DONE = -(2**62)  # before all rounds: those of a method before round 1 are negative
_WRITE_SHARE = 20  # a checkpoint that took s seconds to write is followed by 20 s of work or more


@dataclass
class Context:
    """Settings that all groups of a command share."""

    store: Store
    device: "torch.device"
    budget: Budget = field(default_factory=Budget)
    progress: Progress = field(default_factory=Progress)
    checkpoint_seconds: float = CHECKPOINT_SECONDS  # 0: after every round
    max_clients_per_pass: int | None = None  # None: by the engine's rule
    tracker: tracking.Tracker | None = None  # of experiments, beside the store
    told: Mapping[str, str] = field(default_factory=dict)  # of `labels.distinctions`


def train_group(runs: Sequence[Run], context: Context, folder: GroupFolder | None = None) -> None:
    """Compute a group of runs that train as replicas, and store each of them.

    folder: where to resume from, with exactly these runs as members. Raises BudgetExhausted,
    OutputError and KeyboardInterrupt after a checkpoint of the last finished round has been written.
    """
    session = _Session(list(runs), context, folder or GroupFolder(context.store, runs))
    try:
        session.train()
    except OutputError:
        session.save()
        raise
    except KeyboardInterrupt:
        session.save()
        with contextlib.suppress(OutputError):  # of a terminal that was closed
            session.say_stopped()
        raise
    finally:
        context.progress.finish()
        tracking.close(context.tracker)


class _Session:
    """A process's work on a group; the caller holds the locks of all its members."""

    def __init__(self, runs: list[Run], context: Context, folder: GroupFolder):
        self.runs, self.context, self.folder = runs, context, folder
        loaded = folder.load()
        self.fresh = loaded is None
        self.label = group_label(runs, context.told)
        self.current = loaded or Checkpoint(_NOTHING_DONE, [[] for _ in runs], {}, [], {})
        self.saved_round = self.current.round
        self.saved_at = self.started = time.monotonic()
        self.write_seconds = 0.0
        self.segment = {
            "started": provenance.now(),
            **provenance.code(),
            "own": own_files(runs[0]),
            "device": str(context.device),
            "device_name": provenance.device_name(context.device),
            "threads": provenance.threads(),
            "max_clients_per_pass": self._pass_width(),
            "from_round": max(0, self.saved_round),
            "round_seconds": {},  # kept apart from the rows, which repeat bit for bit
        }
        self.current.segments.append(self.segment)

    def _pass_width(self) -> int | None:
        """Width of the passes with which the group began: another one changes the last digits."""
        asked = self.context.max_clients_per_pass
        return (
            self.current.segments[-1].get("max_clients_per_pass", asked) if self.current.segments else asked
        )

    def train(self) -> None:
        budget, progress = self.context.budget, self.context.progress
        budget.new_group()
        self._require_time()
        method = methods.method_of(self.runs)
        widest = self.segment["max_clients_per_pass"]
        options = {} if widest is None else {"max_clients_per_pass": widest}
        self.task = federation.prepare(self.runs, device=self.context.device, **options)
        budget.took(time.monotonic() - self.started)
        self._say_where_from()
        progress.start(self.label, total_rounds=self.runs[0].rounds, done_rounds=max(0, self.saved_round))
        state = None if self.fresh else self.current.state
        results = iter(federation.rounds(self.task, method, state))
        while True:
            if self._rounds_are_left():
                self._require_time()
            began = time.monotonic()
            result = next(results, None)
            if result is None:
                break
            self._take(result)
            budget.took(time.monotonic() - began)
        self._finish()

    def _say_where_from(self) -> None:
        if self.fresh:
            return
        notes = _what_differs(self.current.segments[-2], self.segment)
        if (width := self.segment["max_clients_per_pass"]) != self.context.max_clients_per_pass:
            notes += f", with {width or 'the rule for'} clients per pass, as it was begun"
        self.context.progress.say(f"{self.label}: resumed after round {self.saved_round}{notes}")

    def _rounds_are_left(self) -> bool:
        current = self.current
        return current.round < self.runs[0].rounds and len(current.failed) < len(self.runs)

    def _require_time(self) -> None:
        if self.context.budget.allows_step(2 * self.write_seconds):
            return
        self.save()
        raise self.context.budget.used_up()

    def _take(self, result: Any) -> None:
        """Add a finished round; a member that failed is stored at once, the others go on."""
        current = self.current
        self.segment["round_seconds"][str(result.round)] = round(result.seconds, 4)
        rows = [old + plain(new) for old, new in zip(current.rows, result.rows, strict=True)]
        failed = current.failed | result.failed
        # One assignment: an interrupt leaves either the last round or this one, never a mixture.
        self.current = Checkpoint(result.round, rows, failed, current.segments, result.state)
        for member, reason in result.failed.items():
            self.context.progress.say(f"{self.runs[member].label()}: {reason}")
            self._store(member)
        self.context.progress.update(result.round, _mean_of([new[-1] for new in result.rows if new]))
        if self.context.tracker:
            self.context.tracker(self.runs, result.rows)
        if self._checkpoint_is_due() and result.round < self.runs[0].rounds:
            self.save()

    def _checkpoint_is_due(self) -> bool:
        least = self.context.checkpoint_seconds
        pause = max(least, _WRITE_SHARE * self.write_seconds) if least else 0.0
        return time.monotonic() - self.saved_at >= pause

    def save(self) -> None:
        """Write a checkpoint of the last finished round, unless it is there already."""
        if self.current.round <= self.saved_round:
            return
        began = time.monotonic()
        self.segment["wall_seconds"] = began - self.started
        self.folder.save(self.current)
        self.saved_round, self.saved_at = self.current.round, time.monotonic()
        self.write_seconds = self.saved_at - began

    def say_stopped(self) -> None:
        """Say after which round a checkpoint was left, if any was."""
        last = self.saved_round
        if last != _NOTHING_DONE:
            place = f"after round {last} of {self.runs[0].rounds}" if last >= 0 else "before round 1"
            self.context.progress.say(f"{self.label}: stopped {place}, checkpoint stored")

    def _finish(self) -> None:
        for member in range(len(self.runs)):
            self._store(member)
        self.folder.remove()

    def _store(self, member: int) -> None:
        run, reason = self.runs[member], self.current.failed.get(member, "")
        if self.context.store.get(run) is None:
            self.context.store.put(
                run,
                rows=self.current.rows[member],
                provenance=self._provenance(run),
                status=FAILED if reason else FINISHED,
                reason=reason,
            )

    def _provenance(self, run: Run) -> dict[str, Any]:
        self.segment["wall_seconds"] = time.monotonic() - self.started
        data, segments = self.task.dataset, self.current.segments
        return {
            "dataset": {
                "name": data.name,
                "origin": data.origin,
                "checksum": data.checksum,
                "stand_in": data.stand_in,
            },
            "own": self.segment["own"],
            "profile": run.profile,
            "seed": run.seed,
            **provenance.environment(self.context.device),
            "group": [member.key for member in self.runs],
            "started": segments[0]["started"],
            "finished": provenance.now(),
            "segments": segments,
            "group_wall_seconds": sum(segment.get("wall_seconds", 0.0) for segment in segments),
            "peak_memory_bytes": provenance.peak_memory_bytes(self.context.device),
            "facts": self.task.facts,
        }


def _what_differs(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Differences since the group began that may change its last digits, in words."""
    hint = "the last digits may differ"
    if code := provenance.difference(before, now):
        return f", begun at {code}: its rows are marked"
    if before["device"] != now["device"]:
        return f" on {now['device']} (begun on {before['device']}: {hint})"
    threads = before.get("threads", now["threads"])
    if now["device"] == "cpu" and threads != now["threads"]:
        return f" with {now['threads']} threads (before with {threads}: {hint})"
    return ""


def _mean_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Mean over the members of every number that all their newest rows have."""
    names = {name for row in rows for name, value in row.items() if isinstance(value, float)}
    shared = [name for name in names if all(isinstance(row.get(name), float) for row in rows)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in shared}
