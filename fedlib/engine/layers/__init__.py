"""Layers and optimizer steps written out for stacked parameters."""
