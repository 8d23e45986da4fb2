"""Statements about programs that only a trace can check, kept on disk beside machine code once they are proven."""

from __future__ import annotations

from typing import Any


def proven(statement: str) -> dict[str, Any] | None:
    """The facts that this or another process found with the proof, or None; the text must determine all of it."""
    from dalembert.compiler.backends import cache

    entry = cache.read(cache.key("proven", statement))
    return None if entry is None else entry.facts


def prove(statement: str, **facts: Any) -> None:
    """Keep that it holds, with facts that JSON can hold."""
    from dalembert.compiler.backends import cache

    cache.write(cache.key("proven", statement), cache.CacheEntry(b"", facts))
