"""Reinforcement learning on the server: agents and what they are made of, for R replicas at once."""

from fedlib.rl.ddpg import Agent, Ddpg
from fedlib.rl.networks import Mlp
from fedlib.rl.replay import Replay, sample_proportional
