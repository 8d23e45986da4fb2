"""Effect of an action: targets of joints under servos, or torques; in the order delay → drive → limits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.math import clip, maximum, minimum
from dalembert.model import Model, motorized
from dalembert.robot import Robot

from .draws import Draw

STABLE = 1.0 + 1e-6  # growth of a mode in a step that may be rounding
SHORTEST = 1e-6  # of the step: where the search for one that is stable ends


@dataclass(frozen=True)
class DCMotor:
    """A motor behind a gear: torque up to `stall` [N·m] at rest, none at `speed` [rad/s], straight in between.

    Each a number, a row with one for each joint, or a table by joint. Beside it the joint's own limits hold.
    """

    stall: Any
    speed: Any

    def limited(self, torque: Any, rate: Any, stall: Any, speed: Any) -> Any:
        """The torque that the motor gives at a joint's rate."""
        share = rate / speed
        low, high = stall * maximum(-1.0, -1.0 - share), stall * minimum(1.0, 1.0 - share)
        return maximum(minimum(torque, maximum(high, 0.0)), minimum(low, 0.0))


@dataclass(frozen=True, kw_only=True)
class JointTargets:
    """Actions are offsets of joint targets from the start: target = start + scale · action, held by a servo.

    The servo gives kp (target − q) − kd q̇ in each step of the physics, then a motor, if there is one, then the joints'
    effort limits bound it. kp, kd, scale, clip: a number, a row with one for each joint, or a table by joint, "default"
    among its names; kp and kd default to those of the file's position servos. clip: bound of |action|. joints: names in
    the order of the action; default all that have a motor. delay: (fewest, most) control steps by which actions act
    late, a whole number drawn for each episode. motor: a `DCMotor`.
    """

    scale: Any = 0.25
    kp: Any = None
    kd: Any = None
    delay: Any = (0, 0)
    joints: Sequence[str] | None = None
    motor: DCMotor | None = None
    clip: Any = None

    def drive(self, robot: Robot, start: np.ndarray) -> Drive:
        """The drive of a robot that starts at q (nq,)."""
        joints = _Joints(robot, self.joints, "JointTargets")
        kp, kd = (joints.numbers(n, x) for n, x in _servo_gains(robot, joints, self.kp, self.kd).items())
        return Drive(self, joints, start[joints.q], joints.numbers("scale", self.scale), kp, kd)


@dataclass(frozen=True, kw_only=True)
class Torques:
    """Actions are torques: scale · action [N·m, N], bounded by a motor and the joints' effort limits.

    scale: a number, a row or a table as of `JointTargets`; default the effort limits, so that ±1 is all they allow.
    joints, delay, motor, clip: as of `JointTargets`.
    """

    scale: Any = None
    delay: Any = (0, 0)
    joints: Sequence[str] | None = None
    motor: DCMotor | None = None
    clip: Any = None

    def drive(self, robot: Robot, start: np.ndarray) -> Drive:
        """The drive of a robot that starts at q (nq,)."""
        joints = _Joints(robot, self.joints, "Torques")
        scale = joints.effort if self.scale is None else joints.numbers("scale", self.scale)
        if not np.isfinite(scale).all():
            raise DalembertError("Torques: a joint has no effort limit: pass scale=… [N·m, N]")
        return Drive(self, joints, start[joints.q], scale, None, None)


class _Joints:
    """The joints that an action drives, each of one freedom."""

    def __init__(self, robot: Robot, names: Sequence[str] | None, where: str) -> None:
        model = robot.model
        if names is None:
            moved = motorized(model)
            names = [b.joint.name for b in model.independent if b.joint.nv == 1 and moved[b.v].any()]
        elif isinstance(names, str):
            names = [names]
        if not len(names):
            raise DalembertError(f"{where}: robot {robot.name!r} has no joint with a motor: name some with joints=…")
        bodies = [model.joint(name) for name in names]
        for body in bodies:
            if body.joint.nv != 1 or body.joint.nq != 1:
                raise DalembertError(
                    f"{where}: joint {body.joint.name!r} has {body.joint.nv} freedoms, expected joints with one"
                )
        self.where, self.names = where, tuple(names)
        self.q, self.v = (np.array([getattr(b, x).start for b in bodies], int) for x in ("q", "v"))
        if len(set(self.v.tolist())) < len(self.v):
            raise DalembertError(f"{where}: joints {', '.join(self.names)}: one is named twice, or follows another")
        self.effort, self.speed = robot.limits.effort[self.v], robot.limits.velocity[self.v]

    def numbers(self, what: str, value: Any) -> np.ndarray:
        """A number, row or table as one number for each joint."""
        where = f"{self.where}: {what}"
        if isinstance(value, Mapping):
            for name in value:
                if name not in (*self.names, "default"):
                    raise unknown("joint", str(name), self.names, where)
            missing = [name for name in self.names if name not in value and "default" not in value]
            if missing:
                raise DalembertError(f"{where} has no number for {missing[0]!r}, nor a 'default'")
            value = [value.get(name, value.get("default")) for name in self.names]
        try:
            row = np.broadcast_to(np.asarray(value, float), (len(self.names),)).copy()
        except (TypeError, ValueError):
            raise DalembertError(
                f"{where} is {value!r}, expected a number, {len(self.names)} numbers, or a table by joint"
            ) from None
        if not np.isfinite(row).all() or (what != "scale" and (row < 0.0).any()):
            raise DalembertError(f"{where} is {value!r}, expected finite numbers{'' if what == 'scale' else ' ≥ 0'}")
        return row


class Drive:
    """An action bound to a robot: `torque` in each step of the physics.

    kp, kd (n,): gains of servos, None: actions are torques. home (n,): joints at the start.
    """

    def __init__(self, action: Any, joints: _Joints, home: np.ndarray, scale: np.ndarray, kp: Any, kd: Any) -> None:
        self.joints, self.home, self.scale, self.kp, self.kd = joints, home, scale, kp, kd
        self.names, self.size, self.where = joints.names, len(joints.names), joints.where
        self.motor = action.motor
        if self.motor is not None:
            if not isinstance(self.motor, DCMotor):
                raise DalembertError(f"{self.where}: motor is {self.motor!r}, expected learn.DCMotor(stall, speed)")
            self.stall, self.no_load = (joints.numbers(n, getattr(self.motor, n)) for n in ("stall", "speed"))
            if not (self.no_load > 0.0).all():
                raise DalembertError(f"{self.where}: motor speed is {self.motor.speed!r}, expected above 0 [rad/s]")
        self.clip = None if action.clip is None else joints.numbers("clip", action.clip)
        self.delay = _delay(self.where, action.delay)

    def check(self, model: Model, q: np.ndarray, step: float) -> None:
        """Warn of servos that the step cannot follow: in the air, at q (nq,), their swings would grow without end."""
        if self.kp is None:
            return
        inertia, damping = (
            algorithms.mass_matrix(model, q),
            np.concatenate([b.joint.damping for b in model.independent]),
        )
        driven = np.ix_(self.joints.v, self.joints.v)

        def swings(step: float) -> tuple[float, np.ndarray]:
            """Growth of the fastest mode in a step, and its size in each joint."""
            n, mobility = self.size, np.linalg.inv(inertia + step * np.diag(damping))[driven]
            rate = np.hstack([-step * mobility * self.kp, np.eye(n) - step * mobility * self.kd])
            growth, modes = np.linalg.eig(np.vstack([np.hstack([np.eye(n), np.zeros((n, n))]) + step * rate, rate]))
            fastest = np.abs(growth).argmax()
            return abs(growth[fastest]), np.abs(modes[self.size :, fastest])

        growth, mode = swings(step)
        if growth <= STABLE:
            return
        k, longest = int(mode.argmax()), step
        while swings(longest)[0] > STABLE and longest > SHORTEST * step:
            longest *= 0.8
        servo = f"the servo of joint {self.names[k]!r} (kp={self.kp[k]:g}, kd={self.kd[k]:g})"
        warnings.warn(
            f"{self.where}: {servo} is unstable at a step of {step:g} s: swings grow {growth:.2g}-fold in each. "
            f"Lower its gains, give the joint an armature, or take step={longest:.2g} s or less",
            stacklevel=3,
        )

    def bounded(self, action: np.ndarray) -> np.ndarray:
        """An action within its bounds."""
        return action if self.clip is None else clip(action, -self.clip, self.clip)

    def torque(self, model: Model, action: np.ndarray, q: np.ndarray, v: np.ndarray, gains: Any) -> np.ndarray:
        """Forces (nv,) of the joints; gains (2 n,): factors of kp and kd, None: as stated."""
        position, rate = q[self.joints.q], v[self.joints.v]
        if self.kp is None:
            tau = self.scale * action
        else:
            kp, kd = (
                (self.kp, self.kd) if gains is None else (self.kp * gains[: self.size], self.kd * gains[self.size :])
            )
            tau = kp * (self.home + self.scale * action - position) - kd * rate
        out = np.zeros(model.nv, object)
        for k, place in enumerate(self.joints.v):
            force = tau[k]
            if self.motor is not None:
                force = self.motor.limited(force, rate[k], self.stall[k], self.no_load[k])
            limit = self.joints.effort[k]
            out[place] = clip(force, -limit, limit) if np.isfinite(limit) else force
        return out


def _delay(where: str, delay: Any) -> tuple[int, int]:
    """(fewest, most) control steps."""
    pair = (delay, delay) if is_number(delay) else delay
    whole = np.shape(pair) == (2,) and all(is_number(x) and float(x).is_integer() for x in pair)
    if isinstance(pair, Draw) or not whole or not 0 <= pair[0] <= pair[1] <= 1000:
        raise DalembertError(f"{where}: delay is {delay!r}, expected whole control steps (fewest, most), from 0 on")
    return int(pair[0]), int(pair[1])


def _servo_gains(robot: Robot, joints: _Joints, kp: Any, kd: Any) -> dict[str, Any]:
    """kp and kd, those that are not given from the position servos of the file."""
    if kp is not None and kd is not None:
        return {"kp": kp, "kd": kd}
    servos = {x.joint: x for x in robot.actuators if x.joint and x.is_servo and np.ndim(x.gear) == 0}
    missing = [name for name in joints.names if name not in servos]
    if missing and kp is None:
        raise DalembertError(
            f"JointTargets: kp is not given, and the file of robot {robot.name!r} states no position servo of joint "
            f"{missing[0]!r}: pass kp=… and kd=…"
        )
    if missing:
        return {"kp": kp, "kd": 0.0}
    found = [servos[name] for name in joints.names]
    ratio = [float(x.gear) ** 2 for x in found]
    return {
        "kp": [x.gain[0] * r for x, r in zip(found, ratio, strict=True)] if kp is None else kp,
        "kd": [-x.bias[2] * r for x, r in zip(found, ratio, strict=True)] if kd is None else kd,
    }
