"""Solving an assembled program: level after level, compiled; and by other libraries, on numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.linear import QuadraticSolution, factor_semidefinite, solve_elastic, solve_quadratic
from dalembert.math import abs as absolute
from dalembert.math import maximum, sqrt, where
from dalembert.math.entries import is_infinite, largest, objects

from .assembly import Level, TorqueProgram

REGULAR, OPEN = 1e-11, 1e-6  # added to Hessians of size 1: to all, and to what a level leaves to later ones
LEAST = 1e-10  # of the largest diagonal entries: unknowns that matter less count so much
SPARE = 1e-8  # share by which later levels may miss a limit more than the level that found it impossible
ROUNDING = 1e-14  # of gradients of size 1: what is left where earlier levels determine all
DETERMINED = 1e-14  # of a row's squared length: less of it is rounding of the projection

SOLVERS = ("compiled", "daqp", "piqp", "proxqp")


class Solved(NamedTuple):
    """tau of the motors (n,); solved: 1 where all rows are kept, else 0; miss: by which share of their length not."""

    tau: np.ndarray
    solved: Any
    miss: Any
    iterations: Any


class Ordered(NamedTuple):
    """x (n,) of levels in strict order; solved: 1 where all rows are kept, else 0."""

    x: np.ndarray
    solved: Any
    iterations: Any


def solve_levels(program: TorqueProgram) -> Solved:
    """The torques: of each level what the ones before leave free; where no torques keep all rows, the least miss."""
    final, rows = program.levels[-1], (program.C, program.low, program.high)
    elastic = solve_elastic(final.H, final.g, *rows, program.hard)
    if len(program.levels) == 1 and final.limits is None:
        miss = where(elastic.solved > 0.5, 0.0, elastic.violation)
        return Solved(elastic.x, elastic.solved, miss, elastic.iterations)
    strict = in_order(program.levels, *rows)
    torques = np.array([where(strict.solved > 0.5, x, y) for x, y in zip(strict.x, elastic.x, strict=True)])
    miss = where(strict.solved > 0.5, 0.0, elastic.violation)
    return Solved(torques, strict.solved, miss, strict.iterations)


def in_order(levels: Sequence[Level], C: np.ndarray, low: np.ndarray, high: np.ndarray) -> Ordered:
    """The x with low ≤ C x ≤ high that is best for each level among those that are best for the levels before it."""
    levels, scale = _scaled(levels)
    n, C = len(scale), C * scale
    best, P = np.zeros(n), np.eye(n)  # P onto what earlier levels leave
    solved: Any = 1.0
    iterations: Any = 0.0
    for number, level in enumerate(levels):
        H, g, rows, bounds, left = level.H, level.g, C, (low, high), np.zeros((n, n))
        if number + 1 < len(levels):
            G = _left(level.G, P)
            left = P - G.T @ factor_semidefinite(G @ G.T).solve(G)
        if number:  # best + P y; where P ends, y is held at 0
            least = ROUNDING * (largest(map(absolute, g)) + largest(map(absolute, best)))
            g = np.array([where(absolute(x) > least, x, 0.0) for x in P.T @ (H @ best + g)])
            H, rows = P.T @ H @ P + np.eye(n) - P, C @ P
            offset = C @ best
            bounds = _less(low, offset), _less(high, offset)
        H = H + OPEN * left + REGULAR * np.eye(n)
        if level.limits is None:
            answer = solve_quadratic(H, g, rows, *bounds)
            solved = solved * answer.solved
        else:
            C, low, high, answer = _limited(level, H, g, C, low, high, best, P if number else None)
        best, P = best + (P @ answer.x if number else answer.x), left
        iterations = iterations + answer.iterations
    return Ordered(scale * best, solved, iterations)


def _limited(
    level: Level, H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray, best: np.ndarray,
    P: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, QuadraticSolution]:  # fmt: skip
    """(C, low, high) with the limits of a level, as far as they can be kept beside those before, and its solution."""
    assert level.limits is not None
    new, least, most = level.limits
    before, every = len(C), np.concatenate([C, new])
    lows, highs = (np.concatenate([objects(x), objects(y)]) for x, y in ((low, least), (high, most)))
    offset = every @ best
    rows = every if P is None else every @ P
    answer = solve_elastic(H, g, rows, _less(lows, offset), _less(highs, offset), before)
    missed = where(answer.solved > 0.5, 0.0, (1.0 + SPARE) * answer.violation + SPARE)
    sizes = [sqrt(maximum(row @ row, LEAST * LEAST)) for row in rows[before:]]
    spare = np.concatenate([np.zeros(before), np.array([missed * size for size in sizes])])
    return every, _less(lows, spare), _less(highs, -spare), answer


def _scaled(levels: Sequence[Level]) -> tuple[list[Level], np.ndarray]:
    """The levels in unknowns x / scale (n,), which matter about as much as each other; of each, H is of size 1."""
    n, unit = len(levels[0].g), []
    total: Any = np.zeros(n)
    for level in levels:
        unit.append(1.0 / (largest(map(absolute, np.diag(level.H))) + 1e-30))
        total = total + unit[-1] * np.diag(level.H)
    scale = np.array([1.0 / sqrt(maximum(x, LEAST)) for x in total])
    parts = zip(levels, unit, strict=True)
    scaled = []
    for x, u in parts:
        limits = None if x.limits is None else (x.limits[0] * scale, *x.limits[1:])
        scaled.append(Level(u * (scale * (x.H * scale).T), u * scale * x.g, x.G * scale, limits))
    return scaled, scale


def _left(G: np.ndarray, P: np.ndarray) -> np.ndarray:
    """G P, without the rows that earlier levels determine, of which only rounding is left."""
    projected = np.array(G @ P, object)
    for before, row in zip(G, projected, strict=True):
        row *= where(row @ row > DETERMINED * (before @ before), 1.0, 0.0)
    return projected


def _less(bounds: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Bounds minus an offset; infinite ones stay as they are."""
    return objects(x if is_infinite(x) else x - change for x, change in zip(bounds, offset, strict=True))


def solve_with(
    solver: str, H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray | None:
    """The solution by another library, or None where it finds none. Numbers."""
    if solver == "daqp":
        return _daqp(H, g, C, low, high)
    if solver == "piqp":
        return _piqp(H, g, C, low, high)
    if solver == "proxqp":
        return _proxqp(H, g, C, low, high)
    raise unknown("solver", solver, SOLVERS, "whole_body")


def _module(name: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise DalembertError(
            f"whole_body: solver {package!r} needs the package {package}: pip install 'dalembert[qp]', or use "
            "solver='compiled', which needs none"
        ) from None


def _daqp(H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    daqp = _module("daqp", "daqp")
    bounds = np.clip(high, -1e30, 1e30), np.clip(low, -1e30, 1e30)
    senses = np.zeros(len(C), np.int32)
    x, _, flag, _ = daqp.solve(H, g, np.ascontiguousarray(C), *bounds, senses)
    return np.array(x) if flag > 0 else None


def _piqp(H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    piqp = _module("piqp", "piqp")
    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel = 1e-10, 1e-12
    solver.setup(H, g, None, None, C, low, high, None, None)
    status = solver.solve()
    return np.array(solver.result.x) if status == piqp.PIQP_SOLVED else None


def _proxqp(H: np.ndarray, g: np.ndarray, C: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    proxsuite = _module("proxsuite", "proxsuite")
    solver = proxsuite.proxqp.dense.QP(len(g), 0, len(C))
    solver.settings.eps_abs, solver.settings.eps_rel = 1e-9, 0.0
    solver.init(H, g, None, None, C, np.clip(low, -1e20, 1e20), np.clip(high, -1e20, 1e20))
    solver.solve()
    solved = solver.results.info.status == proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED
    return np.array(solver.results.x) if solved else None
