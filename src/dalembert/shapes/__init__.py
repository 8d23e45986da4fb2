"""Shapes of links: one class each, with its sizes, farthest points, thickness, volume, inertia and surface.

Read in this order: `shape` is what every class of shapes answers, `box` … `mesh` are the classes, `hull` and `segment`
what distances are computed from, `polyhedra` and `files` the surfaces of triangles, `drawing` what the viewer shows.
"""

from .box import Box
from .capsule import Capsule
from .cone import Cone
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .mesh import Mesh, Polyhedron
from .plane import Plane
from .shape import Shape
from .sphere import Sphere

__all__ = ["Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "Mesh", "Plane", "Polyhedron", "Shape", "Sphere"]
