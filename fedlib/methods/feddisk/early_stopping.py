"""Fitting a density model until its validation loss stops it: `FitState` from step to step (FEDDISK-A10)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlib.engine import LocalState, Trainer
from fedlib.federation.aggregate import Tensors


@dataclass(frozen=True)
class Fitted:
    """MADEs of G lanes: params [G, ...] of the best epoch or round, whose number is `best` [G], 0 for none.

    train_loss, validation_loss: [steps, G] mean negative log-likelihood in nats; NaN once stopped.
    """

    params: Tensors
    best: Tensor
    train_loss: Tensor
    validation_loss: Tensor


@dataclass(frozen=True)
class FitState:
    """Models of G lanes on their way: all that their next epoch or round depends on, and what was.

    step: epochs or rounds done. params, best: [G, ...] now, and at the least validation loss. patience:
    `EarlyStopping.state`. losses: [2, step, G] training and validation, NaN once stopped. optimizer, taken:
    state and steps [G] of an optimiser that goes on from epoch to epoch, as the local MADEs' does.
    `vars` of it are plain values for a checkpoint.
    """

    step: int
    params: Tensors
    best: Tensors
    patience: Tensors
    losses: Tensor
    optimizer: dict[str, list[Tensor]]
    taken: Tensor

    def is_over(self, most: int) -> bool:
        """Whether all lanes are out of patience, or `most` steps done."""
        return self.step >= most or not bool(self.patience["active"].any())

    def local_state(self, trainer: Trainer) -> LocalState:
        """A copy to train on."""
        state = trainer.start(self.params, {})
        state.copy_(LocalState(self.params, {}, self.optimizer, self.taken))
        return state


class EarlyStopping:
    """Which lanes still train: those with a new minimum, lower by `least`, within `patience` steps.

    state: what another one needs to go on from here.
    """

    def __init__(
        self,
        lanes: int,
        patience: int,
        device: torch.device,
        least: float = 0.0,
        state: Tensors | None = None,
    ) -> None:
        self.patience, self.least = patience, least
        self.state = state or {
            "minimum": torch.full((lanes,), torch.inf, device=device),
            "at": torch.zeros(lanes, dtype=torch.int64, device=device),
            "active": torch.ones(lanes, dtype=torch.bool, device=device),
        }

    @property
    def at(self) -> Tensor:
        """[lanes] step of the minimum, 0 before there is one."""
        return self.state["at"]

    @property
    def active(self) -> Tensor:
        """[lanes] bool."""
        return self.state["active"]

    def update(self, step: int, losses: Tensor) -> Tensor:
        """[lanes] whether this step (counted from 1) is a lane's new best; ends lanes out of patience."""
        minimum, at, active = self.state.values()
        better = active & (losses < minimum - self.least)
        at = torch.where(better, step, at)
        self.state = {
            "minimum": torch.where(better, losses, minimum),
            "at": at,
            "active": active & (step - at < self.patience),
        }
        return better


def steps_taken(at: Tensor, patience: int, steps: int) -> Tensor:
    """Steps [lanes] that lanes took whose minimum was in step `at` [lanes] (0: none), of `steps` in all.

    Counted without the losses, which are NaN after a divergence as after the end.
    """
    return (at + patience).clamp(max=steps)


def first_state(trainer: Trainer, params: Tensors) -> FitState:
    """Models [G, ...] before their first step."""
    state = trainer.start(params, {})
    lanes, device = len(state.steps), state.steps.device
    best = {name: tensor.clone() for name, tensor in state.params.items()}
    losses, patience = torch.empty(2, 0, lanes, device=device), EarlyStopping(lanes, 1, device).state
    return FitState(0, state.params, best, patience, losses, state.optimizer, state.steps)


def advance(
    course: FitState,
    steps: int,
    limits: tuple[int, int],
    train: Callable[[int, Tensors, Tensor], tuple[Tensors, Tensor, Tensor]],
) -> FitState:
    """Up to `steps` times `train(number, params, running) -> (params, training, validation losses [G])`.

    limits: the most steps in all, and the steps that early stopping waits for a new minimum.
    """
    most, wait = limits
    step, params, losses = course.step, course.params, [course.losses]
    best = {name: tensor.clone() for name, tensor in course.best.items()}
    patience = EarlyStopping(len(course.taken), wait, course.losses.device, state=course.patience)
    while step < min(course.step + steps, most) and bool(patience.active.any()):
        step, running = step + 1, patience.active
        params, *now = train(step, params, running)
        better = patience.update(step, now[1])
        for name, tensor in best.items():
            tensor[better] = params[name][better]
        losses.append(torch.stack([torch.where(running, loss, torch.nan) for loss in now])[:, None])
    return replace(
        course, step=step, params=params, best=best, patience=patience.state, losses=torch.cat(losses, dim=1)
    )


def fitted(course: FitState) -> Fitted:
    """The models at their best step, of lanes that never had a finite validation loss the initial ones."""
    return Fitted(course.best, course.patience["at"], *course.losses)
