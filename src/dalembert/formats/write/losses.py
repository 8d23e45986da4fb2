"""What a format cannot say about a robot: collected while writing, then an error that lists it all, or findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dalembert.errors import LISTED, DalembertError
from dalembert.model import Joint

from ..ledger import Finding

SLIP = 0.01  # [rad/s or m/s] slip speed of friction that readers take where a format states none

ENDINGS = {"urdf": ".urdf", "sdf": ".sdf", "mjcf": ".xml", "dh": ".dh.toml"}  # format → ending of its files

Weight = Literal["note", "change", "refusal"]


@dataclass
class Losses:
    """Three weights of loss.

    note: nothing that moves the robot is lost. change: the physics or the coordinates of the file differ, which the
    caller must ask for with approximate=True. refusal: the format has no words for it and none that come near.
    """

    language: str  # name of the target format
    approximate: bool = False
    _groups: dict[tuple[Weight, str, str, str], list[str]] = field(default_factory=dict)

    def note(self, kind: str, name: str, what: str, action: str) -> None:
        """Log something of the `kind` (joint, link, …) called `name` that loses no physics."""
        self._add("note", kind, name, what, action)

    def change(self, kind: str, name: str, what: str, action: str) -> None:
        """Log what is written otherwise than the model has it; an error unless approximate=True."""
        self._add("change", kind, name, what, action)

    def refuse(self, kind: str, name: str, what: str, cure: str) -> None:
        """Log what cannot be written at all."""
        self._add("refusal", kind, name, what, cure)

    def refuse_joint(self, joint: Joint, format: str) -> None:
        """Log a joint of a type that the format has no word for, nor a row of joints that would do."""
        others = [ending for word, ending in ENDINGS.items() if word in joint.keywords and word != format]
        cure = f"save as {' or '.join(others)}"
        if not others:
            cure = f"give class {type(joint).__name__} a `row` of hinges and slides that move alike, or `keywords`"
        self.refuse("joint", joint.name, f"{self.language} has no {joint.kind} joint", cure)

    def _add(self, weight: Weight, kind: str, name: str, what: str, action: str) -> None:
        self._groups.setdefault((weight, kind, what, action), []).append(name)

    @property
    def refused(self) -> bool:
        """Whether something cannot be written at all."""
        return any(weight == "refusal" for weight, *_ in self._groups)

    def close(self) -> tuple[Finding, ...]:
        """All findings, alike ones in one; or a `DalembertError` that lists everything in the way of writing."""
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
    """The things concerned, as in "joints 'a', 'b', … (12 in all)"."""
    shown = ", ".join(f"'{name}'" for name in names[:LISTED])
    more = f", … ({len(names)} in all)" if len(names) > LISTED else ""
    return f"{key[1]}{'s' if len(names) > 1 else ''} {shown}{more}"
