"""Words that commands, notebooks and reports share."""


def counted(count: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{count} {noun}{'s' * (count != 1)}"
