"""What notebooks show of stored rows: the largest profile wins, and absence is one line."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from fedlib import results
from fedlib.papers import shown


@pytest.fixture
def rows_at(monkeypatch):
    """Rows of every artifact at the profiles given, instead of those in the store."""

    def put(*profiles):
        def load(artifact_id, *, profile):
            rows = {"seed": [0, 1], "dataset": ["mnist"] * 2, "value": [1.004, 3.0], "round": [1, 1]}
            frame = pd.DataFrame(rows).assign(profile=profile, status="ok", run=["a", "b"])
            return frame if profile in profiles else frame[:0]

        monkeypatch.setattr(results, "load_rows", load)

    return put


def test_the_largest_profile_with_rows_is_shown(rows_at):
    rows_at("smoke", "reduced")
    assert set(shown.stored("frl/fig14").profile) == {"reduced"}
    text = shown.shown("frl/fig14", lambda rows: rows[["value"]])
    assert text.splitlines()[2:4] == ["    1", "    3"]
    assert text.endswith("data mnist; profile reduced; 2 seeds (0, 1)")


def test_rows_without_seeds_tell_the_machine(rows_at, monkeypatch):
    rows_at("reduced")
    timed = pd.DataFrame({"ms": [1.0], "profile": "reduced", "device_name": "a GPU", "threads": 2})
    monkeypatch.setattr(shown, "stored", lambda artifact_id: timed)
    text = shown.shown("feddrl/fig9", lambda rows: rows[["ms"]])
    assert text.endswith("profile reduced; a GPU, 2 CPU threads")


def test_absent_rows_are_one_line(rows_at, capsys):
    rows_at()
    line = "no rows stored; python -m fedlib run frl/fig14 --profile reduced"
    assert shown.shown("frl/fig14", lambda rows: rows) == line
    shown.show("frl/fig14")
    assert capsys.readouterr().out.strip() == line
    assert not plt.get_fignums()
