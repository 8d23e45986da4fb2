"""`Model` → robot files. One writer per format; what a format cannot say is an error or a finding, never silent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError
from dalembert.model import Model

from ..ledger import Finding
from .losses import Losses
from .mjcf import to_mjcf
from .sdf import to_sdf
from .shapes import Package
from .text import document, store
from .urdf import to_urdf

Writer = Callable[[Model, Losses, Package, bool], Any]

XML: dict[str, tuple[str, Writer]] = {  # ending → name of the format, its writer
    ".urdf": ("URDF", to_urdf),
    ".xml": ("MJCF", to_mjcf),
    ".sdf": ("SDF", to_sdf),
}
PACKAGED = (".urdf", ".sdf")  # formats that can name files by package


def write(
    model: Model,
    path: str | os.PathLike[str],
    *,
    approximate: bool = False,
    geometry: bool = True,
    package: str | os.PathLike[str] | None = None,
    generator: str = "dalembert",
) -> tuple[Finding, ...]:
    """Write a model to a file in the format that its ending names; returns what the file says otherwise, or not at all.

    approximate: let the file differ in physics or coordinates where the format has no exact words; otherwise an error
    lists all such places. geometry: whether to write the shapes of links. package: a folder whose meshes are named
    package://folder/… (SDF: model://folder/…); other meshes keep their paths. An existing file is replaced as a whole.
    """
    if not isinstance(path, str | os.PathLike):
        raise DalembertError(f"save: expected the path of a file, got {type(path).__name__}")
    text = os.fspath(path)
    ending = next((e for e in XML if text.lower().endswith(e)), None)
    if ending is None:
        raise DalembertError(f"{text}: the ending names the format: expected one of {', '.join(XML)}")
    if package is not None and ending not in PACKAGED:
        raise DalembertError(f"{text}: {XML[ending][0]} has no packages: leave package= out, meshes keep their paths")
    language, writer = XML[ending]
    losses = Losses(language, approximate)
    root = writer(model, losses, Package(package), geometry)
    findings = losses.close()
    lines = [f"{finding.where}: {finding.what}; {finding.action}" for finding in findings]
    store(Path(text), document(root, [f"Robot {model.name!r}, written by {generator}.", *lines]))
    return findings
