"""Where the iterations begin: a guess, or the robot at rest, held by its motors; or, where it moves, moving on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics.algorithms import constraints
from dalembert.errors import DalembertError

from .plan import Plan

if TYPE_CHECKING:
    from .solver import Solver


def begin(solver: Solver, q: np.ndarray, v: np.ndarray, guess: Any) -> None:
    """The first trajectory of a solver, from the state q (nq,), v (nv,) with its parameters."""
    motion = solver.problem.motion
    if solver.problem.constants.count or motion.has_free_steps:
        _constants(solver, q, v)
    states, velocities, controls = solver.q[0], solver.v[0], solver.w[0]
    if guess is not None:
        _take(solver, guess)
        states[0], velocities[0] = q, v
        if motion.is_linear:  # states that the accelerations give: all nodes are two sums
            velocities[1:] = velocities[0] + solver.problem.step * np.cumsum(controls, axis=0)
            states[1:] = states[0] + solver.problem.step * np.cumsum(velocities[1:], axis=0)
        return
    states[:], velocities[:] = q, v
    if motion.driven and not motion.by_acceleration:
        controls[:] = _holding(solver, q)
    else:
        controls.fill(0.0)
    if motion.by_acceleration and any(v.tolist()):
        if motion.is_linear:
            states += solver.times * v
        else:
            for k, step in enumerate(solver.steps):
                states[k + 1] = motion.robot.integrate(states[k], v, step)


def _constants(solver: Solver, q: np.ndarray, v: np.ndarray) -> None:
    """Constants as they are given, and the steps that follow from them."""
    problem, values = solver.problem, solver.constants[0]
    for name in problem.constants.unknowns:
        values[f"unknown {name}"][:] = solver.parameters[name][0]
    if problem.constants.with_start:
        values["start q"][:], values["start v"][:] = q, v
    if not problem.motion.has_free_steps:
        return
    rows = [{name: x[k] for name, x in solver.parameters.items()} for k in range(problem.nodes)]
    solver.steps = np.array([float(problem.step_at(row)) for row in rows])
    good = (solver.steps >= 0.0) & (solver.steps < np.inf)
    if not np.all(good):
        k = int(np.argmin(good))
        raise DalembertError(f"solve: step is {solver.steps[k]} at node {k}, expected a time ≥ 0 [s]")


def _holding(solver: Solver, q: np.ndarray) -> np.ndarray:
    """Controls (nodes, m) of least size that hold the robot still at q, with the contacts of each node."""
    robot, motion = solver.problem.robot, solver.problem.motion
    gravity, driven = np.asarray(robot.gravity(q)), list(motion.driven)
    selected, shape = np.eye(robot.nv)[:, driven], solver.w[0].shape
    if robot.model.closures:
        J = np.asarray(constraints(robot.model, q, np.zeros(robot.nv)).J, float)
        return np.broadcast_to(_least(np.hstack([selected, J.T]), gravity)[: len(driven)], shape)
    if motion.contacts is None:
        return np.broadcast_to(gravity[driven], shape)
    rows = [np.asarray(robot.jacobian(q, name))[-size:] for name, size in motion.contacts.rows.items()]
    stances, held = [tuple(stance) for stance in solver.parameters["stance"][:-1].tolist()], {}
    for stance in set(stances):
        matrix = np.hstack([selected, *(s * row.T for s, row in zip(stance, rows, strict=True) if s)])
        held[stance] = _least(matrix, gravity)[: len(driven)]
    return np.array([held[stance] for stance in stances])


def _least(matrix: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """The smallest x for which matrix · x comes nearest to the forces."""
    return np.linalg.lstsq(matrix, forces, rcond=None)[0]


def _take(solver: Solver, guess: Any) -> None:
    """A plan, or (q, v, u), as the first trajectory."""
    problem, N = solver.problem, solver.problem.nodes
    parts = (guess.q, guess.v, guess.u) if isinstance(guess, Plan) else guess
    if not (isinstance(parts, (tuple, list)) and len(parts) == 3):
        raise DalembertError(f"solve: guess is of type {type(guess).__name__}, expected a plan or (q, v, u)")
    wanted = ((N + 1, problem.robot.nq), (N + 1, problem.robot.nv), (N, problem.motion.controls))
    q, v, u = (
        real_array(f"solve: {name} of the guess", x, f"expected {shape}")
        for name, x, shape in zip("qvu", parts, wanted, strict=True)
    )
    for name, x, shape in zip("qvu", (q, v, u), wanted, strict=True):
        if x.shape != shape:
            raise DalembertError(f"solve: {name} of the guess has shape {x.shape}, expected {shape}")
        if not np.all(np.isfinite(x)):
            node = int(np.argmin(np.isfinite(x).all(axis=1)))
            raise DalembertError(f"solve: {name} of the guess has NaN or inf at node {node}, expected finite numbers")
    solver.q[0][:], solver.v[0][:] = q, v
    if problem.motion.by_acceleration:
        solver.w[0][:] = np.diff(solver.v[0], axis=0) / solver.steps[:, None]
    else:
        solver.w[0][:] = u
