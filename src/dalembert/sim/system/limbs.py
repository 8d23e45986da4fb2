"""Contacts of limbs that end in balls, one or two at a time for each limb: how robots stand and walk.

The candidates of a limb that are about to sink in deepest take its places in the problem. Which velocities move them is
known beforehand, so the problem costs as much as that of the feet alone. If another candidate would be passed through,
the step is solved with room for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.candidates import WORLD
from dalembert.contact.gathering import Gathering, Points, Slot, known_before
from dalembert.contact.rows import tangent_frame
from dalembert.linear import is_zero
from dalembert.math import branch, logical_and, logical_not, lookup, where
from dalembert.model import Model
from dalembert.model.geometry import Sphere

from .written_contacts import WrittenContacts

if TYPE_CHECKING:
    from .gathered_contacts import GatheredImpulses

MOST = 8  # limbs that get places


class Place(NamedTuple):
    """A place in the problem for one of the candidates of a limb: that which is deepest, rank 0, or next to it, 1 …"""

    members: list[int]
    rank: int


def places_of(limbs: list[list[int]], contacts: int) -> list[Place]:
    """For so many contacts of each limb, as far as it has candidates: the deepest ones of all limbs first."""
    return [Place(members, rank) for rank in range(contacts) for members in limbs if rank < len(members)]


def limbs_of(gathering: Gathering) -> list[list[int]]:
    """Numbers of the candidates of each limb that ends in a ball; none where that is no way to stand."""
    model, owner = gathering.model, gathering.owner
    roots = {b.index: _root(model, b.index) for b in model.bodies}
    limbs: dict[int, list[int]] = {}
    for number, patch in enumerate(owner):
        root = roots[patch.first]
        if patch.second == WORLD and root is not None:
            limbs.setdefault(root, []).append(number)
    every = list(limbs.values())
    on_balls = [members for members, tips in zip(every, tips_of(gathering, every), strict=True) if tips]
    return on_balls if len(on_balls) <= MOST else []


def tips_of(gathering: Gathering, limbs: list[list[int]]) -> list[list[int]]:
    """Numbers of the balls at the end of each limb."""
    owner = gathering.owner
    ends = [max(owner[k].first for k in members) for members in limbs]
    return [
        [k for k in members if owner[k].first == end and type(owner[k].shape) is Sphere]
        for members, end in zip(limbs, ends, strict=True)
    ]


def _root(model: Model, index: int) -> int | None:
    """The first body of the chain without branches that a body is in; None for a base, and where the chain branches."""
    children = [sum(b.parent == k for b in model.bodies) for k in range(len(model.bodies))]
    if children[index] > 1 or model.bodies[index].parent < 0:
        return None
    while model.bodies[index].parent >= 0 and children[model.bodies[index].parent] == 1:
        index = model.bodies[index].parent
    return index if model.bodies[index].parent >= 0 else None


def chosen(places: Sequence[Place], depths: Mapping[int, Any]) -> np.ndarray:
    """(k,): the number of the candidate in each place; depths: of candidates by number, lowest where deepest."""
    numbers = []
    for place in places:
        lowest: list[tuple[Any, Any]] = []  # depths with their numbers
        for k in place.members:
            depth, number = depths[k], float(k)
            for i, (other, its_number) in enumerate(lowest):
                deeper = depth < other
                lowest[i] = where(deeper, depth, other), where(deeper, number, its_number)
                depth, number = where(deeper, other, depth), where(deeper, its_number, number)
            if len(lowest) <= place.rank:
                lowest.append((depth, number))
        numbers.append(lowest[-1][1])
    return np.array(numbers)


class LimbContacts(WrittenContacts):
    """Contacts of limbs with the ground, in places whose velocities are known beforehand."""

    def thin(self, number: Any) -> Any:
        """Thickness: they are of the ground."""
        return np.inf


def contacts_of_limbs(problem: GatheredImpulses, places: Sequence[Place], numbers: np.ndarray) -> LimbContacts:
    """The candidates with numbers (k,) in places."""
    gathering, motions, turning = problem.gathering, problem.motions, problem.element.turning
    rows, slots = [], []
    for (members, _), number in zip(places, numbers, strict=True):
        at = Points(*(_selected(x, members, number) for x in problem.candidates if x is not None))
        axes, signs = tangent_frame(at.normal), _signs(gathering, members, number)
        rows.append(motions.rows(signs, axes, at.position, turning, at.aside))
        slots.append((at.gap, at.position, axes[0]))
    gaps, positions, normals = (np.array(x) for x in zip(*slots, strict=True))
    near = Slot(numbers, gaps, positions, normals, np.zeros_like(positions))
    last = _last(problem, numbers)
    contacts = LimbContacts(problem, near, np.array(rows), last, problem.element.remembered)
    contacts.turns = False  # where something turns too far, their solution is not taken
    return contacts


def _last(problem: GatheredImpulses, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Memory of the candidates with numbers (k,): most often each has been in the same place."""
    memory, k = problem.at.memory, len(numbers)
    before, kept = memory.numbers[: max(problem.element.slots, k)], memory.by_place()
    same = [number + 1.0 == x for number, x in zip(numbers, before[:k], strict=True)]
    begin = {name: np.array([where(x, row, 0.0) for x, row in zip(same, kept[name], strict=False)]) for name in kept}

    def searched() -> dict[str, np.ndarray]:
        return known_before(numbers, None, before, len(problem.gathering), kept)

    return branch(logical_not(reduce(logical_and, same)), searched, begin)


def _signs(gathering: Gathering, members: list[int], number: Any) -> np.ndarray:
    """For each freedom 1 if it moves the candidate with a number, else 0: a constant where that is so for all."""
    signs = gathering.signs
    alike = [np.ptp(column[members]) == 0.0 for column in signs.T]
    columns = zip(signs.T, alike, strict=True)
    return np.array([float(x[members[0]]) if same else lookup(x, number) for x, same in columns])


def _selected(values: np.ndarray, members: list[int], number: Any) -> Any:
    """The one of values (n, …) of the candidate with a number; what is the same for all is not selected."""
    if values.ndim > 1:
        return np.array([_selected(column, members, number) for column in values.T])
    selected = values[members[0]]
    for k in members[1:]:
        if not is_zero(values[k] - values[members[0]]):
            selected = where(number == float(k), values[k], selected)
    return selected
