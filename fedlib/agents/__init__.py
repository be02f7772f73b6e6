"""Reinforcement learning on the server: networks, replay and DDPG for R replicas at once."""

from fedlib.agents.ddpg import Agent, Ddpg
from fedlib.agents.networks import Mlp
from fedlib.agents.replay import Replay, sample_greedy, sample_proportional

__all__ = ["Agent", "Ddpg", "Mlp", "Replay", "sample_greedy", "sample_proportional"]
