"""Which form of the training step serves a trainer: a fixed rule."""

from torch import Tensor

from fedlib.engine.local_rule import LocalRule
from fedlib.engine.objective import cross_entropy
from fedlib.engine.state import LocalState
from fedlib.engine.steps.autograd import PrefixStep
from fedlib.engine.steps.made import DensityStep, density_losses, masked_chain_of
from fedlib.engine.steps.mlp import ChainStep, chain_of
from fedlib.engine.trainer import Trainer


def make_step(trainer: Trainer, part: LocalState, rule: LocalRule | None, rate: float | Tensor) -> PrefixStep:
    """The fastest step for this trainer: a fixed rule."""
    return _step_class(trainer, rule, rate)(trainer, part, rule, rate)


def _step_class(trainer: Trainer, rule: LocalRule | None, rate: float | Tensor) -> type[PrefixStep]:
    """Written out where someone has done so; a common rate as a number is one on a CPU (`uniform_rate`)."""
    objective = trainer.objective
    if trainer.backend != "stacked" or trainer.precision == "bf16":
        return PrefixStep
    module = trainer.forward.model.module
    plain = objective.losses is cross_entropy and objective.inputs is None
    if plain and trainer.fuses and chain_of(module) is not None:
        return ChainStep
    density = objective.losses is density_losses and rule is None and isinstance(rate, float)
    if density and masked_chain_of(module) is not None:
        return DensityStep
    return PrefixStep
