"""Runs of a grid: selection, execution, storage and results."""
