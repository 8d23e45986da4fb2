"""Single steps of a motion, for loops written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from dalembert.errors import renamed, unknown

from .settings import shared

if TYPE_CHECKING:
    from dalembert.contact import Contact
    from dalembert.robot import Robot
    from dalembert.sim.elements import Element
    from dalembert.sim.integrators import Integrator
    from dalembert.sim.rollout.stepper import ControlledStepper, Stepper
    from dalembert.sim.settings import Settings

    from .simulation import Torque

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
