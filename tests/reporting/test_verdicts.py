"""Verdicts as records: the cache follows the rows, effects scale to the paper's; which rows decide."""

import math
import os
import re
import subprocess
import sys

import fake_federation
import pandas as pd
import pytest

from fedlib import papers
from fedlib.analysis.claims import Claim, Part, Verdict
from fedlib.errors import UsageError
from fedlib.experiments.provenance import source_files
from fedlib.papers import PAPERS, claims, find_artifact
from fedlib.paths import REPOSITORY
from fedlib.reporting import verdict_cache, verdicts


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    """A project of its own, so that no cache of the checkout is read or written."""
    for module in ("fedlib.reporting.verdict_cache",):
        monkeypatch.setattr(f"{module}.project_root", lambda: tmp_path)
        monkeypatch.setattr(f"{module}.results_folder", lambda: tmp_path / "data" / "results")
    (tmp_path / "data" / "results").mkdir(parents=True)


def test_the_cache_follows_rows_profile_and_store(tmp_path):
    first = verdict_cache.fingerprint("feddrl", None, tmp_path / "store")
    assert verdict_cache.fingerprint("feddrl", None, tmp_path / "store") == first
    assert verdict_cache.fingerprint("frl", None, tmp_path / "store") != first
    assert verdict_cache.fingerprint("feddrl", "smoke", tmp_path / "store") != first
    assert verdict_cache.fingerprint("feddrl", None, tmp_path / "another store") == first
    (tmp_path / "data" / "results" / "feddrl").mkdir()
    start = verdict_cache.fingerprint("start", None, tmp_path / "store")
    (tmp_path / "data" / "results" / "feddrl" / "table3-reduced.csv").write_text("round\n")
    assert (
        verdict_cache.fingerprint("start", None, tmp_path / "store") != start
    )  # its claims may rest on them
    second = verdict_cache.fingerprint("feddrl", None, tmp_path / "store")
    assert second != first
    other = verdict_cache.fingerprint("frl", None, tmp_path / "store")
    run = tmp_path / "store" / "feddrl" / "table3" / "abc"
    run.mkdir(parents=True)
    (run / "summary.json").write_text("{}")
    third = verdict_cache.fingerprint("feddrl", None, tmp_path / "store")
    assert third != second
    assert verdict_cache.fingerprint("frl", None, tmp_path / "store") == other
    smoke = run.with_name("of smoke")
    smoke.mkdir()
    (smoke / "run.json").write_text('{"profile": "smoke"}')
    (smoke / "summary.json").write_text("{}")
    (run.parent / "kept-smoke.csv").write_text("round\n")
    assert verdict_cache.fingerprint("feddrl", None, tmp_path / "store") == third  # they decide nothing
    at_smoke = verdict_cache.fingerprint("feddrl", "smoke", tmp_path / "store")
    (run.parent / "kept-smoke.csv").write_text("round\n1\n")
    assert verdict_cache.fingerprint("feddrl", "smoke", tmp_path / "store") != at_smoke


def test_the_records_of_all_papers_are_those_of_each(monkeypatch, tmp_path):
    decided = []

    def decide(paper, **options):
        decided.append(paper)
        return [(claim, Verdict("supported", "")) for claim in claims(paper)]

    monkeypatch.setattr(verdicts, "decide_claims", decide)
    assert verdict_cache.known(None, None, tmp_path) is None
    assert len(verdicts.records("frl", store=tmp_path)) == len(claims("frl"))
    names = [record["claim"] for record in verdicts.records(store=tmp_path)]
    assert names == [claim.id for claim in claims()]
    assert sorted(decided) == sorted(PAPERS)  # each once
    assert [record["claim"] for record in verdict_cache.known(None, None, tmp_path)] == names


@pytest.mark.parametrize("given", ["", "a file"])
def test_a_store_that_is_no_folder_is_refused_though_verdicts_are_kept(tmp_path, monkeypatch, given):
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path / "runs"))
    (tmp_path / "a file").touch()
    verdict_cache.keep(verdict_cache.fingerprint("start", None, None), [{"claim": "START-C1"}])
    assert verdict_cache.known("start", None, None) == [{"claim": "START-C1"}]
    with pytest.raises(UsageError, match=r"the run store '.*' is not a folder"):
        verdict_cache.known("start", None, given and str(tmp_path / given))


def test_records_are_kept_and_a_damaged_file_counts_as_none(tmp_path):
    assert verdict_cache.read("key") is None
    verdict_cache.keep("key", [{"claim": "A"}])
    assert verdict_cache.read("key") == [{"claim": "A"}]
    (tmp_path / "build" / "verdicts" / "key.json").write_text("{")
    assert verdict_cache.read("key") is None


def test_records_that_cannot_be_kept_are_no_error(tmp_path):
    (tmp_path / "build").write_text("a file where the folder would be")
    verdict_cache.keep("key", [{"claim": "A"}])
    assert verdict_cache.read("key") is None


def test_only_the_latest_are_kept(tmp_path):
    for number in range(verdict_cache.MOST_KEPT + 5):
        verdict_cache.keep(str(number), [])
    assert len(list((tmp_path / "build" / "verdicts").glob("*.json"))) == verdict_cache.MOST_KEPT


def test_a_file_that_another_process_drops_meanwhile_is_no_error(tmp_path):
    verdict_cache.keep("one", [])
    (tmp_path / "build" / "verdicts" / "gone.json").symlink_to("nowhere")
    verdict_cache.keep("two", [{"claim": "A"}])
    assert verdict_cache.read("two") == [{"claim": "A"}]


def test_a_verdict_is_computed_once(monkeypatch, tmp_path):
    calls = []

    def decide(*arguments, **options):
        calls.append(arguments)
        return [(fake_federation.CLAIMS[0], Verdict("supported", "2 seeds", profile="smoke"))]

    monkeypatch.setattr(verdicts, "decide_claims", decide)
    for _ in range(2):
        table = verdicts.verdict_table("fake", store=tmp_path)
    assert len(calls) == 1
    assert table[["claim", "verdict", "profile", "kind"]].to_numpy().tolist() == [
        ["FAKE-C1", "supported", "smoke", "arithmetic"]
    ]


def part(**given):
    usual = {"part": "A - B", "unit": "points", "kind": "superiority", "verdict": "supported", "margin": 1.0}
    return usual | {"mean": 3.0, "low": 2.0, "high": 4.0, "n": 3, "printed": 2.0} | given


def test_effects_are_scaled_so_that_1_is_the_paper(monkeypatch):
    found = [{
        "claim": "X-C1", "verdict": "supported", "profile": "reduced", "place": "table 1", "ours": False,
        "effects": [part(), part(printed=-2.0), part(printed=None), part(low=None, high=None, n=1)],
    }]  # fmt: skip
    monkeypatch.setattr(verdicts, "records", lambda *_, **__: found)
    table = verdicts.effects()
    assert table[["ratio", "low", "high"]].to_numpy()[:2].tolist() == [[1.5, 1.0, 2.0], [-1.5, -2.0, -1.0]]
    assert table.ratio.isna().tolist() == [False, False, True, False]
    assert math.isnan(table.low[3])
    assert (table.claim == "X-C1").all()


def test_a_papers_own_claims_are_shown_first_and_ours_where_it_makes_none():
    both = pd.DataFrame({"claim": ["X-C1", "X-R1"], "ours": [False, True]})
    assert verdicts.published_first(both).claim.tolist() == ["X-C1"]
    assert verdicts.published_first(both[both.ours]).claim.tolist() == ["X-R1"]
    assert verdicts.published_first(pd.DataFrame()).empty


CLAIM = Claim(
    id="FAKE-C2", statement="", place="", artifact="fake/first", fallback=("fake/second",),
    parts=(Part(what="a", estimand=lambda rows: rows.set_index("seed").value),),
)  # fmt: skip


def rows_of(*values):
    return pd.DataFrame({"seed": range(len(values)), "value": values})


def decided(monkeypatch, frames, whole):
    monkeypatch.setattr(verdicts, "is_whole", lambda name, profile, rows: (name, profile) in whole)
    load = lambda name, profile: frames.get((name, profile), pd.DataFrame())  # noqa: E731
    return verdicts.decide(CLAIM, ["paper", "reduced"], load)


def test_the_largest_complete_grid_decides_and_a_fallback_where_it_cannot(monkeypatch):
    good = rows_of(1.0, 1.1, 1.2)
    frames = {("fake/first", "paper"): good, ("fake/first", "reduced"): -good}
    whole = {("fake/first", "reduced")}
    found = decided(monkeypatch, frames, whole)
    assert (found.profile, found.verdict) == ("reduced", "not supported")
    assert decided(monkeypatch, frames, {*whole, ("fake/first", "paper")}).profile == "paper"
    one_seed = {("fake/first", "reduced"): rows_of(1.0), ("fake/second", "reduced"): good}
    assert decided(monkeypatch, one_seed, set(one_seed)).verdict == "supported"
    alone = {("fake/first", "reduced"): rows_of(1.0)}
    assert decided(monkeypatch, alone, set(alone)).verdict == "not testable here"
    no_cells = {("fake/first", "paper"): good.drop(columns="value").assign(value=float("nan")), **alone}
    assert decided(monkeypatch, no_cells, set(no_cells)).profile == "reduced"  # with its number
    assert decided(monkeypatch, {}, set()).verdict == "not run"
    begun = {("fake/first", "reduced"): good.drop(columns="value").assign(value=float("nan"))}
    assert decided(monkeypatch, begun, set()).verdict == "not run"  # of a grid that is not complete
    assert decided(monkeypatch, begun, set(begun)).verdict == "not testable here"


def test_rows_of_smaller_profiles_are_not_read_where_the_largest_decides(monkeypatch):
    monkeypatch.setattr(verdicts, "is_whole", lambda *_: True)
    read = []

    def load(name, profile):
        read.append((name, profile))
        return rows_of(1.0, 1.1, 1.2)

    assert verdicts.decide(CLAIM, ["paper", "reduced"], load).profile == "paper"
    assert set(read) == {("fake/first", "paper")}


def test_of_begun_grids_the_one_with_the_larger_share_is_shown(monkeypatch):
    shares = {"extended": 0.2, "reduced": 0.6, "smoke": 1.0}
    monkeypatch.setattr(papers, "share_computed", lambda name, profile, rows: shares[profile])

    def load(name, profile):
        return pd.DataFrame({"round": [1]} if profile in shares else {})

    assert papers.largest("fake/grid", load) == "reduced"
    shares["extended"] = 1.0
    assert papers.largest("fake/grid", load) == "extended"
    shares = {"smoke": 1.0}
    assert papers.largest("fake/grid", load) == "smoke"
    assert papers.largest("fake/grid", lambda name, profile: pd.DataFrame()) == "smoke"


def test_a_grid_is_complete_with_its_own_seeds_only():
    """`start/curves` plans seeds 0 to 2; one of its groups has three others in their place."""
    runs = find_artifact("start/curves").runs("reduced")
    rows = pd.DataFrame({"group": run.group_key, "seed": seed} for run in runs for seed in range(3))
    assert papers.share_computed("start/curves", "reduced", rows) == 1
    other = rows["group"] == runs[0].group_key
    rows.loc[other, "seed"] += 100
    assert papers.share_computed("start/curves", "reduced", rows) == pytest.approx(1 - 1 / len(runs))


def test_rows_of_smaller_profiles_are_not_asked_for_where_a_grid_is_complete(monkeypatch):
    monkeypatch.setattr(papers, "share_computed", lambda name, profile, rows: 1.0)
    asked = []

    def load(name, profile):
        asked.append(profile)
        return pd.DataFrame({"value": [1.0]} if profile != "paper" else {})

    assert papers.largest("fake/computed", load) == "extended"
    assert asked == ["paper", "extended"]


def test_a_supplement_without_the_deciding_profile_tells_of_its_largest():
    """`feddrl/paper_length` has no `reduced`: rows of `extended` stand beside, smoke rows never do."""
    long = pd.DataFrame({"group": ["one"], "seed": [0], "of": ["extended"]})
    stored = {"extended": long, "smoke": long.assign(of="smoke")}

    def load(name, profile):
        return stored.get(profile, pd.DataFrame())

    beside = verdicts._beside("feddrl/paper_length", "reduced", load)
    assert beside.of.tolist() == ["extended"]
    del stored["extended"]
    assert verdicts._beside("feddrl/paper_length", "reduced", load).empty
    assert verdicts._beside("feddrl/table3", "smoke", load).of.tolist() == ["smoke"]


def test_verdicts_depend_on_settings_that_are_kept_as_json(tmp_path, monkeypatch):
    files = source_files(REPOSITORY / "fedlib")
    assert REPOSITORY / "fedlib" / "papers" / "head_to_head" / "settings.json" in files
    assert any(path.name == "claims.py" for path in files)
    before = verdict_cache.fingerprint("head_to_head", None, tmp_path)
    monkeypatch.setattr(verdict_cache, "source_digest", lambda without: "of other source")
    assert verdict_cache.fingerprint("head_to_head", None, tmp_path) != before


def test_modules_that_show_verdicts_take_no_part_in_deciding_them():
    """Their source is left out of the key: what claims import must not be among them."""
    code = (
        "import importlib, sys; from fedlib.papers import PAPERS; import fedlib.reporting.verdicts\n"
        "for paper in PAPERS: importlib.import_module(f'fedlib.papers.{paper}.claims')\n"
        "print(*sorted(name for name in sys.modules if name.startswith('fedlib.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    paths = [name.removeprefix("fedlib.").replace(".", "/") + ".py" for name in done.stdout.split()]
    assert "reporting/verdicts.py" in paths
    showing = {path for path in paths if re.match(verdict_cache.SHOWING, path)}
    assert showing <= {"reporting/verdict_cache.py"}


def test_the_key_follows_what_files_hold_and_not_when_they_were_written(tmp_path):
    rows = tmp_path / "data" / "results" / "frl" / "fig9-reduced.parquet"
    rows.parent.mkdir()
    rows.write_text("one")
    first = verdict_cache.fingerprint("frl", None, tmp_path)
    os.utime(rows, (1, 1))
    assert verdict_cache.fingerprint("frl", None, tmp_path) == first
    rows.write_text("two")
    assert verdict_cache.fingerprint("frl", None, tmp_path) != first


def test_shipped_records_are_read_by_their_key_alone(tmp_path):
    key = verdict_cache.fingerprint("frl", None, tmp_path)
    path = verdict_cache.ship({key: [{"claim": "A"}, {"claim": "B"}], "of another tree": []})
    assert '{"claim": "A"},' in path.read_text().splitlines()  # a claim a line, for diffs
    assert verdict_cache.fingerprint("frl", None, tmp_path) == key  # the file is no row
    assert verdict_cache.known("frl", None, tmp_path) == [{"claim": "A"}, {"claim": "B"}]
    verdict_cache.keep(key, [{"claim": "decided here"}])
    assert verdict_cache.known("frl", None, tmp_path) == [{"claim": "decided here"}]
    assert verdict_cache.read("another") is None
