"""The fluid around a robot and balanced gravity, as MJCF and SDF state them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.model import Geometry, Model, Part
from dalembert.model.surroundings import FluidShape
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Inertia

from .losses import Losses
from .text import number, numbers

CLOSE = 1e-9  # of sizes, relative, and of placements: the same shape


class MjcfSurroundings:
    """Hands out the attributes that state them; `close` reports what MJCF has no words for."""

    def __init__(self, model: Model) -> None:
        self.medium = model.surroundings.medium
        self.shares = {each.link: each.share for each in model.surroundings.compensations}
        self.shapes: dict[str, list[FluidShape]] = {}
        for shape in self.medium.shapes if self.medium is not None else ():
            self.shapes.setdefault(shape.link, []).append(shape)

    def option(self) -> dict[str, str]:
        """Attributes of the fluid."""
        if self.medium is None:
            return {}
        numbers_of = {"density": number(self.medium.density), "viscosity": number(self.medium.viscosity)}
        return numbers_of | ({"wind": numbers(self.medium.wind)} if np.any(self.medium.wind) else {})

    def body(self, link: str) -> dict[str, str]:
        """Attributes of a body: the share of its weight that is balanced."""
        return {"gravcomp": number(self.shares.pop(link))} if link in self.shares else {}

    def geom(self, part: Part, geometry: Geometry) -> dict[str, str]:
        """Attributes of a geom that stands for an ellipsoid in the fluid."""
        waiting = self.shapes.get(part.name, [])
        for shape in waiting:
            half_axes = HALF_AXES.get(type(geometry.shape))
            if not shape.coefficients or half_axes is None:
                continue
            if not np.allclose(half_axes(geometry.shape), shape.size, rtol=CLOSE):
                continue
            if np.allclose(geometry.placement.matrix(), shape.placement.matrix(), atol=CLOSE) and shape.share == 1.0:
                waiting.remove(shape)
                return {"fluidshape": "ellipsoid", "fluidcoef": numbers(shape.coefficients)}
        return {}

    def inertia(self, link: str, inertia: Inertia) -> None:
        """MuJoCo takes the box of this inertia where no geom is an ellipsoid."""
        waiting = self.shapes.get(link, [])
        if len(waiting) == 1 and not waiting[0].coefficients and _is_box_of(waiting[0], inertia):
            waiting.clear()

    def close(self, losses: Losses) -> None:
        """Report what was not written."""
        for link, waiting in self.shapes.items():
            if waiting:
                what = "MuJoCo sees another shape of it in the fluid"
                losses.change("link", link, what, "the box of its inertia, or the ellipsoids that fit its geoms")
        for link in self.shares:
            losses.change("link", link, "its weight is balanced, and no body is written for it", "its weight acts")


def weightless(model: Model, losses: Losses) -> set[str]:
    """Links on which gravity does not act, for formats that balance all of a weight or nothing and know no fluid."""
    if model.surroundings.medium is not None:
        losses.change("robot", model.name, f"{losses.language} has no fluid of this kind around a robot", "left out")
    for link, share in model.surroundings.compensations:
        if share != 1.0:
            what = f"{losses.language} balances all of a link's weight or nothing of it"
            losses.change("link", link, what, "its weight acts")
    return {link for link, share in model.surroundings.compensations if share == 1.0}


# class → half axes of the ellipsoid that MuJoCo takes for it
HALF_AXES: dict[type, Callable[[Any], Any]] = {
    Sphere: lambda shape: np.full(3, shape.radius),
    Capsule: lambda shape: np.array([shape.radius, shape.radius, 0.5 * shape.length + shape.radius]),
    Cylinder: lambda shape: np.array([shape.radius, shape.radius, 0.5 * shape.length]),
    Ellipsoid: lambda shape: shape.radii,
    Box: lambda shape: 0.5 * shape.size,
}


def _is_box_of(shape: FluidShape, inertia: Inertia) -> bool:
    """Whether a uniform box of this shape has the inertia, its mass given."""
    x, y, z = np.square(shape.size)
    moments = inertia.mass / 12.0 * np.array([y + z, x + z, x + y])
    R = shape.placement.R
    same_place = np.allclose(shape.placement.p, inertia.com, atol=CLOSE)
    return bool(
        same_place and np.allclose((R * moments) @ R.T, inertia.about_com(), rtol=CLOSE, atol=CLOSE * max(moments))
    )
