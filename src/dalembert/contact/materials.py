"""What surfaces are made of: friction, restitution and stiffness of common materials and of pairs of them, in SI units.

The numbers are typical ones of textbooks and handbooks for clean, dry, technical surfaces. Real ones differ by a factor
of two: measure where it matters. Stiffness and damping are those of one contact point of a body of about a kilogramme,
for compliant contacts: soft enough for steps of a millisecond, not those of the bulk material.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

from dalembert.errors import DalembertError, unknown


@dataclass(frozen=True)
class Material:
    """A surface against another one of the same material.

    friction: Coulomb's coefficient of sliding; static_friction: at rest, not below it; restitution: from 0 to 1, speed
    after an impact by the speed before; stiffness [N/m] and damping [N·s/m] of a contact point.
    """

    friction: float
    static_friction: float
    restitution: float
    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isfinite(value) or value < 0.0:
                raise DalembertError(f"Material: {name} is {value}, expected a finite number not below 0")
        if self.static_friction < self.friction:
            raise DalembertError(
                f"Material: static_friction is {self.static_friction:g}, expected at least friction, {self.friction:g}"
            )
        if self.restitution > 1.0:
            raise DalembertError(f"Material: restitution is {self.restitution:g}, expected at most 1")


# each against itself
MATERIALS = {
    "steel": Material(0.42, 0.60, 0.70, 5e5, 200.0),
    "aluminium": Material(0.45, 0.61, 0.60, 4e5, 200.0),
    "wood": Material(0.30, 0.40, 0.50, 1e5, 200.0),
    "rubber": Material(0.90, 1.10, 0.80, 2e4, 100.0),
    "concrete": Material(0.60, 0.80, 0.30, 5e5, 500.0),
    "plastic": Material(0.25, 0.35, 0.60, 1e5, 100.0),
    "glass": Material(0.40, 0.90, 0.70, 5e5, 100.0),
    "leather": Material(0.45, 0.55, 0.30, 3e4, 200.0),
    "ice": Material(0.03, 0.06, 0.30, 3e5, 100.0),
}

# pairs whose friction no rule gives
PAIRS = {
    frozenset(("rubber", "concrete")): (0.80, 1.00),
    frozenset(("rubber", "ice")): (0.10, 0.15),
    frozenset(("rubber", "steel")): (0.70, 0.85),
    frozenset(("rubber", "wood")): (0.70, 0.80),
    frozenset(("steel", "ice")): (0.02, 0.04),
    frozenset(("steel", "wood")): (0.30, 0.45),
    frozenset(("steel", "concrete")): (0.45, 0.60),
    frozenset(("wood", "concrete")): (0.50, 0.62),
}


def material(name: str) -> Material:
    """A material of the table."""
    if name not in MATERIALS:
        raise unknown("material", name, MATERIALS, "contact")
    return MATERIALS[name]


def pair(a: str, b: str) -> Material:
    """What holds between two materials: measured friction where the table has the pair, else `combined`."""
    both = combined(material(a), material(b))
    friction, static = PAIRS.get(frozenset((a, b)), (both.friction, both.static_friction))
    return Material(friction, static, both.restitution, both.stiffness, both.damping)


def combined(a: Material, b: Material) -> Material:
    """The rule for two surfaces of which only the materials are known.

    Friction: the geometric mean. Restitution: the smaller one, of the body that loses more. Stiffness: both in series,
    1 / (1/a + 1/b), of which a material against itself is half; damping in proportion.
    """
    total = a.stiffness + b.stiffness
    share_a, share_b = (b.stiffness / total, a.stiffness / total) if total else (0.5, 0.5)  # of the deformation
    return Material(
        sqrt(a.friction * b.friction),
        sqrt(a.static_friction * b.static_friction),
        min(a.restitution, b.restitution),
        a.stiffness * b.stiffness / total if total else 0.0,
        a.damping * share_a**2 + b.damping * share_b**2,
    )
