"""The processors that this process may use."""

import os


def cores() -> int:
    """CPU cores that this process may use: those that it is pinned to, where the system has pinning."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
