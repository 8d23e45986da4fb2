"""What every writer walks over: the links of each body and what hangs on them, in the order of the model's frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.model import Body, Coupled, Frame, Joint, Model, Part
from dalembert.model.joints import Prismatic, Revolute

EFFECTS = ("armature", "damping", "friction", "stiffness", "velocity_limit", "effort_limit", "rest", "lower", "upper")


def own(joint: Joint) -> Joint:
    """The joint in its own coordinate, whether or not it follows another one."""
    return joint.joint if isinstance(joint, Coupled) else joint


def contents(model: Model) -> list[list[Body | Part | Frame]]:
    """What each body carries: bodies in their order, fixed links and frames between them.

    A reader that goes depth first meets the frames in the model's order again, if the model was read that way.
    """
    index = {frame.name: i for i, frame in enumerate(model.frames)}
    first = [_first(model, body, index) for body in model.bodies]
    for body in reversed(model.bodies[1:]):
        first[body.parent] = min(first[body.parent], first[body.index])
    carried = []
    for body in model.bodies:
        parts = {part.name: part for part in body.parts}
        fixed: list[Part | Frame] = [
            parts.get(frame.name, frame)
            for frame in model.frames
            if frame.body == body.index and frame.name != body.name
        ]
        items: list[Body | Part | Frame] = []
        for child in model.children(body.index):
            while fixed and index[fixed[0].name] < first[child]:
                items.append(fixed.pop(0))
            items.append(model.bodies[child])
        carried.append([*items, *fixed])
    return carried


def _first(model: Model, body: Body, index: dict[str, int]) -> float:
    """The place in the model's list of the first frame fixed in this body, its own frame left aside."""
    own_frames = (index[f.name] for f in model.frames if f.body == body.index and f.name != body.name)
    return min(own_frames, default=np.inf)


class Names:
    """Names that are taken; `new` gives one that is not."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def new(self, wanted: str) -> str:
        """`wanted`, with underscores behind it as long as that is taken."""
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted


def in_row(joint: Joint, names: Names) -> list[Revolute | Prismatic]:
    """A cylindrical, universal or planar joint as hinges and slides, one after the other, with the same coordinates."""
    if joint.kind == "universal":
        steps: list[tuple[type, np.ndarray]] = [(Revolute, joint.axis), (Revolute, joint.axis2)]  # type: ignore[attr-defined]
    elif joint.kind == "cylindrical":
        steps = [(Revolute, joint.axis), (Prismatic, joint.axis)]  # type: ignore[attr-defined]
    else:
        x, y = joint.basis()  # type: ignore[attr-defined]
        steps = [(Prismatic, x), (Prismatic, y), (Revolute, joint.axis)]  # type: ignore[attr-defined]
    made = []
    for k, (kind, axis) in enumerate(steps):
        effects = {field: getattr(joint, field)[k] for field in EFFECTS}
        name = names.new(f"{joint.name}_{k + 1}")
        made.append(kind(name=name, axis=axis, slip_speed=joint.slip_speed, **effects))
    return made
