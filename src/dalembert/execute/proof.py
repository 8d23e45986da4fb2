"""Statements about programs that only a trace can check, kept on disk beside machine code once they are proven."""

from __future__ import annotations


def proven(statement: str) -> bool:
    """Whether this or another process proved it; the text must determine all that it depends on."""
    from dalembert.backends import cache

    return cache.read(cache.key("proven", statement)) is not None


def prove(statement: str) -> None:
    """Keep that it holds."""
    from dalembert.backends import cache

    cache.write(cache.key("proven", statement), cache.CacheEntry(b"", {}))
