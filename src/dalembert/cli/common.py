"""What the commands share: the robot, tables of at most 80 columns, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from dalembert.loading import load
from dalembert.robot import Robot

WIDTH = 80

Source = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A bundled robot's name, or a file (.urdf .xacro .xml .sdf .dh.toml).")
]
Base = Annotated[str | None, typer.Option(help='"fixed" or "free"; default: as the file says.')]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse whatever would be dropped, repaired or assumed.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def open_robot(source: str, base: str | None = None, strict: bool = False) -> Robot:
    return load(source, base=base, strict=strict)


def console() -> Console:
    """Plain where output is not a terminal; at most 80 columns wide."""
    made = Console(highlight=False)
    return made if made.width <= WIDTH else Console(highlight=False, width=WIDTH)


def working(text: str) -> Status:
    """Shows on a terminal that something takes its time; nothing elsewhere."""
    return Console(stderr=True).status(text)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 0) -> Table:
    """A table; the last `numeric` columns are aligned to the right."""
    made = Table(title=escape(title), title_justify="left", box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        made.add_column(escape(column), justify="right" if index >= len(columns) - numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell) if isinstance(cell, str) else number(cell) for cell in row))
    return made


def number(x: float) -> str:
    return f"{0.0 if abs(x) < 1e-12 else x:.4g}"


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, default=_plain, ensure_ascii=False))


def _plain(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, np.generic):
        return x.item()
    return str(x)
