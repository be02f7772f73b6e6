"""Answer of 01_feddrl's section 7 in sentences: what the server spends on the agent."""

import pandas as pd

from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl.errata import from_text
from fedlib.papers.feddrl.tables import agent_share

NETWORKS = {"cnn-feddrl": "the CNN", "vgg11": "VGG-11"}  # the paper's
TIMED = {"mlp": "an MLP's", "cnn-feddrl": "the CNN's"}  # whose whole rounds are timed


def what_the_server_spends(rows_of: RowsOf) -> list[str]:
    """Answer fig. 9: times of a decision and of averaging beside the printed ones, and the agent's share."""
    rows = rows_of("feddrl/fig9")
    if rows.empty:
        return []
    told = [_times_words(own, str(device)) for device, own in rows.groupby("timed_on", sort=False)]
    return [*filter(None, [*told, _share(agent_share(rows))])]


def _times_words(rows: pd.DataFrame, device: str) -> str:
    """Median times with ten participants on a device and the printed ones, in a sentence."""
    ten = rows[(rows.cohort_size == 10) & rows.model.isin(NETWORKS)]
    decision, averaging = (ten[ten.what == what] for what in ("decision", "averaging"))
    if decision.empty or averaging.empty:
        return ""
    data = {"cnn-feddrl": "MNIST,Fashion-MNIST", "vgg11": "CIFAR-100"}
    told = [
        f"{_span(averaging.median_ms[averaging.model == model])} ms with {words} "
        f"(printed: {from_text('aggregation_time', dataset=data[model]):g})"
        for model, words in NETWORKS.items()
        if (averaging.model == model).any()
    ]
    return (
        f"On the {device.upper()} a decision takes {_span(decision.median_ms)} ms with the paper's "
        f"networks (printed: {from_text('drl_time'):g}), the median. Averaging ten models takes "
        f"{' and '.join(told)}."
    )


def _share(shares: pd.DataFrame) -> str:
    """The agent's share of a round, deciding and with learning from the most experiences, in a sentence."""
    lengths = [int(name.split()[0]) for name in shares if str(name).endswith("in D_%")]
    if shares.empty or not lengths:
        return ""
    parts = {name: shares[shares.model == name][f"{max(lengths)} in D_%"].dropna() for name in TIMED}
    told = [f"{_span(parts[name])} % to {words}" for name, words in TIMED.items() if len(parts[name])]
    threads = " and ".join(str(n) for n in sorted(shares.threads.unique()))
    return (
        f"The decision alone adds {_span(shares['decision_%'])} % to a round. With learning from "
        f"{max(lengths)} experiences the agent adds {' and '.join(told)} round. The spans are over runs on "
        f"{threads} thread{'s' * (threads != '1')}, the decision's over both networks too."
    )


def _span(values: pd.Series) -> str:
    """`0.85 to 0.9`, or one number where both ends read alike."""
    ends = (f"{end:.2g}" if abs(end) < 100 else f"{end:.0f}" for end in (values.min(), values.max()))
    return " to ".join(dict.fromkeys(ends)).replace("-", "−")
