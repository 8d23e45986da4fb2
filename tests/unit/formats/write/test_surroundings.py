"""The fluid around a robot and balanced gravity survive writing and reading, or the loss is an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import ITERATED

FISH = """<mujoco model="fish"><option density="1000" viscosity="0.0009" wind="0.1 0 -0.2"/><worldbody>
<body name="trunk" gravcomp="0.7"><joint name="swing" axis="0 1 0"/>
<geom type="ellipsoid" size=".1 .05 .04" mass="1.5" fluidshape="ellipsoid" fluidcoef="0.5 0.25 1.5 1 1"/>
<body name="tail" pos="-0.1 0 0" gravcomp="1"><joint name="bend" axis="0 0 1"/>
<geom type="capsule" size=".02 .05" pos="-.05 0 0" quat="1 0 1 0" mass=".2"/></body></body></worldbody></mujoco>"""

PAIR = """<sdf version="1.9"><model name="pair"><link name="base"><inertial><mass>1</mass></inertial></link>
<joint name="ground" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="bob"><gravity>{gravity}</gravity><inertial><mass>2</mass></inertial></link>
<joint name="slide" type="prismatic"><parent>base</parent><child>bob</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""


def test_mjcf_keeps_the_fluid_and_the_balanced_weight(tmp_path: Path) -> None:
    fish = load(FISH)
    fish.save(tmp_path / "again.xml")
    again = load(tmp_path / "again.xml")
    assert dict(again.model.surroundings.compensations) == {"trunk": 0.7, "tail": 1.0}
    starts = [robot.simulate([0.3, -0.2], [1.0, 2.0], 0.5) for robot in (fish, again)]
    assert np.allclose(starts[0].q, starts[1].q, rtol=0.0, atol=ITERATED)
    assert (
        np.abs(starts[0].q[-1] - fish.without("surroundings").simulate([0.3, -0.2], [1.0, 2.0], 0.5).q[-1]).max() > 0.01
    )


@pytest.mark.parametrize(("gravity", "fallen"), [("true", 0.5 * 9.81), ("false", 0.0)])
def test_sdf_links_without_gravity_float(tmp_path: Path, gravity: str, fallen: float) -> None:
    robot = load(PAIR.format(gravity=gravity))
    robot.save(tmp_path / "again.sdf")
    for each in (robot, load(tmp_path / "again.sdf")):
        assert each.simulate([0.0], [0.0], 1.0).q[-1, 0] == pytest.approx(-fallen, abs=ITERATED)
        assert each.gravity([0.0])[0] == pytest.approx(2 * 9.81)  # of the bare robot, as the import log says
    assert any("gravity does not act" in str(each) for each in robot.import_log) == (gravity == "false")


@pytest.mark.parametrize("ending", ["urdf", "sdf"])
def test_formats_without_fluids_say_so(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DalembertError, match="fluid"):
        load(FISH).save(tmp_path / f"fish.{ending}")
