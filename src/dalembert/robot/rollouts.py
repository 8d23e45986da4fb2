"""Many motions at once, motions that are repeated, and single steps for loops written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dalembert.compiler.execute import running_on
from dalembert.compiler.interop import is_foreign
from dalembert.errors import DalembertError, renamed, unknown

from .settings import shared

if TYPE_CHECKING:
    from dalembert.contact import Contact
    from dalembert.robot import Robot
    from dalembert.sim.elements import Element
    from dalembert.sim.integrators import Integrator
    from dalembert.sim.rollout.gradient import RolloutGradient
    from dalembert.sim.rollout.result import Rollout
    from dalembert.sim.rollout.rollout import PreparedRollout
    from dalembert.sim.rollout.stepper import ControlledStepper, Stepper
    from dalembert.sim.run.run import Event
    from dalembert.sim.settings import Settings
    from dalembert.typing import ArrayLike

    from .simulation import Torque


@renamed(record="every")
@shared("rollout")
def rollout(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    torque: Any = None,
    step: float = 1e-3,
    steps: int = 1000,
    integrator: str | Integrator | None = None,
    *,
    every: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    elements: Sequence[Element] = (),
    threads: int | None = None,
    check: bool = True,
    friction: str | None = None,
    events: Sequence[Event] = (),
    controls: Any = None,
    contact: Contact | None = None,
    memory: Any = None,
    forces: str | None = None,
    backend: str | None = None,
    settings: Settings | None = None,
) -> Rollout:
    """Many motions at once: q (…, nq), v (…, nv) after `steps` fixed steps, compiled as one loop.

    torque: None; tau (…, nv); a row per step (steps, nv) or (…, steps, nv); or a function (t, q, v) → tau that can
    be traced, `dalembert.Sampled` of such, or a receding horizon of `optimal_control`. controls: the same of the
    robot's actuators (…, nu), instead of torque. every: keep the states after so many steps each, q (…, n, nq);
    None: the last ones only.
    parameters: live groups by name, per motion, such as {"inertia": (…, 10·nb)}, see `live_values`; "payload" (…, 1), a
    point mass at the tool [kg]; "contact_friction" (…, 1), in the place of what the contact and the file state, of all
    contacts; or arguments of the law beside (t, q, v), such as gains, (…, k) each, or with a row for each step (…,
    steps, k), such as noise; it gets them as keywords (k,). integrator: any of those of `simulate`, with fixed steps.
    Of several motions the same bits with any threads and any split; a single one has code of its own. friction: "dry",
    joints stick, which takes "semi-implicit" and is the default there; "smooth", as in `forward_dynamics`. Hard stops
    and other constraints that come and go take "semi-implicit" too, and act by impulses at the ends of steps; rigid
    contact has a step of its own, without `integrator`. events: `dalembert.Event`s to watch for, to the resolution of a
    step: `events` (…, k) of the result has the ends of the steps in which they first fell [s], or NaN, and motions rest
    where a terminal one did.
    contact: a `dalembert.Contact`, what the robot's shapes touch; `contacts` of the result says how many steps of rigid
    contact missed the tolerance. memory: `memory` (…, n) of a rollout before, from which contacts, elements and
    controllers go on; time begins at 0 again. forces: "last" or "every", of which recorded states `contacts` has the
    forces of rigid contact. backend: what computes NumPy arrays, by name, as of every method: "llvm" (default),
    "interpreter" … settings: a `dalembert.Settings` with values for keywords that are not given.
    Ctrl-C raises `dalembert.Interrupted`, a KeyboardInterrupt whose `result` is the Rollout so far: the records that
    all motions have reached, or their states after the last steps that all have taken.

    Arrays of CuPy, PyTorch and JAX come back as their own kind, computed where they lie, with gradients in q, v,
    torque and parameters; float32 in, float32 out. On a GPU nothing raises: bad states and motions give NaN.
    """
    from dalembert.sim.rollout.rollout import rollout
    from dalembert.sim.settings import Settings

    chosen = Settings(
        torque=torque, controls=controls, step=step, steps=steps, integrator=integrator, every=every,
        parameters=parameters or {}, elements=elements, friction=friction, events=events, contact=contact,
        memory=memory, forces=forces,
    )  # fmt: skip
    if backend is not None and any(map(is_foreign, (q, v, torque, controls, *chosen.parameters.values()))):
        raise DalembertError(f"rollout: backend={backend!r} takes NumPy arrays only: convert the arguments first")
    with running_on(backend):
        return rollout(robot.model, q, v, chosen, threads, check)


def prepare_rollout(
    robot: Robot,
    torque: Any = None,
    step: float = 1e-3,
    steps: int = 1000,
    integrator: str | Integrator | None = None,
    *,
    every: int | None = None,
    elements: Sequence[Element] = (),
    friction: str | None = None,
    events: Sequence[Event] = (),
    controls: Any = None,
    contact: Contact | None = None,
    forces: str | None = None,
) -> PreparedRollout:
    """play = robot.prepare_rollout(steps=10, …); result = play(q, v, tau): rollouts whose options stay the same.

    The same results as `rollout`, whose options these are. A call with shapes like those of one before plans nothing
    and costs some 10 µs beside the motion. torque, controls: a law that is traced once; else arrays go to each call,
    those of actuators where controls=True. Live groups and arguments of the law are given by name: play(q, v, kp=…).
    """
    from dalembert.sim.rollout.rollout import PreparedRollout
    from dalembert.sim.settings import Settings

    chosen = Settings(
        torque=torque, controls=controls, step=step, steps=steps, integrator=integrator, every=every,
        elements=elements, friction=friction, events=events, contact=contact, forces=forces,
    )  # fmt: skip
    return PreparedRollout(robot.model, chosen)


@renamed(record="every")
@shared("rollout_gradient", events="have no gradient: leave them out")
def rollout_gradient(
    robot: Robot,
    loss: Callable[[Any, np.ndarray, np.ndarray], Any],
    q: ArrayLike,
    v: ArrayLike,
    torque: Any = None,
    step: float = 1e-3,
    steps: int = 1000,
    integrator: str | Integrator | None = None,
    *,
    every: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    elements: Sequence[Element] = (),
    threads: int | None = None,
    friction: str | None = None,
    controls: Any = None,
    contact: Contact | None = None,
    backend: str | None = None,
    settings: Settings | None = None,
) -> RolloutGradient:
    """The loss of motions and its gradient in q, v, torque or controls, and parameters, of NumPy arrays.

    loss (t, q, v) → a number, of traced values: arithmetic, `dalembert.math` and the robot's methods. It is taken at
    the end of each motion; with every=k, summed over every k-th state. All else as in `rollout`. The gradient is exact
    for the steps taken, by a loop backwards through all of them, whose states are kept.
    """
    from dalembert.sim.rollout.gradient import rollout_gradient
    from dalembert.sim.settings import Settings

    chosen = Settings(
        torque=torque, controls=controls, step=step, steps=steps, integrator=integrator, every=every,
        parameters=parameters or {}, elements=elements, friction=friction, contact=contact,
    )  # fmt: skip
    with running_on(backend):
        return rollout_gradient(robot.model, loss, q, v, chosen, threads)


INPUTS = ("torques", "controls")  # what a stepper takes with each step


@overload
def stepper(
    robot: Robot,
    step: float = 1e-3,
    integrator: str | Integrator | None = None,
    *,
    elements: Sequence[Element] = (),
    friction: str | None = None,
    inputs: str = "torques",
    torque: None = None,
    contact: Contact | None = None,
    parameters: Sequence[str] = (),
    settings: Settings | None = None,
) -> Stepper: ...
@overload
def stepper(
    robot: Robot,
    step: float = 1e-3,
    integrator: str | Integrator | None = None,
    *,
    elements: Sequence[Element] = (),
    friction: str | None = None,
    inputs: str = "torques",
    torque: Torque,
    contact: Contact | None = None,
    parameters: Sequence[str] = (),
    settings: Settings | None = None,
) -> ControlledStepper: ...
@renamed(controls='inputs="controls"')
@shared(
    "stepper",
    events="steppers do not watch for: use `rollout`",
    controls='steppers take with each step: pass inputs="controls"',
)
def stepper(
    robot: Robot,
    step: float = 1e-3,
    integrator: str | Integrator | None = None,
    *,
    elements: Sequence[Element] = (),
    friction: str | None = None,
    inputs: str = "torques",
    torque: Any = None,
    contact: Contact | None = None,
    parameters: Sequence[str] = (),
    settings: Settings | None = None,
) -> Stepper | ControlledStepper:
    """A compiled step for loops written in Python: q, v = stepper(q, v, tau), about a microsecond.

    step [s]; integrator: any of those of `simulate`, with fixed steps; elements: springs, friction, motors …
    tau (…, nv) is held over the step [N·m, N]; with inputs="controls" the controls (…, nu) of its actuators are.
    Where elements or actuators have states of their own: q, v, z = stepper(q, v, tau, z), from z = stepper.start(q, v).
    With rigid contact so too, for steps that go on from the one before as those of `rollout` do; or without z.
    parameters: names of live groups, as of `rollout`, whose values are keywords of every call and compile nothing:
    q, v, z = stepper(q, v, tau, z, contact_friction=[0.4]).
    The same step as `rollout` takes, with its `friction` and `contact`.
    torque: a law (t, q, v) → tau, evaluated once per step, or `dalembert.Sampled`, compiled into the step, which is
    then q, v, memory = stepper(q, v, memory), from memory = stepper.start(q, v) on.
    """
    from dalembert.sim.rollout.stepper import ControlledStepper, Stepper
    from dalembert.sim.settings import Settings

    if inputs not in INPUTS:
        raise unknown("inputs", inputs, INPUTS, "stepper")
    chosen = Settings(step=step, integrator=integrator, elements=tuple(elements), friction=friction, contact=contact)
    if torque is not None:
        return ControlledStepper(robot.model, chosen, torque, parameters)
    return Stepper(robot.model, chosen, inputs == "controls", parameters)
