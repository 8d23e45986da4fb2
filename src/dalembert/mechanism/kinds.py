"""The kinds of joints: what each leaves free, what carries it in a tree of joints, and what closes a loop with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import atan2
from dalembert.model.closures import CLOSURES, across
from dalembert.spatial import Pose, so3

Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class JointKind:
    """freedoms: that it leaves; tree: the type of joint that carries a body, or None; closure: what closes a loop.

    shape: what it is given beside its two points, of axis, axis2, pitch and length.
    """

    freedoms: int
    tree: str | None
    closure: str
    shape: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Equations between the two points."""
        return CLOSURES[self.closure].count


KINDS: dict[str, JointKind] = {
    "fixed": JointKind(0, "fixed", "weld"),
    "revolute": JointKind(1, "revolute", "revolute", ("axis",)),
    "prismatic": JointKind(1, "prismatic", "prismatic", ("axis",)),
    "screw": JointKind(1, "screw", "screw", ("axis", "pitch")),
    "cylindrical": JointKind(2, "cylindrical", "cylindrical", ("axis",)),
    "universal": JointKind(2, "universal", "universal", ("axis", "axis2")),
    "spherical": JointKind(3, "ball", "point"),
    "planar": JointKind(3, "planar", "planar", ("axis",)),
    "point-on-line": JointKind(4, None, "point-on-line", ("axis",)),
    "point-on-plane": JointKind(5, None, "point-on-plane", ("axis",)),
    "distance": JointKind(5, None, "distance", ("length",)),
}
COUNTED = ("revolute", "prismatic", "screw")  # kinds with one coordinate


def coordinates(kind: str, shape: dict[str, Any], X_KL: Pose) -> np.ndarray:
    """Coordinates (nq,) of a joint in a tree that bring the frame of its body nearest to X_KL, seen from the parent."""
    p, R = X_KL.p, X_KL.R
    if kind == "fixed":
        return np.zeros(0)
    if kind == "spherical":
        return so3.to_quaternion(R)
    axis = shape["axis"]
    if kind == "prismatic":
        return np.array([axis @ p])
    if kind == "universal":
        return _universal(axis, shape["axis2"], R)
    angle = turn(axis, R)
    if kind == "cylindrical":
        return np.array([angle, axis @ p])
    if kind == "planar":
        x, y = _planar_axes(axis)
        return np.array([x @ p, y @ p, angle])
    if kind == "screw":  # as many turns as the advance tells
        whole = np.round((axis @ p / shape["pitch"] - angle) / (2.0 * np.pi))
        return np.array([angle + 2.0 * np.pi * whole])
    return np.array([angle])


def turn(axis: np.ndarray, R: np.ndarray) -> Any:
    """The angle [rad] about `axis` of a rotation that leaves it nearly where it is."""
    t, s = across(axis)
    return atan2(s @ (R @ t) - t @ (R @ s), t @ (R @ t) + s @ (R @ s))


def _universal(axis: np.ndarray, axis2: np.ndarray, R: np.ndarray) -> np.ndarray:
    best = np.zeros(2)
    for _ in range(20):  # Gauss-Newton on the rotation that is missing
        reached = so3.about_axis(axis, best[0]) @ so3.about_axis(axis2, best[1])
        missing = so3.log(reached.T @ R)
        columns = np.stack([so3.about_axis(axis2, best[1]).T @ axis, axis2], axis=1)
        step = np.linalg.lstsq(columns, missing, rcond=None)[0]
        best = best + step
        if np.max(np.abs(step)) < 1e-9:
            break
    return best


def _planar_axes(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    following = np.eye(3)[(np.argmax(np.abs(axis)) + 1) % 3]
    x = following - (following @ axis) * axis
    x = x / np.linalg.norm(x)
    return x, np.cross(axis, x)


def unit(value: Any, where: str, what: str) -> np.ndarray:
    """A direction of length 1."""
    direction = numbers(value, where, what)
    size = float(np.linalg.norm(direction))
    if not size > 0.0:
        raise DalembertError(f"{where}: {what} is {value!r}, expected a direction such as (0, 0, 1)")
    direction = direction / size
    return np.where(np.abs(direction) < 1e-15, 0.0, direction)


def numbers(value: Any, where: str, what: str, shape: tuple[int, ...] = (3,)) -> np.ndarray:
    """Finite numbers of that shape; two numbers are a point or direction of the x-y plane."""
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if shape == (3,) and array.shape == (2,):
        array = np.append(array, 0.0)
    if array.shape != shape or not np.all(np.isfinite(array)):
        count = "a finite number" if shape == () else f"{' × '.join(map(str, shape))} finite numbers"
        raise DalembertError(f"{where}: {what} is {value!r}, expected {count}")
    return array
