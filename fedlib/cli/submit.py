"""The command `submit`: missing runs as jobs of a cluster, and what became of them."""

import argparse
import sys

from fedlib.cli import grid
from fedlib.errors import check
from fedlib.words import counted


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `run` that choose runs and say how they train, and those of the jobs."""
    grid.add_selection(parser, nargs="*")
    grid.add_training(parser)
    parser.add_argument("--executor", default="slurm", help="slurm or local (processes of this machine)")
    parser.add_argument(
        "--array", type=int, default=64, metavar="N", help="most tasks at a time (default: 64)"
    )
    parser.add_argument("--minutes", type=int, default=60, help="time limit of a task (default: 60)")
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="KEY=VALUE",
        help="of the executor, in submitit's names, e.g. slurm_partition=gpu",
    )  # fmt: skip
    parser.add_argument("--status", action="store_true", help="show the submitted groups, submit nothing")


def submit_command(arguments: argparse.Namespace) -> int:
    """Submit what is missing; with `local`, wait for it. Returns the exit status."""
    from fedlib.experiments import selection
    from fedlib.experiments.store import Store

    store = Store(arguments.store)
    if arguments.status:
        check(not arguments.artifacts, "--status given with an ID; allowed: --status alone, which shows all")
        return _show_states(store)
    check(bool(arguments.artifacts), "submit needs an artifact or a paper; see `fedlib list`")
    plans, told = grid.planned_runs(arguments)
    if arguments.dry_run:
        grid.show_groups(plans, told, store)
        grid.show_absent_data(plans, arguments.profile, store)
        grid.show_times(plans, arguments.profile, store)
        return 0
    from fedlib.experiments import cluster  # imports torch

    jobs = cluster.submit(
        grid.all_of(plans),
        store,
        executor=arguments.executor,
        array=arguments.array,
        minutes=arguments.minutes,
        parameters=dict(selection.parse_setting(text) for text in arguments.parameter),
        options={
            "device": arguments.device,
            "max_replicas": arguments.max_replicas,
            "max_clients_per_pass": arguments.max_clients_per_pass,
            "checkpoint_seconds": arguments.checkpoint_seconds,
            "resume_across_commits": arguments.resume_across_commits,
            "retry_failed": arguments.retry_failed,
        },
    )
    if not jobs:
        print("nothing is missing")
        return 0
    print(
        f"{len(jobs)} jobs: {', '.join(job.job_id for job in jobs)}; next: python -m fedlib submit --status"
    )
    if arguments.executor != "local":
        return 0
    for job in jobs:
        for error in filter(None, [job.exception()]):
            print(f"fedlib: job {job.job_id}: {str(error).splitlines()[-1]}", file=sys.stderr)
    return _show_states(store)


def _show_states(store: object) -> int:
    from fedlib.experiments import submissions

    states = submissions.task_states(store)
    for state in states:
        problem = "".join(
            f", {n} {word}" for n, word in ((state.failed, "failed"), (state.missing, "missing")) if n
        )
        logs = f"; logs: {state.logs[0].parent}" if problem and state.logs else ""
        print(f"{state.label}: {counted(state.stored, 'run')} stored{problem}{logs}")
    if not states:
        print(f"nothing was submitted with the store {store.root}")
    return submissions.exit_status(states)
