"""Bundled robots: URDF files written here from published parameters; each file's comment names its sources.

They use the `<dalembert>` extension for a free base, rotor inertia and friction speed; other readers pass it over.
"""

from __future__ import annotations

from pathlib import Path

from dalembert.errors import unknown

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The names that `path` knows, in alphabetical order."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.urdf")))


def path(name: str) -> Path:
    """The file of a bundled robot."""
    if name not in names():
        raise unknown("bundled robot", name, names())
    return FOLDER / f"{name}.urdf"
