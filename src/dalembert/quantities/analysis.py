"""Behaviour near a state: linear models, vibration modes, equilibria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import is_single, one_line, real_array
from dalembert.compiler.interop import on_host
from dalembert.dynamics.algorithms import matrix_exponential
from dalembert.errors import DalembertError
from dalembert.model import Model

from .closed import EXACT, check_closed, closed, closed_linearization, least_force, left_over, loop_rows
from .kinds import LOAD, wrenches
from .structure import Wrench

if TYPE_CHECKING:
    from dalembert.robot import Robot

ZERO = float(np.finfo(float).eps) ** 0.5  # |λ| relative to the largest, below which λ is a double zero's round-off
BALANCED = 1e-6  # relative error up to which a torque counts as holding the robot
SMALLEST, LARGEST = 1e-12, 1e12  # range of the damping of the search, relative


class Linearization(NamedTuple):
    """A (…, 2nv, 2nv) and B (…, 2nv, nv) of x = [δq; δv], u = δtau."""

    A: np.ndarray
    B: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class ClosedLinearization(Linearization):
    """A (2nf, 2nf) and B (2nf, nv or nu) of a robot with closed loops, in the deviations that the loops leave free.

    x = [δq; δv] of nf independent freedoms. coordinates: their names; basis (nv, nf): the deviations of all freedoms
    are δq = basis · (those of the independent ones).
    """

    coordinates: tuple[str, ...]
    basis: np.ndarray

    def __new__(
        cls, A: np.ndarray, B: np.ndarray, coordinates: tuple[str, ...], basis: np.ndarray
    ) -> ClosedLinearization:
        self = super().__new__(cls, A, B)
        self.coordinates, self.basis = coordinates, basis
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.coordinates, self.basis)


class Modes(NamedTuple):
    """m modes, slowest first.

    frequencies (m,): undamped, |λ| [rad/s]; damping (m,): ratio −Re λ / |λ|, 0 undamped, 1 no longer oscillating,
    negative growing (0 where λ = 0); shapes (nv, m): displacements δq, complex where phases differ, largest entry 1;
    eigenvalues (m,): λ [1/s], one of each conjugate pair.
    """

    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray
    eigenvalues: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


class Equilibrium(NamedTuple):
    """q (nq,) of the equilibrium; residual (nv,): the unbalanced force [N·m or N]; number of iterations."""

    q: np.ndarray
    residual: np.ndarray
    iterations: int

    def __repr__(self) -> str:
        return one_line(self)


def linearize(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    *,
    step: float | None = None,
    actuated: str | Sequence[str] | None = None,
    coordinates: str | Sequence[str] | None = None,
    external: Sequence[Wrench] = (),
    threads: int | None = None,
    check: bool = True,
) -> Linearization:
    """See `Robot.linearize`; without contact."""
    check_step(step)
    q, v, tau = on_host("linearize", q, v, tau)
    if robot.model.closures:
        q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
        return _closed(robot, q, v, tau, step, actuated, coordinates, external)
    if coordinates is not None:
        raise DalembertError(f"linearize: robot {robot.name!r} has no loops: all coordinates are independent")
    added = robot._added_forces(q, v)
    total = tau if added is None else tau + added.force
    d = robot.forward_dynamics_derivatives(q, v, total, external=external, threads=threads, check=check)
    if added is not None:
        d = d._replace(dq=d.dq + d.dtau @ added.dq, dv=d.dv + d.dtau @ added.dv)
    n, batch = robot.model.nv, d.dq.shape[:-2]
    A, B = np.zeros((*batch, 2 * n, 2 * n), d.dq.dtype), np.zeros((*batch, 2 * n, n), d.dq.dtype)
    A[..., :n, n:], A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = np.eye(n), d.dq, d.dv, d.dtau
    v = np.asarray(v)
    for body in robot.model.bodies:
        if not body.joint.flat:
            A[..., body.v, body.v] += body.joint.displacement_rate(v[..., body.v])
    if check and not np.isfinite(A).all():
        robot.forward_dynamics(q, v, tau, external=external, threads=threads)  # says at which joint
        raise DalembertError(f"linearize: slopes of robot {robot.name!r} are too large for numbers of this precision")
    if actuated is not None:
        B = B[..., freedoms_of(robot.model, actuated)]
    return Linearization(A, B) if step is None else after(robot, A, B, step, check)


def check_step(step: float | None) -> None:
    """Refuse a step of no duration."""
    if step is not None and (np.ndim(step) != 0 or not 0.0 < step < np.inf):
        raise DalembertError(f"linearize: step is {step!r}, expected a time above 0 [s]")


def _closed(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    step: float | None,
    actuated: str | Sequence[str] | None,
    coordinates: str | Sequence[str] | None,
    external: Sequence[Wrench],
) -> ClosedLinearization:
    A, B, chart = closed_linearization(robot, q, v, tau, external, coordinates)
    if actuated is not None:
        B = B[:, freedoms_of(robot.model, actuated)]
    A, B = (A, B) if step is None else after(robot, A, B, step, check=True)
    return ClosedLinearization(A, B, chart.names(robot.model), chart.basis)


def after(robot: Robot, A: np.ndarray, B: np.ndarray, step: float, check: bool) -> Linearization:
    """x' = A x + B u after a time with u held constant."""
    batch, n = A.shape[:-2], A.shape[-1] // 2
    size = 2 * n + B.shape[-1]
    whole = np.zeros((*batch, size, size))
    whole[..., : 2 * n, : 2 * n], whole[..., : 2 * n, 2 * n :] = A, B
    with np.errstate(over="ignore", invalid="ignore"):
        after = matrix_exponential(whole * step)[..., : 2 * n, :].astype(A.dtype)
    if check and not np.isfinite(after).all():
        rate = np.max(np.linalg.eigvals(A).real, initial=0.0)
        raise DalembertError(
            f"linearize: over step={step:g} s deviations of robot {robot.name!r} overflow, growing at up to "
            f"{rate:.3g} 1/s: take a shorter step"
        )
    return Linearization(after[..., : 2 * n], after[..., 2 * n :])


def freedoms_of(model: Model, joints: str | Sequence[str]) -> list[int]:
    """Places in v of some joints, by name, in the order of the model."""
    names = [joints] if isinstance(joints, str) else list(joints)
    return sorted({k for name in names for k in range(model.nv)[model.joint(name).v]})


def modes(
    robot: Robot,
    q: Any,
    *,
    tau: Any = None,
    actuated: str | Sequence[str] | None = None,
    external: Sequence[Wrench] = (),
) -> Modes:
    """Free vibrations about q (nq,), where the robot stands still under the constant generalised force tau (nv,).

    tau: default what holds it there, `equilibrium_torque(q)`; one that does not is an error. External wrenches keep
    their numbers along their axes, so that they stiffen or soften what they press on. Joint damping counts, and
    friction with its slope at rest, friction / slip_speed: use robot.without("friction") for motion that is large
    against slip_speed. A freedom that nothing holds back has frequency 0.

    A robot with closed loops vibrates as the loops let it; shapes are still those of all freedoms (nv, m). Which joints
    hold it changes its stiffness: actuated names them, or tau says what acts; default nothing.
    """
    q = real_array("modes: q", q, f"expected ({robot.model.nq},)").astype(float)
    if q.shape != (robot.model.nq,):
        raise DalembertError(f"modes: q has shape {q.shape}, expected one configuration ({robot.model.nq},)")
    external = _few("modes", external)
    if robot.model.closures:
        A, basis = _closed_stiffness(robot, q, tau, actuated, external)
        return _modes(A, basis)
    if actuated is not None:
        raise DalembertError(f"modes: robot {robot.name!r} has no loops: it does not matter which joints hold it")
    holding = robot.equilibrium_torque(q, external=external)
    if tau is not None:
        scale = max(1.0, float(np.max(np.abs(holding), initial=0.0)))
        _demand(
            robot.model,
            "modes",
            holding - np.asarray(tau, float),
            BALANCED * scale,
            "q is not an equilibrium under tau",
        )
    n = robot.model.nv
    A = robot.linearize(q, np.zeros(n), holding, external=external).A
    return _modes(A, np.eye(n))


def _closed_stiffness(
    robot: Robot, q: np.ndarray, tau: Any, actuated: str | Sequence[str] | None, external: Sequence[Wrench]
) -> tuple[np.ndarray, np.ndarray]:
    """A (2nf, 2nf) and the basis (nv, nf) about rest at q under tau, or under what the actuated joints hold it with."""
    n = robot.model.nv
    if tau is not None and actuated is not None:
        raise DalembertError("modes: tau and actuated are both given: actuated joints hold with the tau that it takes")
    still = np.zeros(n)
    holding = still if tau is None else real_array("modes: tau", tau, f"expected ({n},)").astype(float)
    if actuated is not None:
        holding = least_force(robot, q, robot.equilibrium_torque(q, external=external), actuated)
    pulls = robot.equilibrium_torque(q, external=external)
    scale = max(1.0, float(np.max(np.abs(pulls), initial=0.0)))
    what = (
        "q is not an equilibrium under tau" if tau is not None else "q is no equilibrium without forces (actuated=…?)"
    )
    _demand(robot.model, "modes", left_over(robot, q, pulls - holding), BALANCED * scale, what)
    A, _, chart = closed_linearization(robot, q, still, holding, external, None)
    return A, chart.basis


def _modes(A: np.ndarray, basis: np.ndarray) -> Modes:
    """The modes of ẋ = A x, x = [y; ẏ], with the shapes basis · y."""
    n = len(A) // 2
    eigenvalues, vectors = np.linalg.eig(A)
    moving = (np.abs(eigenvalues) > ZERO * np.max(np.abs(eigenvalues), initial=0.0)) & (eigenvalues.imag >= 0.0)
    still = _null_space(A[n:, :n])
    values = np.concatenate([np.zeros(still.shape[1]), eigenvalues[moving]])
    shapes = basis @ np.concatenate([still, vectors[:n, moving]], axis=1)
    order = np.argsort(np.abs(values), kind="stable")
    values, shapes = values[order].astype(complex), shapes[:, order]
    largest = np.take_along_axis(shapes, np.argmax(np.abs(shapes), axis=0)[None], axis=0) if shapes.size else 1.0
    size = np.abs(values)
    return Modes(size, -values.real / np.where(size > 0.0, size, 1.0), shapes / largest, values)


def equilibrium_torque(
    robot: Robot, q: Any, *, external: Sequence[Wrench] = (), threads: int | None = None, check: bool = True
) -> np.ndarray:
    """tau (…, nv) that holds the robot still at q, against gravity, springs and external wrenches.

    Without wrenches it is `gravity(q)`; for a mechanism, less what its elements do. Friction is left out.
    """
    zero = np.zeros(robot.model.nv, np.float32 if is_single(q) else float)
    if external:
        pull = robot.bias(q, zero, external=external, threads=threads, check=check)
    else:
        pull = robot.gravity(q, threads=threads, check=check)
    added = robot._added_forces(q, zero)
    return pull if added is None else pull - added.force


def equilibrium(
    robot: Robot,
    q: Any,
    tau: Any = None,
    *,
    external: Sequence[Wrench] = (),
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> Equilibrium:
    """See `Robot.equilibrium`; without contact."""
    n = robot.model.nv
    (q,) = on_host("equilibrium", q)
    q = robot.normalize(q)
    tau = np.zeros(n) if tau is None else real_array("equilibrium: tau", tau, f"expected ({n},)").astype(float)
    if q.shape != (robot.model.nq,) or tau.shape != (n,):
        raise DalembertError(
            f"equilibrium: q has shape {q.shape} and tau {tau.shape}, expected ({robot.model.nq},) and ({n},)"
        )
    external = _few("equilibrium", external)
    if robot.model.closures:
        return _closed_equilibrium(robot, q, tau, external, tolerance, max_iterations)
    r, still, iterations = robot.equilibrium_torque(q, external=external) - tau, np.zeros(n), 0
    bound = tolerance * max(1.0, float(np.max(np.abs(r), initial=0.0)), float(np.max(np.abs(tau), initial=0.0)))
    damping = 1e-6
    while np.max(np.abs(r), initial=0.0) > bound and iterations < max_iterations and damping < LARGEST:
        iterations += 1
        K = robot.inverse_dynamics_derivatives(q, still, still, external=external).dq
        added = robot._added_forces(q, still)
        K = K if added is None else K - added.dq
        size = float(np.trace(K.T @ K)) / n or 1.0
        trial = robot.integrate(q, np.linalg.solve(K.T @ K + damping * size * np.eye(n), -(K.T @ r)))
        r_trial = robot.equilibrium_torque(trial, external=external) - tau
        if np.linalg.norm(r_trial) < np.linalg.norm(r):
            q, r, damping = trial, r_trial, max(damping * 0.1, SMALLEST)
        else:
            damping *= 10.0
    _demand(robot.model, "equilibrium", r, bound, f"none found after {iterations} iterations")
    return Equilibrium(q, r, iterations)


def _closed_equilibrium(
    robot: Robot, q: np.ndarray, tau: np.ndarray, external: Sequence[Wrench], tolerance: float, max_iterations: int
) -> Equilibrium:
    """Damped Newton steps in the freedoms that the loops leave, on the force that these feel; then loops closed."""
    q, still, iterations, damping = closed(robot, q), np.zeros(robot.model.nv), 0, 1e-6
    check_closed(robot, "equilibrium", loop_rows(robot, q).residual, np.zeros(1))

    def pull(q: np.ndarray) -> np.ndarray:
        return left_over(robot, q, robot.equilibrium_torque(q, external=external) - tau)

    r = pull(q)
    bound = tolerance * max(1.0, float(np.max(np.abs(r), initial=0.0)), float(np.max(np.abs(tau), initial=0.0)))
    while np.max(np.abs(r), initial=0.0) > bound and iterations < max_iterations and damping < LARGEST:
        iterations += 1
        A, _, (places, basis) = closed_linearization(robot, q, still, tau, external, None)
        n = len(places)
        added = robot._added_forces(q, still)
        total = tau if added is None else tau + added.force
        K, a = A[n:, :n], robot.loop_dynamics(q, still, total, external=external).a[places]
        size = float(np.trace(K.T @ K)) / max(n, 1) or 1.0
        y = np.linalg.solve(K.T @ K + damping * size * np.eye(n), -(K.T @ a))
        trial = closed(robot, robot.integrate(q, basis @ y))
        gap = np.max(np.abs(loop_rows(robot, trial).residual), initial=0.0)
        r_trial = pull(trial)
        if gap <= EXACT and np.linalg.norm(r_trial) < np.linalg.norm(r):
            q, r, damping = trial, r_trial, max(damping * 0.1, SMALLEST)
        else:
            damping *= 10.0
    _demand(robot.model, "equilibrium", r, bound, f"none found after {iterations} iterations")
    return Equilibrium(q, r, iterations)


def _few(name: str, external: Sequence[Wrench]) -> Sequence[Wrench]:
    """External wrenches that are to be used several times, on one state."""
    external = wrenches(external)
    for k, wrench in enumerate(external):
        if isinstance(wrench, Wrench) and any(np.ndim(getattr(wrench, field)) > 1 for field in LOAD):
            raise DalembertError(f"{name}: external[{k}] is a batch, expected one wrench with vectors (3,)")
    return external


def _demand(model: Model, name: str, residual: np.ndarray, bound: float, what: str) -> None:
    """Raise unless the residual (nv,) is within the bound; the message names the worst joint."""
    worst = int(np.argmax(np.abs(residual))) if residual.size else 0
    if residual.size and not abs(residual[worst]) <= bound:
        joint = next(b.joint.name for b in model.bodies if b.v.start <= worst < b.v.stop)
        raise DalembertError(
            f"{name}: {what}: at joint {joint!r} of robot {model.name!r} a generalised force of "
            f"{residual[worst]:.6g} (N·m or N) is missing, at most {bound:.3g} was expected; start from another "
            "configuration or give another tau"
        )


def _null_space(K: np.ndarray) -> np.ndarray:
    """Orthonormal columns (n, m) with K x = 0 to round-off."""
    _, size, directions = np.linalg.svd(K)
    return directions[size <= len(K) * 64 * np.finfo(float).eps * np.max(size, initial=0.0)].T
