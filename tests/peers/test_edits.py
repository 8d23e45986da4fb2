"""Edited robots against Pinocchio: reduced models, appended bodies, and the same robot on another base."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot, load
from dalembert.dynamics import algorithms as alg
from dalembert.editing.invariants import links_at
from dalembert.spatial import so3
from peers.example_robots import folder, peer
from peers.pinocchio_twin import Twin
from tolerances import PEER, assert_close

pin = peer("pinocchio")

FILES = [
    "anymal_b_simple_description/robots/anymal.urdf",
    "b1_description/urdf/b1.urdf",
    "a1_description/urdf/a1.urdf",
    "baxter_description/urdf/baxter.urdf",
    "laikago_description/urdf/laikago.urdf",
    "bolt_description/robots/bolt.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "finger_edu_description/robots/finger_edu.urdf",
    "go1_description/urdf/go1.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "icub_description/robots/icub.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",
    "pr2_description/urdf/pr2.urdf",
    "romeo_description/urdf/romeo_small.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "tiago_description/robots/tiago.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
]
EFFECTS = ("friction", "damping", "armature", "springs")
EDIT = 1e-12


def twins(file: str) -> tuple[Robot, Twin]:
    robot = load(folder() / file, base="fixed", mimic="free").without(*EFFECTS)
    return robot, Twin((folder() / file).read_text(), robot, floating=False)


def total(pinned) -> float:
    """Total mass of a Pinocchio model, with what is fixed to the world."""
    return sum(inertia.mass for inertia in pinned.inertias)


@pytest.mark.parametrize("file", FILES)
def test_locked_robots_are_pinocchios_reduced_models(file):
    robot, twin = twins(file)
    rng = np.random.default_rng(len(file))
    q = robot.random(rng)
    chosen = rng.permutation([joint.name for joint in robot.joints])[: max(1, len(robot.joints) // 2)].tolist()
    locked = robot.edit().lock({name: q[robot.joint(name).q] for name in chosen}).done()
    reference = twin.q(q)
    reduced = pin.buildReducedModel(twin.model, [twin.model.getJointId(name) for name in chosen], reference)
    assert locked.total_mass == pytest.approx(robot.total_mass, rel=EDIT)
    assert locked.total_mass == pytest.approx(total(reduced), rel=EDIT)
    data = reduced.createData()
    p = np.concatenate([q[robot.joint(joint.name).q] for joint in locked.joints]) if locked.nv else np.zeros(0)
    v, a = rng.normal(size=(2, locked.nv))
    # theirs by name
    there = [reduced.joints[reduced.getJointId(joint.name)] for joint in locked.joints]
    theirs = pin.neutral(reduced)
    order = np.zeros(locked.nv, int)
    for joint, other in zip(locked.joints, there, strict=True):
        angle = p[joint.q]
        theirs[other.idx_q : other.idx_q + other.nq] = angle if other.nq == 1 else [np.cos(angle[0]), np.sin(angle[0])]
        order[joint.v] = other.idx_v
    inverse = np.argsort(order)
    tau = pin.rnea(reduced, data, theirs, v[inverse], a[inverse])[order]
    upper = np.triu(pin.crba(reduced, data, theirs))
    M = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    assert_close(alg.rnea(locked.model, p, v, a), tau, PEER)
    assert_close(alg.mass_matrix(locked.model, p), M, PEER)
    pin.framesForwardKinematics(reduced, data, theirs)
    for frame in robot.model.frames:
        now = alg.frame_pose(locked.model, p, locked.model.frame(frame.name)).matrix()
        assert_close(now, data.oMf[reduced.getFrameId(frame.name, pin.BODY)].homogeneous, PEER)


@pytest.mark.parametrize("file", FILES)
def test_payloads_are_appended_bodies(file):
    robot, twin = twins(file)
    rng = np.random.default_rng(len(file))
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    frame = robot.frames[-1].name
    com, inertia = np.array([0.01, 0.02, 0.1]), np.diag([0.02, 0.03, 0.04])
    loaded = robot.edit().payload(2.5, frame=frame, com=com, inertia=inertia).done()
    there = twin.model.frames[twin.frame(frame)]
    twin.model.appendBodyToJoint(there.parentJoint, pin.Inertia(2.5, com, inertia), there.placement)
    twin.data = twin.model.createData()
    assert loaded.total_mass == pytest.approx(total(twin.model), rel=EDIT)
    assert_close(alg.rnea(loaded.model, q, v, a), twin.inverse_dynamics(q, v, a), PEER)


@pytest.mark.parametrize("file", FILES)
def test_afloat_on_another_link_it_is_the_same_robot(file):
    robot = load(folder() / file, base="free", mimic="free").without(*EFFECTS)
    twin = Twin((folder() / file).read_text(), robot, floating=True)
    rng = np.random.default_rng(len(file))
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    link = robot.bodies[-1].name
    turned = robot.edit().reroot(link).done()
    there = links_at(robot.model, q, v)[link]
    p, w = np.zeros(turned.nq), np.zeros(turned.nv)
    for joint in turned.joints[1:]:
        p[joint.q], w[joint.v] = q[robot.joint(joint.name).q], v[robot.joint(joint.name).v]
    p[:7], w[:6] = [*there.X.p, *so3.to_quaternion(there.X.R)], there.V
    assert turned.bodies[0].name == link
    assert turned.total_mass == pytest.approx(robot.total_mass, rel=EDIT)
    assert_close(alg.kinetic_energy(turned.model, p, w), twin.kinetic_energy(q, v), PEER)
    assert_close(alg.potential_energy(turned.model, p), twin.potential_energy(q), PEER)
    assert_close(alg.center_of_mass(turned.model, p), twin.center_of_mass(q), PEER)


@pytest.mark.parametrize("file", FILES)
def test_merging_keeps_mass_and_dynamics(file):
    robot, twin = twins(file)
    rng = np.random.default_rng(len(file))
    q = robot.random(rng)
    tip = robot.bodies[-1]
    merged = robot.edit().merge(tip.name, at=q[robot.joint(tip.joint).q]).done()
    assert tip.name not in merged.bodies[-1].parts and merged.frame(tip.name)
    assert merged.total_mass == pytest.approx(total(twin.model), rel=EDIT)
    names = [joint.name for joint in merged.joints]
    at = np.concatenate([np.arange(robot.nv)[robot.joint(name).v] for name in names]).astype(int) if names else []
    p = np.concatenate([q[robot.joint(name).q] for name in names]) if names else np.zeros(0)
    assert_close(alg.gravity(merged.model, p), twin.gravity(q)[at], PEER)
    assert_close(alg.mass_matrix(merged.model, p), twin.mass_matrix(q)[np.ix_(at, at)], PEER)


@pytest.mark.parametrize("edit", ["reroot", "placed"])
def test_a_base_that_is_not_at_the_origin_is_where_other_readers_look_for_it(tmp_path, edit):
    """An arm on a wall: its gravity torques are others, in every reader of the file."""
    robot = load("ur5").without(*EFFECTS)
    if edit == "reroot":
        robot = robot.edit().reroot("forearm_link").done()
    else:
        robot = robot.edit().set_placement("base_link", xyz=(0.3, -0.2, 1.0), rpy=(1.2, 0.1, -0.4)).done()
    robot.save(tmp_path / "arm.urdf")
    twin = Twin((tmp_path / "arm.urdf").read_text(), robot, floating=False)
    rng = np.random.default_rng(0)
    for q in robot.random(rng, 3):
        v, a = rng.normal(size=(2, robot.nv))
        assert_close(robot.inverse_dynamics(q, v, a), twin.inverse_dynamics(q, v, a), PEER)
        assert_close(robot.pose(q, "tool0"), twin.pose(q, "tool0"), PEER)
    again = load(tmp_path / "arm.urdf")
    assert {frame.name for frame in again.frames} == {frame.name for frame in robot.frames}
    assert_close(again.model.bodies[0].placement.matrix(), robot.model.bodies[0].placement.matrix(), PEER)
