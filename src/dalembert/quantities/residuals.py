"""Independent checks of results: `check="residual"`, or DALEMBERT_CHECK=residual in the environment for all calls.

A law says what a result must fulfil, by another algorithm than the one that computed it: forward dynamics is put into
inverse dynamics, a mass matrix is computed in closed form, derivatives are compared with differences. A result that
misses its law raises, with the state and the joint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.robot import Robot

RESIDUAL = "residual"
EVERYWHERE = (
    os.environ.get("DALEMBERT_CHECK") == RESIDUAL
)  # read once: calls that are compiled early would not ask again
ROUNDING = 2.0**14  # multiples of the precision that an algorithm may lose: 4e-12 in double precision
DIFFERENCE = 1e-5  # relative error of central differences, also where friction turns round within 1e-3 rad/s
STEP = 1e-6  # of central differences
CURVED = 1e-3  # part of the largest row and of the function's own value that counts as size of a difference


class Residual(NamedTuple):
    """Two arrays (…, n) that a law calls equal, and the size (…, n) of the terms that they are summed from.

    relative: the error that is allowed, of that size; None: rounding.
    """

    left: np.ndarray
    right: np.ndarray
    scale: np.ndarray
    relative: float | None = None


def _abs_torques(robot: Robot, q: Any, v: Any, a: Any) -> np.ndarray:
    """Size of the terms of tau: |M| |a| + |bias| (…, nv), at least the largest of them times 2⁻¹⁰."""
    inertial = (np.abs(robot.mass_matrix(q, check=True)) @ np.abs(np.asarray(a, float))[..., None])[..., 0]
    scale = inertial + np.abs(robot.bias(q, v, check=True))
    return scale + 2.0**-10 * scale.max(axis=-1, keepdims=True)


def _forward_dynamics(robot: Robot, a: Any, q: Any, v: Any, tau: Any, external: Any) -> Residual:
    back = robot.inverse_dynamics(q, v, a, external=external, check=True)
    return Residual(back, np.asarray(tau, float), _abs_torques(robot, q, v, a) + np.abs(tau))


def _hybrid_dynamics(robot: Robot, result: Any, q: Any, v: Any, external: Any, **_: Any) -> Residual:
    a, tau = result
    return _forward_dynamics(robot, a, q, v, tau, external)


def _inverse_dynamics(robot: Robot, tau: Any, q: Any, v: Any, a: Any, external: Any, method: str, **_: Any) -> Residual:
    other = "newton-euler" if method != "newton-euler" else "generalized-newton-euler"
    again = robot.inverse_dynamics(q, v, a, external=external, method=other, check=True)
    return Residual(tau, again, _abs_torques(robot, q, v, a) + np.abs(again))


def _bias(robot: Robot, tau: Any, q: Any, v: Any, external: Any, method: str) -> Residual:
    return _inverse_dynamics(robot, tau, q, v, np.zeros(robot.nv), external, method)


def _gravity(robot: Robot, tau: Any, q: Any, method: str) -> Residual:
    other = "newton-euler" if method != "newton-euler" else "generalized-newton-euler"
    again = robot.gravity(q, method=other, check=True)
    size = np.abs(again).max(axis=-1, keepdims=True, initial=robot.total_mass * 2.0**-10)
    return Residual(tau, again, np.broadcast_to(size, again.shape))


def _mass_matrix(robot: Robot, M: Any, q: Any, method: str) -> Residual:
    other = "newton-euler" if method != "newton-euler" else "generalized-newton-euler"
    again = robot.mass_matrix(q, method=other, check=True)
    d = np.sqrt(np.abs(np.diagonal(again, axis1=-2, axis2=-1)))
    return Residual(M, again, d[..., :, None] * d[..., None, :])


def _inverse_mass_matrix(robot: Robot, inverse: Any, q: Any) -> Residual:
    M = robot.mass_matrix(q, check=True)
    product = M @ inverse
    return Residual(product, np.broadcast_to(np.eye(robot.nv), product.shape), np.abs(M) @ np.abs(inverse))


def _velocity(robot: Robot, V: Any, q: Any, v: Any, frame: Any, point: Any, axes: Any) -> Residual:
    J = robot.jacobian(q, frame, point=point, axes=axes, check=True)
    again = (J @ np.asarray(v, float)[..., None])[..., 0]
    size = (np.abs(J) @ np.abs(np.asarray(v, float))[..., None])[..., 0]
    return Residual(V, again, size + size.max(axis=-1, keepdims=True))


def _centroidal_momentum(robot: Robot, h: Any, q: Any, v: Any) -> Residual:
    A = robot.centroidal_momentum_matrix(q, check=True)
    again = (A @ np.asarray(v, float)[..., None])[..., 0]
    size = (np.abs(A) @ np.abs(np.asarray(v, float))[..., None])[..., 0]
    return Residual(h, again, size + size.max(axis=-1, keepdims=True))


def _slopes(name: str) -> Callable[..., Residual]:
    """Law of derivatives: of each argument, along one direction, they are the central difference."""

    def law(robot: Robot, slopes: Any, q: Any, v: Any, external: Any, **last: Any) -> Residual:
        (x,) = last.values()
        d = np.cos(np.arange(1.0, robot.nv + 1.0))  # some direction
        call = getattr(robot, name)

        def at(h: float, k: int) -> np.ndarray:
            q1 = robot.integrate(q, np.broadcast_to(d, np.shape(v)), h, check=True) if k == 0 else q
            state = q1, np.asarray(v) + h * d * (k == 1), np.asarray(x) + h * d * (k == 2)
            return np.asarray(call(*state, external=external, check=True))

        differences = [(at(STEP, k) - at(-STEP, k)) / (2.0 * STEP) for k in range(3)]
        along = [np.asarray(part) @ d for part in slopes]
        size = np.stack([np.abs(part) @ np.abs(d) for part in slopes], axis=-1)
        value = np.abs(at(0.0, 0))[..., None]
        scale = size + CURVED * (value + size.max(axis=-2, keepdims=True))
        return Residual(np.stack(along, axis=-1), np.stack(differences, axis=-1), scale, DIFFERENCE)

    return law


LAWS: Mapping[str, Callable[..., Residual]] = {
    "forward_dynamics": _forward_dynamics,
    "inverse_dynamics": _inverse_dynamics,
    "hybrid_dynamics": _hybrid_dynamics,
    "bias": _bias,
    "gravity": _gravity,
    "mass_matrix": _mass_matrix,
    "inverse_mass_matrix": _inverse_mass_matrix,
    "velocity": _velocity,
    "centroidal_momentum": _centroidal_momentum,
    "inverse_dynamics_derivatives": _slopes("inverse_dynamics"),
    "forward_dynamics_derivatives": _slopes("forward_dynamics"),
}


def wanted(name: str, check: Any) -> bool:
    """Whether the law of a quantity is asked for; check: the keyword of the call, None where it is not given."""
    if check is None:
        return EVERYWHERE and name in LAWS
    if not isinstance(check, str):
        return False
    if check != RESIDUAL:
        raise DalembertError(f"{name}: check is {check!r}, expected True, False or {RESIDUAL!r}")
    if name not in LAWS:
        raise DalembertError(f"{name}: no law to check it by; check={RESIDUAL!r} is for {', '.join(LAWS)}")
    return True


def verify(name: str, robot: Robot, result: Any, values: Mapping[str, Any]) -> None:
    """Raise where a result misses the law of its quantity; values: of its parameters, by name."""
    single = any(getattr(x, "dtype", None) == np.float32 for x in (result, *values.values()))
    doubles = {name: x.astype(float) if isinstance(x, np.ndarray) else x for name, x in values.items()}
    left, right, scale, relative = LAWS[name](robot, result, **doubles)
    allowed = ROUNDING * np.finfo(np.float32 if single else float).eps if relative is None else relative
    error = np.abs(np.asarray(left, float) - np.asarray(right, float))
    good = error <= allowed * scale  # NaN misses every law
    if good.all():
        return
    place = tuple(int(k) for k in np.argwhere(~good)[0])
    batch = np.ndim(values["q"]) - 1 if np.ndim(values["q"]) - 1 < error.ndim else 0
    state = f" of state {place[0] if batch == 1 else place[:batch]}" if batch else ""
    names = robot.model.freedom_names
    row = names[place[batch]] if error.shape[batch] == robot.nv else f"row {place[batch]}"
    raise DalembertError(
        f"{name}{state}: the result misses its law at {row!r} by {error[place]:.2g}, where "
        f"{allowed * np.broadcast_to(scale, error.shape)[place]:.2g} is rounding; report it with robot and state"
    )
