"""Policies from ONNX files as laws that run at their rate inside the compiled step.

contract                        joints, scales, gains, rates, observations; metadata of the file
file → operators, recurrent     nodes of a file, checked; what each of them computes
network                         a network as a function of numbers or traced scalars
observations → policy           what a policy is shown, and what its answers do
"""

from .contract import Contract, Observed
from .network import Network, network
from .policy import Policy, policy

__all__ = ["Contract", "Network", "Observed", "Policy", "network", "policy"]
