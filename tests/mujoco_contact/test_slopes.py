"""Linear models and inverse dynamics with MuJoCo's soft constraints, beside mjd_transitionFD and mj_inverse."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, control
from mujoco_contact.twin import SOFT, Twin
from tolerances import ITERATED, SLOPE, assert_close

mj = pytest.importorskip("mujoco", reason="the peer is MuJoCo: pip install mujoco")

HELD = 1e-2  # rad or m: how near to its equilibrium a regulator brings a hopper in two seconds
HOPPER = """
<mujoco><compiler autolimits="true"/>
<option timestep=".002" cone="{cone}" integrator="Euler"><flag eulerdamp="disable"/></option>
<default><geom density="800" friction=".8" solimp=".9 .99 .003" solref=".015 1"/></default>
<worldbody>
  <geom name="floor" type="plane" size="0 0 1"/>
  <body name="trunk" pos="0 0 .8">
    <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
    <joint name="pitch" type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 -.1 0 0 .3" size=".08"/>
    <body name="thigh" pos="0 0 -.1">
      <joint name="hip" axis="0 1 0" damping=".4" stiffness="3" armature=".01" range="-120 120"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".05"/>
      <body name="shank" pos="0 0 -.3">
        <joint name="knee" axis="0 1 0" damping=".4" armature=".01" range="-150 150"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
        <body name="foot" pos="0 0 -.3">
          <joint name="ankle" axis="0 1 0" damping=".4" armature=".01" range="-90 90" frictionloss="{dry}"/>
          <geom type="capsule" fromto="-.08 0 -.02 .16 0 -.02" size=".03" condim="{condim}"/>
        </body>
      </body>
    </body>
  </body>
</worldbody>
<actuator>
  <motor joint="hip" gear="40"/><motor joint="knee" gear="40"/><motor joint="ankle" gear="20"/>
</actuator></mujoco>
"""


def hopper(cone="pyramidal", condim=3, dry=0.0):
    return Twin(HOPPER.format(cone=cone, condim=condim, dry=dry))


def standing(twin):
    q = np.array([0.0, 0.0, 0.02, 0.3, -0.6, 0.28])
    q[1] -= 0.8 - 0.1 - 0.6 * np.cos(0.3) - 0.055
    return twin.robot.equilibrium(q, contact=SOFT)


def inverse(twin, q, v, a):
    d = twin.d
    d.qpos[:], d.qvel[:], d.qacc[:] = q, v, a
    mj.mj_inverse(twin.m, d)
    return d.qfrc_inverse.copy()


@pytest.mark.parametrize("cone, condim", [("pyramidal", 3), ("elliptic", 3), ("elliptic", 4), ("pyramidal", 6)])
def test_the_inverse_is_that_of_mujoco(cone, condim) -> None:
    twin = hopper(cone, condim, dry=0.3)
    rest, rng = standing(twin), np.random.default_rng(0)
    n = twin.robot.nv
    states = [(rest.q, np.zeros(n), np.zeros(n))]
    states += [(rest.q + 2e-3 * rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n)) for _ in range(6)]
    theirs = np.array([inverse(twin, *state) for state in states])
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    assert_close(twin.robot.inverse_dynamics(q, v, a, contact=SOFT), theirs, ITERATED, 100.0)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("pushed", [0.0, 1.0])
def test_the_linear_model_is_that_of_mujoco(cone, pushed) -> None:
    """Of one step v' = v + h a, q' = q + h v' with the slopes of a."""
    twin = hopper(cone)
    rest, n, h = standing(twin), twin.robot.nv, twin.m.opt.timestep
    v = pushed * 0.02 * np.random.default_rng(3).normal(size=n)
    d = twin.d
    d.qpos[:], d.qvel[:], d.qfrc_applied[:] = rest.q, v, rest.tau
    d.qacc_warmstart[:] = 0.0
    mj.mj_forward(twin.m, d)
    theirs = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, twin.m.nu))
    mj.mjd_transitionFD(twin.m, d, 1e-6, True, *theirs, None, None)
    A, B = twin.robot.linearize(rest.q, v, rest.tau, contact=SOFT)
    faster = np.hstack([h * A[n:, :n], np.eye(n) + h * A[n:, n:]])
    further = np.hstack([np.eye(n), np.zeros((n, n))]) + h * faster
    assert_close(np.vstack([further, faster]), theirs[0], 10 * SLOPE, 10.0)
    gears = B[n:, [3, 4, 5]] * [40.0, 40.0, 20.0]
    assert_close(np.vstack([h * h * gears, h * gears]), theirs[1], SLOPE, 10.0)


def test_the_equilibrium_stays_in_mujoco() -> None:
    twin = hopper()
    rest = standing(twin)
    twin.d.qpos[:], twin.d.qfrc_applied[:] = rest.q, rest.tau
    mj.mj_forward(twin.m, twin.d)
    assert_close(twin.d.qacc, np.zeros(twin.robot.nv), SLOPE, 10.0)
    assert_close(rest.tau[:3], np.zeros(3), ITERATED)


def test_a_regulator_holds_the_hopper_in_mujoco() -> None:
    """The law of this library moves MuJoCo's own simulation; left alone the hopper falls."""
    twin = hopper()
    rest, n = standing(twin), twin.robot.nv
    law = control.lqr(twin.robot, rest.q, R=1e-2, contact=SOFT, tau=rest.tau)
    for torque, holds in ((law, True), (lambda t, q, v: rest.tau, False)):
        mj.mj_resetData(twin.m, twin.d)
        twin.d.qpos[:], twin.d.qvel[2] = rest.q, 0.05
        for _ in range(1000):
            twin.d.qfrc_applied[:] = torque(0.0, twin.d.qpos.copy(), twin.d.qvel.copy())
            mj.mj_step(twin.m, twin.d)
        off = np.abs(twin.d.qpos - rest.q)[1:].max()
        assert (off < HELD) == holds
    assert n == len(rest.tau)


@pytest.mark.long
def test_many_shapes_are_gathered_with_the_same_slopes() -> None:
    """A pile of boxes: more points than are written out one by one."""
    bodies = "".join(
        f'<body pos="0 0 {0.1 + 0.199 * k}"><freejoint/><geom type="box" size=".15 .15 .1"/></body>' for k in range(3)
    )
    twin = Twin(f'<mujoco><worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>')
    robot, contact = twin.robot, Contact(model="mujoco")
    q, v = robot.home()
    n = robot.nv
    q = robot.integrate(q, 1e-3 * np.random.default_rng(2).normal(size=n))  # where no two corners coincide
    a = robot.contact_dynamics(q, v, np.zeros(n), contact=contact).a
    assert_close(robot.inverse_dynamics(q, v, a, contact=contact), np.zeros(n), 100 * ITERATED, 100.0)
    A = robot.linearize(q, v, np.zeros(n), contact=contact).A
    ways = 1e-6 * np.eye(n)

    def at(q):
        return robot.contact_dynamics(q, v, np.zeros(n), contact=contact).a

    slopes = (at(robot.integrate(q, ways)) - at(robot.integrate(q, -ways))).T / 2e-6
    assert_close(A[n:, :n], slopes, 10 * SLOPE, 1e3)
