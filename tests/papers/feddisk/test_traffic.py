"""FedDisk's traffic: printed beside ours by hand, and real federations against sizes of real models."""

import pandas as pd
import pytest
from worlds import make_world

from fedlib.data import load_dataset
from fedlib.experiments.result_files import read_rows, results_file
from fedlib.federation import rounds
from fedlib.methods import make_method
from fedlib.papers.feddisk import traffic
from fedlib.papers.feddisk.measurements import SIDE_OF
from fedlib.papers.feddisk.runs import METHODS, SCALES
from fedlib.papers.feddisk.tables import all_bytes
from tests.papers.feddisk.test_claims import RIVALS, rows


def test_costs_beside_ours():
    """Ours: 2 (400 * 2 + 100 * 2) = 2000 bytes and 600; printed for MNIST: 8.62 and 12.0 million weights."""
    table = traffic.costs_beside_ours(rows([0.5, 0.8, 0.9], [0.2, 0.4, 0.8])).set_index("method")
    printed, ours = table["million weights: printed"], table["MB: ours"]
    assert printed[["feddisk", "fedavg"]].tolist() == pytest.approx([8.62, 12.0])
    assert ours[["feddisk", "fedavg"]].tolist() == pytest.approx([0.002, 0.0006])
    assert table["over FedDisk's: printed"]["fedavg"] == 1.39
    assert table["over FedDisk's: ours"][[*RIVALS]].tolist() == pytest.approx([0.3] * 4)
    never = traffic.costs_beside_ours(rows([0.1], [0.8])).set_index("method")
    assert "over FedDisk's: ours" not in never
    assert never["MB: ours"].notna().sum() == 4


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
    table = traffic.whole_runs(federations, {"mnist": 16}).set_index("method")
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
    table = traffic.whole_runs(more, {"mnist": 16}).set_index("method")
    assert (table.counted - table.formula > 0).to_dict() == {m: m != "feddisk" for m in METHODS}


def test_cells_in_which_formula_and_counter_agree_are_counted(monkeypatch):
    table = pd.DataFrame(
        {"formula": [2e6, 5e6], "counted": [2e6, 4e6], "dataset": "mnist", "method": ["a", "b"]}
    )
    monkeypatch.setattr(traffic, "whole_runs", lambda _: table)
    assert traffic.agreement_words(table) == [
        "Formula and byte counter agree in 1 of 2 cells (2.00 to 4.00 MB a client over all rounds)."
    ]
    assert traffic.agreement_words(table[:0]) == []


def test_the_formula_takes_the_side_from_the_data_set_not_from_the_counter(federations):
    """These federations had images of 16 x 16, and MNIST has 28 x 28: no method's bytes may agree."""
    table = traffic.whole_runs(federations)
    assert (table.side == 28).all()
    assert (table.formula > table.counted).all()


def test_sides_are_those_of_the_data_sets():
    """Committed samples hold images of every data set of `reduced`; smoke's are made or embedded."""
    names = {setting.dataset for scale in SCALES.values() for setting in scale.settings}
    assert set(SIDE_OF) == names
    shapes = read_rows(results_file("feddisk/fig2", "reduced")).set_index("dataset")["shape"].to_dict()
    assert set(shapes) == {setting.dataset for setting in SCALES["reduced"].settings}
    shapes["fmnist-embedded"] = "x".join(map(str, load_dataset("fmnist-embedded").train.images.shape))
    for name, shape in shapes.items():
        assert shape.split("x")[1:] == [str(SIDE_OF[name])] * 2, name


def test_costs_of_femnist_by_both_sizes():
    """FedDisk: 2 (627,200 * 15 + 447,406 * 105) and 2 (614,400 * 15 + 465,838 * 105); FedROD: 1015 rounds."""
    table = traffic.costs_by_side().set_index("method")
    assert list(table.index) == ["FedDisk", "FedROD", "FedAvg", "FedProx", "FedBN"]
    assert table.loc["FedDisk", ["printed", "at_28", "at_32"]].tolist() == pytest.approx(
        [112.29, 112.77126, 116.25798]
    )
    assert table.loc["FedROD", ["at_28", "at_32"]].tolist() == pytest.approx([908.23418, 945.65114])
    assert table.times_28["FedROD"] == pytest.approx(908.23418 / 112.77126)
    assert table.at_28["FedBN"] == pytest.approx(2 * 446_894 * 1255 / 1e6)  # BatchNorm stays at home
    assert (table.loc["FedDisk", ["times_printed", "times_28", "times_32"]] == 1).all()


def test_rounds_between_evaluations_are_counted():
    """Two clients, 4 rounds of 100 bytes each way and 3 of the MADE of 400, all stored or half."""
    whole = rows([0.5] * 4, [0.8] * 4)
    own = whole[whole.method == "feddisk"]
    assert all_bytes(own) == 2 * (3 * 400 + 4 * 100)
    assert all_bytes(own[own["round"] % 2 == 0]) == 2 * (3 * 400 + 4 * 100)
