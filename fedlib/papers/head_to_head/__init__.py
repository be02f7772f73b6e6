"""Notebook 05: learned methods against the field's strong baselines, on one protocol."""
