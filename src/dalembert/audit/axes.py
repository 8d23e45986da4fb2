"""Rules on joint axes: against mirror images, names, wheels and neighbouring joints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.model import Body
from dalembert.model.geometry import Cylinder
from dalembert.spatial import Pose

from .classes import SPINNING, mentions, mirror_name, mirrored_names, words
from .rule import Found, NotRun, demand, rule
from .subject import Subject

ALIKE = 0.15  # of a unit vector's entries: axes that differ by more are others
MEANT = {"roll": 0, "pitch": 1, "yaw": 2, "pan": 2}
AGREE = 2  # joints whose names fit their axes before one that does not is reported
ON_LINE = 1e-3  # of the distance between neighbours' origins, or m: axes on one line
WHEEL = 0.02  # of its diameter: how far a wheel's centre may be from its joint


class TurningAxis(NamedTuple):
    """A revolute joint's axis in the world, a unit vector through a point, with all joints at zero."""

    body: Body
    axis: np.ndarray
    point: np.ndarray


def turning_axes(subject: Subject) -> list[TurningAxis]:
    model = subject.model
    q = algorithms.neutral(model)
    poses = algorithms.poses(model, q)
    axes = []
    for body in model.bodies:
        if body.joint.nv == 1 and body.joint.uncoupled.units == ("rad",):
            S = body.joint.subspace(q[body.q])[:, 0]
            size = np.linalg.norm(S[:3])
            if size > 0.0:
                X = poses[body.index]
                axes.append(TurningAxis(body, X.R @ S[:3] / size, X.p))
    return axes


@rule(
    "axis-mirror",
    "authoring",
    "warning",
    reason="left and right limbs are mirror images: their axes differ in signs at most",
    cure="compare the <axis> and <origin rpy> of the two joints",
)
def mirrored(subject: Subject) -> Iterator[Found]:
    axes = {turning.body.joint.name: turning.axis for turning in turning_axes(subject)}
    sides = mirrored_names(axes)
    for name, other in demand(sides, "no two turning joints are named as left and right"):
        axis = axes[name]
        if np.max(np.abs(np.abs(axis) - np.abs(axes[other]))) > ALIKE:
            yield Found(f"joints '{name}' and '{other}'", f"turn about {_text(axis)} and {_text(axes[other])}")


@rule(
    "axis-name",
    "authoring",
    "warning",
    reason="joints named roll, pitch and yaw turn about x, y and z of the robot; one that does not has a wrong axis",
    cure="check the <axis> and the <origin rpy> of the joint, or its name",
)
def named(subject: Subject) -> Iterator[Found | NotRun]:
    fitting, odd = 0, []
    axes = turning_axes(subject)
    names = {turning.body.joint.name for turning in axes}
    sides = {name for name in names if mirror_name(name) in names} | {mirror_name(name) for name in names}
    for turning in axes:
        if turning.body.joint.name in sides:
            continue  # both sides equal: a design; one side: reported by axis-mirror
        meant = {MEANT[word] for word in words(turning.body.joint.name) if word in MEANT}
        if len(meant) != 1:
            continue
        (k,) = meant
        if abs(turning.axis[k]) > 0.7:
            fitting += 1
        elif abs(turning.axis[k]) < 0.3:
            odd.append((turning, k))
    if fitting < AGREE or len(odd) > 1:
        raise NotRun("too few joints turn about the axis that their names say (roll, pitch, yaw) to judge by")
    for turning, k in odd:
        joint = turning.body.joint.name
        yield Found(f"joint '{joint}'", f"turns about {_text(turning.axis)}, not about {'xyz'[k]} as its name says")


@rule(
    "axis-coincident",
    "authoring",
    "warning",
    reason="two joints in a row that turn about one line move the robot as one does: an axis is wrong, or one too many",
    cure="check the <axis> and the <origin> of both joints",
)
def coincident(subject: Subject) -> Iterator[Found]:
    axes = {turning.body.index: turning for turning in turning_axes(subject)}
    in_a_row = [(axes[one.body.parent], one) for one in axes.values() if one.body.parent in axes]
    for parent, turning in demand(in_a_row, "no two turning joints follow one another"):
        if turning.body.joint.mimic is not None or parent.body.joint.mimic is not None:
            continue
        if len(subject.model.children(parent.body.index)) > 1:
            continue  # the first joint moves more than the second, as a trunk below a neck
        apart = turning.point - parent.point
        off_line = np.linalg.norm(np.cross(apart, parent.axis))
        if np.linalg.norm(np.cross(turning.axis, parent.axis)) < ON_LINE and off_line < ON_LINE * max(
            1.0, float(np.linalg.norm(apart))
        ):
            names = f"'{parent.body.joint.name}' and '{turning.body.joint.name}'"
            yield Found(f"joints {names}", f"turn about the same line, along {_text(turning.axis)}")


@rule(
    "axis-wheel",
    "authoring",
    "warning",
    reason="a disc on a joint without limits, centred on it, is a wheel, and wheels turn about their own axis",
    cure="check the <axis> of the joint, or the orientation of the disc",
)
def wheels(subject: Subject) -> Iterator[Found]:
    discs = [(turning.body, disc) for turning in turning_axes(subject) if (disc := _disc(turning.body)) is not None]
    for body, X in demand(discs, "no joint without limits turns a disc"):
        axis = body.joint.subspace(body.joint.neutral())[:3, 0]
        if abs(X.R[:, 2] @ axis) < 0.5:
            yield Found(f"joint '{body.joint.name}'", f"turns the disc '{body.name}' about an axis across it")


def _disc(body: Body) -> Pose | None:
    """Where a wheel has its first disc that is centred on its joint, in the body; None of other bodies."""
    if body.joint.limited and not mentions((body.name, body.joint.name), SPINNING):
        return None
    for geometry in body.parts[0].geometry:
        if isinstance(geometry.shape, Cylinder) and geometry.shape.length < 2.0 * geometry.shape.radius:
            X = body.parts[0].placement @ geometry.placement
            if np.linalg.norm(X.p) <= WHEEL * 2.0 * geometry.shape.radius:
                return X
    return None


def _text(axis: np.ndarray) -> str:
    rounded = np.round(axis, 2) + 0.0
    return "(" + ", ".join(f"{x:g}" for x in rounded) + ")"
