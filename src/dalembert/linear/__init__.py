"""Linear systems of numbers or traced scalars, eliminated entry by entry: traced, each becomes straight-line code.

Entries that are the constant 0 take part in nothing: a factor costs what its pattern costs. The order of elimination is
that of the matrix, or one that keeps factors sparse (`elimination_order`).
"""

from .arrays import by_contact, flat, largest_size
from .body_impulses import BodyContacts, Sweeps
from .body_problem import solved_bodies
from .cold_start import impulses_from_rest
from .colours import coloured, ordered
from .columns import Columns
from .cones import contact_error
from .crowd import CrowdProblem
from .crowd_part import solved_crowd
from .dry_friction import DryFriction, with_dry_friction
from .general import solve, solve_saddle
from .impulses import Carrier, Moment, Rows, constraint_impulses
from .iteration import ConstraintImpulses, is_precise
from .link_contacts import LinkContacts, LinkSweeps
from .looped import LoopedContacts, looped_impulses
from .order import elimination_order
from .quadratic import QuadraticSolution, solve_elastic, solve_quadratic
from .row_laws import ANY, Law, row_impulse
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
    "ANY",
    "SHARED",
    "BodyContacts",
    "Carrier",
    "Columns",
    "ConstraintImpulses",
    "CrowdProblem",
    "DryFriction",
    "Factor",
    "Law",
    "LinkContacts",
    "LinkSweeps",
    "LoopedContacts",
    "Moment",
    "QuadraticSolution",
    "Rows",
    "SharingFactor",
    "Sweeps",
    "by_contact",
    "coloured",
    "constraint_impulses",
    "contact_error",
    "elimination_order",
    "factor",
    "factor_entries",
    "factor_semidefinite",
    "flat",
    "gram",
    "impulses_from_rest",
    "is_precise",
    "is_zero",
    "largest_size",
    "looped_impulses",
    "nonzeros",
    "ordered",
    "row_impulse",
    "solve",
    "solve_elastic",
    "solve_quadratic",
    "solve_saddle",
    "solve_semidefinite",
    "solved_bodies",
    "solved_crowd",
    "sparse_product",
    "with_dry_friction",
]
