"""Reaction wrenches: the wrenches that the joints transmit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.model import Model

from .kinematics import Axes, poses_from
from .mass import Mass
from .rnea import body_wrenches, carried


def reaction_wrenches(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    external: Mapping[int, np.ndarray] | None = None,
    axes: Axes = "body",
) -> np.ndarray:
    """[τ; f] (nb, 6) through each joint onto its body, at the body's origin [N·m, N].   Luh, Walker, Paul 1980; O(n).

    q (nq,), v (nv,), a (nv,); external: body index → wrench (6,) on that body, at its origin, in its axes. Written in
    the axes of each body ("body"), of the world, or of a frame. Row 0: what the ground gives the base. With the joint's
    subspace S, Sᵀ F is the generalised force of the bare joint: motors, friction, damping, springs and rotors act
    between the two bodies of the joint, and their part of the wrench is included.
    """
    masses = [Mass.of(body.inertia) for body in model.bodies]  # real ones: regrouped masses have other reactions
    X, _, F = body_wrenches(model, q, v, a, external, masses=masses)
    F = carried(model, X, F)
    if axes != "body":
        turned = poses_from(model, q, axes, model.bodies)
        F = [np.concatenate([turned[i].R @ F_i[:3], turned[i].R @ F_i[3:]]) for i, F_i in enumerate(F)]
    return np.stack(F)
