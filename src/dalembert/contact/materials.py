"""Materials of surfaces: friction, restitution and stiffness of common materials and of pairs of them, in SI units.

Friction, of clean and dry surfaces: printed tables of Serway and Beichner, Physics for Scientists and Engineers (5th
ed., table 5.2), for steel, glass, ice, and rubber on concrete; of OpenStax, College Physics (table 5.1), for wood,
metal on wood, steel on ice, and shoes, here rubber, on wood and ice; of ACI 318 for concrete that is not roughened.
Real surfaces differ by a factor of two, and restitution, of impacts at about 1 m/s, by more: measure where it matters.

Stiffness, of compliant contacts, is by class: 1e6 N/m for hard ground, 1e5 and 1e4 N/m for soft ground, between two
bodies of the material; not that of the bulk material, with which steps would be microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

from dalembert.errors import DalembertError, unknown

HARD, FIRM, SOFT = 2e6, 2e5, 2e4  # [N/m]: the half that one body adds to a contact


@dataclass(frozen=True)
class Material:
    """A surface against another one of the same material.

    friction: Coulomb's coefficient of sliding; static_friction: at rest, not below it; restitution: from 0 to 1, speed
    after an impact by the speed before; stiffness: of one body's half of a contact point [N/m].
    """

    friction: float
    static_friction: float
    restitution: float
    stiffness: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isfinite(value) or value < 0.0:
                raise DalembertError(f"Material: {name} is {value}, expected a finite number not below 0")
        if not self.stiffness:
            raise DalembertError("Material: stiffness is 0, expected a number above 0 [N/m]")
        if self.static_friction < self.friction:
            raise DalembertError(
                f"Material: static_friction is {self.static_friction:g}, expected at least friction, {self.friction:g}"
            )
        if self.restitution > 1.0:
            raise DalembertError(f"Material: restitution is {self.restitution:g}, expected at most 1")

    @property
    def damping(self) -> float:
        """Damping of compliant contact [s/m]: at 1 m/s it loses as much, 1 − e ≈ ⅔ c v (Hunt, Crossley)."""
        return 1.5 * (1.0 - self.restitution)


# each against itself
MATERIALS = {
    "steel": Material(0.57, 0.74, 0.70, HARD),
    "concrete": Material(0.60, 0.60, 0.30, HARD),
    "glass": Material(0.40, 0.94, 0.70, HARD),
    "ice": Material(0.03, 0.10, 0.30, HARD),
    "wood": Material(0.30, 0.50, 0.50, FIRM),
    "rubber": Material(0.80, 1.00, 0.70, SOFT),
}

# friction of pairs, which no rule gives: sliding, at rest
PAIRS = {
    frozenset(("rubber", "concrete")): (0.80, 1.00),
    frozenset(("rubber", "wood")): (0.70, 0.90),
    frozenset(("rubber", "ice")): (0.05, 0.10),
    frozenset(("steel", "wood")): (0.30, 0.50),
    frozenset(("steel", "ice")): (0.02, 0.03),
}


def material(name: str) -> Material:
    """A material of the table."""
    if name not in MATERIALS:
        raise unknown("material", name, MATERIALS, "contact")
    return MATERIALS[name]


def pair(a: str, b: str) -> Material:
    """The parameters of two materials in contact: friction of the pair where the table has it, else `combined`.

    Its stiffness is that of the contact, of both halves in series.
    """
    both = combined(material(a), material(b))
    friction, static = PAIRS.get(frozenset((a, b)), (both.friction, both.static_friction))
    return Material(friction, static, both.restitution, both.stiffness)


def combined(a: Material, b: Material) -> Material:
    """The rule for two surfaces of which only the materials are known.

    Friction: the geometric mean. Restitution: the smaller one, of the body that loses more. Stiffness: both in series.
    """
    return Material(
        sqrt(a.friction * b.friction),
        sqrt(a.static_friction * b.static_friction),
        min(a.restitution, b.restitution),
        in_series(a.stiffness, b.stiffness),
    )


def in_series(a: float, b: float) -> float:
    """Stiffness of two springs one after the other."""
    return a * b / (a + b)
