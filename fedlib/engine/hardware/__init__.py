"""Devices, memory, precision and the size of a pass."""
