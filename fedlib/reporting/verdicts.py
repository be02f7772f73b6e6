"""Verdicts on every claim of the papers from the stored results, as records and tables."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from fedlib.analysis.claims import Claim, Effect, Verdict, verdict_on
from fedlib.analysis.decisions import NOT_RUN, NOT_TESTABLE
from fedlib.analysis.intervals import unit_words
from fedlib.analysis.tables import machine_words
from fedlib.errors import DataError, UsageError
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.results import rows_to_show
from fedlib.experiments.store import Store
from fedlib.papers import PAPERS, claims, find_artifact, largest, share_computed
from fedlib.reporting import verdict_cache
from fedlib.reporting.verdict_cache import Record

Load = Callable[[str, str], pd.DataFrame]
COLUMNS = (
    "claim", "verdict", "effect", "unit", "printed", "profile", "seeds", "data", "kind", "place", "statement",
    "evidence",
)  # fmt: skip


def decide_claims(
    paper: str | None = None,
    *,
    profile: str | None = None,
    store: Store | Path | str | None = None,
    load: Load | None = None,
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict, at one profile or at the largest whose grid is complete, else begun.

    Rows of `smoke` show no result and decide where that profile is asked for, not else.
    load: reads the rows instead of a loader of `store`, so that what follows need not read them again.
    """
    profiles = [profile] if profile else list(PROFILES[:0:-1])
    load = load or loader(store)
    return [(claim, decide(claim, profiles, load)) for claim in claims(paper)]


def loader(store: Store | Path | str | None = None, source: str = "all") -> Load:
    """Finished rows by artifact and profile, each read once; none where their data are not at hand.

    source: see `fedlib.experiments.results.load_rows`.
    """

    @functools.cache
    def load(artifact_id: str, profile: str) -> pd.DataFrame:
        try:
            return rows_to_show(find_artifact(artifact_id), profile=profile, store=store, source=source)
        except DataError:
            return pd.DataFrame()

    return load


def decide(claim: Claim, profiles: list[str], load: Load) -> Verdict:
    """The verdict of the first rows that can decide; if none can, of the first that estimate something."""
    found = []
    for where in deciding_rows(claim, profiles, load):
        found.append(_verdict_at(claim, *where, load))
        if found[-1].verdict not in (NOT_TESTABLE, NOT_RUN):
            return found[-1]
    if not found:
        return Verdict(NOT_RUN, f"no rows of {claim.artifact} at {' or '.join(profiles)}")
    return next((verdict for verdict in found if verdict.effects), found[0])


def deciding_rows(claim: Claim, profiles: list[str], load: Load) -> Iterator[tuple[str, str, bool]]:
    """Artifact and profile of rows that may decide a claim, best first, and whether their grid is complete.

    Complete grids come first, the largest profile first: a finished cell of a larger grid must not speak
    for the whole. Grids that are merely begun count where none is complete.
    """
    begun, complete = [], False
    for profile, name in itertools.product(profiles, (claim.artifact, *claim.fallback)):
        rows = load(name, profile)
        if not len(rows):
            continue
        if is_whole(name, profile, rows):
            complete = True
            yield name, profile, True
        begun.append((name, profile, False))
    if not complete:
        yield from begun


def _verdict_at(claim: Claim, artifact: str, profile: str, whole: bool, load: Load) -> Verdict:
    """The verdict of one artifact's rows at one profile, with what supplements say.

    Of a grid that is not complete, rows that lack what the claim compares are not run.
    """
    rows = load(artifact, profile)
    try:
        verdict = verdict_on(claim, rows)
    except UsageError as error:
        if whole:
            raise
        verdict = Verdict(NOT_RUN, f"the grid is not complete: {error}")
    if not (whole or verdict.effects) and verdict.verdict == NOT_TESTABLE:
        verdict = dataclasses.replace(verdict, verdict=NOT_RUN)
    frames = [(one, _beside(one.artifact, profile, load)) for one in claim.supplements]
    told = [supplement.tell(own) for supplement, own in frames if len(own)]
    data = verdict.data or _timed_on(rows)
    evidence = "\n".join(filter(None, [verdict.evidence, *told]))
    return dataclasses.replace(verdict, evidence=evidence, profile=profile, data=data, artifact=artifact)


def _beside(artifact_id: str, profile: str, load: Load) -> pd.DataFrame:
    """Rows of a supplement: at the deciding profile, or at its largest where it has no such profile."""
    if profile in find_artifact(artifact_id).profiles:
        return load(artifact_id, profile)
    best = largest(artifact_id, load)
    return load(artifact_id, best) if best != "smoke" else pd.DataFrame()


def _timed_on(rows: pd.DataFrame) -> str:
    """Machine on which times were measured; empty for rows that are no measurements of a machine."""
    return f"timed on {machine_words(rows)}" if "threads" in rows and "device_name" in rows else ""


def is_whole(artifact_id: str, profile: str, rows: pd.DataFrame) -> bool:
    """Whether every description of the artifact's grid is among the rows, with as many seeds as planned."""
    return share_computed(artifact_id, profile, rows) == 1


def records(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> list[Record]:
    """Every claim with its verdict as plain values, from the cache where nothing has changed."""
    if paper is None:
        return [one for name in PAPERS for one in records(name, profile=profile, store=store)]
    key = verdict_cache.fingerprint(paper, profile, store.root if isinstance(store, Store) else store)
    found = verdict_cache.read(key)
    return keep_records(key, decide_claims(paper, profile=profile, store=store)) if found is None else found


def keep_records(key: str, judged: list[tuple[Claim, Verdict]]) -> list[Record]:
    """The records of decided claims, kept in the cache under this key."""
    found = [_record(*pair) for pair in judged]
    verdict_cache.keep(key, found)
    return found


def _record(claim: Claim, verdict: Verdict) -> Record:
    shown = verdict.deciding
    return {
        "claim": claim.id,
        "verdict": verdict.verdict,
        "effect": shown.effect if shown else "-",
        "unit": unit_words(shown.what, shown.unit) if shown else "",
        "printed": _number(shown.printed) if shown else None,
        "profile": verdict.profile,
        "seeds": shown.interval.n if shown else 0,
        "data": verdict.data,
        "artifact": verdict.artifact,
        "kind": claim.kind,
        "place": claim.place,
        "ours": claim.ours,
        "statement": claim.statement,
        "evidence": verdict.evidence,
        "gates": [gate.name for gate in claim.gates],
        "how": claim.how,
        "effects": [_effect_record(effect) for effect in verdict.effects],
    }


def _effect_record(effect: Effect) -> Record:
    interval = {name: _number(value) for name, value in vars(effect.interval).items()}
    return {
        "part": effect.what,
        "unit": unit_words(effect.what, effect.unit),
        "kind": effect.kind,
        "verdict": effect.verdict,
        "barely": effect.barely,
        **interval,
        "printed": _number(effect.printed),
        "margin": _number(effect.margin),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def verdict_table(paper: str | None = None, *, store: Store | Path | str | None = None) -> pd.DataFrame:
    """The verdicts as a data frame, one row a claim: `COLUMNS`."""
    return pd.DataFrame(records(paper, store=store), columns=list(COLUMNS))


def effects(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> pd.DataFrame:
    """Every part of every claim that rows estimate, scaled so that 1 is the paper: for a forest plot.

    Columns claim, part, kind, verdict (the claim's), part_verdict; ratio, low, high (effect and its 95 %
    interval over the printed effect; NaN where the paper prints none, or 0); effect, effect_low,
    effect_high, unit, printed, margin, seeds, profile, place, ours (`Claim.ours`).
    """
    rows = []
    for record in records(paper, profile=profile, store=store):
        for part in record["effects"]:
            values = [math.nan if part[name] is None else part[name] for name in ("mean", "low", "high")]
            ratio, *ends = (value / part["printed"] if part["printed"] else math.nan for value in values)
            rows.append(
                {
                    "claim": record["claim"], "part": part["part"], "kind": part["kind"],
                    "verdict": record["verdict"], "part_verdict": part["verdict"],
                    "ratio": ratio, "low": min(ends), "high": max(ends),
                    **dict(zip(("effect", "effect_low", "effect_high"), values, strict=True)),
                    "unit": part["unit"], "printed": part["printed"], "margin": part["margin"],
                    "seeds": part["n"], "profile": record["profile"],
                    "place": record["place"], "ours": record["ours"],
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def published_first(effects: pd.DataFrame) -> pd.DataFrame:
    """The `effects` of a paper's own claims; ours where no paper makes any."""
    return effects if effects.empty or effects.ours.all() else effects[~effects.ours]
