"""Numbers that several backends and their users must agree on."""

from __future__ import annotations

LARGE_RESULT = 4 << 20  # bytes of a result from which on its memory is kept for the next one; see `execute.memory`
