"""When the rows of a log were measured: units, epochs, gaps, jitter."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError

from .channels import Sources
from .units import SECONDS, Heading

TIMES = ("t", "time", "times", "timestamp", "timestamps", "stamp", "time_stamp", "seconds")
PAIR = re.compile(r"(?P<name>.*?)(?P<seconds>secs?|seconds)", re.IGNORECASE)
FRACTIONS = ("nanosec", "nanosecs", "nsec", "nsecs", "nanoseconds")
EPOCH = (1e9, 5e9)  # s since 1970: the years 2001 to 2128
STEP = (2e-5, 0.2)  # s between rows that robots log at
DOUBTFUL = 2.0  # s: between this and STEP, seconds and milliseconds are both possible
FEW = 20  # rows up to which long steps are taken as seconds: points of a path rather than a log
GAP = 3.5  # steps that count as a gap
JITTER = 0.1  # of a step: deviation that is worth saying


@dataclass(frozen=True)
class Stamps:
    """The column of times as the file has it: values (n,) of any kind, and what its name says."""

    heading: Heading
    values: np.ndarray
    notes: list[str]


@dataclass(frozen=True)
class Clock:
    """Times t (n,) [s] from 0, increasing; kept (n,): the rows they belong to.

    stated: whether the file or the user gave the unit. doubt: why it cannot be told from the times alone, else "".
    """

    t: np.ndarray
    kept: np.ndarray
    stated: bool
    doubt: str
    notes: tuple[str, ...]


def clock(source: Sources, stamps: Stamps, rows: np.ndarray, data: np.ndarray) -> Clock:
    """The times of the rows (n,) of a table, in which data (n, k) were measured."""
    name, where = stamps.heading.column, source.path
    if len(rows) < 2:
        raise DalembertError(f"{where}: {len(rows)} rows with numbers, expected two rows or more")
    passed, first, size = _passed(source, stamps.heading, stamps.values[rows])
    rounding = _rounding(stamps.values[rows])
    if not np.all(np.isfinite(passed)):
        row = rows[np.flatnonzero(~np.isfinite(passed))[0]] + 1
        raise DalembertError(f"{where}: row {row} has no time in column {name!r}; drop or fill it")
    step = np.diff(passed)
    if np.any(step < 0.0):
        row = rows[np.flatnonzero(step < 0.0)[0] + 1] + 1
        raise DalembertError(f"{where}: the times in column {name!r} must increase, and go back at row {row}")
    repeats = np.flatnonzero(step == 0.0) + 1
    differs = np.any(data[repeats] != data[repeats - 1], axis=1)
    if differs.any():
        row = rows[repeats[differs][0]] + 1
        raise DalembertError(
            f"{where}: the times in column {name!r} must increase; row {row} has the time of the row before and other "
            "numbers: the stamps are too coarse, or two logs are mixed"
        )
    kept = np.setdiff1d(np.arange(len(rows)), repeats)
    notes = list(stamps.notes)
    if len(repeats):
        notes.append(f"{len(repeats)} of {len(rows)} rows repeat the one before, time and all, and are dropped")
    passed, stated = passed[kept], size is not None
    if len(kept) < 2:
        raise DalembertError(f"{where}: all rows have the same time in column {name!r}")
    doubt = ""
    if size is None:
        size, note, doubt = _plausible(where, name, first, passed)
        notes += note
    t, evened = _evened(passed * size, rounding * size)
    return Clock(t, kept, stated, doubt, (*notes, *evened))


def stamps(source: Sources) -> Stamps:
    """The column that is called time, or that the user chose; also seconds and nanoseconds in two columns."""
    heading = source.chosen("t") or source.find(TIMES, "t")
    if heading is not None:
        others = [h.column for h in source.headings if h.name.lower() in TIMES and h.column != heading.column]
        note = f"column {heading.column!r} is taken as the time, not {', '.join(dict.fromkeys(others))}"
        notes = ([note] if others else []) + source.converted("t", [heading])
        return Stamps(heading, source.table.columns[heading.column], notes)
    for column, seconds in source.table.columns.items():
        if match := PAIR.fullmatch(column):
            part = next(
                (match["name"] + word for word in FRACTIONS if match["name"] + word in source.table.columns), ""
            )
            if part:
                whole = np.asarray(seconds, np.int64) * 1_000_000_000 + np.asarray(source.table.columns[part], np.int64)
                return Stamps(Heading(column, column, None, 0), whole.astype("timedelta64[ns]"), [])
    if "c1" in source.table.columns:  # a file without a line of names
        last = list(source.table.columns)[-1]
        raise DalembertError(
            f"{source.path}: has no line of names for its columns c1 to {last}: say which they are, such as "
            "columns={'t': 'c1', 'q': 'c2-c7', 'tau': 'c8-c13'} (--column t=c1 --column q=c2-c7 …)"
        )
    raise DalembertError(f"{source.path}: no column of times; expected one called {', '.join(TIMES)}")


def _passed(source: Sources, heading: Heading, values: np.ndarray) -> tuple[np.ndarray, float, float | None]:
    """Times since the first row (n,), the first time, and what these are in s (None: not stated).

    The first time is subtracted before anything is rounded to float64: since 1970 there have been so many seconds that
    a float64 only has steps of 0.2 µs left, which at 1 kHz makes half a rad/s² out of a steady 2 rad/s.
    """
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DalembertError(f"{source.path}: the times in {heading.column!r} have shape {values.shape}, expected (n,)")
    if values.dtype.kind in "US":
        try:
            values = values.astype("datetime64[ns]")
        except ValueError:
            source.numbers(heading.column, len(values))  # names the cell
    if values.dtype.kind in "mM":
        if np.any(np.isnat(values)):
            return np.full(len(values), np.nan), 0.0, 1.0
        nanoseconds = (values - values[0]).astype("timedelta64[ns]").astype(np.int64)
        return nanoseconds * 1e-9, 0.0, 1.0
    source.scale(heading, "t", "")  # raises unless it is a unit of time
    if values.dtype.kind in "bu":
        values = values.astype(np.int64)
    passed = np.asarray(values - values[0], float)
    unit = heading.unit or source.units.get("t")
    known = unit.size if unit is not None else 1.0 if heading.name.lower() == "seconds" else None
    return passed, float(values[0]), known


def _plausible(where: str, name: str, first: float, passed: np.ndarray) -> tuple[float, list[str], str]:
    """The unit in s of times that do not state it, by their size or their steps; a note; and the doubt, if any."""
    step = float(np.median(np.diff(passed)))
    for text, size in SECONDS.items():
        if EPOCH[0] <= first * size < EPOCH[1] and STEP[0] <= step * size < DOUBTFUL:
            return size, [] if text == "s" else [f"times in column {name!r} are taken as {text} since 1970"], ""
    if STEP[0] <= step < STEP[1]:
        return 1.0, [], ""
    if step < DOUBTFUL and len(passed) <= FEW:
        return 1.0, [f"times in column {name!r} are taken as seconds, with steps of {step:.4g} s"], ""
    for text, size in SECONDS.items():
        if step >= DOUBTFUL and STEP[0] * 10 <= step * size < STEP[1]:
            return size, [f"times in column {name!r} are taken as {text}: their steps are {step:.4g}"], ""
    cure = f"call the column '{name} [s]' or '{name} [ms]', or give units={{'t': 'ms'}}"
    question = "seconds or milliseconds?" if STEP[1] <= step < DOUBTFUL else "in which unit?"
    return 1.0, [], f"{where}: the times in column {name!r} have steps of {step:.4g}: {question} {cure}"


def _rounding(values: np.ndarray) -> float:
    """Distance of neighbouring numbers where the stamps are largest; 0 of those that are exact."""
    return float(np.spacing(np.max(np.abs(values)))) if values.dtype.kind == "f" else 0.0


def _evened(t: np.ndarray, rounding: float) -> tuple[np.ndarray, list[str]]:
    """Times that only differ from equal steps by their rounding are put on equal steps."""
    step = float(t[-1] / (len(t) - 1))
    if rounding < 1e-6 * step:
        return t, []
    for even in (float(f"{step:.4g}") * np.arange(len(t)), step * np.arange(len(t))):
        if np.max(np.abs(t - even)) <= 2.0 * rounding:
            return even, [
                f"times are rounded to {1e6 * rounding:.2g} µs in the file, and put on equal steps of {step:.6g} s"
            ]
    return t, [f"times are rounded to {1e6 * rounding:.2g} µs in the file, {100 * rounding / step:.2g} % of a step"]


def unevenness(t: np.ndarray) -> list[str]:
    """Notes on gaps and jitter in times t (n,) [s]."""
    step = np.diff(t)
    usual = float(np.median(step))
    gaps = np.flatnonzero(step > GAP * usual)
    notes = []
    if len(gaps) and len(t) > FEW:
        longest = gaps[np.argmax(step[gaps])]
        count = f"{len(gaps)} gaps, the longest" if len(gaps) > 1 else "a gap"
        notes.append(f"{count} of {step[longest]:.3g} s after t = {t[longest]:.4g} s; the usual step is {usual:.3g} s")
    regular = step[step <= GAP * usual]
    spread = float(np.sqrt(np.mean((regular - usual) ** 2))) / usual
    if spread > JITTER and len(t) > FEW:
        notes.append(f"times jitter: steps deviate from {usual:.3g} s by {100 * spread:.0f} % RMS")
    return notes
