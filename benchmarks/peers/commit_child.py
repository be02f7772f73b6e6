"""The engine of the checkout that PYTHONPATH names: `python commit_child.py NETWORK CLIENTS STEPS`.

See child.py for the conversation. Keeps to what `benchmarks.common` has had since commit 47e7859.
"""

import sys
import time

from benchmarks.common import Clients, engine


def main():
    name, clients, steps = sys.argv[1], *map(int, sys.argv[2:4])
    run = engine(name, Clients.of(name, clients, steps))
    for _ in range(2):
        run()
    print("ready:", flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        run()
        print(f"run:{time.perf_counter() - started}", flush=True)


if __name__ == "__main__":
    main()
