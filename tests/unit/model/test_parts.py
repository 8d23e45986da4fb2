"""Other inertia of a body that is made of several links."""

import numpy as np
import pytest

from dalembert import ModelBuilder, load
from tolerances import PRODUCT, assert_close


def hand():
    """A wrist that carries a gripper heavier than itself."""
    b = ModelBuilder("hand")
    b.add_body("wrist", parent="world", joint="revolute", mass=0.3, com=(0, 0, 0.03), inertia=np.diag([4, 4, 3]) * 1e-4)
    b.add_body(
        "gripper", parent="wrist", xyz=(0, 0, 0.1), rpy=(0.3, 0, 0.2), mass=0.7, com=(0.01, 0, 0.05),
        inertia=np.diag([2, 3, 2.5]) * 1e-3,
    )  # fmt: skip
    return b.build()


@pytest.mark.parametrize("factor", [1.3, 0.9, 0.5])
def test_links_stay_possible_and_add_up(factor, tmp_path):
    robot = hand()
    lighter = robot.with_parameters(factor * robot.parameters())
    lighter.save(tmp_path / "hand.urdf")
    again = load(tmp_path / "hand.urdf")
    assert again.problems == ()
    assert_close(again.parameters(), factor * robot.parameters(), PRODUCT)
    parts = lighter.model.bodies[1].parts
    assert all(not part.inertia.problems() for part in parts)
    if factor > 1.0:  # the wrist can take it all, and the gripper stays
        assert parts[1].inertia.mass == 0.7


def test_an_impossible_body_is_taken_as_it_is():
    robot = hand()
    pi = -robot.parameters()
    assert_close(robot.with_parameters(pi).parameters(), pi, PRODUCT)
