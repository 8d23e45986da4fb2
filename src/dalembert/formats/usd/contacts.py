"""Pairs that a stage keeps from touching: filtered pairs, collision groups, articulations without self-collision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from dalembert.model import Surface

from ..robot import FileShape
from .choice import within
from .links import UsdLink
from .source import Source

MOST_CLASSES = 30  # of shapes: layers are bits


def filtered_pairs(source: Source, links: Iterable[UsdLink], prims: list[Any]) -> set[tuple[str, str]]:
    """Names of links that never touch each other."""
    at = {str(link.prim.GetPath()): link.name for link in links if link.prim is not None}
    pairs: set[tuple[str, str]] = set()
    for prim in prims:
        if prim.HasAPI(source.pxr.UsdPhysics.FilteredPairsAPI):
            ours = _links_in(at, prim)
            for target in source.targets(prim, "physics:filteredPairs", required=False):
                theirs = _links_in(at, target)
                if not ours or not theirs:
                    source.ledger.count(
                        source.where(prim), "filtered pair with something that is not loaded", "not used"
                    )
                pairs |= {(min(a, b), max(a, b)) for a in ours for b in theirs if a != b}
        if _alone(source, prim):
            ours = _links_in(at, prim)
            pairs |= {(min(a, b), max(a, b)) for a, b in combinations(ours, 2)}
            source.ledger.info(source.where(prim), "self-collision is switched off", "its links never touch each other")
    return pairs


def _alone(source: Source, prim: Any) -> bool:
    words = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
    return not all(source.flag(prim, word, True) for word in words)


def _links_in(at: Mapping[str, str], prim: Any) -> list[str]:
    """The links that a prim is, holds, or lies in."""
    path = str(prim.GetPath())
    inside = [name for body, name in at.items() if within(body, path)]
    if inside:
        return inside
    holders = [body for body in at if within(path, body)]
    return [at[max(holders, key=len)]] if holders else []


def with_groups(source: Source, prims: list[Any], shapes: dict[str, list[FileShape]]) -> dict[str, list[FileShape]]:
    """Shapes by link, those of collision groups on layers that meet where their groups collide."""
    usd = source.pxr.UsdPhysics
    groups = [prim for prim in prims if prim.IsA(usd.CollisionGroup)]
    if not groups:
        return shapes
    members = {
        str(each.GetPath()): usd.CollisionGroup(each).GetCollidersCollectionAPI().ComputeMembershipQuery()
        for each in groups
    }
    filtered = _filtered(source, groups)
    classes: dict[frozenset[str], int] = {frozenset(): 0}
    found: dict[str, frozenset[str]] = {}
    for placed in (each for shown in shapes.values() for each in shown if each.role == "collision"):
        path = placed.element.GetPath()
        own = frozenset(name for name, query in members.items() if query.IsPathIncluded(path))
        found[str(path)] = own
        classes.setdefault(own, len(classes))
    if len(classes) > MOST_CLASSES:
        source.ledger.warning(
            source.where(groups[0]), f"{len(classes)} classes of collision groups", "not used: too many"
        )
        return shapes
    source.ledger.info(source.where(groups[0]), f"{len(groups)} collision groups", "layers of the shapes, for contacts")
    wanted = {
        own: sum(1 << bit for other, bit in classes.items() if not any((a, b) in filtered for a in own for b in other))
        for own in classes
    }

    def layered(placed: FileShape) -> FileShape:
        if placed.role != "collision":
            return placed
        own = found[str(placed.element.GetPath())]
        layers = (1 << classes[own], wanted[own])
        return replace(placed, surface=replace(placed.surface or Surface(), layers=layers))

    return {name: [layered(placed) for placed in shown] for name, shown in shapes.items()}


def _filtered(source: Source, groups: list[Any]) -> set[tuple[str, str]]:
    """Pairs of groups that do not collide, both ways round; groups of one merge name act as one."""
    merged: dict[str, list[str]] = {}
    for group in groups:
        path = str(group.GetPath())
        merged.setdefault(source.word(group, "physics:mergeGroup") or path, []).append(path)
    alike = {path: paths for paths in merged.values() for path in paths}
    everyone = [str(group.GetPath()) for group in groups]
    pairs: set[tuple[str, str]] = set()
    for group in groups:
        named = {str(target.GetPath()) for target in source.targets(group, "physics:filteredGroups", required=False)}
        if source.flag(group, "physics:invertFilteredGroups", False):
            named = set(everyone) - named
        for a in alike[str(group.GetPath())]:
            for other in named:
                for b in alike.get(other, [other]):
                    pairs |= {(a, b), (b, a)}
    return pairs
