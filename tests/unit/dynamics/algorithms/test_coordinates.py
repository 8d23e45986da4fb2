"""Rates of coordinates: q̇ = G(q) v is the rate of q ⊕ v t."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics.algorithms import along_velocities, coordinate_rate, integrate
from tolerances import DIFFERENCE, ROUNDING, STEP, assert_close
from trees import random_model, random_state


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_rate_of_the_coordinates(base):
    rng = np.random.default_rng(1)
    model = random_model(rng, n_bodies=10, base=base)
    q, v, _ = random_state(rng, model)
    ahead, behind = integrate(model, q, STEP * v), integrate(model, q, -STEP * v)
    rate = coordinate_rate(model, q, v)
    assert_close(rate, (ahead - behind) / (2 * STEP), DIFFERENCE)
    D = rng.normal(size=(2, model.nq))
    assert_close(along_velocities(model, q, D) @ v, D @ rate, 100 * ROUNDING)
