"""The frame that carries a tool or a payload where the user names none, and a check of the one that is named."""

from __future__ import annotations

import re

from dalembert.errors import DalembertError

from .frame import Frame
from .model import Body, Model

# words in the names of tool frames, best first
WORDS = ("tcp", "tool", "ee", "eef", "effector", "flange", "gripper", "hand")


def tool_frame(model: Model, name: str | None = None) -> Frame:
    """The frame of that name, which must be able to move; without a name, the frame at the end of the longest chain.

    The longest chain is that with the most moving joints. Where several are equally long (fingers, legs), the body that
    carries them all stands in for them; if that is less than half of the way, the frame must be named. Of the frames of
    one body those named after a tool come first, then the last one. A floating base without tool names carries a load
    in its own frame.
    """
    if name is not None:
        frame = model.frame(name)
        if not chain(model, frame.body):
            raise DalembertError(
                f"frame {name!r} of robot {model.name!r} cannot move: no joint lies between it and the world, so that "
                f"no joint feels a load there{_suggestion(model)}"
            )
        return frame
    depths = [len(chain(model, body.index)) for body in model.bodies]
    if not max(depths):
        raise DalembertError(f"robot {model.name!r} has no joint that moves: no frame of it can carry a load")
    tips = [body.index for body in model.bodies if depths[body.index] == max(depths)]
    shared = _shared_ancestor(model, tips)
    if depths[shared] * 2 < max(depths) and not model.floating:
        ends = ", ".join(_best(model, tip).name for tip in tips[:4])
        raise DalembertError(
            f"robot {model.name!r} has {len(tips)} limbs of {max(depths)} joints each: name the frame of the load "
            f"(frame=…, --frame), such as one of {ends}"
        )
    return _named_on_the_way(model, shared) or _best(model, shared)


def tips(model: Model) -> tuple[Frame, ...]:
    """The end frames of the longest chains, one for each limb."""
    depths = [len(chain(model, body.index)) for body in model.bodies]
    return tuple(_best(model, index) for index, depth in enumerate(depths) if depth == max(depths))


def chain(model: Model, index: int) -> list[Body]:
    """The bodies with moving joints from the world to body `index`, that body included."""
    bodies = []
    while index >= 0:
        body = model.bodies[index]
        if body.joint.nv:
            bodies.append(body)
        index = body.parent
    return bodies[::-1]


def _shared_ancestor(model: Model, indices: list[int]) -> int:
    ways = []
    for index in indices:
        way = []
        while index >= 0:
            way.append(index)
            index = model.bodies[index].parent
        ways.append(way)
    common = set.intersection(*map(set, ways))
    return max(common)  # bodies are numbered depth first


def _named_on_the_way(model: Model, index: int) -> Frame | None:
    """A frame named after a tool on body `index`, or on a body in the outer half of the way to it."""
    least = len(chain(model, index)) / 2
    while index >= 0 and len(chain(model, index)) > least:
        frame = _best(model, index)
        if _rank(frame.name) < len(WORDS):
            return frame
        index = model.bodies[index].parent
    return None


def _best(model: Model, index: int) -> Frame:
    """The tool among the frames of body `index`: one named like a tool, else the last one, or a floating body's own."""
    frames = [frame for frame in model.frames if frame.body == index]
    best = min(_rank(frame.name) for frame in frames)
    if best == len(WORDS) and model.bodies[index].joint.kind == "free":
        return frames[0]
    return [frame for frame in frames if _rank(frame.name) == best][-1]


def _rank(name: str) -> int:
    """Position of the best tool word in a name such as "panda_hand_tcp" or "tool0"; len(WORDS) without one."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return min((WORDS.index(word) for word in words if word in WORDS), default=len(WORDS))


def _suggestion(model: Model) -> str:
    try:
        return f"; the tool frame is {tool_frame(model).name!r}"
    except DalembertError:
        return ""
