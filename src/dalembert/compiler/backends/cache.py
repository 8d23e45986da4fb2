"""Object code on disk, so that the second start needs neither tracing nor compiling.

An entry is machine code that will be run, so the directory must belong to this user and be closed to others; entries
are written to a temporary file and moved into place, carry a checksum, and a damaged one is compiled again with a
warning. Beyond LIMIT those that were not used for longest go. `DALEMBERT_CACHE=off` switches the cache off,
`DALEMBERT_CACHE=/some/folder` moves it, `DALEMBERT_CACHE_SIZE=200` sets the limit [MB]. `dalembert cache` shows,
checks, bounds and clears it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, count
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
LIMIT = 1000.0  # MB; an entry has 20 kB (one quantity of an arm) to 5 MB (a step of a humanoid with contact)
ROOM = 0.75  # share of the limit that is left when it was passed, so that not every write looks for more
OFTEN = 32  # writes between two looks at the size: with 20 000 entries one takes 40 ms
TEMPORARY = ".new-"
KEY, HEX = 64, frozenset("0123456789abcdef")  # names of entries: nothing else in a folder is ever removed
HOUR = 3600.0  # s; a temporary file that old belongs to a process that was killed
MAGIC = b"dalembert object 2\n"

_writes = count()


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
            entry = CacheEntry.unpack(name, file.read())
        with suppress(OSError):  # a read-only folder keeps no order
            os.utime(path)
        return entry
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
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=TEMPORARY)
        with os.fdopen(handle, "wb") as file:
            file.write(entry.pack(name))
        os.replace(temporary, folder / name)
        if next(_writes) % OFTEN == 0:
            _bound(folder)
    except OSError:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


@dataclass(frozen=True)
class Usage:
    """Content of the cache folder: entries, their size [MB], the limit [MB]; folder None: the cache is off."""

    folder: Path | None
    entries: int
    megabytes: float
    limit: float


def usage() -> Usage:
    """How much the cache holds."""
    folder = directory()
    files = [] if folder is None else _files(folder)
    return Usage(folder, len(files), sum(size for _, size, _ in files) / MEGABYTE, limit())


def limit() -> float:
    """Largest size of the cache [MB]."""
    text = os.environ.get("DALEMBERT_CACHE_SIZE", "")
    try:
        size = float(text) if text else LIMIT
    except ValueError:
        size = math.nan
    if not size >= 0.0:
        warnings.warn(f"DALEMBERT_CACHE_SIZE is {text!r}, expected megabytes: {LIMIT:.0f} are used", stacklevel=2)
        return LIMIT
    return size


def drop_damaged() -> list[str]:
    """Remove the entries that are not whole, which are compiled again when needed, and return their names."""
    folder = directory()
    names = []
    for path, _, _ in [] if folder is None else _files(folder):
        try:
            CacheEntry.unpack(path.name, path.read_bytes())
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, ValueError):
            names.append(path.name)
            _remove(path)
    return names


def shrink(size: float) -> int:
    """Remove the entries that were not used for longest until `size` [MB] is kept; returns how many went."""
    folder = directory()
    return 0 if folder is None else _shrink(_files(folder), size * MEGABYTE)


def _bound(folder: Path) -> None:
    files, most = _files(folder), limit() * MEGABYTE
    if sum(size for _, size, _ in files) > most:
        _shrink(files, ROOM * most)


def _shrink(files: list[tuple[Path, int, float]], keep: float) -> int:
    total, gone = sum(size for _, size, _ in files), 0
    for path, size, _ in sorted(files, key=lambda file: file[2]):
        if total <= keep:
            break
        total, gone = total - size, gone + _remove(path)
    return gone


def _files(folder: Path) -> list[tuple[Path, int, float]]:
    """Path, bytes and time of last use of each entry; what killed processes left behind is removed."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # another process removed it
                status = entry.stat(follow_symlinks=False)
                if entry.name.startswith(TEMPORARY):
                    if time.time() - status.st_mtime > HOUR:
                        _remove(Path(entry.path))
                elif stat.S_ISREG(status.st_mode) and len(entry.name) == KEY and not set(entry.name) - HEX:
                    found.append((Path(entry.path), status.st_size, status.st_mtime))
    return found


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:  # another process was faster, or the folder is read-only
        return False
    return True


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
