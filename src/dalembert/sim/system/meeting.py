"""Two loose bodies that meet within a step: they are pushed where they meet, and go on from there.

A step pushes bodies in its middle. Two that meet a time τ later are then still apart, and aside of each other: impulses
at places that face each other only later change their common angular momentum. So such a pair is pushed at the point
where both places will be, as it lies beside each centre of mass at that time, and is moved back along the change of its
velocities, by −τ Δv: from the instant of contact on it goes as an impact there makes it go. Momentum and angular
momentum of the pair then stay to rounding, with friction as well.

This holds for pairs that nothing else is near: where more bodies are, each contact acts in the middle of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.linear import Columns
from dalembert.math import logical_and, maximum, minimum, visit, where
from dalembert.math import map as mapped
from dalembert.spatial import cross

from .loose_bodies import MOTION

if TYPE_CHECKING:
    from dalembert.contact.scene import Touching

NEVER = 1e30  # a time at which nothing meets, and a number above those of all bodies
LAST = 0.99  # of a step: the latest instant, lest what is left of it be divided by
PARTNERS = Columns(lowest=(), highest=(), earliest=())  # of a body: numbers of what is near, and when it is met


def meeting_times(contacts: Sequence[Touching], motion: np.ndarray, h: Any, least: Any) -> np.ndarray:
    """(n,): how long after the middle of a step of h [s] each of n loose bodies meets the only one that is near it.

    0: it meets none, touches it already, or has more than one neighbour. contacts: all of the system, by kind; motion
    (n, …): rows of `MOTION`; least: a gap of what touches already [m].
    """
    n = float(len(motion))

    def when(rows: Any, at: Any) -> dict[str, Any]:
        normal, position, aside = at["normal"], at["position"], at["aside"]
        sides = [MOTION.named(row) for row in rows]
        a, b = (
            velocity_at(side, place) for side, place in zip(sides, (position + aside, position - aside), strict=True)
        )
        closing = -(normal @ (a - b))
        later = where(closing > 0.0, minimum(at["gap"] / where(closing > 0.0, closing, 1.0), LAST * h), NEVER)
        return {"time": where(at["gap"] > least, later, 0.0)}

    def met(rows: Any, pair: Any, time: Any) -> dict[str, Any]:
        after = []
        for row, other in zip(rows, pair[::-1], strict=True):
            near = PARTNERS.named(row)
            lowest, highest = minimum(near["lowest"], other), maximum(near["highest"], other)
            after.append(PARTNERS.row(lowest=lowest, highest=highest, earliest=minimum(near["earliest"], time)))
        return {"rows": np.array(after), "to": pair}

    table = np.tile(PARTNERS.row(lowest=NEVER, highest=-1.0, earliest=NEVER), (len(motion), 1))
    for at in contacts:
        places = {"gap": at.gap, "normal": at.normal, "position": at.position, "aside": at.aside}
        times = visit(when, {"at": places}, motion, at.bodies, count=at.count)["time"]
        table = visit(met, {"pair": at.bodies, "time": times}, table, at.bodies, count=at.count, groups=at.group)[
            "table"
        ]

    def partner(near: Any) -> dict[str, Any]:
        only = logical_and(near["lowest"] == near["highest"], near["lowest"] < n)
        return {"partner": where(only, near["lowest"], -1.0)}

    partners = mapped(partner, {"near": PARTNERS.named(table)})["partner"]

    def alone(others: Any, number: Any, own: Any) -> dict[str, Any]:
        (other,) = others
        mutual = logical_and(other[0] == number, other[1] < NEVER)
        return {"time": where(mutual, minimum(own, other[1]), 0.0)}

    both = np.stack([partners, PARTNERS.named(table)["earliest"]], axis=1)
    items = {"number": np.arange(n), "own": both[:, 1]}
    return visit(alone, items, both, partners[:, None])["time"]


def velocity_at(side: dict[str, Any], place: np.ndarray) -> np.ndarray:
    """The velocity (3,) before the step of a body, a row of `MOTION`, at a place (3,)."""
    return side["before"][:3] + cross(side["before"][3:], place - side["centre"])


def places_where_they_meet(
    rows: np.ndarray, places: tuple[np.ndarray, np.ndarray], normal: np.ndarray, gap: Any, time: Any
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Where both bodies of a contact are pushed (3,), and its gap, when they meet a time after the middle of a step.

    rows: of `MOTION`; places: that are to meet, as they are in the middle. The point between both at that time is taken
    back with each centre of mass. At the time 0 all stays as it is.
    """
    a, b = (MOTION.named(row) for row in rows)
    then = [place + time * velocity_at(side, place) for side, place in zip((a, b), places, strict=True)]
    point, meets = 0.5 * (then[0] + then[1]), time > 0.0
    moved = (where(meets, point - time * side["before"][:3], place) for side, place in zip((a, b), places, strict=True))
    return *moved, where(meets, normal @ (then[0] - then[1]), gap)
