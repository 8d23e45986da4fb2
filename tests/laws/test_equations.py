"""Formulas of random trees give the numbers of the compiled functions, with numbers and with symbols in them."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot
from tolerances import COMPUTED
from trees import random_model, random_state

pytest.importorskip("sympy")

KINDS = ("revolute", "prismatic", "continuous", "screw", "cylindrical", "universal", "planar", "ball")


@pytest.mark.parametrize("symbols", [(), True, ("inertia", "gravity")], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_formula_gives_the_numbers(seed, symbols):
    rng = np.random.default_rng(seed)
    kinds = (KINDS[seed],) if seed > 3 else (KINDS[seed], "revolute")
    model = random_model(rng, len(kinds), kinds, effects=seed < 6, coupled=seed == 2)
    robot, (q, v, a) = Robot(model), random_state(rng, model)
    for name, state in {"mass_matrix": (q,), "gravity": (q,), "bias": (q, v), "inverse_dynamics": (q, v, a)}.items():
        wanted = getattr(robot, name)(*state)
        found = robot.equations(name, symbols=symbols).evaluate(*state)
        np.testing.assert_allclose(found, wanted, atol=COMPUTED * max(1.0, np.abs(wanted).max()), rtol=COMPUTED)
