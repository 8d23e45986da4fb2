"""Impulses that put contacts, stops and dry friction on their laws, all at once.

Read in this order:

    row_laws, cones                       the law of one impulse; the law of one contact with friction
    impulses → iteration                  all at once: what is solved, and the sweeps and Newton steps that solve it
    cold_start, dry_friction              the same where nothing is known of a step before; of dry friction alone

and then, for many contacts, loops whose code is emitted once:

    arrays                                sums and choices over large arrays
    looped                                contacts of one robot
    body_impulses → contact_motion        contacts of loose bodies: sweeps over them, and how each moves its two bodies
    body_problem → body_parts, islands    Newton steps for those that sweeps do not settle, island by island
    colours                               which contacts can be solved for side by side
    crowd → contact_kinds, link_contacts  loose bodies and robots together; crowd_part: those that are not settled
"""

from .arrays import by_contact, flat, largest_size
from .body_impulses import BodyContacts, Sweeps
from .body_problem import solved_bodies
from .cold_start import impulses_from_rest
from .colours import coloured, ordered
from .cones import contact_error
from .crowd import CrowdProblem
from .crowd_part import solved_crowd
from .dry_friction import DryFriction, with_dry_friction
from .impulses import Carrier, Moment, Rows, constraint_impulses
from .iteration import ConstraintImpulses
from .link_contacts import LinkContacts, LinkSweeps
from .looped import LoopedContacts, looped_impulses
from .row_laws import ANY, Law, row_impulse

__all__ = [
    "ANY",
    "BodyContacts",
    "Carrier",
    "ConstraintImpulses",
    "CrowdProblem",
    "DryFriction",
    "Law",
    "LinkContacts",
    "LinkSweeps",
    "LoopedContacts",
    "Moment",
    "Rows",
    "Sweeps",
    "by_contact",
    "coloured",
    "constraint_impulses",
    "contact_error",
    "flat",
    "impulses_from_rest",
    "largest_size",
    "looped_impulses",
    "ordered",
    "row_impulse",
    "solved_bodies",
    "solved_crowd",
    "with_dry_friction",
]
