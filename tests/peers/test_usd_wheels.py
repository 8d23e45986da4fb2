"""Every USD file of the packages newton and warp: read as Newton and USD itself have it, or refused with the reason.

Newton's reader gives masses, centres of mass and inertias; USD's own transforms say where the bodies are at the start.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, Robot
from dalembert.dynamics.algorithms import frame_pose
from dalembert.formats import read
from dalembert.model import start_of
from tolerances import PRINTED, SINGLE, assert_close

pytestmark = [pytest.mark.long]
pytest.importorskip("pxr")

PACKAGES = ("newton", "warp")
INTEGRATED_SHAPES = 2e-3  # of an inertia: Newton adds up meshes and cones in single precision
REFUSED = ("no prim is a rigid body", "robots: <")
# the start is not that of the stage, and the log says so
APART = ("lie ", "does not begin at 0", "whose state is stated")


def files() -> list[Path]:
    found = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            found += sorted(Path(next(iter(spec.submodule_search_locations))).rglob("*.usd*"))
    return [path for path in found if path.suffix in (".usd", ".usda", ".usdc", ".usdz")]


@pytest.fixture(scope="module")
def results():
    """path → (model, log), or the error."""
    found = {}
    for path in files():
        try:
            found[path] = read(str(path))
        except DalembertError as error:
            found[path] = error
    if not found:
        pytest.skip("newton is not installed")
    return found


def test_none_crashes_and_refusals_have_reasons(results):
    refused = {path: str(each) for path, each in results.items() if isinstance(each, DalembertError)}
    for path, message in refused.items():
        assert any(reason in message for reason in REFUSED), f"{path}: {message}"
        assert path.name in message
    assert len(results) - len(refused) >= 20


def test_bodies_start_where_the_stage_has_them(results):
    from pxr import Usd, UsdGeom, UsdPhysics

    compared = 0
    for path, result in results.items():
        if isinstance(result, DalembertError) or any(word in finding.what for finding in result[1] for word in APART):
            continue
        model, _ = result
        stage = Usd.Stage.Open(str(path))
        length, up = UsdGeom.GetStageMetersPerUnit(stage), UsdGeom.GetStageUpAxis(stage)
        turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) if up == "Y" else np.eye(3)
        q = start_of(model).q
        names = {frame.name for frame in model.frames}
        for prim in stage.Traverse():
            if prim.HasAPI(UsdPhysics.RigidBodyAPI) and prim.GetName() in names:
                T = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.EarliestTime())).T
                X = frame_pose(model, q, model.frame(prim.GetName()))
                assert_close(X.p, length * turn @ T[:3, 3], 10 * SINGLE)
                compared += 1
    assert compared >= 100


def test_masses_are_those_of_newton(results):
    newton = pytest.importorskip("newton")
    compared = 0
    for path, result in results.items():
        if isinstance(result, DalembertError) or "tests" not in path.parts:
            continue
        parts = {part.name: part.inertia for body in result[0].bodies for part in body.parts}
        builder = newton.ModelBuilder()
        try:
            builder.add_usd(str(path))
        except TypeError:  # Newton stumbles over actuators of its own
            continue
        for label, mass, com, I in zip(
            builder.body_label, builder.body_mass, builder.body_com, builder.body_inertia, strict=True
        ):
            own = parts[label.split("/")[-1]]
            assert own.mass == pytest.approx(mass, rel=PRINTED)
            if own.mass:
                assert_close(own.com, np.array(com), PRINTED)
                about = own.about_com()
                assert_close(np.array(I).reshape(3, 3), about, INTEGRATED_SHAPES, scale=float(np.max(np.abs(about))))
            compared += 1
    assert compared >= 100


def test_those_that_move_can_be_written_and_read_again(results, tmp_path):
    """Each keeps its mass matrix through a stage of ours."""
    written = 0
    for result in results.values():
        if isinstance(result, DalembertError) or not result[0].nv:
            continue
        robot = Robot(*result)
        robot.save(tmp_path / "again.usda", approximate=True)
        back, _ = read(str(tmp_path / "again.usda"))
        assert [body.name for body in back.bodies if body.joint.nv] == [
            body.name for body in robot.model.bodies if body.joint.nv
        ]
        written += 1
    assert written >= 20
