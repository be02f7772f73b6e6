"""Train the committed agents anew."""

from collections.abc import Sequence
from pathlib import Path

from fedlib.errors import check_name
from fedlib.experiments.agents import save_agent, train_agent
from fedlib.experiments.selection import expand
from fedlib.papers import find_artifact
from fedlib.paths import agents_folder
from fedlib.reporting.agent_runs import TRAINED_BY
from fedlib.run import Run


def training_run(method: str) -> Run:
    """The first run of the artifact's grid that trains this method with its defaults."""
    artifact, fields = TRAINED_BY[check_name("method with an agent", method, TRAINED_BY)]
    runs = expand(find_artifact(artifact), "reduced", seeds=1)
    wanted = {"method": method, **fields}
    return next(run for run in runs if all(getattr(run, name) == value for name, value in wanted.items()))


def train_agents(methods: Sequence[str]) -> list[Path]:
    """Train and write the agents of these methods."""
    paths = []
    for method in methods:
        paths.append(agents_folder() / f"{method}.pt")
        save_agent(train_agent(training_run(method)), paths[-1])
    return paths
