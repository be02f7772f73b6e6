"""Drawing: data frames or arrays and an `ax` go in, the `ax` comes out.

Nothing here trains, loads results or reads global settings; `use_style` sets the look once.
"""

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.plotting.curves import plot_curves, plot_settings
from fedlib.plotting.images import plot_images
from fedlib.plotting.partitions import partition_figsize, plot_partition
from fedlib.plotting.style import (
    METHOD_STYLES,
    MethodStyle,
    method_style,
    save_figure,
    use_style,
    write_caption,
)

__all__ = [
    "METHOD_STYLES",
    "Interval",
    "MethodStyle",
    "mean_interval",
    "method_style",
    "partition_figsize",
    "plot_curves",
    "plot_images",
    "plot_partition",
    "plot_settings",
    "save_figure",
    "use_style",
    "write_caption",
]
