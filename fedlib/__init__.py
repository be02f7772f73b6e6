"""fedlib: the module behind the notebooks of the FRL reproducibility suite."""

__version__ = "0.1.0"
