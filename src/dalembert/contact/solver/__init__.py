"""Impulses that put contacts, stops and dry friction on their laws, all at once.

Read in this order:

    row_laws, cones                       the law of one impulse; the law of one contact with friction
    carriers                              how impulses move joints; rows of joints with their laws
    contacts → problem                    tables of contacts, looped over or written out; all of them as one problem
    iteration → impulses                  sweeps and Newton steps; what is solved, and how few contacts are solved
    cold_start, dry_friction              the same where nothing is known of a step before; of dry friction alone

With many loose bodies, islands of them are solved for by themselves:

    sweeps                                sweeps over all of them, there and back
    unsettled → islands                   those that sweeps do not settle, island by island
    colours                               which contacts can be solved for side by side
    arrays                                sums and choices over large arrays
"""

from .arrays import largest_size
from .carriers import Carrier, Rows
from .cold_start import ColdProblem, impulses_from_rest
from .colours import coloured, ordered
from .cones import contact_error
from .contacts import Contacts, JointContacts, PairContacts
from .dry_friction import DryFriction, with_dry_friction
from .impulses import constraint_impulses, contact_problem
from .iteration import ConstraintImpulses
from .problem import ContactProblem
from .row_laws import ANY, Law, row_impulse

__all__ = [
    "ANY",
    "Carrier",
    "ColdProblem",
    "ConstraintImpulses",
    "ContactProblem",
    "Contacts",
    "DryFriction",
    "JointContacts",
    "Law",
    "PairContacts",
    "Rows",
    "coloured",
    "constraint_impulses",
    "contact_error",
    "contact_problem",
    "impulses_from_rest",
    "largest_size",
    "ordered",
    "row_impulse",
    "with_dry_friction",
]
