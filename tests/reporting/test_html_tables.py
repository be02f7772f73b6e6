"""HTML tables: merged intervals, grouped headers, tables that fit, ids that repeat."""

import re

import pandas as pd

from fedlib.reporting.html_tables import MAX_PIXELS, html_list, html_table


def cells(text: str) -> list[str]:
    return re.findall(r"<td[^>]*><nobr>([^<]*)</nobr></td>", text)


def test_a_cell_is_one_line_without_styles_too():
    text = html_table(pd.DataFrame({"data": ["standin-cifar100, <all> of them"]}), name="t")
    assert "><nobr>standin-cifar100, &lt;all&gt; of them</nobr></td>" in text


def test_low_and_high_are_merged_into_the_value_left_of_them():
    frame = pd.DataFrame(
        {"method": ["a", "b"], "ours": [61.2, 70.0], "low": [59.8, None], "high": [62.6, None]}
    )
    assert cells(html_table(frame, name="t")) == ["a", "61.2 ± 1.4", "b", "70.0"]


def test_an_interval_that_is_not_symmetric_shows_both_ends():
    frame = pd.DataFrame({"method": ["a"], "gain": [0.5], "gain low": [0.1], "gain high": [2.0]})
    assert cells(html_table(frame, name="t")) == ["a", "+0.50 [+0.10, +2.00]"]


def test_a_line_has_the_decimals_of_its_interval_and_at_most_those_of_its_column():
    """As in `interval_words`: half a width of 14.4 deserves none, of 1.15 one, of 0.13 two."""
    frame = pd.DataFrame({"gain": [0.783, 0.5], "gain low": [-13.62, -10.0], "gain high": [15.186, 11.0]})
    assert cells(html_table(frame, name="t")) == ["+1 ± 14", "+0 ± 10"]
    frame.loc[1, ["gain low", "gain high"]] = 0.46, 0.54
    assert cells(html_table(frame, name="t")) == ["+1 ± 14", "+0.50 ± 0.04"]
    lead = pd.DataFrame({"lead": [5.03, 0.23], "lead low": [3.88, 0.1], "lead high": [6.18, 0.36]})
    assert cells(html_table(lead, name="t")) == ["+5.0 ± 1.1", "+0.23 ± 0.13"]


def test_intervals_of_a_column_have_one_form():
    """61.2 [59.8, 62.6] alone would be 61.2 ± 1.4; beside 70 [65, 71] it shows both ends, too."""
    frame = pd.DataFrame({"m": ["a", "b"], "ours": [61.2, 70.0], "low": [59.8, 65.0], "high": [62.6, 71.0]})
    assert cells(html_table(frame, name="t")) == ["a", "61.2 [59.8, 62.6]", "b", "70.0 [65.0, 71.0]"]
    assert cells(html_table(frame.iloc[:1], name="t")) == ["a", "61.2 ± 1.4"]


def test_rounded_bounds_of_a_symmetric_interval_are_symmetric():
    """87.16 ± 0.85 with each number rounded to one place: 87.2, 86.3 and 88.0."""
    frame = pd.DataFrame({"m": ["a"], "ours": [87.2], "low": [86.3], "high": [88.0]})
    assert cells(html_table(frame, name="t")) == ["a", "87.2 ± 0.9"]


def test_bounds_of_another_quantity_are_not_merged_into_the_one_beside_them():
    frame = pd.DataFrame({"h": [0.09], "alpha low": [0.7], "alpha high": [1.2]})
    assert cells(html_table(frame, name="t")) == ["0.0900", "0.700", "1.20"]


def test_a_sign_is_shown_for_differences_only_and_whole_numbers_have_no_exponent():
    frame = pd.DataFrame({"of": ["a"], "effective samples": [4.0], "effect": [4.0], "printed": [4.7e4]})
    assert cells(html_table(frame, name="t")) == ["a", "4", "+4", "47,000"]
    assert cells(html_table(pd.DataFrame({"VDN 1": ["-", 1317270000.0]}), name="t")) == ["-", "1,317,270,000"]


def test_bounds_belong_to_their_own_group():
    names = ["cell", "A: ours", "A: low", "A: high", "B: ours", "B: low", "B: high"]
    text = html_table(pd.DataFrame([["x", 10.0, 9.0, 11.0, 20.0, 18.0, 22.0]], columns=names), name="t")
    assert cells(text) == ["x", "10 ± 1", "20 ± 2"]
    assert re.findall(r'colspan="(\d)"', text) == []  # one column is left under each header


def test_small_numbers_of_a_wide_range_are_not_shown_as_zero():
    frame = pd.DataFrame({"setting": ["rate", "size"], "ours": [0.0001, 100000.0]})
    assert cells(html_table(frame, name="t")) == ["rate", "0.0001", "size", "100,000"]


def test_lines_of_different_quantities_have_decimals_of_their_own():
    frame = pd.DataFrame(
        {
            "quantity": ["rounds", "seconds", "rounds"], "published": [7.0, 1980.0, 15.0],
            "ours": [9.5, 3347.2, 11.25], "difference": [2.5, 1367.2, -3.75],
        }
    )  # fmt: skip
    shown = cells(html_table(frame, name="t"))
    assert [shown[at] for at in (2, 3, 6, 7, 10, 11)] == ["9.5", "+2.50", "3,347", "+1,367", "11.2", "−3.75"]


def test_published_numbers_stay_as_printed_and_signs_are_written_out():
    frame = pd.DataFrame({"m": ["a", "b"], "published": [89.58, 90.0], "difference": [-29.07, 0.0]})
    assert cells(html_table(frame, name="t")) == ["a", "89.58", "−29.1", "b", "90", "+0.0"]


def test_a_wide_table_is_divided_at_its_groups_and_names_its_lines_in_each():
    columns = {f"method {k}: {what}": [1.25, 2.5] for k in range(12) for what in ("published", "ours")}
    text = html_table(pd.DataFrame({"data": ["fmnist", "mnist"], **columns}), name="t")
    tables = text.split("<table")[1:]
    assert len(tables) > 1
    assert all("fmnist" in table for table in tables)
    for table in tables:
        widest = max(table.count("<td") // 2 * 45, 0)
        assert widest < MAX_PIXELS * 1.2


def test_repeated_names_are_left_empty_unless_a_part_would_have_lines_without_one():
    """Lines named by data and method, or by data alone, as the other column belongs to a group."""
    numbers = {f"method {k}: {what}": [1.25, 2.5] for k in range(12) for what in ("published", "ours")}
    named = pd.DataFrame({"data": ["mnist"] * 2, "method": ["a", "b"], **numbers})
    alike = named.rename(columns={"method": "noise: x"})
    shown = {
        name: html_table(own, name="t").split("<table")[1:] for name, own in (("n", named), ("a", alike))
    }
    assert min(map(len, shown.values())) > 1
    assert [part.count("mnist") for part in shown["n"]] == [1] * len(shown["n"])
    assert [part.count("mnist") for part in shown["a"]] == [2] * len(shown["a"])
    assert html_table(alike[["data", "noise: x", "method 0: ours"]], name="t").count("mnist") == 1


def test_ids_repeat_and_are_valid_in_a_style_sheet():
    frame = pd.DataFrame({"a": [1]})
    first, second = (html_table(frame, name="feddrl/fig1-<lambda>-0") for _ in range(2))
    assert first == second
    assert "#T_feddrl-fig1--lambda--0-0" in first


def test_long_tables_fold_and_text_is_escaped():
    frame = pd.DataFrame({"a": ["<b>"] * 21})
    text = html_table(frame, name="t")
    assert text.startswith("<details><summary>21 lines</summary>")
    assert "<details>" not in html_table(frame[1:], name="t")
    assert "<b>" not in text
    entry = html_list([("<b>", ["x `y` -1; and z", "2"])])
    assert "&lt;b&gt;" in entry
    assert entry.endswith("<ul><li>x <code>y</code> −1; and z</li><li>2</li></ul></details>")
