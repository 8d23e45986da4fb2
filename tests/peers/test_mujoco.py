"""Agreement with MuJoCo: random trees of every joint type it can express, robots, and URDF files it reads itself.

Rotors, dampers and springs take part; Coulomb friction, which is a constraint there, does not.
"""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from dalembert import Robot, load
from dalembert.model.bundled import path as bundled
from peers.example_robots import folder, peer
from peers.mujoco_twin import Twin
from tolerances import PEER, SOLVE, assert_close
from trees import ALL_KINDS, random_model, random_state

mj = peer("mujoco")

# MuJoCo has no screw, and lets only bodies in the world float.
KINDS = tuple(kind for kind in ALL_KINDS if kind not in ("screw", "free"))

ROBOTS = [
    ("ur5", None),
    ("panda", None),
    ("puma560", None),
    ("scara", None),
    ("quadruped", None),
    ("humanoid", None),
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("panda_description/urdf/panda.urdf", "free"),
    ("anymal_b_simple_description/robots/anymal.urdf", "free"),
    ("talos_data/robots/talos_reduced.urdf", "free"),
    ("tiago_description/robots/tiago_no_hand.urdf", "fixed"),
]

FILES = [
    "scara",
    "ur5",
    "panda",
    "puma560",
    "ur_description/urdf/ur5_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
    "talos_data/robots/talos_left_arm.urdf",
]


def agree(robot: Robot, seed: int, states: int = 3) -> None:
    twin, rng = Twin(robot.model), np.random.default_rng(seed)
    bodies = robot.model.bodies
    for _ in range(states):
        q, v, a = random_state(rng, robot.model)
        kinetic, potential = twin.energies(q, v)
        assert_close(robot.mass_matrix(q), twin.mass_matrix(q), PEER, scale=0.0)
        assert_close(robot.inverse_dynamics(q, v, a), twin.inverse_dynamics(q, v, a), PEER, scale=0.0)
        assert_close(robot.bias(q, v), twin.bias(q, v), PEER, scale=0.0)
        assert_close(robot.forward_dynamics(q, v, a), twin.forward_dynamics(q, v, a), SOLVE, scale=0.0)
        assert_close(robot.kinetic_energy(q, v), kinetic, PEER, scale=0.0)
        assert_close(robot.potential_energy(q), potential, PEER, scale=9.81 * sum(b.inertia.mass for b in bodies))
        for index in (len(bodies) // 2, len(bodies) - 1):
            assert_close(robot.pose(q, bodies[index].name), twin.pose(q, index), PEER)
            assert_close(robot.jacobian(q, bodies[index].name), twin.jacobian(q, index), PEER)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed, base):
    model = random_model(seed, n_bodies=8, kinds=KINDS, base=base).without("friction")
    joints = [body.joint for body in model.bodies]
    assert {joint.kind for joint in joints} >= set(KINDS) and any(joint.stiffness.any() for joint in joints)
    agree(Robot(model), seed)


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_robots(name, base):
    source = folder() / name if name.endswith(".urdf") else name
    agree(load(source, base=base, mimic="free").without("friction"), seed=1)


@pytest.mark.parametrize("name", FILES)
def test_files_that_mujoco_reads(name):
    """Both read the file: mass matrix, bias and inverse dynamics, with the file's damping. Joints are told by name."""
    file = folder() / name if name.endswith(".urdf") else bundled(name)
    robot = load(file, mimic="free").without("friction", "armature", "springs")
    model = mj.MjSpec.from_string(_mechanics(file)).compile()
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    data, M, rng = mj.MjData(model), np.full((model.nv, model.nv), np.nan), np.random.default_rng(2)
    order = [model.joint(joint.name).dofadr[0] for joint in robot.joints]
    assert sorted(order) == list(range(robot.nv)) == list(range(model.nv))
    assert_close(model.dof_damping[order], [joint.damping[0] for joint in robot.joints], PEER)
    for _ in range(3):
        q, v, a = random_state(rng, robot.model)
        data.qpos[order], data.qvel[order] = q, v
        mj.mj_forward(model, data)
        mj.mj_fullM(model, data, M)
        assert_close(robot.mass_matrix(q), M[np.ix_(order, order)], PEER, scale=0.0)
        data.qacc[order] = a
        mj.mj_inverse(model, data)
        assert_close(robot.inverse_dynamics(q, v, a), data.qfrc_inverse[order], PEER, scale=0.0)
        passive = [joint.damping[0] for joint in robot.joints] * v
        assert_close(robot.bias(q, v) - passive, data.qfrc_bias[order], PEER, scale=0.0)


def _mechanics(file) -> str:
    """The file without geometry, whose meshes are not at hand, and with inertias as they are."""
    root = etree.parse(str(file), etree.XMLParser(remove_comments=True, resolve_entities=False)).getroot()
    for element in [*root.iter("visual", "collision"), *(e for e in root if e.tag not in ("link", "joint"))]:
        element.getparent().remove(element)
    root.append(etree.fromstring('<mujoco><compiler balanceinertia="false"/></mujoco>'))
    return etree.tostring(root, encoding="unicode")
