"""Concave collision meshes as convex parts: how the library is asked, what comes back, and what is refused."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot
from dalembert.shapes import Box, Polyhedron

TETRAHEDRON = (
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)


@pytest.fixture
def robot():
    builder = ModelBuilder("cup")
    builder.add_body("cup", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_geometry(Polyhedron(*TETRAHEDRON), body="cup", role="collision", name="wall", xyz=(1, 0, 0))
    builder.add_geometry(Polyhedron(*TETRAHEDRON), body="cup")
    builder.add_geometry(Box(np.ones(3)), body="cup", role="collision")
    return Robot(builder.model())


def test_parts_take_the_place_of_the_mesh(robot, monkeypatch):
    asked = {}

    def run_coacd(mesh, **options):
        asked.update(options, mesh=mesh)
        return [(mesh[0], mesh[1]), (2.0 * mesh[0], mesh[1])]

    library = SimpleNamespace(Mesh=lambda v, f: (v, f), run_coacd=run_coacd, set_log_level=lambda level: None)
    monkeypatch.setitem(sys.modules, "coacd", library)
    edited = robot.edit().convex_parts("cup", concavity=0.1).done()
    shapes = edited.model.bodies[0].parts[0].geometry
    assert [(x.name, x.role, x.shape.is_mesh) for x in shapes] == [
        ("wall_0", "collision", True), ("wall_1", "collision", True), ("", "visual", True), ("", "collision", False)
    ]  # fmt: skip
    assert asked["threshold"] == 0.1 and all(np.array_equal(x.placement.p, [1, 0, 0]) for x in shapes[:2])
    np.testing.assert_array_equal(shapes[1].shape.vertices, 2.0 * TETRAHEDRON[0])
    assert any("divided into 2 convex parts" in str(finding) for finding in edited.import_log)


def test_the_parts_of_the_library_fill_the_mesh(robot):
    pytest.importorskip("coacd")
    edited = robot.edit().convex_parts("cup").done()
    parts = [x.shape for x in edited.model.bodies[0].parts[0].geometry if x.name.startswith("wall")]
    assert parts and np.ptp(np.concatenate([x.vertices for x in parts]), axis=0).min() > 0.9


def test_refusals_name_what_is_wrong(robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(DalembertError, match=r"link 'cup': convex decomposition needs CoACD: pip install"):
        robot.edit().convex_parts("cup")
    with pytest.raises(DalembertError, match="concavity is 2"):
        robot.edit().convex_parts("cup", concavity=2)
    with pytest.raises(DalembertError, match="did you mean 'cup'"):
        robot.edit().convex_parts("cub")
    builder = ModelBuilder("box")
    builder.add_body("box", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    with pytest.raises(DalembertError, match="link 'box' has no collision mesh"):
        Robot(builder.model()).edit().convex_parts("box")
