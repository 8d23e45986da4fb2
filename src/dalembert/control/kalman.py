"""A Kalman filter about an equilibrium: states from noisy measurements of some of them.

x' = Φ x + Γ u + w, y = C x + n, with x = [q ⊖ q₀; v], u = tau − tau₀, w caused by disturbing forces that are held over
a period. Φ and Γ are exact for a torque that is held (`linearize(…, step=period)`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError, is_number
from dalembert.robot import Robot

from .gains import per_freedom
from .laws.linear import wrapped_difference

OBSERVABLE = 1e-9  # singular value of [λ1 − Φ; C], relative to the largest
SETTLED = 1e-12  # relative change of the covariance per step that counts as none


class Estimate(NamedTuple):
    """Configuration q (nq,), velocity v (nv,) and covariance (2 nv, 2 nv) of [q ⊖ q₀; v]."""

    q: np.ndarray
    v: np.ndarray
    covariance: np.ndarray


class KalmanFilter:
    """Estimates q and v at a rate; made by `kalman`.

    Phi (2nv, 2nv), Gamma (2nv, nv), C (m, 2nv): the linear model; Q, R: covariances of w and n; gain (2nv, m): of the
    settled filter; poles (2nv,): of its error, per step. coordinates: indices of those that are measured, None where a
    matrix says what is.
    """

    def __init__(
        self, robot: Robot, q: np.ndarray, tau: np.ndarray, Phi: np.ndarray, Gamma: np.ndarray, C: np.ndarray,
        Q: np.ndarray, R: np.ndarray, coordinates: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.robot, self.q, self.tau, self.coordinates = robot, q, tau, coordinates
        self.Phi, self.Gamma, self.C, self.Q, self.R = Phi, Gamma, C, Q, R
        self.covariance = settled(Phi, C, Q, R)
        S = C @ self.covariance @ C.T + R
        self.gain = np.linalg.solve(S, C @ self.covariance).T
        self.poles = np.linalg.eigvals((np.eye(len(Phi)) - self.gain @ C) @ Phi)
        self.reset()

    def __repr__(self) -> str:
        return f"<KalmanFilter of {self.robot.name!r}: {len(self.C)} measurements>"

    def reset(self, q: Any = None, v: Any = None, covariance: Any = None) -> None:
        """Begin at q (nq,), v (nv,), default the equilibrium; covariance (2nv, 2nv), default of the settled filter."""
        n = self.robot.nv
        place = np.zeros(n) if q is None else wrapped_difference(self.robot.model, self.q, np.asarray(q, float))
        self._x = np.concatenate([place, np.zeros(n) if v is None else np.asarray(v, float)])
        self._P = self.covariance.copy() if covariance is None else np.asarray(covariance, float)

    def update(self, measured: Any, tau: Any) -> Estimate:
        """The estimate after a measurement (m,), with the torque tau (nv,) that acted since the one before.

        measured: the coordinates of the measured joints, as encoders show them; where a matrix says what is measured,
        its product with x = [q ⊖ q₀; v].
        """
        count = len(self.C if self.coordinates is None else self.coordinates)
        y = self._displacements(sample("kalman: a measurement", measured, count))
        x = self.Phi @ self._x + self.Gamma @ (sample("kalman: tau", tau, self.robot.nv) - self.tau)
        P = self.Phi @ self._P @ self.Phi.T + self.Q
        S = self.C @ P @ self.C.T + self.R
        K = np.linalg.solve(S, self.C @ P).T
        self._x = x + K @ (y - self.C @ x)
        keep = np.eye(len(x)) - K @ self.C
        self._P = keep @ P @ keep.T + K @ self.R @ K.T  # Joseph's form stays positive
        n = self.robot.nv
        return Estimate(self.robot.integrate(self.q, self._x[:n]), self._x[n:].copy(), self._P.copy())

    def _displacements(self, measured: np.ndarray) -> np.ndarray:
        """The rows of C x that a measurement tells."""
        if self.coordinates is None:
            return measured
        q = self.q.copy()
        q[self.coordinates] = measured
        away = wrapped_difference(self.robot.model, self.q, self.robot.normalize(q))
        return self.C[:, : self.robot.nv] @ away


def sample(what: str, x: Any, count: int) -> np.ndarray:
    """A sample x (count,) of sensors, finite: one NaN would stay in an estimate for ever."""
    x = real_array(what, x, f"expected ({count},)").astype(float)
    if x.shape != (count,) or not np.all(np.isfinite(x)):
        raise DalembertError(f"{what} is {x}, expected ({count},) of finite numbers")
    return x


def kalman(
    robot: Robot,
    q: Any,
    *,
    period: float = 1e-3,
    noise: Any,
    disturbance: Any,
    measured: Any = None,
    tau: Any = None,
) -> KalmanFilter:
    """A Kalman filter about the equilibrium q (nq,), run every `period` [s].

    measured: names of joints whose coordinates are measured, in this order, default all; or a matrix (m, 2nv) of what
    is measured of x = [q ⊖ q₀; v]. noise: standard deviation of each measurement, a number or (m,). disturbance
    [N·m or N]: of forces that the model does not know of, a number or (nv,). tau (nv,): at the equilibrium, default
    that of gravity. What cannot be told from the measurements is an error that names the joint.
    """
    n = robot.nv
    place = robot.normalize(real_array("kalman: q", q, f"expected ({robot.nq},)").astype(float))
    if place.shape != (robot.nq,):
        raise DalembertError(f"kalman: q has shape {place.shape}, expected ({robot.nq},) for robot {robot.name!r}")
    if robot.model.closures:
        raise DalembertError(f"kalman: robot {robot.name!r} has closed loops: the linear model is that of a tree")
    if not (is_number(period) and 0.0 < period < np.inf):
        raise DalembertError(f"kalman: period is {period!r}, expected a time above 0 [s]")
    smooth = robot.without("friction")
    held = smooth.gravity(place) if tau is None else np.asarray(tau, float)
    Phi, Gamma = smooth.linearize(place, np.zeros(n), held, step=float(period))[:2]
    C, coordinates = _measured(robot, measured)
    size = per_freedom("kalman", robot, "disturbance", disturbance, "N·m or N", np.nextafter(0.0, -1.0))
    deviations = real_array("kalman: noise", noise, "expected a number or one each").astype(float)
    if deviations.shape not in ((), (len(C),)):
        raise DalembertError(f"kalman: noise has shape {deviations.shape}, expected a number or ({len(C)},)")
    deviations = np.broadcast_to(deviations, (len(C),))
    if not np.all((deviations > 0.0) & np.isfinite(deviations)):
        raise DalembertError(f"kalman: noise is {noise!r}, expected standard deviations above 0")
    _check_observable(robot, Phi, C)
    Q = Gamma @ np.diag(size**2) @ Gamma.T
    return KalmanFilter(robot, place, held, Phi, Gamma, C, Q, np.diag(deviations**2), coordinates)


def _measured(robot: Robot, measured: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """C (m, 2nv), and the indices of the coordinates that are measured; None: C is given."""
    n = robot.nv
    if measured is None:
        return np.eye(n, 2 * n), np.arange(robot.nq)
    if not isinstance(measured, str) and not len(measured):
        raise DalembertError("kalman: measured is empty: name the joints whose coordinates are measured")
    if isinstance(measured, str) or all(isinstance(name, str) for name in measured):
        names = [measured] if isinstance(measured, str) else list(measured)
        places = [robot.model.joint(name) for name in names]
        for place in places:
            if (mimic := place.joint.mimic) is not None:
                raise DalembertError(
                    f"kalman: joint {place.joint.name!r} follows {mimic.leader!r}: measure that one, whose coordinate "
                    f"is that of {place.joint.name!r}, less {mimic.offset:g}, by {mimic.ratio:g}"
                )
        rows = [k for place in places for k in range(n)[place.v]]
        return np.eye(2 * n)[rows], np.array([k for place in places for k in range(robot.nq)[place.q]])
    C = real_array("kalman: measured", measured, f"expected names of joints or (m, {2 * n})").astype(float)
    if C.ndim != 2 or C.shape[1] != 2 * n:
        raise DalembertError(f"kalman: measured has shape {C.shape}, expected names of joints or (m, {2 * n})")
    if not np.all(np.isfinite(C)) or not np.all(np.abs(C).max(axis=1) > 0.0):
        raise DalembertError("kalman: every row of measured must have finite numbers, not all of them 0")
    return C, None


def _check_observable(robot: Robot, Phi: np.ndarray, C: np.ndarray) -> None:
    """Raise if a motion that does not die out by itself leaves no trace in the measurements; names the joint."""
    n, size = robot.nv, len(Phi)
    for value in np.linalg.eigvals(Phi):
        if abs(value) < 1.0 - 1e-9:
            continue
        test = np.concatenate([value * np.eye(size) - Phi, C / np.abs(C).max()])
        _, sizes, rows = np.linalg.svd(test)
        if sizes[-1] < OBSERVABLE * sizes[0]:
            motion = np.abs(rows[-1])
            k = int(np.argmax(np.maximum(motion[:n], motion[n:])))
            raise DalembertError(
                f"kalman: the measurements do not tell how {robot.model.freedom_names[k]} moves: measure it too"
            )


def settled(Phi: np.ndarray, C: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The covariance (n, n) before a measurement in the long run: the discrete Riccati equation, by doubling."""
    A, G, H = Phi.T.copy(), C.T @ np.linalg.solve(R, C), Q.copy()
    eye = np.eye(len(Phi))
    for _ in range(60):
        W = np.linalg.solve(eye + G @ H, np.concatenate([A, G], axis=1))
        V1, V2 = W[:, : len(A)], W[:, len(A) :]
        following = H + A.T @ H @ V1
        G = G + A @ V2 @ A.T
        A = A @ V1
        change = np.abs(following - H).max()
        H = 0.5 * (following + following.T)
        if change <= SETTLED * max(np.abs(H).max(), 1e-300):
            return H
    raise DalembertError(
        "kalman: the filter does not settle: some motion is neither disturbed nor dies out: give every joint a "
        "disturbance"
    )
