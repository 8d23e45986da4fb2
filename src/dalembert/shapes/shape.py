"""The base class of shapes: sizes, and what contact, distances, inertia and the viewer ask of every shape."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import sqrt
from dalembert.spatial import Inertia
from dalembert.spatial.vectors import dot

from .drawing import Triangles
from .farthest import TILT_ROUND, around, unit
from .searching import AXES, least, spread

# what a class says about its own solid: a class derived from it is another solid
INTERFACE = (
    "support", "core", "reach", "capsule", "convex", "simple", "extent", "middle", "face", "thickness", "depth",
    "unit_inertia", "solid", "surface", "symmetry", "is_bounded", "is_mesh",
)  # fmt: skip
CHECKED = 50  # directions along which a class from outside is tried
ROUNDED = 1e-9  # of the size: by how much a farthest point may fall short
DRAWN = 1200  # points of the surface of a shape that says nothing but how far it goes


class Shape:
    """A solid in its own frame. A class of shapes is a frozen dataclass that gives `support`, or `core`.

    These decide where it touches. `unit_inertia` gives its mass properties; all else follows from `support`, and can be
    given as well where there is a closed form. None of it is inherited: a class derived from `Box` is another solid and
    says what it is in its own body, or states inherits=True where it is the same one.
    """

    symmetry: ClassVar[Literal["", "z", "all"]] = ""  # round about its z axis, or about all axes through its origin
    is_bounded: ClassVar[bool] = True
    is_mesh: ClassVar[bool] = False  # a surface that counts as its convex hull

    def __init_subclass__(cls, *, inherits: bool = False, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in () if inherits else INTERFACE:
            if name not in cls.__dict__:
                setattr(cls, name, Shape.__dict__[name])

    @property
    def kind(self) -> str:
        """Its name in messages."""
        return type(self).__name__

    # ---- where it touches

    def support(self, d: np.ndarray) -> np.ndarray:
        """The point (3,) farthest along d (3,), of any length but 0, both in the shape's frame [m].

        Of traced numbers: arithmetic and `dalembert.math`, without branches on values.
        """
        inner, radius = self.core()
        if inner is self:
            raise DalembertError(undefined(type(self)))
        return inner.support(d) + radius * unit(d)

    def core(self) -> tuple[Any, Any]:
        """A shape, and a radius [m]: all points that are no farther than that from the shape make this one."""
        return self, 0.0

    def face(self, d: np.ndarray) -> list[np.ndarray]:
        """The 4 corners, in turn, of the side across a unit direction d (3,); some of an edge are the same."""
        return around(self, d, TILT_ROUND)

    def convex(self) -> Any:
        """The convex shape that distances are computed from."""
        return self

    # ---- how large it is

    def reach(self, d: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        """The largest d·x (n,) of all its points x, for directions d (n, 3), traced or not.

        lengths (n,): of d, where they are known.
        """
        return np.array([dot(row, self.support(row)) for row in d])

    @property
    def extent(self) -> Any:
        """How far it reaches from its origin [m], more or less."""
        return float(np.linalg.norm(np.maximum(self.reach(AXES)[:3], self.reach(AXES)[3:])))

    @property
    def middle(self) -> np.ndarray:
        """A point (3,) inside it."""
        return np.zeros(3)

    def capsule(self) -> tuple[np.ndarray, np.ndarray, float]:
        """A capsule around it: centre (3,), half of its axis (3,) and radius [m]."""
        inner, radius = self.core()
        if inner is not self:
            centre, half, inner_radius = inner.capsule()
            return centre, half, float(inner_radius + radius)
        ends = np.asarray(self.reach(AXES), float)
        return along(0.5 * (ends[:3] - ends[3:]), 0.5 * (ends[:3] + ends[3:]))

    def simple(self) -> tuple[Shape, np.ndarray]:
        """A shape around it with few corners, and the place (3,) of that [m]."""
        return self, np.zeros(3)

    def thickness(self) -> float:
        """The least width [m]."""
        return least(lambda n: self.reach(n) + self.reach(-n))

    def depth(self, point: np.ndarray) -> float:
        """Radius [m] of a ball about a point (3,) that the shape holds; not above 0 outside of it."""
        return least(lambda n: self.reach(n) - n @ point)

    # ---- what it weighs, and how it looks

    def unit_inertia(self) -> Inertia:
        """Its inertia at a density of 1 kg/m³, about its origin: the mass is its volume."""
        raise DalembertError(
            f"mass_properties: {self.kind} does not say its volume and inertia: define unit_inertia(self) in the body "
            "of the class, or state mass and inertia of the link"
        )

    def solid(self) -> tuple[Inertia, tuple[str, ...]]:
        """`unit_inertia`, and notes of what was not taken as given."""
        return self.unit_inertia(), ()

    def surface(self) -> Triangles:
        """Vertices and triangles to draw."""
        from .hull import hull

        drawn = hull(np.array([self.support(d) for d in spread(DRAWN)], float), most=DRAWN)
        return drawn.vertices, drawn.triangles

    # ---- sizes

    def _keep(self, name: str, size: tuple[int, ...] = (), allowed: Literal["above", "from", "any"] = "above") -> None:
        """Keep a field as a float, or as an array of a shape; its numbers are finite and above 0, from 0 on, or any."""
        x, count = getattr(self, name), "3 finite numbers" if size else "a finite number"
        try:
            value = np.asarray(x, float)
        except (TypeError, ValueError):
            raise DalembertError(f"{self.kind}: {name} is {x!r}, expected {count.replace(' finite', '')}") from None
        if value.shape != size or not np.all(np.isfinite(value)):
            raise DalembertError(f"{self.kind}: {name} is {x!r}, expected {count}")
        if (allowed == "above" and np.any(value <= 0.0)) or (allowed == "from" and np.any(value < 0.0)):
            what = "lengths" if size else "a length"
            cure = "of 0 or more" if allowed == "from" else "above 0: give a thin one, as 0.001, or no shape"
            raise DalembertError(f"{self.kind}: {name} is {value.tolist()} m, expected {what} {cure}")
        object.__setattr__(self, name, value if size else float(value))


def along(centre: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """A capsule around a box, along its longest side; half (3,) of its sides."""
    longest = int(np.argmax(half))
    return centre, half[longest] * np.eye(3)[longest], float(np.hypot(*np.delete(half, longest)))


def lengths_of(d: np.ndarray) -> np.ndarray:
    """(n,) of vectors (n, m)."""
    return sqrt((d * d).sum(axis=1))


def about_com(mass: float, moments: Any, com: Any = (0.0, 0.0, 0.0)) -> Inertia:
    """An inertia from the moments (3,) about axes through the centre of mass along those of the frame."""
    return Inertia.from_com(mass, np.asarray(com), np.diag(moments))


def undefined(kind: type) -> str:
    """Say what a class lacks, and the cure."""
    name, parent = kind.__name__, kind.__mro__[1].__name__
    same = "" if parent == "Shape" else f"; class {name}({parent}, inherits=True) is the same solid as its parent"
    return (
        f"{name} derives from {parent}, but does not say what solid it is: define support(self, d), or core(self), in "
        f"the body of the class{same}"
    )


def trouble(shape: Shape) -> str:
    """Why a shape of a class from outside the package is no convex solid, with the cure; "" where it is one."""
    kind = type(shape)
    if kind.support is Shape.support and kind.core is Shape.core:
        return undefined(kind)
    if kind.__module__.startswith(f"{__name__.partition('.')[0]}."):
        return ""
    directions = spread(CHECKED)
    try:
        points = np.array([shape.support(d) for d in directions], float)
    except RecursionError:
        return f"{kind.__name__}: core(self) leads back to itself: give a shape that has a support of its own"
    except (TypeError, ValueError) as error:
        return f"{kind.__name__}: support(self, d) is expected to give a point (3,): {error}"
    if points.shape != directions.shape or not np.all(np.isfinite(points)):
        return f"{kind.__name__}: support(self, d) gave shape {points.shape[1:]}, expected finite numbers (3,)"
    along = directions @ points.T
    if np.any(along > np.diag(along)[:, None] + ROUNDED * np.max(np.abs(points))):
        return f"{kind.__name__}: support(self, d) is not the farthest point along d: another one is farther"
    return ""
