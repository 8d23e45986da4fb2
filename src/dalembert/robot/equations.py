"""Equations of a robot on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.quantities import find
from dalembert.quantities.kinds import NEWTON_EULER
from dalembert.quantities.structure import Wrench

if TYPE_CHECKING:
    from dalembert.equations import Equation
    from dalembert.robot import Robot


def equations(
    robot: Robot,
    name: str | Callable[..., Any] = "inverse_dynamics",
    *,
    symbols: bool | str | Iterable[str] = (),
    simplify: bool = True,
    rename: Mapping[str, str] | None = None,
    frame: str | None = None,
    axes: str | None = None,
    method: str = NEWTON_EULER,
    external: Sequence[Wrench] = (),
) -> Equation:
    """A quantity as an equation: print it, show it in a notebook, take `.sympy` or `.latex()`.

    symbols: constants of the model that become symbols (m_1, l_1, l_c1, I_1, g …) instead of numbers, by groups
    "inertia", "placement", "gravity", "friction", "damping", "armature", "stiffness", or True for all; zeros stay
    zeros. rename: symbol → another name, {"q_1": "theta_1"}; two of one value may share a name. simplify: collect
    sines and cosines of sums of angles, and common factors; False gives the expression as traced. method: the
    derivation, where a quantity has several ("lagrange"). external: wrenches whose forces F, torques n and points p
    become symbols. Needs `pip install 'dalembert[equations]'`.
    """
    from dalembert.equations import checked_groups, derive  # SymPy is loaded when it is asked for

    quantity = find(name, f"robot {robot.name!r}")
    variant = quantity.variant(robot.model, frame=frame, axes=axes, method=method, external=external)
    quantity.admit(robot.model)
    return derive(quantity, robot, variant, checked_groups(symbols), simplify, dict(rename or {}))
