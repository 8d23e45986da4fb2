"""Properties of a robot that a format cannot express: collected while writing, then raised as one error or returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dalembert.errors import LISTED, DalembertError
from dalembert.model import Geometry, Joint, Part
from dalembert.spatial import Pose

from ..ledger import Finding

SLIP = 0.01  # [rad/s or m/s] slip speed of friction that readers take where a format states none

ENDINGS = {
    "urdf": ".urdf",
    "sdf": ".sdf",
    "mjcf": ".xml",
    "dh": ".dh.toml",
    "usd": ".usda",
}  # format → ending of its files

Weight = Literal["note", "change", "refusal"]


@dataclass
class Losses:
    """Three weights of loss.

    note: nothing that affects the motion is lost. change: the physics or the coordinates of the file differ, which the
    caller must allow with approximate=True. refusal: the format has nothing equal or similar.
    """

    language: str  # name of the target format
    approximate: bool = False
    _groups: dict[tuple[Weight, str, str, str], list[str]] = field(default_factory=dict)

    def note(self, kind: str, name: str, what: str, action: str) -> None:
        """Log something of the `kind` (joint, link, …) called `name` that loses no physics."""
        self._add("note", kind, name, what, action)

    def change(self, kind: str, name: str, what: str, action: str) -> None:
        """Log a difference between file and model; an error unless approximate=True."""
        self._add("change", kind, name, what, action)

    def refuse(self, kind: str, name: str, what: str, cure: str) -> None:
        """Log something that cannot be written."""
        self._add("refusal", kind, name, what, cure)

    def refuse_joint(self, joint: Joint, format: str) -> None:
        """Log a joint of a type that the format lacks, and that no row of its joints can replace."""
        others = [ending for word, ending in ENDINGS.items() if word in joint.keywords and word != format]
        cure = f"save as {' or '.join(others)}"
        if not others:
            cure = f"give class {type(joint).__name__} a `row` of equivalent hinges and slides, or `keywords`"
        self.refuse("joint", joint.name, f"{self.language} has no {joint.kind} joint", cure)

    def no_shapes(self, part: Part) -> tuple[Geometry, ...]:
        """No shape of a link, because the caller asked for none."""
        if part.geometry:
            self.note("link", part.name, "shapes", "left out, because of geometry=False")
        return ()

    def place_at_origin(self, joint: Joint, placement: Pose, counts: str) -> None:
        """A free joint whose frame is not the world's, in a format that `counts` from there."""
        if np.any(placement.matrix() != np.eye(4)):
            what = f"the joint does not start at the world's origin, and {counts} from there"
            self.change("joint", joint.name, what, "q is the pose in the world")

    def leave_out_slip_speed(self, joint: Joint, written: str, there: str) -> None:
        """Friction in a format that has no slip speed; written: the word for it, whose law is what `there` says."""
        if np.any(joint.friction) and joint.slip_speed != SLIP:
            what = f"the slip speed of friction, which {self.language} does not state"
            self.change("joint", joint.name, what, f"{written}, which reads back with {SLIP:g}")
        elif np.any(joint.friction):
            what = f"friction, without the slip speed {SLIP:g}, which {self.language} does not state"
            self.note("joint", joint.name, what, f"{written}: {there}")

    def leave_out_drive(self, joint: Joint) -> None:
        """Properties of a joint's drive that only this package's own elements and tables can state."""
        if np.any(joint.stribeck):
            self.change("joint", joint.name, f"Stribeck friction, which {self.language} does not have", "left out")
        if np.any(np.isfinite(joint.continuous_limit)):
            self.note("joint", joint.name, f"{self.language} has no limits of continuous effort", "left out")

    def _add(self, weight: Weight, kind: str, name: str, what: str, action: str) -> None:
        self._groups.setdefault((weight, kind, what, action), []).append(name)

    @property
    def refused(self) -> bool:
        """Whether something cannot be written."""
        return any(weight == "refusal" for weight, *_ in self._groups)

    def close(self) -> tuple[Finding, ...]:
        """All findings, equal ones merged; or a `DalembertError` that lists everything that prevents writing."""
        fatal = [key for key in self._groups if key[0] == "refusal" or (key[0] == "change" and not self.approximate)]
        if fatal:
            lines = [
                f"  {_where(key, self._groups[key])}: {key[2]}; "
                + (f"approximate=True: {key[3]}" if key[0] == "change" else key[3])
                for key in fatal
            ]
            raise DalembertError(f"the robot cannot be written as {self.language}:\n" + "\n".join(lines))
        return tuple(
            Finding("info" if key[0] == "note" else "warning", _where(key, names), key[2], key[3])
            for key, names in self._groups.items()
        )


def _where(key: tuple[Weight, str, str, str], names: list[str]) -> str:
    """The items concerned, as in "joints 'a', 'b', … (12 in all)"."""
    shown = ", ".join(f"'{name}'" for name in names[:LISTED])
    more = f", … ({len(names)} in all)" if len(names) > LISTED else ""
    return f"{key[1]}{'s' if len(names) > 1 else ''} {shown}{more}"
