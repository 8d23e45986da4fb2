"""Putting a mechanism together: positions that close all joints, near rough ones, and speeds that keep them closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.closing import closed_near, least_step
from dalembert.errors import DalembertError
from dalembert.math.tolerances import CLOSED
from dalembert.model import Model
from dalembert.typing import Array

from .build import MechanismParts, built_tree
from .graph import grubler

TRIES = 12  # starts beside the one that was asked for
CONSISTENT = 1e-8  # share of the speeds that may open a joint


def closed(model: Model, q: Array, held: Sequence[int], what: str, stated: Sequence[int] = ()) -> Array:
    """q (nq,) with all loops closed and the freedoms `held` as they are.

    Newton's method with steps of least length, from q and then from places around it. Where only some freedoms were
    `stated`, the solution counts that is nearest to them; the others may be anywhere. If nothing closes the loops, the
    error names the joint that misses most.
    """
    if not model.closures:
        return q
    free = np.setdiff1d(np.arange(model.nv), held)
    unknown = np.setdiff1d(free, stated)
    partly = len(stated) > 0 and len(unknown) > 0
    rng = np.random.default_rng(0)
    open_at, least = q, np.inf
    nearest, distance = None, np.inf
    for attempt in range(TRIES + 1):
        shift = np.zeros(model.nv)
        if attempt:
            shift[free] = rng.uniform(-1.0, 1.0, len(free)) * 0.25 * min(attempt, 4)
            if partly:
                shift[stated] *= 0.1
                shift[unknown] = rng.uniform(-2.0, 2.0, len(unknown))
        reached, gap = closed_near(model, algorithms.integrate(model, q, shift), free)
        if gap <= CLOSED and not partly:
            return reached
        away = (
            float(np.linalg.norm(algorithms.difference(model, q, reached)[list(stated)])) if gap <= CLOSED else np.inf
        )
        if away < distance - 1e-9:
            nearest, distance = reached, away
        if gap < least:
            open_at, least = reached, gap
    if nearest is None:
        raise DalembertError(_why_open(model, open_at, what))
    return nearest


def owners(model: Model) -> list[str]:
    """The name of the closure of each row."""
    return [closure.name for closure in model.closures for _ in range(closure.count)]


def _why_open(model: Model, q: Array, what: str) -> str:
    residual = algorithms.constraints(model, q, np.zeros(model.nv)).residual
    sizes: dict[str, float] = {}
    for name, gap in zip(owners(model), np.abs(residual), strict=True):
        sizes[name] = max(sizes.get(name, 0.0), float(gap))
    worst = max(sizes, key=sizes.__getitem__)
    others = [name for name, size in sizes.items() if name != worst and size > 0.1 * sizes[worst]]
    beside = f" (and {', '.join(map(repr, others[:4]))})" if others else ""
    return (
        f"{what}: joint {worst!r} cannot close{beside}: {sizes[worst]:.3g} m (or rad) are missing at the "
        "nearest position "
        "found: check the lengths between its points and the directions of its axes, or start nearer (start= of "
        "a joint, "
        "xyz= and rpy= of bodies)"
    )


def moving(model: Model, q: Array, v: Array, held: Sequence[int], names: Sequence[str], what: str) -> Array:
    """The speeds (nv,) nearest to v that keep all loops closed, with those of the freedoms `held` as they are.

    names: of the held freedoms, for the error if they contradict each other.
    """
    if not model.closures:
        return v
    J = algorithms.constraints(model, q, v).J
    free = np.setdiff1d(np.arange(model.nv), held)
    change = np.zeros(model.nv)
    change[free] = least_step(J[:, free], -(J @ v), 0.0)
    left = J @ (v + change)
    if np.max(np.abs(left)) > CONSISTENT * max(1.0, float(np.max(np.abs(v)))):
        worst = owners(model)[int(np.argmax(np.abs(left)))]
        raise DalembertError(
            f"{what}: the speeds of {', '.join(map(repr, names))} open joint {worst!r} at "
            f"{np.max(np.abs(left)):.3g} m/s (or "
            "rad/s): leave one of them out"
        )
    return v + change


DEPENDENT = 1e-8  # share of the largest singular value below which a row adds nothing
MOVED = 0.01  # [rad, m]: how far it is moved to see whether a row is redundant only where it was


@dataclass(frozen=True)
class Mobility:
    """count: freedoms by counting equations (Grübler, Kutzbach); freedoms: those that it has, by rank.

    redundant: joint → how many of its equations say what joints before it say; singular: whether it has more freedoms
    where it was put together than beside it.
    """

    count: int
    freedoms: int
    redundant: dict[str, int]
    singular: bool

    def __str__(self) -> str:
        named = ", ".join(f"{n} of {name!r}" for name, n in self.redundant.items())
        noun = "freedom" if self.freedoms == 1 else "freedoms"
        lines = [f"{self.freedoms} {noun}; {self.count} by counting (Grübler)"]
        lines += [f"equations that others imply: {named}"] if named else []
        lines += ["singular: it has more freedoms here than beside this position"] if self.singular else []
        return "\n".join(lines)


def mobility(parts: MechanismParts) -> Mobility:
    """The mobility of the mechanism as assembled, and in a position nearby."""
    model, q, _ = built_tree(parts)
    held = [joint for joint in parts.joints.values() if joint.springs is None]
    count = grubler(len(parts.bodies) - 1, held, len(parts.relations))
    here, redundant = ranked(model, q)
    beside = moved(model, q)
    freedoms = model.nv - here
    if beside is not None:
        rank_beside, elsewhere = ranked(model, beside)
        if rank_beside > here:
            return Mobility(count, model.nv - rank_beside, elsewhere, True)
    return Mobility(count, freedoms, redundant, False)


def stays_independent(model: Model, q: Array) -> bool:
    """Whether no equation of the closures follows from others, at q and beside it."""
    if not model.closures:
        return True
    beside = moved(model, q)
    positions = [q] if beside is None else [q, beside]
    for position in positions:
        J = algorithms.constraints(model, position, np.zeros(model.nv)).J
        s = np.linalg.svd(J, compute_uv=False)
        if len(J) > model.nv or s[-1] <= DEPENDENT * s[0]:
            return False
    return True


def ranked(model: Model, q: Array) -> tuple[int, dict[str, int]]:
    """The rank of the rows of all closures, and closure → rows that those before it imply."""
    if not model.closures:
        return 0, {}
    J = algorithms.constraints(model, q, np.zeros(model.nv)).J
    sizes = np.linalg.norm(J, axis=1)
    J = J / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    basis = np.zeros((0, model.nv))
    redundant: dict[str, int] = {}
    begin = 0
    for closure in model.closures:
        for row in J[begin : begin + closure.count]:
            for _ in range(2):  # twice is enough
                row = row - basis.T @ (basis @ row)
            size = np.linalg.norm(row)
            if size > DEPENDENT:
                basis = np.vstack([basis, row / size])
            else:
                redundant[closure.name] = redundant.get(closure.name, 0) + 1
        begin += closure.count
    return len(basis), redundant


def free_motions(model: Model, q: Array) -> Array:
    """An orthonormal basis (nv, f) of the speeds that keep all loops closed at q (nq,)."""
    if not model.closures:
        return np.eye(model.nv)
    _, s, Vt = np.linalg.svd(algorithms.constraints(model, q, np.zeros(model.nv)).J)
    return Vt[int(np.sum(s > DEPENDENT * max(s[0], 1e-300))) :].T


def moved(model: Model, q: Array) -> Array | None:
    """A position beside q on which all loops are closed; None if there is none."""
    from dalembert.errors import DalembertError

    from .assembly import closed

    if not model.closures:
        return None
    basis = free_motions(model, q)
    if not basis.shape[1]:
        return None
    along = basis @ np.random.default_rng(1).standard_normal(basis.shape[1])
    shift = MOVED * along / np.max(np.abs(along))
    try:
        return closed(model, algorithms.integrate(model, q, shift), (), "mobility")
    except DalembertError:
        return None
