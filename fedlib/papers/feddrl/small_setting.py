"""The grids of the small setting: CE, N = K = 10, few images a client, enough rounds for an agent to learn.

An agent gets one experience a round. Here it gets enough of them at `reduced`, every method is cheap
enough for ten seeds, and full participation shows the reward of every action.
"""

from dataclasses import replace

from fedlib.papers.feddrl.repair import REPAIRED, SEARCHED
from fedlib.papers.feddrl.runs import CONTROLS, FEDERATED, base_run, scale_of, table3, with_methods
from fedlib.run import Run

SEARCH_SEEDS = tuple(range(100, 105))  # of the search for a repair: none of them is judged
SEARCH_DATA = "fmnist-embedded"
RULES = ("small_groups", "main_group", "largest_losses", "proportional")
# further controls and one departure, as (method, options)
EXTRA = {
    "permuted": ("feddrl", {"agent": "permuted"}),
    "keep": ("feddrl", {"keep_experience": True}),
    **{rule: ("heuristic_weights", {"rule": rule}) for rule in RULES},
}


def small_setting(profile: str) -> list[Run]:
    """Fashion-MNIST, CE: the agent and its controls beside hand-written and searched weights."""
    base, scale = _base(profile, "small_setting"), scale_of(profile)
    names = [name for name in FEDERATED if name != "fedprox"]
    runs = with_methods(base, names, replace(scale, worker_rounds=None))  # stage 1 takes T rounds here
    searched = ("best_constant", dict(scale.search))
    runs += [_under(base, *method) for method in (*EXTRA.values(), searched)]
    return _owned(runs, table3(profile))  # at `paper` this is a cell of table 3


def repair_search(profile: str) -> list[Run]:
    """Every searched variant on the embedded images, beside uniform weights and a rule within reach."""
    base = _base(profile, "repair_search")
    kept = {k: v for k, v in base.dataset_options.items() if k == "train_per_class"}
    base = replace(base, dataset=SEARCH_DATA, dataset_options=kept)
    chosen = list(SEARCHED.values())[: 2 if profile == "smoke" else None]
    variants = [("feddrl", dict(options)) for options in chosen]
    others = [CONTROLS["uniform"], CONTROLS["untrained"], EXTRA["small_groups"]]
    return [_under(base, *method) for method in (*others, *variants)]


def repair_judged(profile: str) -> list[Run]:
    """The frozen repair on MNIST and Fashion-MNIST: images drawn from all of them, other seeds.

    Beside uniform weights, the untrained agent, the repaired agent on permuted rewards and without training,
    a rule within reach that shows the room, and the printed agent.
    """
    others = (CONTROLS["uniform"], CONTROLS["untrained"], EXTRA["small_groups"])
    controls = [("feddrl", {**REPAIRED, "agent": control}) for control in ("permuted", "untrained")]
    repaired = [("feddrl", dict(REPAIRED)), *controls]
    bases = [_judged_base(profile, data) for data in ("fmnist", "mnist")]
    runs = [_under(base, *method) for method in (*others, *repaired, ("feddrl", {})) for base in bases]
    return _owned(runs, [*table3(profile), *small_setting(profile)])


def _judged_base(profile: str, data: str) -> Run:
    scale, base = scale_of(profile), _base(profile, "repair_judged", data)
    if scale.judged is None:
        return base
    images_per_label, test_per_class = scale.judged
    options = {**base.partition_options, "images_per_label": images_per_label}
    return replace(base, dataset_options={"test_per_class": test_per_class}, partition_options=options)


def _base(profile: str, artifact: str, data: str = "fmnist") -> Run:
    scale = scale_of(profile)
    base = base_run(profile, artifact, data, "ce", 10)
    if scale.small_train_per_class is not None:
        options = {**base.dataset_options, "train_per_class": scale.small_train_per_class}
        base = replace(base, dataset_options=options)
    return replace(base, rounds=scale.small_rounds or scale.rounds)


def _owned(runs: list[Run], elsewhere: list[Run]) -> list[Run]:
    """These runs, each under the name of the artifact that has it already, if one does."""
    known = {replace(run, artifact="").key: run for run in elsewhere}
    return [known.get(replace(run, artifact="").key, run) for run in runs]


def _under(run: Run, method: str, options: dict) -> Run:
    return replace(run, method=method, method_options=options)
