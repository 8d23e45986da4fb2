"""The viewer as a person sees it: the page loads from loopback alone, sliders move the robot, a run plays."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import INTEGRATED, ITERATED

pytest.importorskip("viser")


def wait_until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.1)


def leaving(page, viewer) -> list[str]:
    inside = (viewer.url, viewer.url.replace("http", "ws"), "data:", "blob:")
    return [url for url in page.requests if not url.startswith(inside)]


def shown_pixels(page) -> np.ndarray:
    """The picture as grey values."""
    import io

    from matplotlib.image import imread

    return imread(io.BytesIO(page.screenshot()))[..., :3].mean(axis=-1)


def test_a_slider_moves_the_robot(page) -> None:
    robot = load("2r")
    with robot.view() as viewer:
        page.goto(viewer.url)
        page.get_by_text("shoulder [°]").wait_for()
        scene = viewer.scenes[0]
        field = page.locator("input[type=text], input[inputmode]").first
        before = shown_pixels(page)
        field.fill("60")
        field.press("Enter")
        wait_until(lambda: abs(scene.q[0] - np.radians(60)) < 1e-3)
        link = robot.poses(scene.q)[2]
        wait_until(lambda: np.allclose(scene._bodies[2].position, link[:3, 3], atol=ITERATED))
        wait_until(lambda: np.mean(np.abs(shown_pixels(page) - before) > 0.05) > 0.002)
        assert leaving(page, viewer) == [] and page.errors == []


def test_a_slider_keeps_loops_closed(page) -> None:
    robot = load("four_bar")
    with robot.view() as viewer:
        page.goto(viewer.url)
        page.get_by_text(f"{robot.joints[0].name} [°]").wait_for()
        scene = viewer.scenes[0]
        np.testing.assert_allclose(robot.close_loops(scene.q).q, scene.q, atol=ITERATED)
        field = page.locator("input[type=text], input[inputmode]").first
        field.fill("65")
        field.press("Enter")
        wait_until(lambda: abs(scene.q[0] - np.radians(65)) < 1e-3)
        np.testing.assert_allclose(robot.close_loops(scene.q).q, scene.q, atol=ITERATED)
        assert page.errors == []


def test_switches_draw_more(page) -> None:
    robot = load("quadruped")
    with robot.view() as viewer:
        page.goto(viewer.url)
        page.get_by_text("centre of mass").wait_for()
        scene, boxes = viewer.scenes[0], page.get_by_role("checkbox").all()[:6]
        for k, box in enumerate(boxes):
            box.check(force=k > 0)  # without waiting for the picture to be drawn several times
            wait_until(lambda k=k: len(scene._extras) > k)  # of changes at once the page tells only the last
        assert set(scene._extras) == {"frames", "com", "inertia", "reactions", "names", "collision"}
        assert len(scene._extras["frames"]) == len(robot.frames)
        assert leaving(page, viewer) == [] and page.errors == []


def test_a_run_plays(page) -> None:
    robot = load("2r")
    run = robot.simulate([0.5, -0.5], [0.0, 0.0], 1.0)
    with run.view() as viewer:
        page.goto(viewer.url)
        page.get_by_text("time [s]").wait_for()
        page.get_by_label("play", exact=True).check()
        scene = viewer.scenes[0]
        wait_until(lambda: np.linalg.norm(scene.q - run.q[0]) > 0.05)
        assert np.min(np.linalg.norm(run.q - scene.q, axis=1)) < ITERATED  # it shows states of the run
        assert page.locator(".uplot, canvas").count() >= 2
        assert leaving(page, viewer) == [] and page.errors == []


def test_a_target_is_followed() -> None:
    robot = load("ur5")
    start = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])
    with robot.view(start) as viewer:
        target = robot.pose(start, "tool0")
        target[:3, 3] += [0.0, 0.1, 0.05]
        reached = viewer.reach(target, "tool0")
        assert reached.success
        np.testing.assert_allclose(robot.pose(viewer.scenes[0].q, "tool0"), target, atol=INTEGRATED)


def test_a_target_out_of_reach_shows_the_nearest() -> None:
    robot = load("ur5")
    with robot.view() as viewer:
        target = np.eye(4)
        target[:3, 3] = [3.0, 0.0, 0.5]
        nearest = viewer.reach(target, "tool0")
        assert not nearest.success and nearest.position_error > 1.0
        np.testing.assert_array_equal(viewer.scenes[0].q, nearest.q)


def test_every_robot_stands_on_the_ground() -> None:
    """The lowest point of its shapes is at height 0, whatever its base is, and however large it is."""
    from dalembert.view import Viewer

    small = load("panda").edit().scale(1e-3).done()
    with Viewer([load("quadruped"), load("panda"), load("delta"), small]) as viewer:
        for scene in viewer.scenes:
            assert abs(scene.lowest()) < ITERATED
            np.testing.assert_allclose(scene._root.position, scene.placement)
        ends = [(scene.points()[:, 1].min(), scene.points()[:, 1].max()) for scene in viewer.scenes]
        assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))
    with load("panda").view() as viewer:
        ends = [(handle.min, handle.max) for _, _, _, handle in viewer.sliders[0]._handles]
        assert ends[0] == (-166.0, 166.0) and ends[3] == (-176.0, -4.0)


def test_it_serves_loopback_and_stops() -> None:
    import socket

    viewer = load("2r").view()
    assert viewer.host == "127.0.0.1" and viewer.url in viewer._repr_html_()
    with pytest.raises(DalembertError, match="give another port"):
        load("2r").view(port=viewer.port)
    viewer.close()
    with socket.socket() as probe:
        wait_until(lambda: probe.connect_ex(("127.0.0.1", viewer.port)) != 0)


def test_wrong_configurations_are_named() -> None:
    with load("2r").view() as viewer, pytest.raises(DalembertError, match=r"shape \(3,\), expected \(2,\)"):
        viewer.show([0, 0, 0])


def test_a_small_robot_fills_the_picture(page) -> None:
    """Camera, grid and clipping go with the size of the robot: one of a millimetre is seen, and looks the same."""
    robot, small = load("panda"), load("panda").edit().scale(1e-3).done()
    with robot.view() as viewer:
        camera = viewer.server.initial_camera
        usual = np.array([*camera.position, *camera.look_at, camera.near, camera.far])
    page.set_viewport_size({"width": 1100, "height": 400})  # so that the panel does not cover it
    with small.view() as viewer:
        camera = viewer.server.initial_camera
        scaled = np.array([*camera.position, *camera.look_at, camera.near, camera.far])
        np.testing.assert_allclose(scaled, 1e-3 * usual, rtol=INTEGRATED, atol=ITERATED)
        page.goto(viewer.url)
        page.get_by_text("panda_joint1 [°]").wait_for()
        wait_until(lambda: np.mean(shown_pixels(page)[50:350, 450:700] < 0.6) > 0.03, seconds=60.0)
        assert page.errors == []
