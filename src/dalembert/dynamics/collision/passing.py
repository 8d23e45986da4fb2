"""Shapes that meet, or pass close by each other, within a while: the normal of the instant at which they do.

The line of nearest points turns as shapes move past each other. Along that of the start, a ball that passes the edge of
a block would strike it, and one that strikes it would leave in a wrong direction. The distance f(t) of two convex
shapes that move straight ahead is a convex function of time. Where it stays above zero, its normal at the least f
separates the shapes throughout: along it they neither meet now nor later. Where it does not, the normal is that at
which f first becomes zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import clip, logical_and, logical_not, logical_or, maximum, repeat, where
from dalembert.shapes import Ellipsoid
from dalembert.spatial import Pose, cross
from dalembert.spatial.vectors import dot

from .curvature import ROUND
from .lines import unit
from .witness import Witness, chosen

PASSES = 16
LEAST = 1e-9  # keeps half a turn from being divided by
NOT_YET = 2.0  # the time of a bound that there is not, in parts of the while

Nearest = Callable[[Pose], Witness]  # the signed distance of the cores with B placed in A's frame


class ShapeMotion(NamedTuple):
    """How a shape moves within the while, t from 0 to 1: straight ahead, and about one axis."""

    start: Pose
    end: Pose

    def _turn(self) -> np.ndarray:
        """The axis, as long as the tangent of half the angle."""
        R = self.end.R @ self.start.R.T
        axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        return axis / maximum(1.0 + R[0, 0] + R[1, 1] + R[2, 2], LEAST)

    def at(self, t: Any) -> Pose:
        """The pose at a time."""
        x, y, z = g = t * self._turn()
        square = dot(g, g)
        S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        R = np.eye(3) + (2.0 / (1.0 + square)) * (S + np.multiply.outer(g, g) - square * np.eye(3))
        return Pose(R @ self.start.R, self.start.p + t * (self.end.p - self.start.p))

    def velocity(self, t: Any, X: Pose, point: np.ndarray) -> np.ndarray:
        """Velocity of what is at a point (3,), in the time of the while; X: the pose at t."""
        g = self._turn()
        return self.end.p - self.start.p + (2.0 / (1.0 + t * t * dot(g, g))) * cross(g, point - X.p)


class Instant(NamedTuple):
    """A time, the distance then, how fast it grows, its normal, and the nearest points, each where it is now."""

    t: Any
    f: Any
    rate: Any
    normal: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def flat(self) -> np.ndarray:
        """All numbers in one array, for a loop to carry."""
        return np.array([self.t, self.f, self.rate, *self.normal, *self.a, *self.b])


def _restored(x: np.ndarray) -> Instant:
    return Instant(x[0], x[1], x[2], x[3:6], x[6:9], x[9:12])


def passing(
    a: Any, b: Any, X_AB: Pose, later: tuple[Pose, Pose], here: Witness, nearest: Nearest, radius: Any, level: Any
) -> Witness:
    """The witness of two cores; where they would meet along the normal of that here, that of the instant they do.

    later: A and B after the while, in A's frame now. radius [m]: of both together, around the cores; level [m]: an
    overlap that is none. The witness is then not that of nearest points: the places on A and B are those that come
    nearest to each other, each where it is now, and a − b has a part across the normal.
    """
    gap = here.distance - radius
    ahead = dot(here.normal, later[0].point(here.a) - later[1].point(X_AB.inverse().point(here.b))) - radius
    wanted = logical_and(gap >= -level, ahead < -level)
    first = Instant(0.0, gap, ahead - gap, here.normal, here.a, here.b).flat()

    def step(poses: Any, low: Any, high: Any, best: Any, turn: Any, settled: Any) -> dict[str, Any]:
        to_a, from_b, to_b = (Pose(x[:9].reshape(3, 3), x[9:]) for x in poses)
        ways = ShapeMotion(Pose.identity(), to_a), ShapeMotion(from_b, to_b)
        at = _instant((a, b), ways, _next(_restored(low), _restored(high), turn, level), nearest, radius)
        overlaps = at.f < -level
        approaches = logical_and(logical_not(overlaps), at.rate < 0.0)
        low, high = where(approaches, at.flat(), low), where(approaches, high, at.flat())
        before, after = _restored(low), _restored(high)
        bounded, meets, normal, share = _outcome(before, after, level)
        near_a, near_b = before.a + share * (after.a - before.a), before.b + share * (after.b - before.b)
        on_a, on_b = _first(a, ways[0].start, -normal, near_a), _first(b, from_b, normal, near_b)
        passes = logical_and(bounded, dot(normal, on_a - on_b) - radius >= -level)
        ends = logical_and(approaches, at.t >= 1.0)  # the least distance is that at the end
        best, settled = np.concatenate([normal, on_a, on_b]), logical_or(logical_or(passes, meets), ends)
        return {"poses": poses, "low": low, "high": high, "best": best, "turn": 1.0 - turn, "settled": settled}

    start = {
        "poses": np.array([[*X.R.ravel(), *X.p] for X in (later[0], X_AB, later[1])]),
        "low": first,
        "high": np.array([NOT_YET, *first[1:]]),
        "best": first[3:],
        "turn": 0.0,
        "settled": where(wanted, 0.0, 1.0),
    }
    normal, on_a, on_b = repeat(step, PASSES, start, settled="settled")["best"].reshape(3, 3)
    separation = dot(normal, on_a - on_b)
    wanted = logical_and(wanted, separation - radius >= -level)
    return chosen(wanted, Witness(separation, on_a, on_b, normal), here)


def _outcome(low: Instant, high: Instant, level: Any) -> tuple[Any, Any, np.ndarray, Any]:
    """Whether two instants have the least distance between them, and whether they have the first contact; a normal, and
    how much of it is that of the second instant.

    Along the mean of their normals that moves neither way, shapes are apart by as much as where the tangents of f at
    both instants meet, or by more. Where shapes overlap later on, it is the normal of the time before.
    """
    overlaps = high.f < -level
    bounded = logical_and(high.t <= 1.0, logical_and(logical_not(overlaps), high.rate > low.rate))
    _, steeper = _tangents(low, high)
    share = where(bounded, clip(-low.rate / steeper, 0.0, 1.0), 0.0)
    _, normal = unit(low.normal + share * (high.normal - low.normal), low.normal)
    return bounded, logical_and(overlaps, low.f <= level), normal, share


def _tangents(low: Instant, high: Instant) -> tuple[Any, Any]:
    """How long after the first of two instants their tangents meet, and the difference of their rates."""
    steeper = high.rate - low.rate
    steeper = where(steeper > 0.0, steeper, 1.0)
    return (low.f - high.f + (high.t - low.t) * high.rate) / steeper, steeper


def _next(low: Instant, high: Instant, turn: Any, level: Any) -> Any:
    """The time to look at next: the end; then, where the shapes overlap, towards the first contact, from before it by
    Newton's method, and from behind it along a chord; else towards the least distance, to where tangents meet, and to
    where the rate would be zero. turn: 0 or 1, for the one or the other."""
    span = high.t - low.t
    overlaps = high.f < -level
    newton = (0.5 * level - low.f) / where(low.rate < 0.0, low.rate, -1.0)
    chord = span * low.f / where(overlaps, low.f - high.f, 1.0)
    tangents, steeper = _tangents(low, high)
    secant = -span * low.rate / steeper
    onwards = where(overlaps, where(turn > 0.5, newton, chord), where(turn > 0.5, tangents, secant))
    inside = logical_and(onwards > 0.0, onwards < span)
    return where(high.t > 1.0, 1.0, low.t + where(inside, onwards, 0.5 * span))


def _instant(
    shapes: tuple[Any, Any], ways: tuple[ShapeMotion, ShapeMotion], t: Any, nearest: Nearest, radius: Any
) -> Instant:
    """Two cores at a time, in A's frame at the start.

    The distance of round shapes is taken along the normal that an iteration ends with: so it is never too large.
    """
    X_a, X_b = (way.at(t) for way in ways)
    X_AB = X_a.inverse() @ X_b
    w = nearest(X_AB)
    if any(isinstance(shape, ROUND) for shape in shapes):
        a, b = shapes[0].support(-w.normal), X_AB.point(shapes[1].support(X_AB.R.T @ w.normal))
        w = w._replace(distance=dot(w.normal, a - b))
    n, on_a, on_b = X_a.R @ w.normal, X_a.point(w.a), X_a.point(w.b)
    rate = dot(n, ways[0].velocity(t, X_a, on_a) - ways[1].velocity(t, X_b, on_b))
    return Instant(t, w.distance - radius, rate, n, w.a, ways[1].start.point(X_b.inverse().point(on_b)))


def _first(shape: Any, X: Pose, n: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A place of a shape, as far along n as the shape is first; of an ellipsoid, where it is."""
    first = X.point(shape.support(X.R.T @ n))
    return first if isinstance(shape, Ellipsoid) else place + dot(n, first - place) * n
