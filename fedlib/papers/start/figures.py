"""The figures of notebook 00, from stored rows."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis import tables


def plot_curves(rows: pd.DataFrame) -> Figure:
    """`start/curves`: test accuracy per round, mean over seeds with its 95 % t interval."""
    plotting.use_style()
    fig, ax = plt.subplots(figsize=(7.2, 4.4))
    percent = rows.assign(test_accuracy=100 * rows.test_accuracy)
    plotting.plot_curves(percent, ax, y_label="test accuracy (%)")
    ax.set_title("Cluster skew (CE, delta 0.6), N = K = 10")
    plotting.write_caption(fig, tables.provenance_line(rows))
    return fig
