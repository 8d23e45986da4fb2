"""Rollouts prepared once for calls that differ in their arrays alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.contact import Contact
    from dalembert.robot import Robot
    from dalembert.sim.elements import Element
    from dalembert.sim.integrators import Integrator
    from dalembert.sim.rollout.play import PreparedRollout
    from dalembert.sim.run.events import Event


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
    from dalembert.sim.rollout.play import PreparedRollout
    from dalembert.sim.settings import Settings

    chosen = Settings(
        torque=torque,
        controls=controls,
        step=step,
        steps=steps,
        integrator=integrator,
        every=every,
        elements=elements,
        friction=friction,
        events=events,
        contact=contact,
        forces=forces,
    )
    return PreparedRollout(robot.model, chosen)
