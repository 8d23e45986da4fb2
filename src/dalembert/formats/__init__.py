"""Robot files → `Model` with an import ledger. One reader per format; each logs what it assumed, with file and line.

`read` picks the reader by the file's ending, `write` the writer.

In: a path. Out: a `Model` and the findings of its import, or a file and what it could not hold. Read in this order:
`ledger`, findings; `urdf`, `mjcf`, `sdf`, `dh`, one folder per format; `resources`, `xacro`, `xml`, files that name
others; `write`, the writers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import LISTED, DalembertError, unknown
from dalembert.model import Model
from dalembert.model.bundled import names, path

from .dh import read_dh
from .installed import located
from .ledger import Finding
from .mjcf import read_mjcf
from .mjcf.source import MAX_DEPTH
from .outside import OutsideReader, OutsideWriter
from .sdf import read_sdf
from .urdf import read_urdf
from .usd import read_usd
from .usd.files import ENDINGS as USD_ENDINGS
from .write import WRITERS, write
from .xacro import read_xacro
from .xml import is_xml, parse, root_tag, tag_of

__all__ = [
    "Finding",
    "read",
    "read_dh",
    "read_mjcf",
    "read_sdf",
    "read_urdf",
    "read_usd",
    "read_xacro",
    "register_reader",
    "register_writer",
    "write",
]

Reader = Callable[..., tuple[Model, tuple[Finding, ...]]]
ROOTS: dict[str, Reader] = {"robot": read_urdf, "mujoco": read_mjcf, "sdf": read_sdf}  # root element → reader


def _read_xml(source: Any, **options: Any) -> tuple[Model, tuple[Finding, ...]]:
    """An XML file in the format that its root element names; an unknown root is left to MJCF to refuse."""
    return _read_by(ROOTS.get(tag_of(parse(source, max_depth=MAX_DEPTH).root), read_mjcf), source, options)


def _read_by(reader: Reader, source: Any, options: dict[str, Any]) -> tuple[Model, tuple[Finding, ...]]:
    """The result of a reader; srdf= is for readers of URDF, of others there is none to leave out."""
    takes = reader in (read_urdf, read_xacro, _read_xml) or isinstance(reader, OutsideReader)
    if not takes and options.pop("srdf", False):
        raise DalembertError(f"{str(source)[:60]}: srdf=… is for URDF and xacro files: leave it out")
    if reader is not read_usd and not isinstance(reader, OutsideReader) and options.pop("prim", None) is not None:
        raise DalembertError(f"{str(source)[:60]}: prim=… is for USD files: leave it out")
    return reader(source, **options)


READERS: dict[str, Reader] = {  # ending of the file's name → its reader
    ".urdf": read_urdf,
    ".xacro": read_xacro,
    ".xml": _read_xml,
    ".sdf": read_sdf,
    ".world": read_sdf,
    ".dh.toml": read_dh,
    **dict.fromkeys(USD_ENDINGS, read_usd),
}


def register_reader(ending: str, reader: Callable[..., Any]) -> None:
    """Let `read` use a function for files with this ending, replacing any previous reader."""
    ending = _registered("register_reader", ending, "reader", reader, "a path and a log")
    READERS[ending] = OutsideReader(ending, reader)


def register_writer(ending: str, writer: Callable[..., Any]) -> None:
    """Let `write` use a function for files with this ending, replacing any previous writer."""
    ending = _registered("register_writer", ending, "writer", writer, "a robot and a log")
    WRITERS[ending] = OutsideWriter(ending, writer)


def _registered(where: str, ending: str, what: str, function: Any, arguments: str) -> str:
    """The ending in lower case, if both can be used."""
    if not isinstance(ending, str) or not ending.startswith(".") or len(ending) < 2:
        raise DalembertError(f"{where}: ending is {ending!r}, expected one such as '.robot'")
    if not callable(function):
        raise DalembertError(f"{where}: {what} is {function!r}, expected a function of {arguments}")
    return ending.lower()


def _reader(text: str) -> Reader | None:
    """The reader of the file, by the longest of the endings that fit."""
    for file in (text, text.rpartition("#")[0]):  # "world.sdf#model"
        endings = [ending for ending in READERS if file.lower().endswith(ending)]
        if endings:
            return READERS[max(endings, key=len)]
    return None


def read(source: str | os.PathLike[str], **options: Any) -> tuple[Model, tuple[Finding, ...]]:
    """Read a bundled robot by name, a robot file by path, or URDF, MJCF or SDF text that starts with "<".

    A name such as "menagerie:unitree_go2" is that of a robot of an installed collection, see `installed.located`.

    options: those of the format's reader: `read_urdf`, `read_mjcf`, `read_sdf`, `read_usd`, `read_xacro`,
    `read_dh`.
    """
    if not isinstance(source, str | os.PathLike):
        raise DalembertError(f"expected the name of a bundled robot or a path, got {type(source).__name__}")
    text = os.fspath(source)
    if isinstance(source, str) and not is_xml(source) and (found := located(source)) is not None:
        stated = options.get("arguments") or found.arguments
        return read(found.file, **options | ({"arguments": stated} if stated else {}))
    reader = None if isinstance(source, str) and is_xml(source) else _reader(text)
    if "arguments" in options and reader is not read_xacro and not isinstance(reader, OutsideReader):
        raise DalembertError(f"{text[:60]}: arguments={{…}} are for xacro files, expected none")
    if isinstance(source, str) and is_xml(source):
        return _read_by(ROOTS.get(root_tag(source), read_urdf), source, options)
    if source in names():
        return read(path(text), **options)
    text = os.path.expanduser(text)
    if reader is not None:
        return _read_by(reader, Path(text) if isinstance(source, os.PathLike) else text, options)
    endings = ", ".join(READERS)
    if os.path.isdir(text):
        inside = sorted(name for name in os.listdir(text) if name.lower().endswith(tuple(READERS)))
        listed = f"; in it: {', '.join(inside[:LISTED])}" if inside else f"; files end in one of {endings}"
        raise DalembertError(f"{text} is a folder, expected a robot file{listed}")
    if Path(text).suffix:
        raise DalembertError(
            f"{text}: no reader for files that end in '{Path(text).suffix}'; expected one of {endings}"
        )
    raise DalembertError(f"{unknown('robot', text, names(), 'load')}; or give the path of a file ({endings})")
