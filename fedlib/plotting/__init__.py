"""Drawing: data frames or arrays and an `ax` go in, the `ax` comes out.

Nothing here trains, loads results or reads global settings; `use_style` sets the look once.
"""

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.plotting.curves import legend_beside_last, plot_curves, plot_settings
from fedlib.plotting.images import plot_images
from fedlib.plotting.layout import arms, caption, draw_band, one_legend, subplots
from fedlib.plotting.partitions import partition_figsize, plot_partition
from fedlib.plotting.style import (
    METHOD_STYLES,
    MethodStyle,
    method_style,
    save_figure,
    use_style,
    write_caption,
)
