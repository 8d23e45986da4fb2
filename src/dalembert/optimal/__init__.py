"""Optimal control: motions that cost least, from costs written in Python, and laws that plan as they go."""

from .functions import NonlinearProgram
from .plan import Plan
from .problem import Problem
from .receding import Receding
from .terms import Equal

__all__ = ["Equal", "NonlinearProgram", "Plan", "Problem", "Receding"]
