"""FedDisk's traffic: printed beside ours by hand, and real federations against sizes of real models."""

import pandas as pd
import pytest
from test_feddisk_claims import RIVALS, rows
from worlds import make_world

from fedlib.errors import UsageError
from fedlib.federation import rounds
from fedlib.methods import make_method
from fedlib.papers import feddisk_costs as costs
from fedlib.papers.feddisk_grid import METHODS


def test_costs_beside_ours():
    """Ours: 2 (400 * 2 + 100 * 2) = 2000 bytes and 600; printed for MNIST: 8.62 and 12.0 million weights."""
    table = costs.costs_beside_ours(rows([0.5, 0.8, 0.9], [0.2, 0.4, 0.8])).set_index("method")
    assert table.published[["feddisk", "fedavg"]].tolist() == pytest.approx([8.62, 12.0])
    assert table.ours_megabytes[["feddisk", "fedavg"]].tolist() == pytest.approx([0.002, 0.0006])
    assert table.times_published["fedavg"] == pytest.approx(12 / 8.62)
    assert table.times_ours[[*RIVALS]].tolist() == pytest.approx([0.3] * 4)
    never = costs.costs_beside_ours(rows([0.1], [0.8])).set_index("method")
    assert never.times_ours.isna().all()
    assert never.ours_megabytes.notna().sum() == 4


def federation(method, **options):
    """Rows of three rounds of the paper's network on images of 16 x 16, as fig. 3 stores them."""
    task = make_world(
        sizes=(30, 22), shape=(16, 16), classes=10, model="cnn-feddisk", model_options={"width": 3},
        rounds=3, local_epochs=1, batch_size=10,
    )  # fmt: skip
    found = [row for result in rounds(task, make_method(method, options)) for row in result.rows[0]]
    told = {"dataset": "mnist", "method": method, "seed": 0, "num_clients": 2}
    texts = {"model_options": '{"width": 3}', "method_options": '{"made_hidden": 5}'}
    return pd.DataFrame(found).assign(**told, **texts)


@pytest.fixture(scope="module")
def federations():
    short = {"made_hidden": 5, "made_max_rounds": 4, "ratio_hidden": 4, "ratio_max_epochs": 3}
    return pd.concat([federation(m, **(short if m == "feddisk" else {})) for m in METHODS])


def test_the_counter_has_what_real_models_and_the_formula_say(federations):
    table = costs.whole_runs(federations).set_index("method")
    assert list(table.index) == list(METHODS)
    assert table.formula.tolist() == table.counted.tolist()
    assert (table.side == 16).all()
    # conv 1->3 and 3->3 of 5x5, fc 3->16 and 16->10, BatchNorm 2 x 3 twice; statistics 2 (2 x 3 + 2) words
    weights = (3 * 25 + 3) + (9 * 25 + 3) + (3 * 16 + 16) + (160 + 10) + 12
    assert table.counted["fedavg"] == 2 * 3 * 4 * (weights + 16)
    assert table.counted["fedbn"] == 2 * 3 * 4 * (weights - 12)
    made = federations.made_rounds_run.max() * (2 * 256 * 5 + 5 + 256)
    assert table.counted["feddisk"] == 2 * 4 * (3 * (weights + 16) + made)


def test_a_counter_that_is_off_is_seen(federations):
    of_rivals = federations.method != "feddisk"
    more = federations.assign(uplink_bytes=federations.uplink_bytes + 4 * of_rivals)
    table = costs.whole_runs(more).set_index("method")
    assert (table.counted - table.formula > 0).to_dict() == {m: m != "feddisk" for m in METHODS}
    with pytest.raises(UsageError, match=r"a MADE of 5 hidden units sent .* bytes; allowed: 4 \(2 d H"):
        costs.side_by_the_made(federations.assign(uplink_bytes=federations.uplink_bytes * 1.5))
    assert costs.whole_runs(federations[of_rivals]).empty
