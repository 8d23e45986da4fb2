"""Statements about a mechanism as numbers: inertias, places, compliances, profiles of cams."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from dalembert.spatial import Pose, so3

from .kinds import numbers

SHAPES: dict[str, tuple[Callable[..., Shape], tuple[str, ...]]] = {
    "sphere": (Sphere, ("radius",)),
    "box": (Box, ("size",)),
    "cylinder": (Cylinder, ("radius", "length")),
    "capsule": (Capsule, ("radius", "length")),
}
SYMMETRIC = 1e-9  # share of an inertia tensor by which its halves may differ
SAMPLES = 360  # at which a cam's profile that is a function is taken


def inertia_stated(value: Any, where: str) -> np.ndarray:
    """(3, 3) about the centre of mass."""
    if value is None:
        return np.zeros((3, 3))
    size = np.ndim(value) if not isinstance(value, str) else -1
    if size == 0:
        about_z = float(numbers(value, where, "inertia", ()))
        return np.diag([0.5 * about_z, 0.5 * about_z, about_z])
    if size == 1:
        if len(value) != 3:
            raise DalembertError(f"{where}: inertia is {value!r}, expected 3 principal moments, or one about z [kg·m²]")
        return np.diag(numbers(value, where, "inertia"))
    tensor = numbers(value, where, "inertia", (3, 3))
    if np.max(np.abs(tensor - tensor.T)) > SYMMETRIC * np.max(np.abs(tensor)):
        raise DalembertError(f"{where}: inertia is {tensor.tolist()}, expected a symmetric matrix [kg·m²]")
    return tensor


def place_stated(place: Any, rpy: Any, where: str) -> Pose:
    if isinstance(place, Pose):
        return place
    if rpy is None and isinstance(place, (tuple, list)) and len(place) == 2 and np.ndim(place[0]) == 1:
        place, rpy = place
    p = numbers(place, where, "position")
    return Pose(np.eye(3), p) if rpy is None else Pose(so3.from_rpy(*numbers(rpy, where, "rpy")), p)


def compliance_stated(value: Any, where: str) -> tuple[float, float] | None:
    if value is None:
        return None
    pair = (value, value) if np.ndim(value) == 0 else value
    linear, angular = (float(x) for x in numbers(pair, where, "compliance", (2,)))
    if not (linear > 0.0 and angular > 0.0):
        raise DalembertError(f"{where}: compliance is {value!r}, expected numbers above 0 [m/N, rad/(N·m)]")
    return linear, angular


def shape_stated(kind: str, sizes: dict[str, Any], where: str) -> Shape:
    """A shape of a kind and its sizes [m]."""
    if kind not in SHAPES:
        raise unknown("shape", kind, SHAPES, where)
    make, names = SHAPES[kind]
    if set(sizes) != set(names):
        raise DalembertError(
            f"{where}: a {kind} is stated by {' and '.join(names)}, got {', '.join(sizes) or 'nothing'}: write them as "
            f"{', '.join(f'{name}=…' for name in names)} [m]"
        )
    lengths = [numbers(sizes[name], where, name, (3,) if name == "size" else ()) for name in names]
    if not all(np.all(x > 0.0) for x in lengths):
        raise DalembertError(f"{where}: sizes of a {kind} are {sizes!r}, expected lengths above 0 [m]")
    return make(*(x if x.ndim else float(x) for x in lengths))


def lift_stated(lift: Any, where: str) -> np.ndarray:
    """The lift at equal parts of a turn, the last one left out: it is the first again."""
    if callable(lift):
        angles = np.linspace(0.0, 2.0 * np.pi, SAMPLES + 1)
        values = np.array([float(lift(angle)) for angle in angles])
    else:
        try:
            rows = np.array(lift, float)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        if rows.ndim != 2 or rows.shape[1] != 2 or len(rows) < 5:
            raise DalembertError(f"{where}: lift is {lift!r}, expected five or more rows (angle, lift) from 0 to 2π")
        even = np.linspace(0.0, 2.0 * np.pi, len(rows))
        if np.max(np.abs(rows[:, 0] - even)) > 1e-3:
            raise DalembertError(f"{where}: angles must run from 0 to 2π at equal distances, got {rows[:, 0].tolist()}")
        values = rows[:, 1]
    if not np.all(np.isfinite(values)):
        raise DalembertError(f"{where}: the lift is not finite everywhere")
    gap, scale = abs(values[-1] - values[0]), max(float(np.ptp(values)), 1e-9)
    if gap > 1e-6 * scale:
        raise DalembertError(
            f"{where}: the cam is not closed: its lift is {values[0]:g} at 0 and {values[-1]:g} at 2π, expected "
            "the same"
        )
    return values[:-1]


def law_stated(law: Any, where: str, what: str, arguments: tuple[str, ...], shape: tuple[int, ...] = ()) -> Any:
    """Numbers, or a function of the arguments that gives as many."""
    if not callable(law):
        values = numbers(law, where, what, shape)
        return tuple(values.tolist()) if shape else float(values)
    try:
        inspect.signature(law).bind(*arguments)
    except TypeError:
        raise DalembertError(
            f"{where}: {what} is a function of {inspect.signature(law)}, expected ({', '.join(arguments)})"
        ) from None
    except ValueError:  # builtins without a signature
        pass
    return law
