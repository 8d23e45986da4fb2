"""The Coriolis matrix that belongs to the Christoffel symbols."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model

from .sweep import carriers, each, sweep


def coriolis_matrix(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """C(q, v) (nv, nv) with C v = bias(q, v) − g(q) for bare joints, and Ṁ − 2C skew.   Echeandia, Wensing 2021

    q (nq,), v (nv,). For a freedom s_i behind s_j: C_ij = s_i·(B s_j + I ṡ_j), C_ji = s_j·(B s_i + I ṡ_i), with the
    Coriolis operator B and the inertia I of all that lies behind i. Damping and friction are not in C.
    """
    stages = sweep(model, q, v, np.zeros(model.nv))
    C = np.zeros((model.nv, model.nv), q.dtype)
    for stage in stages:
        I, B2 = stage.mass.momentum, stage.coriolis
        F = 0.5 * each(B2.times, stage.S) + each(I, stage.dS)
        IS, BS = each(I, stage.S), 0.5 * each(B2.transposed_times, stage.S)
        i = stage.v
        C[i, i] = C[i, i] + stage.S.T @ F
        for other in carriers(stages, stage):
            j = other.v
            C[j, i] = C[j, i] + other.S.T @ F
            C[i, j] = C[i, j] + BS.T @ other.S + IS.T @ other.dS
    return C
