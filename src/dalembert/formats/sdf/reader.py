"""SDF files (1.4 to 1.11) → Model: one model of the file, with every assumption in the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import LISTED, DalembertError, unknown
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from ..ledger import Finding, Ledger
from ..robot import FileJoint, FileLink, FileRobot, check_options
from ..xml import Document, children, is_xml, parse, tag_of
from .include import Includes
from .joints import geared, read_joint
from .links import read_link
from .scope import SEPARATOR, SdfScope, read_world
from .source import Element, SdfFile, version_of

FOREIGN = {"mujoco": " (this is MJCF)", "robot": " (this is URDF)", "html": " (this is a web page)"}
GRAVITY = (0.0, 0.0, -9.81)  # [m/s²] of a model outside any world
GRAVITY_OF_WORLDS = (0.0, 0.0, -9.8)  # [m/s²] SDF's default in a <world>
IN_WORLD = {"model", "include", "frame", "gravity", "physics"}
IDLE_IN_WORLD = {
    "plugin", "scene", "light", "road", "audio", "state", "population", "spherical_coordinates", "atmosphere",
    "magnetic_field", "actor", "gui",
}  # fmt: skip
SCENERY = "passed over: scenery and the simulator"


def read_sdf(
    source: str | bytes | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
    model: str | None = None,
) -> tuple[Model, tuple[Finding, ...]]:
    """Read an SDF file, or SDF text (a string that starts with "<"), into a model and its import log.

    base: "fixed" or "free"; None: as in the file (free, unless a joint to the world or <static> holds the model).
    strict: any finding that concerns physics raises.
    mimic: "couple" lets mimic joints and gearboxes share their leader's coordinate; "free" makes them independent.
    model: which model of a world; also written behind the path, as in "world.sdf#arm". None: the only one that is not
    static. Numbers are kept as stated, even inertias that no body can have; those are logged as warnings.
    """
    check_options("read_sdf", base, mimic)
    path, model = _fragment(source, model)
    ledger = Ledger()
    document = parse(path)
    _check_root(document)
    folder = None if document.label.startswith("<") else Path(document.label).resolve().parent
    chain = () if folder is None else (Path(document.label).resolve(),)
    file = SdfFile(document, version_of(document, ledger), folder, ledger, chain)
    scope, X, gravity, name = _chosen(file, model)
    result = _model(name, scope, X, gravity, base, mimic)
    ledger.take(scope.source.ledger)
    return result, ledger.close(strict=strict)


def _fragment(source: Any, model: str | None) -> tuple[Any, str | None]:
    """The path and the model named behind its "#"."""
    if isinstance(source, bytes) or (isinstance(source, str) and is_xml(source)):
        return source, model
    if isinstance(source, str | os.PathLike):
        path, mark, name = os.fspath(source).rpartition("#")
        if mark and model is None and not os.path.exists(source):
            return path, name
    return source, model


def _check_root(document: Document) -> None:
    tag = tag_of(document.root)
    if tag != "sdf":
        kind = FOREIGN.get(tag.lower(), "")
        raise document.error(document.root, f"the root element is <{tag}>{kind}, expected <sdf>; give an SDF file")


def _chosen(file: SdfFile, name: str | None) -> tuple[SdfScope, Pose, Any, str]:
    """The model to be read, its pose in the world, gravity, and its name."""
    root = file.document.root
    file.report(root, tags={"world", "model", "include"}, attributes={"version"}, idle={"light", "actor"}, why=SCENERY)
    worlds = [child for child in children(root) if tag_of(child) == "world"]
    if len(worlds) > 1:
        raise file.error(worlds[1], f"the file has {len(worlds)} worlds, expected one; keep one of them")
    top = read_world(file, worlds[0] if worlds else root, Includes())
    chosen = _pick(top, name)
    gravity = _gravity(file, worlds[0]) if worlds else GRAVITY
    return top.models[chosen], top.pose(chosen, file.where(top.element)), gravity, chosen


def _pick(top: SdfScope, name: str | None) -> str:
    """Which model is meant: the one named, the only one, or the only one that is not static."""
    where = top.source.where(top.element)
    if name is not None:
        if name not in top.models:
            raise unknown("model", name, top.models, where)
        return name
    moving = [each for each, scope in top.models.items() if not scope.static]
    candidates = moving or list(top.models)
    if not candidates:
        raise DalembertError(f"{where}: there is no <model>; add one")
    if len(candidates) > 1:
        listed = ", ".join(f"'{each}'" for each in candidates[:LISTED])
        raise DalembertError(
            f'{where}: {len(candidates)} models: {listed}; say which, as in load("file.sdf#{candidates[0]}")'
        )
    if others := len(top.models) - 1:
        what = f"{others} static model(s) beside '{candidates[0]}'"
        top.source.ledger.info(where, what, "not loaded: scenery")
    return candidates[0]


def _gravity(file: SdfFile, world: Element) -> Any:
    """Gravity of a world (3,) [m/s²]; before SDF 1.5 it stood in <physics>."""
    file.report(world, tags={*IN_WORLD, "wind"}, attributes={"name"}, idle=IDLE_IN_WORLD, why=SCENERY)
    wind = file.child(world, "wind")
    blows = None if wind is None else file.child(wind, "linear_velocity")
    if blows is not None and np.any(file.vector(blows, 3)):
        file.ledger.warning(file.where(blows), "wind blows in the world", "not used")
    for parent in [world, *[child for child in children(world) if tag_of(child) == "physics"]]:
        element = file.child(parent, "gravity")
        if element is not None:
            return file.vector(element, 3)
    file.ledger.info(file.where(world), "no <gravity>", "taken as (0, 0, -9.8), the default of SDF for worlds")
    return GRAVITY_OF_WORLDS


def _model(name: str, scope: SdfScope, X: Pose, gravity: Any, base: str | None, mimic: str) -> Model:
    """Build the chosen model from its scopes."""
    ledger, where = scope.source.ledger, scope.source.where(scope.element)
    links: dict[str, FileLink] = {}
    joints: list[FileJoint] = []
    scopes = list(_placed(scope, X))
    for inside, X_WS in scopes:
        if inside.static and not scope.static:
            ledger.warning(inside.source.where(inside.element), "<static> of a model inside a moving one", "not used")
        inside.static = scope.static
        for link, element in inside.links.items():
            at = X_WS @ inside.pose(link, inside.source.where(element))
            links[inside.prefix + link] = read_link(inside, element, at)
        joints += [read_joint(inside, joint, X_WS) for joint in inside.joints]
    if not links:
        raise scope.source.error(scope.element, "the model has no <link>; add one")
    robot = FileRobot(links, joints, ModelBuilder(name, gravity), where, ledger)
    if held := scope.static and base != "free":
        robot.tree.roots = list(links)
        if moving := [joint for joint in joints if joint.kind != "gearbox"]:
            ledger.info(where, f"the model is static: its {len(moving)} joint(s) do not move", "all links are held")
    else:
        robot.arrange(base)
    gears = [joint for joint in joints if joint.kind == "gearbox" and not held]
    robot.settle(mimic, partial(geared, gears))
    robot.add_all(base or ("fixed" if scope.static else "free"))
    for inside, X_WS in scopes:
        _add_frames(robot, inside, X_WS)
    robot.close_loops("<physics><simbody><must_be_loop_joint>true")
    robot.check_mimics()
    return robot.model()


def _placed(scope: SdfScope, X: Pose) -> Iterator[tuple[SdfScope, Pose]]:
    """A scope and those inside it, each with its pose in the world."""
    yield scope, X
    for name, inside in scope.models.items():
        yield from _placed(inside, X @ scope.pose(name, inside.source.where(inside.element)))


def _add_frames(robot: FileRobot, scope: SdfScope, X_WS: Pose) -> None:
    for name, frame in scope.frames.items():
        if frame.kind != "frame" or SEPARATOR in name:
            continue
        where = scope.source.where(frame.element)
        link = scope.link(name, where)
        if link == WORLD:
            scope.source.ledger.info(where, "a frame that is attached to the world", "not kept")
        else:
            robot.add_frame(scope.prefix + name, link, X_WS @ scope.pose(name, where), where)
