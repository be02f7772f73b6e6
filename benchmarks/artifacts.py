"""How long named artifacts take from nothing to stored rows.

    python -m benchmarks.artifacts [ARTIFACT[:PROFILE[:SEEDS]] …] [--minutes 2] [--out FOLDER]

Each one is computed in a store of its own that is thrown away. Profile smoke and the artifact's own
number of seeds if not told. Artifacts that the budget of minutes does not reach are left out, and said.
"""

import io
import tempfile
import time

from benchmarks.common import default_device, make_parser, write_results
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.progress import Progress
from fedlib.papers import run_artifact

DEFAULT = ("start/curves", "start/sanity", "feddrl/table3", "fedddrl/table4")


def time_to_finish(name: str, minutes: float) -> dict:
    """Seconds, runs and seeds of one artifact, from data on the disk to stored rows."""
    artifact, profile, seeds = (*name.split(":"), "", "")[:3]
    profile = profile or "smoke"
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as store:
        outcome = run_artifact(
            artifact, profile=profile, seeds=int(seeds) if seeds else None, store=store,
            budget=Budget(minutes), progress=Progress(io.StringIO()),
        )  # fmt: skip
    seconds = time.perf_counter() - started
    return {"artifact": artifact, "profile": profile, "runs": len(outcome.runs), "seconds": seconds}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("artifacts", nargs="*", default=DEFAULT, metavar="ARTIFACT[:PROFILE[:SEEDS]]")
    parser.add_argument("--minutes", type=float, default=2.0)
    args = parser.parse_args()
    records, ends = [], time.monotonic() + 60 * args.minutes
    for name in args.artifacts:
        left = (ends - time.monotonic()) / 60
        try:
            record = time_to_finish(name, max(left, 0.01))
        except BudgetExhausted:
            print(f"{name:24} left out: the {args.minutes:g} minutes are used up", flush=True)
            continue
        records.append(record)
        print("{artifact:24} {profile:8} {runs:4} runs {seconds:8.1f} s".format(**record), flush=True)
    write_results("artifacts", args.out, default_device(), records=records)


if __name__ == "__main__":
    main()
