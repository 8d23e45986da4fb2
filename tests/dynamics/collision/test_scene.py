"""Several robots and loose objects in one world."""

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError
from dalembert.model.geometry import Box, Sphere
from dalembert.spatial import Pose, so3
from dynamics.collision.robots import arm
from tolerances import COMPUTED, PRODUCT, assert_close


def ball(radius=0.1):
    b = dalembert.ModelBuilder("ball")
    b.add_body("ball", parent="world", joint="free", mass=0.5, inertia=0.002 * np.eye(3))
    b.add_geometry(Sphere(radius), body="ball", role="collision")
    return b.build()


def test_an_arm_two_balls_and_a_wall():
    robot = arm()
    room = dalembert.scene(robot, red=ball(), blue=ball(0.2), wall=Box([0.1, 2.0, 2.0]), at={"wall": (1.0, 0, 1.0)})
    assert room.nq == robot.nq + 14 and room.nv == robot.nv + 12
    assert {"link4", "red_ball", "blue_ball"} <= {body.name for body in room.bodies}
    assert room.total_mass == pytest.approx(robot.total_mass + 1.0)
    pairs = room.collision_pairs()
    assert ("red_ball", "blue_ball") in pairs and ("link4", "red_ball") in pairs and ("world", "red_ball") in pairs
    q = room.neutral()
    q[room.joint("red_ball").q] = [0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    q[room.joint("blue_ball").q.start] = -1.0
    d = dict(zip(pairs, room.distance(q), strict=True))
    assert d["world", "red_ball"] == pytest.approx(0.35)
    assert d["red_ball", "blue_ball"] == pytest.approx(np.sqrt(1.5**2 + 1) - 0.3)


def test_what_moves_alone_moves_the_same_in_a_scene():
    robot = arm(3)
    X = Pose(so3.from_rpy(0, 0, 0.7), np.array([1.0, 2.0, 0.0]))  # about gravity
    room = dalembert.scene(left=robot, right=robot, at={"right": X})
    rng = np.random.default_rng(0)
    (q, p), (v, w), (a, b) = robot.random(rng, 2), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    tau = room.inverse_dynamics(np.concatenate([q, p]), np.concatenate([v, w]), np.concatenate([a, b]))
    assert_close(tau, np.concatenate([robot.inverse_dynamics(q, v, a), robot.inverse_dynamics(p, w, b)]), COMPUTED)
    assert_close(room.pose(np.concatenate([q, p]), "right_tool"), X.matrix() @ robot.pose(p, "tool"), PRODUCT)


def test_bad_scenes():
    robot = arm(2)
    with pytest.raises(DalembertError, match="got a dict, expected robots, or things by name"):
        dalembert.scene({"arm": robot})
    with pytest.raises(DalembertError, match="two robots of one name"):
        dalembert.scene(robot, robot)
    with pytest.raises(DalembertError, match="unknown robot or object 'bal'"):
        dalembert.scene(ball=ball(), at={"bal": (0, 0, 1)})
    with pytest.raises(DalembertError, match="expected xyz"):
        dalembert.scene(ball=ball(), at={"ball": (0, 1)})
    with pytest.raises(DalembertError, match="expected a shape"):
        dalembert.scene(robot, stone=3.0)
