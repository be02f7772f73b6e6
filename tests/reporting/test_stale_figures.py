"""A committed figure that is out of date is named; what differs in an antialiased edge only is not."""

import numpy as np
import PIL.Image
import pytest

from fedlib.reporting.figure_files import picture_difference


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
