"""The prims of a stage, sorted, and which of them are the robot: bodies connected by joints, with names for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import LISTED, DalembertError, unknown

from .shapes import is_collider
from .source import UsdSource, within


@dataclass
class Selection:
    """The bodies (by path) and joints that are read; `scenery`: shapes fixed in the world; root: the prim of it all."""

    bodies: dict[str, Any]
    joints: list[Any]
    scenery: list[Any]
    root: Any


@dataclass
class Stock:
    """Everything physical in a stage, and which bodies joints connect."""

    bodies: dict[str, Any]
    joints: list[Any]
    colliders: list[Any]
    groups: dict[str, str]  # body → a body that stands for all that are connected with it
    ends: dict[str, list[str]]  # joint → the bodies at its ends


def choose(source: UsdSource, stock: Stock, wanted: str | None) -> Selection:
    """The prim that is named, the only robot, or the whole stage if it has no more than one."""
    if wanted is None:
        return _only(source, stock)
    path = wanted.rstrip("/") or "/"
    prim = source.stage.GetPrimAtPath(path) if source.pxr.Sdf.Path.IsValidPathString(path) else None
    candidates = list(_robots(source, stock)) or list(stock.bodies)
    if not path.startswith("/") or not prim:
        raise unknown("prim", wanted, candidates, source.label)
    if path == "/":
        return Selection(stock.bodies, stock.joints, stock.colliders, source.stage.GetPseudoRoot())
    inside = {body for body in stock.bodies if within(body, path)}
    joints = [joint for joint in stock.joints if within(str(joint.GetPath()), path)]
    named = inside or {end for joint in joints for end in stock.ends[str(joint.GetPath())]}
    marked = path in stock.bodies or not inside  # a body or a joint stands for all that is connected with it
    if marked:
        wholes = {stock.groups[body] for body in named}
        named = {body for body in stock.bodies if stock.groups[body] in wholes}
    if not named:
        listed = ", ".join(f"<{each}>" for each in candidates[:LISTED]) or "none"
        raise DalembertError(f"{source.label}: there is no rigid body in <{path}>; robots of the stage: {listed}")
    return _part(source, stock, named, prim, path)


def _only(source: UsdSource, stock: Stock) -> Selection:
    robots = _robots(source, stock)
    root = source.stage.GetDefaultPrim() or source.stage.GetPseudoRoot()
    whole = not root.IsPseudoRoot() and source.word(root, "dalembert:robot")  # as `save` marks a robot of several trees
    if whole and all(within(body, str(root.GetPath())) for body in stock.bodies):
        return Selection(stock.bodies, stock.joints, stock.colliders, root)
    if len(robots) > 1:
        names = list(robots)
        listed = ", ".join(f"<{name}>" for name in names[:LISTED])
        listed += f", … ({len(names)} in all)" if len(names) > LISTED else ""
        raise DalembertError(
            f'{source.label}: {len(names)} robots: {listed}; say which, as in load("file.usd", prim="{names[0]}"), '
            'or prim="/" for all of them'
        )
    if not stock.bodies:
        raise DalembertError(
            f"{source.label}: no prim is a rigid body (PhysicsRigidBodyAPI); add UsdPhysics to the stage"
        )
    if robots:
        root = source.stage.GetPrimAtPath(next(iter(robots)))
    return Selection(stock.bodies, stock.joints, stock.colliders, root)


def _robots(source: UsdSource, stock: Stock) -> dict[str, set[str]]:
    """Sets of several bodies that joints connect, by the path of the prim that holds all of one."""
    wholes: dict[str, set[str]] = {}
    for body, group in stock.groups.items():
        wholes.setdefault(group, set()).add(body)
    jointed = {end for ends in stock.ends.values() for end in ends}
    robots: dict[str, set[str]] = {}
    for bodies in wholes.values():
        if len(bodies) > 1 or (bodies & jointed):
            path = _holder(bodies)
            robots[min(bodies) if path in robots or path == "/" else path] = bodies
    return robots


def _holder(bodies: Iterable[str]) -> str:
    """The path of the prim that holds all bodies."""
    paths = [body.split("/") for body in bodies]
    common = paths[0][:-1] if len(paths) == 1 else paths[0]
    for other in paths[1:]:
        common = [a for a, b in zip(common, other, strict=False) if a == b][: _agree(common, other)]
    path = "/".join(common) or "/"
    return path


def _agree(a: list[str], b: list[str]) -> int:
    """How many words two paths share from the beginning."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def _part(source: UsdSource, stock: Stock, named: set[str], prim: Any, path: str) -> Selection:
    """The named bodies, with the joints between them and to the world; what is cut off is logged."""
    joints = []
    for joint in stock.joints:
        ends = stock.ends[str(joint.GetPath())]
        if not ends or not named.issuperset(ends):
            if named.intersection(ends):
                other = next(end for end in ends if end not in named)
                what = f"joint between the robot and <{other}>, which is not part of it"
                source.ledger.warning(source.where(joint), what, "left out")
            continue
        joints.append(joint)
    scenery = [each for each in stock.colliders if within(str(each.GetPath()), path)]
    others = len(stock.bodies) - len(named)
    if others or len(scenery) < len(stock.colliders):
        what = f"{others} other bodies and {len(stock.colliders) - len(scenery)} fixed shapes outside <{path}>"
        source.ledger.info(source.label, what, "not loaded")
    return Selection({body: each for body, each in stock.bodies.items() if body in named}, joints, scenery, prim)


def connected(bodies: Iterable[str], ends: Mapping[str, list[str]]) -> dict[str, str]:
    """For each body one that stands for all with which joints connect it."""
    groups = {body: body for body in bodies}

    def head(body: str) -> str:
        while groups[body] != body:
            groups[body] = groups[groups[body]]
            body = groups[body]
        return body

    for pair in ends.values():
        if len(pair) == 2:
            groups[head(pair[1])] = head(pair[0])
    return {body: head(body) for body in groups}


MOST_PRIMS = 500_000
# types and applied schemas that move something, and are not read
UNREAD_TYPES = ("Mjc", "Newton", "Physx", "Vehicle", "TetMesh")
READ_TYPES = ("MjcActuator", "NewtonActuator")
UNREAD_SCHEMAS = (
    "PhysxDeformable", "PhysxVehicle", "PhysxParticle", "PhysxTendon", "PhysxCharacter",
    "PhysxSurfaceVelocity", "PhysxForceAPI", "OmniPhysicsDeformable", "PhysicsDeformable", "PhysicsSurfaceDeformable",
    "PhysicsVolumeDeformable", "PhysicsCurvesDeformable", "NewtonSurface", "IsaacSurfaceGripper", "NewtonVolume",
)  # fmt: skip


@dataclass
class Prims:
    """All prims in order; held: path of a body → what lies in it; scenes of physics."""

    all: list[Any]
    stock: Stock
    held: dict[str, list[Any]]
    scenes: list[Any]

    def names(self, source: UsdSource, prims: list[Any], taken: set[str]) -> dict[str, str]:
        """A name for each prim by path: its own where that is unique, else with those of its holders before it."""
        own = {str(prim.GetPath()): source.word(prim, "dalembert:name") for prim in prims}
        words = {path: path.strip("/").split("/") for path in own}
        counts: dict[str, int] = {}
        for parts in words.values():
            for k in range(len(parts)):
                tail = "/".join(parts[k:])
                counts[tail] = counts.get(tail, 0) + 1
        used, names = set(taken), {}
        for path, stated in own.items():
            tails = ["/".join(words[path][k:]) for k in range(len(words[path]) - 1, -1, -1)]
            options = [tail for tail in tails if counts[tail] == 1 and tail not in used]
            name = stated if stated and stated not in used else (options[0] if options else path)
            while name in used:
                name += "_"
            used.add(name)
            names[path] = name
        return names

    def inside(self, scope: Selection, source: UsdSource) -> list[Any]:
        """The prims that concern the robot: its own, scenes and materials; reports those that move and are not read."""
        root = (
            "/"
            if scope.root.IsPseudoRoot() or len(scope.bodies) == len(self.stock.bodies)
            else str(scope.root.GetPath())
        )
        joints = {str(joint.GetPath()) for joint in scope.joints}
        return [
            prim
            for prim in self.all
            if within(path := str(prim.GetPath()), root) or path in joints or prim in self.scenes
        ]


def sort_prims(source: UsdSource) -> Prims:
    """Sort all prims of the stage."""
    physics = source.pxr.UsdPhysics
    everything: list[Any] = []
    bodies: dict[str, Any] = {}
    held: dict[str, list[Any]] = {}
    joints, colliders, scenes = [], [], []
    holders: dict[str, Any] = {}  # path of a prim → the body that it lies in
    for prim in source.prims():
        if prim.IsPseudoRoot():
            continue
        everything.append(prim)
        if len(everything) > MOST_PRIMS:
            raise source.error(prim, f"the stage has more than the {MOST_PRIMS} prims that are accepted")
        path, parent = str(prim.GetPath()), str(prim.GetPath().GetParentPath())
        body = holders.get(parent)
        if prim.HasAPI(physics.RigidBodyAPI) and source.flag(prim, "physics:rigidBodyEnabled", True):
            bodies[path], held[path], body = prim, [], prim
        elif body is not None:
            held[str(body.GetPath())].append(prim)
        elif is_collider(source, prim):
            colliders.append(prim)
        if body is not None:
            holders[path] = body
        if prim.IsA(physics.Joint):
            if source.flag(prim, "physics:jointEnabled", True):
                joints.append(prim)
            else:
                source.ledger.info(source.where(prim), "a joint that is switched off", "left out")
        elif prim.IsA(physics.Scene):
            scenes.append(prim)
        _report_unread(source, prim)
    source.bodies = set(bodies)
    ends = {str(joint.GetPath()): _ends(joint, holders) for joint in joints}
    stock = Stock(bodies, joints, colliders, connected(bodies, ends), ends)
    return Prims(everything, stock, held, scenes)


def _ends(joint: Any, holders: dict[str, Any]) -> list[str]:
    """The paths of the bodies at the ends of a joint."""
    found = []
    for name in ("physics:body0", "physics:body1"):
        for target in joint.GetRelationship(name).GetForwardedTargets()[:1]:
            body = holders.get(str(target.GetPrimPath()))
            if body is not None:
                found.append(str(body.GetPath()))
    return found


def _report_unread(source: UsdSource, prim: Any) -> None:
    """Log things that move and have no counterpart, and choices among variants."""
    kind = str(prim.GetTypeName())
    if kind.startswith(UNREAD_TYPES) and kind not in READ_TYPES:
        report = source.ledger.info if kind == "MjcKeyframe" else source.ledger.warning
        report(source.where(prim), f"a prim of type {kind}", "not used")
    for schema in source.schemas(prim):
        if schema.startswith(UNREAD_SCHEMAS):
            source.ledger.warning(source.where(prim), f"{schema}", "not used")
    if prim.HasVariantSets():
        for name in prim.GetVariantSets().GetNames():
            variants = prim.GetVariantSet(name)
            chosen, others = variants.GetVariantSelection(), ", ".join(variants.GetVariantNames())
            source.ledger.info(source.where(prim), f"variant set '{name}' of {others}", f"'{chosen}' is read")
