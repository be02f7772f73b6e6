"""A table of rows is computed once per frame, and forgotten with it."""

import gc
import weakref

import pandas as pd

from fedlib.analysis.memo import once_per_frame


def test_once_per_frame_and_options_and_no_longer_than_the_frame():
    asked = []

    @once_per_frame
    def scaled(rows, factor=1):
        asked.append(factor)
        return rows * factor

    rows = pd.DataFrame({"a": [1, 2]})
    assert [scaled(rows).a.sum(), scaled(rows).a.sum(), scaled(rows, 3).a.sum()] == [3, 3, 9]
    assert asked == [1, 3]
    assert scaled(rows.copy()).a.sum() == 3
    assert asked == [1, 3, 1]
    alive = weakref.ref(rows)
    del rows
    gc.collect()
    assert alive() is None


def test_a_callers_changes_stay_its_own():
    plain = once_per_frame(lambda rows: rows + 0)
    rows = pd.DataFrame({"a": [1, 2]})
    mine = plain(rows)
    mine.loc[0, "a"] = 7
    mine["b"] = 0
    assert plain(rows).to_dict("list") == {"a": [1, 2]}
