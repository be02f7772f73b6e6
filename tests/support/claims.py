"""Registered claims in tests: decided with or without their gates."""

from dataclasses import replace

from fedlib.analysis.claims import verdict_on


def decide(claims, claim_id, rows, *, gates=False):
    """The verdict of one of these claims; without its gates, which rows made by hand do not pass."""
    claim = next(c for c in claims if c.id == claim_id)
    return verdict_on(claim if gates else replace(claim, gates=()), rows)


def printed(claims, claim_id):
    """The printed effects of a claim's parts, over all cells that the paper prints."""
    claim = next(c for c in claims if c.id == claim_id)
    return [part.printed_over([]) for part in claim.parts]
