"""The rules for committed notebooks: `python tests/support/notebook_rules.py [--fix] NOTEBOOK ...`.

Outputs stay only in cells tagged `keep_output` (what a CPU run reproduces); nbstripout checks and,
with --fix, cleans. Besides: kernel name python3, parameters are annotated
scalars with a comment, at most 30 lines a cell,
no shell, no absolute path, at most 45 cells and 250 lines of code, file under 4 MB (figures have twice the
pixels that they are shown with). `language_info` stays: JupyterLab marks a notebook without it as modified.
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat

MAX_LINES, MAX_BYTES = 30, 4_000_000
MAX_CELLS, MAX_CODE = 45, 250
EXTRA = "metadata.papermill cell.metadata.papermill cell.metadata.execution"
SCALAR = re.compile(r"^[a-z_]+: (str|int|float|bool) = (\"[^\"]*\"|-?\d+(\.\d+)?|True|False)  # [^=]+$")


def strip_command(*flags: str) -> list[str]:
    """nbstripout as the suite uses it."""
    binary = Path(sys.executable).parent / "nbstripout"
    return [str(binary), "--keep-id", "--keep-count", "--extra-keys", EXTRA, *flags]


def problems(path: Path) -> list[str]:
    """What breaks the rules, one line each."""
    notebook = nbformat.read(path, as_version=4)
    found = [] if path.stat().st_size < MAX_BYTES else [f"{path}: larger than {MAX_BYTES:,} bytes"]
    if notebook.metadata.kernelspec.name != "python3":
        found.append(f"{path}: kernel {notebook.metadata.kernelspec.name!r}; allowed: python3")
    if "language_info" not in notebook.metadata:
        found.append(f"{path}: no language_info; JupyterLab marks such a notebook as modified")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    lines = sum(len(cell.source.splitlines()) for cell in code)
    if len(notebook.cells) > MAX_CELLS or lines > MAX_CODE:
        size = f"{len(notebook.cells)} cells, {lines} lines of code"
        found.append(f"{path}: {size}; allowed: {MAX_CELLS} and {MAX_CODE}")
    for number, cell in enumerate(notebook.cells):
        found += [f"{path}, cell {number}: {text}" for text in _cell_problems(cell)]
    return found


def _cell_problems(cell: nbformat.NotebookNode) -> list[str]:
    if cell.cell_type != "code":
        return []
    lines = cell.source.splitlines()
    found = [f"{len(lines)} lines; allowed: {MAX_LINES}"] if len(lines) > MAX_LINES else []
    if any(line.lstrip().startswith(("!", "%")) for line in lines):
        found.append("shell or magic command")
    if re.search(r"[\"'](/(home|root|tmp|Users)/|[A-Z]:\\\\)", cell.source):
        found.append("absolute path")
    if "parameters" in cell.metadata.get("tags", []):
        found += [f"not a scalar parameter: {line}" for line in lines if not SCALAR.match(line)]
    return found


def main(arguments: list[str]) -> int:
    fix = "--fix" in arguments
    paths = [Path(a) for a in arguments if a != "--fix"]
    flags = [] if fix else ["--verify"]
    stripped = subprocess.run([*strip_command(*flags), *map(str, paths)], check=False).returncode
    found = [text for path in paths for text in problems(path)]
    print("\n".join(found) or ("" if stripped else f"{len(paths)} notebooks keep the rules"), flush=True)
    if stripped and not fix:
        print("outputs outside keep_output cells: python tests/support/notebook_rules.py --fix NOTEBOOK")
    return int(bool(found) or bool(stripped and not fix))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
