"""Pictures of robots: what is drawn, where the floor is, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, load
from dalembert.dynamics.collision import HalfSpace, HeightField
from dalembert.pictures import Camera
from dalembert.pictures.motion import MotionPictures, Options, motion_of
from dalembert.shapes import Box, Mesh, Plane, Sphere

SMALL = (96, 72)


def ball(height: float = 0.5, gravity=(0, 0, -9.81), color=None):
    builder = ModelBuilder("ball", gravity=gravity)
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Sphere(0.2), body="ball", color=color)
    robot = builder.build()
    return robot, np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0])


def test_the_same_bytes_each_time_and_as_the_file_says(tmp_path):
    from PIL import Image

    robot = load("ur5e")
    picture = robot.render(path=tmp_path / "arm.png", size=(160, 120))
    assert picture.shape == (120, 160, 3) and picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, robot.render(robot.neutral(), size=(160, 120)))
    np.testing.assert_array_equal(picture, np.asarray(Image.open(tmp_path / "arm.png")))
    np.testing.assert_array_equal(picture, load("ur5e").render(size=(160, 120)))


def test_the_color_of_the_file_is_seen():
    robot, q = ball(color=(1.0, 0.0, 0.0, 1.0))
    camera = Camera(0.0, 0.0, 2.0, (0.0, 0.0, 0.5))
    red, green, blue = robot.render(q, size=SMALL, camera=camera)[36, 48].astype(int)
    assert red > 150 and red > 2.5 * green and red > 2.5 * blue
    plain, q = ball()
    r, g, b = plain.render(q, size=SMALL, camera=camera)[36, 48].astype(int)
    assert abs(r - g) < 25 and abs(g - b) < 25


def test_a_translucent_ball_lets_what_is_behind_it_through():
    robot, q = ball(color=(1.0, 0.0, 0.0, 0.5))
    opaque, _ = ball(color=(1.0, 0.0, 0.0, 1.0))
    camera = Camera(0.0, 0.0, 2.0, (0.0, 0.0, 0.5))
    thin, thick = (x.render(q, size=SMALL, camera=camera)[36, 48].astype(int) for x in (robot, opaque))
    assert thin[1] > thick[1] + 50 and thin[2] > thick[2] + 50


@pytest.mark.parametrize(
    ("height", "ground", "gravity", "level"),
    [
        (0.5, "auto", (0, 0, -9.81), 0.0),
        (0.0, "auto", (0, 0, -9.81), -0.2),  # it reaches below 0
        (0.5, "auto", (0, 0, 0), None),  # in space
        (9.0, "auto", (0, 0, -9.81), None),  # far above
        (0.5, 0.25, (0, 0, -9.81), 0.25),
        (0.5, None, (0, 0, -9.81), None),
        (0.5, HalfSpace(np.array([0.0, 0.0, 1.0]), 0.1), (0, 0, -9.81), 0.1),
    ],
)
def test_the_floor(height, ground, gravity, level):
    robot, q = ball(height, gravity)
    drawn = MotionPictures(robot, np.zeros(1), q[None], Options(SMALL, ground=ground))
    assert drawn.level == (None if level is None else pytest.approx(level, rel=SEEN))


SEEN = 0.02  # a ball is drawn with flat sides, in single precision


def test_the_plane_of_the_file_is_the_floor():
    builder = ModelBuilder("ball")
    builder.add_body("ground", parent="world", joint="fixed", xyz=(0, 0, -0.3))
    builder.add_geometry(Plane(np.array([0.0, 0.0, 1.0])), body="ground", role="collision")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Box(np.full(3, 0.2)), body="ball", role="collision")
    robot = builder.build()
    drawn = MotionPictures(robot, np.zeros(1), robot.neutral()[None], Options(SMALL))
    assert drawn.level == -0.3 and len(drawn.drawn.scene.drawing().triangles) == 12


def test_terrains_are_drawn():
    robot, q = ball()
    xs = np.linspace(-1, 1, 9)
    field = HeightField(xs, xs, 0.1 * xs[:, None] * np.ones(9))
    for ground in (field, lambda x, y: 0.1 * x, HalfSpace(np.array([0.6, 0.0, 0.8]), 0.0)):
        drawn = MotionPictures(robot, np.zeros(1), q[None], Options(SMALL, ground=ground))
        assert drawn.level is None
        vertices = drawn.drawn.scene.drawing().vertices
        assert np.abs(vertices[:, 0]).max() > 0.5 and drawn.at(0.0).std() > 5


def test_forces_and_trails_of_a_run_are_drawn():
    robot, q = _touching(), ball(0.2)[1]
    run = robot.simulate(q, [0.0, 0.0, 0.0, 0.5, 0.0, 0.0], 0.2, contact=Contact())
    size = {"size": SMALL}
    bare = run.render(0.2, forces=False, **size)
    with_force, with_trail = run.render(0.2, **size), run.render(0.2, forces=False, trails=("ball",), **size)
    assert np.abs(with_force.astype(int) - bare).max() > 40 and np.abs(with_trail.astype(int) - bare).max() > 40
    begin = run.render(0.0, forces=False, **size)
    np.testing.assert_array_equal(run.render(0.0, forces=False, trails="ball", **size), begin)
    assert run.pictures is not None
    moved = robot.video((run.t, run.q), fps=10, **size)
    assert moved.frames == 3


def _touching():
    builder = ModelBuilder("ball")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Sphere(0.2), body="ball", role="collision")
    builder.add_geometry(Sphere(0.2), body="ball", color=(0.5, 0.5, 0.5, 0.2))  # the force is seen through it
    return builder.build()


def test_a_camera_that_follows():
    robot, q = ball()
    there = q + np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    pictures = MotionPictures(
        robot, np.array([0.0, 1.0]), np.array([q, there]), Options(SMALL, Camera(follow="ball"), None)
    )
    assert np.abs(pictures.at(0.0).astype(int) - pictures.at(1.0)).max() <= 4
    fixed = MotionPictures(robot, np.array([0.0, 1.0]), np.array([q, there]), Options(SMALL, ground=None))
    assert np.abs(fixed.at(0.0).astype(int) - fixed.at(1.0)).max() > 40


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": (0, 10)}, "expected .width, height."),
        ({"size": 640}, "expected .width, height."),
        ({"size": (1e9, 10)}, "expected .width, height."),
        ({"role": "visuals"}, "did you mean 'visual'"),
        ({"ground": "grass"}, "auto"),
        ({"ground": np.nan}, "finite height"),
        ({"ground": [1, 2]}, "expected a height"),
        ({"camera": (1, 2)}, "Camera"),
        ({"path": "x.pngg"}, "did you mean '.png'"),
        ({"path": "nowhere/x.png"}, "no folder"),
    ],
)
def test_bad_options_are_refused(options, words):
    robot, q = ball()
    with pytest.raises(DalembertError, match=words):
        robot.render(q, **options)


@pytest.mark.parametrize("q", [[0.0], [np.nan] * 7, [0.0] * 7, "home"])
def test_bad_states_are_refused(q):
    with pytest.raises((DalembertError, ValueError)):
        ball()[0].render(q)


def test_meshes_that_are_missing_are_named():
    builder = ModelBuilder("lost")
    builder.add_body("part", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Mesh("nowhere.stl"), body="part")
    with pytest.warns(UserWarning, match="not drawn: part: mesh 'nowhere.stl'"):
        builder.build().render(size=SMALL)


def test_motions_and_what_is_none():
    robot, q = ball()
    t, rows = motion_of(robot, ([0.0, 1.0], [q, q]))
    assert t.shape == (2,) and rows.shape == (2, 7)
    for wrong, words in (
        (3, "expected a run"),
        ((np.zeros(2), np.zeros((4, 2, 7))), "of a batch"),
        ((np.zeros(0), np.zeros((0, 7))), "empty"),
        ((np.array([1.0, 0.0]), np.array([q, q])), "increasing"),
    ):
        with pytest.raises(DalembertError, match=words):
            motion_of(robot, wrong)


def test_a_loaded_run_says_how_to_draw_it(tmp_path):
    from dalembert import load_run

    robot, q = ball()
    robot.simulate(q, np.zeros(6), 0.1).save(tmp_path / "run.npz")
    run = load_run(tmp_path / "run.npz")
    with pytest.raises(DalembertError, match=r"robot.video\(run"):
        run.video()
    assert robot.video(run, size=SMALL, fps=20).frames == 3
    with pytest.raises(DalembertError, match="did you mean 'trails'"):
        robot.simulate(q, np.zeros(6), 0.1).render(0.1, trail=("ball",))
    with pytest.raises(DalembertError, match="a time of the run"):
        robot.simulate(q, np.zeros(6), 0.1).render(0.3)


def test_collision_shapes_alone():
    humanoid = load("humanoid")
    visual = MotionPictures(humanoid, np.zeros(1), humanoid.neutral()[None], Options(SMALL))
    collision = MotionPictures(humanoid, np.zeros(1), humanoid.neutral()[None], Options(SMALL, role="collision"))
    counts = [len(x.drawn.scene.drawing().triangles) for x in (visual, collision)]
    wanted = [
        sum(g.role == role for b in humanoid.model.bodies for part in b.parts for g in part.geometry)
        for role in ("visual", "collision")
    ]
    assert 0 < wanted[1] < wanted[0] and 0 < counts[1] < counts[0]
