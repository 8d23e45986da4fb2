"""Mimic joints against Pinocchio: its own ones where it can read them, and its free tree projected everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Robot, load
from peers.example_robots import folder, on_both_bases, peer
from peers.pinocchio_twin import Twin
from peers.test_pinocchio import POINT, SOLVE_PER_CONDITION, agree, states
from tolerances import PEER

pin = peer("pinocchio")

# file: how many joints follow, and whether Pinocchio can read it with mimic joints (a leader must come first)
FILES = {
    "baxter_description/urdf/baxter.urdf": (2, True),
    "panda_description/urdf/panda.urdf": (1, True),
    "panda_description/urdf/panda_collision.urdf": (1, True),
    "pr2_description/urdf/pr2.urdf": (10, True),
    "tiago_pro_description/robots/tiago_pro.urdf": (10, True),
    "romeo_description/urdf/romeo.urdf": (22, False),
    "talos_data/robots/talos_full_v2.urdf": (12, False),
    "talos_data/robots/talos_full_v2_box.urdf": (12, False),
}
MASSLESS = {"romeo_description/urdf/romeo.urdf": "[LR]Hand"}  # drives fingers that have no mass at all
EFFECTS = ("friction", "damping", "armature", "springs")


def pair(file: str, base: str) -> tuple[Robot, Robot]:
    """The robot coupled and free."""
    coupled, free = (load(folder() / file, base=base, mimic=mimic).without(*EFFECTS) for mimic in ("couple", "free"))
    assert sum(joint.leader is not None for joint in coupled.joints) == FILES[file][0]
    assert coupled.nv == free.nv - FILES[file][0]
    return coupled, free


def tie(coupled: Robot, free: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q' of the free robot and G with v' = G v."""
    q_free, G = np.full(free.nq, np.nan), np.zeros((free.nv, coupled.nv))
    for joint in coupled.joints:
        own, loose = q[joint.q], free.joint(joint.name)
        q_free[loose.q] = own if joint.leader is None else joint.ratio * own + joint.offset
        G[loose.v, joint.v] = joint.ratio * np.eye(loose.v.stop - loose.v.start)
    return q_free, G


@pytest.mark.parametrize(("file", "base"), on_both_bases(FILES))
def test_free_tree_projected(file, base):
    robot, free = pair(file, base)
    frame = robot.frames[-1].name
    twin = Twin((folder() / file).read_text(), free, floating=base == "free", points={frame: POINT})
    for q, v, a in states(robot):
        p, G = tie(robot, free, q)
        M = G.T @ twin.mass_matrix(p) @ G
        tau = G.T @ twin.inverse_dynamics(p, G @ v, G @ a)
        agree("mass_matrix", robot.mass_matrix(q), M)
        agree("inverse_dynamics", robot.inverse_dynamics(q, v, a), tau)
        agree("bias", robot.bias(q, v), G.T @ twin.bias(p, G @ v))
        agree("gravity", robot.gravity(q), G.T @ twin.gravity(p))
        agree("kinetic_energy", robot.kinetic_energy(q, v), twin.kinetic_energy(p, G @ v))
        agree("center_of_mass", robot.center_of_mass(q), twin.center_of_mass(p))
        agree("jacobian", robot.jacobian(q, frame, point=POINT), twin.jacobian(p, frame, axes="world", point=True) @ G)
        agree("poses", robot.poses(q), twin.poses(p))
        agree(
            "acceleration", robot.acceleration(q, v, a, frame), twin.acceleration(p, G @ v, G @ a, frame, axes="world")
        )
        if file in MASSLESS:
            with pytest.raises(DalembertError, match=f"joint '{MASSLESS[file]}' moves no mass"):
                robot.forward_dynamics(q, v, tau)
            continue
        tolerance = max(PEER, SOLVE_PER_CONDITION * np.linalg.cond(M))
        agree("forward_dynamics", robot.forward_dynamics(q, v, tau), a, tolerance, size=np.max(np.abs(a)))
        agree("inverse_mass_matrix", robot.inverse_mass_matrix(q) @ M, np.eye(robot.nv), tolerance)


@pytest.mark.parametrize("file", [file for file, (_, readable) in FILES.items() if readable])
def test_mimic_joints_of_pinocchio(file):
    """Fixed base; Pinocchio's mimic joints have no coordinates of their own either."""
    robot, _ = pair(file, "fixed")
    model = pin.buildModelFromUrdf(str(folder() / file), mimic=True)
    assert model.nv == robot.nv
    data = model.createData()
    order = np.full(robot.nv, -1)
    for joint in robot.joints:
        if joint.leader is None:
            order[joint.v] = model.joints[model.getJointId(joint.name)].idx_v
    for q, v, a in states(robot):
        p, there, at = np.full(model.nq, np.nan), np.zeros(robot.nv), np.zeros(robot.nv)
        for joint in robot.joints:
            theirs = model.joints[model.getJointId(joint.name)]
            if joint.leader is None:
                own = q[joint.q]
                p[theirs.idx_q : theirs.idx_q + theirs.nq] = [np.cos(own[0]), np.sin(own[0])] if theirs.nq == 2 else own
        there[order], at[order] = v, a
        tau = pin.rnea(model, data, p, there, at)
        agree("inverse_dynamics", robot.inverse_dynamics(q, v, a), tau[order])
        upper = np.triu(pin.crba(model, data, p))
        agree("mass_matrix", robot.mass_matrix(q), (upper + np.triu(upper, 1).T)[np.ix_(order, order)])


def test_which_files_pinocchio_reads():
    """The table at the top is true."""
    for file, (_, readable) in FILES.items():
        if readable:
            pin.buildModelFromUrdf(str(folder() / file), mimic=True)
        else:
            with pytest.raises(ValueError, match="mimic"):
                pin.buildModelFromUrdf(str(folder() / file), mimic=True)


def test_a_leader_that_is_not_there_is_logged():
    robot = load(folder() / "alex_description/urdf/alex_psyonic_hands.urdf")
    found = [finding for finding in robot.import_log if "mimics" in finding.what]
    assert len(found) == 8
    assert all(f.severity == "warning" and "not a joint of the robot" in f.what for f in found)
