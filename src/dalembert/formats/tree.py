"""Which link of a file carries which, through which joint, and which joints close loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dalembert.errors import LISTED, DalembertError, unknown
from dalembert.model.assembly import WORLD

if TYPE_CHECKING:
    from .robot import FileJoint, FileLink


@dataclass(frozen=True, eq=False)
class TreeStep:
    """A joint of the tree that carries `child`; reversed: the file has it the other way round."""

    joint: FileJoint
    parent: str
    child: str
    reversed: bool


@dataclass
class LinkTree:
    """Roots float (or are held by the caller); steps have parents before children; `loops` are the remaining joints."""

    roots: list[str] = field(default_factory=list)
    steps: list[TreeStep] = field(default_factory=list)
    loops: list[FileJoint] = field(default_factory=list)

    def outward(self, links: Iterable[str]) -> Iterator[str | TreeStep]:
        """Roots and steps, parents first; pieces of the robot in the order of the file's links."""
        pieces: dict[str, list[str | TreeStep]] = {root: [root] for root in self.roots}
        top = {root: root for root in self.roots}
        for step in self.steps:
            top[step.child] = step.child if step.parent == WORLD else top[step.parent]
            pieces.setdefault(top[step.child], []).append(step)
        for link in links:
            yield from pieces.get(link, [])

    def welded(self, links: Iterable[str]) -> dict[str, str]:
        """For each link (and the world) one that stands for all that the tree's fixed joints join into a body."""
        groups = {name: name for name in [WORLD, *links]}
        for step in self.steps:  # parents come first
            if step.joint.kind == "fixed":
                groups[step.child] = groups[step.parent]
        return groups


def arrange(links: Iterable[str], joints: Iterable[FileJoint]) -> LinkTree:
    """A spanning tree of links and joints: along the joints' direction wherever possible.

    Of several joints with one child the first carries it, but screws come before all others, since no closure holds a
    screw, and joints with springs, damping or friction before those without, since a closure has none. Links that only
    a joint against its direction reaches are carried by it reversed. Each connected piece without a joint to the world
    has one root.
    """
    joints, links = list(joints), list(links)
    growth = _Growth(links, [joint for joint in joints if not joint.loop])
    growth.grow(WORLD)
    while growth.left:
        # the first link left that no joint carries; in a ring, the first link left
        root = next((name for name in growth.left if name not in growth.above), next(iter(growth.left)))
        growth.tree.roots.append(root)
        growth.grow(root)
    used = {step.joint.name for step in growth.tree.steps}
    growth.tree.loops = [joint for joint in joints if joint.name not in used]
    return growth.tree


class _Growth:
    """The links reached so far."""

    def __init__(self, links: list[str], joints: list[FileJoint]) -> None:
        self.tree = LinkTree()
        self.left = dict.fromkeys(links)  # those not reached yet, in file order
        self.above: dict[str, FileJoint] = {}  # the joint that should carry each link
        for joint in sorted(joints, key=lambda joint: (joint.kind != "screw", not joint.effects)):
            self.above.setdefault(joint.child, joint)
        self.at: dict[str, list[FileJoint]] = {name: [] for name in [WORLD, *links]}
        for joint in joints:
            self.at[joint.parent].append(joint)
            self.at[joint.child].append(joint)

    def grow(self, root: str) -> None:
        """Take in the piece that hangs on `root`."""
        self.left.pop(root, None)
        self.piece = [root]
        self._outward(root)
        searched = {True: 0, False: 0}  # a dead end stays one, since ever fewer links are left
        while (step := self._next(searched, forward=True) or self._next(searched, forward=False)) is not None:
            self._take(step)
            self._outward(step.child)

    def _take(self, step: TreeStep) -> None:
        self.tree.steps.append(step)
        self.left.pop(step.child)
        self.piece.append(step.child)

    def _outward(self, root: str) -> None:
        """Depth first along the joints that should carry their children; siblings in file order."""
        stack = self._carried(root)[::-1]
        while stack:
            joint = stack.pop()
            if joint.child in self.left:
                self._take(TreeStep(joint, joint.parent, joint.child, False))
                stack.extend(self._carried(joint.child)[::-1])

    def _carried(self, name: str) -> list[FileJoint]:
        return [joint for joint in self.at[name] if joint.parent == name and self.above.get(joint.child) is joint]

    def _next(self, searched: dict[bool, int], *, forward: bool) -> TreeStep | None:
        """The first joint out of this piece, in its direction or against it."""
        while searched[forward] < len(self.piece):
            name = self.piece[searched[forward]]
            for joint in self.at[name]:
                near, far = (joint.parent, joint.child) if forward else (joint.child, joint.parent)
                if near == name and far in self.left:
                    return TreeStep(joint, name, far, not forward)
            searched[forward] += 1
        return None


def only_tree(links: Mapping[str, FileLink], joints: Iterable[FileJoint]) -> LinkTree:
    """The tree of a format that has trees only; raises when the links do not form exactly one.

    A link called "world" is the ground of the tree, without an entry among its roots.
    """
    above: dict[str, FileJoint] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in links:
                raise DalembertError(f"{unknown('link', end, links, joint.where)}; add that <link> or correct the name")
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            raise DalembertError(
                f"{joint.where}: link '{joint.child}' already hangs on joint '{other.name}' ({other.where}); "
                "URDF holds trees only: remove one of the two joints"
            )
    if WORLD in above:
        raise DalembertError(f"{above[WORLD].where}: the child of a joint cannot be the world; swap parent and child")
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise DalembertError(
            f"{links[roots[1]].where}: {len(roots)} links have no parent: {_listed(roots)}; "
            "a robot has one root: connect the others with joints, or remove them"
        )
    tree = arrange(links, above.values())
    if rings := [root for root in tree.roots if root not in roots]:
        path = [rings[0]]
        while above[path[-1]].parent not in path:
            path.append(above[path[-1]].parent)
        ring = [above[name] for name in path[path.index(above[path[-1]].parent) :][::-1]]
        raise DalembertError(
            f"{ring[0].where}: joints {_listed(joint.name for joint in ring)} form a loop with no root; "
            "URDF holds trees only: remove one of them"
        )
    return tree


def _listed(names: Iterable[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return ", ".join(quoted[:LISTED]) + (f", … ({len(quoted)} in all)" if len(quoted) > LISTED else "")
