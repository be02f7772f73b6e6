"""What notebooks show of stored rows: what is asked, the largest complete profile, sharp figures."""

import functools
import io
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import PIL.Image
import pytest

from fedlib.errors import UsageError
from fedlib.experiments.artifact import Deferred
from fedlib.papers import find_artifact
from fedlib.reporting import display, session, verdicts


@pytest.fixture
def shown(monkeypatch):
    """What was displayed, in order."""
    found = []
    monkeypatch.setattr(display, "display", found.append)
    return found


@pytest.fixture
def rows_at(monkeypatch):
    """Rows of an artifact at the profiles given, with their seeds, instead of those in the store."""

    def put(**seeds_of):
        def load(artifact, *, profile, store, source):
            seeds = seeds_of.get(profile, ())
            keys = [run.group_key for run in artifact.runs(profile)] if seeds else []
            lines = [(seed, f"{seed}{key}", key) for seed in seeds for key in keys]
            frame = pd.DataFrame(lines, columns=["seed", "run", "group"])
            made = {"device_name": "an AMD, 1 thread", "commit": "abcdef01234567"}
            return frame.assign(profile=profile, dataset="mnist", status="ok", value=1.0, round=1, **made)

        monkeypatch.setattr(verdicts, "rows_to_show", load)
        session._rows.cache_clear()

    yield put
    session._rows.cache_clear()


def test_the_largest_profile_is_shown_and_said(rows_at, shown):
    rows_at(smoke=(0, 1), reduced=(0, 1, 2))
    mine = session.begin("frl", profile="smoke", seeds=2)
    mine.table("frl/fig14", lambda rows: rows[["value"]].head(1))
    assert "asked: largest profile stored; shown: reduced, mnist, 3 seeds (0 to 2)" in shown[0].data
    assert "FRL report, fig. 14" in shown[0].data
    line, opened = shown[0].data.split("</summary>")
    assert "commit" not in line
    for told in (
        "data mnist",
        "profile reduced",
        "3 seeds (0 to 2)",
        "an AMD, 1 thread",
        "commit abcdef0123",
    ):
        assert f"<li>{told}</li>" in opened
    assert "<table" in shown[1].data


def test_mine_shows_only_the_runs_of_these_parameters(rows_at, shown):
    rows_at(smoke=(0, 1, 2, 3, 4), reduced=(0, 1, 2))
    mine = session.begin("frl", profile="smoke", seeds=2, shown="mine")
    assert set(mine.rows("frl/fig14").seed) == {0, 1}
    mine.table("frl/fig14", lambda rows: rows[["value"]].head(1))
    assert "asked: smoke, 2 seeds (0, 1); shown: smoke, mnist, 2 seeds (0, 1)" in shown[0].data


def test_own_seeds_are_the_profiles_number(rows_at):
    rows_at(reduced=(0, 1, 2, 3, 4))
    own = session.begin("feddrl", profile="reduced", seeds="own", shown="mine")
    assert set(own.rows("feddrl/small_setting").seed) == {0, 1, 2, 3, 4}
    wanted = find_artifact("feddrl/small_setting")
    assert {run.seed for run in own._runs(wanted)} == set(range(wanted.seeds["reduced"]))
    assert own.asked() == "reduced, the profile's own seeds"


def test_absent_rows_are_one_line_with_the_command_that_makes_them(rows_at, shown):
    rows_at()
    session.begin("frl", profile="smoke", seeds=2).figure("frl/fig14")
    assert len(shown) == 1
    assert "python -m fedlib run frl/fig14 --profile smoke --seeds 0,1" in shown[0].data


def test_a_line_stands_once_above_what_a_cell_shows_of_the_same_rows(rows_at, shown, monkeypatch):
    """A table's line is left out below its own figure, not in another cell, of other rows, or outside."""
    rows_at(reduced=(0, 1))
    mine, table = session.begin("frl"), pd.DataFrame({"policy": ["keep_all"]})
    monkeypatch.setattr(display, "show_figure", lambda figure, title: shown.append(display.HTML("figure")))
    monkeypatch.setattr(Deferred, "__call__", lambda plot, rows: None)

    def kinds(cell, *steps):
        shown.clear()
        monkeypatch.setattr(session, "execution_id", lambda: cell)
        for step in steps:
            step()
        found = [one.data for one in shown]
        return ["line" if "asked:" in data else "table" if "<table" in data else data for data in found]

    def figure():
        mine.figure("frl/fig14")

    def tabulate(artifact="frl/fig14", made=table):
        mine.table(artifact, lambda rows: made)

    assert kinds("4", figure, tabulate, tabulate) == ["line", "figure", "table", "table"]
    assert kinds("5", tabulate) == ["line", "table"]
    between = kinds("6", figure, lambda: tabulate("frl/fig15"), tabulate)
    assert between == ["line", "figure", "line", "table", "line", "table"]
    assert kinds("7", figure, lambda: tabulate(made=table.iloc[:0])) == ["line", "figure", "line"]
    assert kinds(None, figure, tabulate) == ["line", "figure", "line", "table"]


def test_a_fold_opens_to_sentences_the_line_and_tables(rows_at, shown):
    rows_at(reduced=(0, 1))
    mine = session.begin("frl")
    told = ("It leads by -2 in `late`.",)
    mine.fold("CE & CN at `late`, -2", "frl/fig14", lambda rows: rows[["value"]].head(1), sentences=told)
    (block,) = shown
    head, opened = block.data.split("</summary>", 1)
    assert head == "<details><summary>CE &amp; CN at <code>late</code>, −2"
    parts = ("<li>It leads by −2 in <code>late</code>.</li>", "shown: reduced, mnist, 2 seeds", "<table")
    places = [opened.index(part) for part in parts]
    assert places == sorted(places)
    mine.fold("without rows", "frl/fig14", lambda rows: rows.iloc[:0])
    assert "shown: nothing" in shown[1].data
    assert "<table" not in shown[1].data
    assert "<ul>" not in shown[1].data


def test_smoke_rows_are_shown_only_without_others(rows_at):
    rows_at(smoke=(0,))
    assert set(session.begin("frl").rows("frl/fig14").profile) == {"smoke"}


def test_a_figure_has_twice_the_pixels_of_its_size_on_the_page(shown):
    figure, _ = plt.subplots(figsize=(3, 2))
    display.show_figure(figure)
    assert (shown[0].width, shown[0].height) == (288, 192)
    with PIL.Image.open(io.BytesIO(shown[0].data)) as picture:
        assert picture.size == (576, 384)
    assert figure.number not in plt.get_fignums()


def test_an_artifact_of_the_paper_goes_by_its_number_which_links_to_the_paper(rows_at, shown):
    assert display.place_in_paper(find_artifact("feddrl/fig5")) == "FedDRL, fig. 5"
    assert display.place_in_paper(find_artifact("feddrl/small_setting")) == ""
    rows_at()
    session.begin("feddrl", profile="smoke", seeds=1).figure("feddrl/fig5", "feddrl/small_setting")
    assert '<a href="https://doi.org/10.1145/3545008.3545085">FedDRL, fig. 5</a>: ' in shown[0].data
    assert "<b>The agent beside" in shown[1].data


def test_settings_have_a_line_for_each_option(shown):
    runs = find_artifact("feddisk/fig3").runs("smoke")
    display.show_settings({run.dataset: run for run in runs if run.method == "feddisk"})
    assert shown[0].data.count("<table") == 1
    assert "method: made_hidden" in shown[0].data
    assert "precision" not in shown[0].data, "all runs leave it as it is"
    display.show_settings({"a": runs[0], "b": replace(runs[0], precision="bf16")})
    assert "precision" in shown[1].data


def test_methods_go_by_their_labels_and_equal_counts_of_seeds_are_left_to_the_line(rows_at, shown):
    rows_at(reduced=(0, 1, 2))
    table = pd.DataFrame({"policy": ["keep_all"], "method": ["fedprox"], "mean": [2.0], "n": [3]})
    session.begin("frl").table("frl/fig14", lambda rows: table, lambda rows: table.assign(n=2))
    assert "keep all" in shown[1].data
    assert "FedProx" in shown[1].data
    assert ">n<" not in shown[1].data
    assert ">n<" in shown[2].data


def test_each_table_stands_below_its_own_caption(rows_at, shown):
    """Also where a table before it has no lines and is left out."""
    rows_at(reduced=(0, 1, 2))
    table = pd.DataFrame({"policy": ["keep_all"], "mean": [2.0]})
    makers = (lambda rows: table, lambda rows: table.iloc[:0], lambda rows: table)
    mine = session.begin("frl")
    mine.table("frl/fig14", *makers, captions=("One.", "Two.", "P(> FedAvg)."))
    above = [one.data.split("<table")[0] for one in shown[1:]]
    first, last = above
    assert "<em>One.</em>" in first
    assert "<em>P(&gt; FedAvg).</em>" in last
    with pytest.raises(UsageError, match="1 captions given for 3 tables"):
        mine.table("frl/fig14", *makers, captions=("One.",))


def test_a_reduced_picture_keeps_the_colours_of_pale_bands():
    """Two bands of a tint each beside a gradient of more colours than the palette has, and white around."""
    pixels = np.full((60, 300, 3), 255, dtype=np.uint8)
    pixels[:20], pixels[20:40] = (250, 230, 216), (248, 232, 235)
    pixels[50:, :, 0] = np.arange(300) % 256
    pixels[50:, :, 1] = np.arange(300)[::-1] % 256
    picture = io.BytesIO()
    PIL.Image.fromarray(pixels).save(picture, "PNG")
    picture.seek(0)
    with PIL.Image.open(io.BytesIO(display._small(picture))) as small:
        found = np.asarray(small.convert("RGB"))
    assert (found[:50] == pixels[:50]).all()
    assert abs(found[50:].astype(int) - pixels[50:]).max() < 40


def test_a_reduced_picture_keeps_the_colour_of_a_small_mark():
    """Two blue pixels among thousands of other colours, which a cut by counts mixes with these."""
    image, blue = PIL.Image.new("RGB", (64, 64)), (0, 0x72, 0xB2)
    places = [(x, y) for y in range(64) for x in range(64)]
    image.putdata([(255 - (x + y) % 90, 160 + (3 * x + y) % 90, 150 + x * y % 100) for x, y in places])
    for x in (0, 1):
        image.putpixel((x, 32), blue)
    picture = io.BytesIO()
    image.save(picture, "PNG")
    with PIL.Image.open(io.BytesIO(display._small(picture))) as small:
        found = small.convert("RGB").getpixel((1, 32))
    assert max(abs(one - other) for one, other in zip(found, blue, strict=True)) <= 8


def test_a_reduced_picture_keeps_the_colour_of_a_marker_as_it_is():
    """A marker of 16 pixels among 200 shades near to it, each of them on more pixels, which never touch."""
    pixels, blue = np.full((60, 300, 3), 255, dtype=np.uint8), (20, 114, 178)
    shades = np.random.default_rng(0).integers((0, 94, 158), (40, 134, 198), size=(200, 3))
    pixels[::2, ::2] = shades[np.arange(30 * 150).reshape(30, 150) % 200]
    pixels[31:35, 31:35] = blue
    picture = io.BytesIO()
    PIL.Image.fromarray(pixels).save(picture, "PNG")
    with PIL.Image.open(io.BytesIO(display._small(picture))) as small:
        found = np.asarray(small.convert("RGB"))
    assert (found[31:35, 31:35] == blue).all()


def test_tables_name_data_sets_by_their_titles(monkeypatch):
    shown = []
    monkeypatch.setattr(display, "display", lambda page: shown.append(page.data))
    display.show_frame(pd.DataFrame({"dataset": ["mnist", "standin-xray"], "method": "fedavg"}), "t")
    assert "<nobr>MNIST</nobr>" in shown[0]
    assert "<nobr>chest X-rays (stand-in)</nobr>" in shown[0]
    assert "<nobr>FedAvg</nobr>" in shown[0]


def test_a_colour_bar_keeps_its_steps(monkeypatch):
    """A map of 256 colours: the bar is even, where 64 colours would leave a few uneven steps."""
    shown = []
    monkeypatch.setattr(display, "display", lambda image: shown.append(image.data))
    for bar in (False, True):
        figure, ax = plt.subplots(figsize=(3, 2))
        image = ax.imshow(np.linspace(0, 1, 256).reshape(16, 16))
        if bar:
            figure.colorbar(image)
        display.show_figure(figure)
    counts = []
    for data in shown:
        with PIL.Image.open(io.BytesIO(data)) as picture:
            counts.append(len(picture.convert("RGB").getcolors(1 << 16)))
    assert counts[0] <= display.COLOURS
    assert counts[1] > 2 * display.COLOURS


def record(name, how="", *, ours=False, verdict="supported", kind="superiority"):
    told = {"evidence": "+1", "profile": "reduced", "data": "mnist", "statement": "better", "how": how}
    return {"claim": f"A-{name}", "verdict": verdict, "kind": kind, "ours": ours, "effects": [], **told}


def test_a_caveat_of_three_claims_stands_once_above_them(shown):
    """C1's own sentence, and one that two claims share, stay below their claims."""
    shared, pair = "Seeds 3 and 4 were added.", "*Much smaller* is half."
    display.show_claims(
        [
            record("C1", f"Its own. {shared}"),
            record("C2", f"{shared} {pair}"),
            record("C3", f"{pair} {shared}"),
        ]
    )
    above, claims = shown
    assert above.data == f"- C1, C2 and C3: {shared}"
    assert "Its own." in claims.data
    assert claims.data.count(pair) == 2
    assert shared not in claims.data
    shown.clear()
    display.show_claims([record("C1", shared), record("C2", shared)])
    assert len(shown) == 1
    assert shown[0].data.count(shared) == 2


def test_our_claims_say_so_and_logarithms_are_explained_once(shown):
    records = [record("C1"), record("C2", ours=True)]
    display.show_claims([*records, {**record("C3"), "evidence": "ratio (100 log): +9"}])
    note, claims = shown
    assert note.data == "- (100 log): 100 times the natural logarithm of a ratio; +10 is a tenth more."
    assert "A-C1 · supported" in claims.data
    assert "A-C2 (ours) · supported" in claims.data
    shown.clear()
    display.show_claims(records)
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("part", "words"), [("supported", "supported (barely)"), ("inconclusive", "supported")]
)
def test_a_claim_says_where_the_part_that_decides_it_does_so_barely(shown, part, words):
    effects = [{"verdict": "supported", "barely": False}, {"verdict": part, "barely": True}]
    display.show_claims([{**record("C1"), "effects": effects}])
    assert f"A-C1 · {words} · better" in shown[0].data


def test_published_claims_and_ours_are_counted_apart():
    found = [record("C1"), record("C2", kind="arithmetic"), record("R1", ours=True, verdict="inconclusive")]
    assert display.verdicts_words(found) == (
        "Of 1 published claim that runs decide: 1 supported (C1). By computation without training: 1 "
        "supported (C2). Of 1 claim of ours: 1 inconclusive."
    )
    assert display.verdicts_words(found[2:]) == "Of 1 claim of ours: 1 inconclusive."
    many = [record(f"C{n}") for n in range(3)]
    assert display.verdicts_words(many) == "Of 3 published claims that runs decide: 3 supported."


@pytest.mark.parametrize("verdict", ["not supported", "inconclusive"])
def test_findings_define_what_not_supported_means_and_link_the_rest(shown, verdict):
    display.show_findings(["It is ahead."], [record("C1", verdict=verdict)], paper="start")
    first, verdicts_line, _ = shown[0].data.split("\n")
    assert first == "- It is ahead."
    assert verdicts_line.startswith(f"- Of 1 published claim that runs decide: 1 {verdict}. ")
    assert ("*Not supported*: the whole interval lies below" in verdicts_line) == (verdict == "not supported")
    assert verdicts_line.endswith(" The other words and rules: [docs/claims.md](../docs/claims.md).")


def test_tables_are_named_by_their_makers():
    """A function, a `Deferred` and one with options bound to it; one without lines is left out."""
    rows = pd.DataFrame({"value": [1.0]})
    deferred = Deferred("pandas").DataFrame
    merge = functools.partial(pd.merge, right=rows)
    makers = [deferred, functools.partial(deferred, columns=["value"]), merge, lambda rows: rows[:0]]
    assert [*display.make_tables(rows, makers)] == ["DataFrame-0", "DataFrame-1", "merge-2"]
