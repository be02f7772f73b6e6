"""The project's own files agree with each other: pins, ranges, commands, committed notebooks."""

import os
import re
import runpy
import stat
import subprocess
import sys
import tomllib

import pytest
import yaml
from notebook_rules import problems
from order import LONGEST
from packaging.requirements import Requirement
from processes import PATIENCE
from project_files import ROOT, pins

UNPINNED = ("cluster", "croissant", "tracking")  # extras that nothing in the suite needs
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def ranges() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [texts for name, texts in project["optional-dependencies"].items() if name not in UNPINNED]
    return [Requirement(text) for group in (project["dependencies"], *extras) for text in group]


def test_environment_and_requirements_name_the_same_versions():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (by_pip,) = (entry["pip"] for entry in environment if isinstance(entry, dict))
    by_conda = [e.replace("=", "==") for e in environment if isinstance(e, str) and e.split("=")[0] in pins()]
    assert dict(line.split("==") for line in by_pip + by_conda) == pins()


def test_every_range_has_a_pin_inside_it_and_every_pin_a_range():
    assert {requirement.name for requirement in ranges()} == set(pins())
    for requirement in ranges():
        assert requirement.specifier.contains(pins()[requirement.name]), str(requirement)


def make(*arguments: str) -> subprocess.CompletedProcess:
    # The flags of an outer `make test` must not reach this one.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "-C", str(ROOT), "--no-print-directory", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
    )


def test_make_alone_lists_the_commands():
    shown = re.findall(r"^\s+make (\w+)", make().stdout, flags=re.MULTILINE)
    assert {"reproduce", "test", "lab", "bench", "lint", "clean", "help"} <= set(shown)


@pytest.mark.parametrize(
    ("version", "ok"), [("3.10", False), ("3.11", True), ("3.13", True), ("3.14", False)]
)
def test_setup_refuses_other_pythons_in_one_line(tmp_path, version, ok):
    """The interpreter is a script that claims a version and refuses anything but the check."""
    major, minor = version.split(".")
    claim = f"import sys; sys.version_info = ({major}, {minor}, 1, 'final', 0); exec(sys.argv[1])"
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\n[ "$1" = -c ] || exit 7\nexec {sys.executable} -c "{claim}" "$2"\n')
    fake.chmod(0o755)
    done = make("setup", f"PYTHON={fake}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    refused = f"Python {version} found; allowed: 3.11 to 3.13"
    assert (refused not in done.stderr) is ok
    assert not (tmp_path / "venv" / ".installed").exists()


def test_ci_calls_make_test():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert re.search(r"^make test", script.read_text(), flags=re.MULTILINE)


def test_modules_that_are_begun_first_are_there():
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebooks_keep_the_rules(path):
    assert problems(path) == []


def test_an_installation_has_every_committed_data_file(monkeypatch):
    setuptools, given = pytest.importorskip("setuptools"), {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setuptools, "setup", given.update)
    runpy.run_path("setup.py")
    shipped = {path for _, paths in given["data_files"] for path in paths}
    committed = subprocess.run(["git", "ls-files", "data"], capture_output=True, text=True, check=False)
    if committed.returncode:
        pytest.skip("needs a git checkout")
    assert set(committed.stdout.split()) <= shipped
    assert not any(path.startswith("data/cache/") for path in shipped)
