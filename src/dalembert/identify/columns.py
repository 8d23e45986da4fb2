"""Parameters in which a joint torque is linear: inertial parameters of the bodies, friction, rotors, springs.

tau = W(q, v, a) x + known(q, v, a). The parameters x: ten per moving body, in the order of `Robot.parameters`, then one
per freedom and term: viscous v, coulomb sgn(v), stribeck sgn(v) exp(−(v / stribeck_speed)²), offset 1, rotor a,
spring q − rest. Terms that are not asked for keep the robot's own values and make up the known part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot

INERTIAL = ("m", "m·cx", "m·cy", "m·cz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
FRICTION = ("viscous", "coulomb", "stribeck", "offset")
FIELDS = {  # of joints; none of them can be below zero
    "viscous": "damping",
    "coulomb": "friction",
    "stribeck": "stribeck",
    "rotor": "armature",
    "spring": "stiffness",
}
LIVE = tuple(field for field in FIELDS.values() if field != "stribeck")  # groups of live parameters


@dataclass(frozen=True)
class Columns:
    """The parameters of a robot that a fit determines."""

    robot: Robot
    friction: tuple[str, ...] = ()
    rotor: bool = False
    springs: bool = False
    stribeck_speed: float = 0.1

    def __post_init__(self) -> None:
        for term in self.friction:
            if term not in FRICTION:
                raise unknown("friction term", term, FRICTION, "friction")
        if len(set(self.friction)) < len(self.friction):
            raise DalembertError(f"friction: {', '.join(self.friction)}: a term is named twice")
        if not self.stribeck_speed > 0.0:
            raise DalembertError(f"stribeck_speed is {self.stribeck_speed!r}, expected a speed above 0")
        if self.robot.model.closures:
            raise DalembertError(
                f"robot {self.robot.name!r} has closed loops, whose forces are not in the regressor; "
                "identify robot.without('loops'), or a serial part of it"
            )

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """Bodies that move, whose ten parameters can matter."""
        moving: list[int] = []
        for body in self.robot.model.bodies:
            if body.joint.nv or body.parent in moving:
                moving.append(body.index)
        return tuple(moving)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Kinds of columns with one entry per freedom."""
        return (*self.friction, *(["rotor"] if self.rotor else []), *(["spring"] if self.springs else []))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters x."""
        bodies = [self.robot.model.bodies[i].name for i in self.bodies]
        inertial = [f"{body} {name}" for body in bodies for name in INERTIAL]
        return (*inertial, *(f"{joint} {term}" for term in self.terms for joint in self.robot.model.freedom_names))

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return len(self.names)

    @property
    def inertial(self) -> int:
        """How many of them are inertial; those of freedoms follow."""
        return len(INERTIAL) * len(self.bodies)

    def term(self, name: str) -> slice:
        """Where the parameters of a term lie in x, one per freedom."""
        begin = self.inertial + self.terms.index(name) * self.robot.nv
        return slice(begin, begin + self.robot.nv)

    @cached_property
    def _slip_speed(self) -> np.ndarray:
        """(nv,): of the model's own friction law."""
        return np.concatenate([np.full(b.joint.nv, b.joint.slip_speed) for b in self.robot.model.independent])

    def sign(self, v: np.ndarray) -> np.ndarray:
        """Direction of sliding, −1 … 1, as the model's friction has it: tanh(v / slip_speed)."""
        return np.tanh(v / self._slip_speed)

    def matrix(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """W (T, nv, size) for q (T, nq), v (T, nv), a (T, nv)."""
        nv = self.robot.nv
        Y = self.robot.regressor(q, v, a).reshape(len(q), nv, -1, len(INERTIAL))[:, :, list(self.bodies)]
        W = np.zeros((len(q), nv, self.size))
        W[:, :, : self.inertial] = Y.reshape(len(q), nv, -1)
        freedoms = np.arange(nv)
        for name in self.terms:
            W[:, freedoms, self.inertial + self.terms.index(name) * nv + freedoms] = self._term_values(name, q, v, a)
        return W

    def _term_values(self, name: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(T, nv): the factor of a term's parameter at each freedom."""
        if name == "viscous":
            return v
        if name == "coulomb":
            return self.sign(v)
        if name == "stribeck":
            return self.sign(v) * np.exp(-((v / self.stribeck_speed) ** 2))
        if name == "offset":
            return np.ones_like(v)
        if name == "rotor":
            return a
        return self.robot.difference(np.broadcast_to(self._relaxed, q.shape), q)

    @cached_property
    def _relaxed(self) -> np.ndarray:
        """Where springs are relaxed (nq,)."""
        q = self.robot.neutral()
        for body in self.robot.model.independent:
            q[body.q] = body.joint.rest
        return q

    @cached_property
    def _remainder(self) -> Robot:
        """The robot with what is not among the parameters: its masses stay, to be subtracted."""
        fields, model = [FIELDS[term] for term in self.terms if term in FIELDS], self.robot.model
        bodies = [
            replace(body, joint=body.joint.with_values(**dict.fromkeys(fields, np.zeros(body.joint.nv))))
            for body in model.bodies
        ]
        return Robot(replace(model, bodies=tuple(bodies)))

    def known(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(T, nv): torque of the robot's own friction, rotors and springs where they are not among the parameters."""
        bare = self._remainder.without("friction", "damping", "armature", "springs")
        if bare == self._remainder:
            return np.zeros((len(q), self.robot.nv))
        return self._remainder.inverse_dynamics(q, v, a) - bare.inverse_dynamics(q, v, a)

    def prior(self) -> np.ndarray:
        """x of the robot as it stands; offset, which a model does not have, is 0."""
        x = np.zeros(self.size)
        x[: self.inertial] = self.robot.parameters().reshape(-1, len(INERTIAL))[list(self.bodies)].ravel()
        for name in self.terms:
            if name in FIELDS:
                x[self.term(name)] = np.concatenate(
                    [getattr(b.joint, FIELDS[name]) for b in self.robot.model.independent]
                )
        return x

    def live(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters x as live groups of a rollout: inertia (10 nb,), friction and the like per freedom."""
        bodies = self._remainder.model.bodies
        groups = {field: np.concatenate([getattr(b.joint, field) for b in bodies]) for field in LIVE}
        return self._placed(x, {"inertia": self.robot.parameters().ravel()} | groups)

    def live_rates(self, slopes: np.ndarray) -> dict[str, np.ndarray]:
        """Slopes (…, n) of live groups, from slopes (…, size) of the parameters."""
        groups = self.live(np.zeros(self.size))
        return self._placed(slopes, {name: np.zeros((*slopes.shape[:-1], len(x))) for name, x in groups.items()})

    def _placed(self, x: np.ndarray, groups: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The groups, copied, with the parameters x (…, size) in their places."""
        groups = {name: values.copy() for name, values in groups.items()}
        for k, number in enumerate(self.bodies):
            groups["inertia"][..., 10 * number : 10 * number + 10] = x[..., 10 * k : 10 * k + 10]
        starts = np.cumsum([0, *(body.joint.nv for body in self.robot.model.bodies)])
        for name in self.terms:
            if FIELDS.get(name) in LIVE:
                for body in self.robot.model.independent:
                    at = slice(starts[body.index], starts[body.index + 1])
                    groups[FIELDS[name]][..., at] = x[..., self.term(name)][..., body.v]
        return groups

    def written(self, x: np.ndarray) -> np.ndarray:
        """The part of x that a robot has: no offset, and friction, rotors and springs of at least 0."""
        x = x.copy()
        for name in self.terms:
            x[self.term(name)] = np.maximum(x[self.term(name)], 0.0) if name in FIELDS else 0.0
        return x

    def robot_with(self, x: np.ndarray) -> Robot:
        """The robot with the parameters x, as far as it can have them; see `written`."""
        x = self.written(x)
        pi = self.robot.parameters().reshape(-1, len(INERTIAL)).copy()
        pi[list(self.bodies)] = x[: self.inertial].reshape(-1, len(INERTIAL))
        robot = self._remainder.with_parameters(pi.ravel())
        for body in robot.model.independent:
            if not body.joint.nv:
                continue
            values = {}
            for name in self.terms:
                if name in FIELDS:
                    values[FIELDS[name]] = x[self.term(name)][body.v]
            if "stribeck" in values:
                values["stribeck_speed"] = np.array(self.stribeck_speed)
            robot = robot.edit().set_joint(body.joint.name, **values).done() if values else robot
        return robot


def columns(
    robot: Robot, friction: Iterable[str] = (), rotor: bool = False, springs: bool = False, stribeck_speed: float = 0.1,
) -> Columns:  # fmt: skip
    """The columns of a fit; friction: some of "viscous", "coulomb", "stribeck", "offset"."""
    if isinstance(friction, str):
        friction = (friction,)
    if not robot.nv:
        raise DalembertError(f"identify: robot {robot.name!r} has no joint that moves: no motion shows a parameter")
    return Columns(robot, tuple(friction), bool(rotor), bool(springs), float(stribeck_speed))
