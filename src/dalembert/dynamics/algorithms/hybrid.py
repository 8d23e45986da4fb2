"""Hybrid dynamics: of some joints the acceleration is known, of the others the force."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dalembert.errors import DalembertError
from dalembert.linear import factor
from dalembert.model import Model

from .crba import mass_matrix
from .rnea import rnea
from .tensors import known as constants


def hybrid_dynamics(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    known: np.ndarray,
    accelerated: Collection[str],
    external: Mapping[int, np.ndarray] | None = None,
) -> np.ndarray:
    """Rows a (nv,) and tau (nv,) of M a + bias = tau, from the half of them that is known.   Featherstone 2008, §9.2

    q (nq,), v (nv,); known (nv,): the acceleration of the joints named in `accelerated`, the generalised force of the
    others; external as in `rnea`. With h = rnea at zero acceleration of the free joints f: M_ff a_f = tau_f − h_f.
    Tips first, the factors of M_ff are as sparse as the tree.
    """
    n = model.nv
    held = np.zeros(n, bool)
    for name in accelerated:
        if model.joint(name) not in model.independent:
            leader = next(b.joint.name for b in model.independent if b.v == model.joint(name).v)
            raise DalembertError(f"hybrid_dynamics: joint {name!r} follows {leader!r}: name that one in accelerations")
        held[model.joint(name).v] = True
    free = np.flatnonzero(~held)[::-1]
    a = np.where(held, known, 0.0)
    h, M = rnea(model, q, v, a, external), mass_matrix(model, q)
    D = factor(M[np.ix_(free, free)])
    _check(model, free, D.r)
    a_f = D.solve(known[free] - h[free])
    tau = h + M[:, free] @ a_f
    a[free], tau[free] = a_f, known[free]
    return np.stack([a, tau])


def _check(model: Model, free: np.ndarray, r: np.ndarray) -> None:
    """A pivot that is zero in every configuration is a mistake in the model."""
    for k in free[np.isinf(constants(r))]:
        name = next(body.joint.name for body in model.bodies if body.v.start <= k < body.v.stop)
        raise DalembertError(
            f"joint {name!r} moves no mass, so that forces on it have no finite effect: give the bodies behind it "
            "inertia, or the joint an armature, or its acceleration"
        )
