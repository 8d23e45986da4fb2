"""One attempted step of an adaptive method, as the body of a compiled loop: try, estimate, accept or repeat smaller.

Step control is proportional-integral (Gustafsson 1991; Hairer, Wanner 1996, §IV.2): h ← h · 0.9 · err^(−0.85/k) ·
err_before^(0.2/k), k the order of the error estimate plus one. The error is the root mean square over displacements,
velocities and element states, each in units of atol + rtol · size; the accounts of the ledger do not count. A freedom
of a joint with a quaternion has size 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import displacement_rate, integrate
from dalembert.math import abs as absolute
from dalembert.math import exp, log, logical_and, logical_not, logical_or, maximum, minimum, where
from dalembert.typing import Array, Scalar

from ..program import Program
from ..system.shared import shared
from ..system.system import System
from .tableaux import Stages, Tableau, weighted

SHRINK, GROW, SAFETY = 0.2, 8.0, 0.9
LEAST = float(np.log(1e-4))  # log of the smallest error that step control remembers
LARGE = 1e300  # above every error that is a number


class AdaptiveClock(NamedTuple):
    """t [s], the next step h [s], log of the error of the last accepted one, whether it was rejected, given up.

    tries: number of passes; fresh: whether the slope is still to be found, by a pass that does not move.
    """

    t: Any
    h: Any
    before: Any = LEAST
    rejected: Any = 0.0
    failed: Any = 0.0
    tries: Any = 0.0
    fresh: Any = 0.0


class StepLimits(NamedTuple):
    """Where to end [s], tolerances, the smallest and largest step [s]."""

    end: Any
    rtol: Any
    atol: Any
    least: Any
    most: Any


def attempt(
    system: System,
    method: Tableau,
    q: Array,
    e: Array,
    k: Array,
    clock: AdaptiveClock,
    limits: StepLimits,
    row: Any,
    stop: Any,
    u: Array,
) -> dict[str, Any]:
    """The outputs of a pass; see `adaptive_program`."""
    model, layout = system.model, system.layout
    dense = (system.called or method.linear) and method.dense is not None
    fresh, unfinished = clock.fresh > 0.5, logical_and(clock.t < limits.end, clock.failed < 0.5)
    active = logical_and(unfinished, logical_not(fresh))
    last = clock.t + 1.0000001 * clock.h >= stop  # no sliver of a step is left over
    h = where(active, where(last, stop - clock.t, clock.h), 0.0)
    slopes = method.stages(system, clock.t, h, q, e, u, k, dense)
    d = h * weighted(method.b, slopes.d)
    e1 = e + h * weighted(method.b, slopes.e)
    q1, e1 = system.projected(integrate(model, q, d), e1, clock.t + h)
    moved = [maximum(b.joint.size(q[b.q]), b.joint.size(q1[b.q])) for b in model.independent]
    sizes = np.concatenate([*moved, maximum(absolute(layout.measured(e)), absolute(layout.measured(e1)))])
    square = _square(method, h, slopes.d, [layout.measured(k) for k in slopes.e], limits.atol + limits.rtol * sizes)
    fits = square <= 1.0
    accepted = logical_and(active, fits)
    power = 1.0 / (method.error_order + 1)
    size = 0.5 * log(maximum(where(square <= LARGE, square, LARGE), 1e-20))
    change = SAFETY * exp(power * where(fits, 0.2 * clock.before - 0.85 * size, -size))
    factor = minimum(maximum(change, SHRINK), where(clock.rejected > 0.5, 1.0, GROW))
    cut = logical_and(last, fits)  # cut short to land: the step before says more about what is possible
    h_next = minimum(where(cut, maximum(clock.h, h * factor), h * factor), limits.most)
    failed = logical_and(active, logical_and(logical_not(accepted), h_next < limits.least))
    landed = logical_and(accepted, last)
    new = AdaptiveClock(
        where(accepted, where(last, stop, clock.t + h), clock.t),
        where(active, h_next, clock.h),
        where(accepted, maximum(size, LEAST), clock.before),
        where(accepted, 0.0, where(active, 1.0, clock.rejected)),
        where(failed, 1.0, clock.failed),
        clock.tries + where(unfinished, 1.0, 0.0),
        where(landed, 1.0, where(unfinished, 0.0, clock.fresh)),
    )
    going = logical_and(new.t < limits.end, new.failed < 0.5)
    outputs = {
        "q_next": where(accepted, q1, q),
        "e_next": where(accepted, e1, e),
        "k_next": where(logical_or(accepted, fresh), slopes.e[method.end], k),
        "clock_next": np.array(new),
        "row_next": [row + where(logical_and(landed, going), 1.0, 0.0)],  # after the last leg there is no row
        "settled": [where(going, 0.0, 1.0)],
        "start": np.array([clock.t, where(accepted, 1.0, 0.0), row]),
        "q_start": q,
        "e_start": e,
    }
    if dense:
        outputs["dense"] = polynomial(method, slopes)
    return outputs


def _square(method: Tableau, h: Scalar, d: list, measured: list, scale: Array) -> Any:
    """Mean square of the error in units of the tolerance."""
    squares = []
    for row in method.errors:
        x = (h * np.concatenate([weighted(row, d), weighted(row, measured)])) * (1.0 / scale)
        squares.append(_sum(x * x) / len(x))
    if len(squares) == 1:
        return squares[0]
    five, three = squares  # the estimate of DOP853: order 7 from one of order 5 and one of order 3
    return five * five / maximum(five + 0.01 * three, 1e-300)


def _sum(x: Array) -> Any:
    """In pairs, so that no addition waits for all others."""
    return x[0] if len(x) == 1 else _sum(np.append(x[:-1:2] + x[1::2], x[len(x) // 2 * 2 :]))


def adaptive_program(system: System, method: Tableau, identity: str | None) -> Program:
    """The loop of attempts: carried q, e, slope k, clock and row; recorded where each began.

    u and stop [s] have a row for every leg of the way, which the motion enters with a new slope. Where stages are calls
    of Python, the polynomial of each step is recorded too: recomputing it would call the function again.
    """
    model = system.model

    def compute(
        q: Array, e: Array, k: Any, clock: Any, limits: Array, row: Array, stop: Any, u: Array
    ) -> dict[str, Any]:
        used = system if system.called else shared(system, method.end)
        return attempt(used, method, q, e, k, AdaptiveClock(*clock), StepLimits(*limits), row[0], stop[0], u)

    shapes: dict[str, tuple[int, ...]] = {
        "q_next": (model.nq,),
        "e_next": (system.ne,),
        "k_next": (system.ne,),
        "clock_next": (len(AdaptiveClock._fields),),
        "row_next": (1,),
        "settled": (1,),
        "start": (3,),
        "q_start": (model.nq,),
        "e_start": (system.ne,),
    }
    record: tuple[str, ...] = ("start", "q_start", "e_start")
    if (system.called or method.linear) and method.dense is not None:
        shapes["dense"], record = (method.dense.shape[1], model.nv + system.ne), (*record, "dense")
    sizes = {"q": model.nq, "e": system.ne, "k": system.ne, "clock": len(AdaptiveClock._fields), "limits": 5, "row": 1}
    sizes |= {"stop": 1, "u": system.nu}
    return Program(
        f"adaptive {method.name}",
        identity,
        sizes,
        shapes,
        compute,
        carry={"q_next": "q", "e_next": "e", "k_next": "k", "clock_next": "clock", "row_next": "row"},
        sequence=("stop", "u") if system.nu else ("stop",),
        lanes=1,
        interpreted=system.called,
        record=record,
        settled="settled",
        index="row",
    )


def polynomial(method: Tableau, slopes: Stages) -> Array:
    """Coefficients (degree, nv + ne) of x, x², … of a step's displacement and change of e, over its size."""
    assert method.dense is not None
    return np.array([np.concatenate([weighted(p, slopes.d), weighted(p, slopes.e)]) for p in method.dense.T])


def between(system: System, method: Tableau, identity: str | None) -> Program:
    """The stages of steps as passes of a loop, for a batch; see `interpolated`.

    acc: for the stage at hand and those after it, what the slopes so far add to (d, e), over h; a pass moves them up by
    one, so that the code of a stage is there once, whatever the method. total: the same for the time asked for.
    """
    model, n = system.model, system.model.nv
    size, later = n + system.ne, len(method.c) - 1

    def compute(
        q: Array, e: Array, at: Any, u: Array, acc: Array, total: Array, end: Any, row: Array, share: Any
    ) -> dict[str, Any]:
        t, h = at
        rows = acc.reshape(later + 1, size)
        d, x = h * rows[0, :n], e + h * rows[0, n:]
        rates = system.rates(t + row[0] * h, integrate(model, q, d), x, u)
        slope = np.concatenate([displacement_rate(model, d, x[:n]), rates])
        total = total + share[0] * slope
        return {
            "acc": np.append(rows[1:] + np.outer(row[1:], slope), np.zeros((1, size)), 0).ravel(),
            "total": total,
            "q_end": integrate(model, q, h * total[:n]),
        }

    inputs = {"q": model.nq, "e": system.ne, "at": 2, "u": system.nu, "row": 1 + later, "share": 1}
    carried = {"acc": (later + 1) * size, "total": size, "end": model.nq}
    return Program(
        f"between steps of {method.name}",
        identity,
        inputs | carried,
        {"acc": ((later + 1) * size,), "total": (size,), "q_end": (model.nq,)},
        compute,
        carry={"acc": "acc", "total": "total", "q_end": "end"},
        sequence=("row", "share"),
    )


def interpolated(
    program: Program, method: Tableau, t: Array, h: Array, x: Array, q: Array, e: Array, u: Array
) -> tuple[Array, Array]:
    """q (k, nq), e (k, ne) at the fractions x (k,) of steps of sizes h (k,) [s] from (t, q, e)."""
    assert method.dense is not None
    stages = len(method.c)
    rows = np.zeros((stages, stages))  # for each stage its c, and the weights of its slope in the stages after it
    rows[:, 0] = method.c
    for i in range(stages):
        rows[i, 1 : stages - i] = method.a[i + 1 :, i]
    shares = x[:, None] ** np.arange(1, method.dense.shape[1] + 1) @ method.dense.T
    inputs = {"q": q, "e": e, "at": np.stack([t, h], axis=1), "u": u, "row": rows.reshape(1, -1), "share": shares}
    inputs |= {name: np.zeros((1, program.sizes[name])) for name in ("acc", "total", "end")}
    results = program(inputs, (len(q),), stages)
    return results["q_end"], e + h[:, None] * results["total"][:, -e.shape[1] :]


def on_polynomials(system: System, polynomials: Array, h: Array, x: Array, q: Array, e: Array) -> tuple[Array, Array]:
    """Like `interpolated`, with the polynomials (k, degree, nv + ne) of the steps at hand."""
    n = system.model.nv
    powers = x[:, None] ** np.arange(1, polynomials.shape[1] + 1)
    moved = h[:, None] * (powers[:, None, :] @ polynomials)[:, 0]
    return np.array([integrate(system.model, *row) for row in zip(q, moved[:, :n], strict=True)]), e + moved[:, n:]
