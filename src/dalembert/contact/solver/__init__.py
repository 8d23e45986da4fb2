"""Impulses that put contacts, stops and dry friction on their laws, all at once.

Read in this order:

    row_laws, cones                       the law of one impulse; the law of one contact with friction
    impulses → iteration                  all at once: what is solved, and the sweeps and Newton steps that solve it
    cold_start, dry_friction              the same where nothing is known of a step before; of dry friction alone
    written                               few contacts as one problem, by contact

and then, for many contacts, loops whose code is emitted once:

    arrays                                sums and choices over large arrays
    looped                                contacts of one robot
    kinds → bodies                        contacts of loose bodies and of links with these; all of them as one problem
    sweeps                                sweeps over all of them, there and back
    unsettled → islands                   those that sweeps do not settle, island by island
    colours                               which contacts can be solved for side by side
"""

from .arrays import largest_size
from .bodies import BodyProblem
from .cold_start import impulses_from_rest
from .colours import coloured, ordered
from .cones import contact_error
from .dry_friction import DryFriction, with_dry_friction
from .impulses import Carrier, Rows, constraint_impulses
from .iteration import ConstraintImpulses
from .kinds import Contacts, LinkContacts, PairContacts, link_rows
from .looped import LoopedContacts, LoopedProblem
from .row_laws import ANY, Law, row_impulse
from .written import WrittenProblem

__all__ = [
    "ANY",
    "BodyProblem",
    "Carrier",
    "ConstraintImpulses",
    "Contacts",
    "DryFriction",
    "Law",
    "LinkContacts",
    "LoopedContacts",
    "LoopedProblem",
    "PairContacts",
    "Rows",
    "WrittenProblem",
    "coloured",
    "constraint_impulses",
    "contact_error",
    "impulses_from_rest",
    "largest_size",
    "link_rows",
    "ordered",
    "row_impulse",
    "with_dry_friction",
]
