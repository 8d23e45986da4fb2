"""`ModelEditor`: edits of a robot one after the other, each checked and logged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np

from dalembert.dynamics.algorithms import normalize
from dalembert.errors import DalembertError
from dalembert.model import LinkPlan, Model, plan
from dalembert.model.geometry import Role, Shape
from dalembert.model.values import placement_from, vector
from dalembert.spatial import Pose

from . import calibration, decomposition, flexibility, locking, naming, parameters, rerooting, scaling, structure
from .change import Change
from .invariants import check

if TYPE_CHECKING:
    from dalembert.formats import Finding

ORIGIN = (0.0, 0.0, 0.0)
Result = TypeVar("Result")


class HasModel(Protocol):
    """A robot."""

    model: Model


class ModelEditor(Generic[Result]):
    """Changes to a robot, in order; `done()` returns the new one, and the old one stays unchanged.

    Edits refer to links: those that move, and those fixed to others. After every edit a random state is drawn, and
    masses, the motion of all links and the energy are compared with what the edit must not change. What was done
    is in the new robot's `import_log`.
    """

    def __init__(
        self, model: Model, log: Iterable[Finding], finish: Callable[[Model, tuple[Finding, ...]], Result]
    ) -> None:
        self.model = model  # as edited so far
        self.log = list(log)
        self._finish = finish

    def __repr__(self) -> str:
        edits = [f.what for f in self.log if f.where.startswith("edit of ")]
        return f"<ModelEditor of {self.model.name!r}: {'; '.join(edits) or 'no edits yet'}>"

    def done(self) -> Result:
        """The robot with all edits."""
        return self._finish(self.model, tuple(self.log))

    # ---- links and frames

    def payload(
        self, mass: float, *, frame: str, com: Any = ORIGIN, inertia: Any = None, name: str = "payload"
    ) -> Self:
        """Fix a load to a link or frame.

        mass [kg]; com (3,) [m] in the frame; inertia (3, 3) [kg·m²] about the com in the frame's axes (None: a point
        mass); name of the new link.
        """
        return self._edit(structure.add_payload, frame, name, mass, com, inertia)

    def add_frame(self, name: str, *, body: str, xyz: Any = ORIGIN, rpy: Any = ORIGIN) -> Self:
        """Add a frame, placed in a link or another frame at xyz [m], rpy [rad]."""
        return self._edit(structure.add_frame, name, body, xyz, rpy)

    def add_geometry(
        self, shape: Shape, *, body: str, xyz: Any = ORIGIN, rpy: Any = ORIGIN, role: Role = "collision", **options: Any
    ) -> Self:
        """Add a shape to a link, at xyz [m], rpy [rad] in it: to be touched, or to be seen (role="visual").

        options: color, name, surface as in `ModelBuilder.add_geometry`.
        """
        return self._edit(structure.add_geometry, shape, body, xyz, rpy, role, options)

    def convex_parts(self, link: str, *, concavity: float = 0.05) -> Self:
        """Divide the collision meshes of a link into convex parts, which contact takes as they are (CoACD).

        concavity: how far the parts may be from the mesh, from 0.01 (many parts) to 1, as CoACD scales it. The log says
        how many parts there are.
        """
        return self._edit(decomposition.convex_parts, link, concavity)

    def add_closure(
        self,
        name: str,
        kind: str,
        *,
        a: str,
        b: str,
        xyz_a: Any = ORIGIN,
        rpy_a: Any = ORIGIN,
        xyz_b: Any = ORIGIN,
        rpy_b: Any = ORIGIN,
        **shape: Any,
    ) -> Self:
        """Close a loop between a place of `a` and one of `b` (links, frames, "world"); as `ModelBuilder.add_closure`.

        kind: weld point revolute prismatic …; xyz [m], rpy [rad]: the places that are held together; shape: axis and
        the like. What states the loop allows, `robot.close_loops` finds.
        """
        places = {"xyz_a": xyz_a, "rpy_a": rpy_a, "xyz_b": xyz_b, "rpy_b": rpy_b}
        return self._edit(structure.add_closure, name, kind, {"a": a, "b": b} | places | shape)

    def remove(self, link: str) -> Self:
        """Remove a link with everything that it carries, or a frame. The log states the mass removed."""
        return self._edit(structure.remove, link)

    def attach(
        self,
        robot: HasModel | Model,
        *,
        frame: str,
        prefix: str = "",
        xyz: Any = ORIGIN,
        rpy: Any = ORIGIN,
        placement: Pose | None = None,
        free: bool = False,
    ) -> Self:
        """Put another robot (or model) on this one: its world at xyz [m], rpy [rad] in the frame, its base fixed there.

        prefix: put before all its names. free: a free base stays free and its coordinates count from there; otherwise
        it is fixed at its neutral configuration. Its gravity is left out; what its import log says is said here too.
        """
        other = getattr(robot, "model", robot)
        if not isinstance(other, Model):
            raise DalembertError(f"attach: expected a Robot or a Model, got {type(robot).__name__}")
        X = placement_from(placement, xyz, rpy, "attach")
        self._edit(structure.attach, other, frame, prefix, X, free)
        self.log += getattr(robot, "import_log", ())
        return self

    def rename(
        self,
        links: Mapping[str, str] | None = None,
        *,
        joints: Mapping[str, str] | None = None,
        name: str | None = None,
        prefix: str = "",
    ) -> Self:
        """New names, old → new, of links and frames, and of joints; of the robot; a prefix for all others."""
        return self._edit(naming.rename, links or {}, joints or {}, name, prefix)

    # ---- locking joints

    def exclude(self, *pairs: tuple[str, str]) -> Self:
        """State that links, in pairs of names, never touch each other: they are not checked, and have no contacts."""
        return self._edit(structure.exclude, pairs)

    def lock(self, values: Mapping[str, Any] | None = None, **joints: Any) -> Self:
        """Hold joints at values: lock(elbow=0.3), lock({"joint 2": 0.3}); a ball or free joint takes its q.

        Each body becomes a fixed link of the body that carries it. A joint that follows another one is locked with its
        leader. A closure or equation that is then always satisfied is left out; one that cannot be is an error.
        """
        if values is not None and not isinstance(values, Mapping):
            example = "lock(elbow=0.3) or lock({'joint 2': 0.3})"
            raise DalembertError(f"lock: expected joints and the values they are held at, as {example}; got {values!r}")
        return self._edit(locking.lock, {**(values or {}), **joints})

    def merge(self, link: str, *, at: Any = None) -> Self:
        """Make a link one with the link that it sits on; its name stays as a frame.

        at: the configuration its joint is locked at, default neutral; not for a fixed link.
        """
        model = self.model
        target = plan(model).link(link, "merge")
        if link == plan(model).base.name:
            raise DalembertError(f"merge: {link!r} is the base, it sits on no other link")
        if target.joint.nv:
            self.lock({target.joint.name: target.joint.neutral() if at is None else at})
        elif at is not None:
            raise DalembertError(f"merge: {link!r} is a fixed link: it has no configuration to give")
        return self._edit(structure.melt, link)

    # ---- the base

    def base(self, kind: str, *, at: Any = None) -> Self:
        """Hold the base in the world ("fixed"), or let it float ("free"). at: where a free one is held, q (7,)."""
        return self._edit(rerooting.set_base, self.model, kind, at)

    def reroot(self, link: str, *, q: Any = None) -> Self:
        """Make another link the base: free if the base is free, else held where it is at q (nq,), default neutral.

        Joints between the old and the new base are run through backwards and keep their names. Coordinates and
        velocities of revolute, continuous, prismatic, screw and cylindrical joints stay; a universal joint's two change
        places; ball, planar and free joints get those of the inverse motion. A joint whose effects no such joint has is
        an error.
        """
        numbers = None if q is None else vector(q, "reroot: q", (self.model.nq,))
        if numbers is not None and np.max(np.abs(normalize(self.model, numbers) - numbers), initial=0.0) > 1e-6:
            raise DalembertError("reroot: q has a quaternion that is not of unit length: use robot.normalize(q)")
        return self._edit(rerooting.reroot, self.model, link, numbers)

    # ---- numbers

    def set_inertia(self, link: str, *, mass: Any = None, com: Any = None, inertia: Any = None) -> Self:
        """Another mass [kg], com (3,) [m] or inertia (3, 3) [kg·m²] about the com, in the link's axes, of one link.

        Omitted arguments stay unchanged, so that mass alone keeps com and inertia.
        """
        return self._edit(parameters.set_inertia, link, mass, com, inertia)

    def set_joint(self, joint: str, **values: Any) -> Self:
        """Other parameters of a joint: armature damping friction slip_speed stribeck stribeck_speed stiffness rest
        lower upper velocity_limit acceleration_limit deceleration_limit jerk_limit effort_limit (peak)
        continuous_limit, axis axis2 pitch as its type has them,
        mimic=(leader, ratio, offset) or None, kind="continuous".
        """
        return self._edit(parameters.set_joint, joint, values)

    def flexible(self, joint: str, *, stiffness: Any, damping: Any = 0.0) -> Self:
        """Let a joint give way: its motor turns a rotor, which carries the link by a spring [N·m/rad or N/m].

        The joint keeps its name, motor, friction, limits and armature, which becomes the rotor's inertia; the new joint
        `<joint>_spring` is the deflection between rotor and link, with damping [N·m·s/rad or N·s/m], without a motor.
        """
        return self._edit(flexibility.flexible, joint, stiffness, damping)

    def set_placement(self, name: str, *, xyz: Any = ORIGIN, rpy: Any = ORIGIN, placement: Pose | None = None) -> Self:
        """Place a link's joint frame, or a frame, at xyz [m], rpy [rad] in its carrying link (the base: the world)."""
        return self._edit(parameters.set_placement, name, xyz, rpy, placement)

    def calibrate(self, path: str | os.PathLike[str]) -> Self:
        """Place the joints where the maker measured them: a `calibration.conf` of Universal Robots."""
        return self._edit(calibration.calibrate, path)

    def gravity(self, gravity: Any) -> Self:
        """Another gravity (3,) in the world [m/s²]."""
        return self._edit(parameters.set_gravity, gravity)

    def scale(self, length: float = 1.0, *, mass: float | None = None, density: float | None = None) -> Self:
        """Make lengths `length` times as long, and masses `mass` times as large, or densities `density` times (1).

        Inertia grows as mass · length². Joint parameters follow the law of similar motion under the same gravity
        (Froude), with times × √length: lengths in limits with length, speeds of sliding with √length and of turning
        with 1/√length; torques (friction, effort) with mass · length and forces with mass, rotors, damping and springs
        to match.
        """
        if mass is not None and density is not None:
            raise DalembertError("scale: both mass and density are given: give one of them")
        factors = {"length": length, "mass": mass, "density": 1.0 if density is None else density}
        for what, value in factors.items():
            if value is not None and not (isinstance(value, Real) and 0.0 < value < np.inf):
                raise DalembertError(f"scale: {what} is {value!r}, expected a factor above 0")
        factor = float(factors["density"] * length**3) if mass is None else float(mass)  # type: ignore[operator]
        return self._edit(scaling.scale, float(length), factor)

    def _edit(self, edit: Callable[..., Change], *arguments: Any) -> Self:
        """Carry out an edit on a fresh plan of the model, check the outcome and log it."""
        from dalembert.formats import Finding  # its room reads files, which needs an XML library

        drawn: LinkPlan = plan(self.model)
        change = edit(drawn, *arguments)
        after = change.plan.model()
        check(self.model, after, change)
        where = f"edit of {self.model.name!r}"
        self.log.append(Finding("warning" if change.warning else "info", where, change.what, change.action))
        for kind, names in _left_out(self.model, after).items():
            self.log.append(Finding("info", where, f"{kind} {', '.join(map(repr, names))}", "left out"))
        for joint in sorted(_idle(after) - _idle(self.model)):
            what = f"joint {joint!r} moves no mass now"
            self.log.append(Finding("warning", where, what, "kept; forward dynamics needs it locked or removed"))
        self.model = after
        return self


def _left_out(before: Model, after: Model) -> dict[str, list[str]]:
    """Actuators and tendons with forces, by name, that an edit has taken away."""
    kinds = {
        "actuators": [[one.name for one in model.actuators] for model in (before, after)],
        "tendons": [
            [t.name for t in (model.mujoco.tendons if model.mujoco else ()) if t.pulls] for model in (before, after)
        ],
    }
    gone = {kind: [name for name in old if name not in new] for kind, (old, new) in kinds.items()}
    return {kind: names for kind, names in gone.items() if names}


def _idle(model: Model) -> set[str]:
    """Joints that move no mass and have no rotor."""
    mass = [float(body.inertia.mass) for body in model.bodies]
    for body in reversed(model.bodies[1:]):
        mass[body.parent] += mass[body.index]
    joints = [(body.joint, mass[body.index]) for body in model.bodies if body.joint.nv]
    return {joint.name for joint, moved in joints if moved == 0.0 and not np.all(joint.armature)}
