"""A stand-in for the round loop, with a paper of its own: rounds take no time, and runs can be made to fail.

Run as a script it is `python -m fedlib` on that paper. Environment, so that a test waits for events and
never for a time:

FAKE_LOG: a file with one line per round computed, its last word the process.
FAKE_HOLD: `round` or `method round`, before which a process adds itself to $FAKE_LOG.held and stays there.
FAKE_TOGETHER: so many processes have computed a round before any of them computes its second.
FAKE_UNREAD: the round that waits until nobody reads standard output any more.
FAKE_NAN_SEED: that seed fails in round 3.
"""

import os
import select
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import torch
from processes import wait_for

import fedlib.federation
from fedlib.analysis.claims import Claim
from fedlib.cli.main import main
from fedlib.experiments import result_files
from fedlib.experiments.artifact import Artifact, Deferred
from fedlib.experiments.progress import Silent
from fedlib.federation import RoundResult
from fedlib.papers import PAPERS
from fedlib.reporting import verdict_cache
from fedlib.run import Run

BASE = Run(
    paper="fake",
    artifact="grid",
    profile="smoke",
    dataset="fmnist-embedded",
    method="fedavg",
    partition="iid",
    model="lenet",
    num_clients=2,
    rounds=8,
)


class Stop(Silent):
    """Ctrl-C, as the user gives it after a round."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def update(self, done_rounds, metrics):
        if done_rounds == self.after:
            raise KeyboardInterrupt


def grid_runs(profile: str) -> list[Run]:
    run = replace(BASE, profile=profile, rounds=8 if profile == "smoke" else 12)
    return [run, replace(run, method="fedprox", method_options={"mu": 0.1})]


def recompute(rows) -> tuple[bool, str]:
    return True, f"{rows['seed'].nunique()} seeds"


ARTIFACTS = (
    Artifact("fake/grid", "a grid", "table", runs=grid_runs, seeds={"smoke": 2, "reduced": 2, "paper": 1}),
)
CLAIMS = (
    Claim(id="FAKE-C1", statement="it runs", place="nowhere", artifact="fake/grid", recompute=recompute),
)


class FakePaper:
    """A `Paper` with this module's ARTIFACTS and CLAIMS of the moment, which tests replace."""

    title, address, errata = "Fake", "", None

    @property
    def artifacts(self):
        return sys.modules["fake_federation"].ARTIFACTS

    @property
    def claims(self):
        return Deferred("fake_federation.CLAIMS")


def prepare(runs, *, device, max_clients_per_pass=None):
    dataset = SimpleNamespace(name=runs[0].dataset, origin="made up", checksum="0" * 64, stand_in=True)
    return SimpleNamespace(runs=runs, dataset=dataset, facts={"parameters": 3, "asked": max_clients_per_pass})


def rounds(task, method, state=None):
    """A chaotic map per replica that depends on its seed, its group and every round before."""
    done, failed = (-1, {}) if state is None else (state["round"], dict(state["failed"]))
    x = torch.tensor([0.1 + 0.01 * run.seed for run in task.runs]) if state is None else state["x"]
    x = x + 0.001 * len(task.runs) if state is None else x  # the stacking shows in the numbers
    for number in range(done + 1, task.runs[0].rounds + 1):
        _await(task.runs[0].method, number)
        x = 3.7 * x * (1 - x)
        new = {}
        if number == 3:
            new = {
                i: "failed: loss is nan"
                for i, r in enumerate(task.runs)
                if str(r.seed) == os.environ.get("FAKE_NAN_SEED")
            }
        _log(f"{task.runs[0].method} {','.join(str(r.seed) for r in task.runs)} {number} {os.getpid()}")
        rows = [[] if i in failed else [_row(number, x[i], i in new)] for i in range(len(task.runs))]
        failed = failed | new
        yield RoundResult(number, rows, new, {"round": number, "x": x, "failed": failed}, 0.0)
        if len(failed) == len(task.runs):
            return


def _row(number, value, failed):
    loss = float("nan") if failed else float(value)
    status = "failed: loss is nan" if failed else "ok"
    return {
        "round": number,
        "status": status,
        "test_accuracy": float(value),
        "test_loss": loss,
        "clients": [0, 1],
    }


def _await(method, number):
    """Stay here until what the environment asks for has happened."""
    log, hold = os.environ.get("FAKE_LOG"), os.environ.get("FAKE_HOLD")
    if hold in (str(number), f"{method} {number}"):
        with open(f"{log}.held", "a") as file:
            file.write(f"{os.getpid()}\n")
        wait_for(lambda: False)
    if number == 1 and (together := int(os.environ.get("FAKE_TOGETHER", "1"))) > 1:
        wait_for(lambda: len({line.split()[-1] for line in Path(log).read_text().splitlines()}) >= together)
    if os.environ.get("FAKE_UNREAD") == str(number):
        output = select.poll()
        output.register(sys.stdout.fileno(), 0)  # errors alone
        wait_for(lambda: output.poll(0))


def _log(line):
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as file:
            file.write(line + "\n")


def install(put=setattr, put_item=dict.__setitem__):
    """Put the fake in place of the round loop; tests hand in monkeypatch's functions."""
    put(fedlib.federation, "prepare", prepare)
    put(fedlib.federation, "rounds", rounds)
    put_item(PAPERS, "fake", FakePaper())


def install_for(monkeypatch, folder):
    """The fake for one test: runs, data sets, committed results and kept verdicts are in its own folder."""
    install(monkeypatch.setattr, monkeypatch.setitem)
    monkeypatch.setenv("FEDLIB_STORE", str(folder / "runs"))
    monkeypatch.setenv("FEDLIB_DATA", str(folder / "data"))
    for module in (result_files, verdict_cache):
        monkeypatch.setattr(module, "results_folder", lambda: folder / "results")
    monkeypatch.setattr(verdict_cache, "project_root", lambda: folder)


if __name__ == "__main__":
    sys.modules["fake_federation"] = sys.modules["__main__"]
    install()
    sys.exit(main())
