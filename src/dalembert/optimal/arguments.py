"""The arguments of a solve: the first state and the parameters, checked."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot

CLOSED = 1e-6  # m or rad, and per second, by which loops may be open; how far quaternions may be from length 1

DEFAULTS = {"impact": np.zeros(1)}  # of parameters that may be left out: no node is an impact


class Arguments:
    """Shapes that the arguments of a problem must have. parameters: sizes; unknowns: those that the plan chooses."""

    def __init__(self, robot: Robot, nodes: int, parameters: Mapping[str, int], unknowns: Mapping[str, int]) -> None:
        self.robot, self.parameters, self.unknowns = robot, parameters, unknowns
        self.nq, self.nv = robot.nq, robot.nv
        self.quaternions, self.has_loops = robot.model.quaternions, bool(robot.model.closures)
        self.expected_q = f"expected ({self.nq},) for robot {robot.name!r}"
        self.expected_v = f"expected ({self.nv},) for robot {robot.name!r}"
        self.shapes = {name: ((size,), (nodes + 1, size)) for name, size in parameters.items()}
        self.expected = {
            name: f"expected ({size},), or ({nodes + 1}, {size}) with a row for each node"
            for name, size in parameters.items()
        }

    def state(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """The first state as fresh arrays (nq,), (nv,); at rest where v is None."""
        position = real_array("solve: q", q, self.expected_q).astype(float)
        if position.shape != (self.nq,):
            raise DalembertError(f"solve: q has shape {position.shape}, {self.expected_q}")
        _check_finite("q", position)
        if v is None:
            velocity = np.zeros(self.nv)
        else:
            velocity = real_array("solve: v", v, self.expected_v).astype(float)
            if velocity.shape != (self.nv,):
                raise DalembertError(f"solve: v has shape {velocity.shape}, {self.expected_v}")
            _check_finite("v", velocity)
        for joint, place in self.quaternions:
            length = np.linalg.norm(position[place])
            if abs(length - 1.0) > CLOSED:
                raise DalembertError(
                    f"solve: the quaternion of joint {joint!r} has length {length:.6g}, expected 1: "
                    "use robot.normalize(q)"
                )
        if self.has_loops:
            self._check_loops(position, velocity)
        return position, velocity

    def _check_loops(self, q: np.ndarray, v: np.ndarray) -> None:
        rows = algorithms.constraints(self.robot.model, q, v)
        for what, size in (("open by", rows.residual), ("opening at a rate of", rows.J @ v)):
            worst = float(np.max(np.abs(np.asarray(size, float)), initial=0.0))
            if worst > CLOSED:
                raise DalembertError(
                    f"solve: the loops of robot {self.robot.name!r} are {what} {worst:.3g}, expected closed: q = "
                    "robot.close_loops(q), and a velocity that keeps them so"
                )

    def values(self, parameters: Mapping[str, Any], missing_allowed: bool = False) -> dict[str, np.ndarray]:
        """Parameters as fresh arrays: (size,) for all nodes, or rows (nodes + 1, size)."""
        for name in parameters:
            if name not in self.parameters:
                raise unknown("parameter", name, self.parameters, "optimal control")
        rows = {}
        for name, size in self.parameters.items():
            if name not in parameters:
                if not missing_allowed and name not in DEFAULTS:
                    raise DalembertError(f"solve: parameter {name!r} is missing: pass {name}=… ({size} numbers)")
                if not missing_allowed:
                    rows[name] = DEFAULTS[name]
                continue
            x = real_array(f"solve: {name}", parameters[name], self.expected[name]).astype(float)
            x = x[None] if x.ndim == 0 and size == 1 else x
            if name in self.unknowns and x.shape != (size,):
                raise DalembertError(
                    f"solve: {name} has shape {x.shape}, expected ({size},): the plan chooses one value for all nodes"
                )
            if x.shape not in self.shapes[name]:
                raise DalembertError(f"solve: {name} has shape {x.shape}, {self.expected[name]}")
            _check_finite(name, x)
            rows[name] = x
        return rows


def _check_finite(name: str, x: np.ndarray) -> None:
    total = sum(x.tolist()) if x.ndim == 1 else x.sum()  # of few numbers Python's sum is the faster one
    if isfinite(total):
        return
    bad = ~np.isfinite(x)
    if bad.any():  # else it is the sum that overflows
        place = tuple(int(k) for k in np.argwhere(bad)[0])
        label = f"{name}[{', '.join(map(str, place))}]"
        raise DalembertError(f"solve: {label} is {x[place]}, expected finite numbers")
