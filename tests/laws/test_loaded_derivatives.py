"""Derivatives with external wrenches on any frame, at any point, along any axes."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot, Wrench
from laws.numeric import RATE, rate
from tolerances import assert_close
from trees import random_model, random_state


@pytest.mark.parametrize("axes", ["frame", "world", "other"])
def test_rates_of_the_loaded_dynamics(axes):
    rng = np.random.default_rng(len(axes))
    kinds = ("revolute", "ball", "universal", "prismatic")
    robot = Robot(random_model(rng, n_bodies=4, kinds=kinds, base="free").without("friction"))
    q, v, a = random_state(rng, robot.model)
    names = [frame.name for frame in robot.frames]
    where = names[0] if axes == "other" else axes
    loads = [Wrench(rng.normal(size=3), rng.normal(size=3), name, rng.normal(size=3), where) for name in names[1::2]]
    inverse = robot.inverse_dynamics_derivatives(q, v, a, external=loads)
    forward = robot.forward_dynamics_derivatives(q, v, a, external=loads)

    def columns(f):
        return np.stack([rate(lambda t, e=e: f(robot.integrate(q, t * e))) for e in np.eye(robot.nv)], axis=1)

    assert_close(inverse.dq, columns(lambda x: robot.inverse_dynamics(x, v, a, external=loads)), RATE)
    assert_close(forward.dq, columns(lambda x: robot.forward_dynamics(x, v, a, external=loads)), 100 * RATE)
    unloaded = robot.inverse_dynamics_derivatives(q, v, a)
    assert not np.allclose(unloaded.dq, inverse.dq)
    assert np.array_equal(unloaded.dv, inverse.dv)
