"""USD stages → Model: one robot of the stage, with every assumption in the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.model.keyframes import START
from dalembert.spatial import Inertia, Pose, so3

from ..ledger import Finding, Ledger
from ..robot import FileRobot, FileShape, add_shape, check_options
from .choice import Prims, Selection, choose, sort_prims
from .drives import add_actuators, add_drive
from .files import errors_named, open_stage
from .joints import UsdJoint, read_joint, stacked
from .layout import laid_out
from .links import UsdFrame, UsdLink, gravity_of, inertia_of
from .shapes import filtered_pairs, read_shape, with_groups
from .source import UsdSource, within

UNIT, ROUNDED = 1e-4, 1e-6  # scales nearer to 1 come from quaternions; those still nearer from single precision


def read_usd(
    source: str | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
    prim: str | None = None,
) -> tuple[Model, tuple[Finding, ...]]:
    """Read a USD stage (.usd, .usda, .usdc, .usdz) with UsdPhysics into a model and its import log.

    base: "fixed" or "free"; None: as in the stage (free, unless a joint to the world holds the robot).
    strict: any finding that concerns physics raises.
    mimic: "couple" lets joints that follow others share their coordinate; "free" makes them independent.
    prim: the path of the prim that holds the robot, of stages with several; "/" for the whole stage.
    Lengths, masses and angles are converted to SI, and the world is turned so that z is up.
    """
    if not isinstance(source, str | os.PathLike):
        raise DalembertError(f"read_usd: expected the path of a file, got {type(source).__name__}")
    check_options("read_usd", base, mimic)
    ledger = Ledger()
    opened = open_stage(source, ledger)
    try:
        with errors_named(opened.path, str(source)):
            stage = UsdSource(opened.stage, opened.path, str(source), ledger)
            sorted_prims = sort_prims(stage)
            scope = choose(stage, sorted_prims.stock, prim)
            model = _Reading(stage, sorted_prims, scope, base, mimic).model()
    finally:
        opened.diagnostics.TakeUncoalescedDiagnostics()
    return model, ledger.close(strict=strict)


class _Reading:
    """The model of one scope of a stage."""

    def __init__(self, source: UsdSource, prims: Prims, scope: Selection, base: str | None, mimic: str) -> None:
        self.source, self.prims, self.scope, self.base, self.mimic = source, prims, scope, base, mimic
        self.ledger = source.ledger
        self.names = prims.names(source, [*scope.bodies.values()], {WORLD})

    def model(self) -> Model:
        source = self.source
        links = self._links()
        joints = self._joints({path: links[self.names[path]] for path in self.scope.bodies})
        for joint in joints.values():  # massless links of chains
            for name in (joint.parent, joint.child):
                if name != WORLD and name not in links:
                    links[name] = UsdLink(name, Inertia.zero(), joint.where, Pose.identity())
        shapes = {name: link.shapes for name, link in links.items()}
        links = {name: replace(link, shapes=()) for name, link in links.items()}  # added once the fixed links are there
        builder = ModelBuilder(self._name(), gravity_of(source, self.prims.scenes))
        robot = FileRobot(links, [*joints.values()], builder, source.label, self.ledger)
        robot.arrange(self.base)
        robot.links, start = laid_out(robot.tree, links, joints, self.ledger)
        robot.settle(self.mimic)
        self._add_scenery(builder)
        for root, name in robot.add_all(self.base or "free").items():
            if self.base != "fixed":
                start[name] = [*robot.links[root].X.p, *so3.to_quaternion(robot.links[root].X.R)]
        for link in links.values():
            self._add_frames(builder, link.name, link.frames, link.where)
            self._add_shapes(builder, link.name, link.frames, shapes[link.name])
        robot.close_loops()
        robot.check_mimics()
        self._add_contents(builder, links, robot, start)
        model = robot.model()
        source.report_unread(self.prims.inside(self.scope, source))
        return model

    def _name(self) -> str:
        root = self.scope.root
        name = self.source.word(root, "dalembert:robot") if not root.IsPseudoRoot() else ""
        return name or (self.source.path.stem if root.IsPseudoRoot() else str(root.GetName()))

    # ---- links

    def _links(self) -> dict[str, UsdLink]:
        """The rigid bodies by name, with their shapes."""
        source, physics = self.source, self.source.pxr.UsdPhysics
        poses = {path: self._body_pose(prim) for path, prim in self.scope.bodies.items()}
        shapes: dict[str, list[FileShape]] = {}
        frames: dict[str, tuple[UsdFrame, ...]] = {}
        for path, prim in self.scope.bodies.items():
            frames[path] = self._frames(self.prims.held[path], poses[path][0])
            holders = [prim, *self.prims.held[path]]
            shapes[path] = [p for each in holders if (p := read_shape(source, each, poses[path][0])) is not None]
        shapes = with_groups(source, self.prims.all, shapes)
        links = {}
        for path, prim in self.scope.bodies.items():
            name, (X, scale) = self.names[path], poses[path]
            inertia = inertia_of(source, prim, name, X, scale, shapes[path])
            if prim.HasAPI(physics.RigidBodyAPI) and source.flag(prim, "physics:startsAsleep", False):
                self.ledger.count(source.where(prim), "body that starts asleep", "awake: there is no sleep")
            for word in ("velocity", "angularVelocity"):
                v = source.numbers(prim, f"physics:{word}", 3)
                if v is not None and np.any(v):
                    self.ledger.info(source.where(prim), f"{word} {v.tolist()}", "a model has none: state it in v")
            weightless = source.flag(prim, "physxRigidBody:disableGravity", False)
            if weightless:
                what = "gravity does not act on this body"
                self.ledger.warning(source.where(prim), what, "so in simulations; inverse dynamics counts its weight")
            links[name] = UsdLink(
                name, inertia, source.where(prim), X, shapes[path], weightless,
                prim=prim, scale=scale, frames=frames[path],
            )  # fmt: skip
        return links

    def _body_pose(self, prim: Any) -> tuple[Pose, np.ndarray]:
        """The pose of a body in the world, and its scale; one that only a quaternion of another length brings is 1."""
        X, scale = self.source.pose(prim)
        off = float(np.max(np.abs(scale - np.eye(3))))
        if off and off < UNIT:
            if off > ROUNDED:
                what = f"a quaternion that is not of unit length scales the body by {scale[0, 0]:.9g}"
                self.ledger.info(self.source.where(prim), what, "not scaled")
            scale = np.eye(3)
        return X, scale

    def _frames(self, held: Iterable[Any], X_WL: Pose) -> tuple[UsdFrame, ...]:
        """Sites, and the frames and fixed links that this package has written into a body."""
        frames = []
        for prim in held:
            name = self.source.word(prim, "dalembert:frame")
            if not name and "MjcSiteAPI" in self.source.schemas(prim):
                name = str(prim.GetName())
            if name:
                X, _scale = self.source.pose(prim)
                own = self.source.numbers(prim, "dalembert:parameters", 10)
                inertia = None if own is None else Inertia.from_parameters(own)
                frames.append(UsdFrame(name, X_WL.inverse() @ X, inertia, str(prim.GetPath())))
        return tuple(frames)

    def _add_frames(self, builder: ModelBuilder, link: str, frames: Iterable[UsdFrame], where: str) -> None:
        for frame in frames:
            if builder.has_frame(frame.name):
                self.ledger.info(where, f"a second frame '{frame.name}'", "left out")
            elif frame.inertia is None:
                builder.add_frame(frame.name, body=link, placement=frame.X)
            else:
                name = f"{frame.name}_fixed"
                while builder.has_any_joint(name):
                    name += "_"
                builder.add_body(
                    frame.name, parent=link, joint_name=name, placement=frame.X, inertia_object=frame.inertia
                )

    def _add_shapes(self, builder: ModelBuilder, link: str, frames: Iterable[UsdFrame], shapes: Iterable[Any]) -> None:
        """Shapes on the link, or on the fixed link in it that holds them."""
        fixed = [frame for frame in frames if frame.inertia is not None]
        for placed in shapes:
            path = str(placed.element.GetPath())
            holder = next((frame for frame in fixed if within(path, frame.path)), None)
            if holder is None:
                add_shape(builder, link, placed)
            else:
                add_shape(builder, holder.name, placed, holder.X.inverse() @ placed.placement)

    def _add_scenery(self, builder: ModelBuilder) -> None:
        """Fixed collision shapes and frames, on the world."""
        source, still = self.source, Pose.identity()
        held = {str(prim.GetPath()) for inside in self.prims.held.values() for prim in inside}
        loose = [prim for prim in self.prims.inside(self.scope, source) if str(prim.GetPath()) not in held]
        frames = self._frames(loose, still)
        drawn = [prim for prim in loose if any(within(str(prim.GetPath()), frame.path) for frame in frames)]
        prims = {str(prim.GetPath()): prim for prim in [*self.scope.scenery, *drawn]}
        shown = [p for prim in prims.values() if (p := read_shape(source, prim, still)) is not None]
        if not shown and not frames:
            return
        builder.add_body(WORLD, parent=WORLD)
        self._add_frames(builder, WORLD, frames, source.label)
        self._add_shapes(builder, WORLD, frames, with_groups(source, self.prims.all, {WORLD: shown})[WORLD])

    # ---- joints

    def _joints(self, bodies: Mapping[str, UsdLink]) -> dict[str, UsdJoint]:
        """All joints by name, those of bodies that the user moves included."""
        source = self.source
        names = self.prims.names(source, self.scope.joints, set())
        read = [
            each for prim in self.scope.joints for each in read_joint(source, prim, names[str(prim.GetPath())], bodies)
        ]
        joints = {each.name: each for each in stacked(source, read)}
        by_path = _by_path(joints)
        for name, joint in joints.items():
            if joint.mimic is not None:
                leader = by_path.get(joint.mimic.leader, joint.mimic.leader)
                joints[name] = replace(joint, mimic=replace(joint.mimic, leader=leader))
        held = {joint.child for joint in joints.values() if joint.parent == WORLD}
        for link in bodies.values():
            if source.flag(link.prim, "physics:kinematicEnabled", False) and link.name not in held:
                self.ledger.count(link.where, "kinematic body, which the user moves", "fixed where the stage puts it")
                name = f"{link.name}_kinematic"
                joints[name] = UsdJoint(
                    name, "fixed", WORLD, link.name, {}, link.where, X_parent=link.X, prim=link.prim
                )
        return joints

    # ---- all else

    def _add_contents(
        self, builder: ModelBuilder, links: Mapping[str, UsdLink], robot: FileRobot, start: dict[str, Any]
    ) -> None:
        """Actuators, the start, pairs that never touch."""
        source = self.source
        joints: dict[str, UsdJoint] = {joint.name: joint for joint in robot.joints}  # type: ignore[misc]
        for name, joint in joints.items():
            if builder.has_joint(name) and joint.mimic is None:
                for drive in joint.drives:
                    add_drive(builder, name, drive, joint.where, self.ledger)
            elif joint.drives:
                self.ledger.warning(joint.where, f"drive of joint '{name}', which has no coordinate", "not used")
        add_actuators(source, builder, self.prims.all, _by_path(joints))
        followers = {step.joint.name for step in robot.tree.steps if step.joint.mimic is not None}
        coordinates = {joint: q for joint, q in start.items() if builder.has_joint(joint) and joint not in followers}
        if any(np.any(np.asarray(q) != [0, 0, 0, 1, 0, 0, 0][-np.size(q) :]) for q in coordinates.values()):
            builder.add_keyframe(START, coordinates, {})
        pairs = filtered_pairs(source, links.values(), self.prims.inside(self.scope, source))
        for joint in joints.values():
            if not joint.collides and joint.loop and WORLD not in (joint.parent, joint.child):
                pairs.add((min(joint.parent, joint.child), max(joint.parent, joint.child)))
            elif joint.collides and joint.kind != "fixed":
                what = "joint whose ends may touch each other"
                self.ledger.count(joint.where, what, "neighbours in the tree never touch here")
        for a, b in sorted(pairs):
            if builder.has_frame(a) and builder.has_frame(b):
                builder.exclude(a, b)


def _by_path(joints: Mapping[str, UsdJoint]) -> dict[str, str]:
    """The path of a prim → the name of the first joint that it became."""
    names: dict[str, str] = {}
    for name, joint in joints.items():
        names.setdefault(str(joint.prim.GetPath()), name)
    return names
