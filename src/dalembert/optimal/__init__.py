"""Optimal control: motions that cost least, from costs written in Python, and laws that plan as they go.

In: a `Robot`, costs as functions. Out: a `Plan`, or a law that recedes. Read in this order: `problem`, what people
call; `stage` and `traced_node`, one node with its derivatives; `solver` and `quadratic`, the iterations; `search`,
which steps are taken, with inequalities; `receding` and `horizon`, one compiled call per tick.
"""

from .functions import NonlinearProgram
from .plan import Plan
from .problem import Problem
from .receding import Receding
from .settings import ProblemSettings
from .terms import Equal

__all__ = ["Equal", "NonlinearProgram", "Plan", "Problem", "ProblemSettings", "Receding"]
