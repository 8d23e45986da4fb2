"""Random robots into every format: written and the same when read back, or refused in words; never anything else."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.formats import read, write
from dalembert.model import Model, disassemble
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from saving import assert_same_dynamics
from trees import ALL_KINDS, random_axis, random_model, random_pose

ENDINGS = [".urdf", ".xml", ".sdf", ".dh.toml"]
KINDS = [
    ALL_KINDS,
    ("revolute", "prismatic", "continuous"),
    ("revolute",),
    ("ball", "revolute"),
    ("universal", "screw"),
]
EXACT = ("massless link", "ties to it", "two points of the axis")  # approximations that keep the equations of motion


def shape(rng: np.random.Generator):
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    shapes = [Sphere(0.1), Cylinder(0.1, 0.2), Capsule(0.1, 0.2), Cone(0.1, 0.2), Plane(random_axis(rng))]
    shapes += [Box(rng.uniform(0.01, 0.1, 3)), Ellipsoid(rng.uniform(0.01, 0.1, 3)), Mesh("nowhere.stl", np.ones(3))]
    return [*shapes, Polyhedron(rng.normal(size=(5, 3)), triangles)][rng.integers(9)]


def robot(rng: np.random.Generator) -> Model:
    base, effects, coupled = ("fixed", "free")[rng.integers(2)], bool(rng.integers(2)), bool(rng.integers(2))
    n, kinds = int(rng.integers(2, 8)), KINDS[rng.integers(len(KINDS))]
    tree = random_model(rng, n_bodies=n, kinds=kinds, base=base, effects=effects, coupled=coupled)
    if rng.random() < 0.4:
        tree = tree.without("friction", "armature", "damping")
    builder = disassemble(tree)
    for _ in range(rng.integers(4)):
        body = tree.bodies[rng.integers(n)].name
        role = "visual" if rng.random() < 0.5 else "collision"
        builder.add_geometry(shape(rng), body=body, placement=random_pose(rng), role=role, name="shape")
    if rng.random() < 0.4:
        kind = ("weld", "point", "revolute", "planar")[rng.integers(4)]
        axis = {"axis": random_axis(rng)} if kind in ("revolute", "planar") else {}
        builder.add_closure("tie", kind, a="world", b=tree.bodies[-1].name, placement_a=random_pose(rng), **axis)
    model = builder.model()
    return model if rng.random() < 0.8 else model.with_parameters(rng.normal(size=10 * len(model.bodies)))


@pytest.mark.parametrize("seed", range(40))
def test_written_or_refused(tmp_path, seed):
    pytest.importorskip("mujoco")
    model = robot(np.random.default_rng(seed))
    for ending in ENDINGS:
        path = tmp_path / f"robot{ending}"
        try:
            findings = write(model, path, approximate=True)
        except DalembertError as error:
            assert "\n  " in str(error) and not path.exists()
            continue
        back = read(path)[0]
        changes = [finding for finding in findings if finding.severity == "warning"]
        if all(any(word in change.action for word in EXACT) for change in changes):
            assert_same_dynamics(model, back, states=1)


def test_all_outcomes_occur(tmp_path):
    """The robots above reach every format."""
    written = dict.fromkeys(ENDINGS, 0)
    for seed in range(40):
        for ending in ENDINGS:
            try:
                write(robot(np.random.default_rng(seed)), tmp_path / f"robot{ending}", approximate=True)
            except DalembertError:
                continue
            written[ending] += 1
    assert all(2 <= count <= 39 for count in written.values()), written
