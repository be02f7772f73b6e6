"""The engine: the clients of a round train together, as one vectorised computation."""

from fedlib.local.allocator import keep_freed_memory
from fedlib.local.batches import SAMPLE_ORDERS, Batch, Samples, Work, make_work, stream_keys
from fedlib.local.density import density_losses
from fedlib.local.evaluate import (
    Evaluation,
    Segments,
    correct_rows,
    evaluate_rows,
    evaluate_segments,
    per_sample,
)
from fedlib.local.forward import BACKENDS, choose_backend
from fedlib.local.objective import Objective, cross_entropy
from fedlib.local.optimizers import LocalOptimizer, make_optimizer
from fedlib.local.passes import MemoryWarning, pass_rows
from fedlib.local.precision import PRECISIONS, check_precision
from fedlib.local.train import LocalState, Trained, Trainer

__all__ = [
    "BACKENDS",
    "PRECISIONS",
    "SAMPLE_ORDERS",
    "Batch",
    "Evaluation",
    "LocalOptimizer",
    "LocalState",
    "MemoryWarning",
    "Objective",
    "Samples",
    "Segments",
    "Trained",
    "Trainer",
    "Work",
    "check_precision",
    "choose_backend",
    "correct_rows",
    "cross_entropy",
    "density_losses",
    "evaluate_rows",
    "evaluate_segments",
    "keep_freed_memory",
    "make_optimizer",
    "make_work",
    "pass_rows",
    "per_sample",
    "stream_keys",
]
