"""Errors of a model's parameters under which every body stays one that can exist.

A body is a density with mass m, centre of mass c and second moments Σ about c. It is made heavier or lighter as a
whole, stretched along its axes, and shifted; a lump, such as a motor that the drawing lacks, is put at a random place
in it. Each of these turns a possible body into a possible body. "In the body" means within the solid ellipsoid that has
the same m and Σ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.model import Model
from dalembert.quantities.live import GROUPS

from .laws import Distribution

Span = tuple[float, float]
NONE: Span = (0.0, 0.0)
SIZES = {"lump": 1, "place": 3, "mass": 1, "inertia": 3, "com": 3}  # numbers per body
JOINTS = ("friction", "damping", "armature")  # relative errors, a number per freedom
DEPTH = 0.9  # of the ellipsoid's radius, up to which the centre of mass may be shifted


@dataclass(frozen=True)
class ModelErrors(Distribution):
    """Errors of bodies and joints, as spans of relative errors; com [m]. See `model_errors` for what each means.

    bodies, freedoms: names of what the numbers belong to, known once the robot is.
    """

    lump: Span
    mass: Span
    inertia: Span
    com: float
    friction: Span
    damping: Span
    armature: Span
    only: tuple[str, ...] | None
    bodies: tuple[str, ...] | None = None
    freedoms: tuple[str, ...] | None = None

    def bound(self, model: Model) -> ModelErrors:
        """The errors of one robot: which bodies and freedoms they have."""
        for name in self.only or ():
            model.body(name)
        moving = [b for b in model.bodies if b.inertia.mass > 0.0 and (b.index or b.joint.nv)]
        bodies = tuple(b.name for b in moving if self.only is None or b.name in self.only)
        named = [(b, k) for b in model.bodies for k in range(b.joint.nv) if self.only is None or b.name in self.only]
        freedoms = tuple(b.joint.name if b.joint.nv == 1 else f"{b.joint.name}[{k}]" for b, k in named)
        found = replace(self, bodies=bodies, freedoms=freedoms)
        return replace(found, size=sum(size for _, size, _ in found.parts()))

    def parts(self) -> Iterator[tuple[str, int, str]]:
        """(kind, numbers, whose) of each part of a row, in order."""
        if self.bodies is None or self.freedoms is None:
            raise DalembertError("model errors: of which robot? bind them first: errors.bound(robot.model)")
        for name in self.bodies:
            for kind, size in SIZES.items():
                if getattr(self, "lump" if kind == "place" else kind) not in (NONE, 0.0):
                    yield kind, size, name
        for kind in JOINTS:
            if getattr(self, kind) != NONE:
                for name in self.freedoms:
                    yield kind, 1, name

    @property
    def groups(self) -> set[str]:
        """Names of the live groups that vary."""
        return {"inertia" if kind in SIZES else kind for kind, _, _ in self.parts()}

    def factors(self, name: str) -> list[tuple[str, slice]]:
        """Names such as "model.mass.forearm"; a lump and its place are one."""
        found: list[tuple[str, slice]] = []
        begin = 0
        for kind, size, whose in self.parts():
            if kind == "place":
                label, columns = found.pop()
                found.append((label, slice(columns.start, begin + size)))
            else:
                found.append((f"{name}.{kind}.{whose}", slice(begin, begin + size)))
            begin += size
        return found

    def values(self, u: np.ndarray) -> np.ndarray:
        """The errors (n, size): relative ones, places in the unit ball, shifts within ±1 of `com`."""
        x, begin = np.empty_like(u), 0
        for kind, size, _ in self.parts():
            part = u[:, begin : begin + size]
            if kind == "place":
                x[:, begin : begin + size] = _in_ball(part)
            elif kind == "inertia":
                low, high = self.inertia
                two = 2.0 * part - 1.0
                x[:, begin : begin + size] = np.sign(two) * (low + (high - low) * np.abs(two))
            elif kind == "com":
                x[:, begin : begin + size] = self.com * (2.0 * part - 1.0)
            else:
                low, high = getattr(self, kind)
                x[:, begin : begin + size] = low + (high - low) * part
            begin += size
        return x

    def live(self, model: Model, x: np.ndarray) -> dict[str, np.ndarray]:
        """Live groups of the model with the errors x (n, size): {"inertia": (n, 10 nb), "friction": …}."""
        errors: dict[tuple[str, str], np.ndarray] = {}
        begin = 0
        for kind, size, whose in self.parts():
            errors[kind, whose] = x[:, begin : begin + size]
            begin += size
        named: dict[str, np.ndarray] = {}
        if any(kind in SIZES for kind, _ in errors):
            pi = np.tile(GROUPS["inertia"].values(model), (len(x), 1)).reshape(len(x), -1, 10)
            for body in model.bodies:
                own = {kind: errors[kind, body.name] for kind in SIZES if (kind, body.name) in errors}
                if own:
                    pi[:, body.index] = _changed(pi[0, body.index].copy(), own, len(x))
            named["inertia"] = pi.reshape(len(x), -1)
        for kind in JOINTS:
            if getattr(self, kind) != NONE:
                values = np.tile(GROUPS[kind].values(model), (len(x), 1))
                owners = [(b, k) for b in model.bodies for k in range(b.joint.nv)]
                for place, (body, k) in enumerate(owners):
                    name = body.joint.name if body.joint.nv == 1 else f"{body.joint.name}[{k}]"
                    if (kind, name) in errors:
                        values[:, place] *= 1.0 + errors[kind, name][:, 0]
                named[kind] = values
        return named

    def model(self, model: Model, x: np.ndarray) -> Model:
        """The model with the errors x (size,) of one row, as constants."""
        for name, numbers in self.live(model, x[None]).items():
            model = (
                model.with_parameters(numbers[0]) if name == "inertia" else GROUPS[name].put(model, numbers[0].copy())
            )
        return model


def _in_ball(u: np.ndarray) -> np.ndarray:
    """Points (n, 3) spread evenly in the unit ball."""
    z, angle, radius = 2.0 * u[:, 0] - 1.0, 2.0 * np.pi * u[:, 1], np.cbrt(u[:, 2])
    across = np.sqrt(1.0 - z * z)
    return radius[:, None] * np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def _changed(pi: np.ndarray, errors: dict[str, np.ndarray], n: int) -> np.ndarray:
    """Parameters (n, 10) of a body with parameters pi (10,). Sums are written out: the same bits in any chunk."""
    m, c = pi[0], pi[1:4] / pi[0]
    I = np.array([[pi[4], pi[7], pi[8]], [pi[7], pi[5], pi[9]], [pi[8], pi[9], pi[6]]])
    sigma = 0.5 * np.trace(I) * np.eye(3) - I - m * np.outer(c, c)
    w, axes = np.linalg.eigh(sigma)
    radii = np.sqrt(5.0 * np.maximum(w, 0.0) / m)  # of the solid ellipsoid with these moments
    zero = np.zeros((n, 3))
    mass = m * (1.0 + errors.get("mass", zero[:, :1])[:, 0])
    stretch = np.sqrt(1.0 + errors.get("inertia", zero))
    shift = _shortened(errors.get("com", zero), axes, radii)
    lump = mass * errors.get("lump", zero[:, :1])[:, 0]
    ball = errors.get("place", zero)
    heavier = mass / m
    first, second = np.zeros((n, 3)), {}
    for i in range(3):
        at = c[i] + shift[:, i]
        r = [c[k] + sum(axes[k, j] * radii[j] * ball[:, j] for j in range(3)) for k in range(3)]
        first[:, i] = mass * at + lump * r[i]
        for k in range(i, 3):
            about = heavier * stretch[:, i] * stretch[:, k] * sigma[i, k]
            second[i, k] = about + mass * at * (c[k] + shift[:, k]) + lump * r[i] * r[k]
    trace = second[0, 0] + second[1, 1] + second[2, 2]
    moments = [trace - second[k, k] for k in range(3)]
    products = [-second[i, k] for i, k in ((0, 1), (0, 2), (1, 2))]
    return np.stack([mass + lump, *first.T, *moments, *products], axis=1)


def _shortened(shift: np.ndarray, axes: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Shifts (n, 3) of the centre of mass, so short that it stays within the ellipsoid."""
    along = [sum(axes[k, j] * shift[:, k] for k in range(3)) for j in range(3)]
    far = sum((x / max(r, 1e-9)) ** 2 for x, r in zip(along, radii, strict=True))
    return shift * (1.0 / np.maximum(1.0, np.sqrt(far) / DEPTH))[:, None]


def model_errors(
    *,
    mass: Any = 0.0,
    inertia: Any = 0.0,
    com: float = 0.0,
    lump: Any = 0.0,
    friction: Any = 0.0,
    damping: Any = 0.0,
    armature: Any = 0.0,
    bodies: Iterable[str] | None = None,
) -> ModelErrors:
    """Errors of every body and joint by themselves, uniform, under which each body stays possible.

    A number x is ±x, (low, high) a span. Relative: mass, of the whole density; lump, of the mass, put at a random place
    in the body; inertia, of the second moments along each axis, either sign, (low, high) as magnitudes; friction,
    damping and armature of each freedom. com: shift of the centre of mass along each axis [m], cut off where it would
    leave the body. bodies: names; default all.
    """
    if not (is_number(com) and 0.0 <= com < np.inf):
        raise DalembertError(f"model_errors: com is {com!r}, expected a length ≥ 0 [m]")
    heavier, lumps = _span("mass", mass, -1.0), _span("lump", (0.0, lump) if is_number(lump) else lump, 0.0)
    given = (("friction", friction), ("damping", damping), ("armature", armature))
    rubbing, damped, rotors = (_span(name, x, -1.0) for name, x in given)
    low, high = _span("inertia", (0.0, inertia) if is_number(inertia) else inertia, 0.0)
    if high >= 1.0:
        raise DalembertError(f"model_errors: inertia goes to {high:g}, expected below 1: a body has some extent")
    if com == high == 0.0 and all(span == NONE for span in (heavier, lumps, rubbing, damped, rotors)):
        raise DalembertError("model_errors: no error is given: pass mass=…, com=…, inertia=…, friction=…")
    only = None if bodies is None else tuple([bodies] if isinstance(bodies, str) else bodies)
    return ModelErrors(None, lumps, heavier, (low, high), float(com), rubbing, damped, rotors, only)


def cad_errors(
    *,
    mass: Any = (0.05, 0.15),
    inertia: Any = (0.2, 0.5),
    lump: Any = (0.1, 0.3),
    com: float = 0.0,
    bodies: Iterable[str] | None = None,
) -> ModelErrors:
    """Errors of models from CAD: motors and harness that are missing (10 to 30 % of each link's mass, as a lump in it),
    cables along the links (5 to 15 %), moments of a uniform density (off by 20 to 50 %).

    The lump shifts the centre of mass; com adds ± as much [m]. See `model_errors` for other magnitudes, such as a
    shop's own: cad_errors(mass=0.02, com=0.003, inertia=0.1, lump=0.0).
    """
    return model_errors(mass=mass, inertia=inertia, lump=lump, com=com, bodies=bodies)


def _span(name: str, given: Any, least: float) -> Span:
    low, high = (-given, given) if is_number(given) else (given if np.shape(given) == (2,) else (np.nan, np.nan))
    if not (is_number(low) and is_number(high) and least <= low <= high < np.inf) or (low == least == -1.0):
        bound = "above −1" if least == -1.0 else "from 0 on"
        raise DalembertError(f"model_errors: {name} is {given!r}, expected a number or (low, high), {bound}")
    return float(low), float(high)
