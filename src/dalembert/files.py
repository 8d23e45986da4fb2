"""Writing files whole or not at all: a full disk, an error or Ctrl-C leaves the file that was there before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import DalembertError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; once the block ends without an error, that file becomes `path`.

    The temporary file lies beside `path` and has the same ending. Links are followed, the permissions of an existing
    file are kept, and devices and pipes (/dev/stdout) are written to as they are.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DalembertError(f"{path}: is a folder: give the path of a file")
    if not target.parent.is_dir():
        folder = str(Path(path).parent)
        raise DalembertError(f"{path}: there is no folder {folder!r}: make it first, or give another path")
    if target.exists() and not target.is_file():
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise DalembertError(f"{path}: cannot be written: the file is read-only")
    temporary = target.with_name(f".{secrets.token_hex(8)}-{target.name[-48:]}")
    try:
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except OSError as error:
        raise DalembertError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, UTF-8 with line feeds, whole or not at all."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a TOML file; an error that names it where it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DalembertError(f"{path}: cannot be read: {error}") from None
