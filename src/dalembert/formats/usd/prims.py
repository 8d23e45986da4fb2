"""The prims of a stage, sorted: bodies with what they hold, joints, fixed shapes, scenes; and names for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .choice import Scope, Stock, connected, within
from .shapes import is_collider
from .source import Source

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

    def names(self, source: Source, prims: list[Any], taken: set[str]) -> dict[str, str]:
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

    def inside(self, scope: Scope, source: Source) -> list[Any]:
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


def sort_prims(source: Source) -> Prims:
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


def _report_unread(source: Source, prim: Any) -> None:
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
