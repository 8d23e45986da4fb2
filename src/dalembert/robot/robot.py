"""The robot that people hold: a model and its compiled functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.dynamics import algorithms
from dalembert.model import Actuator, Model, Motors, State, motors_of, start_of
from dalembert.notebook import html
from dalembert.quantities import (
    Quantity,
    Variant,
    analysis,
    configurations,
    derivatives,
    distances,
    dynamics,
    hamilton,
    inverse_kinematics,
    kinematics,
    loops,
    momentum,
    operational,
    products,
    reactions,
    second,
)
from dalembert.quantities import regressor as regressors
from dalembert.quantities.added import AddedForces
from dalembert.quantities.structure import (
    BodyInfo,
    FrameInfo,
    JointInfo,
    Limits,
    body_info,
    frame_info,
    joint_info,
    joint_table,
    level_terrain,
    limits,
    problems,
)
from dalembert.version import __version__

from . import compiling, contacts, rollouts, rooms, simulation, viewing

if TYPE_CHECKING:
    from dalembert.compiler.execute import Call
    from dalembert.dynamics.collision import HeightField
    from dalembert.editing import ModelEditor
    from dalembert.formats import Finding


class Robot:
    """A robot and its dynamics.

    q (nq,) configuration, v (nv,) velocity, a (nv,) acceleration, tau (nv,) generalised force; SI units; twists [ω; v]
    and wrenches [τ; f] with the angular part first; poses (4, 4). Every numeric method takes one state or any leading
    batch shape, and batch shapes broadcast against each other. float64 in, float64 out; all float32 in, float32 out.

    Keywords of every numeric method: `out` writes into a given array; `threads` bounds the threads of a batch
    (default: DALEMBERT_THREADS, else all processors); `check=False` lets NaN, inf and unnormalised quaternions through.
    Friction, damping, armature and springs of the joints are part of every result; see `without`.
    """

    def __init__(self, model: Model, import_log: Iterable[Finding] = ()) -> None:
        self.model = model
        self.import_log: tuple[Finding, ...] = tuple(import_log)
        self._calls: dict[tuple[Quantity, Variant], Call] = {}
        self._fast: dict[tuple[Quantity, Any], Callable[..., Any]] = {}  # by variant, or places of wrenches
        self._methods: dict[Quantity, Callable[..., Any]] = {}  # fast calls with all parameters
        self._led: dict[tuple[Any, ...], Any] = {}  # where these find their code, by variant and by choices
        self._is_traced = False

    def _traced(self, model: Model) -> Robot:
        """The robot of a model whose constants may be traced, for use inside a traced function."""
        if self._is_traced and model is self.model:
            return self
        robot = Robot(model)
        robot._is_traced = True
        return robot

    def determinants(self) -> Model | None:
        """Everything that its results depend on (see `execute.identity`); None: it has more than a model."""
        return self.model if type(self) is Robot else None

    def _added_forces(self, q: Any, v: Any) -> AddedForces | None:
        """Forces of elements that belong to the robot, at states q (…, nq), v (…, nv); None: it has none."""
        return None

    def __repr__(self) -> str:
        count = len(self.physical_findings)
        noted = f", {count} physical {'finding' if count == 1 else 'findings'} in import_log" if count else ""
        return f"<Robot {self.name!r}: {len(self.joints)} joints, nq={self.nq}, nv={self.nv}{noted}>"

    def _repr_html_(self) -> str:
        """The view in notebooks: the joints as a table, and how much the import noted."""
        return html(repr(self), *joint_table(self.model))

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
    def total_mass(self) -> float:
        """Mass of all bodies together, the base included [kg]."""
        return float(algorithms.total_mass(self.model))

    @property
    def limits(self) -> Limits:
        """Limits as arrays: lower, upper (nq,), velocity, effort, acceleration … (nv,); infinite if there is none.

        Of joints that follow another one, the tightest limits in that one's coordinate count; quaternions have none.
        """
        return limits(self.model)

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
        """Motors and servos of the robot's file, in the order of `controls`, which drive them."""
        return self.model.actuators

    @property
    def physical_findings(self) -> tuple[Finding, ...]:
        """Findings of `import_log` that concern physics: what was dropped, repaired or assumed, or is impossible."""
        return tuple(finding for finding in self.import_log if finding.severity == "warning")

    @property
    def motors(self) -> Motors:
        """The joints with motors, the passive ones, and why: by the file, by an edit, else by kind and effort limit."""
        return motors_of(self.model)

    @property
    def terrain(self) -> HeightField | None:
        """The level height field of the robot's file (MJCF) as a function z(x, y), for `Contact(terrain=…)`; or None.

        Between its points it is bilinear, where MuJoCo has two triangles, and beyond its edges level.
        """
        return level_terrain(self.model)

    def home(self) -> State:
        """(q, v) where to start by default: the keyframe "start" of the file, else neutral, moved into the ranges."""
        return start_of(self.model)

    @property
    def keyframes(self) -> dict[str, State]:
        """Named states (q, v) that the robot's file states."""
        return {keyframe.name: keyframe.state(self.model) for keyframe in self.model.keyframes}

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of joints by the name of their group, such as "arm", that the robot's file states."""
        return {group.name: group.joints for group in self.model.groups}

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
        from dalembert.editing import ModelEditor

        return ModelEditor(self.model, self.import_log, Robot)

    def without(self, *effects: str) -> Robot:
        """The same robot without some of "friction", "damping", "armature", "springs", "loops", "surroundings"."""
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
        notes: Sequence[str] = (),
    ) -> tuple[Finding, ...]:
        """Write the robot to .urdf, .xml (MJCF), .sdf, .usda, .usd or .dh.toml, or an ending of `register_writer`.

        Numbers are written so that they read back the same; an existing file is replaced as a whole. What the format
        cannot say is an error that lists it all with its cures; approximate=True writes what comes nearest. Returned,
        and in the file's first comment: what the file says otherwise than the robot, what only dalembert will read,
        and shapes or limits left out.
        geometry: whether to write the shapes of links. package: a folder whose meshes are named package://folder/…
        (SDF: model://folder/…); other meshes keep their paths. notes: lines for that comment, such as where the numbers
        come from.
        """
        from dalembert.formats import write  # needs an XML library

        return write(
            self.model,
            path,
            approximate=approximate,
            geometry=geometry,
            package=package,
            generator=f"dalembert {__version__}",
            notes=notes,
            subject=self,
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Impossible bodies (negative mass, inertia that no rigid body has), and joints that meet no inertia.

        Empty for a possible robot; a robot without any mass is one for kinematics, whose joints are not checked.
        """
        return problems(self.model)

    # ---- configurations

    neutral = configurations.neutral
    random = configurations.random
    random_parameters = configurations.random_parameters
    normalize = configurations.normalize
    integrate = configurations.integrate
    difference = configurations.difference
    interpolate = configurations.interpolate

    # ---- kinematics

    pose = kinematics.pose
    poses = kinematics.poses
    velocity = kinematics.velocity
    acceleration = kinematics.acceleration
    jacobian = kinematics.jacobian
    jacobian_rate = kinematics.jacobian_rate
    inverse_kinematics = inverse_kinematics.inverse_kinematics

    # ---- distances of links

    distance = distances.distance
    witnesses = distances.witnesses
    distance_jacobian = distances.distance_jacobian
    collision_pairs = distances.collision_pairs
    near_pairs = distances.near_pairs

    # ---- dynamics

    inverse_dynamics = dynamics.inverse_dynamics
    forward_dynamics = dynamics.forward_dynamics
    mass_matrix = dynamics.mass_matrix
    inverse_mass_matrix = dynamics.inverse_mass_matrix
    bias = dynamics.bias
    gravity = dynamics.gravity
    kinetic_energy = dynamics.kinetic_energy
    potential_energy = dynamics.potential_energy
    energy = dynamics.energy
    center_of_mass = dynamics.center_of_mass
    center_of_mass_jacobian = dynamics.center_of_mass_jacobian
    _inverse_dynamics_in_contact = contacts.inverse_dynamics
    loop_dynamics = loops.loop_dynamics
    loop_inverse_dynamics = loops.loop_inverse_dynamics
    closure_wrenches = loops.closure_wrenches

    # ---- derivatives
    inverse_dynamics_derivatives = derivatives.inverse_dynamics_derivatives
    forward_dynamics_derivatives = derivatives.forward_dynamics_derivatives
    coriolis_matrix = derivatives.coriolis_matrix
    passivity_residual = derivatives.passivity_residual
    christoffel = derivatives.christoffel
    gravity_derivatives = derivatives.gravity_derivatives
    energy_derivatives = derivatives.energy_derivatives
    pose_derivative = derivatives.pose_derivative
    jacobian_derivative = derivatives.jacobian_derivative
    inverse_dynamics_jvp = products.inverse_dynamics_jvp
    inverse_dynamics_vjp = products.inverse_dynamics_vjp
    forward_dynamics_jvp = products.forward_dynamics_jvp
    forward_dynamics_vjp = products.forward_dynamics_vjp
    inverse_dynamics_second = second.inverse_dynamics_second
    forward_dynamics_second = second.forward_dynamics_second

    # ---- Hamilton's form

    generalized_momentum = hamilton.generalized_momentum
    hamiltonian = hamilton.hamiltonian
    hamiltonian_derivatives = hamilton.hamiltonian_derivatives
    hamilton_equations = hamilton.hamilton_equations
    port_hamiltonian = hamilton.port_hamiltonian

    # ---- momentum, reactions, identification

    centroidal_momentum = momentum.centroidal_momentum
    centroidal_momentum_matrix = momentum.centroidal_momentum_matrix
    centroidal_momentum_rate = momentum.centroidal_momentum_rate
    composite_inertia = momentum.composite_inertia
    reaction_wrenches = reactions.reaction_wrenches
    peak_reactions = reactions.peak_reactions
    parameters = regressors.parameters
    regressor = regressors.regressor
    momentum_regressor = regressors.momentum_regressor
    energy_regressor = regressors.energy_regressor

    # ---- operational space and analysis

    operational_inertia = operational.operational_inertia
    operational_dynamics = operational.operational_dynamics
    null_space = operational.null_space
    hybrid_dynamics = operational.hybrid_dynamics
    linearize = contacts.linearize
    modes = analysis.modes
    equilibrium = contacts.equilibrium
    equilibrium_torque = analysis.equilibrium_torque

    # ---- compiling

    compile = compiling.compile
    live_values = compiling.live_values
    operations = compiling.operations
    source = compiling.source
    export = compiling.export
    traceable = compiling.traceable

    # ---- other rooms, loaded when they are used

    audit = rooms.audit
    check_inertia = rooms.check_inertia
    sizing = rooms.sizing
    equations = rooms.equations
    simulate = simulation.simulate
    contact_dynamics = simulation.contact_dynamics
    raycast = simulation.raycast
    stops = simulation.stops
    stepper = rollouts.stepper
    rollout, prepare_rollout = rollouts.rollout, rollouts.prepare_rollout
    step_advice = simulation.step_advice
    close_loops = rooms.close_loops
    rollout_gradient = rollouts.rollout_gradient
    optimal_control = rooms.optimal_control
    study = rooms.study
    view, render, video = viewing.view, viewing.render, viewing.video
