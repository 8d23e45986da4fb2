"""Output-error fits: parameters with which simulated motions follow the log.

The log is cut into short pieces. Each starts where the log is, is driven by the measured torques, and is compared with
the measured positions and velocities. Levenberg-Marquardt on the logarithms of friction and rotors, the log-Cholesky
parameters of bodies (Rucker, Wensing 2022), offsets and one delay of the torques, near the fit it starts from. All
pieces and all directions of the Jacobian are one batch of rollouts with their rates of change, which are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compiler.graph import jvp
from dalembert.errors import DalembertError
from dalembert.loading import function
from dalembert.robot import Robot
from dalembert.sim.rollout.adjoint import rollout_rates
from dalembert.sim.rollout.rollout import rollout
from dalembert.sim.settings import Settings
from dalembert.spatial.pseudo_inertia import from_pseudo_inertia, pseudo_inertia

from .columns import INERTIAL, Columns
from .fitted import Fit, Log
from .physical import possible

PIECE = 0.25  # [s]: long enough to feel friction, short enough that errors of the start do not grow
PIECES = 48  # at most, spread over the logs
ITERATIONS = 30
NEAR = 1e-3  # weight of the fit it starts from, per parameter, in units of the noise
LOOKS = 16  # samples of a piece that are compared with the log
DIAGONAL, BELOW = range(4), ([1, 2, 2, 3, 3, 3], [0, 0, 1, 0, 1, 2])  # of a lower triangle
DIVERGED = 1e6  # weighted error of a simulated motion that has left all numbers
SMALLEST = 1e-6  # friction or rotor inertia below which a logarithm begins


@dataclass(frozen=True)
class SimulationFit(Fit):
    """A fit whose simulated motions follow the log.

    delay [s]: by which torques act later than the log says; position_rms (nv,): how far simulated pieces of PIECE
    seconds end up from the log, root mean square; before: the same with the parameters it started from.
    """

    delay: float = 0.0
    position_rms: np.ndarray | None = None
    before: np.ndarray | None = None


@dataclass(frozen=True)
class _LogPieces:
    """q0 (S, nq), v0 (S, nv), tau (S, L + 2 margin, nv); of every k-th sample q (S, n, nq), v (S, n, nv)."""

    q0: np.ndarray
    v0: np.ndarray
    tau: np.ndarray
    q: np.ndarray
    v: np.ndarray
    step: float
    margin: int
    every: int

    @property
    def length(self) -> int:
        """L: steps of a piece."""
        return self.q.shape[1] * self.every


def refined(start: Fit, logs: Sequence[Log]) -> SimulationFit:
    """The fit whose simulated motions follow the logs, from one that explains their torques."""
    columns = start.columns
    if "stribeck" in columns.friction:
        raise DalembertError("fit: method 'simulation' has no Stribeck friction: leave it out, or use 'physical'")
    pieces = _cut(columns.robot, logs)
    codec = _Codec(columns, start.x)
    theta = codec.start()
    weights = _weights(columns.robot, pieces)
    residual, damping = _residual(codec, pieces, weights, theta), 1e-2
    if np.abs(residual).max(initial=0.0) >= DIVERGED:
        raise DalembertError(
            f"fit: method 'simulation': motions simulated in steps of {1e3 * pieces.step:.3g} ms, those of the log, "
            "diverge: give a log with a higher rate, take in the rotors' inertia (rotor=True), or stay with 'physical'"
        )
    begin, first = residual, theta
    for _ in range(ITERATIONS):
        J = _jacobian(codec, pieces, weights, theta)
        H = J.T @ J + NEAR * np.eye(len(theta))
        slope = J.T @ residual + NEAR * (theta - first)
        cost = residual @ residual + NEAR * np.sum((theta - first) ** 2)
        for _ in range(10):
            change = -np.linalg.solve(H + damping * np.diag(np.diag(H)), slope)
            change = np.clip(change, -1.0, 1.0)
            trial = _residual(codec, pieces, weights, theta + change)
            new = trial @ trial + NEAR * np.sum((theta + change - first) ** 2)
            if np.isfinite(new) and new < cost:
                break
            damping *= 4.0
        else:
            break
        theta, residual, damping = theta + change, trial, max(damping / 6.0, 1e-9)
        if cost - new < 1e-4 * cost:
            break
    x, delay = codec.decoded(theta)
    return SimulationFit(
        "simulation",
        columns,
        x,
        start.sigma,
        start.data,
        start.samples,
        start.doubts,
        (*start.log, f"torques act {1e3 * delay:.2f} ms later than the log says"),
        start.titles,
        delay,
        _position_rms(columns.robot, pieces, residual, weights),
        _position_rms(columns.robot, pieces, begin, weights),
    )


class _Codec:
    """Free numbers theta ↔ parameters x and delay."""

    def __init__(self, columns: Columns, x: np.ndarray) -> None:
        self.columns, self.x = columns, x
        self.count = len(columns.bodies)

    def start(self) -> np.ndarray:
        bodies, _ = possible(self.x[: self.columns.inertial].reshape(-1, len(INERTIAL)))
        self.scale = np.linalg.cholesky(pseudo_inertia(bodies))  # theta 0 is the start itself
        parts = [np.zeros(10 * self.count)]
        for name in self.columns.terms:
            value = self.x[self.columns.term(name)]
            parts.append(value if name == "offset" else np.log(np.maximum(value, SMALLEST)))
        return np.concatenate([*parts, [0.0]])

    def _factor(self, theta: np.ndarray) -> np.ndarray:
        """(bodies, 4, 4): U with the pseudo-inertias U Uᵀ."""
        L = np.zeros((self.count, 4, 4))
        rows = theta[: 10 * self.count].reshape(-1, 10)
        L[:, DIAGONAL, DIAGONAL] = np.exp(0.5 * rows[:, :4])
        L[:, BELOW[0], BELOW[1]] = 0.5 * rows[:, 4:]
        return np.asarray(self.scale @ L)

    def decoded(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """x and the delay [s]; theta's last entry is in ms."""
        x = np.empty_like(self.x)
        U = self._factor(theta)
        x[: self.columns.inertial] = from_pseudo_inertia(U @ np.swapaxes(U, 1, 2)).ravel()
        begin, nv = 10 * self.count, self.columns.robot.nv
        for name in self.columns.terms:
            part = theta[begin : begin + nv]
            x[self.columns.term(name)] = part if name == "offset" else np.exp(part)
            begin += nv
        return x, 1e-3 * float(theta[-1])

    def rates(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of x (n, len(x)) and of the delay (n,) in each entry of theta."""
        slopes = np.zeros((len(theta), len(self.x)))
        U, rows = self._factor(theta), theta[: 10 * self.count].reshape(-1, 10)
        for k in range(10):
            dL = np.zeros((self.count, 4, 4))
            if k < 4:
                dL[:, k, k] = 0.5 * np.exp(0.5 * rows[:, k])
            else:
                dL[:, BELOW[0][k - 4], BELOW[1][k - 4]] = 0.5
            dP = self.scale @ dL @ np.swapaxes(U, 1, 2)
            moved = from_pseudo_inertia(dP + np.swapaxes(dP, 1, 2))
            for body in range(self.count):
                slopes[10 * body + k, 10 * body : 10 * body + 10] = moved[body]
        begin, nv = 10 * self.count, self.columns.robot.nv
        for name in self.columns.terms:
            part = theta[begin : begin + nv]
            slopes[begin : begin + nv, self.columns.term(name)] = np.diag(
                np.ones(nv) if name == "offset" else np.exp(part)
            )
            begin += nv
        delays = np.zeros(len(theta))
        delays[-1] = 1e-3
        return slopes, delays


def _cut(robot: Robot, logs: Sequence[Log]) -> _LogPieces:
    """Pieces of equal length, spread evenly over the logs."""
    steps = {round(float(np.median(np.diff(log.t))), 9) for log in logs}
    if len(steps) > 1:
        raise DalembertError("fit: method 'simulation' needs logs of one sampling rate: resample them")
    step = steps.pop()
    every = max(1, round(PIECE / step / LOOKS))
    length = every * max(1, round(PIECE / step / every))
    margin = max(2, round(0.03 / step))
    rows: list[list[np.ndarray]] = [[], [], [], [], []]
    for log in logs:
        if np.abs(np.diff(log.t) - step).max() > 0.05 * step:
            raise DalembertError("fit: method 'simulation' needs an even sampling rate: resample the log")
        count = min(max(1, PIECES // len(logs)), (len(log.t) - 2 * margin) // length)
        if count < 1:
            raise DalembertError(f"fit: method 'simulation' needs logs of more than {PIECE + 2 * margin * step:.2g} s")
        measured = np.asarray(log.tau, float)
        if not np.all(np.isfinite(measured)):
            raise DalembertError("fit: method 'simulation' needs torques without gaps")
        for at in np.linspace(margin, len(log.t) - length - margin - 1, count).astype(int):
            rows[0].append(log.q[at])
            rows[1].append(log.v[at])
            rows[2].append(measured[at - margin : at + length + margin])
            rows[3].append(log.q[at + every : at + length + 1 : every])
            rows[4].append(log.v[at + every : at + length + 1 : every])
    q0, v0, tau, q, v = (np.array(each) for each in rows)
    return _LogPieces(q0, v0, tau, q, v, step, margin, every)


def _settings(codec: _Codec, pieces: _LogPieces, theta: np.ndarray) -> Settings:
    """The rollouts of all pieces with parameters theta."""
    columns = codec.columns
    x, delay = codec.decoded(theta)
    offset = x[columns.term("offset")] if "offset" in columns.friction else 0.0
    return Settings(
        torque=_delayed(pieces, delay)[0] - offset,
        step=pieces.step,
        steps=pieces.length,
        integrator="rk4",
        every=pieces.every,
        parameters=columns.live(x),
    )


def _delayed(pieces: _LogPieces, delay: float) -> tuple[np.ndarray, np.ndarray]:
    """(S, L, nv): the mean torque over each step, `delay` seconds ago, by linear interpolation; its slope in delay."""
    at = pieces.margin + np.arange(pieces.length) + 0.5 - delay / pieces.step
    last = pieces.tau.shape[1] - 1.001
    inside = (at > 0.0) & (at < last)
    at = np.clip(at, 0.0, last)
    low = np.floor(at).astype(int)
    share = (at - low)[:, None]
    before, after = pieces.tau[:, low], pieces.tau[:, low + 1]
    return (1.0 - share) * before + share * after, inside[:, None] * (before - after) / pieces.step


def _weights(robot: Robot, pieces: _LogPieces) -> tuple[np.ndarray, np.ndarray]:
    """Weights of errors of position and velocity: relative to how both change within a piece."""
    far = robot.difference(np.repeat(pieces.q0[:, None], pieces.q.shape[1], 1), pieces.q)
    size = np.sqrt(np.mean(far**2, axis=(0, 1)))
    speed = np.sqrt(np.mean((pieces.v - pieces.v0[:, None]) ** 2, axis=(0, 1)))
    count = np.sqrt(far[..., 0].size)
    return 1e2 / (np.maximum(size, 1e-6) * count), 1e2 / (np.maximum(speed, 1e-6) * count)


def _residual(
    codec: _Codec, pieces: _LogPieces, weights: tuple[np.ndarray, np.ndarray], theta: np.ndarray
) -> np.ndarray:
    """(n,): position and velocity errors, weighted."""
    robot = codec.columns.robot
    run = rollout(robot.model, pieces.q0, pieces.v0, _settings(codec, pieces, theta), check=False)
    away = robot.difference(pieces.q, run.q, check=False)
    both = np.concatenate([away * weights[0], (run.v - pieces.v) * weights[1]], axis=-1)
    return np.nan_to_num(both.ravel(), nan=DIVERGED, posinf=DIVERGED, neginf=-DIVERGED)


def _jacobian(
    codec: _Codec, pieces: _LogPieces, weights: tuple[np.ndarray, np.ndarray], theta: np.ndarray
) -> np.ndarray:
    """(n, parameters): exact slopes of the residuals, all directions and pieces in one batch."""
    columns, robot = codec.columns, codec.columns.robot
    slopes, delays = codec.rates(theta)
    torque = delays[:, None, None, None] * _delayed(pieces, codec.decoded(theta)[1])[1]
    if "offset" in columns.friction:
        torque -= slopes[:, None, None, columns.term("offset")]
    rates = {group: x[:, None] for group, x in columns.live_rates(slopes).items()} | {"torque": torque}
    run = rollout_rates(robot.model, pieces.q0, pieces.v0, _settings(codec, pieces, theta), rates)

    def difference_rates(q0: Any, q1: Any, rate: Any) -> Any:
        return jvp(robot.difference(q0, q1), dict(zip(q1, rate, strict=True)))

    compiled = function(difference_rates, robot, rate=robot.nq)
    away = compiled(np.broadcast_to(pieces.q, run.q.shape), run.q, run.q_rate)
    both = np.concatenate([away * weights[0], run.v_rate * weights[1]], axis=-1)
    return np.nan_to_num(both.reshape(len(theta), -1).T)


def _position_rms(
    robot: Robot, pieces: _LogPieces, residual: np.ndarray, weights: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    nv = robot.nv
    away = residual.reshape(*pieces.q.shape[:2], 2 * nv)[..., :nv] / weights[0]
    return np.sqrt(np.mean(away[:, -1] ** 2, axis=0))
