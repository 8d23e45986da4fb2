"""Words of URDF 1.1 and 1.2 beside Pinocchio, for each version that a file may state."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from peers.example_robots import peer
from tolerances import PEER, assert_close
from unit.formats.urdf.test_elements import LIMITS, QUARTER, urdf

pin = peer("pinocchio")


@pytest.mark.parametrize("version", [None, "1.0", "1.1", "1.2"])
def test_inertias_turned_by_a_quaternion(version):
    if tuple(map(int, pin.__version__.split(".")[:2])) < (4, 1):
        pytest.skip("Pinocchio reads URDF 1.1 from version 4.1 on")
    text = urdf(version, origin=QUARTER)
    theirs = pin.buildModelFromXML(text)
    assert_close(load(text).mass_matrix([0.3]), pin.crba(theirs, theirs.createData(), np.array([0.3])), PEER)


def test_limits_of_acceleration_and_jerk():
    text = urdf("1.2", limit=LIMITS)
    theirs, limits = pin.buildModelFromXML(text), load(text).limits
    if not hasattr(theirs, "upperAccelerationLimit"):
        pytest.skip("this Pinocchio has no limits of acceleration")
    assert_close(limits.acceleration, theirs.upperAccelerationLimit, PEER)
    assert_close(limits.jerk, theirs.upperJerkLimit, PEER)
