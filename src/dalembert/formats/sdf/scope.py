"""The scopes of an SDF file: worlds and models within models, and the named entities in each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dalembert.errors import DalembertError, unknown
from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..xml import children, tag_of
from .include import Includes, included
from .source import Element, SdfFile

MODEL_FRAME = "__model__"  # SDF's name for the frame of a model
SEPARATOR = "::"
DEEPEST = 30  # models within models
IDLE_IN_MODEL = {
    "self_collide", "allow_auto_disable", "plugin", "gripper", "enable_wind", "enable_stats", "hardware_interface",
}  # fmt: skip
NOT_USED = "not used: contact, plugins and engines are not part of the dynamics of the robot"
IN_MODEL = {"link", "joint", "frame", "model", "include", "pose", "static"}


@dataclass(frozen=True, eq=False)
class Entity:
    """A link, joint, frame or model of a scope: its pose in the frame `base`, and what it is fixed to (`attached`).

    Of a model, `scope` is the scope inside it. An entity merged in from an included model refers to `alias` in that
    `scope`.
    """

    kind: str
    name: str
    element: Element
    pose: Pose
    base: str
    attached: str
    scope: SdfScope | None = None
    alias: str = ""


@dataclass(eq=False)
class SdfScope:
    """A <world> or <model>; `prefix` precedes its names in the robot."""

    source: SdfFile
    element: Element
    prefix: str = ""
    static: bool = False
    canonical: str = ""
    placement_frame: str = ""
    frames: dict[str, Entity] = field(default_factory=dict)  # everything that has a pose
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Entity] = field(default_factory=dict)  # apart: before SDF 1.7 a link may have the same name
    models: dict[str, SdfScope] = field(default_factory=dict)
    poses: dict[str, Pose] = field(default_factory=dict)  # those computed already, in this scope's frame
    carriers: dict[str, str] = field(default_factory=dict)  # frame → the link it moves with, as far as known
    followed: set[str] = field(default_factory=set)  # frames on the way to their link
    is_world: bool = False

    def pose(self, name: str, where: str) -> Pose:
        """The pose of a named frame in this scope's frame, as the file lays it out."""
        chain: list[Entity] = []
        passed: set[str] = set()
        X = Pose.identity()
        while name not in ("", MODEL_FRAME) and not (self.is_world and name == WORLD):
            if name in self.poses:
                X = self.poses[name]
                break
            if name in passed:
                ring = " → ".join([entity.name for entity in chain][:8])
                raise DalembertError(
                    f"{where}: the poses of {ring} are relative to each other; base one on {MODEL_FRAME}"
                )
            passed.add(name)
            entity = self.find(name, where)
            chain.append(entity)
            name, where = entity.base, self.source.where(entity.element)
        for entity in reversed(chain):
            X = X @ self._placement(entity)
            self.poses[entity.name] = X
        return X

    def joint_pose(self, name: str, where: str) -> Pose:
        """The pose of a joint's frame in this scope's frame."""
        return self.pose(self.joints[name].base, where) @ self.joints[name].pose

    def _placement(self, entity: Entity) -> Pose:
        """The pose of an entity in its base; that of a model may be stated for another frame in it."""
        inside = entity.scope
        if inside is not None and entity.alias:
            return inside.pose(entity.alias, self.source.where(entity.element))
        if inside is None or not inside.placement_frame:
            return entity.pose
        return entity.pose @ inside.pose(inside.placement_frame, inside.source.where(inside.element)).inverse()

    def find(self, name: str, where: str) -> Entity:
        """The entity of that name here, or inside models as in "arm::hand"."""
        if name in self.frames:
            return self.frames[name]
        inside = self._inside(name)
        if inside is not None:
            model, scope, inner_name = inside
            base = model.base if model.alias else model.name
            entity = self.frames[name] = Entity("frame", name, self.element, scope.pose(inner_name, where), base, "")
            return entity
        raise DalembertError(f"{unknown('frame', name, self.names(), where)}; expected a link, joint, frame or model")

    def _inside(self, name: str) -> tuple[Entity, SdfScope, str] | None:
        """For a name like "arm::hand": the model here, the scope to look in, and the name there."""
        head, separator, inner_name = name.partition(SEPARATOR)
        model = self.frames.get(head) if separator else None
        if model is None or model.scope is None:
            return None
        return model, model.scope, f"{model.alias}{SEPARATOR}{inner_name}" if model.alias else inner_name

    def names(self) -> list[str]:
        """The names that can be referred to, except those inside models."""
        return [name for name in self.frames if SEPARATOR not in name]

    def link(self, name: str, where: str) -> str:
        """The link, as named from the robot, that a named frame moves with; or "world"."""
        scope: SdfScope = self
        passed: list[tuple[SdfScope, str]] = []
        while not isinstance(carrier := scope._step(name, where), str):
            if name in scope.followed:
                raise DalembertError(f"{where}: '{name}' is attached to itself, through other frames; name a link")
            scope.followed.add(name)
            passed.append((scope, name))
            scope, name = carrier
        for each, step in passed:
            each.followed.discard(step)
            each.carriers[step] = carrier
        return carrier

    def _step(self, name: str, where: str) -> str | tuple[SdfScope, str]:
        """The link that carries a frame if it is known here, else the scope and name to look up next."""
        if name == WORLD:
            return WORLD
        if name in self.carriers:
            return self.carriers[name]
        if name in ("", MODEL_FRAME):
            return self, self.canonical_link()
        inside = self._inside(name)
        if inside is not None:
            return inside[1], inside[2]
        entity = self.find(name, where)
        if entity.kind == "link":
            return self.prefix + name
        if entity.scope is not None:
            return entity.scope, entity.alias
        return self, entity.attached or (WORLD if self.is_world else "")

    def canonical_link(self) -> str:
        """The link that carries the model's frame: the one stated, else the first."""
        if self.canonical:
            return self.canonical
        if self.links:
            return next(iter(self.links))
        for name, model in self.models.items():
            return f"{name}{SEPARATOR}{model.canonical_link()}"
        raise self.source.error(self.element, "the model has no <link>; add one")


def read_model(source: SdfFile, element: Element, includes: Includes, prefix: str = "") -> SdfScope:
    """A <model> with all models inside it."""
    known = {"name", "canonical_link", "placement_frame"}
    source.report(element, tags=IN_MODEL, attributes=known, idle=IDLE_IN_MODEL, why=NOT_USED)
    scope = SdfScope(source, element, prefix, source.flag(element, "static"))
    scope.canonical = (element.get("canonical_link") or "").strip()
    scope.placement_frame = (element.get("placement_frame") or "").strip()
    _fill(scope, includes)
    return scope


def read_world(source: SdfFile, element: Element, includes: Includes) -> SdfScope:
    """A <world>: its models and frames."""
    scope = SdfScope(source, element, is_world=True)
    _fill(scope, includes)
    return scope


def _fill(scope: SdfScope, includes: Includes) -> None:
    for element in children(scope.element):
        tag = tag_of(element)
        if tag == "link" and element.get("name") == WORLD and scope.source.version < (1, 7) and not len(element):
            what = "an empty <link> called 'world', a name that SDF 1.7 reserves"
            scope.source.ledger.info(scope.source.where(element), what, "taken as the world itself")
        elif tag in ("link", "joint", "frame") and not (scope.is_world and tag != "frame"):
            _add(scope, _entity(scope, element, tag))
        elif tag == "model":
            _add_model(scope, scope.source, element, None, includes)
        elif tag == "include":
            source, inside = included(scope.source, element, includes)
            _add_model(scope, source, inside, element, includes)


def _entity(scope: SdfScope, element: Element, tag: str) -> Entity:
    source = scope.source
    name = source.document.text(element, "name")
    pose, base = source.pose(element)
    attached = ""
    if tag == "joint":
        attached = end(source, element, "child")
        if attached == WORLD:
            raise source.error(element, "the child of a joint cannot be the world; swap <parent> and <child>")
        entity = Entity(tag, name, element, pose, base or attached, attached)
        if name in scope.joints:
            raise _taken(source, scope.joints[name], entity)
        scope.joints[name] = entity
    elif tag == "frame":
        source.report(element, tags={"pose"}, attributes={"name", "attached_to"})
        attached = (element.get("attached_to") or "").strip()
    else:
        scope.links.setdefault(name, element)
    return Entity(tag, name, element, pose, base or attached, attached)


def end(source: SdfFile, joint: Element, tag: str) -> str:
    """The name in <parent> or <child>."""
    element = source.child(joint, tag)
    if element is None:
        raise source.error(joint, f"has no <{tag}>; add <{tag}>name of a link</{tag}>")
    return source.text(element)


def _add(scope: SdfScope, entity: Entity) -> None:
    name, source = entity.name, scope.source
    if name == WORLD or (name.startswith("__") and name.endswith("__")):
        cure = "remove it or give it another one" if name == WORLD else "give it another one"
        raise source.error(entity.element, f"the name '{name}' is reserved by SDF; {cure}")
    if SEPARATOR in name:
        raise source.error(entity.element, f"'{SEPARATOR}' in a name refers to entities inside models; rename it")
    old = scope.frames.get(name)
    if old is not None and ({old.kind, entity.kind} != {"link", "joint"} or source.version >= (1, 7)):
        raise _taken(source, old, entity)
    if old is None or entity.kind == "link":  # before 1.7 a joint may be named like a link, and the link is meant
        scope.frames[name] = entity


def _taken(source: SdfFile, old: Entity, new: Entity) -> DalembertError:
    line = old.element.sourceline
    return source.error(new.element, f"line {line} has a {old.kind} of the same name; rename one")


def _add_model(scope: SdfScope, source: SdfFile, element: Element, include: Element | None, includes: Includes) -> None:
    """A model inside this scope; an <include> may rename, place and hold it, or merge it with the model around it."""
    if scope.is_world:  # only one of a world's models will be read
        source = replace(source, ledger=Ledger())
    at, stated = (element, source) if include is None else (include, scope.source)
    new_name = None if include is None else stated.word(include, "name")
    name = new_name or source.document.text(element, "name")
    held = None if include is None or stated.child(include, "static") is None else stated.flag(include, "static")
    if include is not None and stated.child(include, "pose") is not None:
        pose, base = stated.pose(include)
    else:
        pose, base = source.pose(element)
    merged = include is not None and stated.truth(include, include.get("merge", "false"))
    if merged and scope.is_world:
        raise stated.error(at, 'merge="true" in a world is for worlds; include the model without it')
    prefix = "" if scope.is_world else scope.prefix if merged else f"{scope.prefix}{name}{SEPARATOR}"
    if prefix.count(SEPARATOR) > DEEPEST:
        raise stated.error(at, f"models nest deeper than {DEEPEST}; flatten them")
    inside = read_model(source, element, includes, prefix)
    inside.static = scope.static or (inside.static if held is None else held)
    if include is not None and (frame := stated.word(include, "placement_frame")):
        inside.placement_frame = frame
    name = f"_merged__{name}__" if merged else name
    _add(scope, Entity("model", name, at, pose, base, "", inside))
    scope.models[name] = inside
    if merged:
        for part in inside.names():
            _add(scope, Entity(f"merged {inside.frames[part].kind}", part, at, Pose.identity(), name, "", inside, part))
