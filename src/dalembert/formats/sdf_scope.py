"""The scopes of an SDF file: worlds and models within models, and what has a name and a place in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dalembert.errors import DalembertError, unknown
from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from .ledger import Ledger
from .sdf_include import Includes, included
from .sdf_source import Element, Source
from .xml import children, tag_of

OWN = "__model__"  # a model's own frame, as SDF writes it
SEPARATOR = "::"
DEEPEST = 30  # models within models
IDLE_IN_MODEL = {
    "self_collide", "allow_auto_disable", "plugin", "gripper", "enable_wind", "enable_stats", "hardware_interface",
}  # fmt: skip
NOT_USED = "not used: contact, plugins and engines are not part of the dynamics of the robot"
IN_MODEL = {"link", "joint", "frame", "model", "include", "pose", "static"}


@dataclass(frozen=True, eq=False)
class Entity:
    """A link, joint, frame or model of a scope: its pose in the frame `base`, and what it is fixed to (`attached`)."""

    kind: str
    name: str
    element: Element
    pose: Pose
    base: str
    attached: str
    scope: Scope | None = None  # of a model: its inside


@dataclass(eq=False)
class Scope:
    """A <world> or <model>; `prefix` comes before the names in it, seen from the robot."""

    source: Source
    element: Element
    prefix: str = ""
    static: bool = False
    canonical: str = ""
    placement_frame: str = ""
    frames: dict[str, Entity] = field(default_factory=dict)  # everything that has a place
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    poses: dict[str, Pose] = field(default_factory=dict)  # those found so far, in this scope's frame
    is_world: bool = False

    def all(self) -> Iterator[Scope]:
        """This scope, then those inside it, in file order."""
        yield self
        for model in self.models.values():
            yield from model.all()

    def pose(self, name: str, where: str) -> Pose:
        """The pose of a named frame in this scope's own frame, in the layout of the file."""
        chain: list[Entity] = []
        passed: set[str] = set()
        X = Pose.identity()
        while name not in ("", OWN) and not (self.is_world and name == WORLD):
            if name in self.poses:
                X = self.poses[name]
                break
            if name in passed:
                ring = " → ".join([entity.name for entity in chain][:8])
                raise DalembertError(f"{where}: the poses of {ring} are relative to each other; base one on {OWN}")
            passed.add(name)
            entity = self.find(name, where)
            chain.append(entity)
            name, where = entity.base, self.source.where(entity.element)
        for entity in reversed(chain):
            X = X @ self._own(entity)
            self.poses[entity.name] = X
        return X

    def _own(self, entity: Entity) -> Pose:
        """The pose of an entity in its base; that of a model may be stated for another frame in it."""
        inside = entity.scope
        if inside is None or not inside.placement_frame:
            return entity.pose
        return entity.pose @ inside.pose(inside.placement_frame, inside.source.where(inside.element)).inverse()

    def find(self, name: str, where: str) -> Entity:
        """What has that name here, or inside models as in "arm::hand"."""
        if name in self.frames:
            return self.frames[name]
        head, separator, rest = name.partition(SEPARATOR)
        if separator and head in self.models:
            inside = self.models[head]
            X = Pose.identity() if rest == OWN else inside.pose(rest, where)
            entity = Entity("frame", name, self.element, X, head, "")
            self.frames[name] = entity
            return entity
        raise DalembertError(f"{unknown('frame', name, self.names(), where)}; expected a link, joint, frame or model")

    def names(self) -> list[str]:
        """The names that can be referred to, those inside models left out."""
        return [name for name in self.frames if SEPARATOR not in name]

    def link(self, name: str, where: str) -> str:
        """The link, as named from the robot, that a named frame moves with; or "world"."""
        scope, passed = self, set[tuple[int, str]]()
        while True:
            if name == WORLD:
                return WORLD
            if name in ("", OWN):
                name = scope.canonical_link()
            head, separator, rest = name.partition(SEPARATOR)
            if separator and head in scope.models:
                scope, name = scope.models[head], rest
                continue
            entity = scope.find(name, where)
            if entity.kind == "link":
                return scope.prefix + name
            if entity.scope is not None:
                scope, name = entity.scope, ""
                continue
            if (id(scope), name) in passed:
                raise DalembertError(f"{where}: '{name}' is attached to itself, through other frames; name a link")
            passed.add((id(scope), name))
            name = entity.attached or (WORLD if scope.is_world else "")

    def canonical_link(self) -> str:
        """The link that carries the model's own frame: the one stated, else the first."""
        if self.canonical:
            return self.canonical
        if self.links:
            return next(iter(self.links))
        for name, model in self.models.items():
            return f"{name}{SEPARATOR}{model.canonical_link()}"
        raise self.source.error(self.element, "the model has no <link>; add one")


def read_model(source: Source, element: Element, includes: Includes, prefix: str = "", static: bool = False) -> Scope:
    """A <model> with all models inside it."""
    known = {"name", "canonical_link", "placement_frame"}
    source.report(element, tags=IN_MODEL, attributes=known, idle=IDLE_IN_MODEL, why=NOT_USED)
    scope = Scope(source, element, prefix, static or source.flag(element, "static"))
    scope.canonical = (element.get("canonical_link") or "").strip()
    scope.placement_frame = (element.get("placement_frame") or "").strip()
    _fill(scope, includes)
    return scope


def read_world(source: Source, element: Element, includes: Includes) -> Scope:
    """A <world>: its models and frames."""
    scope = Scope(source, element, is_world=True)
    _fill(scope, includes)
    return scope


def _fill(scope: Scope, includes: Includes) -> None:
    for element in children(scope.element):
        tag = tag_of(element)
        if tag in ("link", "joint", "frame") and not (scope.is_world and tag != "frame"):
            _add(scope, _entity(scope, element, tag))
        elif tag == "model":
            _add_model(scope, scope.source, element, None, includes)
        elif tag == "include":
            source, inside = included(scope.source, element, includes)
            _add_model(scope, source, inside, element, includes)


def _entity(scope: Scope, element: Element, tag: str) -> Entity:
    source = scope.source
    name = source.document.text(element, "name")
    pose, base = source.pose(element)
    attached = ""
    if tag == "joint":
        attached = end(source, element, "child")
        if attached == WORLD:
            raise source.error(element, "the child of a joint cannot be the world; swap <parent> and <child>")
        scope.joints.setdefault(name, element)
    elif tag == "frame":
        source.report(element, tags={"pose"}, attributes={"name", "attached_to"})
        attached = (element.get("attached_to") or "").strip()
    else:
        scope.links.setdefault(name, element)
    return Entity(tag, name, element, pose, base or attached, attached)


def end(source: Source, joint: Element, tag: str) -> str:
    """The name in <parent> or <child>."""
    element = source.child(joint, tag)
    if element is None:
        raise source.error(joint, f"has no <{tag}>; add <{tag}>name of a link</{tag}>")
    return source.text(element)


def _add(scope: Scope, entity: Entity) -> None:
    name, source = entity.name, scope.source
    if name == WORLD or (name.startswith("__") and name.endswith("__")):
        cure = "remove it or give it another one" if name == WORLD else "give it another one"
        raise source.error(entity.element, f"the name '{name}' is reserved by SDF; {cure}")
    if SEPARATOR in name:
        raise source.error(entity.element, f"'{SEPARATOR}' in a name is for what is inside models; rename it")
    old = scope.frames.get(name)
    if old is None:
        scope.frames[name] = entity
    elif old.kind == entity.kind or source.version >= (1, 7):
        raise source.error(
            entity.element, f"there is already a {old.kind} of that name in line {old.element.sourceline}; rename one"
        )
    elif old.kind == "joint" and entity.kind == "link":  # before 1.7 only links could be referred to
        scope.frames[name] = entity


def _add_model(scope: Scope, source: Source, element: Element, include: Element | None, includes: Includes) -> None:
    """A model inside this scope; an <include> may rename, place and hold it."""
    if scope.is_world:  # only one of a world's models is read in the end
        source = replace(source, ledger=Ledger())
    at, stated = (element, source) if include is None else (include, scope.source)
    given = None if include is None else stated.word(include, "name")
    name = given or source.document.text(element, "name")
    static = scope.static or (include is not None and stated.flag(include, "static"))
    if include is not None and stated.child(include, "pose") is not None:
        pose, base = stated.pose(include)
    else:
        pose, base = source.pose(element)
    prefix = "" if scope.is_world else f"{scope.prefix}{name}{SEPARATOR}"
    if prefix.count(SEPARATOR) > DEEPEST:
        raise stated.error(at, f"models nest deeper than {DEEPEST}; flatten them")
    inside = read_model(source, element, includes, prefix, static)
    if include is not None and (frame := stated.word(include, "placement_frame")):
        inside.placement_frame = frame
    _add(scope, Entity("model", name, at, pose, base, "", inside))
    scope.models[name] = inside
