"""Departures from FedDRL's agent, each with its reason: which were searched, and which one is frozen.

Searched on Fashion-MNIST's embedded images with seeds 100 and above only (`small_setting.repair_search`),
by mean reward; judged on images drawn from all of MNIST and of Fashion-MNIST, 1,000 a run, in ten clients
(`small_setting.repair_judged`), by the claims of `repair_claims`.
"""

from collections.abc import Mapping
from typing import Any

Options = Mapping[str, Any]

# name: options of method `feddrl`, and why they might help
DEPARTURES: dict[str, tuple[Options, str]] = {
    "centring": (
        {"centring": 0.3},
        "The level of the loss moves the reward more than an action does, and drives every mean to one end.",
    ),
    "losses": (
        {"state": "losses"},
        "Shares hide the level of the loss from the critic, although the reward depends on it (FEDDRL-A6).",
    ),
    "discount": (
        {"discount": 0.5},
        "An action changes the next losses most; with 0.99 a value sums the noise of a hundred rounds.",
    ),
    "policy_rate": (
        {"policy_rate": 1e-3},
        "In the rounds of this setting 1e-4 moves the means less than the exploration noise.",
    ),
    "passes": ({"offline_passes": 200}, "Stage 2 has few experiences, so it needs more passes."),
}
SINGLE: dict[str, tuple[Options, str]] = {
    **DEPARTURES,
    "change": ({"centring": 1.0}, "The change of the loss pays for an action, not its level."),
    "raw": ({"state": "raw"}, "The state as printed, with counts beside which the losses are small."),
    "noise": ({"noise": 0.3}, "Wider exploration makes an action's effect larger beside the noise."),
    "shared": (
        {"policy": "shared"},
        "One small network for all clients has a tenth of the outputs to learn.",
    ),
    "keep": ({"keep_experience": True}, "Stage 2 throws the merged buffer away before round 1."),
}
ALL: Options = {name: value for options, _ in DEPARTURES.values() for name, value in options.items()}


def _all_but(name: str) -> Options:
    return {key: value for key, value in ALL.items() if key not in DEPARTURES[name][0]}


MYOPIC: tuple[Options, str] = ({"discount": 0.0}, "An action is paid by the next losses alone.")
SEARCHED: dict[str, Options] = {  # in the order in which they are run
    "all": ALL,
    "printed": {},
    **{f"all_but_{name}": _all_but(name) for name in DEPARTURES},
    **{f"all_and_{name}": {**ALL, **SINGLE[name][0]} for name in ("change", "shared", "noise", "keep")},
    "all_and_myopic": {**ALL, **MYOPIC[0]},
    "all_and_noise_and_shared": {**ALL, "noise": 0.3, "policy": "shared"},
    **{name: options for name, (options, _) in SINGLE.items()},
}
FROZEN = "all_and_noise_and_shared"  # the searched variant that is judged
REPAIRED: Options = SEARCHED[FROZEN]


def reasons() -> list[str]:
    """Every change that was searched, by its name in tables: its settings, and why it might help."""
    return [
        f"{name}, `{', '.join(f'{key}={value}' for key, value in options.items())}`: {why}"
        for name, (options, why) in {**SINGLE, "myopic": MYOPIC}.items()
    ]
