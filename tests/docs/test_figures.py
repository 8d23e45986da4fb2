"""No figure of speed without a saved result: blocks are what the script writes, and nothing else states speeds."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SPEED = r"\d(?: ?×(?! ?\d)|\s*(?:µs|ns|ms)\b|\s+times\s+(?:as|fast|the|more|less)|\s+times\b.{0,20}\bfaster)"
CLAIM = re.compile(SPEED + r"|\bfastest\.", re.I)
BLOCK = re.compile(r"<!-- figures: \w+ -->\n.*?\n<!-- figures: end -->", re.S)


@pytest.fixture(scope="module")
def figures():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import update_readme

        yield update_readme
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def claims(page: str) -> list[str]:
    """Lines that state a speed outside the blocks that the script writes."""
    return [line for line in BLOCK.sub("", page).splitlines() if CLAIM.search(line)]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/performance.md"])
def test_figures_come_from_saved_results(figures, name):
    page = (ROOT / name).read_text("utf-8")
    assert figures.written(page) == page, "run `python benchmarks/update_readme.py`"
    assert not claims(page), claims(page)


def test_claims_are_seen():
    block = "<!-- figures: speed -->\n12× in a block\n<!-- figures: end -->\n"
    assert not claims(block + "The page has 4096 states, 2 mm and 10 % of it.\nOn 3 robots.")
    for claim in (
        "It is 54× as fast.",
        "A call takes 0.2 µs.",
        "12 times as many steps",
        "30 times faster",
        "**Fastest.**",
    ):
        assert claims(block + claim) == [claim]


def test_results_say_when_and_on_what_they_were_measured(figures):
    used = {path.stem for path in figures.RESULTS.glob("*.json")}
    assert used >= {"speed", "calls", "cold", "scenes", "robots", "first", "simulation", "swings", "quantities"}
    for path in figures.RESULTS.glob("*.json"):
        document = json.loads(path.read_text("utf-8"))
        assert document["rows"] and re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"]), path
        assert document["machine"]["processor"] and document["versions"]["dalembert"], path
        assert {"before", "after"} <= document["load"].keys(), path


def test_the_worst_rows_stand_beside_the_best(figures):
    """Crowded contact, the first call and cold caches are in the README's table."""
    beside = figures.beside()
    assert "crowded contact" in beside and "caches cold" in beside and "The first call compiles" in beside
