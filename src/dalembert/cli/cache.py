"""`dalembert cache`: the folder of compiled code."""

from __future__ import annotations

from typing import Annotated

import typer

from dalembert.compiler.backends import cache
from dalembert.errors import DalembertError

from .common import Json, counted, print_json


def run(
    check: Annotated[bool, typer.Option("--check", help="Read all entries; remove what is damaged.")] = False,
    limit: Annotated[
        float | None, typer.Option(min=0.0, help="Keep at most that many MB: what was not used for longest goes.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries.")] = False,
    as_json: Json = False,
) -> int:
    """Show, check, bound or clear the folder of compiled code. Exit code 1 if an entry was damaged.

    Example: `dalembert cache --check`; `dalembert cache --limit 200`
    """
    if clear and limit is not None:
        raise DalembertError("cache: --clear and --limit exclude each other")
    broken = cache.drop_damaged() if check else []
    keep = 0.0 if clear else limit
    removed = len(broken) + (0 if keep is None else cache.shrink(keep))
    held = cache.usage()
    if as_json:
        print_json(vars(held) | {"damaged": broken, "removed": removed})
    elif held.folder is None:
        print("The cache is off, or its folder cannot be used: every process compiles anew.")
    else:
        print(
            f"{held.folder}: {counted(held.entries, 'program')}, {held.megabytes:.1f} MB of at most {held.limit:g} MB"
        )
        if check:
            print(f"{counted(len(broken), 'damaged program')} removed" if broken else "all programs are whole")
        if removed > len(broken):
            print(f"{counted(removed - len(broken), 'program')} removed")
    return 1 if broken else 0
