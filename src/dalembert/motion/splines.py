"""Motions through waypoints: the smoothest curves through given points at given times.

The curve through points that makes ∫ |d^r x / dt^r|² dt least is a polynomial of degree 2 r − 1 between them, with
continuous derivatives up to 2 r − 2: the cubic spline (r = 2), the quintic of least jerk (3), that of least snap (4).
Its derivatives at the points solve a block tridiagonal system.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .manifold import chart_rates
from .motion import PolynomialMotion, on_manifold
from .points import configurations, freedom_names, positive, rising
from .polynomials import Polynomials, hermite

REACHED = 1e-8  # of 1 and of a point: what a curve may miss it by
ROUNDS, SHRINK = 60, 0.5  # of the search for times: most steps, and what a step that does not help is multiplied with


def via(
    points: Any,
    times: Any = None,
    velocities: Any = None,
    *,
    duration: float | None = None,
    robot: Robot | None = None,
) -> PolynomialMotion:
    """Cubic polynomials through points (k, nq), with stated velocities or, by default, without a jump of acceleration.

    times (k,) [s], rising, counted from the first; or `duration` [s], divided in proportion to the way. velocities
    (k, nv): at the points; NaN: found so that the acceleration is continuous there; "stop": rest at every point. By
    default the first and last point are at rest and the others are passed without a stop.
    """
    points, t, path = _waypoints("via", points, times, duration, robot)
    stated = _stated(velocities, path, freedom_names(robot, path.shape[1]))
    rates = np.stack([_cubic_velocities(t, path[:, j], stated[:, j]) for j in range(path.shape[1])], axis=1)
    return _through("via", points, t, path, rates[:, None], robot)


def spline(
    points: Any, times: Any = None, *, duration: float | None = None, robot: Robot | None = None
) -> PolynomialMotion:
    """Quintic polynomials of least jerk through points (k, nq), from rest to rest; smooth up to the fourth derivative.

    times (k,) [s], rising; or `duration` [s], divided in proportion to the way. Velocity and acceleration are 0 at both
    ends, so that the torque begins and ends without a jump.
    """
    points, t, path = _waypoints("spline", points, times, duration, robot)
    return _through("spline", points, t, path, _smoothest(t, path, 3), robot)


def minimum_snap(
    points: Any, times: Any = None, *, duration: float | None = None, robot: Robot | None = None
) -> PolynomialMotion:
    """Polynomials of degree 7 of least snap (fourth derivative) through points (k, nq), from rest to rest.

    times (k,) [s], rising; or `duration` [s], which is then divided so that the snap is least. Velocity, acceleration
    and jerk are 0 at both ends. For quadrotors, whose thrusts follow the snap.
    """
    points, t, path = _waypoints("minimum_snap", points, times, duration, robot)
    if times is None:
        t = _best_times(t, path)
    return _through("minimum_snap", points, t, path, _smoothest(t, path, 4), robot)


def straight(where: str, points: np.ndarray, t: np.ndarray, robot: Robot | None) -> PolynomialMotion:
    """Straight lines from point to point (k, nq), at t (k,); with quaternions the shortest ways."""
    if robot is None or robot.model.flat:
        return PolynomialMotion(
            Polynomials(t, np.stack([points[:-1], np.diff(points, axis=0)], axis=1)), robot, title=where
        )
    path = _unrolled(points, robot)
    lines = np.stack([path[:-1], np.diff(path, axis=0)], axis=1)
    return on_manifold(robot, t, points[:-1], lines, lines * [[0.0], [1.0]], where)


def _waypoints(
    where: str, points: Any, times: Any, duration: float | None, robot: Robot | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (k, nq), times (k,) and the path (k, nv): coordinates, or for quaternions the sum of the steps."""
    places = configurations(where, "points", points, robot)
    if len(places) < 2:
        raise DalembertError(f"{where}: there is {len(places)} point, expected two or more")
    if (times is None) == (duration is None):
        raise DalembertError(f"{where}: pass either times=…, one for each point, or duration=…")
    path = _unrolled(places, robot)
    if times is not None:
        return places, rising(where, times, len(places)), path
    way = np.linalg.norm(np.diff(path, axis=0), axis=1)
    if not np.all(way > 0.0):
        k = int(np.argmin(way))
        raise DalembertError(f"{where}: points {k} and {k + 1} are the same: pass times=… to wait there")
    total = positive(where, "duration", duration, "a time [s]")
    return places, np.concatenate([[0.0], np.cumsum(way / way.sum())]) * total, path


def _unrolled(points: np.ndarray, robot: Robot | None) -> np.ndarray:
    if robot is None or robot.model.flat:
        return points
    path = np.zeros((len(points), robot.nv))
    path[1:] = np.cumsum(robot.difference(points[:-1], points[1:]), axis=0)
    for body in robot.model.independent:
        if body.joint.flat:
            path[:, body.v] = points[:, body.q]
    return path


def _stated(velocities: Any, path: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Velocities (k, n) at the points, NaN where they are to be found."""
    if velocities is None:
        open_ = np.full(path.shape, np.nan)
        open_[0] = open_[-1] = 0.0
        return open_
    if isinstance(velocities, str):
        if velocities != "stop":
            raise DalembertError(f"via: velocities is {velocities!r}, expected 'stop' or an array {path.shape}")
        return np.zeros(path.shape)
    stated = np.asarray(velocities, float)
    stated = stated[:, None] if stated.ndim == 1 and path.shape[1] == 1 else stated
    if stated.shape != path.shape:
        raise DalembertError(
            f"via: velocities has shape {stated.shape}, expected {path.shape}, NaN where they are free"
        )
    if np.any(np.isinf(stated)):
        k, j = np.argwhere(np.isinf(stated))[0]
        raise DalembertError(f"via: the velocity of {names[j]} at point {k} is infinite")
    return stated


def _cubic_velocities(t: np.ndarray, x: np.ndarray, stated: np.ndarray) -> np.ndarray:
    """Velocities (k,) of one coordinate: stated, or such that the acceleration is continuous (0 at a free end)."""
    h, rise = np.diff(t), np.diff(x)
    k = len(t)
    A, b = np.zeros((k, k)), np.zeros(k)
    for i in range(k):
        if not np.isnan(stated[i]):
            A[i, i], b[i] = 1.0, stated[i]
            continue
        if i > 0:  # acceleration at the end of the piece before: (2 v₀ + 4 v₁) / h − 6 Δx / h²
            A[i, i - 1 : i + 1] += [2.0 / h[i - 1], 4.0 / h[i - 1]]
            b[i] += 6.0 * rise[i - 1] / h[i - 1] ** 2
        if i < k - 1:  # minus that at the beginning of the next one
            A[i, i : i + 2] += [4.0 / h[i], 2.0 / h[i]]
            b[i] += 6.0 * rise[i] / h[i] ** 2
    return np.linalg.solve(A, b)


def smooth_through(
    where: str, points: np.ndarray, t: np.ndarray, ends: np.ndarray, robot: Robot | None
) -> PolynomialMotion:
    """The motion of least jerk through points (k, nq) at t (k,); ends (2, 2, nv): velocity and acceleration there."""
    path = _unrolled(points, robot)
    return _through(where, points, t, path, _smoothest(t, path, 3, ends), robot)


def _smoothest(t: np.ndarray, path: np.ndarray, r: int, ends: np.ndarray | None = None) -> np.ndarray:
    """Derivatives (k, r − 1, n) of orders 1 … r − 1 at the points of the smoothest curve.

    ends (2, r − 1, n): those at the first and last point; default 0.
    """
    k, n = path.shape
    derivatives = np.zeros((k, r - 1, n))
    if ends is not None:
        derivatives[0], derivatives[-1] = ends
    if k == 2:
        return derivatives
    at_start, at_end = _slopes_of_hermite(r)
    h = np.diff(t)
    orders, known = np.arange(r, 2 * r - 1), np.arange(r)
    diagonal, right = np.zeros((k - 2, r - 1, r - 1)), np.zeros((k - 2, r - 1, n))
    lower, upper = np.zeros_like(diagonal), np.zeros_like(diagonal)
    for i in range(1, k - 1):
        before, after = h[i - 1], h[i]
        scale = after ** (orders - 1.0)  # the equations in units of a velocity
        E = at_end * before ** np.concatenate([known, known]) / before ** orders[:, None] * scale[:, None]
        S = at_start * after ** np.concatenate([known, known]) / after ** orders[:, None] * scale[:, None]
        lower[i - 1], upper[i - 1] = E[:, 1:r], -S[:, r + 1 :]
        diagonal[i - 1] = E[:, r + 1 :] - S[:, 1:r]
        right[i - 1] = -(np.outer(E[:, r], path[i] - path[i - 1]) - np.outer(S[:, r], path[i + 1] - path[i]))
    right[0] -= lower[0] @ derivatives[0]
    for i in range(1, k - 2):
        factor = np.linalg.solve(diagonal[i - 1].T, lower[i].T).T
        diagonal[i] -= factor @ upper[i - 1]
        right[i] -= factor @ right[i - 1]
    for i in range(k - 3, -1, -1):
        derivatives[i + 1] = np.linalg.solve(diagonal[i], right[i] - upper[i] @ derivatives[i + 2])
    return derivatives


def _slopes_of_hermite(r: int) -> tuple[np.ndarray, np.ndarray]:
    """(r − 1, 2 r) each: derivatives r … 2 r − 2 at start and end of the unit interval, from lower ones at both.

    Columns: orders 0 … r − 1 at the start, then at the end. A constant has no derivatives, so that the columns of the
    two values are opposite, and only their difference counts.
    """
    data = np.eye(2 * r)
    powers = hermite(data[:, :r, None], data[:, r:, None])[..., 0].T  # (2 r powers, 2 r data)
    orders = range(r, 2 * r - 1)
    start = np.array([factorial(m) * powers[m] for m in orders])
    end = np.array([sum(factorial(p) / factorial(p - m) * powers[p] for p in range(m, 2 * r)) for m in orders])
    return start, end


def _through(
    where: str, points: np.ndarray, t: np.ndarray, path: np.ndarray, rates: np.ndarray, robot: Robot | None
) -> PolynomialMotion:
    """The motion with derivatives `rates` (k, r − 1, n) at the points."""
    curves = _pieces(t, path, rates)
    _check_reached(where, t, path, curves.coefficients)
    if robot is None or robot.model.flat:
        return PolynomialMotion(curves, robot, title=where)
    return _on_manifold(where, points, curves, robot)


def _pieces(t: np.ndarray, path: np.ndarray, rates: np.ndarray) -> Polynomials:
    h = np.diff(t)
    scales = h[:, None, None] ** np.arange(1, rates.shape[1] + 1)[None, :, None]
    first = np.concatenate([path[:-1, None], rates[:-1] * scales], axis=1)
    last = np.concatenate([path[1:, None], rates[1:] * scales], axis=1)
    return Polynomials(t, hermite(first, last))


def _check_reached(where: str, t: np.ndarray, path: np.ndarray, coefficients: np.ndarray) -> None:
    """Refuse curves that swing so far between unlike times that rounding takes them past their points."""
    rounding = np.finfo(float).eps * np.abs(coefficients).sum(axis=1)  # by luck the sum itself may be exact
    missed = np.maximum(np.abs(coefficients.sum(axis=1) - path[1:]), rounding)
    good = missed <= REACHED * (1.0 + np.abs(path[1:]))
    if good.all():
        return
    k, j = np.argwhere(~good)[0]
    h, far = np.diff(t), float(np.abs(coefficients[k, :, j]).max())
    raise DalembertError(
        f"{where}: the times are too uneven: over the {h[k]:.3g} s to point {k + 1}, beside {h.min():.3g} s elsewhere, "
        f"terms of {far:.1e} cancel, and the curve misses the point by {missed[k, j]:.1e}: make times more even, or "
        "use via, whose cubics swing less"
    )


def _on_manifold(where: str, points: np.ndarray, unrolled: Polynomials, robot: Robot) -> PolynomialMotion:
    """Joints with quaternions: quintics in the chart of each piece's first point, with the same v and a at its ends."""
    h = np.diff(unrolled.times)[:, None]
    step = robot.difference(points[:-1], points[1:])
    v, a = unrolled(unrolled.times, 1), unrolled(unrolled.times, 2)
    rate, bend = chart_rates(robot, step, v[1:], a[1:])
    first = np.stack([np.zeros_like(step), v[:-1] * h, a[:-1] * h**2], axis=1)
    curves = hermite(first, np.stack([step, rate * h, bend * h**2], axis=1))
    return on_manifold(robot, unrolled.times, points[:-1], unrolled.coefficients, curves, where)


def _best_times(t: np.ndarray, path: np.ndarray) -> np.ndarray:
    """Times of the same total with less snap: descent along the slope of its logarithm in those of the pieces."""
    shares, total = np.log(np.diff(t)), t[-1]
    cost, step = _snap(shares, total, path), 0.2
    for _ in range(ROUNDS):
        slope = np.array([_snap(shares + 1e-5 * e, total, path) - cost for e in np.eye(len(shares))]) / 1e-5
        size = np.linalg.norm(slope)
        if size < 1e-6 or step < 1e-5:
            break
        moved = shares - step * slope / size
        lower = _snap(moved, total, path)
        if lower < cost:
            shares, cost, step = moved, lower, step * 1.3
        else:
            step *= SHRINK
    lengths = np.exp(shares - shares.max())
    return np.concatenate([[0.0], np.cumsum(lengths / lengths.sum())]) * total


def _snap(shares: np.ndarray, total: float, path: np.ndarray) -> float:
    """Logarithm of ∫ |d⁴x/dt⁴|² dt for pieces with logarithms of lengths in these proportions."""
    lengths = np.exp(shares - shares.max())
    t = np.concatenate([[0.0], np.cumsum(lengths / lengths.sum())]) * total
    snap = _pieces(t, path, _smoothest(t, path, 4)).derivative(4)  # (K, 4, n) in powers of the share
    products = np.einsum("kin,kjn->kij", snap, snap)
    integrals = 1.0 / (1.0 + np.arange(snap.shape[1])[:, None] + np.arange(snap.shape[1]))
    return float(np.log(np.sum(products * integrals * np.diff(t)[:, None, None])))
