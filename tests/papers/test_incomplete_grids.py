"""Tables and plots of rows of one method or one seed alone, as after `run ID --method M` or `--seeds 0,`."""

import dataclasses

import matplotlib.pyplot as plt
import pytest

from fedlib.errors import UsageError
from fedlib.experiments.results import rows_to_show
from fedlib.papers import artifacts
from fedlib.run import Run

TRAINED = [one for one in artifacts().values() if any(map(one.runs, one.profiles))]
LONG = {"fedddrl/episode", "fedddrl/alg1-weights", "fedddrl/controls", "frl/sec5"}  # drawing takes seconds
PLOTS = {str(one.plot): one for one in reversed(TRAINED) if one.plot and one.id not in LONG}


def as_stored(rows):
    """The rows without the columns that only other methods record."""
    recorded = rows.columns.difference([field.name for field in dataclasses.fields(Run)])
    return rows.drop(columns=[name for name in recorded if rows[name].isna().all()])


def failures(artifact, rows):
    """Makers that end with anything but a result or a line for the user, or change their rows.

    A plot of several artifacts is made once.
    """
    rows = as_stored(rows)
    plots = [artifact.plot] if artifact in PLOTS.values() else []
    for make in (*artifact.tables, *plots):
        before = rows.copy(deep=False)
        try:
            make(rows)
        except UsageError:
            pass
        except Exception as error:  # noqa: BLE001
            yield f"{make}: {error!r}"
        if not rows.equals(before):
            yield f"{make} changes its rows, which a session shares"
    plt.close("all")


@pytest.mark.parametrize("artifact", TRAINED, ids=lambda one: one.id)
def test_one_method_or_seed_alone_crashes_nothing(artifact, tmp_path):
    found = (rows_to_show(artifact, profile=profile, store=tmp_path) for profile in artifact.profiles)
    rows = next((one for one in found if len(one)), None)
    if rows is None:
        pytest.skip("no rows are committed")
    first = rows[rows.seed == rows.seed.iloc[0]]
    parts = {"first seed": first, **{name: first[first.method == name] for name in first.method.unique()}}
    assert [f"{name}: {line}" for name, part in parts.items() for line in failures(artifact, part)] == []
