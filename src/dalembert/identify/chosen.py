"""Fits of chosen parameters by simulation, from logs of positions and of torques or controls.

Whole logs, or pieces of them, are simulated from starts that are unknowns as well; positions alone are compared, so
that noisy encoders need no differentiation. Gauss-Newton steps within bounds (Levenberg-Marquardt); the starts are
eliminated piece by piece, and all directions of all pieces are one batch of rollouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot
from dalembert.sim.rollout.rollout import rollout
from dalembert.sim.settings import Settings

from .live_names import Chosen
from .pieces import Pieces, cut

ITERATIONS, TRIALS = 60, 12
SHIFT = 1e-4  # of the size of a number: step of the differences, whose error is then below that of any log
COARSE, SETTLED = 1e-4, 1e-9  # relative change of the cost at which weights are chosen anew, and at which it ends
ROUNDS = 3  # of new weights
CONFIDENCE = 1.96  # standard deviations of an interval that holds the truth in 95 of 100 cases
UNSEEN = 1e-10  # of the largest information about a number: below it the log does not show it
PARTS, SHORTEST = (16, 4, 1), 20  # into which pieces are cut at first; samples of the shortest
BEGIN = 8  # samples of which the speed at the start is guessed


@dataclass(frozen=True, eq=False)
class ChosenFit:
    """Chosen parameters found from logs.

    names: of the parameters; x (n,): their values; interval (n, 2): of 95 %, infinite for what the logs do not show;
    robot: with these values; sigma (nv,): noise of the positions [rad or m]; q: simulated positions of each piece
    (steps, nq), beside `measured`; converged, iterations: of the search; log: what was assumed.
    """

    names: tuple[str, ...]
    x: np.ndarray
    interval: np.ndarray
    robot: Robot
    sigma: np.ndarray
    q: tuple[np.ndarray, ...] = field(repr=False)
    measured: tuple[np.ndarray, ...] = field(repr=False)
    converged: bool
    iterations: int
    log: tuple[str, ...]

    @property
    def unseen(self) -> tuple[str, ...]:
        """Parameters that the logs do not show."""
        return tuple(name for name, ends in zip(self.names, self.interval, strict=True) if not np.isfinite(ends).all())

    def __getitem__(self, name: str) -> float:
        """Return the value of a parameter."""
        if name not in self.names:
            raise unknown("parameter", name, self.names, "fit")
        return float(self.x[self.names.index(name)])

    def __str__(self) -> str:
        """Return a table of the values and their intervals."""
        width = max(map(len, self.names))
        rows = [
            f"{name:{width}}  {value:12.6g}  [{low:.6g}, {high:.6g}]"
            for name, value, (low, high) in zip(self.names, self.x, self.interval, strict=True)
        ]
        return "\n".join([*rows, *self.log])


def fit_chosen(
    robot: Robot, logs: Sequence[Any], names: Sequence[str], bounds: Mapping[str, Sequence[float]],
    start: Mapping[str, float], *, piece: float | None = None, substeps: int = 1, integrator: str | None = None,
    contact: Any = None,
) -> ChosenFit:  # fmt: skip
    """See `identify.fit`."""
    chosen = Chosen(robot, names)
    ends, x = chosen.bounds(bounds), chosen.own.copy()
    for name, value in start.items():
        if name not in chosen.names:
            raise unknown("parameter", name, chosen.names, "fit: start")
        x[chosen.names.index(name)] = float(value)
    for name, value, (low, high) in zip(chosen.names, x, ends, strict=True):
        if not low <= value <= high:
            raise DalembertError(
                f"fit: {name!r} starts at {value:g}, outside its bounds {low:g} … {high:g}: give start={{{name!r}: …}}"
            )
    if not isinstance(substeps, int) or substeps < 1:
        raise DalembertError(f"fit: substeps is {substeps!r}, expected a whole number, 1 or more")
    pieces = cut(robot, logs, piece)
    settings = {"integrator": integrator, "contact": contact}
    starts, before = None, 1
    for parts in PARTS:  # short pieces first, whose motions depend on their starts more than on parameters
        if parts == 1 or pieces.inputs.shape[1] >= parts * SHORTEST:
            search = _ChosenSearch(chosen, pieces.parts(parts), ends, substeps, settings)
            x, starts = search.run(x, None if starts is None else starts[:: before // parts], parts == 1)
            before = parts
    assert starts is not None
    return search.result(x, starts)


class _ChosenSearch:
    """Parameters x (n,) and starts, [displacement; speed] (S, 2 nv), for which simulated positions are the measured."""

    def __init__(
        self, chosen: Chosen, pieces: Pieces, ends: np.ndarray, substeps: int, settings: dict[str, Any]
    ) -> None:
        self.chosen, self.pieces, self.ends = chosen, pieces, ends
        self.substeps, self.settings, self.robot = substeps, settings, chosen.robot
        self.weights, self.iterations, self.converged = np.ones(self.robot.nv), 0, False

    def simulated(self, x: np.ndarray, starts: np.ndarray, of: np.ndarray) -> np.ndarray:
        """(B, L + 1, nq): positions with x (B, n) from starts (B, 2 nv) of pieces `of` (B,)."""
        pieces, nv = self.pieces, self.robot.nv
        q0 = self.robot.integrate(pieces.q[of, 0], starts[:, :nv])
        held = np.repeat(pieces.inputs[of], self.substeps, axis=1)
        run = rollout(
            self.robot.model,
            q0,
            starts[:, nv:],
            Settings(
                torque=None if pieces.controls else held,
                controls=held if pieces.controls else None,
                step=pieces.step / self.substeps,
                steps=held.shape[1],
                every=self.substeps,
                parameters=self.chosen.live(x),
                **self.settings,
            ),
            check=False,
        )
        return np.concatenate([q0[:, None], run.q], axis=1)

    def residual(self, x: np.ndarray, starts: np.ndarray, of: np.ndarray) -> np.ndarray:
        """(B, (L + 1) nv): weighted errors of positions."""
        off = self.robot.difference(self.pieces.q[of], self.simulated(x, starts, of), check=False)
        return (off * self.weights).reshape(len(of), -1)

    def slopes(self, x: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(S, r, n) in the parameters and (S, r, 2 nv) in the starts, by central differences in one batch."""
        n, S = len(x), len(starts)
        size = np.concatenate([self.scale, np.ones(starts.shape[1])]) * SHIFT
        count = len(size)
        signs = np.concatenate([np.eye(count), -np.eye(count)]) * size
        ways, of = np.tile(signs, (S, 1)), np.repeat(np.arange(S), 2 * count)
        inside = np.clip(x + ways[:, :n], *self.ends.T)  # at a bound the difference is one-sided
        both = self.residual(inside, starts[of] + ways[:, n:], of).reshape(S, 2, count, -1)
        width = (inside.reshape(S, 2, count, n)[:, 0] - inside.reshape(S, 2, count, n)[:, 1])[0, :n].diagonal()
        spans = np.concatenate([width, 2.0 * size[n:]])
        J = ((both[:, 0] - both[:, 1]) / spans[None, :, None]).swapaxes(1, 2)
        return J[:, :, :n], J[:, :, n:]

    def run(self, x: np.ndarray, starts: np.ndarray | None, exact: bool) -> tuple[np.ndarray, np.ndarray]:
        """(x, starts) of the least squares, weighted by the noise of each freedom; exact: to the end."""
        self.scale = np.where(np.abs(x) > 0.0, np.abs(x), np.where(np.isfinite(self.ends[:, 1]), self.ends[:, 1], 1.0))
        if starts is None:  # at the first sample, with the mean speed of the first few
            q, count = self.pieces.q, min(BEGIN, self.pieces.q.shape[1] - 1)
            t = self.pieces.step * np.arange(count + 1)
            off = self.robot.difference(np.repeat(q[:, :1], count + 1, axis=1), q[:, : count + 1])
            speed = np.einsum("t,stn->sn", t - t.mean(), off) / np.sum((t - t.mean()) ** 2)
            starts = np.concatenate([np.zeros_like(speed), speed], axis=1)
        r = self.residual(np.tile(x, (len(starts), 1)), starts, np.arange(len(starts)))
        if not np.isfinite(r).all():
            raise _diverged()
        damping, rounds = 1e-3, 0
        while self.iterations < ITERATIONS and not self.converged:
            self.iterations += 1
            x, starts, r, damping, gained = self._step(x, starts, r, damping)
            last = rounds == ROUNDS
            if gained <= (SETTLED if last and exact else COARSE):
                self.converged = last
                r, rounds = self._reweighted(r), rounds + 1  # all freedoms alike at first, then by their noise
        return x, starts

    def _step(
        self, x: np.ndarray, starts: np.ndarray, r: np.ndarray, damping: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
        """One step with the least damping that lowers the cost, and its relative gain."""
        A, B = self.slopes(x, starts)
        if not np.isfinite(A).all() or not np.isfinite(B).all():
            raise _diverged()
        A, every, cost = A * self.scale, np.arange(len(starts)), float(np.sum(r * r))
        pushes = np.einsum("srn,sr->n", A, r)
        at_bound = ((x <= self.ends[:, 0]) & (pushes > 0.0)) | ((x >= self.ends[:, 1]) & (pushes < 0.0))
        A = np.where(at_bound, 0.0, A)
        for _ in range(TRIALS):
            dx, dz = self._solved(A, B, r, damping)
            new = np.clip(x + self.scale * dx, *self.ends.T)
            moved = starts + dz
            trial = self.residual(np.tile(new, (len(starts), 1)), moved, every)
            after = float(np.sum(trial * trial))
            if np.isfinite(after) and after <= cost:
                gained = (cost - after) / max(cost, 1e-300)
                return new, moved, trial, max(damping / 10.0, 1e-12), gained
            damping *= 8.0
        return x, starts, r, damping, 0.0

    @staticmethod
    def _solved(A: np.ndarray, B: np.ndarray, r: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """Damped Gauss-Newton step, the starts of each piece eliminated."""
        H, g = np.einsum("srn,srm->nm", A, A), np.einsum("srn,sr->n", A, r)
        H = H + damping * np.diag(np.diag(H)) + 1e-300 * np.eye(len(H))
        C = np.einsum("srk,srm->skm", B, B)
        C = C * (1.0 + damping * np.eye(C.shape[1])) + 1e-14 * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(
            C.shape[1]
        )
        D, h = np.einsum("srk,srn->skn", B, A), np.einsum("srk,sr->sk", B, r)
        X = np.linalg.solve(C, np.concatenate([D, h[:, :, None]], axis=2))
        reduced = H - np.einsum("skn,skm->nm", D, X[:, :, :-1])
        dx = -np.linalg.lstsq(reduced, g - np.einsum("skn,sk->n", D, X[:, :, -1]), rcond=1e-14)[0]
        return dx, -X[:, :, -1] - X[:, :, :-1] @ dx

    def _reweighted(self, r: np.ndarray) -> np.ndarray:
        """Residuals in units of each freedom's own noise."""
        off = r.reshape(*r.shape[:-1], -1, self.robot.nv) / self.weights
        noise = np.sqrt(np.mean(off**2, axis=tuple(range(off.ndim - 1))))
        self.weights = 1.0 / np.maximum(noise, 1e-6 * max(float(noise.max()), 1e-12))
        return (off * self.weights).reshape(r.shape)

    def result(self, x: np.ndarray, starts: np.ndarray) -> ChosenFit:
        """Values with their intervals."""
        every = np.arange(len(starts))
        r = self._reweighted(self.residual(np.tile(x, (len(starts), 1)), starts, every))
        A, B = self.slopes(x, starts)
        A = A * self.scale
        unknowns, nv = len(x) + starts.size, self.robot.nv
        spare = max(1.0 - unknowns / r.size, 1.0 / r.size)
        C = np.einsum("srk,srm->skm", B, B)
        D = np.einsum("srk,srn->skn", B, A)
        inverse = np.linalg.pinv(C, rcond=UNSEEN, hermitian=True)
        information = np.einsum("srn,srm->nm", A, A) - np.einsum("skn,skl,slm->nm", D, inverse, D)
        sizes, axes = np.linalg.eigh(information)
        seen = sizes > UNSEEN * max(float(sizes.max()), 1e-300)
        hidden = (axes[:, ~seen] ** 2).sum(axis=1) > 1e-6
        spread = np.sqrt(((axes[:, seen] ** 2) / sizes[seen]).sum(axis=1) / spare) * self.scale
        half = np.where(hidden, np.inf, CONFIDENCE * spread)
        notes = [] if self.converged else [f"not converged after {self.iterations} iterations"]
        for name, value, (low, high) in zip(self.chosen.names, x, self.ends, strict=True):
            if value in (low, high):
                notes.append(f"{name} is at its bound {value:g}: its interval does not hold")
        off = (r.reshape(*r.shape[:-1], -1, nv) / self.weights).reshape(-1, nv)
        sigma = np.sqrt(np.mean(off**2, axis=0) / spare)
        q = self.simulated(np.tile(x, (len(starts), 1)), starts, every)
        return ChosenFit(
            self.chosen.names,
            x,
            np.column_stack([x - half, x + half]),
            self.chosen.robot_with(x),
            sigma,
            tuple(q),
            tuple(self.pieces.q),
            self.converged,
            self.iterations,
            tuple(notes),
        )


def _diverged() -> DalembertError:
    return DalembertError(
        "fit: simulated motions diverge near the start values: give start=… nearer to the truth, substeps=… of the "
        "simulation, or piece=… [s], shorter pieces with starts of their own"
    )
