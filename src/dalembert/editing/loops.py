"""Closures when joints become fixed: those always satisfied are left out, those that cannot be are refused."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Frame, LinkPlan
from dalembert.model.assembly import Closing
from dalembert.spatial import Pose

from .change import WORLD

SAME = 1e-9  # of lengths [m], angles [rad] and sines: what counts as closed, or as the same value


def rigid_closures(plan: LinkPlan) -> set[str]:
    """Names of closures whose two ends never move relative to each other."""
    ends = ((c.name, _end(plan, c.a, Pose.identity()), _end(plan, c.b, Pose.identity())) for c in plan.closings)
    return {name for name, a, b in ends if a[0] == b[0]}


def settle_closures(plan: LinkPlan, rigid: set[str], where: str) -> list[str]:
    """Leave out closures whose two ends are parts of one body now; refuse if they are not together.

    rigid: those that were so before the edit, and stay. Returns the names of those left out.
    """
    kept, dropped = [], []
    for closing in plan.closings:
        a, b = _end(plan, closing.a, closing.placement_a), _end(plan, closing.b, closing.placement_b)
        if a[0] != b[0] or closing.name in rigid:
            kept.append(closing)
            continue
        gap = _gap(closing, a[1].inverse() @ b[1])
        if gap > SAME:
            raise DalembertError(
                f"{where}: closure {closing.name!r} cannot hold: its ends are parts of one body then, and off by "
                f"{gap:.3g}; hold the joints where the loop is closed, or leave one of them free"
            )
        dropped.append(f"closure {closing.name!r}")
    plan.closings = kept
    return dropped


def _end(plan: LinkPlan, name: str, X: Pose) -> tuple[str, Pose]:
    """The moving link (or the world) that carries a place, and the pose in it."""
    if name == WORLD and name not in plan.links:
        return WORLD, X
    place = plan.place(name, "closure")
    name, X = place.link, place.placement @ X
    link = plan.links[name]
    while not link.joint.nv:
        X = link.placement @ X
        if link.name == plan.base.name:
            return WORLD, X
        link = plan.links[link.parent]
    return link.name, X


def _gap(closing: Closing, X: Pose) -> float:
    end = Frame("", 0, Pose.identity())
    return float(np.max(np.abs(closing.make(name=closing.name, a=end, b=end).residual(X)), initial=0.0))
