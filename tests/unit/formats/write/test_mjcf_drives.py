"""Springs and dampers of tendons, and MuJoCo's options, survive writing and reading, or the loss is an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import ITERATED

ARM = """<mujoco model="arm"><option timestep="0.005" integrator="implicitfast" cone="elliptic" impratio="10"/>
<worldbody>
<site name="wall" pos="0 0 0.3"/>
<body name="upper"><joint name="shoulder" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1"/>
<body name="fore" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1"/><site name="hand" pos=".3 0 0"/></body></body>
</worldbody><tendon><spatial name="strap" stiffness="40" damping="0.5" springlength="0.2 0.3">
<site site="wall"/><site site="hand"/></spatial>
<fixed name="pull" stiffness="3" range="-1 2" frictionloss="0.1" solreffriction="0.05 1">
<joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-0.5"/></fixed></tendon>
<actuator><motor name="pull" tendon="pull" gear="2"/></actuator></mujoco>"""
Q, V = [0.3, -0.2], [1.0, 2.0]


def test_mjcf_keeps_tendons_and_options(tmp_path: Path) -> None:
    arm = load(ARM)
    findings = arm.save(tmp_path / "again.xml")
    again = load(tmp_path / "again.xml")
    assert not any("tendon" in str(finding) for finding in findings)
    runs = [robot.simulate(Q, V, 0.3, controls=[0.4]) for robot in (arm, again)]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0.0, atol=ITERATED)
    assert again.model.mujoco.option == arm.model.mujoco.option
    (pull,) = [tendon for tendon in again.model.mujoco.tendons if tendon.name == "pull_passive"]
    assert pull.range == (-1.0, 2.0) and pull.frictionloss == 0.1 and pull.friction.solref == (0.05, 1.0)


@pytest.mark.parametrize("ending", ["urdf", "sdf", "dh.toml"])
def test_formats_without_tendons_say_so(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DalembertError, match=r"tendons? 'strap', 'pull'.* has no tendons"):
        load(ARM).save(tmp_path / f"arm.{ending}")


def test_pairs_that_never_touch_are_lost_with_a_note(tmp_path: Path) -> None:
    apart = ARM.replace("</mujoco>", '<contact><exclude body1="upper" body2="fore"/></contact></mujoco>')
    findings = load(apart).save(tmp_path / "arm.urdf", approximate=True)
    assert any("pair 'upper, fore': URDF has no pairs that never touch" in str(finding) for finding in findings)
