"""Which numbers hold between two shapes: those of their pair, names or materials, of the robot's file, or the defaults.

The most particular one is taken: an entry for the pair, for one of the two, the materials of both, a number for all,
the robot's file, the default. Of entries for a pair: the one with the most particular names, of shape, link, body,
material.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

from dalembert.errors import DalembertError, unknown
from dalembert.model.geometry import Surface

from .contact import DEFAULT, DEFAULTS, GROUND, Contact
from .materials import MATERIALS, Material, combined, in_series, material, pair

FRICTION = ("friction", "torsion", "rolling")  # the order of MuJoCo's numbers
CONDIM = {"friction": 3, "torsion": 4, "rolling": 6}  # from which dimension of a contact on MuJoCo uses them
PAIR, NAME, MATERIAL, NUMBER, FILE, ASSUMED = 5, 4, 3, 2, 1, 0  # how particular the source of a number is

OfPair = Mapping[str, float | None]  # numbers that a file states for one pair; None: one for each direction


@dataclass(frozen=True)
class ContactLaw:
    """The numbers of one pair of shapes, as `Contact` has them; damping is that of Hunt and Crossley [s/m]."""

    friction: float
    static_friction: float
    torsion: float
    rolling: float
    restitution: float
    stiffness: float
    damping: float

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes about which it resists turning: 0 the normal, 1 and 2 the tangents."""
        return (0,) * bool(self.torsion) + (1, 2) * bool(self.rolling)


@dataclass(frozen=True)
class Side:
    """One of two things that touch: its names, the most particular first; what it is made of; what its file states."""

    names: tuple[str, ...]
    surface: Surface | None = None

    @property
    def label(self) -> str:
        """The name to show."""
        return self.names[0]


GROUND_SIDE = Side((GROUND,))


class Stated(NamedTuple):
    """A number and how particular its source is."""

    value: float
    level: int


class Laws:
    """The laws of all pairs of a contact; weight [N] of the robot, under which a file's damping acts in full."""

    def __init__(self, contact: Contact, weight: float) -> None:
        self.contact, self.weight = contact, weight
        self._by_surface: dict[tuple[Any, ...], ContactLaw] = {}

    def check_names(self, sides: Iterable[Side]) -> None:
        """Refuse names that nothing has."""
        known = sorted({name for side in sides for name in side.names} | {GROUND})
        for name in self.contact.materials:
            if name not in known:
                raise unknown("body or shape", name, known, "Contact: materials")
        for option in DEFAULTS:
            setting = getattr(self.contact, option)
            for name in _names(setting) if isinstance(setting, Mapping) else ():
                if name not in known and name not in MATERIALS:
                    raise unknown("body, shape or material", name, [*known, *MATERIALS], f"Contact: {option}")

    def law(self, a: Side, b: Side, of_pair: OfPair | None = None) -> ContactLaw:
        """The law of a pair; where names do not matter, one for all pairs of like surfaces.

        of_pair: numbers that the file states for this very pair.
        """
        named = self.contact.materials or any(isinstance(getattr(self.contact, x), Mapping) for x in DEFAULTS)
        key = (id(a.surface), id(b.surface)) if of_pair is None else tuple(of_pair.items())
        if named or key not in self._by_surface:
            self._by_surface[key] = self.of(a, b, of_pair)[0]
        return self._by_surface[key]

    def of(self, a: Side, b: Side, of_pair: OfPair | None = None) -> tuple[ContactLaw, dict[str, int]]:
        """The law of a pair, and how particular the source of each number is."""
        stated = {option: self._stated(option, a, b, of_pair or {}) for option in DEFAULTS}
        friction, at_rest = stated["friction"], stated["static_friction"]
        if at_rest.level < friction.level or at_rest.level == ASSUMED:
            stated["static_friction"] = Stated(friction.value, friction.level)
        elif at_rest.value < friction.value:
            raise DalembertError(
                f"Contact: static_friction of {a.label!r} on {b.label!r} is {at_rest.value:g}, expected at least "
                f"friction, {friction.value:g}"
            )
        law = ContactLaw(**{option: each.value for option, each in stated.items()})
        return law, {option: each.level for option, each in stated.items()}

    def _stated(self, option: str, a: Side, b: Side, of_pair: OfPair) -> Stated:
        setting = getattr(self.contact, option)
        table: Mapping[Any, float] = setting if isinstance(setting, Mapping) else {}
        names_a, names_b = self._all_names(a), self._all_names(b)
        if (value := self._of_pair(option, table, names_a, names_b)) is not None:
            return Stated(value, PAIR)
        of_a, of_b = (next((table[name] for name in names if name in table), None) for names in (names_a, names_b))
        if (value := _both(option, of_a, of_b)) is not None:
            return Stated(value, NAME)
        if (material := self._material(a, b)) is not None and option not in ("torsion", "rolling"):
            return Stated(getattr(material, option), MATERIAL)
        if isinstance(setting, float):
            return Stated(setting, NUMBER)
        if DEFAULT in table:
            return Stated(table[DEFAULT], NUMBER)
        if option in of_pair:
            if (value := of_pair[option]) is None:
                raise DalembertError(
                    f"Contact: the file states {option} of {a.label!r} on {b.label!r} in two directions, of which this "
                    f"model of contact has one: pass {option}=…, a number or a table, or model='mujoco'"
                )
            return Stated(value, FILE)
        if (value := self._of_file(option, a.surface, b.surface)) is not None:
            return Stated(value, FILE)
        return Stated(DEFAULTS[option], ASSUMED)

    def _all_names(self, side: Side) -> tuple[str, ...]:
        """Names of a side, and that of its material."""
        made_of = self._material_of(side)
        return (*side.names, made_of) if isinstance(made_of, str) else side.names

    def _material_of(self, side: Side) -> str | Material | None:
        materials = self.contact.materials
        return next((materials[name] for name in side.names if name in materials), None)

    def _material(self, a: Side, b: Side) -> Material | None:
        """The value for the materials of both; a side without one counts as made of the other's."""
        first, second = self._material_of(a), self._material_of(b)
        first, second = (second if first is None else first), (first if second is None else second)
        if first is None or second is None:
            return None
        if isinstance(first, str) and isinstance(second, str):
            return pair(first, second)
        return combined(*(material(each) if isinstance(each, str) else each for each in (first, second)))

    def _of_pair(self, option: str, table: Mapping[Any, float], a: tuple[str, ...], b: tuple[str, ...]) -> float | None:
        """The entry for a pair of names with the most particular ones."""
        ranks: dict[int, set[float]] = {}
        for key, value in table.items():
            for first, second in (key, key[::-1]) if isinstance(key, tuple) else ():
                if first in a and second in b:
                    ranks.setdefault(a.index(first) + b.index(second), set()).add(value)
        if not ranks:
            return None
        best = ranks[min(ranks)]
        if len(best) > 1:
            raise DalembertError(
                f"Contact: {option} has {len(best)} entries for {a[0]!r} on {b[0]!r}, {sorted(best)}, expected one: "
                "name the shapes"
            )
        return best.pop()

    def _of_file(self, option: str, a: Surface | None, b: Surface | None) -> float | None:
        """The value in the robot's file: by MuJoCo's rules for two geoms of an MJCF file, else by those of Gazebo."""
        if option == "static_friction":
            return None
        if a is not None and b is not None and a.mujoco and b.mujoco:
            return _of_geoms(option, a, b)
        of_a, of_b = (_of_surface(option, surface) for surface in (a, b))
        if of_a is None or of_b is None:
            value = of_b if of_a is None else of_a
        elif option == "stiffness":
            value = in_series(of_a, of_b)
        else:
            value = of_a + of_b if option == "damping" else min(of_a, of_b)
        return value / self.weight if option == "damping" and value is not None else value


def _of_surface(option: str, surface: Surface | None) -> float | None:
    """The file's value for one shape; a stiffness of 0 counts as none."""
    if surface is None or (surface.mujoco and surface.mujoco.condim < CONDIM.get(option, 1)):
        return None
    value: float | None = getattr(surface, option)
    return None if option == "stiffness" and not value else value


def _of_geoms(option: str, a: Surface, b: Surface) -> float | None:
    """The value for two geoms: that of the higher priority, else the larger one; None where neither states any."""
    first, second = a.mujoco, b.mujoco
    assert first is not None and second is not None
    if option not in FRICTION or (getattr(a, option) is None and getattr(b, option) is None):
        return None
    geoms = [geom for geom in (first, second) if geom.priority == max(first.priority, second.priority)]
    if max(geom.condim for geom in geoms) < CONDIM.get(option, 1):
        return None
    return max(geom.friction[FRICTION.index(option)] for geom in geoms)


def _names(table: Mapping[Any, float]) -> Iterable[str]:
    for key in table:
        yield from key if isinstance(key, tuple) else (() if key == DEFAULT else (key,))


def _both(option: str, a: float | None, b: float | None) -> float | None:
    """The value for a pair: mixed as materials are where both sides have one, else the one there is."""
    if a is None or b is None:
        return b if a is None else a
    if option == "stiffness":
        return in_series(a, b)
    return min(a, b) if option == "restitution" else sqrt(a * b)
