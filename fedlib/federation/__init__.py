"""The round loop around the engine: cohorts, aggregation, evaluation, rows, exact resume."""

from fedlib.federation.aggregate import aggregate, model_bytes, weighted_mean
from fedlib.federation.client_updates import (
    broadcast,
    clients_at_once,
    finish_round,
    gather,
    initial_state,
    local_trainer,
    method_generators,
    method_rng,
    method_streams,
    put_back,
    replica_of_lanes,
    restarted,
    sample_shares,
    train_and_average,
    train_cohort,
    uniform_shares,
)
from fedlib.federation.cohort import Cohort, sample_cohort
from fedlib.federation.method import Method, refuse_mixup, require_all_clients, require_server_images
from fedlib.federation.own_data import task_of
from fedlib.federation.returned import is_played
from fedlib.federation.rounds import RoundResult, next_cohort, rounds, server_measures
from fedlib.federation.state import RoundReport, ServerState, moved, on_host
from fedlib.federation.task import Task, prepare
