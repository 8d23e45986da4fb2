"""The tree of an SDF model: which link carries which through which joint, and which joints close loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dalembert.errors import DalembertError
from dalembert.model.assembly import WORLD

from ..ledger import Ledger
from .joints import Joint


@dataclass(frozen=True)
class Step:
    """A joint of the tree that carries `child`; reversed: the file has it the other way round."""

    joint: Joint
    parent: str
    child: str
    reversed: bool


@dataclass
class Tree:
    """Roots float (or are held by the caller); steps have parents before children; `loops` are the remaining joints."""

    roots: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    loops: list[Joint] = field(default_factory=list)

    def outward(self, links: Iterable[str]) -> Iterator[str | Step]:
        """Roots and steps, parents first; pieces of the robot in the order of the file's links."""
        pieces: dict[str, list[str | Step]] = {root: [root] for root in self.roots}
        top = {root: root for root in self.roots}
        for step in self.steps:
            top[step.child] = step.child if step.parent == WORLD else top[step.parent]
            pieces.setdefault(top[step.child], []).append(step)
        for link in links:
            yield from pieces.get(link, [])


def arrange(links: Iterable[str], joints: Iterable[Joint]) -> Tree:
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
        growth.tree.roots.append(growth.root())
        growth.grow(growth.tree.roots[-1])
    used = {step.joint.name for step in growth.tree.steps}
    growth.tree.loops = [joint for joint in joints if joint.name not in used]
    return growth.tree


class _Cursor:
    """How far a growing list has been searched: a dead end stays one, since ever fewer links are left."""

    def __init__(self) -> None:
        self.at = 0

    def unsearched(self, piece: list[str]) -> Iterator[str]:
        """The links not yet searched; the last one yielded stays, since it may lead somewhere again."""
        while self.at < len(piece):
            yield piece[self.at]
            self.at += 1


class _Growth:
    """The links reached so far."""

    def __init__(self, links: list[str], joints: list[Joint]) -> None:
        self.tree = Tree()
        self.left = dict.fromkeys(links)  # those not reached yet, in file order
        self.above: dict[str, Joint] = {}  # the joint that should carry each link
        for joint in sorted(joints, key=_rank):
            self.above.setdefault(joint.child, joint)
        self.at: dict[str, list[Joint]] = {name: [] for name in [WORLD, *links]}
        for joint in joints:
            self.at[joint.parent].append(joint)
            self.at[joint.child].append(joint)

    def grow(self, root: str) -> None:
        """Take in the piece that hangs on `root`."""
        self.left.pop(root, None)
        piece = [root]
        self._outward(root, piece)
        forth, back = _Cursor(), _Cursor()
        while (step := self._forth(piece, forth) or self._back(piece, back)) is not None:
            self._take(step, piece)
            self._outward(step.child, piece)

    def _take(self, step: Step, piece: list[str]) -> None:
        self.tree.steps.append(step)
        self.left.pop(step.child)
        piece.append(step.child)

    def _outward(self, root: str, piece: list[str]) -> None:
        """Depth first along the joints that should carry their children; siblings in file order."""
        stack = self._carried(root)[::-1]
        while stack:
            joint = stack.pop()
            if joint.child in self.left:
                self._take(Step(joint, joint.parent, joint.child, False), piece)
                stack.extend(self._carried(joint.child)[::-1])

    def _carried(self, name: str) -> list[Joint]:
        return [joint for joint in self.at[name] if joint.parent == name and self.above.get(joint.child) is joint]

    def _forth(self, piece: list[str], cursor: _Cursor) -> Step | None:
        """The first joint out of this piece in its direction."""
        for name in cursor.unsearched(piece):
            for joint in self.at[name]:
                if joint.parent == name and joint.child in self.left:
                    return Step(joint, name, joint.child, False)
        return None

    def _back(self, piece: list[str], cursor: _Cursor) -> Step | None:
        """The first joint out of this piece against its direction."""
        for name in cursor.unsearched(piece):
            for joint in self.at[name]:
                if joint.child == name and joint.parent in self.left:
                    return Step(joint, name, joint.parent, True)
        return None

    def root(self) -> str:
        """The first link left that no joint carries; in a ring, the first link left."""
        return next((name for name in self.left if name not in self.above), next(iter(self.left)))


def _rank(joint: Joint) -> tuple[bool, bool]:
    return joint.kind != "screw", not joint.effects


def welded(links: Iterable[str], steps: Iterable[Step]) -> Mapping[str, str]:
    """For each link (and the world) the representative of the links that the tree's fixed joints join into a body."""
    groups = {name: name for name in [WORLD, *links]}
    for step in steps:  # parents come first
        if step.joint.kind == "fixed":
            groups[step.child] = groups[step.parent]
    return groups


def unheld(joints: list[Joint], ledger: Ledger) -> list[Joint]:
    """The joints without those that fix the model to the world."""
    kept = []
    for joint in joints:
        if joint.parent != WORLD:
            kept.append(joint)
        elif joint.kind == "fixed":
            ledger.info(joint.where, f"base='free' and joint '{joint.name}' holds the model", "the joint is left out")
        else:
            raise DalembertError(
                f"{joint.where}: base='free', but the {joint.kind} joint '{joint.name}' moves the robot in the world; "
                "remove it from the file, or omit base"
            )
    return kept
