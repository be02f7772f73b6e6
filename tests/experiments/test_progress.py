"""Lines about rounds and about what comes before round 1, on a clock of our own."""

import io

from fedlib.experiments.progress import Progress


def lines_of(*updates):
    """Plain lines of (seconds since the last one, round, accuracy or None)."""
    now, stream = [0.0], io.StringIO()
    progress = Progress(stream, clock=lambda: now[0])
    progress.start("fake/grid", total_rounds=10)
    for seconds, done, accuracy in updates:
        now[0] += seconds
        progress.update(done, {} if accuracy is None else {"test_accuracy": accuracy})
    return stream.getvalue().splitlines()


def test_pretraining_tells_how_many_steps_are_left():
    assert lines_of((0, -600, None), (1, -599, None), (9, -550, None)) == [
        "fake/grid: pretraining; steps left at most: 600",
        "fake/grid: pretraining; steps left at most: 550",
    ]


def test_the_time_left_is_told_from_the_rounds_alone():
    """100 s of pretraining, then 20 s for two rounds: 80 s for the eight that are left."""
    assert lines_of((0, -1, None), (100, 0, 0.1), (20, 2, 0.5)) == [
        "fake/grid: pretraining; steps left at most: 1",
        "fake/grid: round 0/10  test_accuracy 0.1000",
        "fake/grid: round 2/10  test_accuracy 0.5000  80 s left",
    ]


def test_hours_are_told_as_a_plan_has_them():
    """7 h for three of ten rounds: 16.33 h for the other seven."""
    assert lines_of((0, 0, 0.1), (25200, 3, 0.5))[-1].endswith("  16.3 h left")
