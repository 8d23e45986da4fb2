"""The maker's calibration of one arm: Denavit-Hartenberg parameters of its own, from a file of the maker.

Universal Robots' `calibration.conf` has differences from the nominal table of the type (delta_theta, delta_a, delta_d,
delta_alpha), a printout of the driver the parameters themselves (dh_theta …). Two neighbouring joints of these arms are
parallel, so that their places along their axes can be hundreds of metres off, against each other: each link stays where
it was along its axis, as near as the calibrated axis passes.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import neutral, poses
from dalembert.errors import DalembertError
from dalembert.model import LinkPlan, Model
from dalembert.spatial import Pose, so3

from .change import Change
from .parameters import set_placement

JOINTS, NEAR = 6, 2e-3  # rad and m by which a robot's axes may be off its type's table
ENTRY = re.compile(r"^\s*(delta|dh)_(theta|a|d|alpha)\s*[:=]\s*\[([^\]]*)\]", re.MULTILINE)
ALPHA = (0.5 * np.pi, 0.0, 0.0, 0.5 * np.pi, -0.5 * np.pi, 0.0)


class CalibrationTable(NamedTuple):
    """Standard parameters of each joint (6,): theta [rad], a [m], d [m], alpha [rad]."""

    theta: np.ndarray
    a: np.ndarray
    d: np.ndarray
    alpha: np.ndarray

    def frames(self, base: Pose) -> list[Pose]:
        """Frames 0 … 6 with all joints at 0."""
        made = [base]
        for theta, a, d, alpha in zip(*self, strict=True):
            turned = made[-1] @ Pose(so3.from_rpy(0.0, 0.0, theta), np.array([0.0, 0.0, d]))
            made.append(turned @ Pose(so3.from_rpy(alpha, 0.0, 0.0), np.array([a, 0.0, 0.0])))
        return made


def _nominal(d1: float, a2: float, a3: float, d4: float, d5: float, d6: float) -> CalibrationTable:
    a, d = [0.0, a2, a3, 0.0, 0.0, 0.0], [d1, 0.0, 0.0, d4, d5, d6]
    return CalibrationTable(np.zeros(JOINTS), np.array(a), np.array(d), np.array(ALPHA))


TYPES = {
    "UR3": _nominal(0.1519, -0.24365, -0.21325, 0.11235, 0.08535, 0.0819),
    "UR5": _nominal(0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823),
    "UR10": _nominal(0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922),
    "UR3e": _nominal(0.15185, -0.24355, -0.2132, 0.13105, 0.08535, 0.0921),
    "UR5e": _nominal(0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996),
    "UR10e": _nominal(0.1807, -0.6127, -0.57155, 0.17415, 0.11985, 0.11655),
}


def calibrate(plan: LinkPlan, path: str | os.PathLike[str]) -> Change:
    """Place the joints of an arm where its maker measured them."""
    model = plan.model()
    links, axes = _axes(model)
    name, base, nominal = _fitting(model, axes)
    table = _read(path, nominal)
    if abs(table.a[-1] - nominal.a[-1]) + abs(table.alpha[-1] - nominal.alpha[-1]) > 0.0:
        raise DalembertError(f"{path}: a and alpha of the last joint differ from 0: they belong to the tool")
    before, after = nominal.frames(base), table.frames(base)
    now, placed = poses(model, neutral(model)), []
    for k, link in enumerate(links):
        fixed = before[k].inverse() @ now[model.frame(link).body]
        turn = Pose(so3.from_rpy(0.0, 0.0, table.theta[k] - nominal.theta[k]), np.zeros(3))
        put = after[k] @ turn @ fixed
        along = after[k].R[:, 2]
        slide = table.d[-1] - nominal.d[-1] if k == JOINTS - 1 else along @ (now[model.frame(link).body].p - put.p)
        placed.append(Pose(put.R, put.p + slide * along))
    bodies = [model.bodies[model.frame(link).body] for link in links]
    furthest = max(float(np.linalg.norm(x.p - now[body.index].p)) for x, body in zip(placed, bodies, strict=True))
    carrier = now[bodies[0].parent] if bodies[0].parent >= 0 else Pose.identity()
    for link, pose in zip(links, placed, strict=True):
        set_placement(plan, link, None, None, carrier.inverse() @ pose)
        carrier = pose
    what = f"calibrated as a {name} by {Path(path).name}"
    return Change(plan, what, f"joints move by up to {1e3 * furthest:.3g} mm", relative_to=None)


def _axes(model: Model) -> tuple[list[str], list[tuple[np.ndarray, np.ndarray]]]:
    """Links of the first six turning joints, and for each a point and the direction of its axis, with all at 0."""
    now = poses(model, neutral(model))
    turning = [body for body in model.bodies if body.joint.nv == 1 and body.joint.kind in ("revolute", "continuous")]
    chain = turning[:JOINTS]
    if len(chain) < JOINTS or any(y.parent != x.index for x, y in pairwise(chain)):
        raise DalembertError(f"calibrate: robot {model.name!r} does not begin with six turning joints in a row")
    along = [now[body.index].R @ np.asarray(body.joint.subspace(np.zeros(1)), float)[:3, 0] for body in chain]
    return [body.name for body in chain], [(now[b.index].p, z) for b, z in zip(chain, along, strict=True)]


def _fitting(model: Model, axes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[str, Pose, CalibrationTable]:
    """The type whose table has these axes, and where its frame 0 is."""
    (p0, z0), (p1, z1) = axes[:2]
    missed = {}
    for name, table in TYPES.items():
        s = (p1 - p0) @ z0  # the second axis crosses the first at a right angle
        base = Pose(np.column_stack([np.cross(-z1, z0), -z1, z0]), p0 + (s - table.d[0]) * z0)
        off = [
            max(float(np.linalg.norm(np.cross(frame.R[:, 2], z))), float(frame.R[:, 2] @ z < 0.0), _apart(frame, p))
            for frame, (p, z) in zip(table.frames(base), axes, strict=False)
        ]
        missed[name] = max(off)
        if missed[name] < NEAR:
            return name, base, table
    nearest = min(missed, key=lambda name: missed[name])
    raise DalembertError(
        f"calibrate: robot {model.name!r} is no arm of Universal Robots with all joints at 0: from a {nearest}, the "
        f"nearest, an axis is {missed[nearest]:.3g} m or rad away"
    )


def _apart(frame: Pose, point: np.ndarray) -> float:
    """Distance [m] of a point from the frame's z axis."""
    return float(np.linalg.norm(np.cross(frame.R[:, 2], point - frame.p)))


def _read(path: str | os.PathLike[str], nominal: CalibrationTable) -> CalibrationTable:
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DalembertError(f"{path}: cannot be read: {error}") from None
    found: dict[str, dict[str, np.ndarray]] = {"delta": {}, "dh": {}}
    for kind, what, numbers in ENTRY.findall(text):
        try:
            values = np.array([float(word) for word in numbers.replace(",", " ").split()])
        except ValueError:
            raise DalembertError(
                f"{path}: {kind}_{what} has an entry that is not a number: {numbers.strip()}"
            ) from None
        if values.shape != (JOINTS,) or not np.isfinite(values).all():
            raise DalembertError(f"{path}: {kind}_{what} has {values.size} numbers, expected {JOINTS}, all finite")
        found[kind][what] = values
    kind = "delta" if found["delta"] else "dh"
    if missing := [f"{kind}_{what}" for what in CalibrationTable._fields if what not in found[kind]]:
        raise DalembertError(f"{path}: has no {', '.join(missing)}, expected those of Universal Robots' calibration")
    stated = CalibrationTable(**found[kind])
    return stated if kind == "dh" else CalibrationTable(*(x + y for x, y in zip(nominal, stated, strict=True)))
