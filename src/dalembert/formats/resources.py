"""Where the files that a robot description names (meshes, packages) lie on this disk. Nothing is ever fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

# Variables that list folders which hold packages or models; the second part leads from such a folder to the packages.
SEARCHED = (
    ("ROS_PACKAGE_PATH", ""),
    ("AMENT_PREFIX_PATH", "share"),
    ("GZ_SIM_RESOURCE_PATH", ""),
    ("IGN_GAZEBO_RESOURCE_PATH", ""),
    ("GAZEBO_MODEL_PATH", ""),
    ("SDF_PATH", ""),
)
PACKAGES = ("package", "model")  # schemes whose first word is the name of a folder to look for


class Resources:
    """Finds files for one robot description, which lies in `folder` (None: text without a file)."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder.absolute() if folder is not None else None
        self._packages: dict[str, list[str]] = {}  # name → folders that may be the package

    def find(self, uri: str, folders: bool = False) -> str | None:
        """The path of package://name/rest, model://name/rest, file://path, or a path; None when there is no such file.

        folders: whether it may be a folder too.

        After package:/// comes an absolute path or, as some files have it, the package's name.

        A package is the folder of that name among the folders above the description, or beside one of them, or
        in the variables of SEARCHED.
        """
        exists = os.path.exists if folders else os.path.isfile
        scheme, parted, path = uri.partition("://")
        if not parted or scheme == "file" or (scheme in PACKAGES and path.startswith("/")):
            for word in (path, unquote(path)) if parted else (uri,):
                full = os.path.join(self._folder, word) if self._folder is not None else word
                if os.path.isabs(full) and exists(full):
                    return full
        if scheme not in PACKAGES or not parted:
            return None  # http and the like: never fetched
        name, _, inside = path.lstrip("/").partition("/")
        paths = (os.path.join(root, inside) for root in self._folders(name))
        return next((path for path in paths if exists(path)), None)

    def package(self, name: str) -> str | None:
        """The folder of a package, if it exists."""
        return next(iter(self._folders(name)), None) if name else None

    def _folders(self, name: str) -> list[str]:
        if name not in self._packages:
            self._packages[name] = [folder for folder in self._candidates(name) if os.path.isdir(folder)]
        return self._packages[name]

    def _candidates(self, name: str) -> Iterator[str]:
        """Folders that may be the package."""
        above = [self._folder, *self._folder.parents] if self._folder is not None else []
        for folder in above:
            if folder.name == name:
                yield str(folder)
            yield os.path.join(folder, name)
        for variable, inside in SEARCHED:
            for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                if os.path.basename(entry.rstrip("/")) == name:
                    yield entry
                yield os.path.join(entry, inside, name)
