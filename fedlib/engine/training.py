"""Local training of a cohort as one computation.

Lanes are sorted by falling number of mini-batches, so the lanes that still work at a step are
a prefix of the stacked tensors: ragged clients cost no masked work, and a finished lane is
out of reach of the step. Only the last, smaller batch of an epoch needs a mask.
"""

import numpy as np
import torch
from torch import Tensor

from fedlib.engine.batches import Samples, Work, make_schedule, on_device
from fedlib.engine.cuda_graphs import forget_captures, run_captured
from fedlib.engine.eager import run_steps
from fedlib.engine.hardware.device import first_line, is_out_of_memory
from fedlib.engine.hardware.pass_size import by_falling_steps, cut
from fedlib.engine.hardware.precision import products_in
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.reference_loop import train_one_client
from fedlib.engine.state import LocalState, Trained
from fedlib.engine.trainer import Trainer
from fedlib.errors import MemoryShortage
from fedlib.models import count_parameters


def train(
    trainer: Trainer, samples: Samples, state: LocalState, work: Work, rule: LocalRule | None = None
) -> Trained:
    """Run `work` on `state`, which is changed in place and returned.

    rule: what is added to the gradients of the losses, see `fedlib.engine.local_rule`.
    A pass that runs out of the GPU's memory is begun anew as two halves, with a warning.
    """
    loss = torch.zeros(len(work), device=samples.device)
    rule = None if rule is None else rule.at(state.params)
    with products_in(trainer.precision, samples.device):
        for part in cut(by_falling_steps(work.steps(trainer.batch_size)), trainer.max_lanes):
            while len(part):
                lanes = part[: trainer.limit.width(len(part))]
                if _fits(trainer, samples, state, work, rule, lanes, loss):
                    part = part[len(lanes) :]
                else:
                    forget_captures()
                    trainer.limit.too_wide(len(lanes), samples.device)
    return Trained(state, loss)


def _fits(trainer, samples, state, work, rule, lanes, loss) -> bool:
    """Train some lanes; False, with `state` as it was, if memory does not suffice for them."""
    try:
        _train_pass(trainer, samples, state, work, rule, lanes, loss)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if len(lanes) == 1:
            raise _shortage(trainer, samples.device, error) from error
        if _in_place(trainer, samples, lanes):  # the state may have changed already
            raise
        return False
    trainer.limit.proven[trainer.batch_size] = max(
        trainer.limit.proven.get(trainer.batch_size, 0), len(lanes)
    )
    return True


def _shortage(trainer: Trainer, device: torch.device, error: BaseException) -> MemoryShortage:
    return MemoryShortage(
        f"training a single client of {count_parameters(trainer.model):,} parameters in batches of "
        f"{trainer.batch_size} does not fit in the memory of {device} ({first_line(error)}); take a smaller "
        "batch size or model, fewer clients or seeds at once, or another device"
    )


def _train_pass(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    rule: LocalRule | None,
    lanes: np.ndarray,
    loss: Tensor,
) -> None:
    whole = len(lanes) == len(work) and bool((lanes == np.arange(len(work))).all())
    in_place = _in_place(trainer, samples, lanes)
    at = slice(lanes[0], lanes[-1] + 1) if in_place else on_device(lanes, samples.device)
    part = state.select(at)
    part_work = work if whole else work.select(lanes)
    rule = rule if whole or rule is None else rule.select(at)
    schedule = make_schedule(part_work, trainer.batch_size)
    if trainer.backend == "loop":
        losses = torch.stack(
            [
                train_one_client(trainer, samples, part, part_work, schedule, rule, lane)
                for lane in range(len(lanes))
            ]
        )
    elif _captures(trainer, samples):
        part, losses = run_captured(trainer, samples, part, part_work, schedule, rule)
    else:
        losses = run_steps(trainer, samples, part, part_work, schedule, rule)
    loss[at] = losses
    if not in_place:
        state.write(at, part)


def _in_place(trainer: Trainer, samples: Samples, lanes: np.ndarray) -> bool:
    """Whether a pass may work on the state itself: neighbouring lanes that surely fit in memory."""
    fits = samples.device.type == "cpu" or len(lanes) <= trainer.limit.proven.get(trainer.batch_size, 0)
    return fits and not _captures(trainer, samples) and bool((np.diff(lanes) == 1).all())


def _captures(trainer: Trainer, samples: Samples) -> bool:
    wanted = samples.device.type == "cuda" if trainer.capture is None else trainer.capture
    return wanted and trainer.backend != "loop"
