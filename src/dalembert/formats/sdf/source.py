"""Shared by all SDF elements: values as text of child elements, poses, and unknown tags."""

from __future__ import annotations

import math
import re
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import DalembertError
from dalembert.spatial import Pose, so3

from ..diagnosis import report_angles
from ..hidden import hidden_physics
from ..ledger import Ledger
from ..xml import LARGEST, Document, children, meant_by, tag_of

Element: TypeAlias = etree._Element
Version: TypeAlias = tuple[int, int]

OLDEST, NEWEST = (1, 4), (1, 11)
UNIT = 1e-6  # a quaternion may miss unit length by this much before that is worth a line in the log
TRUE, FALSE = {"1", "true"}, {"0", "false"}
# Parts of words that name forces or masses: an unknown element with one of them may carry physics.
FORCES = (
    "mass", "inertia", "damp", "friction", "stiff", "spring", "gravity", "gear", "armature", "joint", "constraint",
    "bushing", "thrust", "buoy",
)  # fmt: skip
HARMLESS = {"name", "visual", "collision", "material", "sensor", "plugin", "geometry"}  # may be misspelt


@dataclass(frozen=True)
class SdfFile:
    """One SDF file: its document, version, folder (None for text), and the ledger all files of one robot share."""

    document: Document
    version: Version
    folder: Path | None
    ledger: Ledger
    chain: tuple[Path, ...] = ()  # the files that include each other down to this one

    def where(self, element: Element) -> str:
        """File, line and element."""
        return self.document.where(element)

    def error(self, element: Element, message: str) -> DalembertError:
        """The error of one element, with its place in front."""
        return self.document.error(element, message)

    def child(self, parent: Element, tag: str) -> Element | None:
        """The first child with this tag, or None; further ones are logged, since only one can apply."""
        matches = [child for child in children(parent) if tag_of(child) == tag]
        for extra in matches[1:]:
            what = f"a second <{tag}> in <{tag_of(parent)}>"
            self.ledger.warning(self.where(extra), what, "the first one is used")
        return matches[0] if matches else None

    def text(self, element: Element) -> str:
        """The text inside an element, which must not be blank."""
        text = content(element)
        if not text:
            raise self.error(element, f"is empty; write <{tag_of(element)}>…</{tag_of(element)}>")
        return text

    def word(self, parent: Element, tag: str) -> str | None:
        """The text of a child element; None when there is no such child."""
        element = self.child(parent, tag)
        return None if element is None else self.text(element)

    def number(self, parent: Element, tag: str, default: float) -> float:
        """The number in a child element, which must be finite; `default` when there is none."""
        element = self.child(parent, tag)
        return default if element is None else self.document.real(element, "value", self.text(element))

    def limit(self, parent: Element, tag: str) -> float | None:
        """A limit in a child element; None if absent, or written as 1e16, inf or the largest double."""
        element = self.child(parent, tag)
        if element is None:
            return None
        text = self.text(element)
        if re.fullmatch(r"[+-]?inf(inity)?", text.lower()):
            return None
        value = self.document.real(element, "value", text, math.inf)
        return None if abs(value) >= 1e16 else value

    def flag(self, parent: Element, tag: str) -> bool:
        """A truth value in a child element; false when there is none."""
        element = self.child(parent, tag)
        return False if element is None else self.truth(element, self.text(element))

    def truth(self, element: Element, text: str) -> bool:
        """A truth value: true, false, 1 or 0."""
        word = text.strip().lower()
        if word not in TRUE | FALSE:
            raise self.error(element, f"'{text}' is not a truth value; write true or false")
        return word in TRUE

    def vector(self, element: Element, size: int, text: str | None = None) -> np.ndarray:
        """The `size` numbers in an element, parted by white space."""
        words = (self.text(element) if text is None else text).split()
        if len(words) != size:
            raise self.error(element, f"has {len(words)} number(s), expected {size}")
        return np.array([self.document.real(element, "value", word) for word in words])

    def pose(self, parent: Element) -> tuple[Pose, str]:
        """The <pose> of an element and the frame it is relative to ("": the default of that element)."""
        element = self.child(parent, "pose")
        if element is None:
            return Pose.identity(), ""
        known = {"relative_to", "frame", "degrees", "rotation_format"}
        self.report(element, tags=set(), attributes=known)
        base = (element.get("relative_to") or "").strip()
        if (element.get("frame") or "").strip():
            what = f'<pose frame="{element.get("frame")}">, which no version of SDF defines'
            self.ledger.warning(
                self.where(element), what, "the frame is not used: write relative_to, in SDF 1.7 or later"
            )
        if not content(element):
            return Pose.identity(), base
        return self._placed(element), base

    def _placed(self, element: Element) -> Pose:
        form = element.get("rotation_format", "euler_rpy")
        degrees = self.truth(element, element.get("degrees", "false"))
        if form == "euler_rpy":
            x = self.vector(element, 6)
            if not degrees:
                report_angles(self.ledger, self.where(element), x[3:].tolist())
            return Pose.from_xyz_rpy(x[:3], np.radians(x[3:]) if degrees else x[3:])
        if form != "quat_xyzw":
            raise self.error(element, f"rotation_format is '{form}'; write euler_rpy or quat_xyzw")
        if degrees:
            raise self.error(element, "degrees has no meaning for a quaternion; remove it, or write euler_rpy")
        x = self.vector(element, 7)
        length = float(np.linalg.norm(x[3:]))
        if not 1e-9 < length < LARGEST:
            raise self.error(element, "the quaternion is zero; write 0 0 0 1 for no rotation")
        if abs(length - 1.0) > UNIT:
            self.ledger.warning(self.where(element), f"the quaternion has length {length:g}", "normalised")
        return Pose(so3.from_quaternion(x[[6, 3, 4, 5]] / length), x[:3])

    def report(
        self, element: Element, *, tags: Set[str], attributes: Set[str], idle: Set[str] = frozenset(), why: str = ""
    ) -> None:
        """Log children and attributes that are not used: `idle` ones with the reason, others as not understood."""
        here = tag_of(element)
        present = {tag_of(child) for child in children(element)}
        for child in children(element):
            tag = tag_of(child)
            if tag in idle:
                if words := hidden_physics(child):
                    what = f"<{tag}> in <{here}> states {', '.join(words)}"
                    self.ledger.warning(self.where(child), what, "not used: state it in links and joints")
                else:
                    self.ledger.count(self.where(child), f"<{tag}> in <{here}>", why)
            elif tag not in tags:
                self._strange(child, f"<{tag}> in <{here}>", tag, tags - present)
        names = [str(key).rpartition("}")[2] for key in element.attrib]
        for name in names:
            if name not in attributes:
                self._strange(element, f"attribute '{name}' of <{here}>", name, attributes - {*names})

    def _strange(self, element: Element, what: str, name: str, missing: Set[str]) -> None:
        """Log an unknown name: as a warning where it may be physics or misspells a name that the element lacks."""
        meant = meant_by(name, missing - HARMLESS)
        inside = hidden_physics(element) if element.tag and tag_of(element) == name else []
        if meant or inside or any(force in name.lower() for force in FORCES):
            cure = f": did you mean '{meant}'?" if meant else ""
            self.ledger.warning(self.where(element), f"{what} is not known and may carry physics", f"not used{cure}")
        else:
            self.ledger.count(self.where(element), f"{what} is not known", "passed over")


def content(element: Element) -> str:
    """The text of an element without surrounding blanks, comments taken out."""
    tails = [child.tail or "" for child in element if not isinstance(child.tag, str)]
    return "".join([element.text or "", *tails]).strip()


def version_of(document: Document, ledger: Ledger) -> Version:
    """The version an <sdf> element states; too old is an error, too new a warning."""
    root = document.root
    stated = document.text(root, "version").strip()
    try:
        major, minor = (int(part) for part in stated.split("."))
    except ValueError:
        raise document.error(root, f'version="{stated}" is not a version; write one from 1.4 to 1.11') from None
    if (major, minor) < OLDEST:
        raise document.error(root, f"SDF {stated} is older than 1.4; convert it first: gz sdf -p old.sdf > new.sdf")
    if (major, minor) > NEWEST:
        ledger.warning(document.where(root), f"SDF {stated} is newer than 1.11", "read as 1.11")
    return min((major, minor), NEWEST)
