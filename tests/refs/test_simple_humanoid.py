"""A humanoid of 29 joints on a free base: inverse dynamics printed in Pinocchio's tests."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot, load
from refs.printed import DATA_FILES, assert_significant, data, with_gravity
from tolerances import RECURSION, assert_close

DATA = data("simple_humanoid")


@pytest.fixture(scope="module")
def humanoid() -> Robot:
    return with_gravity(load(DATA_FILES / "simple_humanoid.urdf", base="free"), 9.8)


@pytest.mark.parametrize("case", DATA["cases"], ids=["at rest", "moving"])
def test_inverse_dynamics(humanoid, case):
    joints = [humanoid.joint(name) for name in DATA["joint_order"]]
    order_q, order_v = (np.concatenate([np.r_[getattr(joint, x)] for joint in joints]) for x in "qv")
    q, v, a = humanoid.neutral(), np.zeros(humanoid.nv), np.zeros(humanoid.nv)
    q[order_q], v[order_v], a[order_v] = case["q"], case["v"], case["a"]
    tau = humanoid.inverse_dynamics(q, v, a)
    assert_significant(np.concatenate([tau[3:6], tau[:3], tau[order_v]]), case["tau"], 9)
    assert_close(humanoid.forward_dynamics(q, v, tau), a, RECURSION, scale=10.0)
