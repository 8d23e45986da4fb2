"""The table of rooms in docs/architecture.md: growth is seen."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOMS = runpy.run_path(str(Path(__file__).parent.parent.parent / "docs" / "rooms.py"))
GROWTH, LINES = 0.1, 50  # of a room since the table was written: more has to be written down


def test_the_table_is_that_of_the_code():
    found, written = ROOMS["rooms"](), ROOMS["written"]()
    sizes = {name: room.lines for name, room in found.items()} | {"all": sum(room.lines for room in found.values())}
    assert set(written) == set(sizes), "rooms came or went: run `python docs/rooms.py`"
    changed = [
        f"{name}: {written[name]} → {size} lines"
        for name, size in sizes.items()
        if abs(size - written[name]) > GROWTH * written[name] + LINES
    ]
    assert not changed, "run `python docs/rooms.py`, and look whether it had to grow:\n" + "\n".join(changed)


def test_the_table_of_tests_is_true():
    counted, written = ROOMS["tests"](), ROOMS["written_tests"]()
    functions = {name: count for name, (_, count) in counted.items()}
    assert set(written) == set(functions) | {"all"}, "folders of tests came or went: run `python docs/rooms.py`"
    assert abs(written["all"] - sum(functions.values())) < GROWTH * written["all"], "run `python docs/rooms.py`"


def test_the_table_says_what_it_counts():
    found = ROOMS["rooms"]()
    assert found["control"].names > 50 and found["control"].files > 20
    room = ROOMS["Room"](3, 2, 1)
    assert ROOMS["table"]({"a": room, "b": room}).splitlines()[2:] == [
        "| a | 3 | 2 | 1 |",
        "| b | 3 | 2 | 1 |",
        "| all | 6 | 4 | 2 |",
    ]
