"""Linear-quadratic regulation about an equilibrium.

u = −K x minimises ∫ xᵀQx + uᵀRu of ẋ = A x + B u, K = R⁻¹BᵀP, AᵀP + PA − P B R⁻¹ Bᵀ P + Q = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.contact import Contact
from dalembert.dynamics.algorithms import difference
from dalembert.errors import DalembertError, renamed
from dalembert.math import atan2, cos, sin
from dalembert.model import Model, Motors, motorized, motors_of
from dalembert.robot import Robot

from .law import Law, within_effort

BALANCED = 1e-6  # of the largest gravity torque: what a passive joint may lack
CARRIED = 1e-4  # the same of an equilibrium in contact, whose stiff forces an iteration has found
DRIFTS = 1e-9  # singular value of [A, B] below which a motion stays as it is whatever the motors do
REFINED, EXACT = 3, 1e-9  # solutions of a Lyapunov equation that correct each other, and its relative residual
CONTROLLABLE = 1e-9  # singular value of [λ1 − A, B], relative to the largest


class LinearQuadratic(Law):
    """tau = tau₀ − K [q ⊖ q₀; v], within the motors' limits.

    K (nv, 2nv), with rows of 0 at passive joints; P (2nv, 2nv): xᵀPx is the cost that is left; poles (2nv,) [1/s];
    motors: the joints that count as motorised, and why; notes: the same in words.
    """

    def __init__(
        self, robot: Robot, motors: Motors, q: np.ndarray, tau: np.ndarray, K: np.ndarray, P: np.ndarray, poles: Any
    ) -> None:
        self.robot, self.q, self.tau, self.K, self.P, self.poles = robot, q, tau, K, P, poles
        self.motors, self.notes = motors, (str(motors),)

    def state(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """x = [q ⊖ q₀; v] (2nv,); angles of joints that turn freely by the shorter way."""
        return np.concatenate([wrapped_difference(self.robot.model, self.q, q), v])

    def cost(self, q: np.ndarray, v: np.ndarray) -> Any:
        """xᵀPx: what is left to pay, by the linear model."""
        x = self.state(q, v)
        return x @ (self.P @ x)

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return within_effort(self.robot, self.tau - self.K @ self.state(q, v))


def wrapped_difference(model: Model, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """The displacement (nv,) from q0 to q1; of angles that turn freely, between −π and π."""
    e = np.array(difference(model, q0, q1))
    for body in model.independent:
        if body.joint.kind == "continuous":
            for k in range(body.v.start, body.v.stop):
                e[k] = atan2(sin(e[k]), cos(e[k]))
    return e


@renamed(q="goal")
def lqr(
    robot: Robot,
    goal: Any,
    Q: Any = None,
    R: Any = None,
    motors: str | Sequence[str] | None = None,
    *,
    contact: Contact | None = None,
    tau: Any = None,
) -> LinearQuadratic:
    """Linear-quadratic regulator about the equilibrium `goal` (nq,).

    Q (2nv, 2nv) or its diagonal (2nv,), of x = [δq; v]; R (m, m) or its diagonal (m,) or a number, of the torques of
    the m motors; default both 1. motors: names of the joints that have one; default `robot.motors`, which the law
    names. Joints without a motor get no torque; one that gravity moves there, and motions that no motor can reach, are
    errors that name the joint. Friction is left out of the linear model.

    contact: a `dalembert.Contact`, on which a robot with a free base stands: goal is `robot.equilibrium(q0,
    contact=…).q`, and tau (nv,), default the inverse dynamics there, is what its motors give (`.tau` of the same).
    Rigid contacts that carry force count as joints, so that x is weighed in the motions that they leave. Motions that
    neither grow nor decay and that no motor reaches, such as where on the floor a robot stands, are left out; the
    law's `notes` say how many.
    """
    model, mask = robot.model, motorized(robot.model, motors)
    if model.closures:
        raise DalembertError(f"lqr: robot {robot.name!r} has closed loops: the linear model is that of a tree")
    if not mask.any():
        raise DalembertError(f"lqr: robot {robot.name!r} has no motor: name some by motors=(…)")
    q = robot.normalize(real_array("lqr: goal", goal, f"expected ({robot.nq},)").astype(float))
    if q.shape != (robot.nq,):
        raise DalembertError(f"lqr: goal has shape {q.shape}, expected ({robot.nq},) for robot {robot.name!r}")
    smooth, n, m = robot.without("friction"), robot.nv, int(mask.sum())
    held = _holding(smooth, q, tau, mask, contact)
    linear = smooth.linearize(q, np.zeros(n), held, contact=contact)
    basis = getattr(linear, "basis", np.eye(n))
    whole = np.kron(np.eye(2), basis)  # x of all freedoms from those that contacts leave
    cost_x, cost_u = _weight("Q", Q, 2 * n, False), _weight("R", R, m, True)
    reduced = _without_drift(linear.A, linear.B[:, mask]) if contact is not None else Reduced.whole(len(linear.A))
    A, B = reduced.within @ linear.A @ reduced.into, reduced.within @ linear.B[:, mask]
    _check_controllable(model, A, B, whole @ reduced.into)
    into = whole @ reduced.into
    P = riccati(A, B, into.T @ cost_x @ into, cost_u)
    gains = np.linalg.solve(cost_u, B.T @ P)
    back = reduced.within @ np.linalg.pinv(whole)
    K = np.zeros((n, 2 * n))
    K[mask] = gains @ back
    law = LinearQuadratic(
        robot, motors_of(model, motors), q, held, K, back.T @ P @ back, np.linalg.eigvals(A - B @ gains)
    )
    if reduced.left_out:
        law.notes += (f"{reduced.left_out} motions that no motor reaches, and that stay as they are, are left out",)
    return law


def _holding(smooth: Robot, q: np.ndarray, tau: Any, mask: np.ndarray, contact: Contact | None) -> np.ndarray:
    """The torques (nv,) of the motors that hold the robot at q; an error where joints without a motor lack some."""
    n = smooth.nv
    if tau is not None:
        needed = real_array("lqr: tau", tau, f"expected ({n},)").astype(float)
        if needed.shape != (n,):
            raise DalembertError(f"lqr: tau has shape {needed.shape}, expected ({n},)")
        a = smooth.forward_dynamics(q, np.zeros(n), needed) if contact is None else None
        if contact is not None:
            a = smooth.contact_dynamics(q, np.zeros(n), needed, contact=contact).a
        lacking = np.abs(smooth.mass_matrix(q) @ a) + np.where(mask, 0.0, np.abs(needed))
    else:
        needed = (
            smooth.gravity(q) if contact is None else smooth.inverse_dynamics(q, *np.zeros((2, n)), contact=contact)
        )
        lacking = np.where(mask, 0.0, np.abs(needed))
    size = max(1.0, float(np.abs(needed).max()))
    if lacking.max() > (BALANCED if contact is None else CARRIED) * size:
        k = int(np.argmax(lacking))
        held = "" if contact is None else ", contact=contact"
        standing = " (a robot with a free base stands on a contact=)" if contact is None else ""
        raise DalembertError(
            f"lqr: goal is not an equilibrium of robot {smooth.name!r}: joint {smooth.model.freedom_names[k]!r} has no "
            f"motor and needs {lacking[k]:.4g} (N·m or N): start from robot.equilibrium(q{held}).q{standing}"
        )
    return np.where(mask, needed, 0.0)


class Reduced(NamedTuple):
    """Coordinates y (k,) of deviations x (n,): x = into · y, y = within · x; left_out: how many directions are not."""

    into: np.ndarray
    within: np.ndarray
    left_out: int

    @classmethod
    def whole(cls, n: int) -> Reduced:
        """All deviations."""
        return cls(np.eye(n), np.eye(n), 0)


def _without_drift(A: np.ndarray, B: np.ndarray) -> Reduced:
    """The deviations without those that stay as they are whatever the motors do, W x = constant with W A = W B = 0."""
    n = len(A)
    test = np.concatenate([A / max(float(np.abs(A).max()), 1e-300), B / max(float(np.abs(B).max()), 1e-300)], axis=1)
    left, sizes, _ = np.linalg.svd(test)
    W = left[:, sizes <= DRIFTS * sizes[0]].T
    if not len(W):
        return Reduced.whole(n)
    V = np.linalg.svd(A)[2][-len(W) :].T  # deviations that stay
    square = W @ V
    if np.linalg.cond(square) > 1.0 / DRIFTS:
        V = W.T
        square = np.eye(len(W))
    into = np.linalg.svd(W)[2][len(W) :].T  # W into = 0, orthonormal
    within = into.T @ (np.eye(n) - V @ np.linalg.solve(square, W))
    return Reduced(into, within, len(W))


def riccati(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The stabilising P (n, n) of AᵀP + PA − P B R⁻¹ Bᵀ P + Q = 0.

    By the stable invariant subspace of the Hamiltonian matrix, then Newton's method (Kleinman) to round-off.
    """
    n, S = len(A), B @ np.linalg.solve(R, B.T)
    values, vectors = np.linalg.eig(np.block([[A, -S], [-Q, -A.T]]))
    stable = vectors[:, np.argsort(values.real)[:n]]
    P = np.real(np.linalg.solve(stable[:n].T, stable[n:].T).T)
    for _ in range(3):
        closed = A - S @ (0.5 * (P + P.T))
        rest = Q + P @ S @ P
        P = _lyapunov(closed, rest)
    residual = A.T @ P + P @ A - P @ S @ P + Q
    scale = max(float(np.abs(P @ S @ P).max()), float(np.abs(Q).max()))
    unstable = np.linalg.eigvals(A - S @ P).real.max() >= 0.0
    if not np.isfinite(P).all() or np.abs(residual).max() > 1e-6 * scale or unstable:
        raise DalembertError(
            "lqr: the Riccati equation has no solution that stabilises: weigh every freedom in Q that moves by itself, "
            "or bring the sizes of Q and R nearer to each other"
        )
    return P


def _lyapunov(A: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The symmetric P (n, n) of AᵀP + PA + Q = 0: by eigenvectors and refined, or where these fail as one system."""
    n, eye = len(A), np.eye(len(A))
    values, V = np.linalg.eig(A)
    P, missing = np.zeros((n, n)), Q
    if np.linalg.cond(V) < 1.0 / CONTROLLABLE:
        back = np.linalg.inv(V)
        for _ in range(REFINED):
            Y = -(V.conj().T @ missing @ V) / (values.conj()[:, None] + values)
            P = P + np.real(back.conj().T @ Y @ back)
            missing = A.T @ P + P @ A + Q
    if not np.isfinite(P).all() or np.abs(missing).max() > EXACT * max(float(np.abs(Q).max()), 1e-300):
        P = np.linalg.solve(np.kron(eye, A.T) + np.kron(A.T, eye), -Q.ravel()).reshape(n, n)
    return 0.5 * (P + P.T)


def _weight(name: str, weight: Any, size: int, definite: bool) -> np.ndarray:
    if weight is None:
        return np.eye(size)
    W = real_array(f"lqr: {name}", weight, f"expected ({size}, {size}), ({size},) or a number").astype(float)
    W = W * np.eye(size) if W.ndim == 0 else np.diag(W) if W.shape == (size,) else W
    if W.shape != (size, size):
        raise DalembertError(f"lqr: {name} has shape {W.shape}, expected ({size}, {size}), ({size},) or a number")
    least = np.linalg.eigvalsh(0.5 * (W + W.T)).min()
    if not np.allclose(W, W.T) or least < -1e-12 * np.abs(W).max() or (definite and least <= 0.0):
        kind = "positive definite" if definite else "≥ 0"
        raise DalembertError(f"lqr: {name} is not symmetric and {kind}: its least eigenvalue is {least:.3g}")
    return W


def _check_controllable(model: Model, A: np.ndarray, B: np.ndarray, into: np.ndarray) -> None:
    """Raise if a motion that does not die out by itself cannot be reached; names the joint that moves most in it."""
    n = len(A)
    values = np.linalg.eigvals(A)
    scale = max(np.abs(A).max(), np.abs(B).max(), 1.0)
    for value in values[(values.real > -1e-9 * scale) & (values.imag >= 0.0)]:  # of a conjugate pair, one
        test = np.concatenate([value * np.eye(n) - A, B], axis=1)
        sizes = np.linalg.svd(test, compute_uv=False)
        if sizes[-1] <= CONTROLLABLE * sizes[0]:
            shape = np.abs(into @ np.linalg.svd(test)[0][:, -1])
            k = int(np.argmax(shape[: len(shape) // 2] + shape[len(shape) // 2 :]))
            raise DalembertError(
                f"lqr: no motor can reach a motion of robot {model.name!r} that does not die out by itself (eigenvalue "
                f"{np.round(value, 4)} 1/s, mostly of joint {model.freedom_names[k]!r}): the linear model is "
                "uncontrollable here: choose another equilibrium, or give that joint a motor"
            )
