"""Random hybrid motions with their exact solutions: pucks under forces that jump, with dry friction, between stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert import elements
from pucks import EVERY, FIRST_ORDER, folded, row, slides
from tolerances import COMPUTED, CONVERGED, TIGHT_RUN

REST_SPEED = 1e-3


@dataclass(frozen=True)
class Puck:
    """mass [kg], dry friction [N], stops [m] and their restitution."""

    mass: float
    friction: float
    lower: float
    upper: float
    restitution: float

    def moved(self, x: float, v: float, forces: np.ndarray, length: float) -> tuple[float, float]:
        """(x, v) after forces (k,) [N], each held for `length` [s]: parabolas from event to event."""
        for force in forces:
            left = length
            while left > 0.0:
                x, v, left = self._leg(x, v, float(force), left)
        return x, v

    def _leg(self, x: float, v: float, force: float, left: float) -> tuple[float, float, float]:
        """Until the next event; what is left of the time after it."""
        if abs(v) < 1e-12:
            v = 0.0
        if (x >= self.upper and v > 0.0) or (x <= self.lower and v < 0.0):
            return x, (0.0 if abs(v) <= REST_SPEED else -self.restitution * v), left
        if v == 0.0:
            pull = np.sign(force) * max(abs(force) - self.friction, 0.0)
            if pull == 0.0 or (x >= self.upper and pull > 0.0) or (x <= self.lower and pull < 0.0):
                return x, 0.0, 0.0
            a = pull / self.mass
        else:
            a = (force - np.sign(v) * self.friction) / self.mass
        ends = [left]
        if v != 0.0 and a * v < 0.0 and self.friction:
            ends.append(-v / a)  # where it stops
        for wall, towards in ((self.upper, 1.0), (self.lower, -1.0)):
            if np.isfinite(wall):
                ends += [t for t in _roots(0.5 * a, v, x - wall) if t > 1e-13 and towards * (v + a * t) > 0.0]
        t = min(ends)
        x1, v1 = x + v * t + 0.5 * a * t * t, v + a * t
        for wall in (self.lower, self.upper):
            x1 = wall if abs(x1 - wall) < 1e-12 else x1
        if len(ends) > 1 and t == ends[1] and v != 0.0 and a * v < 0.0 and self.friction:
            v1 = 0.0
        return x1, v1, left - t if t < left else 0.0


def _roots(a: float, b: float, c: float) -> list[float]:
    """Of a t² + b t + c, without cancellation."""
    if a == 0.0:
        return [-c / b] if b else []
    square = b * b - 4.0 * a * c
    if square < 0.0:
        return []
    w = -0.5 * (b + np.copysign(np.sqrt(square), b))
    return [w / a, *([c / w] if w else [])]


def pucks_under_forces(seed: int) -> None:
    """Some pucks on slides of their own, that meet stops, rest, stick and slide, many of them at the same times."""
    rng = np.random.default_rng(seed)
    integrator = list(EVERY)[seed % len(EVERY)]
    count, rows = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    lower, upper = -0.25 * rng.integers(1, 4), 0.25 * rng.integers(1, 4)
    friction, restitution = float(rng.choice([0.0, 0.5, 1.0])), float(rng.choice([0.0, 0.5, 1.0]))
    pucks = [Puck(float(m), friction, lower, upper, restitution) for m in rng.choice([0.5, 1.0, 2.0], count)]
    q = 0.25 * rng.integers(int(4 * lower), int(4 * upper) + 1, count)
    v = 0.5 * rng.integers(-3, 4, count)
    forces = rng.choice([-2.0, -1.0, -0.75, 0.0, 0.75, 1.0, 2.0], (rows, count))
    if rng.random() < 0.3:
        forces[:, 1:] = forces[:, :1]  # alike
    robot = slides([puck.mass for puck in pucks], friction=friction)
    stops = [elements.HardStop(f"slide{k}", restitution, lower, upper, REST_SPEED) for k in range(count)]
    duration, step = 0.25 * rows, None if EVERY[integrator] is None else 1e-3
    run = robot.simulate(q, v, duration, forces, integrator, step, elements=stops)
    exact = np.array([p.moved(q[k], v[k], forces[:, k], 0.25) for k, p in enumerate(pucks)])
    near = 2e-2 if integrator in FIRST_ORDER else 3e-6 if restitution == 0.5 else 1e-8  # rests below REST_SPEED
    np.testing.assert_allclose(run.q[-1], exact[:, 0], atol=near)
    assert run.q.min() >= lower - CONVERGED and run.q.max() <= upper + CONVERGED
    assert np.abs(run.energy.residual).max() < (2e-2 if integrator in FIRST_ORDER else 1e-7) * (run.energy.scale + 1.0)
    for heat in run.energy.heat.values():
        assert np.all(np.diff(heat) > -CONVERGED)


def balls_in_a_row(seed: int) -> None:
    """Balls on one line that hit each other: from collision to collision, pair by pair."""
    rng = np.random.default_rng(seed)
    integrator = list(EVERY)[seed % len(EVERY)]
    count = int(rng.integers(2, 5))
    restitution = float(rng.choice([0.6, 0.8, 1.0]))
    masses = [1.0] * count if rng.random() < 0.5 else list(rng.choice([0.5, 1.0, 2.0, 3.0], count))
    size, duration = 0.1, 1.013  # no collision falls on it
    gaps = rng.choice([0.0, 0.05, 0.1, 0.2], count - 1) if rng.random() < 0.5 else rng.uniform(0.01, 0.3, count - 1)
    x = np.concatenate([[0.0], np.cumsum(size + gaps)])
    v = rng.choice([-1.0, 0.0, 0.5, 1.0], count)
    if np.any((gaps == 0.0) & (np.diff(v) != 0.0)) or rng.random() < 0.3:
        v = np.where(np.arange(count) == 0, 1.0, 0.0)
    stops = [elements.HardStop(f"slide{k}", restitution, lower=size, rest_speed=1e-9) for k in range(1, count)]
    q0, v0 = np.append(0.0, size + gaps), np.diff(v, prepend=0.0)
    run = row(masses).simulate(q0, v0, duration, None, integrator, EVERY[integrator] and 1e-2, elements=stops)
    exact_x, exact_v = _collided(x, v, np.array(masses), size, restitution, duration)
    np.testing.assert_allclose(np.cumsum(run.q[-1]), exact_x, atol=TIGHT_RUN)
    np.testing.assert_allclose(np.cumsum(run.v[-1]), exact_v, atol=TIGHT_RUN)


def _collided(
    x: np.ndarray, v: np.ndarray, masses: np.ndarray, size: float, restitution: float, left: float
) -> tuple[np.ndarray, np.ndarray]:
    x, v = x.astype(float).copy(), v.astype(float).copy()
    for _ in range(10_000):
        distance, closing = np.diff(x) - size, -np.diff(v)
        touching = (distance <= 1e-10) & (closing > 1e-10)
        if touching.any():  # all pairs that approach at once, of which none are neighbours or they share one problem
            v = _hit(v, masses, np.flatnonzero(touching), restitution)
            continue
        times = np.where(closing > 1e-10, np.maximum(distance, 0.0) / np.where(closing > 1e-10, closing, 1.0), np.inf)
        step = min(float(times.min()), left)
        x, left = x + step * v, left - step
        if left <= 0.0:
            return x, v
    raise AssertionError("collisions without end")


def _hit(v: np.ndarray, masses: np.ndarray, pairs: np.ndarray, restitution: float) -> np.ndarray:
    J = np.zeros((len(pairs), len(v)))
    J[np.arange(len(pairs)), pairs], J[np.arange(len(pairs)), pairs + 1] = -1.0, 1.0
    A = J / masses @ J.T
    return v - (J / masses).T @ np.linalg.solve(A, (1.0 + restitution) * (J @ v))


def stops(count: int, restitution: float, lower=None, upper=None) -> list[elements.Element]:
    return [elements.HardStop(f"slide{k}", restitution, lower=lower, upper=upper) for k in range(count)]


def random_pucks(seed: int) -> None:
    """Elastic pucks between walls, with speeds that make many impacts coincide, and ends of legs at impacts."""
    rng = np.random.default_rng(seed)
    integrator = list(EVERY)[seed % len(EVERY)]
    count = int(rng.integers(1, 5))
    lower, upper = -0.25 * rng.integers(1, 4), 0.25 * rng.integers(1, 4)
    q = 0.25 * rng.integers(int(4 * lower), int(4 * upper) + 1, count)
    v = 0.5 * rng.integers(-4, 5, count)
    masses = list(rng.uniform(0.1, 10.0, count))
    duration = 0.25 * rng.integers(2, 13) + 0.0625
    rows = np.zeros((int(rng.integers(1, 9)), count)) if rng.random() < 0.5 else None
    robot = slides(masses)
    run = robot.simulate(
        q, v, duration, rows, integrator, EVERY[integrator] and 1e-2, elements=stops(count, 1.0, lower, upper)
    )
    np.testing.assert_allclose(run.q[-1], folded(q + v * duration, lower, upper), atol=CONVERGED)
    assert run.q.min() >= lower - COMPUTED and run.q.max() <= upper + COMPUTED
    impacts = [event for event in run.events if event.kind == "impact"]
    per_puck = [np.floor(_walls(q[k], v[k], duration, lower, upper) + 1e-9) if v[k] else 0 for k in range(count)]
    assert len(impacts) == sum(per_puck)
    assert abs(sum(x[-1] for x in run.energy.heat.values())) < CONVERGED * max(run.energy.kinetic.max(), 1.0)


def _walls(x: float, v: float, duration: float, lower: float, upper: float) -> float:
    """How many walls a puck has met, and what part of the way to the next is done."""
    way = upper - x if v > 0 else x - lower
    return (abs(v) * duration - way) / (upper - lower) + 1.0
