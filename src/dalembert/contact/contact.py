"""What touches what, and by which law: the record that simulations take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

MODELS = ("rigid", "compliant", "mujoco")
PAIRS = ("ground", "all", "file")
GROUND = "ground"  # its name in pairs


@dataclass(frozen=True)
class Contact:
    """The collision shapes of a robot against the ground and, if asked for, against each other.

    ground: height of a level floor [m]; terrain: in its place, a function z(x, y) of arithmetic and `dalembert.math`;
    neither: a floor at 0, unless `pairs` lists pairs without "ground". pairs: "ground", every shape against it; "all",
    also bodies against each other, apart from those that a joint connects; or a list of pairs of names of bodies, links
    or shapes, or "ground".

    model: "rigid", exact laws of contact in time steps; "compliant", forces of springs and smooth friction.
    friction: Coulomb's coefficient of sliding, static_friction: at rest, by default the same; torsion: moment about the
    normal per normal force [m]; rolling: moment against rolling per normal force [m].

    Rigid: restitution: speed after an impact per speed before it, 0 … 1; rest_speed: slower impacts do not bounce
    [m/s]; tolerance: error of the laws of contact at which the iteration of a step ends [m/s]; recovery_speed: with
    which what penetrates comes out, at most [m/s].

    Compliant: force = stiffness · depth · (1 + damping · speed of depth) [N/m, s/m] (Hunt and Crossley), and friction
    that is full above slip_speed [m/s].
    """

    ground: float | None = None
    friction: float = 0.6
    terrain: Callable[[Any, Any], Any] | None = None
    pairs: str | Sequence[tuple[str, str]] | None = None
    model: str = "rigid"
    static_friction: float | None = None
    restitution: float = 0.0
    torsion: float = 0.0
    rolling: float = 0.0
    stiffness: float = 1e5
    damping: float = 1.0
    slip_speed: float = 5e-3
    rest_speed: float = 1e-2
    tolerance: float = 1e-6
    recovery_speed: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())
        if self.model not in MODELS:
            raise unknown("model", self.model, MODELS, "Contact")
        if self.ground is not None and self.terrain is not None:
            raise DalembertError("Contact: ground and terrain are both given, expected one of them")
        if self.terrain is not None and not callable(self.terrain):
            raise DalembertError(f"Contact: terrain is {self.terrain!r}, expected a function z(x, y) [m]")
        if self.pairs is None:
            object.__setattr__(self, "pairs", "file" if self.model == "mujoco" else "ground")
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs))
        if self.pairs == "file" and self.model != "mujoco":
            raise DalembertError("Contact: pairs='file' belongs to model='mujoco': write 'ground' or 'all'")
        if self.model != "mujoco" and self.ground is None and self.terrain is None and self.mentions_ground:
            object.__setattr__(self, "ground", 0.0)
        self._check_numbers()

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

    @property
    def holding_friction(self) -> float:
        """The coefficient of friction at rest."""
        return self.friction if self.static_friction is None else self.static_friction

    def _check_numbers(self) -> None:
        above_zero = ("stiffness", "slip_speed", "tolerance", "recovery_speed")
        at_least_zero = ("friction", "static_friction", "torsion", "rolling", "damping", "rest_speed")
        for name in ("ground", "restitution", *above_zero, *at_least_zero):
            value = getattr(self, name)
            if value is None and name in ("ground", "static_friction"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
                raise DalembertError(f"Contact: {name} is {value!r}, expected a finite number")
            if name in above_zero and not value > 0.0:
                raise DalembertError(f"Contact: {name} is {value!r}, expected a number above 0")
            if name in at_least_zero and not value >= 0.0:
                raise DalembertError(f"Contact: {name} is {value!r}, expected a number ≥ 0")
            object.__setattr__(self, name, float(value))
        if self.model == "compliant" and self.restitution:
            raise DalembertError(
                "Contact: restitution belongs to model='rigid'; what a compliant contact gives back is set by damping"
            )
        if not 0.0 <= self.restitution <= 1.0:
            raise DalembertError(f"Contact: restitution is {self.restitution!r}, expected 0 … 1")
        if self.static_friction is not None and self.static_friction < self.friction:
            raise DalembertError(
                f"Contact: static_friction is {self.static_friction:g}, expected at least friction, {self.friction:g}"
            )


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
