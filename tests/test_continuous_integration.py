"""The workflow and the pre-commit hooks: parsed, and each of their commands executed on small input."""

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import kernel_start
import nbformat
import pytest
import yaml
from jupyter_client.connect import LocalPortCache
from nbval.kernel import CURRENT_ENV_KERNEL_NAME
from processes import PATIENCE
from project_files import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
JOB = WORKFLOW["jobs"]["test"]
COMMANDS = [step["run"] for step in JOB["steps"] if "run" in step]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
BIN = Path(sys.executable).parent


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess:
    outer = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(
        command,
        cwd=ROOT,
        env=outer | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def make(target: str, *settings: str, tools: Path = BIN, **environment: str) -> subprocess.CompletedProcess:
    """`make TARGET` with the tools of this interpreter; the environment counts as set up."""
    assert f"make {target}" in COMMANDS
    return run(["make", "-o", ".venv/.installed", target, f"BIN={tools}", *settings], **environment)


def stand_ins(folder: Path, *names: str) -> Path:
    """Tools of this interpreter; those of `names` only say that they ran, with what."""
    folder.mkdir()
    for name in ("python", "ruff", *names):
        path = folder / name
        path.write_text(f'#!/bin/sh\n{f"echo {name} ran" if name in names else f"exec {BIN / name}"} "$@"\n')
        path.chmod(0o755)
    return folder


def notebook(path: Path, source: str = "print(1)", **metadata: list[str]) -> Path:
    """A notebook of one executed cell that printed 1."""
    output = nbformat.v4.new_output("stream", name="stdout", text="1\n")
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1, metadata=metadata)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[cell], metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
        ),
        path,
    )
    return path


def test_the_workflow_runs_the_commands_of_make_test():
    parts = re.search(r"^PARTS := (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert COMMANDS[0] == "make setup PYTHON=python"
    assert sorted(COMMANDS[1:]) == sorted(f"make {part}" for part in parts)


def test_make_test_runs_every_part():
    """What it would run, the makes that it calls included."""
    done = run(["make", "-n", "-o", ".venv/.installed", "test"])
    assert done.returncode == 0
    for command in ("ruff check .", "mypy", "lint-imports", "--nbval-lax", "--dist loadscope"):
        assert command in done.stdout


def test_the_workflow_covers_the_oldest_and_the_newest_python():
    allowed = re.search(r"allowed: (3\.\d+) to (3\.\d+)", (ROOT / "Makefile").read_text())
    assert JOB["strategy"]["matrix"]["python"] == [allowed[1], allowed[2]]
    assert WORKFLOW[True]["push"]["branches"] == ["main"]  # YAML 1.1 reads `on` as true


def test_setup_is_given_the_interpreter_of_the_matrix():
    done = run(["make", "-n", "-B", *COMMANDS[0].split()[1:], "VENV=/nowhere/venv"])
    assert done.returncode == 0
    assert "python -m venv /nowhere/venv" in done.stdout
    assert "/nowhere/venv/bin/python tools/install_locked.py constraints.txt" in done.stdout


def test_lint_runs_ruff_and_the_notebooks_rules(tmp_path):
    """The layers of imports and the types, which take longest, are checked by `make lint` itself."""
    good = notebook(tmp_path / "good.ipynb", tags=["keep_output"])
    bad = notebook(tmp_path / "bad.ipynb", source="%cd /tmp")
    tools = stand_ins(tmp_path / "bin", "lint-imports", "mypy")
    done = make("lint", f"NOTEBOOKS={good} {bad}", tools=tools)
    assert done.returncode != 0
    for told in ("All checks passed!", "lint-imports ran --no-logo", "mypy ran"):
        assert told in done.stdout
    broken = re.findall(r"^(\S+), cell 0: (.*)", done.stdout, re.MULTILINE)
    assert broken == [(str(bad), "shell or magic command")]
    assert "outputs outside keep_output cells" in done.stdout


def test_unit_runs_pytest_on_the_tests():
    only = f"--ignore-glob={ROOT}/tests/*/* --ignore-glob={ROOT}/tests/test_[!e]*"
    chosen = f"--co --noconftest -p no:cacheprovider {only}"
    done = make("unit", PYTEST_ADDOPTS=chosen)
    assert done.returncode == 0, done.stdout
    assert "tests/test_environment.py::test_make_installs_the_lock" in done.stdout


def test_notebooks_runs_nbval_on_each(tmp_path):
    good, bad = notebook(tmp_path / "good.ipynb"), notebook(tmp_path / "bad.ipynb", source="1 / 0")
    done = make("notebooks", f"NOTEBOOKS={good} {bad}")
    assert done.returncode != 0
    assert re.search(r"^1 failed, 1 passed", done.stdout, re.MULTILINE)


def test_a_kernel_whose_port_was_taken_is_started_once_more(monkeypatch):
    taken = socket.create_server(("127.0.0.1", 0))
    find, found = LocalPortCache.find_available_port, []

    def once_taken(cache, ip):
        found.append(find(cache, ip) if found else taken.getsockname()[1])
        return found[-1]

    monkeypatch.setattr(LocalPortCache, "find_available_port", once_taken)
    with taken, pytest.warns(UserWarning, match="died .* Address already in use.* started once more"):
        manager, client = kernel_start.start_new_kernel(kernel_name=CURRENT_ENV_KERNEL_NAME)
    assert manager.is_alive()
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def hook(name: str, *files: Path) -> subprocess.CompletedProcess:
    (entry,) = (hook["entry"] for hook in HOOKS if hook["id"] == name)
    program, *arguments = shlex.split(entry)
    return run([str(BIN / Path(program).name), *arguments, *map(str, files)])


def test_the_hooks_use_the_tools_of_the_lock():
    assert [one["id"] for one in HOOKS] == ["ruff-check", "ruff-format", "nbstripout"]
    assert all(one["language"] == "system" and one["entry"].startswith(".venv/bin/") for one in HOOKS)


def test_ruffs_hooks_mend_a_file(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("import os\nx = {'a':1}\n")
    assert hook("ruff-check", path).returncode == 0
    assert hook("ruff-format", path).returncode == 0
    assert path.read_text() == 'x = {"a": 1}\n'


def test_nbstripouts_hook_keeps_only_tagged_outputs(tmp_path):
    tagged, plain = notebook(tmp_path / "a.ipynb", tags=["keep_output"]), notebook(tmp_path / "b.ipynb")
    assert hook("nbstripout", tagged, plain).returncode == 0
    cells = [nbformat.read(path, as_version=4).cells[0] for path in (tagged, plain)]
    assert [len(cell.outputs) for cell in cells] == [1, 0]
