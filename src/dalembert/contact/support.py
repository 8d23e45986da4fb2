"""Standing on contact forces: zero-moment point, support polygon, and how far one is inside the other."""

from __future__ import annotations

import numpy as np


def support_polygon(points: np.ndarray) -> np.ndarray:
    """The corners (m, 2) of the convex hull of points (n, 2 or 3) seen from above, counter-clockwise.

    Fewer than three where the points are one point or on one line.
    """
    plane = np.unique(np.asarray(points, float)[:, :2], axis=0)  # sorted by x, then y
    if len(plane) < 3:
        return plane

    def chain(ordered: np.ndarray) -> list[np.ndarray]:
        corners: list[np.ndarray] = []
        for p in ordered:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], p) <= 0.0:
                corners.pop()
            corners.append(p)
        return corners[:-1]

    return np.array(chain(plane) + chain(plane[::-1]))


def support_margin(polygon: np.ndarray, point: np.ndarray) -> float:
    """How far a point (2 or 3,) is inside a polygon of `support_polygon` [m]; negative: how far it is outside."""
    x = np.asarray(point, float)[:2]
    if not len(polygon):
        return -np.inf
    ends = np.roll(polygon, -1, axis=0)
    edges, offsets = ends - polygon, x - polygon
    lengths = np.maximum((edges**2).sum(1), np.finfo(float).tiny)
    share = np.clip((edges * offsets).sum(1) / lengths, 0.0, 1.0)
    nearest = float(np.sqrt(((offsets - share[:, None] * edges) ** 2).sum(1)).min())
    inside = len(polygon) > 2 and np.all(edges[:, 0] * offsets[:, 1] - edges[:, 1] * offsets[:, 0] >= 0.0)
    return nearest if inside else -nearest


def centre_of_pressure(position: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The zero-moment point (…, 3) of forces (…, n, 3) at points (…, n, 3) on level ground; NaN without a push [m].

    The mean of the points weighted by the vertical forces: the horizontal ones have no moment about points at their
    height.
    """
    push = np.maximum(force[..., 2], 0.0)
    total = push.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (push[..., None] * position).sum(-2) / np.where(total > 0.0, total, np.nan)[..., None]


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
