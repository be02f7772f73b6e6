"""The apps that `flwr run` starts, on the in-process grid with the configuration of pyproject.toml."""

import logging
import tomllib
from pathlib import Path

import pytest
from fedlib_flower import client_app, server_app
from fedlib_flower.in_process import InProcessGrid
from fedlib_flower.strategy import STRATEGIES
from flwr.app import Context, RecordDict

from fedlib.errors import UsageError

FLWR = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"]["flwr"]["app"]


def run(strategy: str) -> None:
    config = FLWR["config"] | {"strategy": strategy, "num-server-rounds": 2}
    grid = InProcessGrid(client_app.app, config["num-partitions"], config)
    context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config=config)
    server_app.app(grid=grid, context=context)


def test_the_components_are_the_apps_of_this_package():
    assert FLWR["components"] == {
        "serverapp": f"{server_app.__name__}:app", "clientapp": f"{client_app.__name__}:app"
    }  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_runs_and_logs_accuracies(strategy, caplog):
    logging.getLogger("flwr").propagate = True
    with caplog.at_level(logging.INFO, logger="flwr"):
        run(strategy)
    assert "test accuracy by round: {0: " in caplog.text


def test_an_unknown_strategy_is_one_clear_line():
    with pytest.raises(UsageError, match=r"unknown strategy 'fedprox' .*allowed: .*feddrl"):
        run("fedprox")
