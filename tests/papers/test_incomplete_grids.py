"""Tables and plots of rows of one method or one seed alone, as after `run ID --method M` or `--seeds 0,`."""

import matplotlib.pyplot as plt
import pytest

from fedlib.errors import UsageError
from fedlib.experiments.results import rows_to_show
from fedlib.papers import artifacts

TRAINED = [one for one in artifacts().values() if any(map(one.runs, one.profiles))]
LONG = {"fedddrl/episode", "fedddrl/alg1-weights", "fedddrl/controls", "frl/sec5"}  # drawing takes seconds
PLOTS = {str(one.plot): one for one in reversed(TRAINED) if one.plot and one.id not in LONG}


def failures(artifact, rows):
    """Makers that end with anything but a result or a line for the user; a plot of several artifacts once."""
    plots = [artifact.plot] if artifact in PLOTS.values() else []
    for make in (*artifact.tables, *plots):
        try:
            make(rows)
        except UsageError:
            pass
        except Exception as error:  # noqa: BLE001
            yield f"{make}: {error!r}"
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
