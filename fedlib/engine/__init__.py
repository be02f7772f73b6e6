"""The engine: the clients of a round train together, as one vectorised computation."""

from fedlib.engine.batches import SAMPLE_ORDERS, Batch, Samples, Work, make_work, stream_keys
from fedlib.engine.evaluation import (
    Evaluation,
    RaggedIndex,
    correct_lanes,
    evaluate_clients,
    evaluate_lanes,
    per_sample,
)
from fedlib.engine.forward import BACKENDS, choose_backend, choose_precision
from fedlib.engine.hardware.memory import keep_freed_memory
from fedlib.engine.hardware.pass_size import MemoryWarning, pass_lanes
from fedlib.engine.hardware.precision import PRECISIONS, check_precision
from fedlib.engine.local_rule import LocalRule, spread
from fedlib.engine.objective import Objective, cross_entropy
from fedlib.engine.optimizers import LocalOptimizer, make_optimizer
from fedlib.engine.state import LocalState, Trained
from fedlib.engine.steps.made import density_losses
from fedlib.engine.trainer import Trainer
from fedlib.engine.training import train
