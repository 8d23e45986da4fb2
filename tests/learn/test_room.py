"""More contacts than a step has room for: it is taken again with more, never printed and forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, learn
from dalembert.shapes import Box

pytest.importorskip("gymnasium")
SIDE, GAP = 0.1, 1e-4  # [m]
LAYERS = np.repeat([0.05, 0.15, 0.25], 9)
SETTLES = 1e-3  # [m] that a packed block may move while it comes to rest


@pytest.mark.long
def test_a_packed_block_does_not_collapse_into_itself():
    b = ModelBuilder("pile")
    for k in range(27):
        b.add_body(f"c{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6)
        b.add_geometry(Box([SIDE] * 3), body=f"c{k}", role="collision")
    b.add_body(
        "wheel", parent="world", joint="continuous", joint_name="axle", axis=(0, 0, 1), xyz=(3, 0, 1), mass=1.0,
        inertia=np.eye(3), effort_limit=1.0,
    )  # fmt: skip
    robot = b.build()
    q = np.zeros(robot.nq)
    for k in range(27):
        body = robot.joint(robot.joints[k].name).q
        place = (k % 3 * (SIDE + GAP), k // 3 % 3 * (SIDE + GAP), SIDE / 2 + k // 9 * SIDE)
        q[body] = [*place, 1.0, 0.0, 0.0, 0.0]
    heights = [robot.joints[k].q.start + 2 for k in range(27)]
    env = learn.Environment(
        robot, contact=Contact(ground=0.0, friction=0.6, pairs="all"), action=learn.Torques(joints=["axle"]), reset=q,
        observe={"heights": lambda s: s.q[heights]}, reward={"none": lambda s: 0.0 * s.t}, episode=None,
    )  # fmt: skip
    vec = env.vector(2)
    obs, _ = vec.reset()
    for _ in range(25):
        obs, *_ = vec.step(np.zeros((2, 1)))
    np.testing.assert_allclose(np.sort(obs, axis=1), [LAYERS] * 2, atol=SETTLES)
    assert vec.state()["steps"][:, 0].tolist() == [25.0, 25.0]
