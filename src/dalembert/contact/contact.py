"""The settings of contact: what touches what, by which law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dalembert.dynamics.collision import Ground
from dalembert.errors import DalembertError, unknown

from .materials import Material, material

MODELS = ("rigid", "compliant", "mujoco")
PAIRS = ("ground", "all", "file")
ALONE = "all", "file"  # words for pairs that go without a ground
FRICTION_MODELS = ("regularized", "bristle")
GROUND = "ground"  # its name in pairs
FILE = "file"  # the ground where none is stated: a plane of the robot's file, else a floor at 0
DEFAULT = "default"  # in a table of numbers, for all that it does not name
DEFAULTS = {  # where neither the contact nor the robot's file says anything
    "friction": 0.6,
    "static_friction": 0.6,
    "torsion": 0.0,
    "rolling": 0.0,
    "restitution": 0.0,
    "stiffness": 1e5,
    "damping": 1.0,
}

BELONGS = {  # options that some models do not have, and what these have instead
    "static_friction": (("rigid", "compliant"), "MuJoCo's contacts have one friction"),
    "torsion": (("rigid", "compliant"), "MuJoCo's geoms state it themselves, from condim 4 on"),
    "rolling": (("rigid", "compliant"), "MuJoCo's geoms state it themselves, of condim 6"),
    "materials": (("rigid", "compliant"), "MuJoCo's geoms have friction, solref and solimp"),
    "restitution": (("rigid",), "what a compliant contact gives back is set by damping, and MuJoCo's by solref"),
    "rest_speed": (("rigid",), "other models have no law of impact"),
    "tolerance": (("rigid",), "the forces of other models are not iterated"),
    "recovery_speed": (("rigid",), "springs push out what penetrates in other models"),
    "stiffness": (("compliant",), "rigid contacts do not sink in, and MuJoCo's have solref and solimp"),
    "damping": (("compliant",), "rigid contacts have restitution, and MuJoCo's solref"),
    "slip_speed": (("compliant",), "the friction of other models is not smooth in the slip"),
    "friction_model": (("compliant",), "the others have none to choose"),
}

Setting = float | Mapping[Any, float] | None


@dataclass(frozen=True)
class Contact:
    """The collision shapes of a robot against the ground and, if asked for, against each other.

    ground: height of a level floor [m], None: there is none; "file": a plane of the robot's file, else a floor at 0,
    unless `pairs` lists pairs without "ground". terrain: in its place, a function z(x, y) of arithmetic and
    `dalembert.math`, or a `collision.HeightField`. pairs: "ground", every shape against it; "all", also bodies against
    each other, apart from those that a joint connects; or a list of pairs of names of bodies, links or shapes, or
    "ground"; "file": those that an MJCF file lets touch, by <pair>, masks and <exclude>, with the friction and condim
    that it states for each; its planes are the ground, or `ground` and `terrain` in their place.

    model: "rigid", exact laws of contact in time steps; "compliant", forces of springs and smooth friction; "mujoco",
    MuJoCo's soft constraints with the parameters of an MJCF file, all its pairs by default (pairs="file").
    friction: Coulomb's coefficient of sliding, static_friction: at rest, by default the same; torsion: moment about the
    normal per normal force [m]; rolling: moment against rolling per normal force [m]. Each of these, restitution,
    stiffness and damping is a number for all, or a table by pair, name or material, {("foot", "ground"): 0.8, "rubber":
    0.7, "default": 0.5}; where none is given, what the robot's file states, else a default (0.6 for friction).
    With model="mujoco", friction is a number for all contacts, in the place of the file's.
    materials: {"foot": "rubber", "ground": "concrete"}, of the table in `dalembert.contact.materials`, or a `Material`.

    Rigid: restitution: speed after an impact per speed before it, 0 … 1; rest_speed: slower impacts do not bounce
    [m/s]; tolerance: error of the laws of contact at which the iteration of a step ends [m/s]; recovery_speed: with
    which what penetrates comes out, at most [m/s].

    friction_model: of compliant contacts: "regularized", smooth in the slip, creeps while it holds; "bristle", holds: a
    spring along the surface that gives no more than the friction.

    Compliant: force = stiffness · depth · (1 + damping · speed of depth) [N/m, s/m] (Hunt and Crossley), and friction
    that grows with the slip: 0.7 of its full value at slip_speed [m/s].
    """

    ground: float | str | None = FILE
    friction: Setting = None
    terrain: Callable[[Any, Any], Any] | Ground | None = None
    pairs: str | Sequence[tuple[str, str]] | None = None
    model: str = "rigid"
    static_friction: Setting = None
    restitution: Setting = None
    torsion: Setting = None
    rolling: Setting = None
    stiffness: Setting = None
    damping: Setting = None
    slip_speed: float = 5e-3
    rest_speed: float = 1e-2
    tolerance: float = 1e-6
    recovery_speed: float = 0.1
    friction_model: str = "regularized"
    materials: Mapping[str, str | Material] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown("model", self.model, MODELS, "Contact")
        if self.friction_model not in FRICTION_MODELS:
            raise unknown("friction_model", self.friction_model, FRICTION_MODELS, "Contact")
        stated = self.ground != FILE
        if stated and self.ground is not None and self.terrain is not None:
            raise DalembertError("Contact: ground and terrain are both given, expected one of them")
        if self.terrain is not None and not callable(self.terrain) and not isinstance(self.terrain, Ground):
            raise DalembertError(
                f"Contact: terrain is {self.terrain!r}, expected a function z(x, y) [m] or a collision.HeightField"
            )
        if self.pairs is None:
            object.__setattr__(self, "pairs", "file" if self.model == "mujoco" else "ground")
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs))
        if not stated:
            level = self.model != "mujoco" and self.terrain is None and self.mentions_ground
            object.__setattr__(self, "ground", FILE if level else None)
        elif self.model != "mujoco" and not self.has_ground and self.pairs not in ALONE and self.mentions_ground:
            raise DalembertError(
                "Contact: ground=None is no ground, but pairs has it: write pairs='all', pairs of bodies, or a height"
            )
        self._check_numbers()

    def __hash__(self) -> int:
        return hash(repr(self))  # tables are dicts

    @property
    def mentions_ground(self) -> bool:
        """Whether the pairs have the ground among them."""
        return not self.listed_pairs or any(GROUND in pair for pair in self.listed_pairs)

    @property
    def listed_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of names, none if a word says which."""
        return () if self.pairs is None or isinstance(self.pairs, str) else tuple(self.pairs)

    @property
    def has_ground(self) -> bool:
        """Whether there is a floor or a terrain."""
        return self.ground is not None or self.terrain is not None

    def _check_numbers(self) -> None:
        if self.ground is not None and self.ground != FILE:
            object.__setattr__(self, "ground", _number("ground", self.ground))
        for name in ("slip_speed", "tolerance", "recovery_speed", "rest_speed"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        for name in DEFAULTS:
            object.__setattr__(self, name, _checked_setting(name, getattr(self, name)))
        object.__setattr__(self, "materials", _checked_materials(self.materials))
        for each in fields(self):
            models, instead = BELONGS.get(each.name, (MODELS, ""))
            if self.model not in models and getattr(self, each.name) not in (each.default, None, 0.0, {}):
                named = " and ".join(f"model={model!r}" for model in models)
                raise DalembertError(f"Contact: {each.name} belongs to {named}: {instead}")
        sliding, at_rest = self.friction, self.static_friction
        if isinstance(at_rest, float) and isinstance(sliding, float) and at_rest < sliding:
            raise DalembertError(f"Contact: static_friction is {at_rest:g}, expected at least friction, {sliding:g}")


ABOVE_ZERO = ("stiffness", "slip_speed", "tolerance", "recovery_speed")


def _number(name: str, value: Any, where: str = "") -> float:
    """A finite number within the bounds of an option; where: of an entry of a table."""
    if isinstance(value, np.generic):
        value = value.item()
    said = f"Contact: {name}{where} is {value!r}"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise DalembertError(f"{said}, expected a finite number")
    if name in ABOVE_ZERO and not value > 0.0:
        raise DalembertError(f"{said}, expected a number above 0")
    if name == "restitution" and not 0.0 <= value <= 1.0:
        raise DalembertError(f"{said}, expected 0 … 1")
    if name != "ground" and not value >= 0.0:
        raise DalembertError(f"{said}, expected a number ≥ 0")
    return float(value)


def _checked_setting(name: str, setting: Any) -> float | dict[Any, float] | None:
    """A number for all, or a table of them by names and pairs of names."""
    if setting is None:
        return None
    if not isinstance(setting, Mapping):
        return _number(name, setting)
    for key in setting:
        names = key if isinstance(key, tuple) and len(key) == 2 else (key,)
        if not all(isinstance(each, str) for each in names):
            raise DalembertError(f"Contact: {name} has the key {key!r}, expected a name or a pair of names")
    table = {key: _number(name, value, f"[{key!r}]") for key, value in setting.items()}
    for key in table:
        if isinstance(key, tuple) and table.get(key[::-1], table[key]) != table[key]:
            raise DalembertError(f"Contact: {name} has two numbers for {key[0]!r} and {key[1]!r}, expected one")
    return table


def _checked_materials(materials: Any) -> dict[str, str | Material]:
    if not isinstance(materials, Mapping):
        raise DalembertError(
            f"Contact: materials is {materials!r}, expected a dict such as {{'foot': 'rubber', 'ground': 'concrete'}}"
        )
    for name, each in materials.items():
        if isinstance(each, str):
            material(each)
        elif not isinstance(each, Material):
            raise DalembertError(f"Contact: materials[{name!r}] is {each!r}, expected a name or a Material")
    return dict(materials)


def _checked_pairs(pairs: Any) -> str | tuple[tuple[str, str], ...]:
    """Pairs as a tuple of pairs of names, or one of the words for them."""
    if isinstance(pairs, str):
        if pairs not in PAIRS:
            raise unknown("pairs", pairs, PAIRS, "Contact")
        return pairs
    try:
        listed = tuple((first, second) for first, second in pairs)
    except (TypeError, ValueError):
        raise DalembertError(f"Contact: pairs is {pairs!r}, expected 'ground', 'all' or [('a', 'b'), …]") from None
    for pair in listed:
        if not all(isinstance(name, str) for name in pair):
            raise DalembertError(f"Contact: pairs has {pair!r}, expected two names")
        if pair[0] == pair[1]:
            raise DalembertError(f"Contact: pairs has {pair!r}, expected two different names")
    if not listed:
        raise DalembertError("Contact: pairs is empty, expected 'ground', 'all' or [('a', 'b'), …]")
    return listed
