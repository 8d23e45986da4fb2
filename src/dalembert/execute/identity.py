"""What determines compiled code: the key under which it is kept."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Rooms that read files or show results: no part of what a kernel computes. A new room counts until it is listed here.
UNINVOLVED = {
    "audit",
    "bench",
    "cli",
    "comparison",
    "demo",
    "editing",
    "formats",
    "report",
    "robots",
    "logs",
    "files",
    "tables",
    "view",
    "version",
}


@cache
def own_code() -> str:
    """Digest of the package's own code that decides what a kernel computes."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room not in UNINVOLVED:
            digest.update(path.read_bytes())
    return digest.hexdigest()
