"""Compliant contact: statics, energy, gradients, pairs of bodies; accelerations and forces of single states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder
from dalembert.model.geometry import Box, Sphere
from loose_bodies import SIDE, G, ball, box, standing, table
from tolerances import COARSE_RUN, INTEGRATED, ITERATED, MILLISECOND_STEPS, ROUGH_SLOPE, SETTLED, assert_close

RINGING = 2e-3  # what is left of the table's ringing after 1.5 s
SOFT_SLIP = 0.02  # the springs of friction take up slack before a body slides
LANDING = 0.3  # what the impact of landing adds to the stretch of the bristles

SOFT = Contact(friction=0.6, model="compliant", stiffness=1e4, damping=2.0)
RIGID = Contact(friction=0.6)


def test_rigid_forces_of_a_state() -> None:
    q, v = standing(0.32)
    at_rest = table().contact_dynamics(q, v, np.zeros(6), contact=RIGID)
    np.testing.assert_allclose(at_rest.force, np.tile([0.0, 0.0, 29.43], (4, 1)), atol=COARSE_RUN)
    np.testing.assert_allclose(at_rest.a, 0.0, atol=INTEGRATED)
    pushed = table().contact_dynamics(q, v, np.array([0, 0, 0, 100.0, 0, 0]), contact=RIGID)
    assert pushed.a[3] == pytest.approx(100.0 / 12.0 - 0.6 * G, rel=INTEGRATED)
    assert pushed.force[:, 2].sum() == pytest.approx(12.0 * G, rel=INTEGRATED)
    above = table().contact_dynamics(standing(0.5)[0], v, np.zeros(6), contact=RIGID)
    np.testing.assert_allclose(above.gap, 0.18)
    assert not above.force.any() and above.a[5] == pytest.approx(-G)
    both = table().contact_dynamics(np.stack([q, standing(0.5)[0]]), v, np.zeros(6), contact=RIGID)
    np.testing.assert_allclose(both.force[0], at_rest.force, atol=ITERATED)


def test_a_rolling_ball_is_free_of_forces_along_the_ground() -> None:
    q, v = standing(0.1, 1.0, 0.0, 0.0)
    v[1] = 10.0
    rolling = ball().contact_dynamics(q, v, np.zeros(6), contact=RIGID)
    np.testing.assert_allclose(rolling.force, [[0.0, 0.0, G]], atol=MILLISECOND_STEPS)


def test_a_compliant_table_sinks_by_its_weight_and_keeps_its_books() -> None:
    run = table().simulate(*standing(0.33), duration=1.5, contact=SOFT, rtol=1e-9)
    np.testing.assert_allclose(run.contacts.gap[-1], -12.0 * G / 4.0 / 1e4, rtol=RINGING)
    np.testing.assert_allclose(run.contacts.force[-1, :, 2], 29.43, rtol=RINGING)
    assert np.abs(run.energy.residual).max() < INTEGRATED * run.energy.scale
    assert run.energy.heat["contact"][-1] > 0.1
    state = table().contact_dynamics(run.q[-1], run.v[-1], np.zeros(6), contact=SOFT)
    np.testing.assert_allclose(state.force, run.contacts.force[-1], rtol=ITERATED, atol=ITERATED)


def test_compliant_and_rigid_slides_stop_at_the_same_place() -> None:
    stiff = Contact(friction=0.6, model="compliant", stiffness=1e5, slip_speed=1e-3)
    run = box().simulate(*standing(SIDE / 2, 1.0, 0.0, 0.0), duration=0.4, contact=stiff, rtol=1e-6)
    assert run.q[-1, 0] == pytest.approx(1.0 / (2.0 * 0.6 * G), rel=SOFT_SLIP)


BRISTLES = Contact(friction=0.6, model="compliant", stiffness=1e4, damping=2.0, friction_model="bristle")


def puck(slope: float):
    """A ball that hardly turns, on a slope: gravity leans by that angle towards x."""
    builder = ModelBuilder("puck", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    builder.add_body("puck", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 1e12)
    builder.add_geometry(Sphere(0.1), body="puck", role="collision")
    return builder.build()


def test_bristles_hold_below_the_friction_angle_and_slide_above() -> None:
    run = puck(np.arctan(0.95 * 0.6)).simulate(*standing(0.1), duration=4.0, contact=BRISTLES, rtol=1e-10)
    late = run.t > 3.0
    assert np.abs(np.diff(run.q[late, 0])).max() < ITERATED
    stretch = G * np.sin(np.arctan(0.57)) / 1e4
    assert run.q[-1, 0] == pytest.approx(stretch, rel=LANDING)  # as far as the springs give, and what the impact took
    assert run.contacts.ratio[-1, 0] == pytest.approx(0.95, rel=INTEGRATED)
    assert np.abs(run.energy.residual).max() < INTEGRATED * run.energy.scale
    steep = np.arctan(1.5 * 0.6)
    run = puck(steep).simulate(*standing(0.1), duration=1.0, contact=BRISTLES, rtol=1e-8)
    gained = (run.v[-1, 3] - run.v[50, 3]) / (run.t[-1] - run.t[50])
    assert gained == pytest.approx(
        G * (np.sin(steep) - 0.6 * np.cos(steep)), rel=MILLISECOND_STEPS
    )  # it still bounces a little
    assert run.contacts.ratio.max() < 1.0 + INTEGRATED
    assert np.abs(run.energy.residual).max() < COARSE_RUN * run.energy.scale


def test_bristles_in_rollouts_and_what_they_refuse() -> None:
    robot = puck(np.arctan(0.3))
    end = robot.rollout(*standing(0.1), step=5e-4, steps=6000, every=1000, contact=BRISTLES)
    assert abs(end.q[-1, 0] - end.q[-2, 0]) < ITERATED
    with pytest.raises(DalembertError, match="one state does not tell"):
        robot.contact_dynamics(*standing(0.1), np.zeros(6), contact=BRISTLES)
    with pytest.raises(DalembertError, match="too long for the contact's bristles"):
        robot.rollout(*standing(0.1), step=5e-3, contact=replace(BRISTLES, stiffness=100.0))
    with pytest.raises(DalembertError, match="friction_model belongs to model"):
        Contact(friction_model="bristle")
    with pytest.raises(DalembertError, match="'bristl': did you mean 'bristle'"):
        Contact(model="compliant", friction_model="bristl")


def array_of(library: str) -> tuple[Callable, Callable]:
    """(array from NumPy, gradient of a function of such an array as NumPy) of a library."""
    if library == "jax":
        jax = pytest.importorskip("jax", reason="gradients are taken by jax")
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray, lambda f, x: np.asarray(jax.grad(f)(jax.numpy.asarray(x)))
    torch = pytest.importorskip("torch", reason="gradients are taken by torch")

    def gradient(f: Callable, x: np.ndarray) -> np.ndarray:
        leaf = torch.tensor(x, requires_grad=True)
        f(leaf).backward()
        return leaf.grad.numpy()

    return torch.as_tensor, gradient


@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("friction_model", ["regularized", "bristle"])
def test_slopes_of_compliant_contact_are_those_of_differences(library: str, friction_model: str) -> None:
    """Through a rollout, through steps one by one, and of the forces of one state."""
    array, gradient = array_of(library)
    q, v = standing(0.098, 1.0, 0.0, -0.5)  # a little deep, slipping
    v[1], weights = 3.0, np.arange(1.0, 7.0)
    contact = Contact(friction=0.3, model="compliant", stiffness=2e3, slip_speed=0.1, friction_model=friction_model)
    step = ball().stepper(5e-4, contact=contact)
    z = step.start(q, v)

    def by_rollout(v, array):
        return (ball().rollout(array(q), v, step=5e-4, steps=100, contact=contact).v * array(weights)).sum()

    def by_steps(v, array):
        state = (array(q), v, array(z)) if len(z) else (array(q), v)
        for _ in range(5):
            state = step(*state[:2], array(np.zeros(6)), *state[2:])
        return (state[1] * array(weights)).sum()

    def by_state(v, array):
        at = ball().contact_dynamics(array(q), v, array(np.zeros(6)), contact=contact)
        return (at.a * array(weights)).sum() + at.force.sum()

    for way in (by_rollout, by_steps, by_state)[: 3 if friction_model == "regularized" else 2]:
        nudges = 1e-6 * np.eye(6)
        difference = np.array([(way(v + n, np.asarray) - way(v - n, np.asarray)) / 2e-6 for n in nudges])
        assert_close(gradient(partial(way, array=array), v), difference, ROUGH_SLOPE)


def test_a_step_too_long_for_the_stiffness_is_refused_with_the_cure() -> None:
    with pytest.raises(DalembertError, match=r"too long for the contact's stiffness.*take at most"):
        table().rollout(*standing(0.5), step=1e-3, contact=Contact(model="compliant", stiffness=1e8))
    with pytest.raises(DalembertError, match="slip_speed"):
        table().stepper(1e-3, contact=Contact(model="compliant", slip_speed=1e-6))
    with pytest.raises(DalembertError, match="restitution belongs to"):
        Contact(model="compliant", restitution=0.5)


def tower(masses: tuple[float, ...]):
    """Boxes of 0.2 m, loose, to stand on each other."""
    builder = ModelBuilder("tower", gravity=(0.0, 0.0, -G))
    for k, mass in enumerate(masses):
        builder.add_body(f"box{k}", parent="world", joint="free", mass=mass, inertia=np.eye(3) * mass * SIDE**2 / 6)
        builder.add_geometry(Box([SIDE] * 3), body=f"box{k}", role="collision")
    return builder.build()


def test_a_heavy_box_rests_on_a_light_one() -> None:
    stack = tower((1.0, 1000.0))
    contact = Contact(pairs=[("box0", "ground"), ("box0", "box1")])
    q = np.concatenate([standing(0.1)[0], standing(0.3)[0]])
    run = stack.simulate(q, np.zeros(12), duration=0.2, step=2e-3, contact=contact)
    assert np.abs(run.v[-1]).max() < ITERATED  # [m/s]
    between = np.array([second == "box1" for _, second in run.contacts.bodies])
    upper = run.contacts.force[-1, between, 2].sum()
    assert abs(upper) == pytest.approx(1000.0 * G, rel=SETTLED)
    assert run.contacts.unsettled == 0


def test_two_balls_exchange_their_speeds() -> None:
    builder = ModelBuilder("balls", gravity=(0.0, 0.0, 0.0))
    for k in range(2):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.004)
        builder.add_geometry(Sphere(0.1), body=f"ball{k}", role="collision")
    q, v = np.concatenate([standing(0.0)[0], standing(0.0)[0]]), np.zeros(12)
    q[7], v[3] = 0.5, 2.0
    contact = Contact(pairs=[("ball0", "ball1")], restitution=1.0)
    end = builder.build().rollout(q, v, step=2e-3, steps=400, contact=contact)
    np.testing.assert_allclose(end.v[[3, 9]], [0.0, 2.0], atol=ITERATED)
