"""Runs that another commit began: refused by default, marked where they are resumed."""

import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import fake_federation
import pytest
from fake_federation import BASE, Stop

from fedlib.analysis.tables import provenance_line
from fedlib.cli.main import main
from fedlib.errors import UsageError
from fedlib.experiments import provenance, runner
from fedlib.experiments.progress import Silent
from fedlib.experiments.results import load_rows
from fedlib.experiments.store import Store
from fedlib.papers import find_artifact

A, B = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)


@pytest.fixture
def at(monkeypatch):
    """Go on as another commit, with other sources or versions."""

    def put(commit=A, source="1" * 16, dirty=False, **versions):
        monkeypatch.setattr(provenance, "commit", lambda: {"commit": commit, "dirty": dirty})
        monkeypatch.setattr(provenance, "source_digest", lambda: source)
        monkeypatch.setattr(provenance, "versions", lambda: {"fedlib": "0", "torch": "2", **versions})

    return put


@pytest.fixture
def begun(at):
    at(A)
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs([BASE], device="cpu", progress=Stop(3), checkpoint_seconds=0.0)


def compute(**options):
    return runner.run_runs([BASE], device="cpu", progress=Silent(), **options)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ({"commit": B}, "begun at commit aaaaaaaaaa (now bbbbbbbbbb)"),
        ({"source": "2" * 16, "dirty": True}, "commit aaaaaaaaaa with other changes in fedlib's source"),
        ({"torch": "3"}, r"begun at torch 2 (now 3)"),
    ],
)
def test_run_refuses_what_other_code_began(begun, at, capsys, now, told):
    at(**now)
    assert main(["run", "fake/grid", "--seeds", "1", "--method", "fedavg"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error
    assert "--resume-across-commits" in error


def test_a_paper_is_refused_before_its_first_artifact_is_computed(begun, at, capsys, monkeypatch):
    grid = fake_federation.ARTIFACTS[0]
    first = replace(grid, id="fake/first", runs=lambda profile: [replace(BASE, artifact="first")])
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (first, grid))
    at(B)
    assert main(["run", "fake", "--seeds", "1"]) == 2
    assert "--resume-across-commits" in capsys.readouterr().err
    assert Store().get(replace(BASE, artifact="first")) is None


def test_rows_that_two_commits_computed_are_marked(begun, at):
    at(B, torch="3")
    (stored,) = compute(resume_across_commits=True).runs
    assert [segment["commit"] for segment in stored.provenance["segments"]] == [A, B]
    assert [segment["versions"]["torch"] for segment in stored.provenance["segments"]] == ["2", "3"]
    rows = load_rows(find_artifact("fake/grid"), profile="smoke", store=Store())
    assert set(rows["commit"]) == {f"{A} then {B}"}
    assert set(rows["torch"]) == {"2 then 3"}
    assert provenance_line(rows).endswith("torch 2 then 3; commit aaaaaaaaaa then bbbbbbbbbb")


def test_the_same_commit_resumes_and_marks_nothing(begun, at):
    at(A)
    compute()
    assert set(load_rows(find_artifact("fake/grid"), profile="smoke", store=Store())["commit"]) == {A}


def test_a_stored_run_needs_no_permission(at):
    at(A)
    compute()
    at(B)
    assert compute().computed == 0


def test_a_checkpoint_that_names_no_commit_is_of_an_unknown_one(begun, at, monkeypatch):
    (path,) = [*Store().root.glob("fake/grid/groups/*/checkpoint-2.pt")]
    path.with_name("checkpoint-3.pt").unlink()
    header, _, payload = path.read_bytes().partition(b"\n")
    path.write_bytes(header.replace(b'"code"', b'"other"') + b"\n" + payload)
    with pytest.raises(UsageError, match="begun at an unknown commit"):
        compute()


@pytest.fixture
def forgotten():
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


def test_a_checkout_of_another_user_is_unknown_with_one_warning(forgotten, monkeypatch):
    monkeypatch.delenv("FEDLIB_COMMIT", raising=False)
    words = "fatal: detected dubious ownership in repository at '/x'"

    def refuse(command, **options):
        raise subprocess.CalledProcessError(128, command, stderr=words)

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.warns(UserWarning, match="git refuses to read .*safe.directory") as caught:
        assert provenance.commit() == {"commit": "unknown", "dirty": None}
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert provenance.commit()["commit"] == "unknown"


@pytest.mark.parametrize(("named", "found"), [("abc", ("abc", None)), (A[:9], (A, False)), ("", (A, False))])
def test_a_named_commit_takes_the_place_of_another_one_of_git(forgotten, monkeypatch, named, found):
    """On a lent machine the history beside a copy can be older than its files."""
    monkeypatch.setenv("FEDLIB_COMMIT", named)
    monkeypatch.setattr(provenance, "_git", lambda folder, command, *_: A if command == "rev-parse" else "")
    assert provenance.commit() == {"commit": found[0], "dirty": found[1]}


def test_git_itself_says_dubious_ownership_where_the_owner_is_another(tmp_path):
    """What git says is not ours: this test notices when its words change."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(
        ["git", "-C", tmp_path, "status"], capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "LC_ALL": "C"},
    )  # fmt: skip
    assert "dubious ownership" in done.stderr


def test_the_source_digest_is_of_the_modules_that_run():
    code = "from fedlib.experiments.provenance import source_digest; print(source_digest())"
    folder = Path(provenance.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.strip() == provenance.source_digest()


def test_the_source_digest_is_of_data_too_and_not_of_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance.fedlib, "__file__", str(tmp_path / "__init__.py"))

    def digest_with(name, content, without=""):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return provenance.source_digest.__wrapped__(without)

    module = digest_with("paper/runs.py", "ROUNDS = 3")
    settings = digest_with("paper/settings.json", '{"mu": 0.1}')
    assert len({module, settings, digest_with("paper/settings.json", '{"mu": 0.2}')}) == 3
    last = digest_with("paper/settings.json", '{"mu": 0.1}')
    assert last == settings
    for name in ("paper/__pycache__/runs.cpython-312.pyc", "paper/.runs.py.swp", "paper/page.html"):
        assert digest_with(name, "anything") == settings
    assert digest_with("paper/table.csv", "1", without="paper/table") == settings
    assert digest_with("paper/table.csv", "1") != settings
