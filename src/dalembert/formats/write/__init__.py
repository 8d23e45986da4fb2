"""`Model` → robot files. One writer per format; what a format cannot express is an error or a finding, never silent."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import replacing, write_text
from dalembert.model import Model
from dalembert.model.joints.joint import RATE_LIMITS

from ..ledger import Finding
from .dh import comment, to_dh
from .losses import Losses
from .mjcf import to_mjcf
from .mjcf_drives import note_tendons
from .sdf import to_sdf
from .shapes import Package
from .text import document
from .urdf import to_urdf
from .usd import to_usd

Writer = Callable[[Model, Losses, Package, bool], Any]

USD = (".usda", ".usd", ".usdc")  # text, and twice binary
LANGUAGES = {".urdf": "URDF", ".xml": "MJCF", ".sdf": "SDF", ".dh.toml": "a DH table"} | dict.fromkeys(USD, "USD")
XML: dict[str, Writer] = {".urdf": to_urdf, ".xml": to_mjcf, ".sdf": to_sdf}
WRITERS: dict[str, Callable[..., tuple[Finding, ...]]] = {}  # by ending: those from outside the package
PACKAGED = (".urdf", ".sdf")  # formats that can name files by package


def write(
    model: Model,
    path: str | os.PathLike[str],
    *,
    approximate: bool = False,
    geometry: bool = True,
    package: str | os.PathLike[str] | None = None,
    generator: str = "dalembert",
    notes: Sequence[str] = (),
    subject: Any = None,
) -> tuple[Finding, ...]:
    """Write a model to a file in the format that its ending names; returns what the file changes or omits.

    approximate: let the file differ in physics or coordinates where the format has no exact terms; otherwise an error
    lists all such places. geometry: whether to write the shapes of links. package: a folder whose meshes are named
    package://folder/… (SDF: model://folder/…); other meshes keep their paths. notes: lines for the file's
    first comment. subject: what a writer from outside the package is given, by default the model. An existing file is
    replaced as a whole.
    """
    if not isinstance(path, str | os.PathLike):
        raise DalembertError(f"save: expected the path of a file, got {type(path).__name__}")
    text = os.path.expanduser(path)
    endings = [*LANGUAGES, *WRITERS]
    ending = max((e for e in endings if text.lower().endswith(e)), key=len, default=None)
    if ending is None:
        raise DalembertError(
            f"{text}: the ending names the format: expected one of {', '.join(dict.fromkeys(endings))}"
        )
    if ending in WRITERS:
        options = {"geometry": geometry, "package": package, "notes": notes}
        return WRITERS[ending](model if subject is None else subject, text, approximate, options)
    if package is not None and ending not in PACKAGED:
        raise DalembertError(
            f"{text}: {LANGUAGES[ending]} has no packages: leave package= out, meshes keep their paths"
        )
    losses = Losses(LANGUAGES[ending], approximate)
    _report(model, ending, losses)
    head = [f"Robot {model.name!r}, written by {generator}.", *notes]
    files = Package(package, text)
    if ending in USD:
        stage = to_usd(model, losses, geometry)
        findings = losses.close()
        with replacing(text) as temporary:
            stage.save(temporary, [*head, *map(_line, findings)])
        return findings
    if ending in XML:
        root = XML[ending](model, losses, files, geometry)
        findings = losses.close()
        whole = document(root, [*head, *map(_line, findings)])
    else:
        rows = to_dh(model, losses, files, geometry)
        findings = losses.close()
        whole = "\n".join([*comment([*head, *map(_line, findings)]), "", *rows, ""])
    files.close()
    write_text(text, whole)
    return findings


def _report(model: Model, ending: str, losses: Losses) -> None:
    """Log parts of a model that a format has no words for."""
    if model.surroundings and ending not in (".xml", ".sdf", *USD):
        what = f"{LANGUAGES[ending]} has no fluid around it, and no balanced gravity"
        losses.change("robot", model.name, what, "left out")
    if ending != ".xml":
        note_tendons(model, losses)
    if ending not in (".xml", *USD):
        for kind, kept in (("actuator", model.actuators), ("keyframe", model.keyframes)):
            for one in kept:
                losses.note(kind, one.name, f"{LANGUAGES[ending]} has no {kind}s", "left out")
        for a, b in model.exclusions:
            losses.note("pair", f"{a}, {b}", f"{LANGUAGES[ending]} has no pairs that never touch", "left out")
    for sensor in model.sensors:
        losses.note("sensor", sensor.name, "sensors are not written", "left out")
    stated = [body.joint.name for body in model.bodies if body.joint.motor is not None]
    for name in stated if ending != ".urdf" else ():
        losses.note("joint", name, f"{LANGUAGES[ending]} cannot say of a joint whether it has a motor", "left out")
    for body in model.bodies if ending in (".xml", ".sdf") else ():
        if np.any(np.isfinite([getattr(body.joint, limit) for limit in RATE_LIMITS[1:]])):
            what = f"{LANGUAGES[ending]} has no limits of acceleration and jerk"
            losses.note("joint", body.joint.name, what, "left out")


def _line(finding: Finding) -> str:
    return f"{finding.where}: {finding.what}; {finding.action}"
