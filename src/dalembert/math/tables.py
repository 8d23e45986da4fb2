"""Tables of constants: rows by number, and interpolation between points, with slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .elementary import clip, floor, where

LARGEST = 2**24  # numbers in a table: in single precision, larger ones could not be counted through
NEVER = 3e38  # behind the last start: where x is beyond it the last row holds all the same
ENDS = ("clamp", "extend", "periodic")
KINDS = ("linear", "cubic", "nearest", "previous")


def lookup(table: Any, index: Any) -> Any:
    """Row floor(index) of a table of constants (n,) or (n, m). Its slope is 0.

    An index beyond the table takes the first or last row, NaN gives NaN. Returns the shape of index, and of an (n, m)
    table m numbers for each.
    """
    numbers = _numbers("lookup", "table", table, (1, 2))
    if not len(numbers):
        raise DalembertError("lookup: the table is empty")
    if numbers.size > LARGEST:
        raise DalembertError(f"lookup: the table has {numbers.size} numbers, more than {LARGEST}")
    if numbers.ndim == 1:
        return _column(numbers[:, None], 0, index)
    columns = [_column(numbers, k, index) for k in range(numbers.shape[1])]
    return np.stack([np.asarray(x) for x in columns], axis=-1) if columns else np.zeros((*np.shape(index), 0))


def _column(table: np.ndarray, column: int, index: Any) -> Any:
    """Number `column` of row floor(index) of a table (n, m)."""
    if hasattr(index, "__lookup__"):
        return index.__lookup__(table, column)
    places = np.asarray(index)
    if places.dtype != object:
        return taken(table[:, column], places.astype(float))[()]
    out = np.empty(places.shape, object)
    for k, x in np.ndenumerate(places):
        out[k] = _column(table, column, x)
    return out[()]


def taken(numbers: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The meaning of a lookup: numbers[floor(index)], the first or last beyond the ends, NaN for NaN."""
    known = np.where(np.isnan(index), 0.0, np.clip(index, 0.0, len(numbers) - 1.0))
    return np.where(np.isnan(index), index, numbers[known.astype(int)])


def interp(x: Any, xs: Any, ys: Any, kind: str = "linear", ends: str = "clamp") -> Any:
    """The value at x of an interpolant through the points (xs, ys), constants (n,) and (n,) or (n, m), xs rising.

    kind: "linear"; "cubic", with continuous slope (at each point that of the parabola through it and its neighbours);
    "nearest", from the middle on the later one; "previous", the last point that is not after x.
    ends: beyond the points "clamp" keeps the value of the outermost (with slope 0), "extend" continues the outermost
    piece, "periodic" begins again: the last point is then the first one again, one period later.
    Returns the shape of x, and m numbers for each where ys has m columns.
    """
    grid = _rising("interp", "xs", xs)
    values = _numbers("interp", "ys", ys, (1, 2))
    _check(kind, KINDS, ends, "interp")
    if len(values) != len(grid):
        raise DalembertError(f"interp: ys has {len(values)} rows, expected {len(grid)}, one for each of xs")
    table = values.reshape(len(grid), -1)
    if ends == "periodic" and not np.allclose(table[0], table[-1], rtol=1e-9, atol=0.0):
        raise DalembertError("interp: ends='periodic' needs the last of ys to be the first one again")
    if kind in ("nearest", "previous"):
        limits = grid if kind == "previous" else _middles(grid)
        row = lookup(table, _interval(_inside(x, grid, ends), limits, exact=True))
    else:
        pieces = _linear(table) if kind == "linear" else _cubic(grid, table, ends)
        place = _inside(x, grid, ends)
        k = _interval(place, grid[:-1], exact=False)
        t = _share(place, grid, k)
        coefficients = lookup(pieces.reshape(len(grid) - 1, -1), k)
        row = _horner(coefficients.reshape(*np.shape(x), *pieces.shape[1:]), np.asarray(t)[..., None])
    return row if values.ndim == 2 else row[..., 0][()]


def interp2(x: Any, y: Any, xs: Any, ys: Any, values: Any, kind: str = "linear", ends: str = "clamp") -> Any:
    """The value at (x, y) of an interpolant on a grid: values[i, j] at (xs[i], ys[j]), constants; a height field.

    kind: "linear" (bilinear, continuous) or "nearest"; ends: as of `interp`, in both directions.
    """
    grids = _rising("interp2", "xs", xs), _rising("interp2", "ys", ys)
    numbers = _numbers("interp2", "values", values, (2,))
    _check(kind, ("linear", "nearest"), ends, "interp2")
    shape = tuple(map(len, grids))
    if numbers.shape != shape:
        raise DalembertError(f"interp2: values has shape {numbers.shape}, expected {shape}: one row for each of xs")
    if ends == "periodic" and not (
        np.allclose(numbers[0], numbers[-1], rtol=1e-9, atol=0.0)
        and np.allclose(numbers[:, 0], numbers[:, -1], rtol=1e-9, atol=0.0)
    ):
        raise DalembertError("interp2: ends='periodic' needs the last row and column to be the first ones again")
    places = [_inside(z, grid, ends) for z, grid in zip((x, y), grids, strict=True)]
    if kind == "nearest":
        i, j = (_interval(z, _middles(grid), exact=True) for z, grid in zip(places, grids, strict=True))
        return lookup(numbers.ravel(), i * len(grids[1]) + j)
    i, j = (_interval(z, grid[:-1], exact=False) for z, grid in zip(places, grids, strict=True))
    s, t = (_share(z, grid, k) for z, grid, k in zip(places, grids, (i, j), strict=True))
    corner, right = numbers[:-1, :-1], numbers[:-1, 1:] - numbers[:-1, :-1]
    up = numbers[1:, :-1] - corner
    twist = numbers[1:, 1:] - numbers[1:, :-1] - right
    cells = np.stack([corner, right, up, twist], axis=-1).reshape(-1, 4)
    a, b, c, d = np.moveaxis(lookup(cells, i * (shape[1] - 1) + j), -1, 0)
    return a + b * t + s * (c + d * t)


# ---- where a number lies among points


def _inside(x: Any, grid: np.ndarray, ends: str) -> Any:
    """x as an interpolant takes it: clamped, wrapped into the period, or as it is."""
    x = x if hasattr(x, "__traced__") else np.asarray(x)
    if ends == "clamp":
        return clip(x, grid[0], grid[-1])
    if ends == "periodic":
        period = grid[-1] - grid[0]
        return x - period * floor((x - grid[0]) / period)
    return x


def _middles(grid: np.ndarray) -> np.ndarray:
    """Where the nearest point changes, and as far before the first point as the first change is after it."""
    middles = 0.5 * (grid[1:] + grid[:-1])
    return np.concatenate([2.0 * grid[:1] - middles[:1], middles])


def _interval(x: Any, starts: np.ndarray, exact: bool) -> Any:
    """The number of the last start that is not after x; 0 before the first.

    Equal distances: by division, whose rounding may take the neighbour for x within rounding of a start; exact: never,
    by looking at the starts. Other distances: by halving, which looks at log₂ n of them.
    """
    last = len(starts) - 1
    steps = np.diff(starts)
    if not last:
        return 0.0 * x
    if last > 1 and not np.allclose(steps, steps[0], rtol=1e-9, atol=0.0):
        return _halved(x, starts)
    k = clip(floor((x - starts[0]) * (1.0 / steps[0])), 0.0, float(last))
    if exact:
        k = k - where(lookup(starts, k) > x, 1.0, 0.0)
        k = k + where(lookup(np.append(starts[1:], NEVER), k) <= x, 1.0, 0.0)
        k = clip(k, 0.0, float(last))
    return k


def _halved(x: Any, starts: np.ndarray) -> Any:
    """The number of the last start that is not after x, by halving."""
    size = 1 << (len(starts) - 1).bit_length()
    padded = np.concatenate([starts, np.full(2 * size - len(starts), NEVER)])
    k: Any = 0.0 * x
    while size > 1:
        size //= 2
        k = k + where(lookup(padded, k + float(size)) <= x, float(size), 0.0)
    return where(x == x, k, x)  # NaN stays NaN


def _share(x: Any, grid: np.ndarray, k: Any) -> Any:
    """How far x is between point k, 0, and the next, 1."""
    steps = np.diff(grid)
    if len(steps) == 1 or np.allclose(steps, steps[0], rtol=1e-9, atol=0.0):
        return (x - grid[0]) * ((len(grid) - 1) / (grid[-1] - grid[0])) - k
    start, scale = np.moveaxis(lookup(np.stack([grid[:-1], 1.0 / steps], axis=1), k), -1, 0)
    return (x - start) * scale


# ---- pieces: coefficients (n − 1, degree + 1, m) of polynomials in the share of each interval, lowest first


def _linear(table: np.ndarray) -> np.ndarray:
    return np.stack([table[:-1], np.diff(table, axis=0)], axis=1)


def _cubic(grid: np.ndarray, table: np.ndarray, ends: str) -> np.ndarray:
    h, rise = np.diff(grid)[:, None], np.diff(table, axis=0)
    chords = rise / h
    if len(grid) == 2:
        slopes = np.concatenate([chords, chords])
    else:
        middle = (h[1:] * chords[:-1] + h[:-1] * chords[1:]) / (h[1:] + h[:-1])
        first, last = 2.0 * chords[:1] - middle[:1], 2.0 * chords[-1:] - middle[-1:]
        if ends == "periodic":
            first = last = (h[:1] * chords[-1:] + h[-1:] * chords[:1]) / (h[:1] + h[-1:])
        slopes = np.concatenate([first, middle, last])
    a, b = h * slopes[:-1], h * slopes[1:]
    return np.stack([table[:-1], a, 3.0 * rise - 2.0 * a - b, a + b - 2.0 * rise], axis=1)


def _horner(coefficients: np.ndarray, t: Any) -> Any:
    """Polynomials in t (…, 1) with coefficients (…, degree + 1, m)."""
    value = coefficients[..., -1, :]
    for k in range(coefficients.shape[-2] - 2, -1, -1):
        value = coefficients[..., k, :] + t * value
    return value


# ---- checks


def _numbers(where: str, name: str, x: Any, axes: tuple[int, ...]) -> np.ndarray:
    try:
        numbers = np.ascontiguousarray(x, float)
    except (TypeError, ValueError, DalembertError):
        raise DalembertError(f"{where}: {name} must be constants, known when the function is traced") from None
    if numbers.ndim not in axes:
        raise DalembertError(f"{where}: {name} has shape {numbers.shape}, expected {' or '.join(map(str, axes))} axes")
    return numbers


def _rising(where: str, name: str, x: Any) -> np.ndarray:
    grid = _numbers(where, name, x, (1,))
    if len(grid) < 2 or not np.all(np.isfinite(grid)) or not np.all(np.diff(grid) > 0):
        raise DalembertError(f"{where}: {name} must be two or more rising numbers")
    return grid


def _check(kind: str, kinds: tuple[str, ...], ends: str, where: str) -> None:
    if kind not in kinds:
        raise unknown("kind", kind, kinds, where)
    if ends not in ENDS:
        raise unknown("ends", ends, ENDS, where)
