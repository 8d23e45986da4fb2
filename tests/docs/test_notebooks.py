"""The notebooks are those of the guides, run, and show what they compute in place."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
MADE = runpy.run_path(str(DOCS / "notebooks.py"))
NAMES = sorted(MADE["PAGES"])


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_that_of_its_guide(name):
    path = MADE["FOLDER"] / f"{name}.ipynb"
    assert path.read_text("utf-8") == MADE["written"](name), "run `python docs/notebooks.py`"


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name):
    for cell in json.loads(MADE["written"](name))["cells"]:
        if cell["cell_type"] == "markdown":
            for part in cell["source"].split("](")[1:]:
                target = part.partition(")")[0].partition("#")[0]
                built = "gallery/" in target or "figures/" in target
                assert not target or built or target.startswith("http") or (MADE["FOLDER"] / target).exists(), target


def test_parts_of_a_page():
    text = "# T\n\nA [b](c.md).\n\n<!-- setup\nx = 1\n-->\n\n```python\ny = x\n```\n\n<!-- notebook\ny\n-->\n\nEnd.\n"
    cells = MADE["notebook"](text)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code", "code", "markdown"]
    assert cells[0]["source"] == "# T\n\nA [b](../../docs/c.md)." and cells[3]["source"] == "y"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_results(name, tmp_path):
    """In a kernel, as Jupyter runs it; a figure or a table is there in place."""
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    page = nbformat.reads(MADE["written"](name), as_version=4)
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    done = client.NotebookClient(page, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = {kind for cell in done.cells for out in cell.get("outputs", ()) for kind in out.get("data", ())}
    assert kinds & {"image/png", "text/html"}, f"{name} shows nothing but text"
