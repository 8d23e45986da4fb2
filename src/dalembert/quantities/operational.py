"""Operational space: inertia, dynamics and null space of tasks; and hybrid dynamics.

A task is [ω; v] of a point of a frame along `axes`, as in `jacobian`; of several frames, stacked; or chosen rows of it.
Single precision is computed in double, since solves lose digits near singular configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.dynamics import algorithms
from dalembert.model import Model

from .dynamics import open_tree
from .kinds import Axes, Configuration, External, FrameNames, Joints, Point, Rows, Tangent, TaskDamping, dimension
from .kinematics import task
from .quantity import Keywords, quantity
from .structure import ORIGIN
from .wrenches import body_wrenches

if TYPE_CHECKING:
    from dalembert.robot import Robot


class OperationalDynamics(NamedTuple):
    """Λ ẍ + μ + p = F of a task with k rows: (…, k, k), (…, k), (…, k), and J̄ (…, nv, k)."""

    inertia: np.ndarray
    bias: np.ndarray
    gravity: np.ndarray
    inverse: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class HybridDynamics(NamedTuple):
    """Acceleration and generalised force of every joint, each (…, nv)."""

    a: np.ndarray
    tau: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


def _singular(model: Model, choices: Mapping[str, Any], result: np.ndarray) -> str:
    """Words for a task without inertia."""
    frames = ", ".join(repr(name) for name in choices["frame"])
    bad = np.argwhere(~np.isfinite(result).all(axis=(-2, -1)))
    place = f" of state {tuple(int(k) for k in bad[0])}" if bad.size else ""
    return (
        f"the {dimension('rows', model, choices)} rows of the task on frame {frames} of robot {model.name!r} "
        f"({model.nv} degrees of freedom) depend on one another{place}, so that it has no inertia: choose fewer with "
        "rows=…, move away from the singular configuration, or pass damping=… (0.01, for instance)"
    )


@quantity("rows", "rows", in_double=True, singular=_singular)
def operational_inertia(
    robot: Robot,
    q: Configuration,
    frame: FrameNames,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    rows: Rows = None,
    damping: TaskDamping = 0.0,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """Λ (…, k, k) = (J M⁻¹ Jᵀ + damping² 1)⁻¹: the inertia that a force on the task meets.

    Closed loops, which must be closed at q, hold their part of the robot: M⁻¹ then stands for what is left of it.

    The task is [ω; v] of the point `point` of a frame along `axes`, as in `jacobian`; of several frames, given by their
    names, stacked (the point then has the same coordinates in each). rows: which of the 6 rows, or 6 per frame, make
    the task: "position", "orientation" (of every frame) or numbers, such as (3, 4, 5) for the position of the first.

    damping: damped least squares; the root of a mobility, 1/√kg or 1/√(kg·m²) by row. Without damping, a task whose
    rows depend on one another (more rows than freedoms, a singular configuration) has no inertia, which is an error;
    with check=False the result is inf or NaN there.
    """
    return algorithms.operational_inertia(robot.model, q, damping, task(robot.model, frame, point, axes, rows))


@quantity(
    fields={"inertia": ("rows", "rows"), "bias": ("rows",), "gravity": ("rows",), "inverse": ("nv", "rows")},
    in_double=True,
    singular=_singular,
)
def operational_dynamics(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    frame: FrameNames,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    rows: Rows = None,
    damping: TaskDamping = 0.0,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> OperationalDynamics:
    """(inertia Λ, bias μ, gravity p, inverse J̄) with Λ ẍ + μ + p = F, where ẍ = J a + J̇ v and tau = Jᵀ F.

    J̄ (…, nv, k) = M⁻¹ Jᵀ Λ is the dynamically consistent inverse of J; μ = J̄ᵀ (bias − gravity) − Λ J̇ v and
    p = J̄ᵀ gravity, with friction and damping of the joints and external wrenches in μ and springs in p. Damping
    enters in Λ, and through Λ in the others. `out` is (…, k + 2 + nv, k): Λ, μ, p, J̄ below one another. Tasks, rows
    and damping: see `operational_inertia`.
    """
    chosen, wrenches = task(robot.model, frame, point, axes, rows), body_wrenches(robot.model, q, external)
    return OperationalDynamics(*algorithms.operational_dynamics(robot.model, q, v, damping, chosen, wrenches))


@quantity("nv", "nv", in_double=True, singular=_singular)
def null_space(
    robot: Robot,
    q: Configuration,
    frame: FrameNames,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    rows: Rows = None,
    damping: TaskDamping = 0.0,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """N (…, nv, nv) = 1 − J̄ J: velocities N v leave the task still, torques Nᵀ tau do not accelerate it.

    Exactly so without damping; with damping, what leaks is J N = damping² Λ J. Tasks, rows and damping: see
    `operational_inertia`.
    """
    return algorithms.null_space(robot.model, q, damping, task(robot.model, frame, point, axes, rows))


@quantity("nv", refuses=open_tree)
def hybrid_dynamics(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    known: Tangent,
    *,
    accelerations: Joints,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> HybridDynamics:
    """(a, tau), each (…, nv), when some joints are given by their acceleration and the others by their force.

    accelerations: names of the joints of the first kind; known (…, nv): the acceleration of those joints, the
    generalised force of the others. `out` is (…, 2, nv).
    """
    wrenches = body_wrenches(robot.model, q, external)
    return HybridDynamics(*algorithms.hybrid_dynamics(robot.model, q, v, known, accelerations, wrenches))
