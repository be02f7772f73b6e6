"""Baselines: FedAvg and what the papers compare with."""
