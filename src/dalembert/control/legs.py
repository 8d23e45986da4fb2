"""Walking: gait clock, footsteps, swings, planned forces and the whole-body program, each at its own rate.

steps       where feet stand and land, where the body should be      at the rate of the whole-body program
plan        forces of standing feet over a horizon (`centroidal`)    40 Hz
program     torques (`whole_body`) for all of it                     500 Hz
torque      the program's torques, with damping about its motion     1 kHz
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError, check_positive
from dalembert.math import clip, floor, where
from dalembert.model import motorized
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled
from dalembert.spatial import so3

from .centroidal import Centroidal, centroidal
from .gait import GRAVITY, Gait, ease, lift, trot
from .odometry import Odometry, Sensors
from .program.assembly import Support
from .program.tasks import CenterOfMass, Force, Frame, Posture
from .program.whole_body import WholeBody, whole_body

NODES = 10  # of the plan
PLANNED = (20.0, 20.0, 10.0, 20.0, 20.0, 200.0, 0.2, 0.2, 0.2, 1.0, 1.0, 10.0)  # its weights of [rpy, p, ω, v]
DAMPING = 0.01  # s: of joints about the program's motion, times their largest torques


class Rates(NamedTuple):
    """Periods [s] of the torques, the whole-body program and the plan of forces; multiples of the simulation's step."""

    torque: float = 1e-3
    program: float = 2e-3
    plan: float = 25e-3


class Weights(NamedTuple):
    """Weights of squared errors in the whole-body program, with the frequencies [rad/s] at which they decay.

    height, sideways: accelerations of the centre of mass upwards and along the ground; trunk: of its orientation;
    swing: of feet in the air; force: differences to the planned forces [N]; posture: accelerations of joints. What
    happens along the ground is left to the plan, which knows of the steps to come.
    """

    height: float = 10.0
    sideways: float = 0.5
    trunk: float = 2.0
    swing: float = 1.0
    force: float = 1e-2
    posture: float = 1e-3
    body_frequency: float = 10.0
    swing_frequency: float = 30.0
    posture_frequency: float = 5.0


class WalkingBody(NamedTuple):
    """The robot as one body, as `centroidal` takes it: roll, pitch, yaw; centre of mass; angular velocity; velocity."""

    rpy: np.ndarray
    place: np.ndarray
    omega: np.ndarray
    velocity: np.ndarray


class Intent(NamedTuple):
    """The robot's intent for the next steps.

    place, velocity (3,) of the centre of mass; rpy, omega (3,) of the trunk; feet (k, 3, 3): place, velocity and
    acceleration of each; stood (k, 3): where each stands or last stood; landing (k, 3): where it comes down next.
    """

    place: np.ndarray
    velocity: np.ndarray
    rpy: np.ndarray
    omega: np.ndarray
    feet: np.ndarray
    stood: np.ndarray
    landing: np.ndarray

    def flat(self) -> np.ndarray:
        """All numbers in a row."""
        return np.concatenate([np.ravel(part) for part in self])

    @classmethod
    def of(cls, flat: np.ndarray) -> Intent:
        """From numbers in a row."""
        k = (len(flat) - 12) // 15
        ends = np.cumsum([3, 3, 3, 3, 9 * k, 3 * k, 3 * k])
        parts = [flat[a:b] for a, b in zip((0, *ends[:-1]), ends, strict=True)]
        place, velocity, rpy, omega, feet, stood, landing = parts
        shaped = feet.reshape(k, 3, 3), stood.reshape(k, 3), landing.reshape(k, 3)
        return cls(place, velocity, rpy, omega, *shaped)


class Legs:
    """A robot that walks; made by `legs`, which gives its controller.

    offsets (k, 3): of the feet from the centre of mass when it stands, with yaw 0; soles (k,): heights of their frames
    above the ground; height: of the centre of mass.
    """

    def __init__(
        self, robot: Robot, feet: Sequence[str], standing: np.ndarray, gait: Gait, velocity: Any, ground: Any,
        friction: float, margin: float, clearance: float, capture: float | None, leash: float, rates: Rates,
        weights: Weights, sensors: Sensors | None,
    ) -> None:  # fmt: skip
        self.robot, self.feet, self.gait, self.velocity, self.ground = robot, tuple(feet), gait, velocity, ground
        self.clearance, self.leash, self.rates = clearance, leash, rates
        self.planner: Centroidal = centroidal(robot, standing, friction=margin * friction, weights=PLANNED)
        self.grip, self.body_frequency = GRAVITY * margin * friction / np.sqrt(2.0), weights.body_frequency
        places, body = self._feet(standing), self.body(standing, np.zeros(robot.nv))
        upright = so3.from_rpy(0.0, 0.0, body.rpy[2])
        self.offsets = (places - body.place) @ upright
        self.soles = places[:, 2] - np.array([self.level(x, y) for x, y, _ in places])
        self.height = float(-self.offsets[:, 2].mean() + self.soles.mean())
        self.capture = float(np.sqrt(self.height / GRAVITY)) if capture is None else capture
        self.program = self._program(standing, 0.5 * (1.0 + margin) * friction, weights)  # more, when it is pushed
        limits = np.minimum(robot.limits.effort, robot.total_mass * GRAVITY * self.height)
        self.damping = np.where(motorized(robot.model), DAMPING * limits, 0.0)
        self.odometry = (
            None
            if sensors is None
            else Odometry(robot, feet, self.soles, gait.standing, self.level, rates.torque, sensors)
        )

    def _program(self, standing: np.ndarray, friction: float, weights: Weights) -> WholeBody:
        """The whole-body program, whose command is an intent and forces of the feet."""
        robot, k = self.robot, len(self.feet)
        size = 12 + 15 * k

        def intent(part: Callable[[Intent], Any]) -> Callable[[Any, Any], Any]:
            return lambda t, command: part(Intent.of(command[:size]))

        def trunk(now: Intent) -> Any:
            pose = np.array(np.eye(4), object)
            pose[:3, :3] = so3.from_rpy(*now.rpy)
            return pose, np.concatenate([now.omega, np.zeros(3)])

        def foot(i: int) -> Any:
            return intent(lambda now: tuple(now.feet[i]))

        def force(i: int) -> Any:
            return lambda t, command: command[size + 3 * i : size + 3 * i + 3]

        base, joints = robot.model.base.name, np.r_[np.zeros(6), np.full(robot.nv - 6, weights.posture)]
        place, w = np.array([weights.sideways, weights.sideways, weights.height]), weights.body_frequency
        swing: dict[str, Any] = {"weight": weights.swing, "frequency": weights.swing_frequency}
        tasks = [
            CenterOfMass(goal=intent(lambda now: (now.place, now.velocity)), weight=place, frequency=w),
            Frame(frame=base, goal=intent(trunk), rows_of="orientation", weight=weights.trunk, frequency=w),
            Posture(goal=standing, weight=joints, frequency=weights.posture_frequency),
            *(Frame(frame=name, goal=foot(i), **swing) for i, name in enumerate(self.feet)),
            *(Force(frame=name, goal=force(i), weight=weights.force) for i, name in enumerate(self.feet)),
        ]
        supports = [Support(frame=name, friction=friction) for name in self.feet]
        return whole_body(robot, tasks, supports, horizon=None, command=size + 3 * k)

    def determinants(self) -> dict[str, Any]:
        """Everything that its results depend on (see `execute.identity`)."""
        return vars(self)

    # ---- what is known of a state

    def body(self, q: np.ndarray, v: np.ndarray) -> WalkingBody:
        """The robot as one body."""
        R = so3.from_quaternion(q[3:7])
        velocity = self.robot.center_of_mass_jacobian(q) @ v
        return WalkingBody(so3.to_rpy(R), self.robot.center_of_mass(q), R @ v[:3], velocity)

    def _feet(self, q: np.ndarray) -> np.ndarray:
        return np.array([self.robot.pose(q, foot)[:3, 3] for foot in self.feet])

    def level(self, x: Any, y: Any) -> Any:
        """The height of the ground at a place."""
        return self.ground(x, y) if callable(self.ground) else self.ground

    def asked(self, t: Any) -> np.ndarray:
        """Velocity forwards and to the left [m/s] and rate of turning [rad/s] that are asked for."""
        return np.asarray(self.velocity(t) if callable(self.velocity) else self.velocity)

    # ---- the controllers

    def start(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """The initial memory of `steps`: where feet stood, and the way that is asked for (x, y, yaw)."""
        body = self.body(q, v)
        return {"stood": self._feet(q), "ahead": np.array([body.place[0], body.place[1], body.rpy[2]])}

    def _known(self, q: Any, v: Any, seen: Any) -> tuple[Any, Any]:
        """The state that controllers go by: as it is, or as sensors tell it."""
        return (q, v) if seen is None else (seen[: self.robot.nq], seen[self.robot.nq :])

    def steps(
        self, t: Any, q: Any, v: Any, state: dict[str, np.ndarray], seen: Any = None, velocity: Any = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The intent of now, flat. velocity (3,): what is asked for, as an input of a rollout; None: as stated."""
        q, v = self._known(q, v, seen)
        body, stands, swung = self.body(q, v), self.gait.standing(t), self.gait.swung(t)
        stood = _chosen(stands, self._feet(q), state["stood"])
        forwards, left, turning = self.asked(t) if velocity is None else velocity
        yaw = state["ahead"][2] + self.rates.program * turning
        go = _about_z(yaw) @ np.array([forwards, left, 0.0])
        behind = state["ahead"][:2] + self.rates.program * go[:2] - body.place[:2]
        ahead = body.place[:2] + np.array([clip(x, -self.leash, self.leash) for x in behind])
        landing, feet = [], []
        for i in range(len(self.feet)):
            end = self._landing(i, body, go, turning, (1.0 - swung[i]) * self.gait.swing)
            landing.append(end)
            feet.append(self._swing(stood[i], end, swung[i]))
        level, pitch = self._slope(body, stood)
        place = np.array([ahead[0], ahead[1], level + self.height])
        rpy, omega = np.array([0.0 * yaw, pitch, yaw]), np.array([0.0 * yaw, 0.0 * yaw, 0.0 * yaw + turning])
        intent = Intent(place, go, rpy, omega, np.array(feet), stood, np.array(landing))
        return intent.flat(), {"stood": stood, "ahead": np.array([ahead[0], ahead[1], yaw])}

    def _landing(self, i: int, body: WalkingBody, go: np.ndarray, turning: Any, left: Any) -> np.ndarray:
        """Where a foot comes down that has some time left in the air: Raibert's rule with the capture point's error."""
        moving = body.velocity * np.array([1.0, 1.0, 0.0])
        turn = _about_z(body.rpy[2] + turning * (left + 0.5 * self.gait.stance))
        place = body.place + moving * left + turn @ self.offsets[i]
        place = place + 0.5 * self.gait.stance * go + self.capture * (moving - go)
        return np.array([place[0], place[1], self.level(place[0], place[1]) + self.soles[i]])

    def _swing(self, begin: np.ndarray, end: np.ndarray, share: Any) -> np.ndarray:
        """Place, velocity, acceleration (3, 3) of a foot that has a share of its way behind it."""
        T, top = self.gait.swing, np.array([0.0, 0.0, self.clearance])
        away, up = ease(share), lift(share)
        place, velocity, acceleration = ((end - begin) * x + top * z for x, z in zip(away, up, strict=True))
        return np.array([begin + place, velocity / T, acceleration / T**2])

    def _slope(self, body: WalkingBody, stood: np.ndarray) -> tuple[Any, Any]:
        """The ground beneath the feet, on average [m], and the pitch [rad] of a plane through them."""
        heights = stood[:, 2] - self.soles
        along = (stood - body.place) @ _about_z(body.rpy[2])[:, 0]
        middle = along - along.sum() / len(along)
        wide = middle @ middle
        return heights.sum() / len(heights), -(middle @ heights) / where(wide > 1e-6, wide, 1.0)

    def plan(self, t: Any, q: Any, v: Any, steps: np.ndarray, seen: Any = None) -> np.ndarray:
        """Forces (k, 3) [N] of the feet, the first of a horizon."""
        q, v = self._known(q, v, seen)
        gait, h, k, body, now = self.gait, self.planner.step, len(self.feet), self.body(q, v), Intent.of(steps)
        off = now.rpy[2] - body.rpy[2]
        yaw = now.rpy[2] - 2.0 * np.pi * floor(off / (2.0 * np.pi) + 0.5)  # of the same turn
        reference, places, contacts = [], [], []
        stands, count = gait.standing(t), gait.count(t)
        for node in range(NODES):
            begin, after = t + h * node, h * (node + 1)
            rpy = np.array([now.rpy[0], now.rpy[1], yaw + now.omega[2] * after])
            reference.append(np.concatenate([rpy, now.place + now.velocity * after, now.omega, now.velocity]))
            contacts.append(gait.standing(begin))
            steps_on = gait.count(begin) - count
            landing = (gait.count(begin) + np.array(gait.offsets)) * gait.period - t
            row = []
            for i in range(k):
                turn = _about_z(yaw + now.omega[2] * landing[i])
                later = now.place + now.velocity * (landing[i] + 0.5 * gait.stance) + turn @ self.offsets[i]
                later = np.array([later[0], later[1], now.landing[i][2]])
                soon = where(steps_on[i] > 1.5, 0.0, 1.0 - stands[i])  # the foot is on its way there
                next_one = _chosen([soon] * 3, now.landing[i], later)
                row.append(_chosen([where(steps_on[i] < 0.5, 1.0, 0.0)] * 3, now.stood[i], next_one))
            places.append(row)
        state = np.concatenate(body)
        return self.planner.plan(state, np.array(reference), np.array(places), np.array(contacts)).forces[0]

    def torques(self, t: Any, q: Any, v: Any, steps: np.ndarray, forces: np.ndarray, seen: Any = None) -> np.ndarray:
        """[tau, a, v, t] of a tick of the whole-body program, (3 nv + 1,)."""
        q, v = self._known(q, v, seen)
        now, n = self._within_grip(Intent.of(steps), self.body(q, v)), self.robot.nv
        command = np.concatenate([now.flat(), np.ravel(forces)])
        tick = self.program.tick(t, q, v, command, self.gait.standing(t))
        return np.concatenate([tick[: 2 * n], v, [t]])

    def _within_grip(self, now: Intent, body: WalkingBody) -> Intent:
        """With a place and a velocity so near that friction can give the horizontal acceleration they ask for.

        Asked for more, the program would press feet down harder to get it, and the body would rise.
        """
        w = self.body_frequency
        far, fast = 0.5 * self.grip / w**2, 0.25 * self.grip / w
        place, velocity = (
            np.array([*(at + clip(x - at, -most, most) for at, x in zip(here[:2], asked[:2], strict=True)), asked[2]])
            for here, asked, most in ((body.place, now.place, far), (body.velocity, now.velocity, fast))
        )
        return now._replace(place=place, velocity=velocity)

    def damped(self, t: Any, q: Any, v: Any, program: np.ndarray) -> np.ndarray:
        """Torques (nv,): those of the last tick, with damping about the motion that it meant."""
        n = self.robot.nv
        tau, a, begin, since = program[:n], program[n : 2 * n], program[2 * n : 3 * n], program[3 * n]
        return tau + self.damping * (begin + a * (t - since) - v)

    def controller(self) -> Sampled:
        """All of it, for `simulate`, `rollout` and `stepper`."""
        seen = {}
        if self.odometry is not None:
            seen["seen"] = Sampled(self.odometry.sense, self.rates.torque, state=self.odometry.start)
        steps = Sampled(self.steps, self.rates.program, state=self.start, inputs=seen)
        plan = Sampled(self.plan, self.rates.plan, inputs={"steps": steps} | seen)
        program = Sampled(self.torques, self.rates.program, inputs={"steps": steps, "forces": plan} | seen)
        return Sampled(self.damped, self.rates.torque, inputs={"program": program})


def _about_z(angle: Any) -> np.ndarray:
    return so3.from_rpy(0.0, 0.0, angle)


def _chosen(conditions: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rows or numbers of a where the condition is 1, else of b."""
    picked = [
        _chosen([c] * len(x), x, y) if np.ndim(x) else where(c > 0.5, x, y)
        for c, x, y in zip(conditions, a, b, strict=True)
    ]
    return np.array(picked)


def legs(
    robot: Robot,
    feet: Sequence[str],
    standing: Any,
    velocity: Any = (0.0, 0.0, 0.0),
    *,
    gait: Gait | None = None,
    ground: float | Callable[[Any, Any], Any] = 0.0,
    friction: float = 0.6,
    margin: float = 0.8,
    clearance: float = 0.08,
    capture: float | None = None,
    leash: float = 0.1,
    rates: Rates | None = None,
    weights: Weights | None = None,
    sensors: Sensors | None = None,
) -> Sampled:
    """A controller that walks: for `simulate` with fixed steps, `rollout` and `stepper`, with a `Contact`.

    feet: names of the frames at the feet, points that carry; of a trot front left, front right, hind left, hind right.
    standing (nq,): how it stands, feet on the ground; it walks with that height and those distances of the feet.
    velocity: forwards and to the left [m/s], rate of turning [rad/s], (3,) or a function of t; in a rollout
    parameters={"velocity": (…, 3)} stands in its place, one for each motion, and another one compiles nothing.
    gait: default a trot.
    ground: height of the ground, or a function (x, y) → z as of `Contact`'s terrain. friction: of the ground;
    margin: share of it that planned forces keep to, so that feet do not slip; the program, which answers pushes, keeps
    to half of the rest. clearance [m]: of feet in their swing. capture [s]: how far feet step out for an error of the
    velocity, default √(height/g). leash [m]: how far the body may fall behind the way that is asked for. rates: of
    planner, program and torques; weights: of the whole-body program. sensors: what the robot knows of its base, by
    default all; `control.Sensors()`: an IMU and its legs.
    """
    if not robot.model.floating or robot.model.base.joint.kind != "free":
        raise DalembertError(f"legs: robot {robot.name!r} has no free base: load it with base='free'")
    for foot in feet:
        robot.frame(foot)
    clock = trot() if gait is None else gait
    if len(clock.offsets) != len(feet):
        raise DalembertError(f"legs: the gait is for {len(clock.offsets)} feet, and there are {len(feet)}")
    pose = real_array("legs: standing", standing, f"expected ({robot.nq},)").astype(float)
    if pose.shape != (robot.nq,):
        raise DalembertError(f"legs: standing has shape {pose.shape}, expected ({robot.nq},)")
    first_velocity = velocity(0.0) if callable(velocity) else velocity
    if np.shape(first_velocity) != (3,):
        raise DalembertError(
            f"legs: velocity has shape {np.shape(first_velocity)}, expected (3,): forwards, to the left, turning"
        )
    for name, value in (("clearance", clearance), ("leash", leash), ("friction", friction)):
        check_positive(f"legs: {name}", value)
    if not 0.0 < margin <= 1.0:
        raise DalembertError(f"legs: margin is {margin!r}, expected a share of the friction, above 0 and at most 1")
    walker = Legs(
        robot, feet, robot.normalize(pose), clock, velocity, ground, friction, margin, clearance, capture, leash,
        rates or Rates(), weights or Weights(), sensors,
    )  # fmt: skip
    return walker.controller()
