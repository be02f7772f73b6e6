"""Settings beyond the ends of the search: what the comparison's contestants would have had from them."""

import json
from dataclasses import dataclass

import pandas as pd

from fedlib.analysis.contrasts import paired
from fedlib.analysis.intervals import Interval, effect_words
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.quantities import AHEAD, BEHIND, per_run, standing_of
from fedlib.papers.head_to_head.runs import BEYOND, CONTESTANTS, chosen
from fedlib.papers.head_to_head.tables import REFERENCE
from fedlib.plotting.style import method_style


@dataclass(frozen=True)
class Gain:
    """Worth of a contestant's further setting in a division of the data.

    held: accuracy (%) on held-back images with the chosen setting and with the further one. over_chosen,
    over_fedavg: its level less theirs, in points. diverged: runs of the further setting, which count as 0.
    """

    contestant: str
    cell: str
    held: tuple[float, float]
    over_chosen: Interval
    over_fedavg: Interval
    diverged: int
    runs: int

    @property
    def named(self) -> str:
        """`FedYogi (learning_rate 0.03)`."""
        return f"{method_style(self.contestant).label} ({setting_words(self.contestant)})"


def setting_words(name: str) -> str:
    """A contestant's further setting: `mu 0.001`, `rate 0.01`."""
    given = BEYOND[name]
    return ", ".join(f"{key} {value:g}" for key, value in (given.get("options") or given).items())


def _by_seed(rows: pd.DataFrame) -> dict[tuple[str, str, bool], pd.DataFrame]:
    """(cell, contestant, with its chosen setting?) -> level, validation and divergence, indexed by seed."""
    runs, settings, found = per_run(rows), chosen(), {}
    for key, own in runs.groupby(["cell", "contestant", "local_learning_rate", "options"], sort=False):
        cell, name, rate, options = key
        one = settings[name]
        wanted = one["rate"], {**CONTESTANTS[name].options, **one["options"]}
        found[cell, name, (rate, json.loads(options)) == wanted] = own.set_index("seed")
    return found


def further_settings(rows: pd.DataFrame) -> pd.DataFrame:
    """The further setting of each contestant beside its chosen one, a line per contestant and division.

    Accuracy (%) on held-back images with either; the level (points) with the further one less that with
    the chosen one, and less FedAvg's, mean and interval over seeds; runs that diverged.
    """
    lines = []
    for gain in gains(rows):
        line: dict[str, object] = {
            "contestant": gain.contestant, "setting": setting_words(gain.contestant), "data": gain.cell,
            "held-back (%): chosen": gain.held[0], "held-back (%): further": gain.held[1],
        }  # fmt: skip
        line |= gain.over_chosen.columns("less the chosen one (points)")
        line |= gain.over_fedavg.columns("less FedAvg (points)")
        lines.append(line | {"diverged": f"{gain.diverged} of {gain.runs}"})
    return pd.DataFrame(lines)


def gains(rows: pd.DataFrame) -> list[Gain]:
    """Gains of each contestant with runs of both settings, by division, in the order of `BEYOND`.

    A division without FedAvg's runs has none (`without_fedavg`).
    """
    runs = _by_seed(rows) if len(rows) else {}
    absent = without_fedavg(rows)
    found = [
        Gain(
            contestant=name, cell=cell, held=(before.validation.mean(), own.validation.mean()),
            over_chosen=paired(own.level, before.level),
            over_fedavg=paired(own.level, runs[cell, REFERENCE, True].level),
            diverged=int(own.diverged.sum()), runs=len(own),
        )
        for (cell, name, as_chosen), own in runs.items()
        if not as_chosen and cell not in absent and (before := runs.get((cell, name, True))) is not None
    ]  # fmt: skip
    return sorted(found, key=lambda gain: list(BEYOND).index(gain.contestant))


def without_fedavg(rows: pd.DataFrame) -> list[str]:
    """Divisions with further settings in which FedAvg has no runs to compare them with."""
    runs = _by_seed(rows) if len(rows) else {}
    cells = dict.fromkeys(cell for cell, _, as_chosen in runs if not as_chosen)
    return [cell for cell in cells if (cell, REFERENCE, True) not in runs]


def answer(rows: pd.DataFrame) -> list[str]:
    """Say whom the further settings help, which of them the search would choose, and who passes FedAvg."""
    found, absent = gains(rows), without_fedavg(rows)
    missing = [f"Not run under {listed(absent)}: FedAvg, beside whom settings are compared."] * bool(absent)
    if not found:
        return missing or ["Not run: settings beyond the ends of the search."]
    first = [gain for gain in found if gain.cell == found[0].cell]
    told = []
    for standing, verb in ((AHEAD, "helps"), (BEHIND, "harms")):
        own = [gain for gain in first if standing_of(gain.over_chosen) == standing]
        if own:
            named = "; ".join(f"{gain.named} {effect_words(gain.over_chosen, 'points')}" for gain in own)
            told.append(f"At full length a setting beyond the end of the search {verb}: {named}.")
    clear = sum(standing_of(gain.over_chosen) in (AHEAD, BEHIND) for gain in first)
    told.append(f"For {len(first) - clear} of {len(first)} no clear difference shows.")
    better = [gain.named for gain in first if gain.held[1] > gain.held[0]]
    told.append(
        f"Held-back images would have chosen it for {listed(better) if better else 'none'}, "
        f"under {found[0].cell}."
    )
    ahead = [gain for gain in found if standing_of(gain.over_fedavg) == AHEAD]
    told += [
        f"With it {gain.named} is {effect_words(gain.over_fedavg, 'points')} ahead of FedAvg ({gain.cell})."
        for gain in ahead
    ]
    lost = [gain for gain in found if gain.diverged]
    if lost:
        named = "; ".join(f"{gain.named} {gain.diverged} of {gain.runs} ({gain.cell})" for gain in lost)
        told.append(f"Diverged: {named}.")
    return told + missing
