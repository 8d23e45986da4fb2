"""The same functions on traced scalars: what the interpreter computes from the trace is what floats give."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms as alg
from tolerances import RECURSION, SOLVE, assert_close

POINT = np.array([0.1, -0.2, 0.3])

STATE_FUNCTIONS = {
    "poses": ("q", lambda m, q: np.stack([X.matrix() for X in alg.poses(m, q)])),
    "velocity": ("qv", lambda m, q, v: alg.velocity(m, q, v, m.frame("tool"), POINT)),
    "acceleration": ("qva", lambda m, q, v, a: alg.acceleration(m, q, v, a, m.frame("tool"), POINT, "body")),
    "jacobian": ("q", lambda m, q: alg.jacobian(m, q, m.frame("tool"), POINT, m.frames[3])),
    "jacobian_rate": ("qv", lambda m, q, v: alg.jacobian_rate(m, q, v, m.frame("tool"), POINT)),
    "rnea": ("qva", alg.rnea),
    "bias": ("qv", alg.bias),
    "gravity": ("q", alg.gravity),
    "mass_matrix": ("q", alg.mass_matrix),
    "forward_dynamics": ("qva", alg.forward_dynamics),
    "inverse_mass_matrix": ("q", alg.inverse_mass_matrix),
    "energy": ("qv", alg.energy),
    "center_of_mass": ("q", alg.center_of_mass),
    "reaction_wrenches": ("qva", alg.reaction_wrenches),
    "reactions_in_a_frame": ("qva", lambda m, q, v, a: alg.reaction_wrenches(m, q, v, a, axes=m.frame("tool"))),
    "centroidal_momentum": ("qv", alg.centroidal_momentum),
    "centroidal_momentum_matrix": ("q", alg.centroidal_momentum_matrix),
    "centroidal_momentum_rate": ("qva", alg.centroidal_momentum_rate),
    "composite_inertia": ("q", alg.composite_inertia),
    "torque_regressor": ("qva", alg.torque_regressor),
    "momentum_regressor": ("qv", alg.momentum_regressor),
    "energy_regressor": ("qv", alg.energy_regressor),
    "integrate": ("qv", alg.integrate),
    "difference": ("qp", alg.difference),
    "interpolate": ("qp", lambda m, q, p: alg.interpolate(m, q, p, 0.3)),
    "normalize": ("q", alg.normalize),
}


@pytest.mark.parametrize("name", STATE_FUNCTIONS)
def test_traced_is_numeric(case, name):
    model, q, v, a, rng = case
    values = {"q": q, "v": v, "a": a, "p": alg.random(model, rng)}
    letters, f = STATE_FUNCTIONS[name]
    given = {letter: values[letter] for letter in letters}
    function = trace(lambda *arguments: f(model, *arguments), {k: len(x) for k, x in given.items()}, name)
    tolerance = SOLVE if name in ("forward_dynamics", "inverse_mass_matrix") else RECURSION
    assert_close(run(function, given)[name], f(model, *given.values()), tolerance)
