"""Bundled mechanisms and joints against published end values, closed forms and histories of another program."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Mechanism
from dalembert.mechanism import mechanism
from dalembert.mechanism.library import delta
from mechanism_linkages import four_bar
from tolerances import COARSE_RUN, DEFAULT_RUN, INTEGRATED, ITERATED, ORDER, TIGHT_RUN

RATIO = 0.15  # of errors: four with half the step, for small steps
READ = 3e-3  # forces read off printed curves
STRAIGHT = 0.01  # Watt's line is only nearly straight

# IVP test set, Andrews' squeezer at t = 0.03: angles and speeds (PSIDE, tolerance 1e-14)
ANDREWS_ANGLES = {
    "beta": 15.81077119629904, "theta": -15.75637105984298, "gamma": 0.04082224013073101, "phi": -0.5347301163226948,
    "delta": 0.5244099658805303, "omega": 0.5347301163226948, "epsilon": 1.048080741042263,
}  # fmt: skip
ANDREWS_SPEEDS = {
    "beta": 1139.920302151208, "theta": -1424.379294994111, "gamma": 11.03291221937134, "phi": 19.29337464421385,
    "delta": 0.5735699284790808, "omega": -19.29337464421385, "epsilon": 0.3231791658026955,
}  # fmt: skip


def test_andrews_squeezer_in_joint_coordinates() -> None:
    robot = dalembert.load("andrews")
    run = robot.simulate(*robot.start, 0.03, record=0.03, integrator="rk4", step=2e-6)
    for joint, angle in ANDREWS_ANGLES.items():
        assert run.q[-1, robot.joint(joint).q][0] == pytest.approx(angle, rel=2 * DEFAULT_RUN), joint
        assert run.v[-1, robot.joint(joint).v][0] == pytest.approx(ANDREWS_SPEEDS[joint], rel=10 * COARSE_RUN), joint


def test_andrews_squeezer_as_free_bodies() -> None:
    robot = mechanism("andrews").build("free")
    errors = []
    for h in (2e-6, 1e-6):
        end = robot.rollout(*robot.start, step=h, steps=round(0.03 / h), integrator="leapfrog")
        R = robot.pose(end.q, "K3.origin")
        gamma = np.arctan2(R[1, 0], R[0, 0])
        errors.append(abs(gamma / ANDREWS_ANGLES["gamma"] - 1.0))
    assert errors[1] < INTEGRATED and errors[0] / errors[1] == pytest.approx(4.0, rel=RATIO)


def test_double_four_bar_passes_singular_positions() -> None:
    """IFToMM A02, two loops, 10 s: closed form of the parallelogram."""
    robot = mechanism("double-four-bar").build("free")
    end = robot.rollout(*robot.start, step=1e-4, steps=100_000, integrator="leapfrog", every=1000)
    tip = robot.pose(end.q[-1], "rocker0.b")[:2, 3]
    velocity = robot.velocity(end.q[-1], end.v[-1], "rocker0.b")[3:5]
    np.testing.assert_allclose(tip, [0.3284581115408154, 0.944518538178601], atol=5 * COARSE_RUN)
    np.testing.assert_allclose(velocity, [1.4230514702069441, -0.49486884548704296], atol=20 * COARSE_RUN)
    energy = robot.energy(end.q, end.v)
    assert np.max(np.abs(energy - energy[0])) < 3 * INTEGRATED * np.max(robot.kinetic_energy(end.q, end.v))


@pytest.mark.parametrize(("integrator", "order"), [("heun", 2.0), ("rk4", 4.0)])
def test_a_redundant_loop_in_joint_coordinates_keeps_its_energy_to_the_order_of_the_method(
    integrator: str, order: float
) -> None:
    """Bricard's, at steps in which the stages leave the loop open by 1e-4: no equation is kept that others imply."""
    robot = mechanism("bricard").build("tree")
    errors = []
    for h in (0.01, 0.005):
        way = robot.rollout(*robot.start, step=h, steps=round(5.0 / h), integrator=integrator, every=1)
        energy = robot.energy(way.q, way.v)
        errors.append(np.max(np.abs(energy - energy[0])) / np.max(robot.kinetic_energy(way.q, way.v)))
    assert errors[1] < 0.01 ** (order - 0.5)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=5 * ORDER)


def test_bricard_moves_with_one_redundant_equation() -> None:
    robot = mechanism("bricard").build("free")
    end = robot.rollout(*robot.start, step=1e-4, steps=30_000, integrator="leapfrog", every=100)
    energy, moving = robot.energy(end.q, end.v), robot.kinetic_energy(end.q, end.v)
    assert np.max(moving) > 1.0 and np.max(np.abs(energy - energy[0])) < COARSE_RUN * np.max(moving)
    assert mechanism("bricard").mobility().redundant == {"hinge3": 1}


def test_simple_pendulum_against_elliptic_functions() -> None:
    """IFToMM A01: 1 m, 1 kg, from level; positions at 1, 5 and 10 s."""
    m = Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
    m.body("bob", 1.0, [1e-9] * 3, points={"pivot": (1.0, 0.0)}, xyz=(-1.0, 0.0))
    m.joint("revolute", "ground.origin", "bob.pivot")
    robot = m.build("tree")
    end = robot.rollout(*robot.start, step=1e-3, steps=10_000, integrator="rk4", every=1000)
    at = robot.pose(end.q, "bob.com")[:, :2, 3]
    wanted = {1: (0.98629175, -0.16501085), 5: (-0.94230544, -0.33475434), 10: (-0.27508746, -0.96141921)}
    for second, place in wanted.items():
        np.testing.assert_allclose(at[second - 1], place, atol=INTEGRATED)


# histories of ADAMS for a body of 1 kg, 0.1 kg·m² about each axis, its centre 2 m from the joint; g = 9.80665
HISTORIES = {
    "revolute": ({"axis": (0, 1, 0)}, (0, 0, 0),
                 {1.0: (-0.892381, 0.0, -1.78988), 5.0: (-1.99968, 0.0, -0.0355587)}, {1.0: 25.9014, 5.0: 0.567415}),
    "revolute at 45 degrees": ({"axis": (0, 1, 1)}, (1, 2, 3),
                 {1.0: (1.0421, 3.4139, 1.5861), 5.0: (1.20996, 3.4064, 1.5936)}, {1.0: 21.6028, 5.0: 21.5012}),
    "prismatic at 45 degrees": ({"axis": (0, 1, 1)}, (1, 2, 3),
                 {1.0: (3.0, -0.451662, 0.548338), 5.0: (3.0, -59.2916, -58.2916)}, {1.0: 6.93434, 5.0: 6.93434}),
    "spherical": ({}, (1, 2, 3), {1.0: (0.107619, 2.0, 1.21012), 5.0: (-0.999684, 2.0, 2.96444)},
                  {1.0: 25.9015, 5.0: 0.567401}),
}  # fmt: skip


@pytest.mark.parametrize("case", HISTORIES)
@pytest.mark.parametrize("coordinates", ["tree", "free"])
def test_joints_against_adams(case: str, coordinates: str) -> None:
    shape, joint, places, forces = HISTORIES[case]
    m = Mechanism("swing", gravity=(0.0, 0.0, -9.80665))
    m.ground(joint=joint)
    m.body("body", 1.0, [0.1] * 3, points={"joint": (-2.0, 0, 0)}, xyz=np.add(joint, (2.0, 0, 0)))
    m.joint(case.split()[0], "ground.joint", "body.joint", name="joint", **shape)
    m.sensor("position", "body.com", name="place").sensor("force", "joint", name="force")
    robot = m.build(coordinates)
    run = robot.simulate(*robot.start, 5.0, integrator="rk4", step=2e-3, record=1.0)
    for t, place in places.items():
        k = int(np.searchsorted(run.t, t - 1e-9))
        np.testing.assert_allclose(run.readings["place"][k], place, atol=2e-3 if t > 1.0 else 2e-4)
        assert np.linalg.norm(run.readings["force"][k]) == pytest.approx(forces[t], rel=READ)


def test_the_four_bar_fulfils_freudensteins_equation() -> None:
    """K1 cos ψ − K2 cos φ + K3 = cos(φ − ψ) of the angles of crank and rocker, over a turn; free bodies move alike."""
    crank, coupler, rocker, frame = 0.1, 0.3, 0.25, 0.3
    robot, free = (four_bar(rate=10.0).build(coordinates) for coordinates in ("tree", "free"))
    sweep = robot.sweep("A", np.linspace(1.0, 1.0 + 2.0 * np.pi, 13))
    phi, psi = (sweep.q[:, robot.joint(name).q.start] for name in "AD")
    K = frame / crank, frame / rocker, (crank**2 - coupler**2 + rocker**2 + frame**2) / (2.0 * crank * rocker)
    np.testing.assert_allclose(K[0] * np.cos(psi) - K[1] * np.cos(phi) + K[2], np.cos(phi - psi), atol=ITERATED)
    tree_end = robot.rollout(*robot.start, step=1e-3, steps=200, integrator="rk4")
    free_end = free.rollout(*free.start, step=1e-4, steps=2000, integrator="leapfrog")
    poses = [each.pose(end.q, "coupler.com") for each, end in ((robot, tree_end), (free, free_end))]
    np.testing.assert_allclose(poses[0], poses[1], atol=COARSE_RUN)


def test_watt_leads_its_middle_along_a_line() -> None:
    middle = dalembert.load("watt").sweep("drive", np.linspace(-0.3, 0.3, 13)).path("coupler.com")
    assert np.ptp(middle[:, 1]) > 0.25 and np.ptp(middle[:, 0]) < STRAIGHT * np.ptp(middle[:, 1])


def test_gears_turn_as_their_teeth_say() -> None:
    planetary, differential = dalembert.load("planetary"), dalembert.load("differential")
    end = planetary.rollout(*planetary.start, step=1e-3, steps=1000, integrator="rk4")
    turned = {joint.name: end.q[joint.q][0] for joint in planetary.joints}
    ratio = turned["carrier"] - (24 * turned["sun"] + 60 * turned["ring"]) / 84
    assert abs(ratio) < ITERATED
    end = differential.rollout(*differential.start, step=1e-3, steps=1000, integrator="rk4")
    turned = {joint.name: end.q[joint.q][0] for joint in differential.joints}
    assert turned["case"] == pytest.approx(0.5 * (turned["left"] + turned["right"]), abs=ITERATED)


def test_a_cam_lifts_its_follower_and_keeps_its_energy() -> None:
    robot = dalembert.load("cam-drive")
    run = robot.simulate(*robot.start, 0.5, record=0.01, rtol=1e-9)
    cam, follower = (run.q[:, robot.joint(name).q][:, 0] for name in ("cam", "follower"))
    assert cam[-1] > 4 * np.pi
    np.testing.assert_allclose(follower, 0.01 * (1.0 - np.cos(cam)), atol=2 * ITERATED)
    assert np.max(np.abs(run.energy.residual)) < INTEGRATED * np.max(run.energy.kinetic)


def test_the_governor_lifts_its_sleeve_when_it_turns_faster() -> None:
    heights = []
    for rate in (10.0, 16.0):
        m = mechanism("governor")
        spindle = m.joints["spindle"]
        m._joints["spindle"] = spindle.__class__(**(vars(spindle) | {"rate": rate}))
        robot = m.build()
        run = robot.simulate(*robot.start, 3.0, record=0.5, integrator="rk4", step=2e-3)
        heights.append(run.q[-1, robot.joint("slide").q][0])
    assert heights[1] > heights[0] + 0.02


def test_the_excavator_holds_its_arm_on_oil() -> None:
    robot = dalembert.load("excavator")
    run = robot.simulate(*robot.start, 1.0, record=0.1, integrator="implicit-velocity", step=2e-4)
    assert np.max(np.abs(run.q[-1] - robot.start[0])) < 0.02
    assert np.max(np.abs(run.v[-1])) < 0.05


@pytest.mark.parametrize("angles", [(0.3, 0.3, 0.3), (0.1, 0.5, 0.25)])
def test_the_delta_has_its_plate_where_three_spheres_meet(angles: tuple[float, float, float]) -> None:
    """Textbook: centres one arm out from the shoulders, drawn in by the plate's radius; the plate stays level."""
    m = delta(angles)
    assert (m.mobility().freedoms, m.mobility().count) == (3, 3)
    robot = m.build()
    X = robot.pose(robot.start[0], "plate.origin")
    np.testing.assert_allclose(X[:3, :3], np.eye(3), atol=ITERATED)
    for k, angle in enumerate(angles):
        turn = 2.0 * np.pi * k / 3.0
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        centre = (0.2 + 0.3 * np.cos(angle) - 0.05) * out - np.array([0, 0, 0.3 * np.sin(angle)])
        assert np.linalg.norm(X[:3, 3] - centre) == pytest.approx(0.8, abs=ITERATED)
    assert X[2, 3] < -0.6
    still = np.zeros(robot.nv)
    efforts = robot.efforts(robot.start[0], still, still, ["shoulder0", "shoulder1", "shoulder2"]).tau
    speed = robot.start[1].copy()
    speed[robot.joint("shoulder0").v] = 1.0
    moved = robot.close_loops(robot.start[0], speed).v  # virtual work: the arms lift all that rises
    lifted = robot.gravity(robot.start[0]) @ moved
    arms = [robot.joint(f"shoulder{k}").v.start for k in range(3)]
    assert efforts @ moved[arms] == pytest.approx(lifted, rel=TIGHT_RUN)
