"""The gallery: every script says what it shows and leaves one picture that a page can hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*/*.py"))
FIGURES = sorted((DOCS / "figures").glob("*.py"))
LARGEST = 300_000  # bytes: a page has up to eight pictures, few of them that large, and stays below 1 MB


@pytest.fixture(scope="module")
def gallery():
    sys.path.insert(0, str(DOCS))
    try:
        import gallery

        yield gallery
    finally:
        sys.path.remove(str(DOCS))


def test_every_script_is_on_a_page_with_a_title_of_its_own(gallery):
    assert len(SCRIPTS) >= 30
    assert sorted(gallery.scripts()) == SCRIPTS
    titles = [gallery.described(script)[0] for script in SCRIPTS]
    assert len(set(titles)) == len(titles)
    assert all(text and title for title, text in map(gallery.described, SCRIPTS))
    assert len({script.stem for script in SCRIPTS}) == len(SCRIPTS)  # thumbnails go by name


@pytest.mark.parametrize(
    "title, anchor", [("A coupler curve", "a-coupler-curve"), ("What C does, and why", "what-c-does-and-why")]
)
def test_anchors_are_those_of_headings(gallery, title, anchor):
    assert gallery.slug(title) == anchor


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_leaves_one_small_picture(script, tmp_path):
    copy = tmp_path / "docs" / "gallery" / script.parent.name / script.name
    copy.parent.mkdir(parents=True)
    shutil.copy(script, copy)
    (tmp_path / "tests").symlink_to(DOCS.parent / "tests")
    run(copy)
    assert [path.name for path in copy.parent.iterdir() if path != copy] == [f"{script.stem}.webp"]
    assert copy.with_suffix(".webp").stat().st_size < LARGEST


@pytest.mark.long
@pytest.mark.parametrize("script", FIGURES, ids=lambda path: path.stem)
def test_a_figure_of_the_guides_is_drawn(script, tmp_path):
    copy = tmp_path / "docs" / "figures" / script.name
    copy.parent.mkdir(parents=True)
    shutil.copy(script, copy)
    for folder in ("tests", "benchmarks", "examples", "src"):
        (tmp_path / folder).symlink_to(DOCS.parent / folder)
    run(copy)
    assert [path.stem for path in copy.parent.iterdir() if path != copy] == [script.stem]


def run(script):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(DOCS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
