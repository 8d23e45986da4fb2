"""Bodies where the joints have them at zero, and the coordinates with which the stage begins.

A stage puts bodies where they are at the start, which need not be where all coordinates are 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose, so3

from ..ledger import Ledger
from ..tree import LinkTree, TreeStep
from .joints import UsdJoint
from .links import UsdLink

APART = 1e-3  # [m, rad]: bodies farther than that from where their joint can have them
NOISE = 1e-5  # [m, rad]: single precision of poses


def laid_out(
    tree: LinkTree, links: Mapping[str, UsdLink], joints: Mapping[str, UsdJoint], ledger: Ledger
) -> tuple[dict[str, UsdLink], dict[str, Any]]:
    """Links at zero, and the start by joint; the joints of the tree get their frames in the world."""
    placed: dict[str, Pose] = {WORLD: Pose.identity()} | {root: links[root].X for root in tree.roots}
    start: dict[str, Any] = {}
    for at, step in enumerate(tree.steps):
        each = joints[step.joint.name]
        if step.reversed:
            frame = placed[step.parent] @ each.X_child
            placed[step.child] = frame @ each.X_parent.inverse()
        else:
            frame = placed[step.parent] @ each.X_parent
            placed[step.child] = frame @ each.X_child.inverse()
        tree.steps[at] = replace(step, joint=replace(each, X=frame, axes=np.reshape(each.axes, (-1, 3)) @ frame.R.T))
        _begin(step, each, links, start, ledger)
    _report_chains(tree, links, placed, ledger)
    return {name: replace(link, X=placed.get(name, link.X)) for name, link in links.items()}, start


def _report_chains(tree: LinkTree, links: Mapping[str, UsdLink], placed: Mapping[str, Pose], ledger: Ledger) -> None:
    """Log chains of joints that do not begin at zero: their coordinates are not computed."""
    above = {step.child: step for step in tree.steps}
    for step in tree.steps:
        child, parent = links[step.child], step.parent
        if child.prim is None or parent == WORLD or links[parent].prim is not None:
            continue
        while parent != WORLD and links[parent].prim is None:
            parent = above[parent].parent
        X = Pose.identity() if parent == WORLD else links[parent].X
        there, zero = X.inverse() @ child.X, placed[parent].inverse() @ placed[step.child]
        if max(np.max(np.abs(there.p - zero.p)), np.max(np.abs(there.R - zero.R))) > APART:
            what = f"the chain of joints to '{child.name}' does not begin at 0 in the stage"
            ledger.info(step.joint.where, what, "not kept: give the start in q")


def _begin(
    step: TreeStep, joint: UsdJoint, links: Mapping[str, UsdLink], start: dict[str, Any], ledger: Ledger
) -> None:
    """The coordinate of a joint at the start, from the poses of its ends."""
    parent, child = links.get(joint.parent), links.get(joint.child)
    if (child is not None and child.prim is None) or (parent is not None and parent.prim is None):
        return  # a link of a chain has no place of its own
    X_parent = Pose.identity() if parent is None else parent.X
    X_child = Pose.identity() if child is None else child.X
    X = (X_parent @ joint.X_parent).inverse() @ X_child @ joint.X_child
    p, w = X.p, _rotation_vector(X.R)
    q: Any = None
    if joint.kind in ("revolute", "continuous"):
        q = float(joint.axes[0] @ w)
        w = w - q * joint.axes[0]
    elif joint.kind == "prismatic":
        q = float(joint.axes[0] @ p)
        p = p - q * joint.axes[0]
    elif joint.kind == "ball":
        q, w = so3.to_quaternion(X.R), np.zeros(3)
    elif joint.kind in ("universal", "cylindrical", "planar", "free"):
        if np.max(np.abs([p, w])) > APART:
            what = f"joint '{joint.name}' does not begin at 0 in the stage"
            ledger.info(joint.where, what, f"not kept for {joint.kind} joints: give the start in q")
        return
    if max(np.linalg.norm(p), np.linalg.norm(w)) > APART:
        what = f"the ends of joint '{joint.name}' lie {np.linalg.norm(p):.3g} m and {np.linalg.norm(w):.3g} rad apart"
        ledger.warning(joint.where, what, "the frames of the joint count, not the poses of the bodies")
    if joint.kind == "ball":
        if np.linalg.norm(so3.quaternion_log(q)) > NOISE:
            start[joint.name] = so3.quaternion_conjugate(q) if step.reversed else q
    elif q is not None:
        if abs(q) <= NOISE < abs(joint.position):
            q, what = joint.position, "a joint whose state is stated, while the bodies are placed at 0"
            ledger.count(joint.where, what, "the state is the start")
        if abs(q) > NOISE:
            start[joint.name] = q


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    q = so3.to_quaternion(R)
    if q[0] < 0.0:
        q = -q
    s = float(np.linalg.norm(q[1:]))
    return np.zeros(3) if s == 0.0 else q[1:] * (2.0 * math.atan2(s, q[0]) / s)
