"""`python -m fedlib verdicts`: one line a claim, the long evidence of some, JSON or CSV of all."""

import argparse
import csv
import json
import sys
import textwrap
from typing import Any

from fedlib.cli.output import tell_if_watched, terminal_width
from fedlib.errors import check, check_name

Record = dict[str, Any]
WIDTH = 100
SHORT = ("supported, smaller than printed", "supported, smaller")
EFFECT = 36
SPARE = ("seeds", "scale", "printed")  # columns that a narrow terminal does without


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="ID",
        help="papers, and claims whose evidence to print in full; default: all",
    )
    parser.add_argument(
        "--profile", help="rows of this profile only (default: the largest above smoke that is complete)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="every field of every claim, as JSON")
    form.add_argument("--csv", action="store_true", help="the table with evidence, as CSV")
    form.add_argument(
        "--write-docs",
        action="store_true",
        help="write docs/claims.md, docs/numbers.md, README's values and the committed verdicts, from "
        "committed rows alone",
    )


def verdicts_command(arguments: argparse.Namespace) -> int:
    if arguments.write_docs:
        check(
            not arguments.names and arguments.profile is None and arguments.store is None,
            "--write-docs given with an ID, --profile or --store; allowed: none of them, the pages hold "
            "every claim by the committed rows",
        )
        from fedlib.reporting.claims_page import write_pages
        from fedlib.reporting.numbers import write_numbers

        for path in dict.fromkeys([*write_pages(), *write_numbers()]):
            print(path)
        return 0
    listed, shown = _wanted(arguments)
    if arguments.json:
        print(json.dumps([*listed, *shown], indent=1))
    elif arguments.csv:
        _print_csv([*listed, *shown])
    else:
        table = ["\n".join(_lines(listed))] if listed else []
        print("\n\n".join([*table, *map(_long, shown)]))
    return 0


def _wanted(arguments: argparse.Namespace) -> tuple[list[Record], list[Record]]:
    """Records of the papers named, or of all without a name; and of the claims named."""
    from fedlib.papers import PAPERS
    from fedlib.papers import claims as registered

    names = list(dict.fromkeys(arguments.names))
    papers = [name for name in names if name in PAPERS]
    listed = [record for paper in papers for record in _records(paper, arguments)]
    if len(papers) == len(names):
        return listed if names else _records(None, arguments), []
    claims = [name.upper() if "-" in name else name for name in names if name not in papers]
    begin = tuple(name.partition("-")[0] for name in claims)  # FEDDRL-C1 is one of feddrl's
    likely = [paper for paper in PAPERS if paper.upper().startswith(begin)]
    cached = {record["claim"] for paper in likely for record in _cached(paper, arguments) or ()}
    for name in claims:
        if name not in cached:  # refused before others are decided
            allowed = [*PAPERS, *(claim.id for claim in registered())]
            check_name("claim or paper", name, allowed, listed_by="`python -m fedlib verdicts`")
    known = {record["claim"]: record for paper in likely for record in _records(paper, arguments)}
    return listed, [known[name] for name in claims]


def _records(paper: str | None, arguments: argparse.Namespace) -> list[Record]:
    """From the cache if it has them, which needs no pandas."""
    found = _cached(paper, arguments)
    if found is None:
        tell_if_watched("fedlib: rows or code are new; claims are decided again (a minute or two for all)")
        from fedlib.reporting.verdicts import records

        return records(paper, profile=arguments.profile, store=arguments.store)
    return found


def _cached(paper: str | None, arguments: argparse.Namespace) -> list[Record] | None:
    from fedlib.reporting import verdict_cache

    return verdict_cache.known(paper, profile=arguments.profile, store=arguments.store)


def _width() -> int:
    return min(WIDTH, terminal_width())


def _lines(found: list[Record]) -> list[str]:
    """The short table and its counts, no wider than the terminal."""
    rows = [_cells(record) for record in found]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    for name in SPARE:
        if sum(widths.values()) + 2 * (len(widths) - 1) > _width():
            del widths[name]
    head, rule = {name: name for name in widths}, {name: "-" * width for name, width in widths.items()}
    lines = [
        "  ".join(row[name].ljust(width) for name, width in widths.items()).rstrip()
        for row in (head, rule, *rows)
    ]
    return [*lines, "", *textwrap.wrap(_counts(found), _width())]


def _cells(record: Record) -> dict[str, str]:
    from fedlib.reporting.verdict_cache import verdict_words

    effect = f"{record['effect']} {record['unit']}".strip()
    if record["kind"] == "arithmetic":
        effect = "arithmetic"
    return {
        "claim": f"{record['claim']}{' (ours)' * record['ours']}",
        "verdict": verdict_words(record).replace(*SHORT),
        "effect": effect if len(effect) <= EFFECT else record["effect"],
        "printed": "-" if record["printed"] is None else f"{record['printed']:+.3g}",
        "scale": record["profile"] or "-",
        "seeds": str(record["seeds"] or "-"),
    }


def _counts(found: list[Record]) -> str:
    """`59 claims: 9 supported, ...; and 3 arithmetic: 3 supported`."""
    parts = []
    for name, own in (
        ("claims", [r for r in found if r["kind"] != "arithmetic"]),
        ("arithmetic", [r for r in found if r["kind"] == "arithmetic"]),
    ):
        tally: dict[str, int] = {}
        for record in own:
            tally[record["verdict"]] = tally.get(record["verdict"], 0) + 1
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.items()))
        parts += [f"{len(own)} {name}: {told}"] if own else []
    return "; and ".join(parts)


def _long(record: Record) -> str:
    """Lines with all details of a claim."""
    lines = [
        f"{record['claim']}: {record['verdict']}",
        f"{record['statement']} ({record['place']})",
        f"kind: {record['kind']}",
        *(f"gate: {gate}" for gate in record["gates"]),
        *([f"how: {record['how']}"] if record["how"] else []),
        f"rows: {_rows_words(record)}",
        *record["evidence"].splitlines(),
    ]
    return "\n".join(textwrap.fill(line, _width(), subsequent_indent="    ") for line in lines)


def _rows_words(record: Record) -> str:
    """`fedlib.load_results("feddrl/table3", "reduced")`, what a verdict rests on, and its data."""
    if not record["profile"]:
        return "-"
    call = f'fedlib.load_results("{record["artifact"]}", "{record["profile"]}")'
    return f"{record['profile']}, {record['data']}; {call}" if record["data"] else call


def _print_csv(found: list[Record]) -> None:
    fields = [name for name in found[0] if name not in ("gates", "effects")] if found else ["claim"]
    writer = csv.DictWriter(sys.stdout, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(record | {"evidence": record["evidence"].replace("\n", "; ")} for record in found)
