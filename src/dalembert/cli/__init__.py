"""The command line: `dalembert <command>`. A user's mistake ends with one line on stderr and exit code 2.

In: words of a shell. Out: text, or JSON for machines, and an exit code.

Read `program` first: the list of commands and what becomes of errors; then the commands, those of one idea in one file.
`terminal` and `common` serve all of them, with the options that several share; `benchmark` is behind `dalembert bench`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; see `program.main`. Commands are loaded here: the benchmark runs without them."""
    from .program import main as run

    return run(arguments)


def __getattr__(name: str) -> Any:
    if name in ("COMMANDS", "USAGE", "app"):
        from . import program

        return getattr(program, name)
    raise AttributeError(f"module 'dalembert.cli' has no attribute {name!r}")
