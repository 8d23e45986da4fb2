"""The whole tree seen from the base: freedoms, motion and composites of each, all in the base's axes.

In one set of axes a wrench needs no transformation on its way to the base, which pays where every pair of freedoms has
its own result: derivatives, Coriolis matrix, momentum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from dalembert.model import Model
from dalembert.spatial import Pose, cross_force, cross_motion

from .coriolis import Coriolis
from .kinematics import joint_pose
from .mass import Mass
from .motion import subspace_rate
from .regroup import regrouped


@dataclass
class SweepStage:
    """Freedoms that act together, and the bodies behind them as they move. All at the base's origin, in its axes.

    parent: index of the stage that carries it, −1 for none; v: its place in the velocity; S (6, k): its twists. With
    the motion V', A' of what carries it and its own V: dS = V × S, psi = V' × S, ddpsi = A' × S + V' × psi.
    mass, coriolis, F: inertia, Coriolis operator and wrench I A + V ×* I V, summed over all bodies behind it.
    """

    parent: int
    v: slice
    S: np.ndarray
    dS: np.ndarray
    psi: np.ndarray
    ddpsi: np.ndarray
    mass: Mass
    coriolis: Coriolis
    F: np.ndarray


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def sweep(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[SweepStage]:
    """The stages of all joints, root to tips, at q (nq,), v (nv,), a (nv,); gravity as an upward acceleration."""
    stages: list[SweepStage] = []
    ends: list[tuple[int, Pose, np.ndarray, np.ndarray]] = []  # per body: last stage, pose, twist, acceleration
    for body, mass in zip(model.bodies, regrouped(model), strict=True):  # root to tips: motion
        if body.parent >= 0:
            last, X_OP, V, A = ends[body.parent]
            X = X_OP @ joint_pose(body, q)
        else:
            R_WO = joint_pose(body, q).R
            last, X, V = -1, Pose.identity(), np.zeros(6)
            A = np.concatenate([np.zeros(3), R_WO.T @ -model.gravity])
        joint = body.joint
        S_B = joint.subspace(q[body.q])
        for part in (joint.stages or (slice(None),)) if joint.nv else ():
            where = slice(*np.arange(body.v.start, body.v.stop)[part][[0, -1]] + [0, 1])
            S = each(X.motion, S_B[:, part])
            V_S = S @ v[where]
            psi = each(partial(cross_motion, V), S)
            ddpsi = each(partial(cross_motion, A), S) + each(partial(cross_motion, V), psi)
            V, A = V + V_S, A + S @ a[where] + cross_motion(V, V_S)
            dS = each(partial(cross_motion, V), S)
            if not joint.stages:  # S changes in the body too
                dS = dS + each(X.motion, subspace_rate(joint, q[body.q], v[body.v]))
                A = A + X.motion(joint.bias(q[body.q], v[body.v]))
            stages.append(SweepStage(last, where, S, dS, psi, ddpsi, NOTHING, Coriolis.of(NOTHING, V), np.zeros(6)))
            last = len(stages) - 1
        ends.append((last, X, V, A))
        if last >= 0:
            here, I_O = stages[last], mass.seen_from(X)
            here.mass = here.mass.plus(I_O)
            here.coriolis = here.coriolis.plus(Coriolis.of(I_O, V))
            here.F = here.F + I_O.momentum(A) + cross_force(V, I_O.momentum(V))
    for stage in reversed(stages):  # tips to root: composites
        if stage.parent >= 0:
            carrier = stages[stage.parent]
            carrier.mass = carrier.mass.plus(stage.mass)
            carrier.coriolis = carrier.coriolis.plus(stage.coriolis)
            carrier.F = carrier.F + stage.F
    return stages


def carriers(stages: list[SweepStage], stage: SweepStage) -> Iterator[SweepStage]:
    """The stages that carry this one, nearest first."""
    while stage.parent >= 0:
        stage = stages[stage.parent]
        yield stage


def each(function: Callable[[np.ndarray], np.ndarray], columns: np.ndarray) -> np.ndarray:
    """A function applied to every column."""
    return np.stack([function(c) for c in columns.T], axis=1)
