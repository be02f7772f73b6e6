"""Settings beyond the ends of the search: what the comparison's contestants would have had from them."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from fedlib.analysis.contrasts import paired
from fedlib.analysis.decisions import TAIL, holm
from fedlib.analysis.intervals import Interval, effect_words
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.quantities import AHEAD, BEHIND, per_run, standing_of
from fedlib.papers.head_to_head.runs import BEYOND, CONTESTANTS, chosen
from fedlib.papers.head_to_head.tables import REFERENCE
from fedlib.plotting.style import method_style
from fedlib.words import counted


@dataclass(frozen=True)
class Gain:
    """Worth of a contestant's further setting in a division of the data.

    held: accuracy (%) on held-back images with the chosen setting and with the further one. over_chosen,
    over_fedavg: its level less theirs, in points. diverged: runs of the further setting, which count as 0;
    before: of the chosen one.
    """

    contestant: str
    cell: str
    held: tuple[float, float]
    over_chosen: Interval
    over_fedavg: Interval
    diverged: int
    before: int
    runs: int

    @property
    def named(self) -> str:
        """`FedYogi (learning_rate 0.03)`."""
        return _named(self.contestant)


def was_tried(contestant: str) -> bool:
    """Whether the search tried the further setting, and ranked it lower: SCAFFOLD's rate (HEAD-A13)."""
    setting = chosen()[contestant] | BEYOND[contestant]
    return (setting["rate"], setting["options"]) in CONTESTANTS[contestant].trials


def _named(contestant: str) -> str:
    return f"{method_style(contestant).label} ({setting_words(contestant)})"


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
    """Gains of each contestant, by division, in the order of `BEYOND`.

    A further setting that shares no seed with the chosen one, or with FedAvg, has none (`not_compared`).
    """
    return [
        Gain(
            contestant=name, cell=cell, held=(before.validation.mean(), own.validation.mean()),
            over_chosen=paired(own.level, before.level), over_fedavg=paired(own.level, fedavg.level),
            diverged=int(own.diverged.sum()), before=int(before.diverged.sum()), runs=len(own),
        )
        for (name, cell), (own, before, fedavg) in _beside(rows).items()
        if _share_seed(own, before) and _share_seed(own, fedavg)
    ]  # fmt: skip


def _beside(rows: pd.DataFrame) -> dict[tuple[str, str], tuple[pd.DataFrame, ...]]:
    """(contestant, cell) -> runs of its further setting, of its chosen one and of FedAvg, maybe none."""
    runs, none = _by_seed(rows) if len(rows) else {}, pd.DataFrame(index=pd.Index([]))
    further = [(name, cell) for cell, name, as_chosen in runs if not as_chosen]
    return {
        (name, cell): (
            runs[cell, name, False], runs.get((cell, name, True), none),
            runs.get((cell, REFERENCE, True), none),
        )
        for name, cell in sorted(further, key=lambda one: list(BEYOND).index(one[0]))
    }  # fmt: skip


def _share_seed(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    return len(one.index.intersection(other.index)) > 0


def not_compared(rows: pd.DataFrame) -> list[str]:
    """Sentences on the divisions without FedAvg's runs, and on settings that share no seed with a rival."""
    found = _beside(rows)
    absent = list(dict.fromkeys(cell for (_, cell), (*_, fedavg) in found.items() if fedavg.empty))
    apart = [
        f"{_named(name)} with {rival} ({cell})"
        for (name, cell), (own, before, fedavg) in found.items()
        for rival, other in (("its chosen setting", before), ("FedAvg", fedavg))
        if cell not in absent and not _share_seed(own, other)
    ]
    told = [f"Not run under {listed(absent)}: FedAvg, beside whom settings are compared."] * bool(absent)
    return told + [f"Not compared, as no seed is in common: {'; '.join(apart)}."] * bool(apart)


def _at_once(rows: pd.DataFrame) -> list[str]:
    """Which gains and losses against the chosen setting hold when all are compared at once (Holm)."""
    beside = {key: found for key, found in _beside(rows).items() if not was_tried(key[0])}
    gaps = {key: (own.level - before.level).dropna() for key, (own, before, _) in beside.items()}
    gaps = {key: gap for key, gap in gaps.items() if len(gap) > 1 and gap.std() > 0}
    if not gaps:
        return []
    holds = holm(np.array([ttest_1samp(gap, 0).pvalue for gap in gaps.values()]), 2 * TAIL)
    kept = {key: gap.mean() for (key, gap), one in zip(gaps.items(), holds, strict=True) if one}
    sides = (("gain", "gains", [key for key, mean in kept.items() if mean > 0]),
             ("loss", "losses", [key for key, mean in kept.items() if mean < 0]))  # fmt: skip
    named = {one: listed([f"{_named(name)} ({cell})" for name, cell in keys]) for one, _, keys in sides}
    words = [f"the {many if len(keys) > 1 else one} of {named[one]}" for one, many, keys in sides if keys]
    held = f"{listed(words)} hold{'s' * (len(kept) < 2)}" if words else "none holds"
    absent = [one for one, _, keys in sides if words and not keys]
    held += f"; no {listed(absent)} does" * bool(absent)
    return [f"Corrected for {counted(len(gaps), 'comparison')} (Holm) {held}."]


def _clear_gains(found: list[Gain]) -> list[tuple[str, str]]:
    """`helps`, `harms`, each with the further settings that do, and by how much; neither where none does."""
    named: dict[str, list[str]] = {}
    for verb, standing in (("helps", AHEAD), ("harms", BEHIND)):
        for gain in found:
            if standing_of(gain.over_chosen) == standing:
                words = f"{gain.named} {effect_words(gain.over_chosen, 'points')}"
                named.setdefault(verb, []).append(words)
    return [(verb, "; ".join(words)) for verb, words in named.items()]


def _tried_words(found: list[Gain]) -> list[str]:
    """A sentence on each setting that the search had tried: whose runs diverge, and where it ends."""
    told = []
    for name in dict.fromkeys(gain.contestant for gain in found):
        own = [gain for gain in found if gain.contestant == name]
        total, before, now = (sum(getattr(gain, of) for gain in own) for of in ("runs", "before", "diverged"))
        ends = ", ".join(f"{effect_words(gain.over_fedavg)} ({gain.cell})" for gain in own)
        told.append(
            f"With its chosen setting {method_style(name).label} diverges in {before} of {total} runs, with "
            f"{setting_words(name)}, which the search's shorter runs ranked lower, in {now or 'none'}. Less "
            f"FedAvg that is, in points: {ends}."
        )
    return told


def answer(rows: pd.DataFrame) -> list[str]:
    """Say whom the further settings help, which of them the search would choose, and who passes FedAvg."""
    found, missing = gains(rows), not_compared(rows)
    if not found:
        return missing or ["Not run: settings beyond the ends of the search."]
    tried, found = ([gain for gain in found if was_tried(gain.contestant) == one] for one in (True, False))
    return [*_further_words(rows, found), *_tried_words(tried), *missing]


def _further_words(rows: pd.DataFrame, found: list[Gain]) -> list[str]:
    """Gains and losses of the settings beyond the search's end, uncorrected and corrected, in sentences."""
    if not found:
        return []
    first = [gain for gain in found if gain.cell == found[0].cell]
    told = [
        f"At full length a setting beyond the search's end {verb} under {first[0].cell}, uncorrected: "
        f"{named}."
        for verb, named in _clear_gains(first)
    ]
    clear = sum(standing_of(gain.over_chosen) in (AHEAD, BEHIND) for gain in first)
    told.append(f"For {len(first) - clear} of {len(first)} no clear difference shows there.")
    cells = dict.fromkeys(gain.cell for gain in found if gain.cell != first[0].cell)
    told += [
        f"Under {cell} such a setting {verb}: {named}."
        for cell in cells
        for verb, named in _clear_gains([gain for gain in found if gain.cell == cell])
    ]
    told += _at_once(rows)
    better = [gain.named for gain in first if gain.held[1] > gain.held[0]]
    told.append(
        f"Held-back images would have chosen it for {listed(better) if better else 'none'}, "
        f"under {found[0].cell}."
    )
    ahead = [gain for gain in found if standing_of(gain.over_fedavg) == AHEAD]
    named = "; ".join(f"{gain.named} {effect_words(gain.over_fedavg, '')} ({gain.cell})" for gain in ahead)
    told += [f"With the further setting ahead of FedAvg, uncorrected, in points: {named}."] * bool(ahead)
    lost = [gain for gain in found if gain.diverged]
    if lost:
        named = "; ".join(f"{gain.named} {gain.diverged} of {gain.runs} ({gain.cell})" for gain in lost)
        told.append(f"Diverged: {named}.")
    return told
