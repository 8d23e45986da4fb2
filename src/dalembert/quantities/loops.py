"""Closed loops: accelerations and forces through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.loops import LoopSolution as AllForces
from dalembert.errors import DalembertError
from dalembert.model import Model

from .kinds import Configuration, External, Joints, Multipliers, Tangent
from .quantity import Keywords, quantity
from .structure import Wrench
from .wrenches import body_wrenches

if TYPE_CHECKING:
    from dalembert.robot import Robot

CONSISTENT = 1e-6  # share of the forces, or of the accelerations, that may be left over


class LoopDynamics(NamedTuple):
    """a (…, nv), and the forces of the closures (…, nc), equation by equation.

    Equations that follow from others wherever the loops are closed share the force, the least that does it; one that
    does so only here, or that holds nothing, exerts none.
    """

    a: np.ndarray
    multipliers: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class LoopSolution(NamedTuple):
    """tau (…, nv), zero at joints that are not actuated, and the forces of the closures (…, nc)."""

    tau: np.ndarray
    multipliers: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


def no_loops(model: Model) -> str | None:
    """Why a model without loops has nothing here."""
    return None if model.closures else f"robot {model.name!r} has no loops: use forward or inverse_dynamics"


@quantity(fields={"a": ("nv",), "multipliers": ("nc",)}, refuses=no_loops)
def loop_dynamics(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> LoopDynamics:
    """The acceleration under tau with all loops kept closed, and the forces that keep them: M a + h = tau + Jᵀ λ.

    For states in which the loops are closed (`close_loops`); errors of q and v are not corrected here. `out` is a tuple
    of two arrays.
    """
    wrenches = body_wrenches(robot.model, q, external)
    return LoopDynamics(*algorithms.loop_dynamics(robot.model, q, v, tau, wrenches))


@quantity("nk", 6, refuses=no_loops)
def closure_wrenches(
    robot: Robot, q: Configuration, multipliers: Multipliers, **keywords: Unpack[Keywords]
) -> np.ndarray:
    """[τ; f] (…, nk, 6) of each closure on the body of its frame b, at b's origin, along the axes of its frame a.

    multipliers (…, nc): of `loop_dynamics`, `loop_inverse_dynamics` or a run. [N·m, N], in the order of
    `robot.model.closures`. The body of frame a takes the opposite force at the same point. Equations between joint
    coordinates act through the joints themselves: their rows are zero.
    """
    return algorithms.closure_wrenches(robot.model, q, multipliers)


@quantity(
    fields={"tau": ("nv",), "multipliers": ("nc",), "left": ("nv",), "opening": ("nc",), "scale": (2,)},
    refuses=no_loops,
    name="loop_inverse_dynamics",
)
def _loop_forces(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    *,
    actuated: Joints,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> AllForces:
    """Forces of the actuated joints and of the closures, and the residuals of forces and accelerations."""
    wrenches = body_wrenches(robot.model, q, external)
    return algorithms.loop_inverse_dynamics(robot.model, q, v, a, freedoms(robot.model, actuated), wrenches)


def freedoms(model: Model, joints: Sequence[str]) -> list[int]:
    """Numbers of the freedoms of joints."""
    return [k for joint in joints for k in range(model.nv)[model.joint(joint).v]]


def loop_inverse_dynamics(
    robot: Robot,
    q: Any,
    v: Any,
    a: Any,
    *,
    actuated: Joints,
    external: Sequence[Wrench] = (),
    threads: int | None = None,
    check: bool = True,
) -> LoopSolution:
    """The forces of the actuated joints (by name) that cause the acceleration a, which must keep the loops closed.

    With more actuators than freedoms the smallest forces; with too few, or an acceleration that opens a loop, an
    error.
    """
    names = (actuated,) if isinstance(actuated, str) else tuple(actuated)
    forces = _loop_forces(robot, q, v, a, actuated=names, external=external, threads=threads, check=check)
    for what, cure, x, size in (
        (f"joints {', '.join(names)} cannot cause it", "actuate others", forces.left, forces.scale[..., :1]),
        ("the acceleration opens a loop", "take a of loop_dynamics", forces.opening, forces.scale[..., 1:]),
    ):
        share = np.max(np.abs(x) / np.maximum(size, 1.0), initial=0.0)
        if check and share > CONSISTENT:
            raise DalembertError(f"loop_inverse_dynamics: {what}: {share:.1e} of it is left over; {cure}")
    return LoopSolution(forces.tau, forces.multipliers)
