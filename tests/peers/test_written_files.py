"""Robots of example-robot-data written in every format: read back by dalembert, and compiled by MuJoCo."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dalembert import DalembertError, robots
from dalembert.dynamics.algorithms import bias, mass_matrix, rnea
from dalembert.formats import read, write
from dalembert.model import Model
from dalembert.model.bundled import path as bundled
from peers.example_robots import files, folder, peer
from peers.mujoco_twin import Twin
from saving import ROUND_TRIP, again, assert_same_dynamics, joint_names, urdf_shapes
from trees import random_state

mj = peer("mujoco")

BROKEN = {"falcon_description/urdf/falcon.urdf", "ur_description/urdf/ur3.urdf"}  # no robots: names and links missing
SEEN_BY_MUJOCO = 1e-9  # relative; MuJoCo diagonalises inertias on its way

SOME = [
    "alex_description/urdf/alex_nub_hands.urdf",
    "asr_twodof_description/urdf/TwoDofs.urdf",
    "baxter_description/urdf/baxter.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "finger_edu_description/robots/finger_edu.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "so_arm_description/urdf/so101.urdf",
    "solo_description/robots/solo12.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "tiago_description/robots/tiago_no_hand.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
]


@pytest.mark.parametrize("name", [name for name in files() if name not in BROKEN])
def test_every_robot_through_urdf(tmp_path, name):
    model = read(folder() / name)[0]
    back = again(model, tmp_path / "robot.urdf")
    assert [frame.name for frame in back.frames] == [frame.name for frame in model.frames]
    assert joint_names(back) == joint_names(model)
    assert_same_dynamics(model, back, states=1)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("ending", [".xml", ".sdf"])
def test_robots_through_other_formats(tmp_path, name, ending):
    model = read(folder() / name)[0]
    back = again(model, tmp_path / f"robot{ending}")
    assert {frame.name for frame in model.frames} - {frame.name for frame in back.frames} <= {"world"}
    assert_same_dynamics(model, back, states=1)


@pytest.mark.parametrize("name", SOME)
def test_chains_become_dh_tables_and_others_are_refused(tmp_path, name):
    model = read(folder() / name)[0]
    if any(body.parent != body.index - 1 for body in model.bodies):
        with pytest.raises(DalembertError, match="branches off"):
            write(model, tmp_path / "robot.dh.toml")
    else:
        assert_same_dynamics(model, again(model, tmp_path / "robot.dh.toml"), states=1)


class Compiled(Twin):
    """The written file as MuJoCo compiles it, without contacts, limits, equalities and dry friction."""

    def __init__(self, model: Model, path) -> None:
        self.ours, self.base = model, model.bodies[0]
        self.model = mj.MjModel.from_xml_path(str(path))
        self.model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mj.MjData(self.model)
        assert (self.model.nq, self.model.nv) == (model.nq, model.nv)


POINTS = ("2r", "delta")  # links without moments, or without mass, which MuJoCo refuses


@pytest.mark.parametrize(
    ("name", "base"),
    [
        *((name, "fixed") for name in SOME),
        *((name, None) for name in robots() if name not in POINTS),
        ("panda_description/urdf/panda.urdf", "free"),
        ("simple_humanoid_description/urdf/simple_humanoid.urdf", "free"),
        ("solo_description/robots/solo12.urdf", "free"),
        ("talos_data/robots/talos_reduced.urdf", "free"),
    ],
)
def test_mujoco_sees_the_same_robot(tmp_path, name, base):
    """Mass matrix, bias and torques of the written MJCF, as MuJoCo's compiler and dynamics have it."""
    model = read(folder() / name if name.endswith(".urdf") else name, base=base, mimic="free")[0]
    model = model.without("friction", "loops")
    write(model, tmp_path / "robot.xml")
    twin, rng = Compiled(model, tmp_path / "robot.xml"), np.random.default_rng(4)
    q, v, a = random_state(rng, model)
    for ours, theirs in (
        (mass_matrix(model, q), twin.mass_matrix(q)),
        (bias(model, q, v), twin.bias(q, v)),
        (rnea(model, q, v, a), twin.inverse_dynamics(q, v, a)),
    ):
        assert np.max(np.abs(ours - theirs)) <= SEEN_BY_MUJOCO * np.max(np.abs(ours))
    for joint in joint_names(model):
        assert twin.model.joint(joint).name == joint


@pytest.mark.parametrize("name", ["panda", "scara", "talos_data/robots/talos_reduced.urdf", SOME[2], SOME[11]])
def test_pinocchio_reads_the_same_robot(tmp_path, name):
    """Another reader, strict about limits and materials, and without <dalembert>."""
    pin = peer("pinocchio")
    source = folder() / name if name.endswith(".urdf") else name
    model = read(source, base="fixed", mimic="free")[0].without("armature")
    write(model, tmp_path / "robot.urdf")
    theirs = pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    starts = [(theirs.idx_qs[theirs.getJointId(j)], theirs.idx_vs[theirs.getJointId(j)]) for j in joint_names(model)]
    order, places = [v for _, v in starts], [q for q, _ in starts]
    assert sorted(order) == list(range(model.nv)) and theirs.nq == model.nq
    q, _, _ = random_state(np.random.default_rng(6), model)
    there = np.empty(model.nq)
    there[places] = q
    M = pin.crba(theirs, theirs.createData(), there)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    assert np.max(np.abs(M - mass_matrix(model, q))) <= ROUND_TRIP * np.max(np.abs(M))
    if name in robots():
        shapes = sum(urdf_shapes(part) for body in model.bodies for part in body.parts)
        kinds = pin.GeometryType.VISUAL, pin.GeometryType.COLLISION
        found = [pin.buildGeomFromUrdf(theirs, str(tmp_path / "robot.urdf"), kind).ngeoms for kind in kinds]
        assert sum(found) == shapes


def test_a_body_that_mujoco_would_refuse_is_named(tmp_path):
    """Without the refusal MuJoCo's compiler would be the one to say it."""
    with pytest.raises(DalembertError, match="links 'link1', 'link2': it moves and has no mass or no inertia"):
        write(read("2r")[0], tmp_path / "2r.xml")


def test_bundled_files_are_read_by_pinocchio_without_a_word():
    """Standard URDF only: a tag that its reader does not know is an error on standard error."""
    peer("pinocchio")
    script = """
import sys, pinocchio
for file in sys.argv[1:]:
    model = pinocchio.buildModelFromUrdf(file)
    for kind in (pinocchio.GeometryType.VISUAL, pinocchio.GeometryType.COLLISION):
        pinocchio.buildGeomFromUrdf(model, file, kind)
"""
    files = [str(bundled(name)) for name in robots()]
    done = subprocess.run([sys.executable, "-c", script, *files], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
