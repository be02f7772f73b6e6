"""The mean over all data sets' cells, by hand."""

import pandas as pd
import pytest

from fedlib.papers.head_to_head import all_cells, numbers
from tests.support.head_to_head_rows import table_of


def stored(**levels):
    """The same levels on Fashion-MNIST, CIFAR-10 and MNIST, 10 points more each."""
    rows = {}
    for extra, (name, dataset) in enumerate(
        ((numbers.ROWS, "fmnist"), (numbers.SECOND, "cifar10-jpeg"), (numbers.THIRD, "mnist"))
    ):
        own = {one: [level + 0.1 * extra for level in values] for one, values in levels.items()}
        rows[name] = table_of(**own).assign(dataset=dataset)
    return lambda name: rows.get(name, pd.DataFrame())


def test_the_mean_is_over_the_cells_of_all_data_sets():
    """FedDRL is 2 points ahead of FedAvg with every seed, and 1 behind its untrained policy."""
    rows_of = stored(fedavg=[0.5, 0.51], feddrl=[0.52, 0.53], feddrl_untrained=[0.53, 0.54])
    table = all_cells.together(rows_of).set_index("contestant")
    assert table["less FedAvg (points)"].to_dict() == pytest.approx(
        {"FedDRL (online)": 2, "FedDRL, untrained": 3}
    )
    assert table["less its untrained policy (points)"]["FedDRL (online)"] == pytest.approx(-1)
    (told,) = all_cells.together_words(rows_of)
    assert told.startswith("Over the 3 cells of all data sets together, a mean that no claim asks for")
    assert "Ahead of FedAvg: FedDRL (online) +2.0" in told
    assert "Behind their untrained policy: FedDRL (online) −1.0" in told


def test_without_one_of_the_sets_nothing_is_said():
    rows_of = stored(fedavg=[0.5, 0.51], feddrl=[0.52, 0.53])
    assert (
        all_cells.together_words(lambda name: rows_of(name)[:0] if name == numbers.THIRD else rows_of(name))
        == []
    )
    assert all_cells.together(lambda name: pd.DataFrame()).empty
