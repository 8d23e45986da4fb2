"""Equations on paper: a quantity of a robot as SymPy and LaTeX, simplified, with numbers or with symbols.

In: a quantity and a model. Out: an `Equation`. Read in this order: `derive`, from a graph to terms; `terms`, `arrange`,
products of sines in short form; `equation`, what people hold; `document`, a page of them.
"""

from .derive import derive
from .document import document, symbols_used
from .equation import Equation
from .parameters import Parameter, checked_groups

__all__ = ["Equation", "Parameter", "checked_groups", "derive", "document", "symbols_used"]
