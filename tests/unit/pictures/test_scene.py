"""Scenes: several robots, marks, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.pictures import Camera, Scene
from dalembert.pictures.bodies import stick_rows
from dalembert.shapes import Box
from tolerances import COMPUTED

SMALL = (96, 72)


def test_several_robots_stand_in_their_places():
    arm = load("2r")
    scene = Scene().robot(arm, [0.1, 0.2]).robot(arm, [0.1, 0.2], color="#ff0000", place=(5.0, 0.0, 0.0))
    low, high = scene.extent()
    assert high[0] - low[0] > 5.0
    alone = Scene().robot(arm, [0.1, 0.2]).extent()
    np.testing.assert_allclose(low, alone[0], atol=COMPUTED)
    picture = scene.picture(Camera(-90, 20), SMALL).astype(int)
    assert np.any(picture[..., 0] > picture[..., 1] + 60)


def test_marks_are_drawn_where_they_are():
    """An arrow along x from the origin covers the pixels of its ends, and none beyond its tip."""
    camera = Camera(-90.0, 0.0, 4.0, (0, 0, 0))
    scene = Scene().arrow((0, 0, 0), (1.0, 0, 0), 0.03, "#ff0000")
    picture = scene.picture(camera, SMALL, ground=None, shadows=False).astype(int)
    shot = camera.placed(np.zeros(3), 1.0, SMALL)
    red = np.argwhere(picture[..., 0] > picture[..., 1] + 60)[:, 1]
    (start, _), (end, _) = shot.project([[0.0, 0, 0], [1.0, 0, 0]])[0]
    assert abs(red.min() - start) <= 1.5 and abs(red.max() + 1 - end) <= 2.5
    assert Scene().arrow((0, 0, 0), (0, 0, 0), 0.1).path([[0, 0, 0]], 0.1).picture(size=SMALL).shape == (72, 96, 3)


def test_sticks_reach_from_end_to_end():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    rows = stick_rows(a, b, 0.1)
    R, p = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:12]
    np.testing.assert_allclose(p + R[:, :, 2] / 2, b, atol=COMPUTED)
    np.testing.assert_allclose(p - R[:, :, 2] / 2, a, atol=COMPUTED)
    assert not stick_rows(a, a, 0.1).any()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: Scene().ball((np.nan, 0, 0), 1.0),
        lambda: Scene().shape(Box(np.ones(3)), np.eye(3)),
        lambda: Scene().ball((0, 0, 0), 1.0, "red"),
        lambda: Scene().ball((0, 0, 0), 1.0, "#12345g"),
        lambda: Scene().ball((0, 0, 0), 1.0, (1, 0)),
        lambda: Scene().ball((0, 0, 0), 1.0, (1, 0, 2)),
        lambda: Scene().ball((0, 0, 0), 1.0).picture(size=(0, 3)),
    ],
)
def test_bad_input_is_refused(draw):
    with pytest.raises(DalembertError):
        draw()
