"""Impulses that put contacts, stops and dry friction on their laws, all at once.

Read in this order:

    row_laws, cones                       the law of one impulse; the law of one contact with friction
    carriers                              what impulses move; rows with their laws
    impulses → iteration                  all at once: what is solved, looped over or written out; sweeps, Newton steps
    cold_start, dry_friction              the same where nothing is known of a step before; of dry friction alone

and then loose bodies, and links beside them, each of which is moved by few of very many contacts:

    arrays                                sums and choices over large arrays
    kinds → bodies                        contacts of loose bodies and of links with these; all of them as one problem
    sweeps                                sweeps over all of them, there and back
    unsettled → islands                   those that sweeps do not settle, island by island
    colours                               which contacts can be solved for side by side
"""

from .arrays import largest_size
from .bodies import BodyProblem
from .carriers import Carrier, Rows
from .cold_start import ColdProblem, impulses_from_rest
from .colours import coloured, ordered
from .cones import contact_error
from .dry_friction import DryFriction, with_dry_friction
from .impulses import ContactProblem, ContactRows, constraint_impulses, contact_problem
from .iteration import ConstraintImpulses
from .kinds import Contacts, LinkContacts, PairContacts, link_rows
from .row_laws import ANY, Law, row_impulse

__all__ = [
    "ANY",
    "BodyProblem",
    "Carrier",
    "ColdProblem",
    "ConstraintImpulses",
    "ContactProblem",
    "ContactRows",
    "Contacts",
    "DryFriction",
    "Law",
    "LinkContacts",
    "PairContacts",
    "Rows",
    "coloured",
    "constraint_impulses",
    "contact_error",
    "contact_problem",
    "impulses_from_rest",
    "largest_size",
    "link_rows",
    "ordered",
    "row_impulse",
    "with_dry_friction",
]
