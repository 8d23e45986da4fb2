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

from ..closing import close
from ..diagnosis import diagnose
from ..ledger import Finding, Ledger
from ..mimic import Mimic, check_mimics, check_options
from ..sdf.build import Assembly
from ..sdf.coupling import settle
from ..sdf.joints import Joint
from ..sdf.shapes import Placed
from ..sdf.tree import Tree, arrange, unheld, welded
from .actuators import add_actuators
from .choice import Scope, choose, within
from .contacts import filtered_pairs, with_groups
from .drives import add_drive
from .files import errors_named, open_stage
from .joints import Stated, read_joint, stacked
from .layout import laid_out
from .links import Frame, Link, inertia_of
from .prims import Prims, sort_prims
from .scene import gravity_of
from .shapes import read_shape
from .source import Source

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
            stage = Source(opened.stage, opened.path, str(source), ledger)
            sorted_prims = sort_prims(stage)
            scope = choose(stage, sorted_prims.stock, prim)
            model = _Reading(stage, sorted_prims, scope, base, mimic).model()
    finally:
        opened.diagnostics.TakeUncoalescedDiagnostics()
    return model, ledger.close(strict=strict)


class _Reading:
    """The model of one scope of a stage."""

    def __init__(self, source: Source, prims: Prims, scope: Scope, base: str | None, mimic: str) -> None:
        self.source, self.prims, self.scope, self.base, self.mimic = source, prims, scope, base, mimic
        self.ledger = source.ledger
        self.names = prims.names(source, [*scope.bodies.values()], {WORLD})

    def model(self) -> Model:
        source = self.source
        links = self._links()
        by_path = {path: links[self.names[path]] for path in self.scope.bodies}
        stated = self._joints(by_path)
        links |= _between(stated.values(), links)
        gravity = gravity_of(source, self.prims.scenes)
        joints = [each.joint for each in stated.values()]
        if self.base == "free":
            joints = unheld(joints, self.ledger)
        tree = arrange(links, [joint for joint in joints if joint.kind != "distance"])
        tree.loops += [joint for joint in joints if joint.kind == "distance"]
        self._report_pieces(tree)
        shapes = {name: link.shapes for name, link in links.items()}
        links = {name: replace(link, shapes=[]) for name, link in links.items()}  # added once the fixed links are there
        links, start = laid_out(tree, links, stated, self.ledger)
        groups = welded(links, tree.steps)
        tree.steps = settle(tree.steps, [], groups, self.mimic, self.ledger)
        builder = ModelBuilder(self._name(), gravity)
        assembly = Assembly(builder, links, {joint.name for joint in joints}, self.ledger)
        self._add_scenery(builder)
        for item in tree.outward(links):
            if not isinstance(item, str):
                assembly.add(item)
                continue
            joint = assembly.add_root(item, self.base or "free")
            if self.base != "fixed":
                start[joint] = [*links[item].X.p, *so3.to_quaternion(links[item].X.R)]
        for link in links.values():
            self._add_frames(builder, link.name, link.frames, link.where)
            self._add_shapes(builder, link.name, link.frames, shapes[link.name])
        for loop in tree.loops:
            each = stated[loop.name]
            shape: dict[str, Any] = dict(zip(("axis", "axis2"), loop.axes, strict=False))
            shape = shape if each.distance is None else {"length": each.distance}
            close(builder, each.joint, (each.X_parent, each.X_child), shape, groups, self.ledger)
        check_mimics(builder, (step.joint for step in tree.steps))
        self._add_contents(builder, links, tree, stated, start)
        model = builder.model()
        places = {joint.name: joint.where for joint in joints} | {link.name: link.where for link in links.values()}
        diagnose(self.ledger, model, lambda name: places.get(name, source.label))
        source.report_unread(self.prims.inside(self.scope, source))
        return model

    def _name(self) -> str:
        root = self.scope.root
        name = self.source.word(root, "dalembert:robot") if not root.IsPseudoRoot() else ""
        return name or (self.source.path.stem if root.IsPseudoRoot() else str(root.GetName()))

    # ---- links

    def _links(self) -> dict[str, Link]:
        """The rigid bodies by name, with their shapes."""
        source, physics = self.source, self.source.pxr.UsdPhysics
        poses = {path: self._body_pose(prim) for path, prim in self.scope.bodies.items()}
        shapes: dict[str, list[Placed]] = {}
        frames: dict[str, list[Frame]] = {}
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
            links[name] = Link(
                name, prim, source.where(prim), X, scale, inertia, shapes[path], frames[path], weightless
            )
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

    def _frames(self, held: Iterable[Any], X_WL: Pose) -> list[Frame]:
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
                frames.append(Frame(name, X_WL.inverse() @ X, inertia, str(prim.GetPath())))
        return frames

    def _add_frames(self, builder: ModelBuilder, link: str, frames: list[Frame], where: str) -> None:
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

    def _add_shapes(self, builder: ModelBuilder, link: str, frames: list[Frame], shapes: Iterable[Placed]) -> None:
        """Shapes on the link, or on the fixed link in it that holds them."""
        fixed = [frame for frame in frames if frame.inertia is not None]
        for placed in shapes:
            path = str(placed.element.GetPath())
            holder = next((frame for frame in fixed if within(path, frame.path)), None)
            X = placed.placement if holder is None else holder.X.inverse() @ placed.placement
            builder.add_geometry(
                placed.shape,
                body=link if holder is None else holder.name,
                placement=X,
                role=placed.role,
                color=placed.color,
                name=placed.name,
                surface=placed.surface,
            )

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

    def _joints(self, bodies: Mapping[str, Link]) -> dict[str, Stated]:
        """All joints by name, those of bodies that the user moves included."""
        source = self.source
        names = self.prims.names(source, self.scope.joints, set())
        stated: dict[str, Stated] = {}
        by_path: dict[str, str] = {}
        read = [
            each for prim in self.scope.joints for each in read_joint(source, prim, names[str(prim.GetPath())], bodies)
        ]
        for each in stacked(source, read):
            stated[each.joint.name] = each
            by_path.setdefault(str(each.prim.GetPath()), each.joint.name)
        for name, each in stated.items():
            leader = each.joint.mimic
            if leader is not None:
                law = Mimic(by_path.get(leader.leader, leader.leader), leader.multiplier, leader.offset, leader.where)
                stated[name] = replace(each, joint=replace(each.joint, mimic=law))
        held = {each.joint.child for each in stated.values() if each.joint.parent == WORLD}
        for link in bodies.values():
            if source.flag(link.prim, "physics:kinematicEnabled", False) and link.name not in held:
                self.ledger.count(link.where, "kinematic body, which the user moves", "fixed where the stage puts it")
                name = f"{link.name}_kinematic"
                joint = Joint(name, "fixed", WORLD, link.name, Pose.identity(), np.zeros((0, 3)), {}, link.where)
                stated[name] = Stated(joint, link.prim, link.X, Pose.identity())
        return stated

    def _report_pieces(self, tree: Tree) -> None:
        if len(tree.roots) > 1:
            listed = ", ".join(f"'{root}'" for root in tree.roots[:8])
            floats = "each is held" if self.base == "fixed" else "each floats by itself"
            self.ledger.info(self.source.label, f"{len(tree.roots)} unconnected pieces: {listed}", floats)

    # ---- all else

    def _add_contents(
        self, builder: ModelBuilder, links: Mapping[str, Link], tree: Tree, stated: Mapping[str, Stated],
        start: dict[str, Any],
    ) -> None:  # fmt: skip
        """Actuators, the start, pairs that never touch, links without weight."""
        source = self.source
        by_path: dict[str, str] = {}
        for name, each in stated.items():
            by_path.setdefault(str(each.prim.GetPath()), name)
            if builder.has_joint(name) and each.joint.mimic is None:
                for drive in each.drives:
                    add_drive(builder, name, drive, each.joint.where, self.ledger)
            elif each.drives:
                self.ledger.warning(each.joint.where, f"drive of joint '{name}', which has no coordinate", "not used")
        add_actuators(source, builder, self.prims.all, by_path)
        followers = {step.joint.name for step in tree.steps if step.joint.mimic is not None}
        coordinates = {joint: q for joint, q in start.items() if builder.has_joint(joint) and joint not in followers}
        moved = {
            joint: q
            for joint, q in coordinates.items()
            if np.any(np.asarray(q) != [0, 0, 0, 1, 0, 0, 0][-np.size(q) :])
        }
        if any(np.size(q) != 7 or np.any(np.asarray(q) != [0, 0, 0, 1, 0, 0, 0]) for q in moved.values()):
            builder.add_keyframe(START, coordinates, {})
        pairs = filtered_pairs(source, links.values(), self.prims.inside(self.scope, source))
        for each in stated.values():
            if not each.collides and each.joint.loop and WORLD not in (each.joint.parent, each.joint.child):
                pairs.add((min(each.joint.parent, each.joint.child), max(each.joint.parent, each.joint.child)))
            elif each.collides and each.joint.kind != "fixed":
                what = "joint whose ends may touch each other"
                self.ledger.count(each.joint.where, what, "neighbours in the tree never touch here")
        for a, b in sorted(pairs):
            if builder.has_frame(a) and builder.has_frame(b):
                builder.exclude(a, b)
        if light := {link.name: 1.0 for link in links.values() if link.weightless}:
            builder.surround(compensations=light)


def _between(stated: Iterable[Stated], links: Mapping[str, Link]) -> dict[str, Link]:
    """The massless links of chains."""
    between = {}
    for each in stated:
        for name in (each.joint.parent, each.joint.child):
            if name != WORLD and name not in links:
                X = Pose.identity()
                between[name] = Link(name, None, each.joint.where, X, np.eye(3), Inertia.zero(), [])
    return between
