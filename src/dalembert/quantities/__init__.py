"""The catalogue: every quantity that can be compiled, with its inputs, its shape and the algorithm behind it.

An algorithm sees one robot and one state. Options (frame, axes, loads) choose the code; numbers are inputs.
"""

from .core import CORE
from .derivatives import DERIVATIVES
from .live import GROUPS, checked, group
from .quantity import LOAD, LoadPlace, Options, Quantity

CATALOGUE: dict[str, Quantity] = {**CORE, **DERIVATIVES}

__all__ = ["CATALOGUE", "GROUPS", "LOAD", "LoadPlace", "Options", "Quantity", "checked", "group"]
