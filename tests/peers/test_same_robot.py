"""One robot in several formats: after matching joints by name, mass matrix, gravity and torques are the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dalembert.dynamics.algorithms import gravity, mass_matrix, rnea
from dalembert.formats import read
from dalembert.model import Model
from formats.sdf.from_urdf import STYLES, rewritten
from peers.example_robots import folder
from peers.urdf_to_mjcf import urdf_to_mjcf
from tolerances import assert_close
from trees import random_state

SAME = 1e-10  # of the largest entry: formats round at the sixteenth digit, and MuJoCo diagonalises inertias

# How a robot is written in a format, from its URDF file and the base; another format joins by another line.
WRITERS: dict[str, Callable] = {
    "mjcf": urdf_to_mjcf,
    "sdf": lambda file, base: rewritten(file.read_text(), STYLES[0], base)[0],
}

ROBOTS = [
    ("simple_humanoid_description/urdf/simple_humanoid.urdf", "free"),
    ("simple_humanoid_description/urdf/simple_humanoid_classical.urdf", "free"),
    ("a1_description/urdf/a1.urdf", "free"),
    ("alex_description/urdf/alex_sake_hands.urdf", "free"),
    ("borinot_description/urdf/borinot_flying_arm_2.urdf", "free"),
    ("bravo7_description/urdf/bravo7_no_ee.urdf", "fixed"),
    ("centauro_description/urdf/centauro.urdf", "free"),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    ("go2_description/urdf/go2.urdf", "free"),
    ("kinova_description/robots/kinova.urdf", "fixed"),
    ("laikago_description/urdf/laikago.urdf", "free"),
    ("panda_description/urdf/panda.urdf", "fixed"),
    ("so_arm_description/urdf/so100.urdf", "fixed"),
    ("solo_description/robots/solo12.urdf", "free"),
    ("tiago_pro_description/robots/tiago_pro.urdf", "fixed"),
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("xarm_description/urdf/xarm7.urdf", "fixed"),
    ("z1_description/urdf/z1.urdf", "fixed"),
]


def order(a: Model, b: Model) -> tuple[np.ndarray, np.ndarray]:
    """Which coordinates and velocities of `a` are those of `b`, in b's order; the free base matches by its kind."""
    free = {body.joint.name: body for body in a.bodies if body.joint.kind == "free"}
    q, v = [], []
    for body in b.bodies:
        if body.joint.nv:
            twin = next(iter(free.values())) if body.joint.kind == "free" else a.joint(body.joint.name)
            q += list(range(twin.q.start, twin.q.stop))
            v += list(range(twin.v.start, twin.v.stop))
    return np.array(q), np.array(v)


def same(a: Model, b: Model) -> None:
    """Dynamics agree at random states."""
    assert (a.nq, a.nv) == (b.nq, b.nv)
    assert_close(sum(x.inertia.mass for x in a.bodies), sum(x.inertia.mass for x in b.bodies), SAME)
    iq, iv = order(a, b)
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, v, acceleration = random_state(rng, a)
        assert_close(mass_matrix(a, q)[np.ix_(iv, iv)], mass_matrix(b, q[iq]), SAME, scale=0.0)
        assert_close(gravity(a, q)[iv], gravity(b, q[iq]), SAME, scale=0.0)
        assert_close(rnea(a, q, v, acceleration)[iv], rnea(b, q[iq], v[iv], acceleration[iv]), SAME, scale=0.0)
    for name in ("lower", "upper"):
        ends = [np.concatenate([getattr(x.joint, name) for x in m.bodies]) for m in (a, b)]
        assert sorted(ends[0].round(9)) == sorted(ends[1].round(9))


NOT_SDF = ("so_arm", "ur_", "xarm", "z1")  # a joint named like a link, or a link named world, which SDF forbids
CASES = [
    (file, base, target)
    for file, base in ROBOTS
    for target in WRITERS
    if target != "sdf" or not file.startswith(NOT_SDF)
]


@pytest.mark.parametrize(("file", "base", "target"), CASES)
def test_same_dynamics(file, base, target):
    urdf, _ = read(folder() / file, base=base, mimic="free")
    other, _ = read(WRITERS[target](folder() / file, base), mimic="free")
    same(urdf, other)


def test_simple_humanoid_is_there_in_three_formats():
    assert {target for file, _, target in CASES if "simple_humanoid.urdf" in file} == {"mjcf", "sdf"}
    assert len({file for file, _, _ in CASES}) >= 14
