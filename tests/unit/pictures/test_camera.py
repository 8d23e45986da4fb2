"""Cameras."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.pictures import Camera
from tolerances import COMPUTED


def test_axes_and_places():
    """From the x axis: y is to the right, z up; a point at the target is in the middle."""
    shot = Camera(0.0, 0.0, 5.0, (1.0, 2.0, 3.0), view=90.0).placed(np.zeros(3), 1.0, (200, 100))
    np.testing.assert_allclose(shot.eye, [6.0, 2.0, 3.0], atol=COMPUTED)
    places, depths = shot.project([[1.0, 2.0, 3.0], [1.0, 3.0, 3.0], [1.0, 2.0, 4.0], [1.0, 2.0, 8.0]])
    np.testing.assert_allclose(places, [[100, 50], [110, 50], [100, 40], [100, 0]], atol=COMPUTED)
    np.testing.assert_allclose(depths, 5.0, rtol=COMPUTED)


@pytest.mark.parametrize("size", [(300, 100), (100, 300)])
def test_everything_fits(size):
    """A ball around all is inside the picture, whatever its shape, and touches an edge."""
    center = np.array([0.3, -1.0, 2.0])
    shot = Camera(33.0, 21.0).placed(center, 0.7, size)
    a = np.linspace(0, 2 * np.pi, 2000)
    tangent = np.arcsin(0.7 / shot.distance)
    rim = np.stack([np.cos(a), np.sin(a), np.full_like(a, 1.0 / np.tan(tangent))]).T @ shot.axes + shot.eye
    places, _ = shot.project(rim)
    assert places.min() > -COMPUTED * 300 and np.all(places < np.array(size) + COMPUTED * 300)
    assert min(np.abs(places).min(), np.abs(places - np.array(size)).min()) < 0.05


@pytest.mark.parametrize(
    "options",
    [{"azimuth": np.nan}, {"view": 0.0}, {"view": 180.0}, {"distance": -1.0}, {"target": (1, 2)}, {"elevation": "up"}],
)
def test_bad_numbers_are_refused(options):
    with pytest.raises(DalembertError, match="Camera: "):
        Camera(**options)
