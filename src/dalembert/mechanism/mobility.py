"""How a mechanism can move: freedoms by counting and by rank, and joints that repeat what others say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.model import Model

from .build import Parts, built_tree
from .graph import grubler

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


def mobility(parts: Parts) -> Mobility:
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


def stays_independent(model: Model, q: np.ndarray) -> bool:
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


def ranked(model: Model, q: np.ndarray) -> tuple[int, dict[str, int]]:
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


def free_motions(model: Model, q: np.ndarray) -> np.ndarray:
    """An orthonormal basis (nv, f) of the speeds that keep all loops closed at q (nq,)."""
    if not model.closures:
        return np.eye(model.nv)
    _, s, Vt = np.linalg.svd(algorithms.constraints(model, q, np.zeros(model.nv)).J)
    return Vt[int(np.sum(s > DEPENDENT * max(s[0], 1e-300))) :].T


def moved(model: Model, q: np.ndarray) -> np.ndarray | None:
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
