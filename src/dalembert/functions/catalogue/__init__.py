"""The catalogue: every quantity that can be compiled, with its inputs, its shape and the algorithm behind it.

An algorithm sees one robot and one state. Options (frame, axes, loads) choose the code; numbers are inputs.
"""

from ..live import GROUPS, checked, group
from ..quantity import LOAD, METHOD, LoadPlace, Options, Quantity, open_tree
from .core import CORE
from .derivatives import DERIVATIVES
from .momentum import MOMENTUM
from .operational import OPERATIONAL
from .products import PRODUCTS
from .second import SECOND

CATALOGUE: dict[str, Quantity] = {**CORE, **DERIVATIVES, **MOMENTUM, **OPERATIONAL, **PRODUCTS, **SECOND}

__all__ = ["CATALOGUE", "GROUPS", "LOAD", "METHOD", "LoadPlace", "Options", "Quantity", "checked", "group", "open_tree"]
