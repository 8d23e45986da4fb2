"""Linear systems of numbers or traced scalars, and the laws of constraints and contact, solved with them.

Systems are eliminated entry by entry: traced, each becomes straight-line code. Entries that are the constant 0 take
part in nothing, so that a factor costs what its pattern costs. The order of elimination is that of the matrix, or one
that keeps factors sparse (`elimination_order`).

In the order of reading:

    zeros, order, symmetric, general      entries that are 0; L D Lᵀ and its order; systems that are not symmetric
    quadratic, stages                     quadratic programs; linear-quadratic problems in stages
    row_laws, cones                       the law of one impulse; the law of one contact with friction
    impulses → iteration                  all at once: what is solved, and the sweeps and Newton steps that solve it
    cold_start, dry_friction              the same where nothing is known of a step before; of dry friction alone

and then, for many contacts, loops whose code is emitted once:

    columns, arrays                       tables with named columns; sums and choices over large arrays
    looped                                contacts of one robot
    body_impulses → contact_motion        contacts of loose bodies: sweeps over them, and how each moves its two bodies
    body_problem → body_parts, islands    Newton steps for those that sweeps do not settle, island by island
    block_elimination, colours            the systems of these steps; which contacts can be solved for side by side
    crowd → contact_kinds, link_contacts  loose bodies and robots together; crowd_part: those that are not settled
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
