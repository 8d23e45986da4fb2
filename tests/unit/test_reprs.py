"""Results show themselves in one line, however many numbers they hold."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import compare, identify, load

ARM = load("ur5")
Q = np.full(6, 0.1)
V = np.zeros(6)
RESULTS = {
    "audit": lambda: ARM.audit(rules=["names"]),
    "comparison": lambda: compare(ARM, load("ur5e")),
    "linearization": lambda: ARM.linearize(Q, V, V),
    "modes": lambda: load("2r").modes([0.0, 0.0]),
    "equilibrium": lambda: load("2r").equilibrium([0.1, 0.1]),
    "advice": lambda: ARM.step_advice(Q),
    "inverse kinematics": lambda: ARM.inverse_kinematics(ARM.pose(Q, "tool0"), "tool0", start=Q),
    "derivatives": lambda: ARM.forward_dynamics_derivatives(Q, V, V),
    "limits": lambda: ARM.limits,
    "rollout": lambda: ARM.rollout(np.tile(Q, (50, 1)), V, steps=10, every=1),
    "run": lambda: ARM.simulate(Q, V, 0.01),
    "run audit": lambda: ARM.simulate(Q, V, 0.01).audit(),
    "loop state": lambda: load("four_bar").close_loops(np.zeros(3)),
    "sizing": lambda: ARM.sizing(),
    "trajectory": lambda: identify.excitation(load("2r"), 8.0, harmonics=2, rate=100.0, starts=1, velocity=4.0),
}


@pytest.mark.parametrize("name", RESULTS)
def test_one_line(name: str) -> None:
    result = RESULTS[name]()
    text = repr(result)
    assert "\n" not in text and 10 < len(text) < 700 and type(result).__name__ in text
