"""Rigid contact: laws that can be written down by hand, with one setting and steps of 2 ms."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, SimulationError, elements, load
from dalembert.contact import candidates
from dalembert.model.geometry import Sphere
from loose_bodies import SIDE, G, ball, box, standing, table
from tolerances import COARSE_RUN, COMPUTED, CONTACT_SOLVER, CONVERGED, INTEGRATED, ITERATED, REACHED, SETTLED

SPINNING_UP = 0.02  # the ball slides a little before it rolls
SERVOS_SETTLING = 0.05  # servos still move the body a little after 1 s [N]

FINE = 1e-9  # [m/s] of the laws of contact
REST_NOISE = 1e-5  # [m/s]: a body at rest moves less

STEP = 2e-3
MU = 0.6
CONTACT = Contact(ground=0.0, friction=MU)


def rolled(robot, state, steps: int, contact=CONTACT, **options):
    return robot.rollout(*state, step=STEP, steps=steps, every=1, contact=contact, **options)


def test_a_box_on_a_slope_below_the_friction_angle_does_not_creep() -> None:
    motion = rolled(box(float(np.arctan(0.95 * MU))), standing(SIDE / 2), 1000)
    creep = (motion.q[-1, 0] - motion.q[499, 0]) / (500 * STEP)
    assert abs(creep) < COMPUTED
    assert np.abs(motion.v[-1]).max() < COMPUTED


def test_above_it_slides_at_the_acceleration_of_the_book() -> None:
    slope = float(np.arctan(1.5 * MU))
    motion = rolled(box(slope), standing(SIDE / 2), 500)
    expected = G * (np.sin(slope) - MU * np.cos(slope))
    assert (motion.v[-1, 3] - motion.v[249, 3]) / (250 * STEP) == pytest.approx(expected, rel=ITERATED)


@pytest.mark.parametrize("speed", [3.0, 15.0])
def test_a_sliding_box_stops_where_it_should_and_does_not_lift(speed: float) -> None:
    motion = rolled(box(), standing(SIDE / 2, speed, 0.0, 0.0), 1400)
    assert motion.q[-1, 0] == pytest.approx(speed**2 / (2.0 * MU * G), rel=COARSE_RUN)
    assert np.abs(motion.q[:, 2] - SIDE / 2).max() < ITERATED
    assert np.abs(motion.v[-1]).max() < ITERATED


@pytest.mark.parametrize("restitution", [1.0, 0.8, 0.5])
def test_bounces_have_the_heights_of_the_book_at_any_step(restitution: float) -> None:
    contact = Contact(friction=0.0, restitution=restitution)
    motion = rolled(ball(), standing(1.1), 1500, contact)
    energy = motion.q[:, 2] - 0.1 + motion.v[:, 5] ** 2 / (2.0 * G)  # as a height
    risen = np.flatnonzero((motion.v[1:, 5] > 0.0) & (motion.v[:-1, 5] < 0.0)) + 1
    tops = energy[risen[:3]]
    np.testing.assert_allclose(tops, restitution ** (2.0 * np.arange(1, 4)), rtol=ITERATED)
    assert np.all(energy <= 1.0 + COMPUTED)
    assert motion.q[:, 2].min() >= 0.1 - COMPUTED


@pytest.mark.parametrize("step", [2e-3, 1e-2])
def test_rebounds_that_rise_less_than_a_step_comes_down_are_not_lost(step: float) -> None:
    # of a ball and of a box that lands flat, thrown aslant: until they meet the ground at less than rest_speed.
    # The last rebound is at 7 mm/s: its height is asked for to less than the default tolerance.
    contact = Contact(friction=0.0, restitution=0.2, tolerance=FINE)
    for body, half in ((ball(), 0.1), (box(), SIDE / 2)):
        motion = body.rollout(*standing(1.0 + half, 0.7, 0.0, 0.0), step=step, steps=800, every=1, contact=contact)
        energy = motion.q[:, 2] - half + motion.v[:, 5] ** 2 / (2.0 * G)
        risen = np.flatnonzero((motion.v[1:, 5] > REST_NOISE) & (motion.v[:-1, 5] < 0.0)) + 1
        np.testing.assert_allclose(energy[risen], 0.2 ** (2.0 * np.arange(1, 5)), rtol=INTEGRATED, atol=CONVERGED)
        assert np.all(energy <= 1.0 + COMPUTED)


@pytest.mark.parametrize("restitution", [0.0, pytest.param(0.5, marks=pytest.mark.long), 1.0])
def test_thrown_boxes_never_gain_energy(restitution: float) -> None:
    rng = np.random.default_rng(0)
    q = np.zeros((16, 7))
    q[:, 2], q[:, 3:] = 0.5, rng.normal(size=(16, 4))
    q = box().normalize(q)
    v = rng.normal(size=(16, 6)) * [5.0, 5.0, 5.0, 2.0, 2.0, 2.0]
    contact = Contact(friction=MU, restitution=restitution)
    motion = box().rollout(q, v, step=STEP, steps=1000, every=1, contact=contact)
    energy = 0.5 * motion.v**2 @ np.array([SIDE**2 / 6.0] * 3 + [1.0] * 3) + G * motion.q[..., 2]
    start = energy[:, 0]
    assert np.all(energy.max(axis=1) <= start * (1.0 + CONTACT_SOLVER))
    if restitution == 0.0:
        assert np.abs(motion.v[:, -1]).max() < ITERATED  # they come to rest


def test_angular_momentum_in_flight() -> None:
    builder = ModelBuilder("brick", gravity=(0.0, 0.0, 0.0))
    inertia = np.diag([1.0, 2.0, 3.0])
    builder.add_body("brick", parent="world", joint="free", mass=2.0, com=(0.1, 0.2, 0.0), inertia=inertia)
    builder.add_geometry(Sphere(0.1), body="brick", role="collision")
    brick = builder.build()
    q, v = np.array([0, 0, 10.0, 1, 0, 0, 0]), np.array([0.01, 1.0, 0.02, 0.3, 0.0, 0.0])
    motion = rolled(brick, (q, v), 5000)
    L = brick.centroidal_momentum(motion.q, motion.v)
    np.testing.assert_allclose(L, L[0] * np.ones((5000, 1)), atol=COMPUTED)
    energy = brick.kinetic_energy(motion.q, motion.v)
    np.testing.assert_allclose(energy, energy[0], rtol=INTEGRATED)  # through two flips of the middle axis


@pytest.mark.parametrize(("legs", "load"), [(4, 29.43), (2, 58.86)])
def test_loads_at_rest(legs: int, load: float) -> None:
    run = table(legs).simulate(*standing(0.32), duration=0.1, step=STEP, contact=CONTACT)
    contacts = run.contacts
    np.testing.assert_allclose(contacts.force[-1], np.tile([0.0, 0.0, load], (legs, 1)), atol=ITERATED)
    assert contacts.names == tuple(f"foot{k}" for k in range(legs))
    assert contacts.force.shape == (11, legs, 3) and contacts.gap.shape == contacts.ratio.shape == (11, legs)
    assert np.abs(contacts.gap[-1]).max() < CONTACT_SOLVER * STEP
    assert contacts.unsettled == 0
    np.testing.assert_allclose(contacts.zero_moment_point[-1], 0.0, atol=ITERATED)
    if legs == 4:
        assert contacts.margin[-1] == pytest.approx(0.2)
        corners = {(round(x, 9), round(y, 9)) for x, y in contacts.support_polygon()}
        assert corners == {(-0.3, -0.2), (0.3, -0.2), (0.3, 0.2), (-0.3, 0.2)}


def test_the_ledger_of_a_sliding_fall_adds_up() -> None:
    q, v = standing(0.5, 2.0, 0.0, 0.0)
    run = table().simulate(q, v, duration=0.8, step=STEP, contact=Contact(friction=0.3))
    assert np.abs(run.energy.residual).max() < ITERATED * run.energy.scale
    heat = {name: x[-1] for name, x in run.energy.heat.items()}
    assert heat["contact friction"] > 1.0 and heat["contact impacts"] > 1.0
    assert set(heat) == {"contact friction", "contact impacts"}
    for name, (largest, _) in run.contacts.table.items():
        assert largest < CONTACT_SOLVER, name


def test_a_thrown_ball_slips_and_then_rolls_at_five_sevenths() -> None:
    motion = rolled(ball(), standing(0.1, 2.0, 0.0, 0.0), 500)
    assert motion.v[-1, 1] * 0.1 == pytest.approx(2.0 * 5.0 / 7.0, rel=ITERATED)  # about y, in body axes
    world = (motion.q[-1, 0] - motion.q[-2, 0]) / STEP
    assert world == pytest.approx(2.0 * 5.0 / 7.0, rel=ITERATED)


def test_rolling_and_torsional_friction_stop_a_ball() -> None:
    state = standing(0.1, 1.0, 0.0, 0.0)
    state[1][1], state[1][2] = 10.0, 5.0  # rolls along x, spins about the vertical
    contact = Contact(friction=MU, rolling=0.01, torsion=0.01)
    motion = rolled(ball(), state, 1500, contact)
    assert np.abs(motion.v[-1]).max() < ITERATED
    deceleration = 0.01 * G / (0.1 * 1.4)  # 7/5 m r a = rolling · m g / r … per radius
    expected = 0.5 * 1.0**2 / deceleration
    assert np.linalg.norm(motion.q[-1, :2]) == pytest.approx(expected, rel=SPINNING_UP)


def test_static_friction_above_sliding_friction() -> None:
    contact = Contact(friction=0.4, static_friction=MU)
    slope = float(np.arctan(0.95 * MU))
    held = rolled(box(slope), standing(SIDE / 2), 250, contact)
    assert np.abs(held.v[-1]).max() < ITERATED
    moving = rolled(box(slope), standing(SIDE / 2, 0.5, 0.0, 0.0), 500, contact)
    expected = G * (np.sin(slope) - 0.4 * np.cos(slope))
    assert (moving.v[-1, 3] - moving.v[249, 3]) / (250 * STEP) == pytest.approx(expected, rel=CONTACT_SOLVER)


def test_what_slides_below_its_friction_at_rest_keeps_the_laws() -> None:
    contact = Contact(friction=0.4, static_friction=0.8)
    contacts = box().simulate(*standing(SIDE / 2, 3.0, 0.0, 0.0), duration=0.3, step=STEP, contact=contact).contacts
    assert contacts.ratio[-1].max() == pytest.approx(1.0, rel=INTEGRATED)
    assert contacts.table["dissipation"][0] < INTEGRATED


@pytest.mark.parametrize("share", [1.001, pytest.param(1.05, marks=pytest.mark.long)])
def test_a_box_below_its_static_friction_stays(share: float) -> None:
    """Its corners are held to the tolerance: what moves no faster than that error has not begun to slide."""
    slope = float(np.arctan(0.7))
    for step in (5e-4, STEP):
        contact = Contact(friction=0.5, static_friction=0.7 * share)
        run = box(slope).simulate(*standing(SIDE / 2), 0.1, step=step, contact=contact)
        assert np.abs(run.q[-1, :2]).max() < REACHED


def test_what_starts_deep_comes_out_slowly_and_the_log_says_so() -> None:
    run = ball().simulate(*standing(0.075), duration=1.0, step=STEP, contact=CONTACT)
    assert run.q[:, 2].max() < 0.101
    assert abs(run.q[-1, 2] - 0.1) < SETTLED
    assert any("25 mm deep" in line for line in run.log)
    impacts, lifted = run.energy.heat["contact impacts"], run.energy.work["contact recovery"]
    assert np.diff(impacts).min() > -ITERATED and np.diff(lifted).min() >= 0.0
    assert lifted[-1] - impacts[-1] == pytest.approx(G * (run.q[-1, 2] - run.q[0, 2]), rel=ITERATED)
    assert impacts[-1] < 0.05 * lifted[-1]


def test_a_run_with_contact_that_explodes_speaks_of_its_contacts() -> None:
    with pytest.raises(SimulationError) as caught:
        ball().simulate(*standing(0.075), np.full(6, 1e300), duration=0.1, step=STEP, contact=CONTACT)
    assert "25 mm deep" in str(caught.value) and "try a shorter one" in str(caught.value)
    assert "rk45" not in str(caught.value)  # which takes no rigid contact


def test_results_do_not_depend_on_threads_or_on_the_batch() -> None:
    rng = np.random.default_rng(1)
    q = np.zeros((24, 7))
    q[:, 2], q[:, 3:] = 0.15, rng.normal(size=(24, 4))
    q, v = box().normalize(q), rng.normal(size=(24, 6))
    run = [box().rollout(q, v, step=STEP, steps=200, contact=CONTACT, threads=n) for n in (1, 2)]
    np.testing.assert_array_equal(run[0].q, run[1].q)
    parts = [
        box().rollout(q[k : k + 5], v[k : k + 5], step=STEP, steps=200, contact=CONTACT).q for k in range(0, 24, 5)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), run[0].q)


def test_a_stepper_takes_the_same_steps_from_a_cold_start() -> None:
    q, v = standing(0.15, 1.0, 0.0, 0.0)
    stepper = box().stepper(STEP, contact=CONTACT)
    expected = rolled(box(), (q, v), 200)
    for _ in range(200):
        q, v = stepper(q, v)
    np.testing.assert_allclose(q, expected.q[-1], atol=INTEGRATED)


def test_stops_and_joint_friction_beside_contact() -> None:
    """A pendulum with dry friction on a sliding box: both keep to their laws."""
    builder = ModelBuilder("cart", gravity=(0.0, 0.0, -G))
    builder.add_body("cart", parent="world", joint="free", mass=2.0, inertia=np.eye(3) * 0.1)
    builder.add_geometry(Sphere(0.05), body="cart", xyz=(0.3, 0.2, -0.1), role="collision")
    builder.add_geometry(Sphere(0.05), body="cart", xyz=(0.3, -0.2, -0.1), role="collision")
    builder.add_geometry(Sphere(0.05), body="cart", xyz=(-0.3, 0.2, -0.1), role="collision")
    builder.add_geometry(Sphere(0.05), body="cart", xyz=(-0.3, -0.2, -0.1), role="collision")
    builder.add_body(
        "arm", parent="cart", joint="revolute", joint_name="hinge", axis=(0, 1, 0), mass=0.2, com=(0, 0, -0.2),
        inertia=np.eye(3) * 1e-3, friction=0.03, lower=-0.2, upper=2.0,
    )  # fmt: skip
    cart = builder.build()
    q, v = np.array([0, 0, 0.15, 1, 0, 0, 0, 0.8]), np.zeros(7)
    assert cart.stops() == (elements.HardStop("hinge"),)
    run = cart.simulate(q, v, duration=2.0, step=1e-3, contact=CONTACT, elements=cart.stops())
    assert run.q[:, 7].min() > -0.2 - CONTACT_SOLVER and np.abs(run.v[-1]).max() < CONTACT_SOLVER
    held = 0.2 * G * 0.2 * np.sin(run.q[-1, 7])
    assert abs(held) <= 0.03 * (1.0 + CONTACT_SOLVER)
    assert run.energy.heat["friction hinge"][-1] > 0.01
    assert np.abs(run.energy.residual).max() < 0.02 * run.energy.scale
    assert run.contacts.normal_force[-1].sum() == pytest.approx(2.2 * G, rel=ITERATED)
    motion = cart.rollout(q, v, step=1e-3, steps=2000, contact=CONTACT, elements=cart.stops())
    np.testing.assert_allclose(motion.q, run.q[-1], atol=ITERATED)


def test_a_slide_and_a_plot_of_its_contacts() -> None:
    run = box(float(np.arctan(1.5 * MU))).simulate(*standing(SIDE / 2), duration=0.2, step=STEP, contact=CONTACT)
    figure = pytest.importorskip("matplotlib", reason="plots need it") and run.contacts.plot()
    assert len(figure.axes) == 3 and len(figure.legends[0].get_texts()) == 4  # beside the curves, not over them
    assert run.contacts.ratio[-1].max() == pytest.approx(1.0, abs=CONTACT_SOLVER)
    assert "8 points, 4 of them touched" in repr(run.contacts)
    for law, (largest, mean) in run.contacts.table.items():
        assert 0.0 <= mean <= largest < CONTACT_SOLVER, law


def test_pairs_all_leaves_out_what_a_joint_connects() -> None:
    builder = ModelBuilder("arm and ball")
    link = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.0, "inertia": np.eye(3), "com": (0.1, 0, 0)}
    builder.add_body("arm", parent="world", **link)
    builder.add_body("hand", parent="arm", xyz=(1, 0, 0), **link)
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    for body in ("arm", "hand", "ball"):
        builder.add_geometry(Sphere(0.1), body=body, role="collision")
    names = candidates(builder.build().model, Contact(pairs="all"))
    found = [name for patch in names for name in patch.names]
    assert sorted(found) == ["arm", "arm on ball", "ball", "hand", "hand on ball"]


def test_forces_of_a_run_near_the_friction_angle() -> None:
    """Of four corners more stick than are needed, and no sharing with least squares keeps to all cones."""
    slope = float(np.arctan(0.95 * MU))
    run = box(slope).simulate(*standing(SIDE / 2), 0.2, step=STEP, contact=CONTACT)
    weight = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    np.testing.assert_allclose(run.contacts.force[-1].sum(axis=0), -weight, atol=CONTACT_SOLVER)
    assert run.contacts.ratio.max() <= 1.0 + CONTACT_SOLVER


def test_the_bundled_quadruped_stands_on_its_feet() -> None:
    robot = load("quadruped")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.6, -1.2], 4)
    q[2] -= robot.pose(q, "FL_foot")[2, 3] - 0.02
    stance = q[7:]

    def servos(t, q, v):
        return np.concatenate([np.zeros(6), 200.0 * (stance - q[7:]) - 5.0 * v[6:]])

    run = robot.simulate(q, np.zeros(18), servos, duration=1.0, step=STEP, contact=CONTACT)
    carried = run.contacts.force[-1]
    assert np.abs(run.v[-1]).max() < COMPUTED and run.contacts.passes[-1] == 1.0  # held by joint friction, at rest
    np.testing.assert_allclose(carried.sum(axis=0), [0.0, 0.0, 12.0 * 9.81], atol=SERVOS_SETTLING)
    feet = [name.endswith("_foot") for name in run.contacts.names]
    np.testing.assert_allclose(carried[np.logical_not(feet)], 0.0)


def test_a_rollout_says_how_its_contacts_were_solved_for() -> None:
    q, v = (np.tile(x, (3, 1)) for x in standing(0.15, 1.0, 0.0, 0.0))
    motion = box().rollout(q, v, step=STEP, steps=100, contact=CONTACT)
    assert motion.contacts.unsettled.shape == (3,) and not motion.contacts.unsettled.any()
    assert np.all(motion.contacts.worst <= CONTACT.tolerance) and len(motion.contacts.names) == 8
    again = pickle.loads(pickle.dumps(motion))
    np.testing.assert_array_equal(again.contacts.worst, motion.contacts.worst)
    assert box().rollout(q, v, steps=1).contacts is None


def test_steps_that_did_not_settle_and_forces_outside_the_cone_are_told() -> None:
    run = box(float(np.arctan(1.5 * MU))).simulate(*standing(SIDE / 2), duration=0.1, step=STEP, contact=CONTACT)
    assert not run.contacts.log
    assert "3 steps did not reach the tolerance" in replace(run.contacts, unsettled=3, worst=1e-3).log[0]
    infeasible = replace(run.contacts, friction=0.5 * MU).log
    assert len(infeasible) == 4 and "is 2 of its limit" in infeasible[0]
