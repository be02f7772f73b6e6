"""The modules that take longest: begun first, or one of them would be computed alone at the end."""

LONGEST = (
    "experiments/test_runner.py",
    "methods/frl/test_schedulerfl.py",
    "methods/test_on_gpu.py",
    "faults/test_kills.py",
    "reporting/test_notebook_runner.py",
    "reporting/test_claims_page.py",
    "reporting/test_notebooks.py",
    "test_continuous_integration.py",
    "engine/test_backends.py",
    "papers/feddrl/test_tables.py",
    "faults/test_output.py",
    "methods/feddrl/test_method.py",
    "papers/feddrl/test_claims.py",
    "reporting/test_numbers.py",
    "cli/test_main.py",
    "methods/test_waits.py",
    "methods/test_recordings.py",
    "engine/hardware/test_allocator.py",
)


def longest_first(path: str) -> int:
    """Key of a module's path, below `tests`: its place in `LONGEST`, or behind them."""
    return LONGEST.index(path) if path in LONGEST else len(LONGEST)
