"""A committed figure that is out of date is named; what differs in an antialiased edge only is not."""

import fake_federation
import numpy as np
import PIL.Image
import pytest

from fedlib.reporting import figure_files
from fedlib.reporting.figure_files import picture_difference, stale_figures


@pytest.fixture
def picture(tmp_path):
    def write(name, pixels):
        path = tmp_path / f"{name}.png"
        PIL.Image.fromarray(pixels.astype(np.uint8)).save(path)
        return path

    return write


def test_a_moved_curve_is_told_and_a_shade_is_not(picture):
    plain = np.full((40, 50, 3), 255)
    moved, shaded = plain.copy(), plain.copy()
    moved[10:14] = 0  # a tenth of the picture
    shaded[10:14] = 240
    committed = picture("committed", plain)
    assert picture_difference(picture("moved", moved), committed) == "10.00% of the pixels differ"
    assert picture_difference(picture("shaded", shaded), committed) == ""


def test_a_moved_marker_is_told_and_a_moved_hairline_is_not(picture):
    """A marker is 64 of 100,000 pixels, a hairline two pixels wide 200 of them."""
    plain = np.full((200, 500, 3), 255)
    marker, hairline = plain.copy(), plain.copy()
    marker[50:58, 60:68] = 0
    hairline[50:150, 60:62] = 0
    committed = picture("committed", plain)
    assert picture_difference(picture("marker", marker), committed) == "0.06% of the pixels differ"
    assert picture_difference(picture("hairline", hairline), committed) == ""


def test_another_size_and_an_absent_figure_are_told(picture, tmp_path):
    fresh = picture("fresh", np.zeros((4, 5, 3)))
    assert picture_difference(fresh, picture("other", np.zeros((4, 6, 3)))) == "5x4 pixels; committed 6x4"
    assert picture_difference(fresh, tmp_path / "absent.png") == "not committed"


def test_a_committed_figure_that_is_not_drawn_any_more_is_told(tmp_path, monkeypatch):
    """One is drawn as committed, one anew; of other folders than papers' nothing is asked."""
    fake_federation.install_for(monkeypatch, tmp_path)
    white = PIL.Image.new("RGB", (4, 4), "white")

    def draw(papers, *, store, folder):
        (folder / "fake").mkdir()
        for name in ("same", "fresh"):
            white.save(folder / "fake" / f"{name}.png")
            yield f"fake/{name}"

    committed = tmp_path / "figures"
    for name in ("fake/same", "fake/gone", "benchmarks/growth", "published-against-ours"):
        (committed / name).parent.mkdir(parents=True, exist_ok=True)
        white.save(committed / f"{name}.png")
    monkeypatch.setattr(figure_files, "figures_folder", lambda: committed)
    monkeypatch.setattr(figure_files, "draw_figures", draw)
    told = ["fake/fresh.png: not committed", "fake/gone.png: committed, but not drawn now"]
    assert [*stale_figures(["fake"])] == [*stale_figures()] == told
