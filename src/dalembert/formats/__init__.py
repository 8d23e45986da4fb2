"""Robot files → `Model` with an import ledger. One reader per format; each logs what it assumed, with file and line.

`read` picks the reader by the file's ending.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.robots import names, path

from .ledger import Finding
from .urdf import read_urdf
from .xml import is_xml

__all__ = ["Finding", "read", "read_urdf"]

READERS = {".urdf": read_urdf}  # ending of the file's name → its reader
PLANNED = {
    ".xacro": "expand it first: xacro in.urdf.xacro > out.urdf",
    ".dh.toml": "use ModelBuilder, or write URDF",
    ".xml": "convert MJCF to URDF",
    ".sdf": "convert it to URDF",
}


def read(source: str | os.PathLike[str], **options: Any) -> tuple[Model, tuple[Finding, ...]]:
    """Read a bundled robot by name, a robot file by path, or URDF text that starts with "<".

    options: those of the format's reader, see `read_urdf`.
    """
    if not isinstance(source, str | os.PathLike):
        raise DalembertError(f"expected the name of a bundled robot or a path, got {type(source).__name__}")
    text = os.fspath(source)
    if isinstance(source, str) and is_xml(source):
        return read_urdf(source, **options)
    if source in names():
        return read(path(text), **options)
    for ending, reader in READERS.items():
        if text.lower().endswith(ending):
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
