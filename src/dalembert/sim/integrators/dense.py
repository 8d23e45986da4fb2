"""States between the ends of adaptive steps: the steps that hold a time asked for are computed again, all at once.

Few steps of a run do, so that the loop over steps need not make a polynomial for each. Where a stage is a call of
Python, the polynomials are recorded instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import displacement_rate, integrate

from ..program import Program
from ..system.system import System
from .tableaux import Stages, Tableau, weighted


def polynomial(method: Tableau, slopes: Stages) -> np.ndarray:
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
        q: Any, e: Any, at: Any, u: Any, acc: Any, total: Any, end: Any, row: Any, share: Any
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
    program: Program,
    method: Tableau,
    t: np.ndarray,
    h: np.ndarray,
    x: np.ndarray,
    q: np.ndarray,
    e: np.ndarray,
    u: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
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


def on_polynomials(
    system: System, polynomials: np.ndarray, h: np.ndarray, x: np.ndarray, q: np.ndarray, e: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Like `interpolated`, with the polynomials (k, degree, nv + ne) of the steps at hand."""
    n = system.model.nv
    powers = x[:, None] ** np.arange(1, polynomials.shape[1] + 1)
    moved = h[:, None] * (powers[:, None, :] @ polynomials)[:, 0]
    return np.array([integrate(system.model, *row) for row in zip(q, moved[:, :n], strict=True)]), e + moved[:, n:]
