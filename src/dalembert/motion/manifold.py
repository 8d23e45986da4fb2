"""Motion on the manifold of configurations: from displacements in a chart to q, v, a, and back.

About an anchor q₀ a configuration is q = q₀ ⊕ x. Along x(t) it moves at v with ẋ = J(x) v, where J is the joint's
`displacement_jacobian`; for joints without quaternions J = 1.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from dalembert.compiler.graph import jvp
from dalembert.dynamics.algorithms import integrate
from dalembert.linear import general
from dalembert.model import Joint, Model
from dalembert.quantities import kinds, quantity
from dalembert.quantities.quantity import Keywords
from dalembert.quantities.tangent import differentiated
from dalembert.robot import Robot


class Displaced(NamedTuple):
    """Configuration q (…, nq), velocity v (…, nv), acceleration a (…, nv)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class ChartRates(NamedTuple):
    """First and second derivative (…, nv) of a displacement."""

    rate: np.ndarray
    bend: np.ndarray


def _bent(joint: Joint, x: np.ndarray, rate: np.ndarray, v: np.ndarray) -> np.ndarray:
    """J̇ v: the rate of J(x) v along ẋ, with v held."""

    @differentiated
    def bent(x: np.ndarray, rate: np.ndarray, v: np.ndarray) -> np.ndarray:
        return jvp(joint.displacement_jacobian(x) @ v, dict(zip(x, rate, strict=True)))

    return bent(x, rate, v)


def _freedoms(model: Model, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column, object) for column in columns)


@quantity(fields={"q": ("nq",), "v": ("nv",), "a": ("nv",)})
def displaced(
    robot: Robot, q: kinds.Configuration, x: kinds.Tangent, rate: kinds.Tangent, bend: kinds.Tangent,
    **keywords: Unpack[Keywords],
) -> Displaced:  # fmt: skip
    """The state at the displacement x from the anchor q, while x changes at `rate` and `bend`."""
    v, a = _freedoms(robot.model, rate, bend)
    for body in robot.model.independent:
        if not body.joint.flat:
            J = body.joint.displacement_jacobian(x[body.v])
            v[body.v] = general.solve(J, rate[body.v])
            a[body.v] = general.solve(J, bend[body.v] - _bent(body.joint, x[body.v], rate[body.v], v[body.v]))
    return Displaced(integrate(robot.model, q, x), v, a)


@quantity(fields={"rate": ("nv",), "bend": ("nv",)})
def chart_rates(
    robot: Robot, x: kinds.Tangent, v: kinds.Tangent, a: kinds.Tangent, **keywords: Unpack[Keywords]
) -> ChartRates:
    """How the displacement x changes while the robot moves at v and a."""
    rate, bend = _freedoms(robot.model, v, a)
    for body in robot.model.independent:
        if not body.joint.flat:
            J = body.joint.displacement_jacobian(x[body.v])
            rate[body.v] = J @ v[body.v]
            bend[body.v] = J @ a[body.v] + _bent(body.joint, x[body.v], rate[body.v], v[body.v])
    return ChartRates(rate, bend)
