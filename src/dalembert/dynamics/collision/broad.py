"""Which pairs of links come near each other at all: sweep and prune on NumPy, for many states at once.

Every shape gets a box along the world's axes in every state. Along x, boxes are sorted by where they begin, and only
those that overlap there are compared in y and z. What remains goes to the exact distances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .pairs import LinkPair, Solid


class Boxes(NamedTuple):
    """Boxes along the world's axes (states, solids, 3): lower and upper corners [m]."""

    lower: np.ndarray
    upper: np.ndarray


def bounding_boxes(solids: list[Solid], R: np.ndarray, p: np.ndarray) -> Boxes:
    """Boxes of solids in many states: R (states, bodies, 3, 3), p (states, bodies, 3) of their bodies in the world."""
    lower = np.empty((len(p), len(solids), 3))
    upper = np.empty_like(lower)
    for k, solid in enumerate(solids):
        R_S = R[:, solid.body] @ solid.placement.R
        centre = p[:, solid.body] + R[:, solid.body] @ solid.placement.p
        if not solid.shape.is_bounded:
            lower[:, k], upper[:, k] = -np.inf, np.inf  # its half-space is cut off by no box in general
            continue
        for axis in range(3):
            d = R_S[:, axis, :]  # the world's axis in the shape's frame
            upper[:, k, axis] = centre[:, axis] + solid.shape.reach(d)
            lower[:, k, axis] = centre[:, axis] - solid.shape.reach(-d)
    return Boxes(lower, upper)


def near_pairs(pairs: tuple[LinkPair, ...], R: np.ndarray, p: np.ndarray, margin: float) -> tuple[LinkPair, ...]:
    """The pairs whose boxes come within a margin [m] of each other in any of the states."""
    every: dict[int, Solid] = {id(s): s for pair in pairs for both in pair.solids for s in both}
    number = {key: k for k, key in enumerate(every)}
    boxes = bounding_boxes(list(every.values()), R, p)
    touched = _overlapping(Boxes(boxes.lower - 0.5 * margin, boxes.upper + 0.5 * margin))
    return tuple(pair for pair in pairs if any(touched[number[id(a)], number[id(b)]] for a, b in pair.solids))


def _overlapping(boxes: Boxes) -> np.ndarray:
    """Whether boxes i and j meet in any state: (solids, solids), symmetric."""
    n = boxes.lower.shape[1]
    meet = np.zeros((n, n), bool)
    for lower, upper in zip(boxes.lower, boxes.upper, strict=True):
        order = np.argsort(lower[:, 0], kind="stable")
        begins = lower[order, 0]
        ends = np.searchsorted(begins, upper[order, 0], side="right")  # the first that begins beyond each one's end
        for place, i in enumerate(order):
            others = order[place + 1 : ends[place]]
            hit = others[np.all((lower[others, 1:] <= upper[i, 1:]) & (upper[others, 1:] >= lower[i, 1:]), axis=1)]
            meet[i, hit] = meet[hit, i] = True
    return meet
