"""The values of an instance: where they lie, their names, units, starts, and what an importer may do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.model import Model
from dalembert.quantities.live import GROUPS, SHAPES

from .functions import ENERGIES, SENSED, Functions

INERTIA = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
INERTIA_UNITS = ("kg", "kg.m", "kg.m", "kg.m", *["kg.m2"] * 6)
PLACEMENT = ("x", "y", "z", "rx", "ry", "rz")
FIELD_UNITS = {  # of joints that turn and of those that slide
    "friction": ("N.m", "N"),
    "damping": ("N.m.s/rad", "N.s/m"),
    "armature": ("kg.m2", "kg"),
    "stiffness": ("N.m/rad", "N/m"),
}
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Variable:
    """One value. start: None where it is computed; derivative: of the state at this place."""

    name: str
    place: int
    causality: str
    unit: str = ""
    start: float | None = None
    description: str = ""
    derivative: int | None = None


@dataclass(frozen=True)
class Places:
    """Where the parts of the array of values begin; names as in runtime/core.c."""

    q: int
    e: int
    u: int
    p: int
    y: int
    rates: int
    end: int
    crowded: int | None

    @classmethod
    def of(cls, functions: Functions, has_rates: bool) -> Places:
        """The places of an FMU."""
        sizes, nq = functions.stepping.arguments, functions.robot.nq
        u = 1 + nq + sizes["e"]
        p = u + sizes.get("u", 0)
        y = p + sum(sizes[name] for name in functions.stepping.constants)
        count = sum(len(output.nodes) for output in functions.outputs.outputs)
        rates = y + count
        crowded = rates - 1 if functions.system.contact is not None else None
        return cls(1, 1 + nq, u, p, y, rates, rates + (nq + sizes["e"] if has_rates else 0), crowded)


def variables(functions: Functions, places: Places, start: Mapping[str, np.ndarray], has_rates: bool) -> list[Variable]:
    """All variables in the order of their places, but for time. start: q, v, u and live groups by name."""
    model = functions.robot.model
    listed = [
        Variable(f"q.{name}", places.q + k, "output", unit, float(start["q"][k]))
        for k, (name, unit) in enumerate(zip(model.coordinate_names, model.coordinate_units, strict=True))
    ]
    speeds = [f"{unit}/s" for unit in model.freedom_units]
    listed += [
        Variable(f"v.{name}", places.e + k, "output", unit, float(start["v"][k]))
        for k, (name, unit) in enumerate(zip(model.freedom_names, speeds, strict=True))
    ]
    rest = functions.stepping.arguments["e"] - model.nv
    if has_rates:
        listed += [Variable(f"state.{k}", places.e + model.nv + k, "local", "", None) for k in range(rest)]
    if "u" in functions.stepping.arguments:
        listed += _inputs(functions, places.u)
    place = places.p
    for group in functions.stepping.constants:
        for name, unit, value in zip(*_live_names(model, group), start[group], strict=True):
            listed.append(Variable(name, place, "parameter", unit, float(value)))
            place += 1
    listed += _outputs(functions, places.y)
    if has_rates:
        states = [x for x in listed if places.q <= x.place < places.u]
        for x in states:
            at = places.rates + x.place - places.q
            listed.append(Variable(f"der({x.name})", at, "local", _rate(x.unit), derivative=x.place))
    return listed


def _rate(unit: str) -> str:
    return {"": "1/s", "rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2"}.get(unit, "1/s")


def _inputs(functions: Functions, place: int) -> list[Variable]:
    system, model = functions.system, functions.robot.model
    if system.actuators is None:
        names = [f"tau.{name}" for name in model.freedom_names]
        units = ["N.m" if unit == "rad" else "N" for unit in model.freedom_units]
    else:
        names = [f"control.{actuator.name}" for actuator in model.actuators]
        units = [""] * len(names)
    return [
        Variable(name, place + k, "input", unit, 0.0) for k, (name, unit) in enumerate(zip(names, units, strict=True))
    ]


def _live_names(model: Model, group: str) -> tuple[list[str], list[str]]:
    """Names and units of the numbers of a live group."""
    if group == "inertia":
        bodies = [body.name for body in model.bodies]
        return [f"inertia.{body}.{word}" for body in bodies for word in INERTIA], [*INERTIA_UNITS] * len(bodies)
    if group == "placement":
        bodies = [body.name for body in model.bodies]
        names = [f"placement.{body}.{word}" for body in bodies for word in PLACEMENT]
        return names, [*["m"] * 3, *["rad"] * 3] * len(bodies)
    if group in SHAPES:
        count = len(GROUPS[group].values(model))
        turns = group == "shape_placement"
        return [f"{group}.{k}" for k in range(count)], ["rad" if turns and k % 6 > 2 else "m" for k in range(count)]
    if group == "gravity":
        return [f"gravity.{axis}" for axis in AXES], ["m/s2"] * 3
    if group in FIELD_UNITS:
        joints = [(body.joint.name, k, body.joint) for body in model.bodies for k in range(body.joint.nv)]
        names = [f"{group}.{name}" + (f".{k}" if joint.nv > 1 else "") for name, k, joint in joints]
        return names, [FIELD_UNITS[group][joint.uncoupled.units[k] != "rad"] for _, k, joint in joints]
    return [group], ["kg" if group == "payload" else ""]


def _outputs(functions: Functions, place: int) -> list[Variable]:
    listed = []
    for output in functions.outputs.outputs:
        names, units = _output_names(functions, output.name, len(output.nodes))
        for name, unit in zip(names, units, strict=True):
            if name:
                listed.append(Variable(name, place, "output", unit))
            place += 1
    return listed


def _output_names(functions: Functions, name: str, count: int) -> tuple[list[str], list[str]]:
    if name == "energy":
        return [f"energy.{word}" for word in ENERGIES], ["J"] * count
    if name == "contact":
        return ["contact.unsettled", ""], ["", ""]
    if isinstance(functions.sensors[name], str):
        return [f"{name}.{word}.{axis}" for word in SENSED for axis in AXES], [x for x in SENSED.values() for _ in AXES]
    return [name] if count == 1 else [f"{name}.{k}" for k in range(count)], [""] * count
