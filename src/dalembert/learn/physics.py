"""The physics of an environment: K steps under the drive, with the parameters of each environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Contact
from dalembert.math import repeat
from dalembert.robot import Robot
from dalembert.sim.elements.contact import with_contact
from dalembert.sim.elements.soft import softened
from dalembert.sim.integrators.catalogue import uncarried
from dalembert.sim.rollout.live import prepared
from dalembert.sim.settings import Settings
from dalembert.sim.system.drive import Command
from dalembert.sim.system.system import System

from .actions import Drive
from .randomization import GAINS, Randomization


class Moved(NamedTuple):
    """The state after the steps of one action: q, e, forces (nv,) and velocity before the last step, the system."""

    q: np.ndarray
    e: np.ndarray
    tau: np.ndarray
    before: np.ndarray
    system: System


class Physics:
    """The equations of a robot in an environment, and their steps.

    growth: how many times the usual room for contacts; see `RigidContact`.
    """

    def __init__(
        self,
        robot: Robot,
        contact: Contact | None,
        step: float,
        substeps: int,
        integrator: Any,
        drive: Drive,
        randomization: Randomization,
        growth: int = 1,
    ) -> None:
        self.step, self.substeps, self.drive, self.randomization = step, substeps, drive, randomization
        where = "Environment"
        settings = Settings(step=step, integrator=integrator, contact=contact)
        settings.check_step(where)
        self.method = uncarried(settings.method(where, robot.model))
        model, elements = softened(robot.model, (), contact, step)
        model, elements = prepared(where, model, elements, self.method, None, randomization.live)
        elements = with_contact(where, model, elements, contact, step, self.method.stable, growth=growth)
        self.system = System(model, elements, None, driven=True, ledger=False, impulsive=True)

    def of_each(self, own: np.ndarray) -> tuple[System, dict[str, np.ndarray]]:
        """The system with the parameters of one environment, and these by name."""
        values = self.randomization.split(own)
        return self.randomization.applied(self.system, values), values

    def begun(self, system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """e at the beginning: velocities and states of elements."""
        model = system.model
        states = [element.start(model, q, v) for element in system.elements if element.size(model)]
        return np.concatenate([v, *states])

    def moved(self, q: np.ndarray, e: np.ndarray, action: np.ndarray, own: np.ndarray) -> Moved:
        """The state after all steps of an action that acts now."""
        system, values = self.of_each(own)
        gains, nv = values.get(GAINS), system.model.nv
        take = self.method.fixed_step

        def substep(q: np.ndarray, e: np.ndarray, tau: np.ndarray, before: np.ndarray) -> Mapping[str, Any]:
            v = system.layout.velocity(e)
            tau = self.drive.torque(system.model, action, q, v, gains)
            q1, e1 = take(system, 0.0, q[0].lift(self.step), q, e, Command.held(tau).flat())
            return {"q": q1, "e": e1, "tau": tau, "before": v}

        begin = {"q": q, "e": e, "tau": np.zeros(nv), "before": np.zeros(nv)}
        end = repeat(substep, self.substeps, begin)
        return Moved(end["q"], end["e"], end["tau"], end["before"], system)

    def crowded(self, e: np.ndarray, e1: np.ndarray) -> Any:
        """Whether more contacts touched on the way from e to e1 than there is room for."""
        contact = self.system.contact
        if contact is None or not contact.scene_room:
            return None
        return self.system.contact_memory(e1).crowded > self.system.contact_memory(e).crowded
