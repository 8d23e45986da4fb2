"""The reference of a law: a motion, or a configuration that is held; and how far the robot is from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics.algorithms import difference
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.spatial.vectors import cross_motion


class Reference(Protocol):
    """A motion: q (nq,), v (nv,), a (nv,) at a time t [s], of numbers or traced scalars."""

    def q(self, t: Any) -> np.ndarray: ...

    def v(self, t: Any) -> np.ndarray: ...

    def a(self, t: Any) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Hold:
    """A configuration (nq,) that is held."""

    configuration: np.ndarray
    nv: int

    def q(self, t: Any) -> np.ndarray:
        """The configuration (nq,)."""
        return self.configuration

    def v(self, t: Any) -> np.ndarray:
        """Zero (nv,)."""
        return np.zeros(self.nv)

    def a(self, t: Any) -> np.ndarray:
        """Zero (nv,)."""
        return np.zeros(self.nv)


def reference(where: str, robot: Robot, move: Any) -> Reference:
    """A motion as it is, or a configuration q (nq,) to hold."""
    if all(callable(getattr(move, name, None)) for name in ("q", "v", "a")):
        sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv}
        for name, size in sizes.items():
            shape = np.shape(getattr(move, name)(0.0))
            if shape != (size,):
                raise DalembertError(
                    f"{where}: the motion's {name}(t) has shape {shape}, expected ({size},) for robot {robot.name!r}"
                )
        return move
    expected = f"expected a motion with q(t), v(t), a(t), or a configuration ({robot.nq},) of robot {robot.name!r}"
    if isinstance(move, str) or callable(move):
        raise DalembertError(f"{where}: got {type(move).__name__}, {expected}")
    q = real_array(f"{where}: the configuration to hold", move, expected).astype(float)
    if q.shape != (robot.nq,) or not np.isfinite(q).all():
        raise DalembertError(f"{where}: the configuration to hold is {q}, {expected}")
    return Hold(robot.normalize(q), robot.nv)


class Deviation(NamedTuple):
    """How far a state is behind its reference, in the robot's own tangent coordinates (nv,) each.

    e: displacement that leads to the reference; v, a: velocity and acceleration of the reference as the robot's own
    axes see them; v − (velocity of the robot) is the rate at which it gets away.
    """

    e: np.ndarray
    v: np.ndarray
    a: np.ndarray


def deviation(model: Model, target: Reference, t: Any, q: np.ndarray, v: np.ndarray) -> Deviation:
    """How far the state (q, v) is from the reference at a time.

    A ball or free joint has its velocities in body axes, and the reference turns against the body: with X from the body
    to the reference, V' = X V_d and A' = X A_d − V × V'.
    """
    q_d, v_d, a_d = np.asarray(target.q(t)), np.asarray(target.v(t)), np.asarray(target.a(t))
    e = difference(model, q, q_d)
    if model.flat:
        return Deviation(e, v_d, a_d)
    v_seen, a_seen = np.array(v_d, object), np.array(a_d, object)
    for body in model.independent:
        joint = body.joint
        if joint.flat:
            continue
        X = joint.pose(q[body.q]).inverse() @ joint.pose(q_d[body.q])
        S_d, S = joint.subspace(q_d[body.q]), joint.subspace(q[body.q])
        V = X.motion(S_d @ v_d[body.v])
        A = X.motion(S_d @ a_d[body.v]) - cross_motion(S @ v[body.v], V)
        v_seen[body.v], a_seen[body.v] = S.T @ V, S.T @ A
    kind = np.result_type(q, v, q_d, v_d, a_d, np.asarray(t))
    return Deviation(e, v_seen.astype(kind), a_seen.astype(kind))
