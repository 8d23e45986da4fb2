"""Running Python code in a process of its own, with its own cache folder and environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent


def environment(cache: Any = None, **variables: str | None) -> dict[str, str]:
    """This process's environment with the tests importable and some variables set, or removed (None)."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    changed = {"PYTHONPATH": path, **variables}
    if cache is not None:
        changed["DALEMBERT_CACHE"] = str(cache)
    kept = {k: v for k, v in os.environ.items() if k not in changed}
    return kept | {k: v for k, v in changed.items() if v is not None}


def start(
    code: str, cache: Any = None, first: Callable[[], Any] | None = None, **variables: str | None
) -> subprocess.Popen[str]:
    """Start `python -c code`. first: called in the new process before Python starts there."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(cache, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=first,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it wrote to stdout and stderr; it must have ended well."""
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, f"exit code {process.returncode}\n{errors}"
    return out.strip(), errors


def run(
    code: str, cache: Any = None, first: Callable[[], Any] | None = None, **variables: str | None
) -> tuple[str, str]:
    """Run `python -c code` to its end; returns what it wrote to stdout and stderr."""
    return finish(start(code, cache, first, **variables))
