"""What is particular to SDF: one space of names, frames for bare links, gravity in a world, the names of joints."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder
from dalembert.formats import read, write
from saving import again, assert_same_dynamics, joint_names
from tolerances import ROUNDING

HEAVY = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": np.diag([0.02, 0.03, 0.04])}


def test_joints_called_as_links_are(tmp_path):
    builder = ModelBuilder("arm")
    builder.add_body("base", parent="world", **HEAVY)
    builder.add_body("upper", parent="base", joint="revolute", **HEAVY)
    builder.add_body("fore", parent="upper", joint="revolute", mimic=("upper", 0.5, 0.1), **HEAVY)
    findings = write(builder.model(), tmp_path / "arm.sdf")
    assert any("in SDF a joint cannot share its name with a link" in finding.what for finding in findings)
    back = read(tmp_path / "arm.sdf")[0]
    assert joint_names(back) == ["upper_joint", "fore_joint"]
    assert_same_dynamics(builder.model(), back)


def test_bare_links_become_frames_and_carry_what_sits_on_them(tmp_path):
    builder = ModelBuilder("arm")
    builder.add_body("base", parent="world", **HEAVY)
    builder.add_body("flange", parent="base", xyz=(0, 0, 0.5), rpy=(0.1, 0.2, 0.3))
    builder.add_body("wheel", parent="flange", joint="revolute", joint_name="spin", xyz=(0.1, 0, 0), **HEAVY)
    builder.add_frame("tip", body="flange", xyz=(0, 0, 0.1))
    back = again(builder.model(), tmp_path / "arm.sdf")
    text = (tmp_path / "arm.sdf").read_text()
    assert '<frame name="flange" attached_to="base">' in text and '<frame name="tip" attached_to="flange">' in text
    assert_same_dynamics(builder.model(), back)
    for name in ("flange", "tip"):
        there, here = builder.model().frame(name).placement, back.frame(name).placement
        np.testing.assert_allclose(here.matrix(), there.matrix(), atol=ROUNDING)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, -1.62), (0.0, 0.0, 0.0)])
def test_gravity(tmp_path, gravity):
    builder = ModelBuilder("arm", gravity=gravity)
    builder.add_body("upper", parent="world", joint="revolute", joint_name="turn", axis=(0, 1, 0), **HEAVY)
    back = again(builder.model(), tmp_path / "arm.sdf")
    np.testing.assert_array_equal(back.gravity, gravity)
    assert ("<world" in (tmp_path / "arm.sdf").read_text()) == (gravity != (0.0, 0.0, -9.81))
    assert_same_dynamics(builder.model(), back)


def test_a_floating_base(tmp_path):
    builder = ModelBuilder("box")
    builder.add_body("box", parent="world", joint="free", joint_name="loose", **HEAVY)
    builder.add_body("arm", parent="box", joint="screw", joint_name="bolt", pitch=0.01, **HEAVY)
    findings = write(builder.model(), tmp_path / "box.sdf")
    assert [finding.where for finding in findings] == ["joint 'loose'"]
    assert_same_dynamics(builder.model(), read(tmp_path / "box.sdf")[0])
    builder.add_body("ball", parent="box", joint="free", joint_name="fly", **HEAVY)
    with pytest.raises(DalembertError, match="joint 'fly': in SDF only a model without joints to the world floats"):
        write(builder.model(), tmp_path / "box.sdf")
    builder = ModelBuilder("box")
    builder.add_body("box", parent="world", joint="free", xyz=(0, 0, 1), damping=0.1, **HEAVY)
    with pytest.raises(DalembertError, match="damping of a free joint, which SDF does not have"):
        write(builder.model(), tmp_path / "box.sdf")


@pytest.mark.parametrize("robots", [1, 2])
def test_robots_that_float_over_a_ground_float(tmp_path, robots):
    """As MJCF files have them: the base is the world, with a floor, and nothing is held to it."""
    builder = ModelBuilder("fleet")
    builder.add_body("world", parent="world", joint_name="ground")
    heavy = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": np.diag([0.02, 0.03, 0.04])}
    for k in range(robots):
        builder.add_body(f"trunk{k}", parent="world", joint="free", **heavy)
        builder.add_body(
            f"leg{k}", parent=f"trunk{k}", joint="revolute", joint_name=f"hip{k}", xyz=(0, 0, 0.3), **heavy
        )
    model = builder.model()
    assert write(model, tmp_path / "fleet.sdf") == ()
    back = read(tmp_path / "fleet.sdf")[0]
    assert_same_dynamics(model, back)
    assert [b.joint.name for b in back.bodies if b.joint.nv] == [b.joint.name for b in model.bodies if b.joint.nv]


def test_robots_that_float_beside_held_ones_are_refused(tmp_path):
    builder = ModelBuilder("cell")
    builder.add_body("world", parent="world", joint_name="ground")
    builder.add_body("arm", parent="world", joint="revolute", mass=1.0, inertia=np.eye(3))
    builder.add_body("part", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    with pytest.raises(DalembertError, match="joint 'part': in SDF only a model without joints to the world floats"):
        write(builder.model(), tmp_path / "cell.sdf")
