"""What Newton steps need of one kind of contacts, whichever rows of a table of velocities they move: see `crowd`."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, visit, where

from .body_impulses import Sweeps
from .cones import Block, yielding_contact
from .impulses import chosen_contact
from .link_contacts import SIZE, LinkMotion

NOTHING = np.zeros((1, 1))  # a table that is not used


def _sides(contact: Any) -> list[np.ndarray]:
    """(3 + m, 6) of each row that a contact moves: velocities per velocity of it."""
    if isinstance(contact, LinkMotion):
        return contact.sides()
    turns = np.array([[0.0, 0.0, 0.0, *contact.axes[k]] for k in contact.about]).reshape(-1, SIZE)
    first, second = contact.rows()
    return [np.concatenate([first, turns]), np.concatenate([second, -turns])]


def _laws(kind: Sweeps) -> dict[str, np.ndarray]:
    """Of each contact: velocity per impulse, friction, and moments per normal impulse."""
    return {"sizes": kind.sizes, "mu": kind.contacts.mu, "levers": kind.contacts.reach}


def kind_yielding(kind: Sweeps, held: np.ndarray, u: np.ndarray, give: Any) -> dict[str, np.ndarray]:
    """Impulses "p" of laws that give way, K of each contact, and what pushes the rows of the table."""

    def one(rows: Any, motion: Any, held: Any, u: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        contact = kind.motion_of(**motion)
        p, K = yielding_contact(size, mu, levers, held, u, give)
        push = [row + side.T @ (p - held) for row, side in zip(rows, _sides(contact), strict=True)]
        return {"rows": np.array(push), "to": contact.numbers, "p": p, "K": K}

    items = {"motion": kind.motion, "held": held, "u": u} | _laws(kind)
    return visit(one, items, np.zeros((kind.bodies, SIZE)), kind.at, count=kind.contacts.count)


def kind_power(kind: Sweeps, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> dict[str, Any]:
    """Impulses "p" of such laws, and their "power" du · (p − held)."""

    def one(_: Any, power: Any, held: Any, u: Any, du: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        p, _ = yielding_contact(size, mu, levers, held, u, give)
        return {"power": power + du @ (p - held), "p": p}

    items = {"held": held, "u": u, "du": du} | _laws(kind)
    return visit(one, items, NOTHING, carry={"power": 0.0}, count=kind.contacts.count)


def kind_chosen(kind: Sweeps, p: np.ndarray, u: np.ndarray) -> dict[str, Any]:
    """Impulses "p" and "slip" of each contact alone, and the velocity that changes "most"."""

    def one(_: Any, most: Any, block: Any, p: Any, u: Any, size: Any, mu: Any, levers: Any) -> dict[str, Any]:
        block = Block(**block)
        new, slip, moved = chosen_contact(block, mu, levers, size, p, u)
        return {"p": new, "slip": slip, "most": reduce(maximum, [most, moved, *(size * absolute(new - p))])}

    items = {"block": kind.blocks, "p before": p, "u": u} | _laws(kind)
    return visit(one, items, NOTHING, carry={"most": 0.0}, count=kind.contacts.count)


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
        sides = _sides(kind.motion_of(**motion))
        more = [left.T @ K @ right for left in sides for right in sides]
        return {"rows": rows + np.array([x.ravel() for x in more]), "to": places}

    items = {"places": places, "motion": kind.motion, "K": K}
    return visit(one, items, table, places, count=kind.contacts.count)["table"]
