"""Shared by the commands: the robot, tables of at most 80 columns, JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dalembert.errors import DalembertError, ImportFindingsWarning, unknown
from dalembert.loading import load
from dalembert.logs import Trajectory, read_sensors
from dalembert.model import tool_frame
from dalembert.robot import Robot

from .terminal import is_unicode

WIDTH = 80

Source = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="A bundled robot's name, or a file (.urdf .xacro .xml .sdf .usd .dh.toml .mech.toml)."
    ),
]
Base = Annotated[str | None, typer.Option(help='"fixed" or "free"; default: as in the file.')]
Mimic = Annotated[str, typer.Option(help='"couple": mimic joints follow their leader; "free": they do not.')]
Arguments = Annotated[
    list[str] | None, typer.Option("--arg", metavar="NAME:=VALUE", help="Argument of a xacro file; may be repeated.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse anything that would be dropped, repaired or assumed.")]
Payload = Annotated[float, typer.Option(help="Mass [kg] held at --frame.")]
PayloadFrame = Annotated[
    str | None, typer.Option(help="Frame of the payload; default: the tool at the end of the longest chain.")
]
Expectations = Annotated[Path | None, typer.Option(help="TOML file with the expected properties of the robot.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Topic = Annotated[str | None, typer.Option(help="Topic of the motion, where an .mcap file or bag has several.")]
Units = Annotated[
    list[str] | None, typer.Option("--unit", metavar="KIND=UNIT", help="Of the motion: t=ms, q=deg …; may be repeated.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="KIND=NAME", help="Column of the motion: t=clock, q.elbow=a2 …; may be repeated."),
]
Bandwidth = Annotated[
    float | None, typer.Option(min=0.0, help="Of the filter for noisy motions [Hz]; default: chosen from the data.")
]

SensorFile = Annotated[
    Path | None,
    typer.Option(help="TOML file that says what the numbers of the motors stand for: gears, counts, couplings."),
]
Cut = Annotated[str | None, typer.Option(metavar="FROM:TO", help="Read the log from and to these times [s] only.")]


def open_robot(
    source: str,
    base: str | None = None,
    *,
    mimic: str = "couple",
    arg: Sequence[str] | None = None,
    strict: bool = False,
) -> Robot:
    """A robot of the command line; findings that concern its physics are one line on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ImportFindingsWarning)
        robot = load(source, base=base, mimic=mimic, strict=strict, arguments=dict(map(_argument, arg or ())))
    for warning in caught:
        said = str(warning.message).replace("see robot.import_log", f"all: dalembert info {source}")
        print(f"warning: {said}", file=sys.stderr)
    return robot


def open_robots(sources: Sequence[str], base: str | None, *, mimic: str, arg: Sequence[str] | None) -> list[Robot]:
    """Several robots; the arguments are those of the xacro files among them."""
    macros = [source.lower().endswith(".xacro") for source in sources]
    args = [arg if macro or not any(macros) else None for macro in macros]
    return [open_robot(source, base, mimic=mimic, arg=value) for source, value in zip(sources, args, strict=True)]


def with_payload(robot: Robot, payload: float, frame: str | None) -> tuple[Robot, str | None]:
    """The robot with a point mass [kg] at the frame, or at its tool, and that frame's name; None without a load."""
    if frame is not None:
        tool_frame(robot.model, frame)  # refuses a frame that cannot move
    if not payload:
        return robot, frame
    carrier = tool_frame(robot.model, frame).name
    return robot.edit().payload(payload, frame=carrier).done(), carrier


def open_motion(
    path: Path,
    robot: Robot,
    topic: str | None,
    unit: list[str] | None,
    column: list[str] | None,
    bandwidth: float | None,
    sensors: Path | None = None,
    cut: str | None = None,
) -> Trajectory:
    """A motion from a file, read with the user's options."""
    from dalembert.identify import read_motion

    return read_motion(
        path,
        robot,
        topic=topic,
        units=dict(_pair(text, "--unit", "KIND=UNIT, such as t=ms") for text in unit or ()),
        columns=dict(_pair(text, "--column", "KIND=NAME, such as q.elbow=a2") for text in column or ()),
        bandwidth=bandwidth,
        sensors=read_sensors(sensors) if sensors is not None else None,
        cut=_times(cut) if cut is not None else None,
    )


def unexplained(robot: Robot, log: Trajectory | None) -> bool:
    """Whether a log has torques of which the model fails to explain some joint's, or leaves it in doubt."""
    return log is not None and log.tau is not None and not robot.audit(rules=["log-torque"], motion=log).ok


def _times(text: str) -> tuple[float, float]:
    begin, colon, end = text.partition(":")
    try:
        times = float(begin or 0.0), float(end or math.inf)
    except ValueError:
        colon = ""
    if not colon or not times[0] < times[1]:
        raise DalembertError(f"--cut {text}: expected FROM:TO in seconds after the log's start, such as 2.5:30")
    return times


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 step, 2 steps."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _pair(text: str, option: str, expected: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise DalembertError(f"{option} {text}: expected {expected}")
    return key, value


def _argument(text: str) -> tuple[str, str]:
    """NAME:=VALUE, as ROS writes it, or NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        raise DalembertError(f"--arg {text}: expected NAME:=VALUE, such as prefix:=left_")
    return name.removesuffix(":"), value


def check_target(path: Path | None, option: str, endings: Sequence[str] = ()) -> None:
    """Raise before the work is done if its result could not be written."""
    if path is None:
        return
    if not path.parent.is_dir():
        cure = "make it first, or give another path"
        raise DalembertError(f"{option} {path}: there is no folder '{path.parent}': {cure}")
    if path.is_dir():
        raise DalembertError(f"{option} {path} is a folder, expected the name of a file")
    if endings and path.suffix.lower() not in endings:
        raise unknown("ending", path.suffix, endings, f"{option} {path}")


def console() -> Console:
    """Plain where output is not a terminal; at most 80 columns wide."""
    terminal = Console(highlight=False)
    return terminal if terminal.width <= WIDTH else Console(highlight=False, width=WIDTH)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 0) -> Group:
    """A table under its title; the last `numeric` columns are aligned to the right."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        grid.add_column(escape(column), justify="right" if index >= len(columns) - numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(cell) if isinstance(cell, str) else number(cell) for cell in row))
    return Group(Text(title, style="italic"), grid)


def number(x: float) -> str:
    return f"{0.0 if abs(x) < 1e-12 else x:.4g}"


def print_json(content: Any) -> None:
    print(json.dumps(_plain(content), indent=2, allow_nan=False, ensure_ascii=not is_unicode()))


def _plain(x: Any) -> Any:
    """The value in JSON's types; a number that is not finite, such as a missing limit, is null."""
    if isinstance(x, dict):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(value) for value in x]
    if isinstance(x, np.ndarray | np.generic):
        return _plain(x.tolist())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    return x if x is None or isinstance(x, int | str) else str(x)


def numbers_of(option: str, text: str, count: int) -> np.ndarray:
    """The numbers of an option, which are separated by commas."""
    try:
        values = np.array([float(word) for word in text.split(",")])
    except ValueError:
        raise DalembertError(f"{option} is {text!r}, expected {count} numbers separated by commas") from None
    if values.shape != (count,):
        raise DalembertError(f"{option} has {values.size} numbers, expected {count}")
    return values
