"""Reading codes: where they are used, and where docs/readings explains them.

`python tests/support/readings.py` writes the lines `Where:` of docs/readings anew.
"""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = {
    "feddrl": "FEDDRL",
    "feddisk": "FEDDISK",
    "fedddrl": "FEDDDRL",
    "frl": "FRL",
    "head_to_head": "HEAD",
}
SEARCHED = ("fedlib", "benchmarks", "notebooks", "tests")
_WHERE = "- Where:"


def _expanded(match: re.Match) -> list[str]:
    """`A30 to A33` is four codes."""
    kind, first, last = match["kind"], int(match["first"]), int(match["last"] or match["first"])
    return [f"{kind}{number}" for number in range(first, last + 1)]


def codes_in(text: str, paper: str, *, own: bool) -> set[str]:
    """Codes of a paper that a text names, without prefix; own: it is of the paper's own packages."""
    span = r"(?P<kind>[AEF])(?P<first>\d+)(?: to [AEF](?P<last>\d+))?"
    found = {c for m in re.finditer(rf"\b{PREFIXES[paper]}-{span}", text) for c in _expanded(m)}
    if own:
        bare = span.replace("[AEF]", "A", 1)
        found |= {c for m in re.finditer(rf"(?<![\w-]){bare}\b", text) for c in _expanded(m)}
    return found


def used() -> dict[str, dict[str, set[str]]]:
    """Paper -> code -> files that name it, relative to the root."""
    places: dict[str, dict[str, set[str]]] = {paper: defaultdict(set) for paper in PREFIXES}
    files = [f for top in SEARCHED for f in sorted((ROOT / top).rglob("*")) if f.suffix in (".py", ".ipynb")]
    for file in files:
        text, path = file.read_text(), file.relative_to(ROOT).as_posix()
        for paper in PREFIXES:
            own = path.startswith("fedlib/") and f"/{paper}/" in path
            for code in codes_in(text, paper, own=own):
                places[paper][code].add(path)
    return places


def documented(paper: str) -> list[str]:
    """Codes that docs/readings has an entry for, in its order."""
    text = (ROOT / "docs" / "readings" / f"{paper}.md").read_text()
    return re.findall(rf"^### {PREFIXES[paper]}-(\w+)$", text, re.MULTILINE)


def with_places(paper: str, places: dict[str, set[str]]) -> str:
    """The paper's page with its lines `Where:` written anew; modules of fedlib before all others."""
    page, code = [], ""
    for line in (ROOT / "docs" / "readings" / f"{paper}.md").read_text().splitlines():
        if line.startswith("### "):
            code = line.rpartition("-")[2]
        if line.startswith(_WHERE):
            inside = [path for path in places.get(code, ()) if path.startswith("fedlib/")]
            links = [f"[{path}](../../{path})" for path in sorted(inside or places.get(code, ()))]
            line = f"{_WHERE} {', '.join(links)}"
        page.append(line)
    return "\n".join(page) + "\n"


def main() -> None:
    places = used()
    for paper in PREFIXES:
        (ROOT / "docs" / "readings" / f"{paper}.md").write_text(with_places(paper, places[paper]))


if __name__ == "__main__":
    main()
