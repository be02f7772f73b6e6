"""Verdicts, notebooks and the report."""
