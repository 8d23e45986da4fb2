"""Systems of linear equations and quadratic programs, of numbers or traced scalars.

Systems are eliminated entry by entry: traced, each becomes straight-line code. Entries that are the constant 0 take
part in nothing, so that a factor costs what its pattern costs. The order of elimination is that of the matrix, or one
that keeps factors sparse (`elimination_order`).

Read in this order:

    zeros, order, symmetric, general      entries that are 0; L D Lᵀ and its order; systems that are not symmetric
    quadratic, nonnegative, stages        quadratic programs; least squares ≥ 0; linear-quadratic problems in stages
    columns                               arrays by name as columns of one table
    block_elimination                     systems of 6 × 6 blocks whose pattern is known at run time
"""

from .columns import Columns
from .general import solve, solve_saddle
from .nonnegative import nonnegative_least_squares
from .order import elimination_order
from .quadratic import QuadraticSolution, solve_elastic, solve_quadratic
from .symmetric import (
    SHARED,
    Factor,
    SharingFactor,
    factor,
    factor_entries,
    factor_semidefinite,
    gram,
    solve_semidefinite,
)
from .zeros import is_zero, nonzeros, sparse_product

__all__ = [
    "SHARED",
    "Columns",
    "Factor",
    "QuadraticSolution",
    "SharingFactor",
    "elimination_order",
    "factor",
    "factor_entries",
    "factor_semidefinite",
    "gram",
    "is_zero",
    "nonnegative_least_squares",
    "nonzeros",
    "solve",
    "solve_elastic",
    "solve_quadratic",
    "solve_saddle",
    "solve_semidefinite",
    "sparse_product",
]
