"""Values that may differ from motion to motion: live groups of the model, a payload, friction of contacts.

And what steps take of a model: elements that are refused, loops open at the start, laws known by their trace.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.execute import Call, RecentSame, is_single, real_array
from dalembert.compiler.execute.alone import Alone
from dalembert.compiler.interop import is_foreign, on_host
from dalembert.contact import Contact, Patch, candidates
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.math.arrays import asked
from dalembert.model import Model, tool_frame
from dalembert.model.geometry import Geometry
from dalembert.quantities.guards import function_call
from dalembert.quantities.live import GROUPS, SHAPES, check_live, checked, live_shapes
from dalembert.spatial import Inertia
from dalembert.typing import Array

from ..elements.base import Element
from ..elements.contact import CompliantContact, RigidContact
from ..elements.fields import surroundings
from ..elements.friction import with_friction
from ..elements.soft import SoftContact
from ..integrators.catalogue import INTEGRATORS, Integrator
from ..run.initial import SAID, loop_name
from ..system.system import Law, System

CONTACT_FRICTION = "contact_friction"  # Coulomb's coefficient of all contacts, at rest and sliding
PAYLOAD = "payload"  # a point mass at the tool [kg]
ALONE = (CONTACT_FRICTION, PAYLOAD)  # one number each


def checked_names(names: Collection[str], contact: Contact | None, where: str = "rollout") -> tuple[str, ...]:
    """Names of what is live, each known; friction of contacts last, where there are such."""
    known = (*GROUPS, *ALONE)
    if wrong := [name for name in names if name not in known]:
        raise unknown("live parameters", str(wrong[0]), known, "live")
    live = (*checked(name for name in names if name not in ALONE), *(name for name in names if name == PAYLOAD))
    if CONTACT_FRICTION not in names:
        return live
    if contact is None or contact.model == "mujoco":
        what = "there is no contact" if contact is None else "contacts of MuJoCo's model take that of the file"
        raise DalembertError(f"{where}: parameters: {CONTACT_FRICTION}: {what}")
    if contact.static_friction is not None:
        raise DalembertError(
            f"{where}: parameters: {CONTACT_FRICTION} is that of rest as well: leave out static_friction of the contact"
        )
    return (*live, CONTACT_FRICTION)


def size_of(model: Model, name: str) -> int:
    """Numbers of a live group."""
    return 1 if name in ALONE else len(GROUPS[name].values(model))


def check_values(model: Model, named: Mapping[str, Array], where: str = "rollout") -> None:
    """Raise the error for the first value that no robot has."""
    check_live(model, where, {name: x for name, x in named.items() if name not in ALONE})
    for name in ALONE:
        values = named.get(name)
        if values is not None and not np.all(values >= 0.0):
            wrong = values[~(values >= 0.0)].ravel()[0]
            raise DalembertError(f"{where}: {name} is {wrong:g}, expected 0 or more, or check=False")


def friction_as_input(model: Model, contact: Any) -> tuple[Any, float | None]:
    """The contact with a friction that is the same for all numbers, and its number as an input: so none compiles again.

    The contact as it is and None, where its friction is not one number above 0 for all, at rest and sliding.
    """

    def changed() -> tuple[Any, float | None]:
        mu = contact.friction
        if (
            contact.model == "mujoco"
            or not is_number(mu)
            or not 0.0 < mu < np.inf
            or contact.static_friction is not None
        ):
            return contact, None
        alike = replace(contact, friction=1.0)
        laws = [patch.law for patch in candidates(model, alike)]
        if any(law.friction != 1.0 or law.static_friction != 1.0 for law in laws):
            return contact, None
        return alike, float(mu)

    return _alike.get((model, contact), changed) if isinstance(contact, Contact) else (contact, None)


_alike = RecentSame(16)


class LiveInputs:
    """Live groups of a function that is called again and again: inputs beside its states, by keyword in every call."""

    def __init__(self, where: str, model: Model, names: Collection[str], contact: Contact | None) -> None:
        if isinstance(names, str):
            raise DalembertError(f"{where}: parameters is {names!r}, expected a tuple of names: ({names!r},)")
        self.where, self.model, self.names = where, model, checked_names(tuple(names), contact, where)
        self.sizes = {name: size_of(model, name) for name in self.names}

    def taken(self, like: Any, keywords: dict[str, Any]) -> list[Any]:
        """The values in a call, out of its keywords; numbers and lists in the precision of the array `like`."""
        values = []
        for name in self.names:
            if name not in keywords:
                expected = f"expected in every call: {name}=… (…, {self.sizes[name]})"
                raise DalembertError(f"{self.where}: {name} is missing, {expected}")
            x = keywords.pop(name)
            if not is_foreign(x):
                if not isinstance(x, np.ndarray):
                    dtype = like.dtype if is_single(like) else float
                    x = real_array(f"{self.where}: {name}", x, f"expected (…, {self.sizes[name]})").astype(dtype)
                x = x.reshape(1) if not x.ndim else x
            values.append(x)
        if keywords.get("check", True):
            named = dict(zip(self.names, values, strict=True))
            check_values(self.model, {k: x for k, x in named.items() if isinstance(x, np.ndarray)}, self.where)
        return values

    def put_state(
        self, model: Model, patches: tuple[Patch, ...], values: Sequence[Array]
    ) -> tuple[Model, tuple[Patch, ...]]:
        """The model and the patches of a single state with traced values of all groups."""
        for name, x in zip(self.names, values, strict=True):
            reshaped = model if name == CONTACT_FRICTION else put_group(model, name, x)
            if name in (CONTACT_FRICTION, *SHAPES):
                patches = patches_with(patches, name, x, model, reshaped)
            model = reshaped
        return model, patches

    def put(self, system: System, values: Sequence[Array]) -> System:
        """The system with traced values of all groups."""
        for name, x in zip(self.names, values, strict=True):
            system = put(system, name, x)
        return system


def put(system: System, name: str, x: Array) -> System:
    """The system with the numbers x of a live group."""
    model = system.model if name == CONTACT_FRICTION else put_group(system.model, name, x)
    if name not in (CONTACT_FRICTION, *SHAPES):
        return replace(system, model=model)
    elements: list[Any] = []
    for element in system.elements:
        if name in SHAPES and (
            (isinstance(element, RigidContact) and element.scene_room)
            or (isinstance(element, SoftContact) and element.problem.gathers)
        ):
            raise DalembertError(
                f"rollout: parameters: {name}: contacts that are looked for among near pairs are bounded by the file's "
                "sizes: name fewer pairs in Contact(pairs=…), or rebuild the robot"
            )
        if isinstance(element, (RigidContact, CompliantContact)):
            element = replace(element, patches=patches_with(element.patches, name, x, system.model, model))
        elif isinstance(element, SoftContact) and name in SHAPES:
            patches = patches_with(element.problem.patches, name, x, system.model, model)
            element = replace(element, problem=replace(element.problem, patches=patches))
        elements.append(element)
    return replace(system, model=model, elements=tuple(elements))


def patches_with(patches: tuple[Any, ...], name: str, x: Array, model: Model, reshaped: Model) -> tuple[Any, ...]:
    """Patches of a model with another friction, or with the shapes of a model that has other sizes or placements."""
    if name == CONTACT_FRICTION:
        return with_friction_number(patches, x[0])
    shapes = list(zip(live_shapes(model), live_shapes(reshaped), strict=True))
    table = {(body.index, id(old.shape)): (old, new) for (body, old), (_, new) in shapes}
    if len(table) < len(shapes):
        raise DalembertError(
            f"rollout: {name}: a body has one shape object twice: give each shape an object of its own"
        )
    return tuple(_reshaped(patch, table) for patch in patches)


def _reshaped(patch: Any, table: Mapping[tuple[int, int], tuple[Geometry, Geometry]]) -> Any:
    """A patch of either kind with the shapes of a table, where it has them."""
    fields, bodies = (("shape", "placement"), ("other", "other_placement")), (patch.first, patch.second)
    changes: dict[str, Any] = {}
    if isinstance(patch, Patch):
        changes["nominal"] = patch.nominal or patch
    else:
        fields, bodies = (("a", "placement_a"), ("b", "placement_b")), bodies if patch.flipped else bodies[::-1]
    for body, (shape, placement) in zip(bodies, fields, strict=True):
        old, new = table.get((body, id(getattr(patch, shape))), (None, None))
        if old is not None and new is not None:
            changes[shape] = new.shape
            changes[placement] = getattr(patch, placement) @ (old.placement.inverse() @ new.placement)
    return replace(patch, **changes)


def put_group(model: Model, name: str, x: Array) -> Model:
    """The model with the numbers x of a live group, or of a payload."""
    return _loaded(model, x[0]) if name == PAYLOAD else GROUPS[name].put(model, x)


def with_friction_number(patches: tuple[Patch, ...], mu: Any) -> tuple[Patch, ...]:
    """Patches with the friction mu, at rest and sliding."""
    laws = [replace(patch.law, friction=mu, static_friction=mu) for patch in patches]
    return tuple(replace(patch, law=law) for patch, law in zip(patches, laws, strict=True))


def _loaded(model: Model, mass: Any) -> Model:
    """The model with a point mass [kg] at its tool."""
    frame = tool_frame(model)
    p = frame.placement.p
    load = Inertia(mass, mass * p, mass * ((p @ p) * np.eye(3) - np.outer(p, p)))
    bodies = [replace(b, inertia=b.inertia + load) if b.index == frame.body else b for b in model.bodies]
    return replace(model, bodies=tuple(bodies))


def prepared(
    where: str,
    model: Model,
    elements: tuple[Element, ...],
    integrator: Integrator,
    friction: str | None,
    live: Sequence[str] = (),
) -> tuple[Model, tuple[Element, ...]]:
    """The model and the elements of steps; refuses what they cannot take.

    friction: "dry", "smooth", or None for the first of them that the integrator and live groups allow.
    """
    for element in elements:
        if not isinstance(element, Element):
            raise DalembertError(f"{where}: elements: expected force elements, got {type(element).__name__}")
        if type(element).gaps is not Element.gaps:
            raise DalembertError(f"{where}: {element.label()} needs events, which only `simulate` has")
    able = integrator.impulsive
    instead = " or ".join(repr(name) for name, known in INTEGRATORS.items() if known.impulsive)
    switching = [e.label() for e in elements if any(c.admissible.switches for c in e.constraints(model))]
    if switching and not able:
        raise DalembertError(
            f"{where}: {switching[0]} begins and ceases to act, which steps of {integrator.name!r} do not take: "
            f"use integrator={instead}, or `simulate`"
        )
    if friction == "dry" and not able:
        raise DalembertError(f"{where}: friction='dry' needs integrator={instead}, got {integrator.name!r}")
    if friction == "dry" and "friction" in live:
        raise DalembertError(f"{where}: friction='dry' takes the model's friction: live friction is smooth")
    for element in elements:
        model = element.prepared(model)
    fits = able and "friction" not in live
    elements = (*elements, *surroundings(model))
    model, elements, _ = with_friction(where, model, elements, friction or ("dry" if fits else "smooth"))
    return model, elements


DRIFT = 1e-3  # [m, rad] of loops that steps close to first order only, in a state that is given back to a stepper


class OpenLoops:
    """How far the loops of a system are open. sizes: of q, v, and of live groups by name."""

    def __init__(self, system: System, sizes: Mapping[str, int]) -> None:
        self.system, self.sizes = system, dict(sizes)

    def warn(self, where: str, state: Mapping[str, Any], least: float = SAID, depth: int = 4) -> None:
        """Warn if a loop is open by more than `least` [m, rad], or opens at more than this share of the speed."""
        if not self.system.permanent_count:
            return
        arrays = [np.asarray(x, float) for x in on_host(where, *(state[name] for name in self.sizes))]
        open_by, rate = np.split(np.abs(self._call(*arrays, check=False)), 2, axis=-1)
        speed = np.maximum(np.max(np.abs(arrays[1]), axis=-1, keepdims=True, initial=0.0), 1.0)
        for off, words, moved in ((open_by, "{:.3g} m or rad", "q"), (rate / speed, "{:.3g} of its speed", "v")):
            if np.max(off, initial=0.0) > least:
                place = np.unravel_index(int(np.argmax(off)), off.shape)
                motion = f" of motion {', '.join(map(str, place[:-1]))}" if len(place) > 1 else ""
                warnings.warn(
                    f"{where}: the start{motion} leaves {loop_name(self.system, int(place[-1]))!r} open by "
                    f"{words.format(off[place])}: the first steps close it, which changes {moved}; start from "
                    "robot.close_loops(q, v)",
                    stacklevel=depth,
                )
                return

    @cached_property
    def _call(self) -> Call:
        """How far each row is off, and how fast, (…, 2 rows)."""

        def compute(*inputs: Array) -> Array:
            named, system = dict(zip(self.sizes, inputs, strict=True)), self.system
            for name in list(self.sizes)[2:]:
                system = put(system, name, named[name])
            z = np.zeros(system.layout.nz)
            rows = system.constraint_rows(0.0, named["q"], named["v"], z).first(system.permanent_count)
            return np.concatenate([rows.coordinate, rows.rate(named["v"])])

        return function_call(self.system.model, "loops at the start", self.sizes, compute)


class LoneLaw:
    """A law that was traced alone on t, q, v; `alone` compares each answer of the law within a step with that trace."""

    def __init__(self, model: Model, law: Law) -> None:
        def compute(t: Array, q: Array, v: Array) -> Array:
            return np.asarray(asked(law, t[0], q, v), object)

        self.law, self.alone = law, Alone("law", {"t": 1, "q": model.nq, "v": model.nv}, compute)

    def __call__(self, t: Any, q: Array, v: Array) -> Any:
        answer = self.law(t, q, v)
        self.alone.compare(np.asarray(answer, object).ravel(), [t, *q, *v])
        return answer
