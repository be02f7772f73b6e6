"""Whether the engine became slower: another commit's and this checkout's, alternating in one sitting.

    python -m benchmarks.before COMMIT [--models mlp lenet …] [--repeats 9] [--out FOLDER]

Each commit trains in a process of its own, in float32; a ratio above 1 says that this checkout is faster.
"""

import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.common import default_device, make_parser, write_results
from benchmarks.networks import NETWORKS
from benchmarks.peers.child import Child

ROOT = Path(__file__).parents[1]
CASES = [("mlp", 10), ("mlp", 100), ("lenet", 10), ("lenet", 100), ("cnn-feddrl", 10), ("cnn-feddrl", 100)]
CASES += [("vgg11", 10), ("mobilenetv2", 10)]


def compare(folder: Path, model: str, count: int, repeats: int) -> dict:
    """Ratios of seconds, the checkout in `folder` over this one, one per repeat."""
    settings = [model, count, max(1, NETWORKS[model].steps * 10 // count)]
    with ExitStack() as children:
        before, now = (
            children.enter_context(Child(sys.executable, "commit_child.py", settings, python_path=path))
            for path in (folder, ROOT)
        )
        ratios = []
        for number in range(repeats):
            pair = (before, now) if number % 2 else (now, before)
            seconds = {child: child.ask("run") for child in pair}
            ratios.append(seconds[before] / seconds[now])
    record = {"model": model, "clients": count, "times_as_fast": statistics.median(ratios), "ratios": ratios}
    print(
        f"{model:12} {count:4} clients  {record['times_as_fast']:.2f}x  "
        f"({min(ratios):.2f} to {max(ratios):.2f})",
        flush=True,
    )
    return record


def main() -> None:
    parser = make_parser(__doc__, models=dict(CASES))
    parser.add_argument("commit")
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "before"
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), args.commit], check=True)
        try:
            records = [
                compare(checkout, model, count, args.repeats)
                for model, count in CASES
                if model in args.models
            ]
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    write_results("before", args.out, default_device(), commit=args.commit, records=records)


if __name__ == "__main__":
    main()
