"""Which columns of a table are the positions, velocities, accelerations and efforts of a robot's joints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.tables import Table

from .units import Heading, Unit, expected, headings, unit

# names of a channel in files, besides a joint's name
SPOKEN = {
    "q": ("position", "pos", "q"),
    "v": ("velocity", "vel", "qd", "dq", "v"),
    "a": ("acceleration", "acc", "qdd", "ddq", "a"),
    "tau": ("effort", "torque", "tau"),
    "current": ("current", "motor_current", "i"),
    "temperature": ("temperature", "temp", "motor_temperature"),
}
# matrices (n, k), and the words before the numbers of columns such as q1, q2, …
WHOLE = {
    "q": ["q", "positions", "position", "pos", "qpos", "joint_positions", "joint_position", "actual_q"],
    "v": ["v", "dq", "qd", "velocities", "velocity", "vel", "qvel", "joint_velocities", "joint_velocity", "actual_qd"],
    "a": ["a", "ddq", "qdd", "accelerations", "acceleration", "acc", "qacc", "joint_accelerations"],
    "tau": ["tau", "torques", "torque", "efforts", "effort", "joint_torques", "joint_efforts", "joint_torque"],
    "current": ["currents", "current", "motor_currents", "motor_current", "actual_current"],
    "temperature": ["temperatures", "temperature", "temp", "motor_temperatures", "joint_temperatures"],
}
ORDER = ("names", "joint_names", "joints", "name", "joint_name")  # texts that name the columns of matrices
WORDS = {
    "q": "positions",
    "v": "velocities",
    "a": "accelerations",
    "tau": "efforts",
    "current": "currents",
    "temperature": "temperatures",
}


def spellings(kind: str, joint: str) -> list[str]:
    """Possible names of a joint's channel, our own convention first."""
    plain = [joint] if kind == "q" else []
    before = [f"{word}{mark}{joint}" for word in SPOKEN[kind] for mark in "._"]
    after = [f"{joint}{mark}{word}" for word in SPOKEN[kind] for mark in "._"]
    return [f"{kind}.{joint}", *plain, *before, *after]


def names_of(robot: Robot, kind: str) -> tuple[str, ...]:
    return robot.model.coordinate_names if kind == "q" else robot.model.freedom_names


@dataclass(frozen=True)
class Sources:
    """The columns of a table as candidates for channels.

    path: for messages. choice: columns named by the user ("t", "q.elbow" → column); units: likewise ("t", "q" → unit).
    """

    path: str
    table: Table
    choice: Mapping[str, str]
    units: Mapping[str, Unit]
    headings: list[Heading]

    def find(self, words: Sequence[str], preferred: str = "") -> Heading | None:
        """The column that one of these words names; several that do so equally well are an error.

        preferred: the word that wins over the others. Then a bare name wins over one with a unit in brackets, and that
        one over a name with a unit behind it; case counts unless nothing else matches.
        """
        lowered = {word.lower() for word in words}
        free = [h for h in self.headings if h.column not in self.choice.values()]
        ranked = [[h for h in free if h.name == preferred]]
        if ranked[0] and (rivals := [h for h in free if h.level == 0 and h.name == preferred.removeprefix("q.")]):
            ranked[0] += [h for h in rivals if h.name != preferred]
        ranked += [[h for h in free if h.level == level and h.name in words] for level in range(3)]
        ranked += [[h for h in free if h.level == level and h.name.lower() in lowered] for level in range(3)]
        best = next((candidates for candidates in ranked if candidates), [])
        columns = list(dict.fromkeys(h.column for h in best))
        if len(columns) > 1:
            raise DalembertError(
                f"{self.path}: columns {columns[0]!r} and {columns[1]!r} could both be {words[0]!r}: rename one, or "
                f"say which: columns={{{words[0]!r}: {columns[0]!r}}}"
            )
        return best[0] if best else None

    def chosen(self, key: str) -> Heading | None:
        """The column that the user chose for a channel."""
        column = self.choice.get(key)
        return None if column is None else max((h for h in self.headings if h.column == column), key=lambda h: h.level)

    def numbers(self, column: str, rows: int) -> np.ndarray:
        """The numbers (n,) or (n, k) of a column, which must have as many rows as there are times."""
        values = self.table.columns[column]
        if values.dtype.kind in "US":
            row, cell = next((row, cell) for row, cell in enumerate(values.ravel().tolist(), 1) if not _is_number(cell))
            raise DalembertError(f"{self.path}: row {row} has {cell!r} for {column}, expected a number")
        if values.dtype.kind in "mM":
            raise DalembertError(f"{self.path}: column {column!r} holds times, expected numbers")
        if len(values) != rows:
            raise DalembertError(f"{self.path}: column {column!r} has {len(values)} rows, the times have {rows}")
        return np.asarray(values, float)

    def scale(self, heading: Heading, kind: str, coordinate: str) -> float:
        """The factor that turns a column's numbers into SI units."""
        wanted = expected(kind, coordinate)
        if heading.problem:
            raise DalembertError(
                f"{self.path}: unit {heading.problem!r} of column {heading.column!r} is not known; expected {wanted}"
            )
        stated = heading.unit or self.units.get(kind)
        if stated is None:
            return 1.0
        if stated.si != wanted:
            if stated is not heading.unit:  # one unit for all joints: that of angles leaves slides alone
                return 1.0
            raise DalembertError(
                f"{self.path}: column {heading.column!r} is in {stated.text}, expected {wanted} or similar"
            )
        return stated.size

    def converted(self, kind: str, columns: Sequence[Heading]) -> list[str]:
        """Notes on numbers that are stated in other units than SI's."""
        stated: dict[str, list[str]] = {}
        for heading in columns:
            its = heading.unit or self.units.get(kind)
            if its is not None and its.size != 1.0:
                stated.setdefault(its.text, []).append(heading.column)
        words = WORDS.get(kind, "times")
        return [
            f"{words}{'' if len(some) == len(columns) else f' {_list(some)}'} are stated in {text}, and converted"
            for text, some in stated.items()
        ]


def sources(path: str, table: Table, choice: Mapping[str, str] | None, units: Mapping[str, str] | None) -> Sources:
    """The candidates of a table, with the user's choices; "c2-c8" or "c2:c8" stands for neighbouring columns."""
    for key, column in (choice or {}).items():
        if column not in table.columns and (several := _range(table, column)):
            table = replace(table, columns={**table.columns, column: np.column_stack(several)})
        if column not in table.columns:
            raise DalembertError(f"{path}: columns[{key!r}]: there is no column {column!r}; {_some(table)}")
    known = {}
    for kind, text in (units or {}).items():
        parsed = unit(text)
        coordinates = ("rad",) if kind == "t" else ("rad", "m")
        if kind not in ("t", *SPOKEN) or parsed is None or parsed.si not in [expected(kind, c) for c in coordinates]:
            raise DalembertError(
                f"units[{kind!r}] is {text!r}: expected t, q, v, a, tau, current or temperature, in ms, deg, "
                "N·m, A, °C or similar"
            )
        known[kind] = parsed
    return Sources(path, table, choice or {}, known, headings(table.columns, table.units))


def _range(table: Table, text: str) -> list[np.ndarray]:
    """The columns from one to another, both included: "c2-c8"; none if these are no names of numbers."""
    match = re.fullmatch(r"\s*(\S+?)\s*[-:…]\s*(\S+)\s*", text)
    first, last = match.groups() if match else ("", "")
    names = list(table.columns)
    if first not in names or last not in names or names.index(last) < names.index(first):
        return []
    chosen = [table.columns[name] for name in names[names.index(first) : names.index(last) + 1]]
    return chosen if all(column.ndim == 1 and column.dtype.kind in "biuf" for column in chosen) else []


def channel(source: Sources, robot: Robot, kind: str, rows: int) -> tuple[np.ndarray | None, list[str]]:
    """Numbers (n, k) of one kind in SI units, in the robot's order, and notes; None if the table has none of them.

    By the names of the joints, else as a matrix, else as numbered columns in the robot's order.
    """
    names = names_of(robot, kind)
    if not names:
        return np.zeros((rows, 0)), []
    by_name = {
        name: source.chosen(f"{kind}.{name}") or source.find(spellings(kind, name), f"{kind}.{name}") for name in names
    }
    missing = [name for name, heading in by_name.items() if heading is None]
    if len(missing) < len(names):
        if missing and kind == "temperature":
            return None, [f"temperatures of {_list(missing)} are missing: those of the other joints are not used"]
        if missing:
            raise _missing(source, kind, missing)
        columns = [heading for heading in by_name.values() if heading is not None]
        return _stack(source, robot, kind, columns, rows), source.converted(kind, columns)
    heading = source.chosen(kind) or source.find(WHOLE[kind])
    if heading is not None:
        values, notes = _matrix(source, robot, kind, heading, rows)
        return values, notes + source.converted(kind, [heading])
    numbered = _numbered(source, kind, len(names))
    if numbered is None:
        return None, []
    note = f"{WORDS[kind]} {numbered[0].column} … {numbered[-1].column} are taken in the robot's order"
    notes = [f"{note}: {_list(names)}"] if len(names) > 1 else []
    return _stack(source, robot, kind, numbered, rows), notes + source.converted(kind, numbered)


def required(source: Sources, robot: Robot, kind: str, rows: int) -> tuple[np.ndarray, list[str]]:
    """Like `channel`, for a column that the table must have."""
    values, notes = channel(source, robot, kind, rows)
    if values is None:
        raise _missing(source, kind, list(names_of(robot, kind)))
    return values, notes


def _stack(source: Sources, robot: Robot, kind: str, columns: list[Heading], rows: int) -> np.ndarray:
    names, units = names_of(robot, kind), _coordinates(robot, kind)
    for k, heading in enumerate(columns):
        if heading.column in [other.column for other in columns[:k]]:
            raise DalembertError(f"{source.path}: column {heading.column!r} would serve {names[k]} and another joint")
    stacked = []
    for heading, coordinate in zip(columns, units, strict=True):
        values = source.numbers(heading.column, rows)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise DalembertError(
                f"{source.path}: column {heading.column!r} has shape {values.shape}, expected ({rows},)"
            )
        stacked.append(values * source.scale(heading, kind, coordinate))
    return np.stack(stacked, axis=1)


def _matrix(source: Sources, robot: Robot, kind: str, heading: Heading, rows: int) -> tuple[np.ndarray, list[str]]:
    names, units = names_of(robot, kind), _coordinates(robot, kind)
    values = source.numbers(heading.column, rows)
    values = values[:, None] if values.ndim == 1 else values
    if kind == "temperature" and values.shape[1] == 1 and len(names) > 1:
        scale = source.scale(heading, kind, units[0])
        return np.repeat(values, len(names), 1) * scale, [f"{heading.column!r} is one temperature, of all joints"]
    if values.shape[1] != len(names):
        raise DalembertError(
            f"{source.path}: {heading.column!r} has shape {values.shape}, expected ({rows}, {len(names)}) for "
            f"{_list(names)}"
        )
    order, notes = _order(source, names)
    if order is None:
        order = list(range(len(names)))
        if len(names) > 1:
            notes = [f"the columns of {heading.column!r} are taken in the robot's order: {_list(names)}"]
    factors = [source.scale(heading, kind, coordinate) for coordinate in units]
    return values[:, order] * factors, notes


def _order(source: Sources, names: Sequence[str]) -> tuple[list[int] | None, list[str]]:
    """Where each of the robot's names stands in the file's list of names; None if there is no such list."""
    listed = next((source.table.columns[key] for key in ORDER if key in source.table.columns), None)
    if listed is None or listed.dtype.kind not in "US" or listed.size != len(names):
        return None, []
    written = [str(name) for name in np.ravel(listed.astype(str))]
    if sorted(written) != sorted(names):
        raise DalembertError(f"{source.path}: the file's joints are {_list(written)}, the robot's {_list(names)}")
    return [written.index(name) for name in names], []


def _numbered(source: Sources, kind: str, count: int) -> list[Heading] | None:
    """Columns q1 … qn, q_0 … q_n-1, q[0] … and the like."""
    pattern = re.compile(
        rf"({'|'.join((*WHOLE[kind], 'joint') if kind == 'q' else WHOLE[kind])})[_.\s\[(-]?(\d+)[\])]?"
    )
    groups: dict[tuple[str, int], dict[int, Heading]] = {}
    for heading in source.headings:
        if match := pattern.fullmatch(heading.name.lower()):
            groups.setdefault((match[1], heading.level), {})[int(match[2])] = heading
    complete = []
    for group in groups.values():
        for first in (0, 1):
            if sorted(group) == list(range(first, first + count)):
                complete.append([group[k] for k in sorted(group)])
    if len(complete) > 1:
        listed = " and ".join(f"{columns[0].column} …" for columns in complete)
        raise DalembertError(f"{source.path}: columns {listed} could both be the {WORDS[kind]}: rename one kind")
    return complete[0] if complete else None


def _coordinates(robot: Robot, kind: str) -> tuple[str, ...]:
    return robot.model.coordinate_units if kind == "q" else robot.model.freedom_units


def _missing(source: Sources, kind: str, missing: list[str]) -> DalembertError:
    return DalembertError(
        f"{source.path}: no column for {kind} of {_list(missing)}; expected {f'{kind}.{missing[0]}'!r}; "
        f"{_some(source.table)}"
    )


def _some(table: Table) -> str:
    return f"the columns are {_list(list(table.columns), 12)}"


def _list(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def _is_number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True
