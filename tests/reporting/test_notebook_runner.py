"""The headless runner on tiny notebooks: every way to end, and nothing written over a source."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from processes import PATIENCE, has_ended, usual_signals, wait_for

from fedlib.errors import UsageError
from fedlib.experiments.artifact import PROFILES
from fedlib.processors import cores
from fedlib.reporting import notebook_runner
from fedlib.reporting.notebook_runner import (
    NotebookResult,
    default_jobs,
    find_notebooks,
    load_results,
    run_notebooks,
    save_results,
)

# jupyter_client and ipykernel warn about themselves; none of it is ours to change.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning:(jupyter|nbclient|papermill|zmq|tornado|nbconvert)"
    ),
    pytest.mark.filterwarnings("ignore:Jupyter is migrating:DeprecationWarning"),
]

PARAMETERS = 'profile = "smoke"\nseed = 0'


def write_notebook(path: Path, *cells: str, parameters: str = PARAMETERS) -> Path:
    tagged = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    notebook = new_notebook(cells=[new_markdown_cell("# Tiny"), tagged, *map(new_code_cell, cells)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)
    return path


def run(tmp_path: Path, *paths: Path, **options) -> list[NotebookResult]:
    return run_notebooks(paths, out=tmp_path / "out", say=options.pop("say", lambda line: None), **options)


def texts(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", []))


def kernels() -> list[psutil.Process]:
    """Kernels below this process that have not ended."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [child] if "ipykernel_launcher" in child.cmdline() else []
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """One good run: (result, source, its bytes before, output folder, progress lines)."""
    folder, lines = tmp_path_factory.mktemp("good"), []
    code = 'import os, sys; print(profile, seed, sys.executable, os.getcwd(), os.environ["FEDLIB_TEST_MARK"])'
    source = write_notebook(
        folder / "01_good.ipynb", code, "block = bytearray(300 * 2**20); import time; time.sleep(1)"
    )
    before = source.read_bytes()
    os.environ["FEDLIB_TEST_MARK"] = "passed-through"
    try:
        results = run(folder, source, parameters={"seed": 7}, say=lines.append)
    finally:
        del os.environ["FEDLIB_TEST_MARK"]
    return results[0], source, before, folder / "out", lines


def test_a_good_notebook_gets_parameters_folder_interpreter_and_environment(good):
    result, source, _, out, _ = good
    assert (result.name, result.status, result.error, result.profile) == ("01_good", "ok", "", "smoke")
    printed = texts(out / result.executed).split()
    assert printed == ["smoke", "7", sys.executable, str(source.parent), "passed-through"]


def test_the_source_stays_as_it_was_and_the_copy_lies_in_the_output_folder(good):
    result, source, before, out, _ = good
    assert source.read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == ["01_good.html", "01_good.ipynb", "results.json"]
    assert "passed-through" in (out / result.html).read_text(encoding="utf-8")


def test_seconds_and_peak_memory_are_those_of_the_kernel(good):
    result = good[0]
    assert result.seconds > 1
    assert 300 < result.peak_memory_mib < 1500  # the cell holds 300 MiB for a second


def test_progress_is_plain_lines(good):
    lines = good[4]
    assert lines[0] == "[1/1] 01_good: running at profile smoke"
    assert lines[-1].startswith("[1/1] 01_good: ok in ")


def test_a_failure_does_not_stop_the_next_notebook(tmp_path):
    bad = write_notebook(
        tmp_path / "01_bad.ipynb", "1 + 1", "raise ValueError('two\\nlines')", "print('after')"
    )
    fine = write_notebook(tmp_path / "02_fine.ipynb", "print('reached')")
    first, second = run(tmp_path, bad, fine)
    assert (first.status, first.error) == ("failed", "In [4]: ValueError: two lines")
    assert second.status == "ok"
    assert load_results(tmp_path / "out") == [first, second]


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_dead_kernel_is_told_by_the_result(tmp_path, end):
    (result,) = run(
        tmp_path, write_notebook(tmp_path / "01_dead.ipynb", f"import os; {end}", "print('after')")
    )
    assert result.status == "dead"
    assert "the kernel died in In [3]" in result.error


def test_a_cell_over_the_time_limit_ends_the_notebook_and_its_kernel(tmp_path):
    path = write_notebook(tmp_path / "01_slow.ipynb", "import time; time.sleep(600)")
    (result,) = run(tmp_path, path, timeout=4)
    assert (result.status, result.error) == ("timeout", "In [3] ran longer than 4 s")
    assert not kernels()


def test_a_notebook_that_leaves_early_with_status_0_is_not_ok(tmp_path):
    path = write_notebook(tmp_path / "01_exit.ipynb", "import sys; sys.exit(0)", "assert False")
    (result,) = run(tmp_path, path)
    assert (result.status, result.error) == ("failed", "stopped after In [3]; 1 cells did not run")


def test_unknown_parameters_are_refused_before_anything_runs(tmp_path):
    first = write_notebook(tmp_path / "01_a.ipynb", "print(1)", parameters=PARAMETERS + "\nrounds = 2")
    second = write_notebook(tmp_path / "02_b.ipynb", "print(1)")
    with pytest.raises(UsageError, match=r"02_b.ipynb: unknown parameter 'rounds'.*allowed: profile, seed"):
        run(tmp_path, first, second, parameters={"rounds": 3})
    assert not (tmp_path / "out").exists()


def test_a_notebook_without_parameters_cell_takes_no_profile(tmp_path):
    path = write_notebook(tmp_path / "01_a.ipynb", parameters="# nothing")
    with pytest.raises(UsageError, match="unknown parameter 'profile'"):
        run(tmp_path, path)


def test_wrong_profile_file_and_folder_are_told_in_one_line(tmp_path):
    path = write_notebook(tmp_path / "01_a.ipynb")
    with pytest.raises(UsageError, match=r"unknown profile 'smok' \(did you mean 'smoke'\?\)"):
        run_notebooks([path], "smok", out=tmp_path / "out")
    with pytest.raises(UsageError, match=r"no notebook '.*03_no\.ipynb'"):
        run(tmp_path, tmp_path / "03_no.ipynb")
    with pytest.raises(UsageError, match="cell timeout 0 s given; allowed: 1 or more"):
        run(tmp_path, path, timeout=0)
    with pytest.raises(UsageError, match="would overwrite their sources"):
        run_notebooks([path], out=tmp_path)
    broken = tmp_path / "04_broken.ipynb"
    broken.write_text("{not json")
    with pytest.raises(UsageError, match=r"04_broken\.ipynb is not a notebook with kernel python3"):
        run(tmp_path, broken)
    assert not (tmp_path / "out").exists()


def test_notebooks_are_found_by_paper_stem_or_path(tmp_path):
    names = ("00_start_here", "01_feddrl", "03_fedddrl", "04_frl_report", "notes")
    for name in names:
        write_notebook(tmp_path / f"{name}.ipynb")

    def stems(*keys):
        return [path.stem for path in find_notebooks(keys, tmp_path)]

    assert stems() == list(names[:4])
    assert stems("frl", "start") == ["04_frl_report", "00_start_here"]
    assert stems("feddrl", "01_feddrl", tmp_path / "01_feddrl.ipynb") == ["01_feddrl"]
    with pytest.raises(UsageError, match=r"unknown notebook 'fedrl'.*did you mean 'feddrl'"):
        stems("fedrl")
    with pytest.raises(UsageError, match="no notebook"):
        find_notebooks((), tmp_path / "empty")


def test_notebooks_side_by_side_share_the_processors_and_keep_their_order(tmp_path):
    """The first waits for a file of the second; neither changes this process's folder."""
    threads = "import os, torch; print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads())"
    wait = "import pathlib, time\nwhile not pathlib.Path('second').exists(): time.sleep(0.05)"
    first = write_notebook(tmp_path / "01_first.ipynb", threads, wait)
    second = write_notebook(tmp_path / "02_second.ipynb", threads, "open('second', 'w').close()")
    here = os.getcwd()
    results = run(tmp_path, first, second, jobs=2, timeout=100)
    assert [(result.name, result.status) for result in results] == [("01_first", "ok"), ("02_second", "ok")]
    assert load_results(tmp_path / "out") == results
    assert os.getcwd() == here
    share = os.environ.get("OMP_NUM_THREADS", str(max(1, cores() // 2)))
    for result in results:
        assert texts(tmp_path / "out" / result.executed).split() == [share, share]


def test_only_smoke_runs_notebooks_side_by_side(monkeypatch, tmp_path):
    monkeypatch.setattr(notebook_runner, "cores", lambda: 16)
    assert {profile: default_jobs(profile) for profile in PROFILES} == {
        "smoke": 2,
        "reduced": 1,
        "extended": 1,
        "paper": 1,
    }
    monkeypatch.setattr(notebook_runner, "cores", lambda: 1)
    assert default_jobs("smoke") == 1
    with pytest.raises(UsageError, match="0 notebooks at once given; allowed: 1 or more"):
        run(tmp_path, write_notebook(tmp_path / "01_a.ipynb"), jobs=0)


def test_results_of_other_notebooks_stay_in_the_file(tmp_path):
    def result(name, seconds):
        return NotebookResult(name=name, profile="smoke", status="ok", seconds=seconds, peak_memory_mib=1.0)

    save_results([result("02_b", 1.0), result("01_a", 2.0)], tmp_path)
    save_results([result("02_b", 3.0)], tmp_path)
    assert [(r.name, r.seconds) for r in load_results(tmp_path)] == [("01_a", 2.0), ("02_b", 3.0)]
    assert json.loads((tmp_path / "results.json").read_text())[0]["status"] == "ok"


_COMMAND = """
import pathlib, sys
from fedlib.cli.main import main
from fedlib.reporting import notebook_runner
notebook_runner.notebooks_folder = lambda: pathlib.Path.cwd()
notebook_runner.output_folder = lambda: pathlib.Path.cwd() / "out"
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("notebooks", signal.SIGINT),
        ("notebooks", signal.SIGTERM),
        ("reproduce", signal.SIGHUP),
        ("notebooks", signal.SIGKILL),
    ],
)
def test_a_signal_ends_the_command_and_its_kernel(tmp_path, command, number):
    """Two notebooks run; the third never starts."""
    for name in ("01_slow", "02_slow", "03_slow"):
        code = f"import os, time; open('{name}', 'w').write(str(os.getpid()))\ntime.sleep(600)"
        write_notebook(tmp_path / f"{name}.ipynb", code, parameters=PARAMETERS + '\nshown = "mine"')
    words = [sys.executable, "-c", _COMMAND, command, "--jobs", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(words, cwd=tmp_path, preexec_fn=usual_signals, **pipes)
    marks = [tmp_path / "01_slow", tmp_path / "02_slow"]
    wait_for(lambda: all(mark.is_file() and mark.read_text() for mark in marks), process)
    kernels = [int(mark.read_text()) for mark in marks]
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert "03_slow" not in stdout
    if number == signal.SIGKILL:  # the kernel notices by itself
        assert process.returncode == -number
        wait_for(lambda: all(map(has_ended, kernels)))
    else:
        assert (process.returncode, stderr) == (130, _LINE)
        assert all(map(has_ended, kernels))


_LINE = "fedlib: interrupted; what was finished is stored, the rest resumes\n"


def test_kernels_start_without_a_word(tmp_path, capfd):
    """Not one line of ipykernel's own on standard error, which `make reproduce` would show four times."""
    (result,) = run(tmp_path, write_notebook(tmp_path / "01_quiet.ipynb"))
    assert result.status == "ok"
    assert capfd.readouterr() == ("", "")
