"""Centres of mass that a fit finds lie within the hulls of the links' shapes."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import identify, load
from dalembert.identify.physical import extent, hull_bounds
from dalembert.model.solids.properties import solids
from faulty_logs import motion_of
from simulated import SimulatedLog
from tolerances import ITERATED

ARM = """<robot name="r"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.2"
rpy="0.5 0.3 0.2"/><geometry><box size="0.1 0.06 0.5"/></geometry></collision></link><joint name="a" type="revolute">
<parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="100" velocity="3"/></joint>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    return load(tmp_path / "arm.urdf")


def test_the_bounds_are_the_hull(arm):
    """Just inside the faces, edges and corners of a turned box the rows are above 0, just outside below."""
    bounds = extent(arm, 1)
    (shape,) = arm.model.bodies[1].parts
    X = shape.placement @ next(iter(solids(shape))).placement
    corners = 0.5 * np.array([0.1, 0.06, 0.5]) * np.array([[1, 1, 1], [1, -1, 0.3], [-1, 0.2, 0.1], [0.1, 0.2, -1.0]])
    for corner in corners:
        inside, outside = (X.R @ (factor * corner) + X.p for factor in (0.999, 1.01))
        assert bounds.outside(inside) < 0.0 < bounds.outside(outside)
        rows = hull_bounds(bounds, X.p)
        assert np.min(rows @ [1.0, *inside]) > 0.0 > np.min(rows @ [1.0, *outside])


def test_a_fit_stays_within_the_hull(arm):
    """A tool that the file does not have pulls the centre of mass out of the rod: the fit stays at its surface."""
    t, q, v, a = motion_of(arm, 0)
    tau = arm.edit().payload(4.0, frame="rod", com=(0.4, 0.0, 0.6)).done().inverse_dynamics(q, v, a)
    fit = identify.fit(arm, SimulatedLog(t, q, v, a, tau), check=False)
    assert extent(arm, 1).outside(fit.robot.bodies[1].com) < ITERATED
    free = identify.fit(arm, SimulatedLog(t, q, v, a, tau), check=False, method="weighted")
    assert free.training.rms[0] < fit.training.rms[0]


def test_a_file_that_is_outside_is_told(arm):
    far = arm.edit().set_inertia("rod", com=(0.2, 0.0, 0.2)).done()
    t, q, v, a = motion_of(far, 0)
    fit = identify.fit(far, SimulatedLog(t, q, v, a, far.inverse_dynamics(q, v, a)))
    assert any("centre of mass of 'rod' lies" in note and "outside its shapes" in note for note in fit.log)
