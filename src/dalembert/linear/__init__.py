"""Linear systems of numbers or traced scalars, eliminated entry by entry: traced, each becomes straight-line code.

Entries that are the constant 0 take part in nothing: a factor costs what its pattern costs. The order of elimination is
that of the matrix, or one that keeps factors sparse (`elimination_order`).
"""

from .cones import ContactImpulses, Moment, contact_error, contact_impulses
from .general import solve, solve_saddle
from .impulses import ANY, Carrier, DenseResponse, Impulses, Law, Response, SparseResponse, row_impulse, row_impulses
from .order import elimination_order
from .quadratic import QuadraticSolution, solve_elastic, solve_quadratic
from .symmetric import Factor, factor, factor_entries, factor_semidefinite, gram, solve_semidefinite
from .zeros import is_zero, nonzeros, sparse_product

__all__ = [
    "ANY",
    "Carrier",
    "ContactImpulses",
    "DenseResponse",
    "Factor",
    "Impulses",
    "Law",
    "Moment",
    "QuadraticSolution",
    "Response",
    "SparseResponse",
    "contact_error",
    "contact_impulses",
    "elimination_order",
    "factor",
    "factor_entries",
    "factor_semidefinite",
    "gram",
    "is_zero",
    "nonzeros",
    "row_impulse",
    "row_impulses",
    "solve",
    "solve_elastic",
    "solve_quadratic",
    "solve_saddle",
    "solve_semidefinite",
    "sparse_product",
]
