"""A table of rows is computed once per frame, and forgotten with it."""

import gc
import weakref

import pandas as pd

from fedlib.analysis.memo import kept_per_frame, map_distinct, once_per_frame


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


def test_what_is_kept_is_the_same_frame_and_does_not_hold_its_own_rows():
    asked = []

    @kept_per_frame
    def small(rows):
        asked.append(len(rows))
        return rows[rows.a < 5] if (rows.a >= 5).any() else rows

    rows, all_small = pd.DataFrame({"a": [1, 7]}), pd.DataFrame({"a": [1]})
    assert small(rows) is small(rows)
    assert asked == [2]
    assert small(all_small) is all_small
    alive = weakref.ref(all_small)
    del all_small
    gc.collect()
    assert alive() is None


def test_map_distinct_reads_each_value_once_and_keeps_the_index():
    asked = []
    values = pd.Series(["a", "bb", "a", None], index=[3, 1, 2, 0])
    found = map_distinct(
        values, lambda text: asked.append(text) or (len(text) if isinstance(text, str) else 0)
    )
    assert found.to_dict() == {3: 1, 1: 2, 2: 1, 0: 0}
    assert len(asked) == 3
