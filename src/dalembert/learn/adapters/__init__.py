"""Thin adapters: the vector environment as rsl-rl, Stable-Baselines3, skrl and TorchRL want it; one file for each."""

from .rsl_rl import rsl_rl
from .sb3 import sb3
from .skrl import skrl
from .torchrl import torchrl

__all__ = ["rsl_rl", "sb3", "skrl", "torchrl"]
