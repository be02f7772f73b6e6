"""The figures of notebook 00, from stored rows."""

import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting


def plot_curves(rows: pd.DataFrame) -> Figure:
    """`start/curves`: test accuracy per round, mean over seeds with its 95 % t interval."""
    fig, ax = plotting.subplots(figsize=(7.2, 4.4))
    percent = rows.assign(test_accuracy=100 * rows.test_accuracy)
    plotting.plot_curves(percent, ax, y_label="test accuracy (%)")
    ax.set_title("Cluster skew (CE, delta 0.6), N = K = 10")
    return plotting.caption(fig, rows)
