"""A body with limbs in flight, as a step with contact takes it: second order, and no energy from nowhere."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Sphere
from dalembert.sim.elements import Thruster
from dalembert.spatial import so3
from loose_bodies import G
from tolerances import ORDER

NOWHERE = Contact(ground=-100.0)  # far below
RISE = 5e-5  # of the kinetic energy: within 0.5 s at 1 ms, to second order
FORGOTTEN = 3e-13  # of the angular momentum, by 30 000 rounding errors that do not all point the same way


@pytest.fixture(scope="module")
def tumbler() -> Robot:
    """A trunk with an arm of three joints whose axes differ."""
    builder = ModelBuilder("tumbler", gravity=(0.0, 0.0, -G))
    builder.add_body(
        "trunk", parent="world", joint="free", mass=5.0, inertia=np.diag([0.3, 0.2, 0.1]), com=(0, 0.02, 0)
    )
    for k, axis in enumerate([(0, 1, 0), (1, 0, 0), (0, 0, 1)]):
        builder.add_body(
            f"link{k}", parent=f"link{k - 1}" if k else "trunk", joint="revolute", axis=axis, mass=1.0,
            com=(0.02, 0.01, -0.15), inertia=np.diag([0.01, 0.008, 0.002]), xyz=(0.05, 0, -0.3),
        )  # fmt: skip
    builder.add_geometry(Sphere(0.05), body="link2", role="collision")
    return builder.build()


def test_flight_is_of_second_order_and_keeps_energy_and_momentum(tumbler: Robot) -> None:
    q, v = tumbler.neutral(), np.array([3.0, -2.0, 4.0, 0.0, 0.0, 0.0, 6.0, -5.0, 8.0])
    ends = []
    for step in (2e-3, 1e-3, 5e-4):
        motion = tumbler.rollout(q, v, step=step, steps=round(0.5 / step), every=50, contact=NOWHERE)
        ends.append(np.concatenate([motion.q[-1], motion.v[-1]]))
        kinetic = tumbler.kinetic_energy(motion.q, motion.v)
        total = kinetic + tumbler.potential_energy(motion.q)
        assert np.abs(total - total[0]).max() < RISE * (step / 1e-3) ** 2 * kinetic[0]
    coarse, fine = (np.abs(b - a).max() for a, b in pairwise(ends))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=ORDER)
    momenta = tumbler.centroidal_momentum(motion.q, motion.v)[..., :3]
    assert np.abs(momenta - momenta[0]).max() < RISE * np.abs(momenta).max()


@pytest.mark.parametrize("count", [1, 3])  # 3: a scene of loose bodies, whose step is another
@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.05, -0.02, 0.1)])
def test_bodies_that_tumble_for_long_keep_their_angular_momentum(count: int, com: tuple[float, ...]) -> None:
    inertia = np.array([[0.01, 0.002, 0.001], [0.002, 0.02, -0.003], [0.001, -0.003, 0.025]])
    builder = ModelBuilder("thrown", gravity=(0.0, 0.0, -G))
    for k in range(count):
        builder.add_body(f"body{k}", parent="world", joint="free", mass=1.0, inertia=inertia, com=com)
        builder.add_geometry(Sphere(0.1), body=f"body{k}", role="collision")
    robot = builder.build()
    q = np.concatenate([[k, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] for k in range(count)])
    v = np.tile([1.0, 5.0, 0.1, 0.0, 0.0, 0.0], count)
    motion = robot.rollout(q, v, step=2e-3, steps=15000, every=1500, contact=Contact(ground=-1e5))
    R = so3.from_quaternion(motion.q[:, 3:7])
    momenta = np.einsum("tij,jk,tk->ti", R, inertia, motion.v[:, :3])
    size = np.linalg.norm(momenta[0])
    assert np.abs(momenta - momenta[0]).max() < FORGOTTEN * size
    if count == 1:  # also where the body is kilometres away
        assert np.abs(robot.centroidal_momentum(motion.q, motion.v)[:, :3] - momenta[0]).max() < FORGOTTEN * size


def test_frames_turned_about_joints_springs_and_forces_on_links_are_right_in_flight() -> None:
    """Beside steps without contact, of fourth order, in the frames of the file."""
    builder = ModelBuilder("leg", gravity=(0.0, 0.0, -G))
    builder.add_body("base", parent="world", joint="free", mass=5.0, inertia=np.diag([0.1, 0.2, 0.3]))
    shape = {"mass": 1.0, "com": (0.02, 0.04, -0.1), "inertia": np.diag([1e-2, 2e-2, 3e-2])}
    for name, parent, axis, xyz, turned in (
        ("hip", "base", (1, 0, 0), (0.3, 0.1, 0.0), 2.0),
        ("thigh", "hip", (0, -1, 0), (0.06, 0.08, 0.1), -2.0),
    ):
        place = {"axis": axis, "xyz": xyz, "rpy": (turned, 0.0, 0.0), "stiffness": 30.0}
        builder.add_body(name, parent=parent, joint="revolute", **place, **shape)
    builder.add_geometry(Sphere(0.05), body="thigh", role="collision")
    robot, jet = builder.build(), Thruster("thigh", 10.0, (1, 2, 3), point=(0.1, 0.2, 0.3))
    q, v = robot.neutral(), np.array([3.0, -2.0, 4.0, 0.0, 0.0, 0.0, 6.0, -5.0])
    q[7:] = 0.3, 0.5
    exact = robot.rollout(q, v, step=1e-3, steps=200, elements=[jet], integrator="rk4").q
    coarse, fine = (
        np.abs(robot.rollout(q, v, step=step, steps=round(0.2 / step), elements=[jet], contact=NOWHERE).q - exact).max()
        for step in (2e-3, 1e-3)
    )
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=ORDER)
