"""The round loop around the engine: cohorts, aggregation, evaluation, rows, exact resume."""

from fedlib.federation.aggregate import aggregate, model_bytes, weighted_mean
from fedlib.federation.cohort import Cohort, sample_cohort
from fedlib.federation.rounds import RoundResult, next_cohort, rounds
from fedlib.federation.server import (
    Diagnostics,
    Method,
    ServerState,
    broadcast,
    finish_round,
    gather,
    initial_state,
    method_rng,
    put_back,
    replica_of_rows,
    sample_shares,
    slots_at_once,
    train_and_average,
    train_cohort,
    uniform_shares,
)
from fedlib.federation.task import Task, prepare

__all__ = [
    "Cohort", "Diagnostics", "Method", "RoundResult", "ServerState", "Task", "aggregate", "broadcast",
    "finish_round", "gather", "initial_state", "method_rng", "model_bytes", "next_cohort", "prepare",
    "put_back", "replica_of_rows", "rounds", "sample_cohort", "sample_shares", "slots_at_once",
    "train_and_average", "train_cohort", "uniform_shares", "weighted_mean",
]  # fmt: skip
