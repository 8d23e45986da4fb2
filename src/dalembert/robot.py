"""The robot that people hold: a model and its compiled functions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from .editing import ModelEditor
from .functions.analysis import Analysis
from .functions.configurations import Configurations
from .functions.derivatives import Derivatives
from .functions.dynamics import Dynamics
from .functions.inverse_kinematics import InverseKinematics
from .functions.kinematics import Kinematics
from .functions.loops import Loops
from .functions.momentum import Momentum
from .functions.operational import Operational
from .functions.products import Products
from .functions.reactions import Reactions
from .functions.regressor import Regressors
from .functions.structure import BodyInfo, FrameInfo, JointInfo, body_info, frame_info, html_table, joint_info
from .model import Actuator, Model, State
from .rooms import auditing, equations, simulation, viewing
from .rooms.compiling import Compiling
from .version import __version__

if TYPE_CHECKING:
    from .formats import Finding


class Robot(
    Analysis,
    Configurations,
    Dynamics,
    Kinematics,
    Derivatives,
    Products,
    Momentum,
    Reactions,
    Regressors,
    Operational,
    InverseKinematics,
    Loops,
    Compiling,
):
    """A robot and its dynamics.

    q (nq,) configuration, v (nv,) velocity, a (nv,) acceleration, tau (nv,) generalised force; SI units; twists [ω; v]
    and wrenches [τ; f] with the angular part first; poses (4, 4). Every numeric method takes one state or any leading
    batch shape, and batch shapes broadcast against each other. float64 in, float64 out; all float32 in, float32 out.

    Keywords of every numeric method: `out` writes into a given array; `threads` bounds the threads of a batch
    (default: DALEMBERT_THREADS, else all processors); `check=False` lets NaN, inf and unnormalised quaternions through.
    Friction, damping, armature and springs of the joints are part of every result; see `without`.
    """

    def __init__(self, model: Model, import_log: Iterable[Finding] = ()) -> None:
        super().__init__(model)
        self.import_log: tuple[Finding, ...] = tuple(import_log)

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {len(self.joints)} joints, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        """What notebooks show: the joints as a table, and how much the import noted."""
        warnings = sum(finding.severity == "warning" for finding in self.import_log)
        noted = f"; import: {warnings} warnings, see import_log" if warnings else ""
        return f"<p>{escape(repr(self))}{noted}</p>{html_table(self.model)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.import_log)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model)

    # ---- structure

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.model.nv

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The moving joints, root to tips."""
        return tuple(joint_info(self.model, i) for i, body in enumerate(self.model.bodies) if body.joint.nv)

    @property
    def bodies(self) -> tuple[BodyInfo, ...]:
        """The bodies, root to tips; the first is the base."""
        return tuple(body_info(self.model, i) for i in range(len(self.model.bodies)))

    @property
    def frames(self) -> tuple[FrameInfo, ...]:
        """Every frame: of each body, then of fixed links and added frames."""
        return tuple(frame_info(self.model, frame) for frame in self.model.frames)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Motors and servos that the robot's file states, as data; they act only where used as drives."""
        return self.model.actuators

    @property
    def keyframes(self) -> dict[str, State]:
        """Named states (q, v) that the robot's file states."""
        return {keyframe.name: keyframe.state(self.model) for keyframe in self.model.keyframes}

    def joint(self, name: str) -> JointInfo:
        """The joint of that name; `robot.joint("elbow").q` is a slice."""
        return joint_info(self.model, self.model.joint(name).index)

    def body(self, name: str) -> BodyInfo:
        """The body of that name."""
        return body_info(self.model, self.model.body(name).index)

    def frame(self, name: str) -> FrameInfo:
        """The frame of that name."""
        return frame_info(self.model, self.model.frame(name))

    def edit(self) -> ModelEditor[Robot]:
        """Edits to this robot, one after the other; `.done()` gives the new robot.

        robot.edit().lock(elbow=0.3).payload(2.0, frame="tool").done()
        """
        return ModelEditor(self.model, self.import_log, Robot)

    def without(self, *effects: str) -> Robot:
        """The same robot without some of "friction", "damping", "armature", "springs", "loops"."""
        return Robot(self.model.without(*effects), self.import_log)

    def with_parameters(self, pi: Any) -> Robot:
        """The same robot with other inertial parameters pi (10 nb,), in the order of `parameters`.

        They are taken as they are, since estimates need not be possible bodies; `problems` tells which are not.
        """
        return Robot(self.model.with_parameters(pi), self.import_log)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        approximate: bool = False,
        geometry: bool = True,
        package: str | os.PathLike[str] | None = None,
    ) -> tuple[Finding, ...]:
        """Write the robot to a file; its ending names the format: .urdf, .xml (MJCF), .sdf or .dh.toml.

        Numbers are written so that they read back the same; an existing file is replaced as a whole. What the format
        cannot say is an error that lists it all with its cures; approximate=True writes what comes nearest. Returned,
        and in the file's first comment: what the file says otherwise than the robot, what only dalembert will read,
        and shapes or limits left out.
        geometry: whether to write the shapes of links. package: a folder whose meshes are named package://folder/…
        (SDF: model://folder/…); other meshes keep their paths.
        """
        from .formats import write  # needs an XML library

        made_by = f"dalembert {__version__}"
        return write(self.model, path, approximate=approximate, geometry=geometry, package=package, generator=made_by)

    @property
    def problems(self) -> tuple[str, ...]:
        """What no rigid body can have (negative mass, impossible inertia), body by body; empty for a possible robot."""
        return tuple(f"body {b.name!r}: {problem}" for b in self.model.bodies for problem in b.inertia.problems())

    # ---- rooms above, loaded when they are used

    audit = auditing.audit
    check_inertia = auditing.check_inertia
    sizing = auditing.sizing
    equations = equations.equations
    simulate = simulation.simulate
    stepper = simulation.stepper
    rollout = simulation.rollout
    step_advice = simulation.step_advice
    close_loops = simulation.close_loops
    view = viewing.view
