"""The shared library of an FMU, where this machine has a C compiler."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .source import FILES

COMPILERS = ("cc", "gcc", "clang")
LONGEST = 900  # seconds
FLAGS = ("-std=c99", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off")
FOLDERS = {  # of the archive, by system and machine, for FMI 2.0 and 3.0
    ("linux", "x86_64"): ("linux64", "x86_64-linux"),
    ("linux", "aarch64"): ("aarch64-linux", "aarch64-linux"),
    ("darwin", "x86_64"): ("darwin64", "x86_64-darwin"),
    ("darwin", "arm64"): ("aarch64-darwin", "aarch64-darwin"),
}
SUFFIX = {"linux": ".so", "darwin": ".dylib"}


class Binary(NamedTuple):
    """A library: its place in the archive and its bytes; or none, and why."""

    place: str
    content: bytes
    why: str


def build(files: Mapping[str, str], identifier: str, version: str, compiler: str | None = None) -> Binary:
    """Compile the sources of an FMU. compiler: its command; None: the first of cc, gcc and clang."""
    machine = (sys.platform, platform.machine())
    if machine not in FOLDERS:
        return Binary("", b"", f"binaries are not built on {' '.join(machine)}")
    command = next(filter(None, map(shutil.which, COMPILERS if compiler is None else (compiler,))), None)
    if command is None:
        return Binary("", b"", f"no C compiler was found ({', '.join(COMPILERS if compiler is None else [compiler])})")
    folder, suffix = FOLDERS[machine][version == "3.0"], SUFFIX[machine[0]]
    with TemporaryDirectory(prefix="dalembert-fmu-") as place:
        for name, text in files.items():
            (Path(place) / name).write_text(text, "utf-8")
        result = Path(place) / f"{identifier}{suffix}"
        call = [command, *FLAGS, *FILES, "-lm", "-o", result.name]
        try:
            done = subprocess.run(
                call, cwd=place, capture_output=True, text=True, timeout=LONGEST, env={**os.environ, "LC_ALL": "C"}
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Binary("", b"", f"{command} failed: {error}")
        if done.returncode or not result.is_file():
            said = " ".join(done.stderr.split())[:300]
            return Binary("", b"", f"{command} ended with code {done.returncode}: {said}")
        return Binary(f"binaries/{folder}/{identifier}{suffix}", result.read_bytes(), "")
