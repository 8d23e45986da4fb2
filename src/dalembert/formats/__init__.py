"""Robot files → `Model` with an import ledger. One reader per format; each logs what it assumed, with file and line.

`read` picks the reader by the file's ending.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.robots import names, path

from .ledger import Finding
from .mjcf import read_mjcf
from .mjcf_source import MAX_DEPTH
from .sdf import read_sdf
from .urdf import read_urdf
from .xml import is_xml, parse, root_tag, tag_of

__all__ = ["Finding", "read", "read_mjcf", "read_sdf", "read_urdf"]

Reader = Callable[..., tuple[Model, tuple[Finding, ...]]]
ROOTS: dict[str, Reader] = {"robot": read_urdf, "sdf": read_sdf, "mujoco": read_mjcf}  # root element → its reader


def _read_xml(source: Any, **options: Any) -> tuple[Model, tuple[Finding, ...]]:
    """A file of whichever format: the root element tells; a strange one is for MJCF to refuse."""
    return ROOTS.get(tag_of(parse(source, max_depth=MAX_DEPTH).root), read_mjcf)(source, **options)


# ending of the file's name → its reader
READERS: dict[str, Reader] = {".urdf": read_urdf, ".sdf": read_sdf, ".world": read_sdf, ".xml": _read_xml}
PLANNED = {
    ".xacro": "expand it first: xacro in.urdf.xacro > out.urdf",
    ".dh.toml": "use ModelBuilder, or write URDF",
}


def read(source: str | os.PathLike[str], **options: Any) -> tuple[Model, tuple[Finding, ...]]:
    """Read a bundled robot by name, a robot file by path, or URDF, SDF or MJCF text that starts with "<".

    options: those of the format's reader, see `read_urdf`, `read_sdf` and `read_mjcf`.
    """
    if not isinstance(source, str | os.PathLike):
        raise DalembertError(f"expected the name of a bundled robot or a path, got {type(source).__name__}")
    text = os.fspath(source)
    if isinstance(source, str) and is_xml(source):
        return ROOTS.get(root_tag(source), read_urdf)(source, **options)
    if source in names():
        return read(path(text), **options)
    for file in (text, text.rpartition("#")[0]):  # "world.sdf#model"
        for ending, reader in READERS.items():
            if file.lower().endswith(ending):
                return reader(source, **options)
    for ending, cure in PLANNED.items():
        if text.lower().endswith(ending):
            raise DalembertError(f"{text}: {ending} files are not supported in this version; {cure}")
    endings = ", ".join(READERS)
    if Path(text).suffix:
        raise DalembertError(
            f"{text}: no reader for files that end in '{Path(text).suffix}'; expected one of {endings}"
        )
    raise DalembertError(f"{unknown('bundled robot', text, names())}; or give the path of a file ({endings})")
