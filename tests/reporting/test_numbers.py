"""Numbers of README and first screens: registered, stated as the committed rows give them, and repeated."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fedlib import papers
from fedlib.analysis.intervals import Interval, Ratio, by_sign
from fedlib.analysis.numbers import FINDINGS, README, Number, single, stated, words
from fedlib.cli.main import main
from fedlib.experiments import measurements
from fedlib.experiments.artifact import Artifact, Measurement
from fedlib.experiments.durations import Expected
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import Store
from fedlib.papers import PAPERS, find_artifact
from fedlib.papers.fedddrl.headline import headline as fedddrl
from fedlib.papers.fedddrl.headline import leads
from fedlib.papers.feddisk.headline import headline as feddisk
from fedlib.papers.feddrl.headline import headline as feddrl
from fedlib.papers.feddrl.headline import leads_at_length
from fedlib.papers.frl.headline import headline as frl
from fedlib.papers.head_to_head.headline import headline as head_to_head
from fedlib.papers.head_to_head.on_all_sets import less_fedavg
from fedlib.papers.start.headline import headline as start
from fedlib.paths import project_root
from fedlib.reporting import numbers, repetition
from fedlib.reporting.verdicts import loader
from fedlib.run import Run

HEADLINES = [start, feddrl, feddisk, fedddrl, frl, head_to_head]
NUMBERS = {number.id: number for number in papers.numbers()}
NEWER = "run `python -m fedlib verdicts --write-docs`"


@pytest.fixture(scope="module")
def known():
    return numbers.Committed()


@pytest.fixture(scope="module")
def values(known):
    """Values of the committed rows, by ID."""
    found = {name: known.value(number) for name, number in NUMBERS.items()}
    return {name: value for name, value in found.items() if value is not None}


def text_of(path: str) -> str:
    """README, or what a notebook's cells show, with the plain minus."""
    text = (project_root() / path).read_text()
    if path.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
        text = "\n".join(
            "".join(data.get(kind, "")) for data in shown for kind in ("text/markdown", "text/html")
        )
    return text.replace("−", "-")


def unregistered(text: str, shown: list[str]) -> list[str]:
    """Signed numbers, decimals and percentages of a text that no registered number accounts for."""
    for one in sorted(shown, key=len, reverse=True):
        text = re.sub(rf"(?<![\d.]){re.escape(one)}(?!\d|\.\d)", "", text)
    return re.findall(r"(?<![\w.])[+-]?\d+\.\d+|(?<!\w)[+-]\d+|\d+ %", text)


def test_every_number_is_registered_once_with_artifacts_and_files_that_exist():
    assert len(NUMBERS) == len(papers.numbers()) > 40
    for number in NUMBERS.values():
        assert number.id.replace("-", "_").startswith(tuple(PAPERS))
        assert all((project_root() / place).is_file() for place in number.places)
        for name in number.artifacts:
            assert find_artifact(name).paper in PAPERS


def test_the_page_holds_every_number_of_the_committed_rows(values):
    page = (project_root() / numbers.PAGE).read_text()
    assert set(numbers.stated_values(page)) == set(values), NEWER
    for name, value in values.items():
        assert numbers.number_line(NUMBERS[name], value) in page, NEWER
        low, high = NUMBERS[name].within(value)
        assert low < value.mean < high
        assert NUMBERS[name].unit != "ms" or low > 0, "no time is too short to agree"


def results_in(page: str) -> str:
    text = text_of(page)
    if page != README:
        return text
    return text[text.index("What each paper promises") : text.index("Each effect with an interval")]


@pytest.mark.parametrize("page", numbers.stating_pages())
def test_a_page_states_each_of_its_numbers_and_no_other(page, values):
    own = {name: words(value) for name, value in values.items() if page in NUMBERS[name].places}
    results = results_in(page)
    assert own
    assert {name: text for name, text in own.items() if text not in results} == {}, NEWER
    # FedDdrl's abstract, a Dirichlet distribution, FedDisk's printed levels, shares of FedAvg's level
    of_findings = {"30 %", "0.1", "54.5", "51.7", "95 %"}
    others = {FINDINGS: of_findings, README: {"30 %", "95 %"}}
    assert set(unregistered(results, list(own.values()))) == others.get(page, {"95 %"})


@pytest.mark.parametrize("headline", HEADLINES, ids=lambda headline: headline.__module__.split(".")[2])
def test_headlines_state_registered_numbers_only(headline, known, values):
    sentences = " ".join(headline(known.rows)).replace("−", "-")
    known_levels = {"0.1", "0.5", "95 %"}  # Dirichlet's concentrations, the share of FedAvg's level
    assert set(unregistered(sentences, [words(value) for value in values.values()])) <= known_levels


@pytest.mark.parametrize("table", [leads_at_length, leads, less_fedavg])
def test_tables_of_first_screens_state_registered_numbers_only(table, known, values):
    found = table(known.rows)
    cells = found.drop(columns=[*found.filter(like=": printed"), *found.filter(like="seeds")])
    cells = cells.select_dtypes(exclude="number").to_numpy().ravel()
    assert unregistered(" ".join(cells).replace("−", "-"), [words(value) for value in values.values()]) == []


@pytest.mark.parametrize("place", sorted({place for number in NUMBERS.values() for place in number.places}))
def test_first_screens_show_their_numbers(place, values):
    own = {name: words(value) for name, value in values.items() if place in NUMBERS[name].places}
    shown = text_of(place)
    assert {name: text for name, text in own.items() if text not in shown} == {}


RUN = Run(
    paper="start", artifact="tiny", profile="smoke", dataset="fmnist-embedded", partition="iid",
    model="mlp", method="fedavg", num_clients=3, rounds=2,
    dataset_options={"train_per_class": 4, "test_per_class": 4},
)  # fmt: skip
TINY = Artifact("start/tiny", "One small run", runs=lambda profile: [RUN])
NUMBER = Number(id="start-one", what="accuracy", unit="%", artifacts=(TINY.id,), tolerance=0.5,
                compute=lambda rows_of: single(100 * rows_of(TINY.id).test_accuracy.max()))  # fmt: skip


def test_rows_shared_with_a_larger_grid_add_no_seeds():
    """Ten seeds of one method and five of the other: five; a third that all have joins two planned."""
    groups = {"shared": range(10), "own": range(5)}
    rows = pd.concat(pd.DataFrame({"group": name, "seed": list(own)}) for name, own in groups.items())

    def seeds(planned):
        return numbers._seeds_of(replace(TINY, seeds={"smoke": planned}), "smoke", rows)

    assert seeds(5) == seeds(2) == seeds((0, 3)) == [0, 1, 2, 3, 4]
    assert seeds(7) == [0, 1, 2, 3, 4, 5, 6]
    made_up = pd.DataFrame({"group": "made up", "seed": [0], "stand_in": True})
    assert numbers._seeds_of(TINY, "smoke", pd.concat([rows.assign(stand_in=False), made_up])) == [*range(5)]


def test_values_are_stated_in_the_words_of_intervals():
    gap = replace(NUMBER, unit="points", compute=lambda rows_of: Interval(-0.36, -1.31, 0.6, 5))
    assert stated(gap, lambda name: pd.DataFrame({"seed": [0]})) == "−0.36 [−1.31, +0.60] points"
    assert words(Ratio.of(Interval(58.8, 50.8, 66.8, 20))) == "1.80 [1.66, 1.95]"
    assert [words(single(value)) for value in (0.7, 75.04, 12.0, 4321)] == ["0.700", "75.0", "12", "4,321"]


def test_a_ratio_is_told_from_one():
    sides = {"above": "more", "below": "less", "undecided": "open"}
    logs = [Interval(mean, mean - 5, mean + 5, 3) for mean in (10.0, -10.0, 1.0)]
    assert [by_sign(Ratio.of(one), **sides) for one in logs] == ["more", "less", "open"]
    assert [by_sign(one, **sides) for one in logs] == ["more", "less", "open"]


def test_a_repetition_may_lie_within_the_tolerance_or_half_the_interval():
    spread = Interval(1.0, 0.4, 1.6, 3)
    by_width = replace(NUMBER, tolerance=None)
    assert by_width.within(spread) == pytest.approx((0.4, 1.6))
    time = replace(NUMBER, tolerance=None, factor=3.0)
    here = [
        repetition.Comparison(time, single(90.0), single(value)) for value in (0.0, 29.0, 31.0, 269.0, 271.0)
    ]
    assert [one.agrees for one in here] == [False, False, True, True, False]
    assert here[0].line().endswith("DIFFERS (90 apart, a factor of 3 allowed)")
    assert repetition.Comparison(by_width, spread, Interval(1.55, 0, 3, 3)).agrees
    assert not repetition.Comparison(by_width, spread, Interval(0.35, 0, 3, 3)).agrees
    apart = repetition.Comparison(NUMBER, single(70.0), single(70.625))
    assert apart.line() == "start-one: 70.6 here, 70 committed %: DIFFERS (0.625 apart, 0.5 allowed)"


def test_new_values_replace_those_that_stand_once():
    text = "A gains +1.20 [+0.80, +1.60], B 0.700 ms and C 0.700 ms."
    before = {"a": "+1.20 [+0.80, +1.60]", "b": "0.700"}
    changed = numbers.with_new_values(text, before, {"a": "+1.3 [+0.9, +1.7]", "b": "0.800"})
    assert changed == "A gains +1.3 [+0.9, +1.7], B 0.700 ms and C 0.700 ms."


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("13.5 %", ["3.5"], ["4.0"], "13.5 %"),
        ("3.57 and 3.5, then 1,776.", ["3.5", "776"], ["4.0", "7"], "3.57 and 4.0, then 1,776."),
        ("3.5 of 13.5, +3.5, -3.5 [-4, -3]", ["3.5"], ["4.0"], "4.0 of 13.5, +3.5, -3.5 [-4, -3]"),
        ("1 and 2.", ["1", "2"], ["2", "3"], "2 and 3."),
        ("1 and 1.", ["1"], ["2"], "1 and 1."),
        ("two numbers, 5 %", ["5", "5"], ["5", "6"], "two numbers, 5 %"),
        ("5 %", [], [], "5 %"),
    ],
)
def test_new_values_replace_whole_numbers_all_at_once(text, before, after, expected):
    named = [dict(zip("abc", values, strict=False)) for values in (before, after)]
    assert numbers.with_new_values(text, *named) == expected


def test_a_page_gets_new_values_of_its_own_numbers_only(tmp_path, monkeypatch):
    known = [replace(NUMBER, id=name, places=(place,)) for name, place in (("a", "A.md"), ("b", "B.md"))]
    (tmp_path / "docs").mkdir()
    for place, text in (("docs/numbers.md", "1 2"), ("A.md", "1 and 2"), ("B.md", "1 and 2")):
        (tmp_path / place).write_text(text)
    monkeypatch.setattr(numbers, "project_root", lambda: tmp_path)
    monkeypatch.setattr(numbers, "numbers", lambda: known)
    monkeypatch.setattr(numbers, "numbers_page", lambda: "3 4")
    monkeypatch.setattr(numbers, "stated_values", lambda page: dict(zip("ab", page.split(), strict=True)))
    assert len(numbers.write_numbers()) == 3
    assert [(tmp_path / place).read_text() for place in ("A.md", "B.md")] == ["3 and 2", "1 and 4"]


@pytest.fixture
def one_run(tmp_path, monkeypatch):
    """A store with one small run, which counts as committed; the registry holds one number of it."""
    store = Store(tmp_path / "committed")
    run_runs([RUN], store=store, device="cpu")
    monkeypatch.setitem(PAPERS, "start", replace(PAPERS["start"], artifacts=(TINY,)))
    monkeypatch.setattr(numbers, "numbers", lambda paper=None: [NUMBER])
    monkeypatch.setattr(numbers.Committed, "runs", lambda self, artifact: [RUN])
    monkeypatch.setattr(numbers, "loader", lambda source: loader(store, "store"))


def test_a_number_is_computed_anew_and_compared(one_run, tmp_path, monkeypatch, capsys):
    command = ["reproduce-number", "start-one", "--store", str(tmp_path / "here"), "--device", "cpu"]
    assert main(command) == 0
    assert "agrees (0 apart, 0.5 allowed)" in capsys.readouterr().out
    committed = numbers.Committed.value
    monkeypatch.setattr(
        numbers.Committed, "value", lambda self, number: single(committed(self, number).mean + 1)
    )
    assert main(command) == 1
    assert "DIFFERS (1 apart, 0.5 allowed)" in capsys.readouterr().out


def test_a_measurement_that_takes_longer_than_the_budget_is_not_begun(one_run, tmp_path, monkeypatch, capsys):
    timing = Artifact(
        TINY.id, "timing", measurement=Measurement(TINY.id, lambda profile: pytest.fail("it is begun"))
    )
    monkeypatch.setitem(PAPERS, "start", replace(PAPERS["start"], artifacts=(timing,)))
    monkeypatch.setattr(numbers.Committed, "value", lambda self, number: single(1.0))
    expected = Expected(6000.0, ("an abacus",), runs=1)
    monkeypatch.setattr(measurements, "expected_measurement", lambda measurement, profile: expected)
    command = ["reproduce-number", "start-one", "--store", str(tmp_path / "here"), "--budget-minutes", "60"]
    assert main(command) == 3
    assert "start/tiny: not begun, it takes about 1.7 h (measured on an abacus)" in capsys.readouterr().err


def test_an_unknown_number_is_one_line(capsys):
    assert main(["reproduce-number", "feddrl-table3-pa-fedavgg"]) == 2
    assert "unknown number 'feddrl-table3-pa-fedavgg' (did you mean 'feddrl-table3-pa-fedavg'?)" in (
        capsys.readouterr().err
    )


def test_without_an_id_all_numbers_are_listed(one_run, capsys, monkeypatch):
    """Off the page of a checkout, or out of the rows where there is none."""
    assert main(["reproduce-number"]) == 0
    listed = capsys.readouterr().out.splitlines()
    stated = numbers.stated_values((project_root() / numbers.PAGE).read_text())
    assert [line.split()[0] for line in listed] == list(stated)
    assert all(f"  {value}" in line for line, value in zip(listed, stated.values(), strict=True))
    monkeypatch.setattr(numbers, "PAGE", Path("no") / "such.md")
    assert main(["reproduce-number"]) == 0
    assert re.fullmatch(r"start-one  [\d.]+ %\n", capsys.readouterr().out)
