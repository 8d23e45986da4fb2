"""The result of a comparison, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHOWN = 12  # differences printed of each subject before "…"
SUBJECTS = {"robot": "the robot", "joint": "joints", "body": "bodies", "closure": "closures", "frame": "frames"}
LISTED = 4  # numbers of a quantity that are printed; of more only the difference
MISSING = "missing"  # quantity of a frame that one robot alone has


@dataclass(frozen=True)
class Difference:
    """One difference between two robots.

    subject: "joint", "body", "closure", "frame" or "robot". quantity: such as "mass [kg]", or "missing". a, b: as the
    two robots have it. error: size of the difference, in the quantity's unit; inf where there is no measure.
    """

    subject: str
    name: str
    quantity: str
    a: Any
    b: Any
    error: float

    def __str__(self) -> str:
        size = f" (by {self.error:.3g})" if np.isfinite(self.error) else ""
        if np.size(self.a) > LISTED:
            return f"{self.subject} {self.name!r}: {self.quantity} differs{size}"
        return f"{self.subject} {self.name!r}: {self.quantity}: {_text(self.a)} ≠ {_text(self.b)}{size}"


@dataclass(frozen=True)
class Agreement:
    """How far a dynamic quantity of two robots agrees over matched states: largest entry, and largest difference."""

    size: float
    error: float

    @property
    def relative(self) -> float:
        """The difference relative to the size; to 1e-6 of its unit, if the size is below that."""
        return self.error / max(self.size, 1e-6)


@dataclass(frozen=True)
class Comparison:
    """Two robots compared. Joints are matched by name, else by the link they move; bodies by their joints.

    joints: pairs of names that were matched. differences: all that differ by more than the tolerance. dynamics: mass
    matrix, gravity, inverse dynamics and energies over random matched states, joints that only one robot has at rest.
    """

    a: str
    b: str
    tolerance: float
    joints: tuple[tuple[str, str], ...]
    only_a: tuple[str, ...]  # joints that b does not have
    only_b: tuple[str, ...]
    differences: tuple[Difference, ...]
    dynamics: dict[str, Agreement] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        verdict = "the same" if self.same else f"{len(self.differences)} differences"
        return f"<Comparison of {self.a!r} and {self.b!r}: {verdict}, {len(self.joints)} joints matched>"

    @property
    def same_dynamics(self) -> bool:
        """Whether all joints match and all dynamic quantities agree within the tolerance."""
        matched = not self.only_a and not self.only_b and bool(self.dynamics)
        return matched and all(agreement.relative <= self.tolerance for agreement in self.dynamics.values())

    @property
    def same(self) -> bool:
        """Whether bodies, joints, parameters and dynamics are the same; frames and names of bodies may differ."""
        return self.same_dynamics and all(difference.subject == "frame" for difference in self.differences)

    def __bool__(self) -> bool:
        return self.same

    def of(self, subject: str) -> tuple[Difference, ...]:
        """The differences of one subject."""
        return tuple(difference for difference in self.differences if difference.subject == subject)

    def content(self) -> dict[str, Any]:
        """All of it as numbers, texts, lists and dictionaries, for JSON; an error without a measure is None."""
        return {
            "a": self.a,
            "b": self.b,
            "same": self.same,
            "same_dynamics": self.same_dynamics,
            "tolerance": self.tolerance,
            "joints": [list(pair) for pair in self.joints],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "differences": [
                {
                    "subject": difference.subject,
                    "name": difference.name,
                    "quantity": difference.quantity,
                    "a": _plain(difference.a),
                    "b": _plain(difference.b),
                    "error": _plain(difference.error),
                }
                for difference in self.differences
            ],
            "dynamics": {
                quantity: {"size": agreement.size, "error": agreement.error, "relative": agreement.relative}
                for quantity, agreement in self.dynamics.items()
            },
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        verdict = "the same within" if self.same else "they differ by more than"
        lines = [f"{self.a} and {self.b}: {verdict} {self.tolerance:g}; {len(self.joints)} joints matched"]
        lines += [f"  {note}" for note in self.notes]
        alone = [each for each in self.differences if each.quantity == MISSING]
        for what, a, b in (
            ("joints", self.only_a, self.only_b),
            ("frames", [each.name for each in alone if each.a], [each.name for each in alone if each.b]),
        ):
            lines += [f"  {what} only in {x}: {', '.join(n)}" for x, n in ((self.a, a), (self.b, b)) if n]
        for subject, several in SUBJECTS.items():
            differences = [each for each in self.of(subject) if each.quantity != MISSING]
            lines += [f"  {difference}" for difference in differences[:SHOWN]]
            if len(differences) > SHOWN:
                lines.append(f"  … and {len(differences) - SHOWN} more about {several}")
        for quantity, agreement in self.dynamics.items() if self.joints else ():
            mark = "" if agreement.relative <= self.tolerance else "  ←"
            lines.append(f"  {quantity:28} up to {agreement.size:10.4g}, differs by {agreement.error:8.2g}{mark}")
        return "\n".join(lines)


def _plain(x: Any) -> Any:
    """The value as JSON allows it; infinite numbers are None."""
    if isinstance(x, str) or x is None:
        return x
    if isinstance(x, tuple | list):
        return [_plain(item) for item in x]
    value = np.asarray(x).tolist()
    return [_plain(item) for item in value] if isinstance(value, list) else value if np.isfinite(value) else None


def _text(x: Any) -> str:
    if isinstance(x, str) or x is None:
        return repr(x) if x else "none"
    return np.array2string(np.asarray(x), precision=6, separator=", ", suppress_small=True).replace("\n", "")
