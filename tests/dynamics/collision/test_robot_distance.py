"""`robot.distance`: which pairs, what it gives for one state and for batches, and its rates."""

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError
from dalembert.dynamics.collision import distance, hull
from dalembert.dynamics.collision.pairs import body_pairs
from dalembert.model.geometry import Box, Polyhedron, Sphere
from dalembert.spatial import Pose
from dynamics.collision.robots import arm, toys
from tolerances import COMPUTED, DIFFERENCE, ITERATED, PRODUCT, RECURSION, ROUGH_SLOPE, SLOPE, assert_close

ARM, TOYS = arm(), toys()


def states(robot, count, seed=0):
    return robot.random(np.random.default_rng(seed), count)


def at(*positions):
    """A configuration of the toys: their positions, unturned."""
    return np.concatenate([[*p, 1.0, 0.0, 0.0, 0.0] for p in positions])


APART = at((0, 0, 1), (0.5, 0, 1), (0.5, 0, 2))


def test_neighbours_are_left_out():
    assert ARM.collision_pairs() == (
        ("base", "link2"),
        ("base", "link3"),
        ("base", "link4"),
        ("link1", "link3"),
        ("link1", "link4"),
        ("link2", "link4"),
    )
    assert ARM.collision_pairs(["link4"]) == (("base", "link4"), ("link1", "link4"), ("link2", "link4"))
    assert ARM.collision_pairs([("link1", "link2"), ("link4", "base")]) == (("link1", "link2"), ("link4", "base"))


def test_bodies_without_shapes_between_them_do_not_make_two_links_strangers():
    b = dalembert.ModelBuilder("hip")
    b.add_body("trunk", parent="world", mass=1.0)
    for name, parent in (("yaw", "trunk"), ("roll", "yaw"), ("thigh", "roll"), ("shank", "thigh")):
        b.add_body(name, parent=parent, joint="revolute", mass=1.0, com=(0.1, 0.1, 0.1))
    for name in ("trunk", "thigh", "shank"):
        b.add_geometry(Sphere(0.1), body=name, role="collision")
    assert b.build().collision_pairs() == (("trunk", "shank"),)


def test_loose_bodies_meet_the_world_and_each_other_unless_layers_or_exclusions_forbid():
    pairs = set(TOYS.collision_pairs())
    world = {("world", name) for name in ("crate", "red", "blue")}
    assert pairs == world | {("crate", "red"), ("crate", "blue")}  # red and blue are on different layers


def test_exclusions_and_edits():
    b = dalembert.ModelBuilder("two")
    for name in ("a", "b", "c"):
        b.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        b.add_geometry(Sphere(0.1), body=name, role="collision")
    b.exclude("a", "b")
    robot = b.build()
    assert robot.collision_pairs() == (("a", "c"), ("b", "c"))
    renamed = robot.edit().rename({"a": "first"}).done()
    assert renamed.collision_pairs() == (("first", "c"), ("b", "c"))
    assert robot.edit().remove("a").done().collision_pairs() == (("b", "c"),)
    with pytest.raises(DalembertError, match="unknown link 'd'"):
        b.exclude("a", "d")


def test_distances_by_hand():
    d = dict(zip(TOYS.collision_pairs(), TOYS.distance(APART), strict=True))
    assert d["world", "crate"] == pytest.approx(0.8)  # the floor; the wall is 0.85 away
    assert d["world", "red"] == pytest.approx(0.35)  # the wall
    assert d["crate", "red"] == pytest.approx(0.3)
    assert d["crate", "blue"] == pytest.approx(np.hypot(0.4, 0.8) - 0.2)
    w = TOYS.witnesses(APART, [("crate", "red")])
    assert_close(w.a, [[0.1, 0, 1]], PRODUCT)
    assert_close(w.b, [[0.4, 0, 1]], PRODUCT)
    assert_close(w.normal, [[-1, 0, 0]], PRODUCT)


def test_a_named_pair_needs_no_permission():
    (d,) = ARM.distance(ARM.neutral(), [("link1", "link2")])
    assert d == pytest.approx(-0.08)
    assert TOYS.distance(APART, [("red", "blue")]) == pytest.approx([0.7])
    assert TOYS.distance(APART, ("red", "blue")) == pytest.approx([0.7])


@pytest.mark.parametrize("robot", [ARM, TOYS], ids=lambda r: r.name)
def test_batches_witnesses_and_rates(robot):
    q = states(robot, 12).reshape(3, 4, -1)
    d, w, J = robot.distance(q), robot.witnesses(q), robot.distance_jacobian(q)
    n = len(robot.collision_pairs())
    assert d.shape == (3, 4, n) and J.shape == (3, 4, n, robot.nv) and w.normal.shape == (3, 4, n, 3)
    assert_close(w.distance, d, RECURSION)
    assert_close(w.a - w.b, d[..., None] * w.normal, RECURSION)
    assert_close(robot.distance(q[1, 2]), d[1, 2], ITERATED)
    v = np.random.default_rng(1).normal(size=(3, 4, robot.nv))
    h = 1e-6
    numeric = (robot.distance(robot.integrate(q, v, h)) - robot.distance(robot.integrate(q, v, -h))) / (2.0 * h)
    error = np.abs(np.einsum("...ij,...j->...i", J, v) - numeric)
    assert np.quantile(error, 0.9) < ROUGH_SLOPE and np.median(error) < SLOPE  # the others are at creases


def test_traced_inside_a_function_with_gradient():
    def cost(q):
        return ARM.distance(q, [("base", "link4"), ("link1", "link4")]).sum()

    call = dalembert.function(cost, ARM)
    q = states(ARM, 5)
    assert_close(call(q), ARM.distance(q, [("base", "link4"), ("link1", "link4")]).sum(axis=1), PRODUCT)


def test_jacobian_is_the_derivative_that_jax_takes(jax):
    q = states(ARM, 3)
    slope = jax.vmap(jax.jacobian(lambda x: ARM.distance(x)))(jax.numpy.asarray(q))
    assert_close(np.asarray(slope), ARM.distance_jacobian(q), 3 * DIFFERENCE)


def test_shapes_are_part_of_what_is_compiled():
    small, large = (ARM.edit().add_geometry(Sphere(r), body="link4", xyz=(0, 0, 0.3)).done() for r in (0.05, 0.2))
    assert small.model == large.model  # they move alike
    q = states(ARM, 1)[0]
    assert small.distance(q, [("base", "link4")]) > large.distance(q, [("base", "link4")])


def test_a_fixed_link_alone_or_with_its_body():
    b = dalembert.ModelBuilder("hand")
    b.add_body("base", parent="world")
    b.add_geometry(Box([0.2, 0.2, 0.2]), body="base", role="collision")
    b.add_body("arm", parent="base", joint="prismatic", axis=(0, 0, 1), xyz=(0, 0, 1), mass=1.0)
    b.add_geometry(Sphere(0.1), body="arm", role="collision")
    b.add_body("finger", parent="arm", xyz=(0, 0, -0.4), mass=0.1)
    b.add_geometry(Sphere(0.1), body="finger", role="collision")
    robot = b.build()
    d = robot.distance(np.zeros(1), [("arm", "base"), ("finger", "base")])
    assert d == pytest.approx([0.4, 0.4])
    assert robot.collision_pairs() == ()
    assert robot.distance(np.zeros((7, 1))).shape == (7, 0)


def test_bad_pairs_say_what_is_wrong():
    with pytest.raises(DalembertError, match="unknown frame 'link9'"):
        ARM.distance(ARM.neutral(), [("link9", "base")])
    with pytest.raises(DalembertError, match="no collision shapes; those that have some: base"):
        arm(2, shapes=False).distance(np.zeros(2), [("link1", "base")])
    with pytest.raises(DalembertError, match="parts of one body"):
        ARM.distance(ARM.neutral(), [("link1", "link1")])
    with pytest.raises(DalembertError, match="expected the name of a link or two"):
        ARM.distance(ARM.neutral(), [("link1", "link2", "link3")])
    with pytest.raises(DalembertError, match="has no collision shapes: load a file"):
        dalembert.load("2r").distance(np.zeros(2))


@pytest.mark.parametrize(("robot", "margin"), [(ARM, 0.0), (ARM, 0.1), (TOYS, 0.05)])
def test_broad_phase_drops_no_pair_that_comes_near(robot, margin):
    q = states(robot, 40, seed=3)
    pairs, near = robot.collision_pairs(), robot.near_pairs(q, margin)
    closest = dict(zip(pairs, robot.distance(q).min(axis=0), strict=True))
    assert set(near) <= set(pairs)
    assert all(pair in near for pair in pairs if closest[pair] <= margin)


def test_broad_phase_drops_what_stays_away():
    q = at((0, 0, 1), (0.5, 0, 1), (0.5, 0, 2))
    assert ("crate", "blue") not in TOYS.near_pairs(q, 0.1)
    assert ("crate", "red") in TOYS.near_pairs(q, 0.4)
    with pytest.raises(DalembertError, match="margin is -1"):
        TOYS.near_pairs(q, -1.0)


@pytest.mark.parametrize("name", ["ur5e", "panda", "iiwa14"])
def test_bundled_arms_have_shapes_and_are_clear_of_themselves_at_home(name):
    robot = dalembert.load(name)
    assert len(robot.collision_pairs()) > 10
    assert robot.distance(robot.neutral()).min() > 0.0


def rocks(count: int) -> dalembert.Robot:
    """Loose hulls with different numbers of corners, the last two of which are of one mesh, and a ball."""
    rng = np.random.default_rng(3)
    builder = dalembert.ModelBuilder("rocks")
    meshes = []
    for k in range(count):
        if k < count - 1:
            corners = rng.normal(size=(6 + 4 * k, 3))
            corners *= 0.1 / np.linalg.norm(corners, axis=1)[:, None]
            meshes.append(Polyhedron(corners, np.zeros((0, 3), int)))
        builder.add_body(f"rock{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        builder.add_geometry(meshes[-1], body=f"rock{k}", role="collision")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_geometry(Sphere(0.05), body="ball", role="collision")
    return builder.build()


def test_many_meshes_are_one_loop_with_the_numbers_of_each_pair():
    """Hulls of different sizes are rows of one table: the code does not grow with their number."""
    robot, rng = rocks(4), np.random.default_rng(5)
    q = np.tile(robot.neutral(), (20, 1)).reshape(20, 5, 7)
    q[:, :, :3] = 0.09 * rng.normal(size=(20, 5, 3))
    q[:, :, 3:] = rng.normal(size=(20, 5, 4))
    q[:, :, 3:] /= np.linalg.norm(q[:, :, 3:], axis=2, keepdims=True)
    q = q.reshape(20, 35)
    found = robot.witnesses(q)
    assert (found.distance < 0.0).any() and (found.distance > 0.0).any()
    for k in range(0, 20, 5):
        X = [Pose(x[:3, :3], x[:3, 3]) for x in robot.poses(q[k])]
        for row, pair in enumerate(body_pairs(robot.model)):
            ((x, y),) = pair.solids
            w = distance(x.shape, X[x.body], y.shape, X[y.body])
            assert found.distance[k, row] == pytest.approx(float(w.distance), abs=COMPUTED)
            np.testing.assert_allclose(found.a[k, row], w.a, atol=ITERATED)
            np.testing.assert_allclose(found.normal[k, row], w.normal, atol=ITERATED)


def test_boxes_and_hulls_of_several_sizes_share_one_loop():
    """Each pair alone gives the same: sizes of a loop's boxes are traced, also where they overlap a hull."""
    rng = np.random.default_rng(5)
    b = dalembert.ModelBuilder("crowd")
    shapes = [Box([0.2, 0.3, 0.4]), Box([0.1, 0.5, 0.2])]
    for size in (0.2, 0.3):
        solid = hull(size * rng.normal(size=(9, 3)))
        shapes.append(Polyhedron(solid.vertices, solid.triangles))
    for k, shape in enumerate(shapes):
        b.add_body(f"part{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        b.add_geometry(shape, body=f"part{k}", role="collision")
    robot = b.build()
    pairs = [(f"part{i}", f"part{j}") for i in (0, 1) for j in (2, 3)]
    q = robot.random(rng, 40)
    for k in range(4):
        q[:, 7 * k : 7 * k + 3] = 0.2 * rng.normal(size=(40, 3))
    together = robot.distance(q, pairs)
    alone = np.concatenate([robot.distance(q, [pair]) for pair in pairs], axis=1)
    assert (together < 0.0).any() and (together > 0.0).any()
    assert_close(together, alone, ITERATED)
