"""Invariants of an edit, checked at a random state: masses, inertias, the motion of every link, energies.

A violation is an error of this package, not of its user: it is raised, so that no wrong robot is returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import center_of_mass, kinetic_energy
from dalembert.dynamics.algorithms import poses as body_poses
from dalembert.dynamics.algorithms.passive import armature
from dalembert.model import Model
from dalembert.spatial import Inertia, Pose

from .change import WORLD, Change, State

MASS = 1e-12  # relative, of the total mass
MOTION = 1e-9  # of poses and twists, relative to their size


class LinkMotion(NamedTuple):
    """A link at a state: its pose, its twist at its origin in its axes, its inertia in its frame."""

    X: Pose
    V: np.ndarray
    inertia: Inertia


def links_at(model: Model, q: np.ndarray, v: np.ndarray) -> dict[str, LinkMotion]:
    """Every link by name, and the world."""
    links = {WORLD: LinkMotion(Pose.identity(), np.zeros(6), Inertia.zero())}
    V: list[np.ndarray] = []
    X_W = body_poses(model, q)
    for body, X in zip(model.bodies, X_W, strict=True):
        X_PB = body.placement @ body.joint.pose(q[body.q])
        V_P = V[body.parent] if body.parent >= 0 else np.zeros(6)
        V.append(X_PB.inverse_motion(V_P) + body.joint.subspace(q[body.q]) @ v[body.v])
        for part in body.parts:
            links[part.name] = LinkMotion(X @ part.placement, part.placement.inverse_motion(V[-1]), part.inertia)
    return links


def check(before: Model, after: Model, change: Change) -> None:
    """Raise RuntimeError if the edit changed something that it must not change."""
    mass = [sum(float(body.inertia.mass) for body in model.bodies) for model in (before, after)]
    size = sum(abs(float(part.inertia.mass)) for m in (before, after) for body in m.bodies for part in body.parts)
    _demand(change, "total mass [kg]", mass[1], mass[0] + change.mass, MASS * size)
    then, now = change.pairing(before, after, np.random.default_rng(len(after.bodies)))
    links = links_at(before, *then), links_at(after, *now)
    sums = _sums(links[0]), _sums(links[1])
    _check_algorithms(after, change, now, sums[1])
    if change.relative_to is not None:
        _check_motion(*links, change)
    if change.energy is not None:
        expected = change.energy * sums[0]
        _demand(change, "first moment or energy", sums[1], expected, MOTION * max(1.0, np.max(np.abs(expected))))


def _sums(links: dict[str, LinkMotion]) -> np.ndarray:
    """First moment of mass (3) [kg·m] and kinetic energy [J] without rotors, summed over the links."""
    moment = sum((link.inertia.transform(link.X).moment for link in links.values()), np.zeros(3))
    return np.array([*moment, sum(0.5 * float(link.V @ (link.inertia @ link.V)) for link in links.values())])


def _check_algorithms(model: Model, change: Change, state: State, sums: np.ndarray) -> None:
    """The algorithms' results for the tree agree with the sums over its links."""
    mass = sum(float(body.inertia.mass) for body in model.bodies)
    kinetic = kinetic_energy(model, *state) - 0.5 * float(armature(model) @ state[1] ** 2)
    moment = center_of_mass(model, state[0]) * mass if mass else sums[:3]  # a robot without mass has no centre
    computed = [*moment, kinetic]
    _demand(change, "momentum or energy of the tree", computed, sums, MOTION * max(1.0, np.max(np.abs(sums))))


def _check_motion(then: dict[str, LinkMotion], now: dict[str, LinkMotion], change: Change) -> None:
    """Links that existed before move as before, seen from the reference, and keep their inertia."""
    names = change.renamed or {}
    reference = change.relative_to or WORLD
    seen = [links[name] for links, name in ((then, reference), (now, names.get(reference, reference)))]
    for name, old in then.items():
        new = now.get(names.get(name, name))
        if new is None or name == WORLD:
            continue
        if name not in change.changed:
            before, kept = old.inertia.parameters(), new.inertia.parameters()
            _demand(change, f"inertia of {name!r}", kept, before, MASS * max(1.0, np.max(np.abs(before))))
        poses = [_relative(of, base) for of, base in ((old, seen[0]), (new, seen[1]))]
        size = max(1.0, float(np.max(np.abs(poses[0][0]))), float(np.max(np.abs(poses[0][1]))))
        for what, was, is_now in zip(("pose", "velocity"), *poses, strict=True):
            _demand(change, f"{what} of {name!r}", is_now, was, MOTION * size)


def _relative(link: LinkMotion, reference: LinkMotion) -> tuple[np.ndarray, np.ndarray]:
    """Pose (4, 4) in the reference, and the twist relative to it in the link's axes."""
    X = reference.X.inverse() @ link.X
    return X.matrix(), link.V - X.inverse_motion(reference.V)


def _demand(change: Change, what: str, actual: object, expected: object, bound: float) -> None:
    error = float(np.max(np.abs(np.asarray(actual) - np.asarray(expected)), initial=0.0))
    if not error <= bound:
        raise RuntimeError(
            f"internal error: the edit '{change.what}' changed the {what} by {error:.3g} (at most {bound:.3g} is "
            "round-off); no robot is returned, please report this"
        )
