"""How time advances: one step of each method, and the compiled loops that repeat it.

An integrator is a record (`Integrator`): pass one of your own where a name is expected. `MUJOCO` has those that take
MuJoCo's steps, by their names there.
"""

from .catalogue import INTEGRATORS, MUJOCO, Integrator
from .implicit import Attempt
from .tableaux import Tableau

__all__ = ["INTEGRATORS", "MUJOCO", "Attempt", "Integrator", "Tableau"]
