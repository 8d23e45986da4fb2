"""The walk of every writer: the links of each body and what they carry, in the order of the model's frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dalembert.model import Body, Frame, Joint, Model, Part
from dalembert.model.joints import Step
from dalembert.model.joints.joint import snapped
from dalembert.spatial import Pose

from ..urdf.joints import FURTHER
from .losses import Losses
from .text import tidied


@dataclass(frozen=True)
class Item:
    """A moving body, a fixed link or a frame, and X_ML, the pose of its (or its joint's) frame in the carrying link."""

    what: Body | Part | Frame
    placement: Pose


Carried = Body | Part | Frame


def contents(model: Model) -> dict[str, list[Item]]:
    """The items that each link carries, ordered so that a depth-first reader meets the bodies in the model's order.

    It also meets the frames in the model's order, if the model was itself read that way.
    """
    seats = _seats(model, mounted=True)
    names = [body.name for body in model.bodies]
    if [name for name in _outward(model, seats) if name in set(names)] != names:  # mounts that edits have mixed up
        seats = _seats(model, mounted=False)
    links = {part.name: part for body in model.bodies for part in body.parts}
    return {
        name: [Item(item, _relative(links[name].placement, item.placement)) for item in items]
        for name, items in seats.items()
    }


def _seats(model: Model, mounted: bool) -> dict[str, list[Carried]]:
    """The items on each link, in order. mounted: also on fixed links; otherwise all on the body's main link."""
    links = {part.name: part for body in model.bodies for part in body.parts}
    home = {part.name: body.index for body in model.bodies for part in body.parts}
    seats: dict[str, list[Carried]] = {name: [] for name in links}

    def sit(item: Carried, body: int) -> None:
        kept = mounted and home.get(item.mount) == body
        seats[item.mount if kept else model.bodies[body].name].append(item)

    for frame in model.frames[len(model.bodies) :]:
        sit(links.get(frame.name, frame), frame.body)
    for body in model.bodies[1:]:
        sit(body, body.parent)
    place = {frame.name: (float(i), np.inf) for i, frame in enumerate(model.frames)}
    place |= {body.name: (np.inf, float(body.index)) for body in model.bodies}
    for name in reversed(list(_outward(model, seats))):  # first frame and first body of each subtree
        inside = [place[name], *(place[item.name] for item in seats.get(name, []))]
        place[name] = min(frame for frame, _ in inside), min(body for _, body in inside)
    return {name: _sorted(items, place) for name, items in seats.items()}


def _outward(model: Model, seats: dict[str, list[Carried]]) -> Iterator[str]:
    """The names of all links and frames, depth first."""
    stack = [model.bodies[0].name]
    while stack:
        name = stack.pop()
        yield name
        stack += [item.name for item in reversed(seats.get(name, []))]


def _sorted(items: list[Carried], place: dict[str, tuple[float, float]]) -> list[Carried]:
    """Subtrees with bodies by their first body; the others between them by their first frame."""
    moving = sorted((item for item in items if place[item.name][1] < np.inf), key=lambda item: place[item.name][1])
    still = sorted((item for item in items if place[item.name][1] == np.inf), key=lambda item: place[item.name][0])
    merged: list[Carried] = []
    for k, item in enumerate(moving):
        reached = min(place[later.name][0] for later in moving[k:])
        while still and place[still[0].name][0] < reached:
            merged.append(still.pop(0))
        merged.append(item)
    return [*merged, *still]


def _relative(X_BM: Pose, X_BL: Pose) -> Pose:
    """X_ML; unchanged for the body's main link."""
    if not np.any(X_BM.matrix() - np.eye(4)):
        return X_BL
    X = X_BM.inverse() @ X_BL
    return Pose(snapped(X.R), tidied(X.p, float(np.max(np.abs([X_BM.p, X_BL.p])))))


class UniqueNames:
    """Names in use; `new` returns an unused one."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def new(self, wanted: str) -> str:
        """`wanted`, with underscores appended until it is unused."""
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted


def further_limits(joint: Joint) -> dict[str, float]:
    """Limits of acceleration and jerk of a joint of one freedom, by their words; deceleration where it differs."""
    values = {word: float(getattr(joint, field)[0]) for word, field in FURTHER.items()}
    differs = values["deceleration"] != values["acceleration"]
    return {word: x for word, x in values.items() if (differs if word == "deceleration" else np.isfinite(x))}


def in_row(joint: Joint, names: UniqueNames) -> list[Step]:
    """Hinges and slides equivalent to a joint, with the same coordinates and with unused names.

    The first one follows the leader of the joint. Empty where the joint's type has no such row.
    """
    steps = []
    for step in joint.uncoupled.row():
        same = step.joint.name == joint.name
        simple = step.joint if same else replace(step.joint, name=names.new(step.joint.name))
        steps.append(Step(simple, joint.mimic if same else step.mimic))
    return steps


def spread(joint: Joint, names: UniqueNames, format: str, losses: Losses, fits: bool = True) -> list[Step]:
    """The joint itself if the format has it, else its row, with massless links between; empty: it has neither.

    fits: False where the format has such joints, but not this one.
    """
    simple = joint.uncoupled
    if fits and format in simple.keywords:
        return [Step(simple, joint.mimic)]
    row = in_row(joint, names)
    if not row:
        losses.refuse_joint(simple, format)
        return []
    joints = f"joints in a row, with massless links between them: {row_in_words(simple, format)}"
    losses.change(
        "joint", simple.name, f"{losses.language} has no {'' if fits else 'such '}{simple.kind} joint", joints
    )
    return row


def row_in_words(joint: Joint, language: str) -> str:
    """The joints of a row, as in "revolute, prismatic (_1, _2 behind the name)"."""
    steps = joint.uncoupled.row()
    words = ", ".join(step.joint.keywords[language] + (" that follows" if step.mimic else "") for step in steps)
    suffixes = [step.joint.name.removeprefix(joint.name) for step in steps if step.joint.name != joint.name]
    return words + (f" ({', '.join(suffixes)} behind the name)" if suffixes else "")
