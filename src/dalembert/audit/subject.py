"""The subject of the rules: the robot, and states at which laws are tried, the same for every rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.model import Body, Model, Part, tool_frame
from dalembert.robot import Robot

from .expectations import Expectations
from .holding import HeadroomTable, headroom_table
from .rule import NotRun

if TYPE_CHECKING:
    from .logs import MeasuredMotion
    from .solidity import Measured

SAMPLES = 100
FALLS = 1e-6  # of the weight times the longest lever: smaller gravity torques are rounding errors
EFFECTS = ("friction", "damping", "armature", "springs", "loops")


@dataclass
class Subject:
    """The subject of the rules: a robot, and the options of the audit.

    payload [kg] is carried at `frame` when motors are checked.
    """

    robot: Robot
    payload: float = 0.0
    frame: str | None = None
    log: Sequence[Any] = field(default_factory=tuple)  # findings of the import
    expect: Expectations | None = None  # the expected properties of the robot
    motion: MeasuredMotion | None = None  # a log of it
    run: Any = None  # a simulation of it
    samples: int = SAMPLES

    @property
    def model(self) -> Model:
        return self.robot.model

    @cached_property
    def tool(self) -> str:
        """The frame that carries the payload."""
        return tool_frame(self.model, self.frame).name

    def check_load(self) -> None:
        """Refuse a frame that is unknown or cannot move, and a payload that is not a mass."""
        if not (is_number(self.payload) and 0.0 <= self.payload < np.inf):
            raise DalembertError(f"payload is {self.payload!r}, expected a mass of 0 kg or more")
        _ = self.tool, self.loaded

    @cached_property
    def loaded(self) -> Robot:
        """The robot with the payload as a point mass at the tool frame."""
        return self.robot.edit().payload(self.payload, frame=self.tool).done() if self.payload else self.robot

    @cached_property
    def tree(self) -> Robot:
        """The robot without its closures, for laws of the tree."""
        return self.robot.without("loops") if self.model.closures else self.robot

    @cached_property
    def bare(self) -> Robot:
        """The rigid tree alone, whose energy is kept."""
        return self.robot.without(*EFFECTS)

    @cached_property
    def q(self) -> np.ndarray:
        """(samples, nq): configurations within the limits, the same in every audit."""
        if not self.model.nv:
            raise NotRun("no joint moves")
        return self.robot.random(np.random.default_rng(2024), self.samples)

    @cached_property
    def v(self) -> np.ndarray:
        return np.random.default_rng(7).normal(size=(self.samples, self.robot.nv))

    @cached_property
    def a(self) -> np.ndarray:
        return np.random.default_rng(8).normal(size=(self.samples, self.robot.nv))

    @cached_property
    def M(self) -> np.ndarray:
        """(samples, nv, nv) at q."""
        return self.robot.mass_matrix(self.q)

    @cached_property
    def motors(self) -> HeadroomTable:
        """The largest load of each motor under gravity, with the payload."""
        return headroom_table(self.loaded)

    @property
    def moving(self) -> tuple[Body, ...]:
        """The bodies that joints move."""
        return tuple(body for body in self.model.bodies if body.joint.nv)

    @property
    def parts(self) -> list[tuple[Body, Part]]:
        return [(body, part) for body in self.model.bodies for part in body.parts]

    @property
    def massive(self) -> list[Part]:
        """The links that have a mass."""
        return [part for _, part in self.parts if part.inertia.mass > 0.0]

    @cached_property
    def measured(self) -> Measured:
        """Mass properties of the shapes of the links."""
        from .solidity import measure  # which has rules, on subjects

        return measure(self.model)

    @cached_property
    def swing(self) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) from which the bare tree swings: at rest where gravity moves it, else with a speed."""
        q, model = self.q[0], self.model
        bodies = [body.name for body in model.bodies if body.inertia.mass]
        lever = float(np.max(np.abs(self.bare.jacobian(q, bodies)[..., 3:, :]), initial=0.0)) if bodies else 0.0
        weight = self.mass * float(np.linalg.norm(model.gravity))
        moved = np.max(np.abs(self.bare.gravity(q)), initial=0.0) > FALLS * weight * lever
        return q, np.zeros(self.bare.nv) if moved else self.v[0]

    @cached_property
    def mass(self) -> float:
        """Total mass [kg], the base included."""
        return float(sum(body.inertia.mass for body in self.model.bodies))

    def configuration(self, q: np.ndarray) -> str:
        """A configuration in words: joints by name, at most six of them."""
        shown = [
            f"{body.joint.name} {value:.2f}"
            for body in self.model.independent
            for value in q[body.q]
            if body.joint.nq == 1
        ]
        return ", ".join(shown[:6]) + (" …" if len(shown) > 6 else "") or "any configuration"
