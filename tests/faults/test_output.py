"""Output that is closed, full or read by nobody, and errors that fedlib does not know."""

import os
import subprocess
import sys
from pathlib import Path

import fake_federation
import pytest
from processes import PATIENCE, usual_signals

from fedlib.cli.main import main
from fedlib.experiments.store import Store

FAKE = Path(fake_federation.__file__)
FULL = "/dev/full"


def shell(command, tmp_path, **environment):
    """A shell line in which `fedlib` is the command line, and `fake` that on the fake round loop."""
    call = f"'{sys.executable}' -W error"
    script = f'fedlib() {{ {call} -m fedlib "$@"; }}; fake() {{ {call} \'{FAKE}\' "$@"; }}'
    script = f"set -o pipefail; {script}; {command}"
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "FEDLIB_STORE": str(tmp_path / "runs"), **environment},
        preexec_fn=usual_signals,
    )


def test_a_run_whose_reader_has_gone_is_not_done(tmp_path):
    done = shell("fake run fake/grid --checkpoint-seconds 1000 | head -n 1", tmp_path, FAKE_UNREAD="3")
    assert done.returncode == 141
    assert done.stderr == (
        "fedlib: error: nobody reads the output any more; what was finished is stored, the rest resumes\n"
    )
    store = Store(tmp_path / "runs")
    assert [*store.scan("fake/grid")] == []
    assert [*store.root.glob("fake/grid/groups/*/checkpoint-*.pt")]


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        ("fedlib list > /dev/full", 1, "fedlib: error: cannot write the output: No space left on device\n"),
        ("fedlib --help > /dev/full", 1, "fedlib: error: cannot write the output: No space left on device\n"),
        (
            "fake run fake/grid > /dev/full",
            1,
            "fedlib: error: cannot write the output: No space left on device\n",
        ),
        (
            "fedlib list >&-",
            1,
            "fedlib: error: standard output is closed; allowed: a terminal, a pipe, a file or /dev/null\n",
        ),
        ("fedlib run nonsense 2> /dev/full", 2, ""),
        ("fedlib run nonsense 2>&-", 2, ""),
        ("fedlib list start 2>&- | tail -n 1", 0, ""),
    ],
)
def test_output_that_cannot_be_written_is_one_line(tmp_path, command, status, text):
    if FULL in command and not os.path.exists(FULL):
        pytest.skip(f"no {FULL} on this system")
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr) == (status, text)


def test_a_terminal_of_another_encoding_gets_every_letter(tmp_path):
    done = shell("fake run fake/grid --seeds 2", tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert r" \xb1 0." in done.stdout


def test_an_error_in_code_of_ones_own_shows_its_traceback_and_its_place(tmp_path):
    done = shell("fake run fake/grid", tmp_path, FAKE_TOGETHER="two")
    assert done.returncode == 1
    assert "Traceback (most recent call last):" in done.stderr
    *_, error, last = done.stderr.splitlines()
    assert error == "ValueError: invalid literal for int() with base 10: 'two'"
    place = "fedlib: error: code of yours failed in "
    assert last.startswith(place)
    assert f"of {FAKE}, line " in last
    assert f"{error}; what was finished is stored" in last


def test_an_error_of_fedlib_shows_its_traceback_and_asks_for_a_report(tmp_path):
    broken = "import sys; from fedlib.cli import main, show; show.check = None; sys.exit(main.main())"
    done = shell(f"'{sys.executable}' -c '{broken}' show start/curves --method fedavg", tmp_path)
    assert done.returncode == 1
    *_, error, last = done.stderr.splitlines()
    assert error == "TypeError: 'NoneType' object is not callable"
    assert last.startswith("fedlib: this is a fault of fedlib 0.")
    assert "please report it" in last


def test_figures_need_no_window(tmp_path, monkeypatch):
    fake_federation.install_for(monkeypatch, tmp_path)
    assert main(["run", "fake/grid"]) == 0
    for command in (f"figures fake --out '{tmp_path}'", f"show fake/grid --out '{tmp_path}/grid.png'"):
        done = shell(f"fake {command}", tmp_path, MPLBACKEND="nonsense")
        assert (done.returncode, done.stderr) == (0, "")
