"""How much Python work a call is: a count, which does not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def effort(work: Callable[[], Any]) -> int:
    """Calls of functions, of methods in C and of generators while `work` runs."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
