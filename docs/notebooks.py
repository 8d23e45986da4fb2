"""Notebooks made from guides: `python docs/notebooks.py` writes examples/notebooks.

Text of a page becomes text; its Python blocks and `<!-- setup … -->` become cells. `<!-- notebook … -->` is a cell that
only the notebook has, for what it shows in place: figures, tables.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FOLDER = DOCS.parent / "examples" / "notebooks"
PAGES = {
    "first_torque": "tutorial.md",
    "simulate_and_trust": "simulation.md",
    "identify_from_a_log": "identify_a_robot.md",
    "walk": "legs.md",
    "plan": "optimal.md",
}
CELL = re.compile(r"^<!-- (?:setup|notebook)\n(?P<hidden>.*?)-->\n|^```python\n(?P<block>.*?)^```\n", re.S | re.M)
REMARK = re.compile(r"^<!-- .*?-->\n", re.S | re.M)


def notebook(text: str) -> dict[str, Any]:
    """A page as a notebook without results."""
    cells, end = [], 0
    for part in CELL.finditer(text):
        cells += [prose(text[end : part.start()]), code(part["hidden"] or part["block"])]
        end = part.end()
    cells = [cell for cell in [*cells, prose(text[end:])] if cell["source"]]
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def prose(text: str) -> dict[str, Any]:
    """A cell of text; links lead to the guides, pictures that the site draws are left out."""
    text = REMARK.sub("", text)
    text = re.sub(r"^!\[.*?\]\(.*?\)\n", "", text, flags=re.M)
    text = re.sub(r"\]\((?!https?:|#|\.\./)([^)]+)\)", r"](../../docs/\1)", text)
    text = re.sub(r"\]\(\.\./(?!\.\./)", r"](../../", text)
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.strip()}


def written(name: str) -> str:
    """The notebook of that name as it should stand on disk."""
    page = notebook((DOCS / PAGES[name]).read_text("utf-8"))
    return json.dumps(page, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        (FOLDER / f"{name}.ipynb").write_text(written(name), "utf-8")
