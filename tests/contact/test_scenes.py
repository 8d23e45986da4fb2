"""Scenes of loose bodies: the same motions as with a place for each candidate, stacks at rest, laws, large piles."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, elements
from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import jacobian, trace
from dalembert.contact import bounds, candidates, scene
from dalembert.model.geometry import Box, Sphere, Surface
from dalembert.sim.elements import contact as element
from loose_bodies import SIDE, G
from tolerances import COMPUTED, CONTACT_SOLVER, REACHED, assert_close

STEP = 2e-3
AT_REST, AT_REST_SINGLE = 1e-9, 1e-4  # [m/s] a thousandth of the tolerance; rounding of float32, a thousand times
TIGHT = 1e-11  # [m/s] so that two ways to the same solution end at the same numbers


@cache
def toys(balls: tuple[tuple[str, float], ...] = (("marble", 0.05), ("ball", 0.1))) -> Robot:
    """Two balls and a brick, and a fixed block beside them: every kind of pair that a scene has."""
    builder = ModelBuilder("toys", gravity=(0.0, 0.0, -G))
    builder.add_body("block", parent="world", joint="fixed", mass=1.0)
    builder.add_geometry(Box([0.4, 0.4, 0.1]), body="block", xyz=(0.5, 0.0, 0.05), role="collision")
    for name, radius in balls:
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=0.4 * radius**2 * np.eye(3))
        builder.add_geometry(Sphere(radius), body=name, role="collision")
    builder.add_body(
        "brick", parent="world", joint="free", mass=2.0, com=(0.01, 0, 0), inertia=np.diag([3e-3, 4e-3, 5e-3])
    )
    builder.add_geometry(Box([0.2, 0.15, 0.1]), body="brick", xyz=(0.01, 0, 0), role="collision")
    return builder.build()


@cache
def stack(n: int) -> Robot:
    """Cubes that stand on each other."""
    builder = ModelBuilder("stack", gravity=(0.0, 0.0, -G))
    for k in range(n):
        builder.add_body(f"cube{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6.0)
        builder.add_geometry(Box([SIDE] * 3), body=f"cube{k}", role="collision")
    return builder.build()


def stacked(n: int, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Cubes one above the other, with gaps between them [m]."""
    q = stack(n).neutral()
    q[2::7] = SIDE / 2 + (SIDE + gap) * np.arange(n)
    return q, np.zeros(6 * n)


def thrown(n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of the toys above each other and the block, all different."""
    robot, rng = toys(), np.random.default_rng(5)
    q, v = np.tile(robot.neutral(), (n, 1)), 0.5 * rng.standard_normal((n, robot.nv))
    for k, height in enumerate((0.2, 0.4, 0.65)):
        q[:, 7 * k : 7 * k + 3] = 0.05 * rng.standard_normal((n, 3)) + (0.3, 0.0, height)
        turn = rng.standard_normal((n, 4))
        q[:, 7 * k + 3 : 7 * k + 7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    return q, v


CONTACT = Contact(friction=0.5, pairs="all", tolerance=TIGHT)


def test_a_scene_moves_as_with_a_place_for_each_candidate(monkeypatch):
    """One body: of two that meet in the air, only scenes push at the instant they meet."""
    q, v = (x[:, -size:] for x, size in zip(thrown(6), (7, 6), strict=True))
    q[:, 2] -= 0.35
    motions = []
    for least in (2, 1):
        monkeypatch.setattr(scene, "LOOPED", least)
        motions.append(toys(()).rollout(q, v, step=STEP, steps=150, contact=CONTACT))
    each, looped = motions
    settled = (each.contacts.unsettled == 0) & (looped.contacts.unsettled == 0)  # to 1e-11 m/s
    # An impact of several points with friction may have two solutions that keep all laws: one motion meets such.
    assert (np.abs(looped.q - each.q).max(axis=1)[settled] < 10 * CONTACT_SOLVER).sum() >= 4
    assert (each.q[:, 2] < 0.2).all()  # all have fallen on the ground or the block


def test_neighbours_in_a_batch_and_threads_do_not_matter():
    q, v = thrown(11)
    together = toys().rollout(q, v, step=STEP, steps=100, contact=CONTACT, threads=1)
    parts = [
        toys().rollout(q[at], v[at], step=STEP, steps=100, contact=CONTACT, threads=2)
        for at in (slice(0, 1), slice(1, 4), slice(4, None))
    ]
    assert np.array_equal(np.concatenate([part.q for part in parts]), together.q)


def test_a_stack_falls_together_and_comes_to_rest():
    q, v = stacked(4, 1e-3)
    run = stack(4).simulate(q, v, 0.4, step=STEP, record=STEP, contact=Contact(friction=0.6, pairs="all"))
    assert run.contacts.unsettled == 0
    assert np.abs(run.v[-1]).max() < CONTACT_SOLVER
    assert_close(run.q[-1, 2::7], SIDE / 2 + SIDE * np.arange(4), CONTACT_SOLVER)
    grounded = [second == "ground" for _, second in run.contacts.bodies]
    assert_close(run.contacts.normal_force[-1, grounded].sum(), 4 * G, CONTACT_SOLVER)
    assert np.abs(run.energy.residual).max() < COMPUTED
    assert run.contacts.table["signorini"][0] < CONTACT_SOLVER


@pytest.mark.long
def test_a_stack_at_rest_takes_one_pass_a_step():
    """Equal faces do not take turns in giving the normal, so that nothing is left to solve for."""
    contact = Contact(friction=0.6, pairs="all")
    landed = stack(12).rollout(*stacked(12, 1e-3), step=STEP, steps=1000, contact=contact)
    run = stack(12).simulate(landed.q, landed.v, 0.2, step=STEP, record=STEP, contact=contact)
    assert np.median(run.contacts.passes[10:]) == 1.0
    assert np.abs(run.v[-1]).max() < AT_REST


def test_in_single_precision_a_stack_comes_to_rest():
    """Gaps below a micrometre are rounding there; closing them would shake the stack in every step."""
    q, v = (x.astype(np.float32) for x in stacked(12, 1e-3))
    contact = Contact(friction=0.6, pairs="all")
    landed = stack(12).rollout(q, v, step=STEP, steps=1000, contact=contact)
    later = stack(12).rollout(landed.q, landed.v, step=STEP, steps=100, contact=contact)
    assert later.contacts.unsettled == 0
    assert np.abs(later.v).max() < AT_REST_SINGLE


def test_twelve_cubes_stay_where_they_stand():
    q, v = stacked(12, 0.0)
    end = stack(12).rollout(q, v, step=STEP, steps=50, contact=Contact(friction=0.6, pairs="all"))
    assert end.contacts.unsettled == 0
    assert np.abs(end.v).max() < CONTACT_SOLVER


def test_how_far_a_body_may_move_has_slopes_where_it_is_at_rest():
    ahead = trace(lambda x: jacobian([bounds.possible_motion(STEP, x[:3], x[3:], 0.1)], x), {"x": 6})
    (slopes,) = interpreter.run(ahead, {"x": np.zeros((1, 6))}).values()
    assert np.array_equal(slopes.ravel(), np.zeros(6))


@pytest.mark.long
def test_bounces_and_moments_are_those_of_a_place_for_each_candidate(monkeypatch):
    (q, v), contact = thrown(3), Contact(friction=0.5, restitution=0.6, torsion=1e-3, pairs="all", tolerance=TIGHT)
    ends = []
    for least in (1000, 3):
        monkeypatch.setattr(scene, "LOOPED", least)
        ends.append(toys().rollout(q, v, step=STEP, steps=60, contact=contact))
    assert np.abs(ends[1].q - ends[0].q).max() < CONTACT_SOLVER


@pytest.fixture
def narrow(monkeypatch):
    """Room for six contacts, which a stack of three exceeds."""
    monkeypatch.setattr(scene, "POINTS_PER_BODY", {True: 0, False: 0})
    monkeypatch.setattr(scene, "MORE", 6)
    scene._recent.clear()
    yield
    scene._recent.clear()


def test_the_room_for_contacts_grows(narrow):
    (q, v), contact = stacked(3, 0.0), Contact(friction=0.61, pairs="all")
    grown = stack(3).rollout(q, v, step=STEP, steps=3, contact=contact)
    assert grown.contacts.unsettled == grown.contacts.crowded == 0
    assert np.abs(grown.v).max() < CONTACT_SOLVER


@pytest.mark.long
def test_the_room_of_runs_and_steppers_grows(narrow):
    """A run that calls a function of the user's, which may remember what was, says so in its place."""
    (q, v), contact = stacked(3, 0.0), Contact(friction=0.61, pairs="all")
    stepper = stack(3).stepper(STEP, contact=contact)
    with pytest.raises(DalembertError, match=r"more contacts touch than the 6 .* make it anew"):
        stepper(q, v)
    scene._recent.clear()
    run = stack(3).simulate(q, v, 3 * STEP, step=STEP, contact=contact)
    assert run.contacts.unsettled == run.contacts.crowded == 0
    again = stack(3).stepper(STEP, contact=contact)  # after the run the room is known
    assert np.abs(again(q, v)[1]).max() < CONTACT_SOLVER
    scene._recent.clear()

    def called(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(int(float(len(v))))

    with pytest.raises(DalembertError, match=r"more contacts touch at t = 0.002 s than the 6 .* call simulate again"):
        stack(3).simulate(q, v, 3 * STEP, lambda t, q, v: called(float(t), q, v), step=STEP, contact=contact)
    run = stack(3).simulate(q, v, 3 * STEP, lambda t, q, v: called(float(t), q, v), step=STEP, contact=contact)
    assert run.contacts.crowded == 0


@pytest.mark.long
def test_more_room_than_needed_does_not_change_a_motion(monkeypatch):
    (q, v), contact, ends = thrown(3), Contact(friction=0.62, pairs="all"), []
    for more in (16, 48):
        monkeypatch.setattr(scene, "MORE", more)
        scene._recent.clear()
        ends.append(toys().rollout(q, v, step=STEP, steps=100, contact=contact).q)
    scene._recent.clear()
    assert np.array_equal(*ends)


@pytest.mark.long
def test_a_packed_block_stands():
    """27 cubes side by side, of which each touches up to six others: more contacts than the usual room."""
    apart, robot = SIDE + 1e-4, stack(27)
    places = np.array([(i, j, k) for i in range(3) for j in range(3) for k in range(3)], float)
    q = robot.neutral()
    q.reshape(27, 7)[:, :3] = places * [apart, apart, SIDE] + [0.0, 0.0, SIDE / 2]
    end = robot.rollout(q, np.zeros(robot.nv), step=STEP, steps=250, contact=Contact(friction=0.6, pairs="all"))
    assert not end.contacts.crowded and not end.contacts.unsettled
    assert_close(end.q.reshape(27, 7)[:, 2], q.reshape(27, 7)[:, 2], CONTACT_SOLVER)


@pytest.mark.long
def test_a_pile_of_forty_balls_in_a_bin_keeps_inside_and_loses_energy():
    builder, radius, half = ModelBuilder("pile", gravity=(0.0, 0.0, -G)), 0.05, 0.2
    builder.add_body("bin", parent="world", joint="fixed", mass=1.0)
    for k, (x, y) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        size = [0.1 if x else 0.6, 0.1 if y else 0.6, 1.0]
        place = ((half + 0.05) * x, (half + 0.05) * y, 0.5)
        builder.add_geometry(Box(size), body="bin", xyz=place, role="collision", name=f"wall{k}")
    for k in range(40):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=0.5, inertia=0.2 * radius**2 * np.eye(3))
        builder.add_geometry(Sphere(radius), body=f"ball{k}", role="collision")
    robot, rng = builder.build(), np.random.default_rng(0)
    q = robot.neutral()
    for k in range(40):
        layer, place = divmod(k, 9)
        centre = np.array([*(0.11 * np.array(divmod(place, 3)) - 0.11), 0.06 + 0.11 * layer])
        q[7 * k : 7 * k + 3] = centre + 0.002 * rng.standard_normal(3)
    run = robot.simulate(q, np.zeros(robot.nv), 1.0, step=STEP, contact=Contact(friction=0.5, pairs="all"))
    centres = run.q[-1].reshape(40, 7)[:, :3]
    assert np.abs(centres[:, :2]).max() < half - radius + REACHED
    assert centres[:, 2].min() > radius - REACHED
    mechanical = run.energy.kinetic + run.energy.potential
    assert np.diff(mechanical).max() < CONTACT_SOLVER * mechanical[0]  # steps of a falling pile miss the tolerance


def test_very_many_loose_bodies_of_which_one_is_held_are_refused_at_once():
    builder = ModelBuilder("balls", gravity=(0.0, 0.0, -G))
    for k in range(20):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        builder.add_geometry(Sphere(0.05), body=f"ball{k}", role="collision")
    robot = builder.build()
    rail = elements.Holonomic("rail", lambda q: q[2:3])
    with pytest.raises(DalembertError, match=r"20 loose bodies .* name the pairs"):
        robot.stepper(STEP, contact=Contact(pairs="all"), elements=[rail])


def test_all_pairs_leave_out_what_the_model_excludes_and_layers_that_do_not_meet():
    builder = ModelBuilder("four", gravity=(0.0, 0.0, -G))
    layers = {"a": None, "b": None, "c": Surface(layers=(1, 1)), "d": Surface(layers=(2, 2))}
    for name, surface in layers.items():
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        builder.add_geometry(Sphere(0.05), body=name, role="collision", surface=surface)
    builder.exclude("a", "b")
    patches = candidates(builder.build().model, Contact(pairs="all"))
    names = {patch.names[0] for patch in patches if patch.second >= 0}
    assert names == {"a on c", "a on d", "b on c", "b on d"}


def test_thousands_of_points_of_a_robot_are_looked_for_in_near_pairs():
    builder = ModelBuilder("rake", gravity=(0.0, 0.0, -G))
    for name, parent in (("rake", "world"), ("handle", "rake"), ("grip", "handle")):
        place = {"joint": "free"} if parent == "world" else {"joint": "revolute", "axis": (0, 1, 0)}
        builder.add_body(name, parent=parent, mass=1.0, inertia=np.eye(3), **place)
        for k in range(16):
            builder.add_geometry(Box([0.1, 0.1, 0.1]), body=name, xyz=(0.2 * k + 0.2, 0, 0), role="collision")
    robot, contact = builder.build(), Contact(pairs="all")
    assert sum(len(patch.names) for patch in candidates(robot.model, contact)) > element.MOST_POINTS
    q = robot.neutral()
    q[2], q[7:] = 0.05 + 1e-3, -0.8  # the rake falls flat onto the ground, handle and grip above it
    end = robot.rollout(q, np.zeros(robot.nv), step=STEP, steps=20, contact=contact)
    assert end.contacts.unsettled == 0
    assert 0.049 < end.q[2] < 0.05  # it tips about its first box, and does not fall through
