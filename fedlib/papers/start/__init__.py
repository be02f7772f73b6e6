"""Notebook 00: partitions and baselines."""
