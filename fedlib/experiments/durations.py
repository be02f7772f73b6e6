"""Run times: expected from, and measured in, the wall times of committed rows.

The provenance beside committed rows (`experiments.result_files`) has each group's wall time and machine.
A run of that description, whatever its seed, is expected to take its share of it; one of a description that
was never run, as long as one of another data set or division.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fedlib.experiments.artifact import Measurement
from fedlib.experiments.result_files import committed_runs, read_details, results_file
from fedlib.run import Run


@dataclass(frozen=True)
class Expected:
    """Seconds in all, the machines on which they were measured, and how many runs were never timed.

    alike: of how many runs a like one was timed, with other data or another division; by_fedavg: of how many,
    of methods outside fedlib, FedAvg's was.
    """

    seconds: float = 0.0
    machines: tuple[str, ...] = ()
    runs: int = 0
    untimed: int = 0
    alike: int = 0
    by_fedavg: int = 0

    def __add__(self, other: "Expected") -> "Expected":
        return Expected(
            self.seconds + other.seconds,
            tuple(dict.fromkeys([*self.machines, *other.machines])),
            self.runs + other.runs,
            self.untimed + other.untimed,
            self.alike + other.alike,
            self.by_fedavg + other.by_fedavg,
        )

    def text(self, *, brief: bool = False) -> str:
        """E.g. `about 12 min (measured on cpu AMD EPYC, 2 threads)`; brief: without why it is not known."""
        if not self.runs:
            return "nothing to compute"
        if self.untimed == self.runs:
            return "time not known" + " (no committed run to go by)" * (not brief)
        rest = f"; {self.alike} of {self.runs} by runs on other data or divisions" if self.alike else ""
        rest += f"; {self.by_fedavg} of {self.runs} by FedAvg's" if self.by_fedavg else ""
        rest += f"; {self.untimed} of {self.runs} runs never timed" if self.untimed else ""
        return f"about {minutes(self.seconds)} (measured on {', '.join(self.machines)}{rest})"


def minutes(seconds: float) -> str:
    """Seconds as a reader plans with them: `20 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Timings:
    """Wall times of committed runs; each artifact's provenance is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}

    def of_runs(self, runs: Iterable[Run]) -> Expected:
        """Expected time of `runs`, from the committed runs of their descriptions."""
        return sum(map(self._of_run, runs), Expected())

    def _of_run(self, run: Run) -> Expected:
        place = (run.id, run.profile)
        if place not in self._known:
            self._known[place] = _measured(*place)
        known = self._known[place]
        found = known.get(run.group_key) or known.get(_without_data(run))
        if found is None and ":" in run.method:
            fedavg = self._of_run(replace(run, method="fedavg", method_options={}))
            return replace(fedavg, alike=0, by_fedavg=fedavg.runs - fedavg.untimed)
        if found is None:
            return Expected(runs=1, untimed=1)
        return Expected(found[0], (found[1],), runs=1, alike=int(run.group_key not in known))


def expected_measurement(measurement: Measurement, profile: str) -> Expected:
    """Expected time of a measurement, from its committed rows."""
    found = read_details(results_file(measurement.id, profile)).get("provenance")
    if found is None:
        return Expected(runs=1, untimed=1)
    return Expected(found["wall_seconds"], (_machine(found),), runs=1)


def _measured(artifact_id: str, profile: str) -> dict[str, tuple[float, str]]:
    """Group key, of the run itself and without its data -> seconds of one run, machine."""
    known: dict[str, tuple[float, str]] = {}
    for run, found in committed_runs(artifact_id, profile):
        timed = (found["group_wall_seconds"] / len(found["group"]), _machine(found))
        known |= {run.group_key: timed, _without_data(run): timed}
    return known


def _without_data(run: Run) -> str:
    """The group key of this run whatever its data and their division."""
    return replace(run, dataset="", dataset_options={}, partition="", partition_options={}).group_key


def _machine(provenance: Mapping[str, Any]) -> str:
    return f"{provenance['device']}, {provenance['device_name']}"
