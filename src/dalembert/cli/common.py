"""Shared by the commands: the robot, tables of at most 80 columns, JSON."""

from __future__ import annotations

import functools
import inspect
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
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
_shared = functools.partial(typer.Option, rich_help_panel="Reading files")

Source = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="A bundled robot's name, or a file (.urdf .xacro .xml .sdf .usd .dh.toml .mech.toml)."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse anything that would be dropped, repaired or assumed.")]
Payload = Annotated[float, typer.Option(help="Mass [kg] held at --frame.")]
PayloadFrame = Annotated[
    str | None, typer.Option(help="Frame of the payload; default: the tool at the end of the longest chain.")
]
Expectations = Annotated[Path | None, typer.Option(help="TOML file with the expected properties of the robot.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True)
class RobotFiles:
    """Options of how files of robots are read."""

    base: Annotated[str | None, _shared(help='"fixed" or "free"; default: as in the file.')] = None
    mimic: Annotated[str, _shared(help='"couple": mimic joints follow their leader; "free": they do not.')] = "couple"
    arg: Annotated[
        list[str] | None, _shared("--arg", metavar="NAME:=VALUE", help="Argument of a xacro file; may be repeated.")
    ] = None

    def open(self, source: str, strict: bool = False) -> Robot:
        """A robot by name or file; findings that concern its physics are one line on stderr."""
        arguments = dict(map(_argument, self.arg or ()))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ImportFindingsWarning)
            robot = load(source, base=self.base, mimic=self.mimic, strict=strict, arguments=arguments)
        for warning in caught:
            said = str(warning.message).replace("see robot.import_log", f"all: dalembert info {source}")
            print(f"warning: {said}", file=sys.stderr)
        return robot

    def open_all(self, sources: Sequence[str]) -> list[Robot]:
        """Several robots; the arguments are those of the xacro files among them."""
        macros = [source.lower().endswith(".xacro") for source in sources]
        plain = replace(self, arg=None) if any(macros) else self
        return [(self if macro else plain).open(source) for source, macro in zip(sources, macros, strict=True)]


@dataclass(frozen=True)
class LogFiles:
    """Options of how logs and motions are read."""

    topic: Annotated[str | None, _shared(help="Topic of the motion, where an .mcap file or bag has several.")] = None
    unit: Annotated[
        list[str] | None,
        _shared(metavar="KIND=UNIT", help="Unit in the motion's file: t=ms, q=deg …; may be repeated."),
    ] = None
    column: Annotated[
        list[str] | None,
        _shared(metavar="KIND=NAME", help="Column in the motion's file: t=clock, q.elbow=a2 …; may be repeated."),
    ] = None
    bandwidth: Annotated[
        float | None,
        _shared(min=0.0, help="Bandwidth of the filter for noisy motions [Hz]; default: chosen from the data."),
    ] = None
    sensors: Annotated[
        Path | None,
        _shared(help="TOML file that states what the motors' numbers mean: gears, counts, couplings."),
    ] = None
    cut: Annotated[str | None, _shared(metavar="FROM:TO", help="Read the log from and to these times [s] only.")] = None

    def read(self, path: Path, robot: Robot) -> Trajectory:
        """A motion from a file."""
        from dalembert.identify import read_motion

        return read_motion(
            path,
            robot,
            topic=self.topic,
            units=dict(pair("--unit", text, "KIND=UNIT, such as t=ms") for text in self.unit or ()),
            columns=dict(pair("--column", text, "KIND=NAME, such as q.elbow=a2") for text in self.column or ()),
            bandwidth=self.bandwidth,
            sensors=read_sensors(self.sensors) if self.sensors is not None else None,
            cut=_times(self.cut) if self.cut is not None else None,
        )


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """The command as typer reads it: arguments that are groups of options stand as these options, after its own."""
    form = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in form if is_dataclass(p.annotation)}
    shared = [p for group in groups.values() for p in inspect.signature(group, eval_str=True).parameters.values()]
    options = [*(p for p in form if p.name not in groups), *shared]

    @functools.wraps(command)
    def called(**values: Any) -> int:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    called.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in options])  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in options}
    return called


def with_payload(robot: Robot, payload: float, frame: str | None) -> tuple[Robot, str | None]:
    """The robot with a point mass [kg] at the frame, or at its tool, and that frame's name; None without a load."""
    if frame is not None:
        tool_frame(robot.model, frame)  # refuses a frame that cannot move
    if not payload:
        return robot, frame
    carrier = tool_frame(robot.model, frame).name
    return robot.edit().payload(payload, frame=carrier).done(), carrier


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


def pair(option: str, text: str, expected: str) -> tuple[str, str]:
    """The two sides of an option such as KIND=UNIT."""
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
