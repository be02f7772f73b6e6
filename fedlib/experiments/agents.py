"""Files of trained agents: `data/agents/<method>.pt`, networks with the run and provenance they come from.

A file is a `torch.save` archive of tensors and plain values (`weights_only`). `format` is the version of
its layout.
"""

import io
import pickle
from pathlib import Path

import torch

from fedlib.errors import DataError, check, check_name
from fedlib.experiments import provenance
from fedlib.experiments.store import check_format
from fedlib.federation import prepare, rounds
from fedlib.files import write_atomically
from fedlib.methods import make_method
from fedlib.methods.trained_agents import LEARNED, TrainedAgent, extract
from fedlib.paths import agents_folder
from fedlib.run import Run, from_description

FORMAT = 1


def load_agent(method: str, path: Path | str | None = None) -> TrainedAgent:
    """The trained agent of a method, from `path` or from the committed file.

    method: feddrl, fedddrl, fedmarl, evaluatorfl or schedulerfl. DataError for a file that is absent,
    damaged, of another method or of a newer format.
    """
    check_name("method with an agent", method, LEARNED)
    path = Path(path) if path is not None else agents_folder() / f"{method}.pt"
    if not path.is_file():
        raise DataError(f"no trained agent {path}; `python -m fedlib agents {method}` trains one")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, KeyError, pickle.UnpicklingError, ValueError) as error:
        raise DataError(f"{path} is damaged; `python -m fedlib agents {method}` writes it anew") from error
    again = f"`python -m fedlib agents {method}` writes it anew"
    try:
        written, networks, found = stored["format"], stored["networks"], stored["provenance"]
        description, version = stored["run"], found["versions"]["fedlib"]
    except (KeyError, TypeError, IndexError) as error:  # some other file of torch's
        raise DataError(f"{path} is no file of a trained agent; {again}") from error
    check_format(path, written, version, up_to=FORMAT)
    try:
        run = from_description(description)
    except TypeError as error:
        text = f"{path} was written by fedlib {version}, whose runs have other fields"
        raise DataError(f"{text}; {again}") from error
    if run.method != method:
        raise DataError(f"{path} holds an agent of {run.method!r}; asked for: {method!r}")
    if set(networks) != set(LEARNED[method].paths):
        text = f"{path} was written by fedlib {version}, whose {method} has other networks"
        raise DataError(f"{text}; {again}")
    return TrainedAgent(run, networks, found)


def save_agent(agent: TrainedAgent, path: Path) -> None:
    """Write an agent's file, whole or not at all."""
    buffer = io.BytesIO()
    stored = {
        "format": FORMAT,
        "run": agent.run.describe(),
        "networks": dict(agent.networks),
        "provenance": dict(agent.provenance),
    }
    torch.save(stored, buffer)
    write_atomically(path, buffer.getvalue())


def train_agent(run: Run, device: str = "cpu") -> TrainedAgent:
    """Train the agent of a run from scratch, to the run's last round; nothing enters the store.

    UsageError for a method without an agent, for options with which none decides, and for a run that fails.
    """
    check_name("method with an agent", run.method, LEARNED)
    task = prepare([run], device=device)
    for last in rounds(task, make_method(run.method, run.method_options)):
        check(
            not last.failed,
            f"the run that trains the agent of {run.method!r} {last.failed.get(0)}; allowed: settings with "
            "which it finishes, such as a smaller local_learning_rate",
        )
        if last.round == 0:  # before hours are spent; until then FedDRL's memory is its workers'
            extract(run.method, last.state["memory"])
    final = {name: value for name, value in last.rows[0][-1].items() if isinstance(value, int | float)}
    data = task.dataset
    found = {
        **provenance.environment(task.device),
        "source": provenance.source_digest(),
        "dataset": {"name": data.name, "origin": data.origin, "checksum": data.checksum},
        "stand_in": data.stand_in,
        "finished": provenance.now(),
        "final": final,
    }
    return TrainedAgent(run, extract(run.method, last.state["memory"]), found)
