"""The tree of a URDF file: which link carries which, and one clear error when it is not a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dalembert.errors import LISTED, DalembertError, unknown

from ..xml import Document
from .joints import Joint
from .links import Link


@dataclass(frozen=True)
class Tree:
    """A root link and the joints, depth first: parents before children, siblings in file order."""

    root: Link
    joints: tuple[Joint, ...]


def arrange(document: Document, links: Mapping[str, Link], joints: Iterable[Joint]) -> Tree:
    """Order the joints from the root outward; raises when the links do not form exactly one tree."""
    above: dict[str, Joint] = {}
    below: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in joints:
        where = document.where(joint.element)
        for end in (joint.parent, joint.child):
            if end not in links:
                raise DalembertError(f"{unknown('link', end, links, where)}; add that <link> or correct the name")
        if joint.child in above:
            other = above[joint.child]
            raise DalembertError(
                f"{where}: link '{joint.child}' already hangs on joint '{other.name}' in line "
                f"{other.element.sourceline}; URDF holds trees only: remove one of the two joints"
            )
        above[joint.child] = joint
        below[joint.parent].append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise DalembertError(
            f"{document.where(links[roots[1]].element)}: {len(roots)} links have no parent: {_listed(roots)}; "
            "a robot has one root: connect the others with joints, or remove them"
        )
    ordered: list[Joint] = []
    stack = below[roots[0]][::-1] if roots else []
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(below[joint.child]))
    if len(ordered) < len(above):
        lost = _loop(above, {joint.child for joint in ordered})
        raise DalembertError(
            f"{document.where(lost[0].element)}: joints {_listed(joint.name for joint in lost)} form a loop with no "
            "root; URDF holds trees only: remove one of them"
        )
    return Tree(links[roots[0]], tuple(ordered))


def _loop(above: Mapping[str, Joint], reached: set[str]) -> list[Joint]:
    """The joints of one cycle among the links that the root does not reach."""
    link = next(name for name in above if name not in reached)
    seen: list[str] = []
    met: set[str] = set()
    while link not in met:
        met.add(link)
        seen.append(link)
        link = above[link].parent
    return [above[name] for name in reversed(seen[seen.index(link) :])]


def _listed(names: Iterable[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return ", ".join(quoted[:LISTED]) + (f", … ({len(quoted)} in all)" if len(quoted) > LISTED else "")
