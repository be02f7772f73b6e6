"""Install what constraints.txt locks into the environment of the Python that runs this script.

    python tools/install_locked.py [constraints.txt]

PyTorch comes first, in the build that pip finds (CPU or CUDA): its version is locked and its hash is
not, as each build has another. All other packages are installed with their hashes checked. The CUDA
libraries are left out where the build of PyTorch does not ask for them. Needs nothing but pip.
"""

import compileall
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import requires
from pathlib import Path

BUILT_APART = ("torch", "torchvision")
CUDA = re.compile(r"(nvidia|cuda|triton)\b")


def locked_entries(text: str) -> list[str]:
    """The entries of a constraints file, with their continuation lines.

    A package has several entries where its version depends on Python's.
    """
    return re.findall(r"^[A-Za-z0-9].*(?:\n[ \t].*)*", text, flags=re.MULTILINE)


def name_of(entry: str) -> str:
    return entry.split("==", maxsplit=1)[0]


def pytorch_pins(entries: list[str]) -> list[str]:
    """`name==version` of the packages whose build depends on the machine."""
    return [entry.split()[0] for entry in entries if name_of(entry) in BUILT_APART]


def hashed_entries(entries: list[str], *, cuda: bool) -> list[str]:
    """The entries of the CUDA libraries, or all others but PyTorch's."""
    hashed = [entry for entry in entries if name_of(entry) not in BUILT_APART]
    return [entry for entry in hashed if cuda == bool(CUDA.match(name_of(entry)))]


def pip_install(*arguments: str) -> None:
    """`pip install` without dependencies, as the lock is complete, and without bytecode: see below."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
    ]
    subprocess.run([*command, *arguments], check=True)


def compile_packages() -> None:
    """Bytecode of all packages but their tests, on all cores: half the time that pip takes one by one.

    Without it every process compiles what it imports wherever PYTHONDONTWRITEBYTECODE is set.
    """
    packages = sysconfig.get_path("purelib")
    compileall.compile_dir(packages, quiet=2, workers=0, rx=re.compile(r"[/\\]tests?[/\\]"))


def install_hashed(entries: Sequence[str], folder: Path) -> None:
    """Install these entries with their hashes checked."""
    chosen = folder / f"{name_of(entries[0])}.txt"
    chosen.write_text("\n".join(entries))
    pip_install("--require-hashes", "-r", str(chosen))


def main(path: Path) -> None:
    """Two of pip at a time, as one waits for downloads and the disk half of its time."""
    entries = locked_entries(path.read_text())
    others = hashed_entries(entries, cuda=False)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        pytorch = pool.submit(pip_install, *pytorch_pins(entries))
        halves = [pool.submit(install_hashed, others[i::2], Path(folder)) for i in range(2)]
        for installing in (pytorch, *halves):
            installing.result()
        if any(CUDA.match(requirement) for requirement in requires("torch") or ()):
            install_hashed(hashed_entries(entries, cuda=True), Path(folder))
    compile_packages()


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "constraints.txt"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
