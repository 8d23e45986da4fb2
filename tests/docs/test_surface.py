"""What is public is declared and listed: a change of a public name or signature shows in the diff of the listing."""

from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from types import ModuleType

import pytest

import dalembert

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def surface():
    sys.path.insert(0, str(DOCS))
    try:
        import surface

        yield surface
    finally:
        sys.path.remove(str(DOCS))


def test_the_listing_is_that_of_the_code(surface):
    listed, found = surface.FILE.read_text("utf-8").splitlines(), surface.text().splitlines()
    changes = [line for line in unified_diff(listed, found, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")]
    assert not changes, "the public surface changed: run `python docs/surface.py`\n" + "\n".join(changes)


def test_the_listing_sees_a_change(surface):
    def added(x, *, y=1.0, z=(), **others): ...

    class Thing:
        field: int = 0

        def method(self, step=1e-3): ...

        def _hidden(self): ...

    Thing.__module__ = "dalembert.here"
    assert list(surface.listed("f", added)) == ["f(x, *, y=1.0, z=(), **others)"]
    assert set(surface.listed("Thing", Thing)) == {"class Thing()", "Thing.field", "Thing.method(self, step=0.001)"}


def test_public_rooms_declare_their_names():
    rooms = {name: getattr(dalembert, name) for name in dalembert.__all__}
    for name, room in rooms.items():
        if isinstance(room, ModuleType):
            assert room.__all__ and all(hasattr(room, inner) for inner in room.__all__), name


def test_internal_modules_are_not_shown():
    """Also not after they were imported."""
    code = "import dalembert; dalembert.load('2r').gravity([0, 0]); print(*(n for n in dir(dalembert) if n[0] != '_'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert set(done.stdout.split()) == set(dalembert.__all__) - {"__version__"}, done.stderr
