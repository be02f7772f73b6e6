"""Command line: `python -m fedlib`."""
