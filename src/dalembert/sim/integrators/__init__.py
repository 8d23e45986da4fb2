"""How time advances: one step of each method, and the compiled loops that repeat it.

An integrator is a record (`Integrator`): pass one of your own where a name is expected.
"""

from .catalogue import INTEGRATORS
from .implicit import Attempt
from .record import Integrator
from .tableaux import Tableau

__all__ = ["INTEGRATORS", "Attempt", "Integrator", "Tableau"]
