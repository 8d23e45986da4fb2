"""Something odd about a log, with the joint it concerns, and the cure."""

from __future__ import annotations

from typing import NamedTuple


class Doubt(NamedTuple):
    """Something odd about a log. joint: "" for the whole log.

    serious: whether a fit makes no sense, and is refused; opens: whether the joint's verdict stays open, so that it
    does not pass; beside_file: whether only the file's model speaks for it, which other joints may refute.
    """

    joint: str
    what: str
    cure: str
    serious: bool = True
    opens: bool = True
    beside_file: bool = False

    def __str__(self) -> str:
        where = f"joint {self.joint!r}: " if self.joint else ""
        return f"{where}{self.what}; {self.cure}"
