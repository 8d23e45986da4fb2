"""The fluid and the balanced gravity of MJCF, which act in simulations."""

from __future__ import annotations

import numpy as np

from dalembert.model import ModelBuilder
from dalembert.model.mujoco import LEAST
from dalembert.model.surroundings import FluidShape, Medium

from .compile import Compiled, pose
from .tree import Names

COEFFICIENTS = slice(1, 6)  # of geom_fluid: blunt, slender and angular drag, Kutta and Magnus lift


def add_surroundings(mjcf: Compiled, builder: ModelBuilder, names: Names) -> None:
    """The medium, if it has density or viscosity, with a shape for each body that moves; shares of gravity."""
    m = mjcf.m
    moving = [i for i in range(1, m.nbody) if m.body_weldid[i]]
    shares = {names.bodies[i]: float(m.body_gravcomp[i]) for i in moving if m.body_gravcomp[i]}
    if mjcf.disabled("GRAVITY"):
        shares = {}
    density, viscosity = float(m.opt.density), float(m.opt.viscosity)
    medium = None
    if density or viscosity:
        shapes = tuple(shape for i in moving for shape in _shapes(mjcf, i, names.bodies[i]))
        medium = Medium(density=density, viscosity=viscosity, wind=np.array(m.opt.wind), shapes=shapes)
    if medium is not None or shares:
        builder.surround(medium, shares)


def _shapes(mjcf: Compiled, body: int, link: str) -> list[FluidShape]:
    """The ellipsoids of geoms that ask for it, else the box of the body's inertia."""
    m, mj = mjcf.m, mjcf.mj
    if m.body_mass[body] < LEAST:
        return []
    first = int(m.body_geomadr[body])
    geoms = [g for g in range(first, first + int(m.body_geomnum[body])) if m.geom_fluid[g, 0] > 0.0]
    shapes = []
    for g in geoms:
        shapes.append(
            FluidShape(
                link=link,
                placement=pose(m.geom_pos[g], m.geom_quat[g]),
                size=_half_axes(mj.mjtGeom(int(m.geom_type[g])), np.array(m.geom_size[g]), mj),
                coefficients=tuple(float(x) for x in m.geom_fluid[g, COEFFICIENTS]),
                virtual_mass=tuple(float(x) for x in m.geom_fluid[g, 6:9]),
                virtual_inertia=tuple(float(x) for x in m.geom_fluid[g, 9:12]),
                share=float(m.geom_fluid[g, 0]),
            )
        )
    if geoms:
        return shapes
    I, mass = np.array(m.body_inertia[body]), float(m.body_mass[body])
    size = np.sqrt(np.maximum(LEAST, I.sum() - 2.0 * I) / mass * 6.0)
    return [FluidShape(link=link, placement=pose(m.body_ipos[body], m.body_iquat[body]), size=size)]


def _half_axes(kind: object, size: np.ndarray, mj: object) -> np.ndarray:
    """Half axes of the ellipsoid that stands for a geom."""
    name = str(getattr(kind, "name", kind))
    if name.endswith("SPHERE"):
        return np.full(3, size[0])
    if name.endswith("CAPSULE"):
        return np.array([size[0], size[0], size[1] + size[0]])
    if name.endswith("CYLINDER"):
        return np.array([size[0], size[0], size[1]])
    return size
