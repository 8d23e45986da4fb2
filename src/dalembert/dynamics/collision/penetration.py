"""How deep two convex shapes overlap, one of which at least is round.

A direction n is found along which the shapes overlap least. Moved apart along n by more than their overlap, they have a
distance, whose normal is a better direction: the overlap along it is smaller, unless it is n itself. Flat sides are
found at once; on curved ones the limit of such steps is foreseen, and not awaited, since the answer is made exact
afterwards (`polish`). Where one shape has corners and edges, it starts from the features that the least overlap can
lie across (`features`). Otherwise it starts from the two best of directions all around, far from each other: which of
several minima is the smallest is known when both have been followed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import held, logical_or, repeat, where
from dalembert.math.tolerances import TINY
from dalembert.shapes import Cone, Cylinder, Ellipsoid
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .curvature import ROUND
from .directions import around, computed_where, largest
from .features import flattest, side_normal
from .gjk import ROUGHLY, nearest
from .lines import unit
from .opaque import Opaque
from .witness import Witness

DIRECTIONS = around(9)  # 11° apart
AROUND = [(np.cos(t), np.sin(t)) for t in np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False)]
PASSES = 60
SETTLED = 1e-10  # of the size of the shapes: the overlap gets no smaller
MISSES = 3.0  # passes in which it got no smaller: across an edge the rounding of the normal counts
STILL = 1e-4  # [rad]: the normal does not turn
GAP = 0.03  # of the size of the shapes: how far they are moved apart
SINGULAR = 1e-12  # of the squares of the last changes: what is smaller says nothing about how steps shrink


class CorePair(NamedTuple):
    """Two cores in A's frame, and their size [m]."""

    a: Any
    b: Any
    X_AB: Pose
    size: Any

    def overlap(self, n: np.ndarray) -> Any:
        """How far A must move along n, from B to A, until it is clear of B [m]."""
        return dot(n, self.X_AB.point(self.b.support(self.X_AB.R.T @ n)) - self.a.support(-n))

    def parted(self, n: np.ndarray, depth: Any) -> Witness:
        """The nearest points after A has moved along n until there is a gap; the point of A where it was before."""
        shift = (depth + GAP * self.size) * n
        moved = Pose(self.X_AB.R, self.X_AB.p - shift)
        return nearest(self.a.support, self.b.support, moved, self.size, n, ROUGHLY)[0]


def penetration(pair: CorePair, wanted: Any) -> Witness:
    """The least overlap of two shapes, in A's frame; where it is not wanted, anything."""
    numbers = held(computed_where(wanted, lambda X: _search(pair._replace(X_AB=X)), pair.X_AB, 9))
    n, a, b = numbers[:3], numbers[3:6], numbers[6:]
    distance = dot(n, a - pair.X_AB.point(b))
    return Witness(distance, a, a - distance * n, n)


def _search(pair: CorePair) -> np.ndarray:
    """The normal, the point of A, and the point of B in B's frame (9,)."""
    first, *others = (_refined(pair, n) for n in _starts(pair))
    depth, n, a = first
    for other_depth, other_n, other_a in others:
        smaller = other_depth < depth
        depth, n, a = where(smaller, other_depth, depth), where(smaller, other_n, n), where(smaller, other_a, a)
    return np.array([*n, *a, *(pair.X_AB.R.T @ (a + depth * n - pair.X_AB.p))])


def _starts(pair: CorePair) -> list[np.ndarray]:
    """Directions (3,) to start from."""

    def best(away: np.ndarray | None = None) -> np.ndarray:
        sides = [-_sides(pair.a), _sides(pair.b) @ pair.X_AB.R.T, DIRECTIONS, [unit(-pair.X_AB.p)[1]]]
        return largest(lambda n: -pair.overlap(n), np.concatenate(sides), away)

    if isinstance(pair.a, ROUND) and isinstance(pair.b, ROUND):
        first = best()
        return [first, best(away=first)]
    if isinstance(pair.b, ROUND):
        n = -flattest(pair.a, pair.b, pair.X_AB)
    else:
        n = pair.X_AB.R @ flattest(pair.b, pair.a, pair.X_AB.inverse())
    # these may be nearest to a corner, which is no feature that is tried
    return [n, best()] if any(isinstance(shape, Ellipsoid | Opaque) for shape in (pair.a, pair.b)) else [n]


def _sides(shape: Any) -> np.ndarray:
    """Outward normals (n, 3) of the flat ends and of the straight side of a round shape, all around."""
    if not isinstance(shape, Cylinder | Cone):
        return np.zeros((0, 3))
    across, along = side_normal(shape)
    return np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], *([across * x, across * y, along] for x, y in AROUND)])


def _refined(pair: CorePair, start: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The least overlap near a direction, its direction, and the point of A.

    From n, the nearest points lead to the normal n + r. The limit of such steps is foreseen from how r changed over the
    last two (Anderson 1965), and taken where the overlap is smaller there.
    """

    def step(n: Any, depth: Any, best: Any, a: Any, passed: Any, before: Any, missed: Any, _: Any) -> dict:
        w = pair.parted(n, depth)
        now = np.array([w.normal, w.normal - n])
        # how the normal and r changed, over the last step and the one before
        old, older = where(passed > 0.0, now - before[1], 0.0), where(passed > 1.0, before[1] - before[0], 0.0)
        ahead = unit(w.normal - _foreseen(now[1], old, older))[1]
        depth_here, depth_ahead = pair.overlap(w.normal), pair.overlap(ahead)
        further = depth_ahead < depth_here
        n, depth = where(further, ahead, w.normal), where(further, depth_ahead, depth_here)
        smaller = depth < best[0]
        missed = where(depth < best[0] - SETTLED * pair.size, 0.0, missed + 1.0)
        still = dot(now[1], now[1]) < STILL * STILL
        return {
            "n": n,
            "depth": depth,
            "best": where(smaller, np.array([depth, *n]), best),
            "a": w.a,
            "passed": passed + 1.0,
            "before": np.array([before[1], now]),
            "missed": missed,
            "settled": logical_or(still, missed >= MISSES),
        }

    depth = pair.overlap(start)
    begin = {
        "n": start,
        "depth": depth,
        "best": np.array([depth, *start]),
        "a": np.zeros(3),
        "passed": 0.0,
        "before": np.zeros((2, 2, 3)),
        "missed": 0.0,
        "settled": 0.0,
    }

    end = repeat(step, PASSES, begin, settled="settled")
    return end["best"][0], end["best"][1:], end["a"]


def _foreseen(r: np.ndarray, old: np.ndarray, older: np.ndarray) -> np.ndarray:
    """How much of the normal is to be taken back so that r vanishes, as far as r is linear in the last changes.

    old, older (2, 3): changes of the normal and of r.
    """
    (g1, r1), (g2, r2) = old, older
    a11, a12, a22 = dot(r1, r1), dot(r1, r2), dot(r2, r2)
    least = SINGULAR * (a11 + a22) + TINY
    a11, a22 = a11 + least, a22 + least
    b1, b2 = dot(r1, r), dot(r2, r)
    scale = 1.0 / (a11 * a22 - a12 * a12)
    return (a22 * b1 - a12 * b2) * scale * g1 + (a11 * b2 - a12 * b1) * scale * g2
