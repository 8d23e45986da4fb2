"""How the state of a robot moves from one node to the next, and what the control is.

Where every freedom has a motor, the control is the acceleration, and torques follow from it by inverse dynamics: the
quadratic problem is the same after a linear change of variables, and what is nonlinear is a function of each node
alone. Elsewhere the control is what the motors give, and the motion follows by forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.linear.stages import StageLayout
from dalembert.model import motorized
from dalembert.robot import Robot
from dalembert.sim.elements.base import Situation
from dalembert.sim.elements.contact import CompliantContact

from .contacts import Contacts
from .settings import ProblemSettings

INTEGRATORS = ("semi-implicit", "midpoint", "rk4")
LOOP_DECAY = 50.0  # [1/s]: how fast what opens a loop dies out
Actuation = Callable[[Any, Any, Any], Any]  # q, v, u → tau (nv,)


def motors(robot: Robot, names: Sequence[str] | None) -> list[int]:
    """Indices into v of the freedoms with a motor: of the joints named, in that order, else as `robot.motors`."""
    if names is not None:
        names = [names] if isinstance(names, str) else names
        return [k for name in names for k in range(robot.joint(name).v.start, robot.joint(name).v.stop)]
    return np.flatnonzero(motorized(robot.model)).tolist()


@dataclass(frozen=True)
class MotionModel:
    """A robot's step of `step` [s]. driven: freedoms with a motor; actuation: the torques of other kinds of control."""

    robot: Robot
    step: float
    integrator: str
    by_acceleration: bool
    driven: tuple[int, ...]
    actuation: Actuation | None
    controls: int
    contacts: Contacts | None = None
    constants: int = 0  # numbers beside the state that stay the same at all nodes, chosen by the plan
    has_free_steps: bool = False
    ground: CompliantContact | None = None  # whose phases follow from the motion

    @staticmethod
    def of(
        robot: Robot, step: float, chosen: ProblemSettings, contacts: Contacts | None, constants: int,
        has_free_steps: bool, ground: CompliantContact | None,
    ) -> MotionModel:  # fmt: skip
        """The motion of a robot; see `optimal_control` for what is chosen."""
        integrator, names, actuation, controls = (
            chosen.integrator, chosen.motors, chosen.actuation, chosen.control_count,
        )  # fmt: skip
        rest = contacts, constants, has_free_steps, ground
        if integrator not in INTEGRATORS:
            raise unknown("integrator", integrator, INTEGRATORS, "optimal_control")
        if robot.model.closures and contacts is not None:
            raise DalembertError(
                f"optimal_control: robot {robot.name!r} has loops: contacts= is for robots without; "
                "robot.without('loops') is the tree alone"
            )
        if ground is not None and (contacts is not None or robot.model.closures):
            raise DalembertError(
                "optimal_control: contact= finds its phases itself: it takes no contacts= beside it, and no robot with "
                "loops"
            )
        if (actuation is None) != (controls is None):
            raise DalembertError("optimal_control: actuation= and controls= go together: a function, and how many")
        if contacts is not None and integrator != "semi-implicit":
            raise DalembertError(f"optimal_control: contacts need the semi-implicit integrator, not {integrator!r}")
        if actuation is not None:
            if names is not None:
                raise DalembertError("optimal_control: motors= and actuation= both say what u is: give one of them")
            return MotionModel(robot, step, integrator, False, (), actuation, int(controls or 0), *rest)
        driven = tuple(motors(robot, names))
        if not driven:
            raise DalembertError(
                f"optimal_control: robot {robot.name!r} has no joint with a motor: name some by motors=(…), or say by "
                "actuation= and controls= how controls act on it"
            )
        everywhere = driven == tuple(range(robot.nv)) and not robot.model.closures and ground is None
        by_acceleration = everywhere and integrator == "semi-implicit" and contacts is None
        return MotionModel(robot, step, integrator, by_acceleration, driven, None, len(driven), *rest)

    @property
    def is_linear(self) -> bool:
        """Whether the step is v' = v + h a, q' = q + h v', in plain numbers: no gaps, no slopes to compute."""
        return self.by_acceleration and self.robot.model.flat and not self.constants and not self.has_free_steps

    @property
    def layout(self) -> StageLayout:
        """How stages lie in memory."""
        n, bodies = self.robot.nv, self.robot.model.independent
        if self.is_linear:
            return StageLayout((n, n), n)
        if self.constants:
            return StageLayout((2 * n + self.constants,), self.controls)
        curved = tuple(k for body in bodies if not body.joint.flat for k in range(body.v.start, body.v.stop))
        return StageLayout((2 * n,), self.controls, curved if self.integrator == "semi-implicit" else None)

    def torque(self, q: Any, v: Any, u: Any) -> np.ndarray:
        """Generalised forces (nv,) of a control u."""
        if self.actuation is not None:
            tau = np.asarray(self.actuation(q, v, u), object)
            if tau.shape != (self.robot.nv,):
                raise DalembertError(
                    f"optimal_control: actuation returned shape {tau.shape}, expected ({self.robot.nv},) for robot "
                    f"{self.robot.name!r}"
                )
            return tau
        tau = np.zeros(self.robot.nv, np.asarray(u).dtype)
        tau[list(self.driven)] = u
        return tau

    def effort(self, q: Any, v: Any, w: Any) -> np.ndarray:
        """The user's u for the control w that is solved for."""
        return algorithms.rnea(self.robot.model, q, v, w) if self.by_acceleration else w

    def moved(self, x: Mapping[str, Any], a: Any, step: Any) -> tuple[np.ndarray, np.ndarray]:
        """q and v a step later at the acceleration a; at an impact, at once and with a jump of the velocity by a."""
        impact, duration = x["impact"][0], self.duration(x, step)
        after = x["v"] + (duration + impact) * a
        return algorithms.integrate(self.robot.model, x["q"], duration * after), after

    def duration(self, x: Mapping[str, Any], step: Any) -> Any:
        """The duration of the step [s]; impacts take no time."""
        return step if self.contacts is None else step * (1.0 - x["impact"][0])

    def _pushed(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        """The forces tau with those of the ground."""
        if self.ground is None:
            return tau
        model, total = self.robot.model, np.array(tau, object)
        for index, force in self.ground.act(Situation(model, 0.0, q, v, np.zeros(0), tau)).tau.items():
            at = model.bodies[index].v
            total[at] = total[at] + force
        return total

    def _looped(self, q: Any, v: Any, tau: Any) -> np.ndarray:
        """Accelerations that keep loops closed; what opens them dies out (Baumgarte)."""
        model, k = self.robot.model, LOOP_DECAY if self.has_free_steps else min(LOOP_DECAY, 0.2 / self.step)
        rows = algorithms.constraints(model, q, v)
        goal = -rows.bias - 2.0 * k * (rows.J @ v) - k * k * rows.residual
        mass = algorithms.ConstrainedMass(model, q, rows.J, repeated=algorithms.rows_repeat(model))
        return mass.accelerated(tau - algorithms.bias(model, q, v), goal)[0]

    def following(self, q: Any, v: Any, w: Any, h: Any) -> tuple[np.ndarray, np.ndarray]:
        """q and v a step of h [s] later, under the control w."""
        model = self.robot.model

        def moved(q: Any, velocity: Any) -> np.ndarray:
            return algorithms.integrate(model, q, velocity)

        def acceleration(q: Any, v: Any) -> np.ndarray:
            if self.by_acceleration:
                return w
            if model.closures:
                return self._looped(q, v, self.torque(q, v, w))
            return algorithms.forward_dynamics(model, q, v, self._pushed(q, v, self.torque(q, v, w)))

        if self.integrator == "semi-implicit":
            after = v + h * acceleration(q, v)
            return moved(q, h * after), after
        if self.integrator == "midpoint":
            half = v + 0.5 * h * acceleration(q, v)
            return moved(q, h * half), v + h * acceleration(moved(q, 0.5 * h * v), half)
        a1 = acceleration(q, v)
        d2, v2 = 0.5 * h * v, v + 0.5 * h * a1
        r2, a2 = algorithms.displacement_rate(model, d2, v2), acceleration(moved(q, d2), v2)
        d3, v3 = 0.5 * h * r2, v + 0.5 * h * a2
        r3, a3 = algorithms.displacement_rate(model, d3, v3), acceleration(moved(q, d3), v3)
        d4, v4 = h * r3, v + h * a3
        r4, a4 = algorithms.displacement_rate(model, d4, v4), acceleration(moved(q, d4), v4)
        return moved(q, h / 6.0 * (v + 2.0 * (r2 + r3) + r4)), v + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
