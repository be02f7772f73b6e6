"""The figures of notebook 00, drawn from stored rows into figures/start."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from fedlib import figures, tables


def draw_curves(rows: pd.DataFrame, folder: Path) -> Path:
    """`start/curves`: test accuracy per round, mean over seeds with its 95 % t interval."""
    figures.use_style()
    fig, ax = plt.subplots(figsize=(7.2, 4.4))
    percent = rows.assign(test_accuracy=100 * rows.test_accuracy)
    figures.plot_curves(percent, ax, y_label="test accuracy (%)")
    ax.set_title("Cluster skew (CE, delta 0.6), N = K = 10")
    figures.write_caption(fig, tables.provenance_line(rows))
    path = figures.save_figure(fig, "start/curves", folder)
    plt.close(fig)
    return path


FIGURES = {"curves": draw_curves}
