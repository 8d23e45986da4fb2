"""One free body: its constants, its motion, and loops over bodies that are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import is_zero
from dalembert.math import map as mapped
from dalembert.spatial import cross, so3

ROUND_OFF = 1e-14  # relative: what may be between constants that are taken as equal


class FreeBody(NamedTuple):
    """A body: mass, centre of mass (3,), inertia about it and its inverse (3, 3), along its axes."""

    mass: Any
    com: np.ndarray
    inertia: np.ndarray
    inverse: np.ndarray


class Moving(NamedTuple):
    """State of all bodies: poses (n, 7), velocities of centres of mass (n, 3), world axes; spins (n, 3), body axes."""

    pose: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray


STILL = Moving(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(3))  # the ground


def placed(body: FreeBody, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R (3, 3) and the centre of mass (3,) in the world of a body at a pose (7,)."""
    R = so3.from_quaternion(pose[3:])
    return R, pose[:3] + R @ body.com


def moved(body: FreeBody, pose: np.ndarray, shift: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The pose (7,) after the centre of mass has moved by `shift` (3,), and a turn [rad] (3,) along body axes."""
    turned = _turned(pose[3:], turn)
    if not all(is_zero(x) for x in body.com):
        shift = shift + (so3.from_quaternion(pose[3:]) - so3.from_quaternion(turned)) @ body.com
    return np.concatenate([pose[:3] + shift, turned])


def twist_of(body: FreeBody, pose: np.ndarray, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """v (6,) of a body at a pose (7,) as the model has it."""
    return np.concatenate([spin, so3.from_quaternion(pose[3:]).T @ velocity - cross(spin, body.com)])


def over(step: Callable[..., Mapping[str, Any]], items: Mapping[str, np.ndarray], lanes: bool) -> dict[str, np.ndarray]:
    """step(one row of each of the items) for every row: as a loop whose lanes they are, or one after the other."""
    if lanes:
        return mapped(step, items)
    results = [step(*row) for row in zip(*items.values(), strict=True)]
    return {name: np.array([each[name] for each in results]) for name in results[0]}


def alike(rows: Sequence[Any]) -> np.ndarray:
    """Constants (n, …), of which those that differ from the first by round-off alone become equal to it: they fold."""
    numbers = np.array(rows, float)
    first = numbers[:1]
    close = np.abs(numbers - first) <= ROUND_OFF * np.max(np.abs(first), initial=0.0)
    return np.where(np.all(close, axis=0, keepdims=True), first, numbers)


def _turned(quaternion: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """A unit quaternion after a turn [rad] along the body's axes: a series, exact to 1e-15 up to half a radian."""
    s = 0.25 * (turn @ turn)
    cosine = 1.0 + s * (-1 / 2 + s * (1 / 24 + s * (-1 / 720 + s * (1 / 40320 - s / 3628800))))
    sine = 0.5 * (1.0 + s * (-1 / 6 + s * (1 / 120 + s * (-1 / 5040 + s / 362880))))
    w, u, x = quaternion[0], quaternion[1:], sine * turn
    turned = np.concatenate([[cosine * w - u @ x], cosine * u + w * x + cross(u, x)])
    return turned * (1.5 - 0.5 * (turned @ turned))


def snapped(x: np.ndarray) -> np.ndarray:
    """Numbers that are round-off beside the largest one made 0, so that they fold."""
    x = np.asarray(x, float)
    return np.where(np.abs(x) <= 1e-14 * np.max(np.abs(x), initial=0.0), 0.0, x)
