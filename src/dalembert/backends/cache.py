"""Object code on disk, so that the second start needs neither tracing nor compiling.

An entry is machine code that will be run, so the directory must belong to this user and be closed to others; entries
are written to a temporary file and moved into place, carry a checksum, and a damaged one is compiled again with a
warning. The oldest go when there are more than ENTRIES. `DALEMBERT_CACHE=off` switches the cache off;
`DALEMBERT_CACHE=/some/folder` moves it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

ENTRIES = 4000  # of some 20 kB each
MAGIC = b"dalembert object 2\n"


@dataclass(frozen=True)
class CacheEntry:
    """Object code, of one object or several in a row, and its description."""

    code: bytes
    facts: dict[str, Any]

    def pack(self, name: str) -> bytes:
        body = json.dumps(self.facts).encode() + b"\n" + self.code
        return MAGIC + _digest(name, body) + body

    def split(self, lengths: Sequence[int]) -> list[bytes]:
        """The code of each object."""
        ends = list(accumulate(lengths))
        return [self.code[end - length : end] for end, length in zip(ends, lengths, strict=True)]

    @staticmethod
    def unpack(name: str, data: bytes) -> CacheEntry:
        """Raises ValueError when the data are not the whole entry of that name."""
        start = len(MAGIC) + 32
        body = data[start:]
        if data[: len(MAGIC)] != MAGIC or _digest(name, body) != data[len(MAGIC) : start]:
            raise ValueError("damaged")
        facts, code = body.split(b"\n", 1)
        return CacheEntry(code, json.loads(facts))


def _digest(name: str, body: bytes) -> bytes:
    """Checksum of an entry; it covers the name, so that one entry cannot stand in for another."""
    return hashlib.sha256(name.encode() + b"\n" + body).digest()


def key(*content: str) -> str:
    """Name of the entry for this content."""
    return hashlib.sha256(MAGIC + "\0".join(content).encode()).hexdigest()


def read(name: str) -> CacheEntry | None:
    """The entry, or None if it is missing or cannot be trusted."""
    folder = directory()
    if folder is None:
        return None
    path = folder / name
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and status.st_uid != os.getuid():
                warnings.warn(f"{path} belongs to another user and is not used; it is compiled again", stacklevel=2)
                return None
            return CacheEntry.unpack(name, file.read())
    except OSError:
        return None
    except ValueError:
        warnings.warn(f"{path} is damaged and is compiled again", stacklevel=2)
        return None


def write(name: str, entry: CacheEntry) -> None:
    """Store an entry if it can be stored; a full or read-only disk only costs the next start."""
    folder = directory()
    if folder is None:
        return
    import tempfile  # not needed to read

    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(entry.pack(name))
        os.replace(temporary, folder / name)
        _prune(folder)
    except OSError:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _prune(folder: Path) -> None:
    """Drop the oldest files once there are more than ENTRIES; a dropped kernel is recompiled when needed."""
    if len(os.listdir(folder)) <= ENTRIES:  # several times faster than to look at each
        return
    with os.scandir(folder) as entries:
        files = [f for f in entries if f.is_file(follow_symlinks=False)]
    if len(files) > ENTRIES:
        for file in sorted(files, key=lambda f: f.stat().st_mtime)[: len(files) - ENTRIES * 3 // 4]:
            with suppress(OSError):  # another process was faster
                os.unlink(file.path)


def directory() -> Path | None:
    """The cache folder, created if needed; None when switched off or not to be trusted."""
    return _directory(os.environ.get("DALEMBERT_CACHE", ""))


@cache
def _directory(setting: str) -> Path | None:
    if setting.lower() in ("off", "0", "no", "false"):
        return None
    if setting:
        folder = Path(setting)
    else:
        variable, within = ("LOCALAPPDATA", "dalembert/cache") if os.name == "nt" else ("XDG_CACHE_HOME", "dalembert")
        base = os.environ.get(variable) or os.path.expanduser("~/.cache")
        if not os.path.isabs(base):  # a user without a home: "~" was not expanded
            return None
        folder = Path(base, within)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        if setting:
            warnings.warn(f"cache folder {folder} cannot be used: {error.strerror}", stacklevel=3)
        return None
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            warnings.warn(f"cache folder {folder} belongs to another user and is not used", stacklevel=3)
            return None
        if stat.S_IMODE(status.st_mode) & 0o022:
            warnings.warn(
                f"cache folder {folder} can be written by others and is not used: chmod 700 {folder}", stacklevel=3
            )
            return None
    return folder
