"""The locked environment: constraints.txt covers requirements.txt and what that needs, each with hashes."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project_files import ROOT, pins

from tools.install_locked import hashed_entries, locked_entries, name_of, pytorch_pins

LOCK = (ROOT / "constraints.txt").read_text()
ENTRIES = locked_entries(LOCK)
NEWER = "run `make lock`"


def locked_versions() -> dict[str, str]:
    """Package -> version, of the entries that count for this Python and platform."""
    found = [Requirement(entry.split("\\", maxsplit=1)[0]) for entry in ENTRIES]
    found = [one for one in found if one.marker is None or one.marker.evaluate()]
    assert len({one.name for one in found}) == len(found)
    return {one.name: str(one.specifier).removeprefix("==") for one in found}


def installed_requirements(names: list[str]) -> dict[str, Requirement]:
    """All that the installed packages ask for here, extras of other packages left out."""
    found: dict[str, Requirement] = {}
    while names:
        for text in distribution(names.pop()).requires or ():
            needed = Requirement(text)
            name = canonicalize_name(needed.name)
            if name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
                found[name] = needed
                names.append(name)
    return found


def test_the_lock_has_every_pin_at_its_version():
    assert locked_versions() | pins() == locked_versions(), NEWER


def test_the_lock_has_all_that_the_pinned_packages_ask_for():
    try:
        needed = installed_requirements(list(pins()))
    except PackageNotFoundError as absent:
        pytest.skip(f"{absent} is not installed here, so that its requirements are unknown")
    assert len(needed) > 60
    locked = locked_versions()
    assert set(needed) <= set(locked), NEWER
    for name, requirement in needed.items():
        assert requirement.specifier.contains(locked[name], prereleases=True), f"{requirement}: {NEWER}"


def test_every_locked_package_has_hashes_and_no_address():
    assert all("--hash=sha256:" in entry for entry in ENTRIES)
    assert "://" not in LOCK


def test_pytorch_comes_in_whatever_build_the_machine_has():
    assert pytorch_pins(ENTRIES) == [f"torch=={pins()['torch']}", f"torchvision=={pins()['torchvision']}"]


@pytest.mark.parametrize("cuda", [False, True])
def test_cuda_libraries_are_apart_as_not_every_build_asks_for_them(cuda):
    chosen = {name_of(entry) for entry in hashed_entries(ENTRIES, cuda=cuda)}
    libraries = {name for name in map(name_of, ENTRIES) if name.startswith(("nvidia-", "cuda-"))} | {"triton"}
    assert len(libraries) > 10
    everything = {name_of(entry) for entry in ENTRIES} - {"torch", "torchvision"}
    assert chosen == (libraries if cuda else everything - libraries)


def test_make_installs_the_lock():
    recipe = re.search(r"^\$\(STAMP\):(.*)\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "constraints.txt" in recipe[1]
    assert "tools/install_locked.py constraints.txt" in recipe[2]
    assert Path(ROOT / "tools" / "install_locked.py").is_file()
