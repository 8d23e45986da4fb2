"""Constants of a model as symbols: m_1, l_1, l_c1, I_1, g … Zeros of the model stay zeros.

m_i: mass of body i; l_i: where the next joint sits on it; l_ci: its centre of mass; I_i: moments and products of
inertia about the centre of mass. Lengths are positive, their signs are in the equations. A component is named without
its axis if it is the only one that matters to the equations of motion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.model import Body, Frame, Model
from dalembert.quantities import CATALOGUE
from dalembert.quantities.live import GROUPS, checked
from dalembert.robot import Robot
from dalembert.spatial import Inertia, Pose

ROUND_OFF = 1e-12  # of the largest entry: smaller ones were meant to be 0
INPUT = "parameters"  # name of the input that holds them in a trace
MATTERS = 1e-9  # relative change of the torques above which a parameter matters


class Parameter(NamedTuple):
    """A constant of the model: its symbol's name, its value in the model, its unit and its meaning."""

    name: str
    value: float
    unit: str
    meaning: str


class Entry(NamedTuple):
    """A place in the model that may hold a symbol: one component of a family such as "l_1"."""

    family: str
    component: str
    value: float
    unit: str
    meaning: str

    @property
    def full(self) -> str:
        return self.family + self.component


Make = Callable[[Entry], Any]

FIELDS = {  # of joints: family, unit of turning and of sliding joints, meaning
    "friction": ("f", "N·m", "N", "Coulomb friction"),
    "damping": ("b", "N·m·s/rad", "N·s/m", "damping"),
    "armature": ("J", "kg·m²", "kg", "rotor inertia"),
    "stiffness": ("k", "N·m/rad", "N/m", "stiffness"),
}


def rebuilt(model: Model, groups: tuple[str, ...], make: Make) -> Model:
    """The model with make(entry) instead of every constant of the groups that is not 0."""
    bodies = list(model.bodies)
    for i, body in enumerate(model.bodies):
        if "placement" in groups and i > 0:
            several = len(model.children(body.parent)) > 1
            family = f"l_{body.parent}_{i}" if several else f"l_{body.parent}"
            p = _vector(make, body.placement.p, family, f"joint {body.joint.name} in {model.bodies[body.parent].name}")
            bodies[i] = replace(bodies[i], placement=Pose(body.placement.R, p))
        if "inertia" in groups and (i > 0 or body.joint.nv):
            bodies[i] = replace(bodies[i], inertia=_inertia(make, body))
        values = {field: _field(make, body, field) for field in FIELDS if field in groups and body.joint.nv}
        if values:
            bodies[i] = replace(bodies[i], joint=bodies[i].joint.with_values(**values))
    new = replace(model, bodies=tuple(bodies))
    if "placement" in groups:
        body_frames, extra = model.frames[: len(bodies)], model.frames[len(bodies) :]
        new = replace(
            new, frames=(*body_frames, *[_frame(make, frame, model.bodies[frame.body].name) for frame in extra])
        )
    if "gravity" in groups:
        new = replace(new, gravity=_vector(make, model.gravity, "g", "gravity", "m/s²"))
    return new


def _vector(make: Make, x: np.ndarray, family: str, meaning: str, unit: str = "m") -> np.ndarray:
    """Lengths as positive symbols with the signs of x."""
    out, least = np.zeros(3, object), ROUND_OFF * np.max(np.abs(x))
    for k, axis in enumerate("xyz"):
        if abs(x[k]) > least:
            entry = Entry(family, axis, abs(float(x[k])), unit, f"{meaning}, along {axis}")
            out[k] = np.sign(x[k]) * make(entry)
    return out


def _inertia(make: Make, body: Body) -> Inertia:
    if not body.inertia.mass:
        return body.inertia
    i = body.index
    mass = make(Entry(f"m_{i}", "", float(body.inertia.mass), "kg", f"mass of {body.name}"))
    com = _vector(make, body.inertia.com, f"l_c{i}", f"centre of mass of {body.name}")
    about, largest = body.inertia.about_com(), np.max(np.abs(body.inertia.I))
    I = np.zeros((3, 3), object)
    for a in range(3):
        for b in range(a, 3):
            if abs(about[a, b]) > ROUND_OFF * largest:
                axes = "xyz"[a] + "xyz"[b]
                meaning = f"inertia {axes} of {body.name} about its centre of mass"
                I[a, b] = I[b, a] = make(Entry(f"I_{i}", axes, float(about[a, b]), "kg·m²", meaning))
    return Inertia.from_com(mass, com, I)


def _field(make: Make, body: Body, field: str) -> np.ndarray:
    family, turning, sliding, meaning = FIELDS[field]
    joint = body.joint.uncoupled
    values = getattr(joint, field)
    out = np.zeros(body.joint.nv, object)
    for k, x in enumerate(values):
        if x:
            unit = sliding if joint.units[k] == "m" else turning
            component = "" if len(values) == 1 else "xyzabc"[k]
            out[k] = make(Entry(f"{family}_{body.index}", component, float(x), unit, f"{meaning} of {body.joint.name}"))
    return out


def _frame(make: Make, frame: Frame, body: str) -> Frame:
    family = "l_" + re.sub(r"\W|_", "", frame.name)
    meaning = f"frame {frame.name} in {body}"
    return replace(frame, placement=Pose(frame.placement.R, _vector(make, frame.placement.p, family, meaning)))


def entries(model: Model, groups: tuple[str, ...]) -> list[Entry]:
    """Every constant of the groups that is not 0, in order."""
    listed: list[Entry] = []

    def make(entry: Entry) -> float:
        listed.append(entry)
        return entry.value

    rebuilt(model, groups, make)
    return listed


def names(model: Model, groups: tuple[str, ...]) -> dict[Entry, str]:
    """Entry → the name of its symbol, without its axis where the others of its family do not matter."""
    every = entries(model, groups)
    matter = _matter(model, groups, every)
    by_entry = {}
    for entry in every:
        family = [e for e in every if e.family == entry.family]
        rivals = [e for e in family if e in matter] or family
        by_entry[entry] = entry.family if rivals == [entry] else entry.full
    return by_entry


def parameters(named: Mapping[Entry, str], rename: Mapping[str, str]) -> dict[Entry, Parameter]:
    """Entry → its parameter. Entries renamed to one name become one parameter if their values agree."""
    by_entry: dict[Entry, Parameter] = {}
    values: dict[str, float] = {}
    for entry, plain in named.items():
        name = rename.get(plain, plain)
        if not np.isclose(values.setdefault(name, entry.value), entry.value, rtol=1e-9, atol=0.0):
            raise DalembertError(
                f"equations: {plain} is {entry.value:g} and another parameter called {name!r} is {values[name]:g}: "
                "only equal numbers can share a symbol"
            )
        by_entry[entry] = Parameter(name, values[name], entry.unit, entry.meaning)
    return by_entry


def _matter(model: Model, groups: tuple[str, ...], every: list[Entry]) -> set[Entry]:
    """The entries that change the torques of inverse dynamics at some states."""
    quantity, place = CATALOGUE["inverse_dynamics"], {entry: k for k, entry in enumerate(every)}

    def compute(q: np.ndarray, v: np.ndarray, a: np.ndarray, x: np.ndarray) -> Any:
        symbolic = Robot(rebuilt(model, groups, lambda entry: x[place[entry]]))
        return quantity.outputs(symbolic, quantity.variant(model), q, v, a)

    function = trace(compute, {"q": model.nq, "v": model.nv, "a": model.nv, INPUT: len(every)}, "torque")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (8, 1, n)) for n in (model.nq, model.nv, model.nv))
    values = np.array([entry.value for entry in every])
    table = np.vstack([values, values * (1.0 + 0.5 * np.eye(len(values)))])
    tau = interpreter.run(function, {"q": q, "v": v, "a": a, INPUT: table})["torque"]
    change = np.max(np.abs(tau[:, 1:] - tau[:, :1]), axis=(0, 2), initial=0.0)
    least = MATTERS * np.max(np.abs(tau), initial=0.0)
    return {entry for entry, x in zip(every, change, strict=True) if x > least}


def checked_groups(symbols: Any) -> tuple[str, ...]:
    """The requested groups of parameters: True means all; otherwise one name or several."""
    if isinstance(symbols, bool):
        return tuple(GROUPS) if symbols else ()
    return checked(symbols)
