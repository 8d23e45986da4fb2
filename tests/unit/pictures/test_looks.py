"""Surfaces: sharp edges stay sharp, round ones are smooth, and colours of files are kept."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.pictures.looks import look_of, smooth
from dalembert.shapes import Box, Cylinder, Mesh, Sphere
from tolerances import SINGLE

COARSE = 0.05  # normals of a ball drawn with 32 sides


def test_a_cube_has_six_sides():
    look = look_of(Box(np.ones(3)))
    assert len(look.vertices) == 24 and len(look.triangles) == 12
    assert sorted(map(tuple, np.unique(np.round(look.normals, 5), axis=0).tolist())) == sorted(
        tuple(float(s * (i == k)) for i in range(3)) for k in range(3) for s in (1, -1)
    )


def test_a_ball_is_smooth():
    look = look_of(Sphere(0.5))
    np.testing.assert_allclose(look.normals, look.vertices / 0.5, atol=COARSE)


def test_a_cylinder_has_two_edges():
    look = look_of(Cylinder(0.5, 1.0))
    along = np.abs(look.normals[:, 2])
    assert np.all((along < COARSE) | (along > 1.0 - SINGLE))


def test_triangles_without_area_and_none_at_all():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    look = smooth(points, np.array([[0, 1, 2], [0, 0, 1], [0, 3, 1]]))
    assert look.triangles.shape == (1, 3)
    assert smooth(points, np.zeros((0, 3), int)).vertices.shape == (0, 3)


def test_mirror_images_are_turned_over(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "box.stl")
    for scale in ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)):
        look = look_of(Mesh(str(tmp_path / "box.stl"), np.array(scale)))
        assert not look.palette
        assert np.einsum("ij,ij->i", look.normals, look.vertices).min() > 0.0


def test_colors_of_a_file(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    red, blue = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 1))
    red.visual.face_colors, blue.visual.face_colors = [255, 0, 0, 255], [0, 0, 255, 128]
    blue.apply_translation([3, 0, 0])
    trimesh.Scene([red, blue]).export(tmp_path / "two.glb")
    look = look_of(Mesh(str(tmp_path / "two.glb")))
    assert set(look.palette) == {(1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 128 / 255)}
    middle = look.vertices[look.triangles].mean(axis=1)[:, 0]
    reds = np.array([look.palette[k][0] == 1.0 for k in look.colors])
    np.testing.assert_array_equal(reds, middle < 1.5)
