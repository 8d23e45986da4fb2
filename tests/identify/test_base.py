"""Base parameters: their number is known from the literature, their groups from the torques they must give."""

import numpy as np
import pytest

import trees
from dalembert import DalembertError, Robot, identify, load
from tolerances import ITERATED

RANKS = {"ur5": 36, "ur10e": 36, "puma560": 36, "panda": 43, "iiwa14": 43, "2r": 6, "scara": 8, "quadruped": 94}


@pytest.mark.parametrize("name", RANKS)
def test_number_of_base_parameters(name):
    assert identify.base_parameters(load(name)).rank == RANKS[name]


def test_groups_of_a_planar_arm_in_words():
    base = identify.base_parameters(load("2r"), friction=("viscous", "coulomb"), rotor=True)
    assert "link1 m·cx + 0.3 link2 m" in base.groups
    assert "link1 Iyy + 0.09 link2 m + shoulder rotor" in base.groups
    assert "elbow rotor" in base.groups
    assert "link1 m" in base.unseen


@pytest.mark.parametrize("name", ["ur5", "scara", "quadruped"])
def test_base_parameters_give_the_torques(name):
    """W x = W_b β for any x: what is grouped loses nothing."""
    robot = load(name)
    base = identify.base_parameters(robot, friction=("viscous", "coulomb", "offset"), rotor=True)
    rng = np.random.default_rng(3)
    q, v, a = robot.random(rng, n=20), rng.normal(size=(20, robot.nv)), rng.normal(size=(20, robot.nv))
    W = base.columns.matrix(q, v, a)
    x = rng.normal(size=base.columns.size)
    grouped = W[:, :, list(base.independent)] @ (base.matrix @ x)
    scale = np.abs(W @ x).max()
    np.testing.assert_allclose(grouped, W @ x, atol=1000 * ITERATED * scale)


def test_columns_give_inverse_dynamics_of_the_whole_robot():
    """Friction, rotors and springs of the file are either columns or known; both ways give all of the torque."""
    robot = (
        load("panda").edit().set_joint("panda_joint1", damping=0.4, friction=0.7, armature=0.2, stiffness=3.0).done()
    )
    rng = np.random.default_rng(0)
    q, a = robot.random(rng, n=30), rng.normal(size=(30, robot.nv))
    v = rng.normal(size=(30, robot.nv))
    expected = robot.inverse_dynamics(q, v, a)
    for options in (
        {},
        {"friction": ("viscous", "coulomb")},
        {"rotor": True},
        {"springs": True, "friction": ("viscous",)},
    ):
        columns = identify.base_parameters(robot, **options).columns
        predicted = columns.matrix(q, v, a) @ columns.prior() + columns.known(q, v, a)
        np.testing.assert_allclose(predicted, expected, atol=ITERATED * np.abs(expected).max())


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))])
def test_random_trees_lose_no_torque(seed):
    rng, robot = np.random.default_rng(11), Robot(trees.random_model(np.random.default_rng(seed)))
    base = identify.base_parameters(robot)
    q, v, a = robot.random(rng, n=8), rng.normal(size=(8, robot.nv)), rng.normal(size=(8, robot.nv))
    W = base.columns.matrix(q, v, a)
    bare = robot.without("friction", "damping", "armature", "springs")
    tau = bare.inverse_dynamics(q, v, a)
    grouped = W[:, :, list(base.independent)] @ (base.matrix @ base.columns.prior())
    np.testing.assert_allclose(grouped, tau, atol=1000 * ITERATED * max(1.0, np.abs(tau).max()))


def test_unknown_friction_term_is_named():
    with pytest.raises(DalembertError, match="viscous"):
        identify.base_parameters(load("2r"), friction=("viscus",))


def test_loops_are_refused():
    with pytest.raises(DalembertError, match="loops"):
        identify.base_parameters(load("delta"))
