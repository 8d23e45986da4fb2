"""Closing loops by Newton's method, and whether their equations repeat each other. Of numbers, not traced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.math.tolerances import CLOSED, RANK
from dalembert.model import Closure, Model

from .configuration import integrate, neutral
from .constraints import constraint_count, constraints

ITERATIONS = 100
FLAT = 1e-5  # rows below this share of the largest one hold nothing at a position; singular values likewise
TRIES = 8  # starts from which a closed position is searched for
MOVES, MOVED = 3, 0.3  # moves from there to others, each so far [rad, m]


def closed_near(model: Model, q: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """The position (nq,) that Newton's method reaches from q (nq,), moving the freedoms `free`, and its largest gap.

    Steps are of least length, and get shorter where they do not help.
    """
    still = np.zeros(model.nv)
    rows = constraints(model, q, still)
    gap = float(np.max(np.abs(rows.residual)))
    damping = 0.0
    for _ in range(ITERATIONS):
        if gap <= CLOSED or not np.isfinite(gap):
            break
        step = np.zeros(model.nv)
        step[free] = least_step(rows.J[:, free], -rows.residual, damping)
        step *= min(1.0, 0.5 / max(float(np.max(np.abs(step))), 1e-30))  # at most half a radian or metre
        trial = integrate(model, q, step)
        after = constraints(model, trial, still)
        if np.linalg.norm(after.residual) < (1.0 - 1e-6) * np.linalg.norm(rows.residual):
            q, rows, gap, damping = trial, after, float(np.max(np.abs(after.residual))), 0.1 * damping
        else:
            damping = max(10.0 * damping, 1e-6)
            if damping > 1e4:
                break
    return q, gap


def least_step(J: np.ndarray, wanted: np.ndarray, damping: float = 0.0) -> np.ndarray:
    """The least x (n,) that comes nearest to J x = wanted (m,), for J (m, n) of any rank."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    s_most = s[0] if len(s) else 0.0
    weights = np.where(s > RANK * s_most, s / np.maximum(s * s + damping * s_most**2, 1e-300), 0.0)
    return Vt.T @ (weights * (U.T @ wanted))


def rows_repeat(model: Model) -> bool:
    """Whether equations of the closures follow from others at every closed position, as in Bricard's loop.

    Looked at where their rank is largest, beside singular positions. Rows that hold nothing at all, as those across
    the plane of a planar linkage, do not count. Where no closed position is found, the answer is no.
    """
    if not model.nv or not _has_loops(model):
        return False
    most, present = 0, 0
    for q in _closed_positions(model):
        rank, count = _rank(constraints(model, q, np.zeros(model.nv)).J)
        if rank == constraint_count(model):
            return False
        if (rank, count) > (most, present):
            most, present = rank, count
    return present > most


def _closed_positions(model: Model) -> Iterator[np.ndarray]:
    """Closed positions (nq,) on a way that begins beside the neutral one; none if none is found."""
    rng, everything = np.random.default_rng(0), np.arange(model.nv)
    for number in range(TRIES):
        shift = 0.1 * number * rng.uniform(-1.0, 1.0, model.nv)
        q, gap = closed_near(model, integrate(model, neutral(model), shift), everything)
        if gap <= CLOSED:
            break
    else:
        return
    yield q
    for _ in range(MOVES):
        _, s, Vt = np.linalg.svd(constraints(model, q, np.zeros(model.nv)).J)
        free = Vt[int(np.sum(s > FLAT * s[0])) :]
        if not len(free):
            return
        along = rng.standard_normal(len(free)) @ free
        q, gap = closed_near(model, integrate(model, q, MOVED * along / np.max(np.abs(along))), everything)
        if gap > CLOSED:
            return
        yield q


def _rank(J: np.ndarray) -> tuple[int, int]:
    """The rank of rows J (nc, nv), and the number of those that are not empty."""
    sizes = np.linalg.norm(J, axis=1)
    present = sizes > FLAT * np.max(sizes, initial=0.0)
    rows = J[present] / sizes[present, None]
    return int(np.linalg.matrix_rank(rows, FLAT)) if len(rows) else 0, len(rows)


def _has_loops(model: Model) -> bool:
    """Whether closures close loops; without them, as between free bodies in a row, no equation follows from others."""
    closures = [closure for closure in model.closures if isinstance(closure, Closure)]
    if len(closures) < len(model.closures):
        return True  # equations between coordinates
    parents: dict[int, int] = {}

    def root(body: int) -> int:
        while parents.get(body, body) != body:
            body = parents[body]
        return body

    for body in model.bodies:
        if body.joint.nv < 6:
            parents[body.index] = body.parent
    for closure in closures:
        a, b = root(closure.a.body), root(closure.b.body)
        if a == b:
            return True
        parents[b] = a
    return False
