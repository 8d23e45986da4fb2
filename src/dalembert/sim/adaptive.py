"""One attempted step of an adaptive method, as the body of a compiled loop: try, estimate, accept or repeat smaller.

Step control is proportional-integral (Gustafsson 1991; Hairer, Wanner 1996, §IV.2): h ← h · 0.9 · err^(−0.85/k) ·
err_before^(0.2/k), k the order of the error estimate plus one. The error is the root mean square over displacements,
velocities and element states, each in units of atol + rtol · size; the accounts of the ledger do not count. A freedom
of a joint with a quaternion has size 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import integrate
from dalembert.math import abs as absolute
from dalembert.math import exp, log, logical_and, logical_not, maximum, minimum, sqrt, where

from .explicit import stages, weighted
from .program import Program
from .system import System
from .tableaux import Tableau

SHRINK, GROW, SAFETY = 0.2, 8.0, 0.9
LEAST = float(np.log(1e-4))  # log of the smallest error that step control remembers
LARGE = 1e300  # above every error that is a number


class Clock(NamedTuple):
    """t [s], the next step h [s], log of the error of the last accepted one, whether it was rejected, given up."""

    t: Any
    h: Any
    before: Any = LEAST
    rejected: Any = 0.0
    failed: Any = 0.0


class Limits(NamedTuple):
    """Where to stop [s], tolerances, the smallest and largest step [s]."""

    stop: Any
    rtol: Any
    atol: Any
    least: Any
    most: Any


def attempt(
    system: System, method: Tableau, q: np.ndarray, e: np.ndarray, k: np.ndarray, clock: Clock, limits: Limits, u: Any
) -> dict[str, Any]:
    """Everything a pass makes; see `program`."""
    model, m = system.model, system.measured
    active = logical_and(clock.t < limits.stop, clock.failed < 0.5)
    last = clock.t + 1.0000001 * clock.h >= limits.stop  # no sliver of a step is left over
    h = where(active, where(last, limits.stop - clock.t, clock.h), 0.0)
    slopes = stages(system, method, clock.t, h, q, e, u, first=k)
    d = h * weighted(method.b, slopes.d)
    q1, e1 = system.projected(integrate(model, q, d), e + h * weighted(method.b, slopes.e))
    sizes = np.concatenate([_sizes(system, q, q1), _larger(e[:m], e1[:m])])
    error = _norm(method, h, slopes.d, slopes.e, m, limits.atol + limits.rtol * sizes)
    accepted = logical_and(active, error <= 1.0)
    power = 1.0 / (method.error_order + 1)
    size = log(maximum(where(error <= LARGE, error, LARGE), 1e-10))
    change = SAFETY * exp(power * where(error <= 1.0, 0.2 * clock.before - 0.85 * size, -size))
    factor = minimum(maximum(change, SHRINK), where(clock.rejected > 0.5, 1.0, GROW))
    cut = logical_and(last, error <= 1.0)  # cut short to land: the step before says more about what is possible
    h_next = minimum(where(cut, maximum(clock.h, h * factor), h * factor), limits.most)
    failed = logical_and(active, logical_and(logical_not(accepted), h_next < limits.least))
    new = Clock(
        where(accepted, where(last, limits.stop, clock.t + h), clock.t),
        where(active, h_next, clock.h),
        where(accepted, maximum(size, LEAST), clock.before),
        where(accepted, 0.0, where(active, 1.0, clock.rejected)),
        where(failed, 1.0, clock.failed),
    )
    made = {
        "q_next": where(accepted, q1, q),
        "e_next": where(accepted, e1, e),
        "k_next": where(accepted, slopes.e[method.end], k),
        "clock_next": np.array(new),
        "start": np.array([clock.t, h, where(accepted, 1.0, 0.0), error]),
        "q_start": q,
        "e_start": e,
    }
    if method.dense is not None:
        rows = [np.concatenate([weighted(p, slopes.d), weighted(p, slopes.e)]) for p in method.dense.T]
        made["dense"] = np.array(rows)
    return made


def _sizes(system: System, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """The size of each freedom's coordinate (nv,)."""
    parts = []
    for body in system.model.independent:
        own = body.joint.nq == body.joint.nv
        parts.append(_larger(q0[body.q], q1[body.q]) if own else np.ones(body.joint.nv))
    return np.concatenate(parts)


def _larger(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return maximum(absolute(x), absolute(y))


def _norm(method: Tableau, h: Any, d: list, e: list, m: int, scale: np.ndarray) -> Any:
    """Root mean square of the error in units of the tolerance."""
    found = []
    for row in method.errors:
        x = h * np.concatenate([weighted(row, d), weighted(row, e)[:m]]) / scale
        found.append((x @ x) / len(x))
    if len(found) == 1:
        return sqrt(found[0])
    five, three = found  # the estimate of DOP853: order 7 from one of order 5 and one of order 3
    return five / sqrt(maximum(five + 0.01 * three, 1e-300))


def program(system: System, method: Tableau, identity: str | None) -> Program:
    """The loop of attempts: carried q, e, slope k and clock; recorded where each began and its dense output."""
    model = system.model

    def compute(q: Any, e: Any, k: Any, clock: Any, limits: Any, u: Any) -> dict[str, Any]:
        return attempt(system, method, q, e, k, Clock(*clock), Limits(*limits), u)

    shapes: dict[str, tuple[int, ...]] = {
        "q_next": (model.nq,),
        "e_next": (system.ne,),
        "k_next": (system.ne,),
        "clock_next": (5,),
        "start": (4,),
        "q_start": (model.nq,),
        "e_start": (system.ne,),
    }
    if method.dense is not None:
        shapes["dense"] = (method.dense.shape[1], model.nv + system.ne)
    return Program(
        f"adaptive {method.name}",
        identity,
        {"q": model.nq, "e": system.ne, "k": system.ne, "clock": 5, "limits": 5, "u": system.nu},
        shapes,
        compute,
        carry={"q_next": "q", "e_next": "e", "k_next": "k", "clock_next": "clock"},
        lanes=1,
        interpreted=system.called,
        record=("start", "q_start", "e_start", *(["dense"] if method.dense is not None else [])),
    )


def interpolation(system: System, method: Tableau, identity: str | None) -> Program:
    """(q, e) at the fraction x of a recorded step."""
    model, n = system.model, system.model.nv
    degree = 0 if method.dense is None else method.dense.shape[1]

    def compute(q: Any, e: Any, dense: Any, at: Any) -> dict[str, Any]:
        x, h = at
        rows = dense.reshape(degree, n + system.ne)
        total = rows[-1]
        for row in rows[-2::-1]:
            total = row + x * total
        moved = (h * x) * total
        return {"q": integrate(model, q, moved[:n]), "e": e + moved[n:]}

    sizes = {"q": model.nq, "e": system.ne, "dense": degree * (n + system.ne), "at": 2}
    return Program(f"between steps of {method.name}", identity, sizes, {"q": (model.nq,), "e": (system.ne,)}, compute)
