"""xacro files: expanded by the xacro library (extra `xacro`), then read as URDF.

xacro evaluates Python expressions of the file: it is a program, to be loaded only from people one trusts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model

from .ledger import Finding
from .resources import Resources
from .urdf.reader import EXPANDED, read_document
from .urdf.semantics import Wanted
from .xml import parse

_MISSING = re.compile(r"Package not found: (\S+)")
_LOCK = Lock()  # the xacro library keeps its state in module variables


def read_xacro(
    source: str | os.PathLike[str],
    *,
    arguments: Mapping[str, Any] | None = None,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
    srdf: Wanted = True,
) -> tuple[Model, tuple[Finding, ...]]:
    """Expand a xacro file and read the URDF that it gives, as `read_urdf` does.

    arguments: values of the file's <xacro:arg name="…"/>. Packages named by $(find …) are looked for as meshes are:
    above and beside the file, in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH. Lines in messages are those of the expanded
    text, which `expand` gives.
    """
    path = Path(source)
    document = parse(expand(path, arguments))
    document = replace(document, label=f"{path}{EXPANDED}", folder=path.parent)
    return read_document(document, base=base, strict=strict, mimic=mimic, srdf=srdf)


def expand(source: str | os.PathLike[str], arguments: Mapping[str, Any] | None = None) -> str:
    """The URDF text that a xacro file gives with these arguments."""
    try:
        import xacro
        from xacrodoc import packages
    except ImportError as error:
        raise DalembertError(
            f"{source}: reading xacro files needs the xacro library ({error}): pip install 'dalembert[xacro]'"
        ) from None
    path = Path(source).absolute()
    parse(source)  # a regular file, one well-formed document, no DOCTYPE
    resources = Resources(path.parent)
    finder = packages.PackageFinder()
    finder.walk_up_from(path)
    finder.finder_funcs.append((lambda name: _package_folder(resources, name), LookupError))
    recorded = _Arguments(_texts(arguments, path))
    with _LOCK:
        before, packages._finder = packages._finder, finder  # so that no package found for another file is used
        try:
            text = str(xacro.process_file(str(path), mappings=recorded).toprettyxml(indent="  "))
        except Exception as error:  # any exception that the file's expressions raise
            missing = _MISSING.search(f"{error}")
            if missing:
                cure = "put it beside the file or above it, or into ROS_PACKAGE_PATH"
                raise DalembertError(f"{source}: $(find {missing[1]}): there is no such package: {cure}") from None
            reason = " ".join(f"{error}".split()) or type(error).__name__
            raise DalembertError(
                f"{source}: xacro cannot expand it: {reason}; correct the file, or its arguments={{…}}"
            ) from None
        finally:
            packages._finder = before
    for name in arguments or {}:
        if name not in recorded.requested:
            raise unknown("argument", name, sorted(recorded.requested), f"{source}")
    return text


class _Arguments(dict[str, str]):
    """Arguments, and the names that the file has requested: those that it declares, and those that it uses."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.requested: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.requested.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.requested.add(name)
        return super().__getitem__(name)


def _package_folder(resources: Resources, name: str) -> str:
    folder = resources.package(name)
    if folder is None:
        raise LookupError(name)
    return folder


def _texts(arguments: Mapping[str, Any] | None, path: Path) -> dict[str, str]:
    """The arguments as xacro takes them."""
    texts = {}
    for name, value in (arguments or {}).items():
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            raise DalembertError(f"{path}: argument {name!r} is {value!r}, expected text or a number")
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts
