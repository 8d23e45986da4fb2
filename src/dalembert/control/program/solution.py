"""Solving an assembled program: level after level, compiled; and by other libraries, on numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.linear import factor_semidefinite, solve_elastic, solve_quadratic
from dalembert.math import maximum, where

from .assembly import Program

REGULAR = 1e-9  # of the largest diagonal entry, added where a level leaves torques open

SOLVERS = ("compiled", "daqp", "piqp", "proxqp")


class Solved(NamedTuple):
    """tau of the motors (n,); solved: 1 where all rows are kept, else 0; miss: by which share of their length not."""

    tau: np.ndarray
    solved: Any
    miss: Any
    iterations: Any


def solve_levels(program: Program) -> Solved:
    """The torques: of each level what the ones before leave free; where no torques keep all rows, the least miss."""
    n = len(program.levels[0].g)
    final = program.levels[-1]
    if len(program.levels) == 1:
        best = solve_elastic(final.H, final.g, program.C, program.low, program.high, program.hard)
        return Solved(best.x, best.solved, where(best.solved > 0.5, 0.0, best.violation), best.iterations)
    tau, P = np.zeros(n), np.eye(n)
    solved: Any = 1.0
    iterations: Any = 0.0
    for number, level in enumerate(program.levels):
        H, g = level.H, level.g
        low, high, C = program.low, program.high, program.C
        if number:  # τ = τ so far + P y, where P keeps the rows of earlier levels
            g = P.T @ (H @ tau + g)
            H, C = P.T @ H @ P, C @ P
            offset = program.C @ tau
            low, high = _less(low, offset), _less(high, offset)
        size: Any = 0.0
        for k in range(n):
            size = maximum(size, H[k, k])
        answer = solve_quadratic(H + (REGULAR * size + 1e-30) * np.eye(n), g, C, low, high)
        tau = tau + (P @ answer.x if number else answer.x)
        solved, iterations = solved * answer.solved, iterations + answer.iterations
        if number + 1 < len(program.levels):
            G = level.G @ P
            W = factor_semidefinite(G @ G.T)
            P = P @ (np.eye(n) - G.T @ W.solve(G))
    rough = solve_elastic(final.H, final.g, program.C, program.low, program.high, program.hard)
    torques = np.array([where(solved > 0.5, x, y) for x, y in zip(tau, rough.x, strict=True)])
    return Solved(torques, solved, where(solved > 0.5, 0.0, rough.violation), iterations)


def _less(bounds: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Bounds minus an offset; infinite ones stay as they are."""
    shifted = np.empty(len(bounds), object)
    shifted[:] = [
        bound if isinstance(bound, float) and np.isinf(bound) else bound - change
        for bound, change in zip(bounds, offset, strict=True)
    ]
    return shifted


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
