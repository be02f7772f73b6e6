"""What is freed is kept: a process that frees and takes large blocks faults its pages in once."""

import os
import platform
import subprocess
import sys

import pytest
from worlds import make_run

from fedlib.engine.hardware.memory import SETTINGS
from fedlib.federation import task

GLIBC = platform.libc_ver()[0] == "glibc"
BLOCKS, MIB, PAGE = 20, 64, 4096
SCRIPT = f"""
import resource, sys, torch
from fedlib.engine import keep_freed_memory
kept = keep_freed_memory() if sys.argv[1] == "keep" else None
for _ in range(2):  # the first round is the warm-up
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(int(sys.argv[2])):
        torch.ones({MIB} << 18)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(wish: str, blocks: int = BLOCKS, **environment: str) -> tuple[str, int]:
    """What keep_freed_memory answered, and page faults of so many blocks taken and freed in turn."""
    clean = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    clean |= {"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, wish, str(blocks)]
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)
    answer, count = done.stdout.split()
    return answer, int(count)


@pytest.mark.skipif(not GLIBC, reason="needs glibc")
def test_freed_blocks_are_not_faulted_in_again():
    answer, count = faults("keep")
    assert answer == "True"
    assert count < MIB * 2**20 // PAGE // 10  # a tenth of one block's pages, of all twenty


@pytest.mark.skipif(not GLIBC, reason="needs glibc")
@pytest.mark.parametrize("name", SETTINGS)
def test_the_users_own_settings_stand(name):
    value = "glibc.malloc.check=0" if name == "GLIBC_TUNABLES" else "131072"
    assert faults("keep", blocks=0, **{name: value})[0] == "False"


def test_a_prepared_run_keeps_freed_memory(monkeypatch):
    asked = []
    monkeypatch.setattr(task, "keep_freed_memory", lambda: asked.append(True))
    task.prepare([make_run(dataset="fmnist-embedded", partition="iid", num_clients=2, rounds=1)])
    assert asked == [True]
