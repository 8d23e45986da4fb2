"""Forces through the joints, and their peaks over a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.interop import on_host
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.model import Closure, Model
from dalembert.model.assembly import WORLD

from .kinds import Axes, Configuration, External, Joints, Tangent
from .kinematics import axes_of
from .loops import LoopSolution, freedoms
from .quantity import Keywords, quantity
from .structure import Wrench
from .wrenches import body_wrenches

if TYPE_CHECKING:
    from dalembert.robot import Robot


class Peak(NamedTuple):
    """The largest reaction through a joint, or through a closure, onto a body over a trajectory.

    joint: that of the body, or the closure; None for what the ground gives a fixed base. force [N] and moment [N·m]:
    largest magnitudes; *_sample: where in the trajectory; *_wrench (6,): the whole wrench [τ; f] at that sample.
    """

    body: str
    joint: str | None
    force: float
    force_sample: int
    force_wrench: np.ndarray
    moment: float
    moment_sample: int
    moment_wrench: np.ndarray


@dataclass(frozen=True, eq=False)
class PeakReactions(Sequence):
    """The peaks of every joint, in the order of `robot.bodies`, then of every closure; by number or name.

    A body's name stands for the joint that carries it.

    axes: along which the wrenches are written. Printed, it is a table.
    """

    peaks: tuple[Peak, ...]
    axes: str

    def __repr__(self) -> str:
        worst = max(self.peaks, key=lambda peak: peak.force, default=None)
        least = f", at most {worst.force:.4g} N at {worst.joint or worst.body}" if worst else ""
        return f"<PeakReactions of {len(self.peaks)} joints{least}>"

    def __len__(self) -> int:
        return len(self.peaks)

    def __iter__(self) -> Iterator[Peak]:
        return iter(self.peaks)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.peaks[key]
        named = {peak.body: peak for peak in reversed(self.peaks)}  # closures come last: the carrying joint counts
        named |= {peak.joint: peak for peak in self.peaks if peak.joint}
        if key not in named:
            raise unknown("joint or body", key, named, "peak_reactions")
        return named[key]

    def __str__(self) -> str:
        names = [peak.joint or f"ground on {peak.body}" for peak in self.peaks]
        width = max(map(len, ["joint", *names]))
        lines = [f"{'joint':{width}}  peak force [N]  sample  peak moment [N·m]  sample"]
        for name, peak in zip(names, self.peaks, strict=True):
            force = f"{peak.force:14.4g}  {peak.force_sample:6d}"
            lines.append(f"{name:{width}}  {force}  {peak.moment:17.4g}  {peak.moment_sample:6d}")
        return "\n".join(lines)


@quantity("nb", 6)
def reaction_wrenches(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    *,
    actuated: Joints = (),
    external: External = (),
    axes: Axes = "body",
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """[τ; f] (…, nb, 6) through each joint onto its body, at the joint's origin (the body's frame) [N·m, N].

    In the order of `robot.bodies`; row 0 is what the ground gives the base (for a free base: what it takes beside
    the external wrenches). axes: "body" (each body's own), "world" or the name of a frame. Static loads: v = a = 0.
    Motors, friction, damping, springs and rotors act between the two bodies of a joint and are part of the wrench;
    what they are does not change it.

    Through closed loops the forces depend on which joints have motors: `actuated` names them, and the acceleration must
    keep the loops closed (see `loop_inverse_dynamics`, which says whether it does). Forces in the closures themselves:
    `closure_wrenches`.
    """
    wrenches = body_wrenches(robot.model, q, external)
    if robot.model.closures:
        wrenches = _through_loops(robot.model, q, v, a, actuated, wrenches)
    elif actuated:
        raise DalembertError(f"reaction_wrenches: robot {robot.name!r} has no loops: leave out actuated")
    return algorithms.reaction_wrenches(robot.model, q, v, a, wrenches, axes_of(robot.model, axes))


def _through_loops(
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    actuated: Sequence[str],
    wrenches: Mapping[int, np.ndarray] | None,
) -> dict[int, np.ndarray]:
    """External wrenches and those of the closures, which the actuated joints leave to them."""
    if not actuated:
        names = ", ".join(repr(closure.name) for closure in model.closures)
        raise DalembertError(
            f"reaction_wrenches: robot {model.name!r} has loops, closed by {names}, and its forces depend on which "
            "joints have motors: pass actuated=[…]; robot.without('loops') is the tree alone"
        )
    forces = algorithms.loop_inverse_dynamics(model, q, v, a, freedoms(model, actuated), wrenches)
    return algorithms.closure_loads(model, q, forces.multipliers, wrenches)


def peak_reactions(
    robot: Robot,
    q: Any,
    v: Any = None,
    a: Any = None,
    *,
    actuated: str | Sequence[str] = (),
    external: Sequence[Wrench] = (),
    axes: str = "body",
    **keywords: Unpack[Keywords],
) -> PeakReactions:
    """The largest force and the largest moment of `reaction_wrenches` over a trajectory q (T, nq), v, a (T, nv).

    Or of one object that has these as q, v and a, such as a `Trajectory`. The closures of loops follow the joints, by
    name: their wrenches are on the body of frame b, at the origin of b.
    """
    if v is None and a is None:
        try:
            q, v, a = q.q, q.v, q.a
        except AttributeError:
            raise DalembertError("peak_reactions: expected q, v and a, or a trajectory that has them") from None
    if keywords.get("out") is not None:
        raise DalembertError("peak_reactions: out is not supported: the result is a table, not an array")
    q, v, a = on_host("peak_reactions", q, v, a)
    F = robot.reaction_wrenches(q, v, a, actuated=actuated, external=external, axes=axes, **keywords)
    if F.ndim != 3 or not len(F):
        raise DalembertError(
            f"peak_reactions: the states have the batch shape {F.shape[:-2]}, expected (T,): "
            f"q (T, {robot.nq}), v and a (T, {robot.nv}) over T ≥ 1 samples"
        )
    peaks = [
        _peak(body.name, body.joint.name if body.joint.nv else None, F[:, i])
        for i, body in enumerate(robot.model.bodies)
    ]
    if robot.model.closures:
        options: dict[str, Any] = {"threads": keywords.get("threads"), "check": keywords.get("check", True)}
        solution = robot.loop_inverse_dynamics(q, v, a, actuated=actuated, external=external, **options)
        peaks += _of_closures(robot, q, solution, axes)
    return PeakReactions(tuple(peaks), axes)


def _peak(body: str, joint: str | None, wrenches: np.ndarray) -> Peak:
    """The peaks of wrenches (T, 6)."""
    moments, forces = (np.linalg.norm(part, axis=-1) for part in (wrenches[:, :3], wrenches[:, 3:]))
    at_force, at_moment = int(np.argmax(forces)), int(np.argmax(moments))
    force = float(forces[at_force]), at_force, wrenches[at_force].copy()
    return Peak(body, joint, *force, float(moments[at_moment]), at_moment, wrenches[at_moment].copy())


def _of_closures(robot: Robot, q: np.ndarray, solution: LoopSolution, axes: str) -> Iterator[Peak]:
    """The peaks of the wrenches in all closures but equations between joints, which hold no bodies together."""
    model = robot.model
    W = robot.closure_wrenches(q, solution.multipliers)
    for k, closure in enumerate(model.closures):
        if not isinstance(closure, Closure):
            continue
        R = _rotations(robot, q, closure.a.body) @ closure.a.placement.R
        if axes != "world":
            own = closure.b.body if axes == "body" else model.frame(axes).body
            placed = np.eye(3) if axes == "body" else model.frame(axes).placement.R
            R = (_rotations(robot, q, own) @ placed).swapaxes(-1, -2) @ R
        wrenches = np.concatenate([np.einsum("tij,tj->ti", R, W[:, k, part]) for part in (slice(3), slice(3, 6))], 1)
        yield _peak(WORLD if closure.b.body < 0 else model.bodies[closure.b.body].name, closure.name, wrenches)


def _rotations(robot: Robot, q: np.ndarray, body: int) -> np.ndarray:
    """The orientations (T, 3, 3) of a body, or of the world."""
    return (
        np.broadcast_to(np.eye(3), (len(q), 3, 3))
        if body < 0
        else robot.pose(q, robot.model.bodies[body].name)[:, :3, :3]
    )
