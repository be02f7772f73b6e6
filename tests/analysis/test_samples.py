"""Which data sets decide a claim: those whose rows change a sample of its parts."""

import pandas as pd

from fedlib.analysis.claims import Claim, Part, verdict_on
from fedlib.analysis.samples import rows_that_count, samples_of
from fedlib.errors import check


def of(*datasets):
    return pd.concat(
        pd.DataFrame({"dataset": name, "seed": range(3), "gain": [3.0, 4.0, 5.0]}) for name in datasets
    )


def on(*datasets):
    """A part whose estimand has a column for each of these data sets that has rows, and refuses none."""

    def estimand(rows):
        own = rows[rows.dataset.isin(datasets)]
        check(len(own) > 0, "no rows of what is compared")
        return own.pivot_table(index="seed", columns="dataset", values="gain")

    return Part(f"gain on {', '.join(datasets)}", estimand)


def names(parts, rows):
    samples = [samples_of(part, rows) for part in parts]
    return list(rows_that_count(parts, rows, samples).dataset.unique())


def test_data_sets_that_change_no_sample_do_not_count():
    rows = of("a", "b", "c")
    assert names((on("b"),), rows) == ["b"]
    assert names((on("a"), on("a", "c")), rows) == ["a", "c"]
    assert names((on("a"),), of("a")) == ["a"]


def test_all_rows_count_where_each_data_set_can_be_spared():
    """A mean over the lines by seed is the same without any one of two equal data sets."""
    equal = Part("gain", lambda rows: rows.groupby("seed").gain.mean())
    assert names((equal,), of("a", "b")) == ["a", "b"]


def test_a_part_without_samples_spares_every_data_set():
    nothing = Part("gain", lambda rows: pd.DataFrame(columns=["a"]))
    assert names((nothing, on("b")), of("a", "b")) == ["b"]


def test_a_verdict_names_the_data_that_decide():
    claim = Claim("T-C1", "A leads", "sec. 1", "t/a", parts=(on("b"),))
    assert verdict_on(claim, of("a", "b").assign(stand_in=False)).data == "b"
