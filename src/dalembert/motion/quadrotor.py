"""Quadrotors: from four flat outputs (x, y, z, ψ) to the whole state, the wrench and the thrust of each rotor.

The thrust is along the body's z axis, so that position and yaw with their derivatives fix attitude, angular velocity
and torque (Mellinger & Kumar 2011). With u = p̈ + g the body axes are z = u/|u|, y = z × x_ψ / |z × x_ψ|, x = y × z;
their rates follow by differentiating these definitions, without angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import is_traced
from dalembert.errors import DalembertError
from dalembert.math import cos, sin, sqrt
from dalembert.robot import Robot
from dalembert.spatial import so3
from dalembert.spatial.vectors import cross, dot

from .check import SLACK, Violation
from .manifold import Displaced
from .motion import Motion, PolynomialMotion
from .points import configurations, positive
from .polynomials import Extremes
from .splines import minimum_snap

LEAST = 1e-6  # share of gravity below which the thrust has no direction
INSTANTS = 1000  # at which thrusts are computed
HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Rotors:
    """Rotors of a flying body whose thrusts act along its z axis.

    places (k, 3): in the body, from its centre of mass [m]; spin (k,): +1 where the drag of the rotor turns the body
    about +z (the rotor itself turns the other way), −1 where it turns it back; drag [m]: torque by thrust; least, most
    [N]: thrust of each rotor.
    """

    places: np.ndarray
    spin: np.ndarray
    drag: float
    least: float = 0.0
    most: float = np.inf

    @property
    def map(self) -> np.ndarray:
        """A (4, k): [T; τ] = A f, the thrust and the torque about the centre of mass, in body axes."""
        x, y = self.places[:, 0], self.places[:, 1]
        return np.stack([np.ones(len(x)), y, -x, self.drag * self.spin])

    @property
    def inverse(self) -> np.ndarray:
        """(k, 4): thrusts from [T; τ], the smallest where there are more than four."""
        return np.linalg.pinv(self.map)


def rotors(
    robot: Robot,
    frames: Sequence[str] | None = None,
    *,
    spin: Sequence[float] = (1.0, -1.0, 1.0, -1.0),
    drag: float = 5.964552e-3,
    least: float = 0.0,
    most: float | None = None,
) -> Rotors:
    """The rotors of a robot with a free base: frames with z along the thrust, default all whose names begin "rotor".

    spin: +1 for rotors that turn clockwise as seen from above, whose drag turns the body the other way. drag [m]:
    torque by thrust, by default that of the bundled quadrotor. most [N]: default: all together twice the weight.
    """
    _check_body(robot)
    names = [f.name for f in robot.frames if f.name.startswith("rotor")] if frames is None else list(frames)
    if len(names) != len(spin) or len(names) < 4:
        raise DalembertError(
            f"rotors: robot {robot.name!r} has the frames {names}, expected at least four and as many as spin "
            f"({len(spin)}): pass frames=… and spin=…"
        )
    body = robot.bodies[0]
    X = np.array([robot.frame(name).placement for name in names])
    if np.abs(X[:, :3, 2] - [0.0, 0.0, 1.0]).max() > 1e-6:
        raise DalembertError("rotors: the z axes of the rotors' frames must be along that of the body")
    top = (
        2.0 * robot.total_mass * 9.81 / len(names) if most is None else positive("rotors", "most", most, "a force [N]")
    )
    layout = Rotors(X[:, :3, 3] - body.com, np.array(spin, float), float(drag), float(least), top)
    if np.linalg.matrix_rank(layout.map) < 4:
        raise DalembertError("rotors: these rotors cannot turn the body about every axis: check their places and spin")
    return layout


def _check_body(robot: Robot) -> None:
    if robot.nv != 6 or not robot.model.floating:
        raise DalembertError(f"quadrotor: robot {robot.name!r} has {robot.nv} freedoms, expected one free body")


class Flight(NamedTuple):
    """The state of a flying body and what it takes.

    q (…, 7), v (…, 6), a (…, 6) of the robot; thrust (…) [N] along z; torque (…, 3) about the centre of mass, in body
    axes [N·m]; rotation (…, 3, 3); omega, alpha (…, 3): angular velocity and acceleration in body axes.
    """

    q: Any
    v: Any
    a: Any
    thrust: Any
    torque: Any
    rotation: Any
    omega: Any
    alpha: Any


class FlightMotion(Motion):
    """The motion of a quadrotor along flat outputs: a motion (x, y, z, ψ) of its centre of mass and its yaw.

    q(t), v(t), a(t) as of any motion; flight(t) has attitude, thrust and torque; thrusts(t) (…, k) those of the rotors.
    """

    title = "flight"

    def __init__(self, robot: Robot, path: PolynomialMotion, rotors: Rotors) -> None:
        self.robot, self.path, self.rotors = robot, path, rotors
        self.duration = path.duration
        body = robot.bodies[0]
        self._mass, self._com, self._inertia = body.mass, body.com, body.inertia
        self._gravity = -np.asarray(robot.model.gravity, float)

    def __repr__(self) -> str:
        return f"<Motion 'flight' of {self._mover.name!r}: {self.duration:.6g} s>"

    @property
    def _mover(self) -> Robot:
        assert self.robot is not None
        return self.robot

    @property
    def nv(self) -> int:
        return 6

    def at(self, t: Any) -> Displaced:
        flight = self.flight(t)
        return Displaced(flight.q, flight.v, flight.a)

    def flight(self, t: Any) -> Flight:
        """State, thrust and torque at t (…) [s]; t may be a traced number."""
        p, dp, ddp, jerk, snap = (np.asarray(self.path.derivative(t, order)) for order in range(5))
        position, velocity = p[..., :3], dp[..., :3]
        u, du, ddu = ddp[..., :3] + self._gravity, jerk[..., :3], snap[..., :3]
        if not is_traced(t):
            weak = np.linalg.norm(u, axis=-1) < LEAST * np.linalg.norm(self._gravity) + 1e-12
            if np.any(weak):
                when = np.atleast_1d(np.asarray(t, float))[int(np.argmax(np.atleast_1d(weak)))]
                raise DalembertError(f"flight: at {when:.6g} s the body falls freely, and its attitude is not defined")
        length, z, dz, ddz = _unit(u, du, ddu)
        heading = _heading(p[..., 3], dp[..., 3], ddp[..., 3])
        y, dy, ddy = _unit(*_product((z, dz, ddz), heading))[1:]
        x, dx, ddx = _product((y, dy, ddy), (z, dz, ddz))
        R = np.stack([x, y, z], axis=-1)
        omega = np.stack([dot(z, dy), dot(x, dz), dot(y, dx)], axis=-1)
        rates = [dot(dz, dy) + dot(z, ddy), dot(dx, dz) + dot(x, ddz), dot(dy, dx) + dot(y, ddx)]
        alpha = np.stack(rates, axis=-1)
        back = np.swapaxes(R, -1, -2)
        through = (back @ velocity[..., None])[..., 0]  # velocity of the centre of mass, in body axes
        rising = (back @ ddp[..., :3, None])[..., 0] - cross(omega, through)
        c = self._com
        origin = position - (R @ c)
        v = np.concatenate([omega, through - cross(omega, c)], axis=-1)
        a = np.concatenate([alpha, rising - cross(alpha, c)], axis=-1)
        torque = alpha @ self._inertia + cross(omega, omega @ self._inertia)
        q = np.concatenate([origin, so3.to_quaternion(R)], axis=-1)
        return Flight(q, v, a, self._mass * length, torque, R, omega, alpha)

    def thrusts(self, t: Any) -> np.ndarray:
        """Thrust (…, k) of each rotor [N] at t (…) [s]."""
        flight = self.flight(t)
        wrench = np.concatenate([np.asarray(flight.thrust)[..., None], flight.torque], axis=-1)
        return wrench @ self.rotors.inverse.T

    def extremes(self, order: int = 0) -> Extremes:
        nothing = np.full(6, np.nan)
        return Extremes(nothing, nothing, nothing, nothing)

    def excess(self) -> float:
        """By how much [N] a rotor's thrust is outside its limits, at 1000 instants; negative: room that is left."""
        thrusts = self.thrusts(np.linspace(0.0, self.duration, INSTANTS + 1))
        return float(np.max(np.maximum(thrusts - self.rotors.most, self.rotors.least - thrusts)))

    def further_violations(self) -> list[Violation]:
        """Rotors beyond their limits of thrust, at 1000 instants."""
        t = np.linspace(0.0, self.duration, INSTANTS + 1)
        beyond = []
        for k, thrust in enumerate(self.thrusts(t).T):
            for limit, sign in ((self.rotors.most, 1.0), (self.rotors.least, -1.0)):
                i = int(np.argmax(sign * thrust))
                if not sign * (thrust[i] - limit) <= SLACK * max(abs(limit), 1.0):
                    beyond.append(Violation("thrust", f"rotor {k}", float(t[i]), float(thrust[i]), float(limit), "N"))
        return beyond

    def slower(self, factor: float) -> FlightMotion:
        return FlightMotion(self._mover, self.path.slower(factor), self.rotors)


def fly(
    robot: Robot,
    gates: Any,
    yaw: Any = 0.0,
    *,
    times: Any = None,
    duration: float | None = None,
    rotors: Rotors | None = None,
) -> FlightMotion:
    """A flight of least snap through gates (k, 3) [m], from hover to hover, with yaw (k,) or one [rad] at the gates.

    times (k,) or duration [s]; default: the shortest in which no rotor leaves its limits, the time between the gates
    divided so that the snap is least.
    """
    _check_body(robot)
    drives = _rotors(robot, rotors)
    points = configurations("fly", "gates", gates, None)
    if points.shape[1] != 3:
        raise DalembertError(f"fly: gates has shape {points.shape}, expected (k, 3) positions [m]")
    headings = np.broadcast_to(np.asarray(yaw, float), (len(points),))
    outputs = np.column_stack([points, headings])
    if times is not None or duration is not None:
        return FlightMotion(robot, minimum_snap(outputs, times, duration=duration), drives)
    flight = FlightMotion(robot, minimum_snap(outputs, duration=1.0), drives)
    return flight.slower(_shortest(flight))


def _rotors(robot: Robot, chosen: Rotors | None) -> Rotors:
    return rotors(robot) if chosen is None else chosen


def _shortest(flight: FlightMotion) -> float:
    """The duration of a unit flight for which a rotor just reaches a limit."""
    hover = FlightMotion.slower(flight, 1e3)
    if hover.excess() > 0.0:
        raise DalembertError(
            f"fly: the rotors cannot carry the body: hovering, a rotor is outside its limits by {hover.excess():.3g} N"
        )
    low, high = 0.0, 1.0
    while not _allowed(flight, high):
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _allowed(flight, middle) else (middle, high)
    return high


def _allowed(flight: FlightMotion, duration: float) -> bool:
    try:
        return flight.slower(duration).excess() <= 0.0
    except DalembertError:  # falls freely somewhere
        return False


def _unit(u: np.ndarray, du: np.ndarray, ddu: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Length of u, and u/|u| with its two derivatives: u = ℓ n, u̇ = ℓ̇ n + ℓ ṅ, ü = ℓ̈ n + 2 ℓ̇ ṅ + ℓ n̈."""
    length = sqrt(dot(u, u))
    scale = _column(1.0 / length)
    n = u * scale
    rate = _column(dot(n, du))
    dn = (du - rate * n) * scale
    bend = _column(dot(dn, du) + dot(n, ddu))
    return length, n, dn, (ddu - bend * n - 2.0 * rate * dn) * scale


def _product(
    a: tuple[np.ndarray, np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a × b with its two derivatives."""
    second = cross(a[2], b[0]) + 2.0 * cross(a[1], b[1]) + cross(a[0], b[2])
    return cross(a[0], b[0]), cross(a[1], b[0]) + cross(a[0], b[1]), second


def _heading(yaw: Any, rate: Any, bend: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(cos ψ, sin ψ, 0) with its two derivatives."""
    c, s, none = cos(yaw), sin(yaw), 0.0 * yaw
    along, beside = np.stack([c, s, none], axis=-1), np.stack([-s, c, none], axis=-1)
    return along, _column(rate) * beside, _column(bend) * beside - _column(rate * rate) * along


def _column(x: Any) -> Any:
    return x[..., None] if isinstance(x, np.ndarray) else x
