"""Newton steps over one kind of contacts, of loose bodies or of links, as loops.

Contacts of either kind (`Sweeps`, `LinkSweeps`) move rows of a table of velocities: see `body_problem`, `crowd`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, visit, where

from .arrays import largest_size, total
from .body_impulses import Sweeps
from .cones import Block, yielding_contact
from .impulses import chosen_contact
from .link_contacts import SIZE


def _laws(kind: Sweeps) -> dict[str, np.ndarray]:
    """The law of each contact: velocity per impulse, friction, and moments per normal impulse."""
    return {"sizes": kind.sizes, "mu": kind.contacts.mu, "levers": kind.contacts.reach}


def kind_yielding(kind: Sweeps, held: np.ndarray, u: np.ndarray, give: Any) -> dict[str, np.ndarray]:
    """Impulses "p" of laws that give way, K of each contact, and what pushes the rows of the table."""

    def one(rows: Any, motion: Any, held: Any, u: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        contact = kind.motion_of(**motion)
        p, K = yielding_contact(size, mu, levers, held, u, give)
        push = [row + side.T @ (p - held) for row, side in zip(rows, contact.sides(), strict=True)]
        return {"rows": np.array(push), "to": contact.numbers, "p": p, "K": K}

    items = {"motion": kind.motion, "held": held, "u": u} | _laws(kind)
    start, contacts = np.zeros((kind.bodies, SIZE)), kind.contacts
    return visit(one, items, start, kind.at, count=contacts.count, groups=contacts.group)


def kind_power(kind: Sweeps, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
    """Impulses p of such laws, and du · (p − held) of all."""

    def one(held: Any, u: Any, du: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        p, _ = yielding_contact(size, mu, levers, held, u, give)
        return {"power": du @ (p - held), "p": p}

    each = map(one, {"held": held, "u": u, "du": du} | _laws(kind), kind.contacts.count)
    return each["p"], total(each["power"], kind.contacts.count)


def kind_chosen(kind: Sweeps, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Impulses and slips of each contact alone, with the others as they are, and the velocity that changes most."""

    def one(block: Any, p: Any, u: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        new, slip, moved = chosen_contact(Block(**block), mu, levers, size, p, u)
        return {"p": new, "slip": slip, "change": reduce(maximum, [moved, *(size * absolute(new - p))])}

    items = {"block": kind.blocks, "p_before": p, "u": u} | _laws(kind)
    new = map(one, items, kind.contacts.count)
    return new["p"], new["slip"], largest_size(new["change"], kind.contacts.count)


def _places(kind: Sweeps, n: int) -> np.ndarray:
    """(k, s²): numbers of the blocks of a system of n rows that each contact stiffens; −1: none."""

    def one(numbers: Any) -> dict[str, Any]:
        inside = [logical_and(x >= 0.0, x < float(n)) for x in numbers]
        pairs = [(i, j) for i in range(len(numbers)) for j in range(len(numbers))]
        places = [where(logical_and(inside[i], inside[j]), numbers[i] * float(n) + numbers[j], -1.0) for i, j in pairs]
        return {"places": np.array(places)}

    return map(one, {"numbers": kind.at}, kind.contacts.count)["places"]


def kind_marked(kind: Sweeps, flags: np.ndarray, n: int) -> np.ndarray:
    """1 in flags (n², 1) for the blocks of contacts."""

    def one(_: Any, places: Any) -> dict[str, Any]:
        return {"rows": np.ones((len(places), 1)), "to": places}

    return visit(one, {"places": _places(kind, n)}, flags, count=kind.contacts.count)["table"]


def kind_stiffened(kind: Sweeps, K: np.ndarray, table: np.ndarray, n: int) -> np.ndarray:
    """The blocks (n², 36) of a system with Jᵀ K J of contacts."""
    places = _places(kind, n)

    def one(rows: Any, places: Any, motion: Any, K: Any) -> dict[str, Any]:
        sides = kind.motion_of(**motion).sides()
        more = [left.T @ K @ right for left in sides for right in sides]
        return {"rows": rows + np.array([x.ravel() for x in more]), "to": places}

    items = {"places": places, "motion": kind.motion, "K": K}
    return visit(one, items, table, places, count=kind.contacts.count)["table"]
