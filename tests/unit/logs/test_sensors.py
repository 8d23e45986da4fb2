"""Logs in encoder counts and motor currents."""

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.identify import JointSensors, read_log
from dalembert.tables import write_table
from tolerances import ITERATED

GEAR, COUNTS, CONSTANT = 101.0, 4096.0, 0.07


@pytest.fixture(scope="module")
def robot():
    return load("2r")


@pytest.fixture
def log(robot, tmp_path):
    """A log of the drive: counts at the motor, counts per second, currents; and the same in SI units."""
    t = np.linspace(0.0, 2.0, 401)
    q = np.column_stack([np.sin(t), 0.5 * np.cos(2.0 * t)])
    v = np.column_stack([np.cos(t), -np.sin(2.0 * t)])
    tau = np.column_stack([3.0 + t, 1.0 - t])
    per_radian = COUNTS * GEAR / (2.0 * np.pi)
    columns = {"t": t}
    for k, joint in enumerate(robot.joints):
        columns |= {f"q.{joint.name}": q[:, k] * per_radian + 500.0, f"v.{joint.name}": v[:, k] * per_radian}
        columns |= {f"current.{joint.name} [mA]": 1e3 * tau[:, k] / (GEAR * CONSTANT)}
    path = tmp_path / "drive.csv"
    write_table(path, columns)
    return path, q, v, tau


def test_counts_and_currents_become_positions_and_torques(robot, log):
    path, q, v, tau = log
    read = read_log(path, robot, sensors=JointSensors(GEAR, COUNTS, zero=500.0, torque_constant=CONSTANT))
    for name, truth in (("q", q), ("v", v), ("tau", tau)):
        np.testing.assert_allclose(getattr(read, name), truth, rtol=ITERATED, atol=ITERATED)
    assert any("encoder counts" in note for note in read.log)
    assert any("motor currents times torque constant" in note for note in read.log)


def test_a_joint_without_torque_constant_is_named(robot, log):
    one = JointSensors(GEAR, COUNTS, torque_constant=CONSTANT)
    with pytest.raises(DalembertError, match=r"missing for elbow"):
        read_log(log[0], robot, sensors={"shoulder": one, "elbow": JointSensors(GEAR, COUNTS)})
    with pytest.raises(DalembertError, match="elbw"):
        read_log(log[0], robot, sensors={"elbw": one})


def test_currents_without_sensors_are_no_torques(robot, log):
    with pytest.raises(DalembertError, match="JointSensors"):
        read_log(log[0], robot)


@pytest.mark.parametrize("field", ["gear", "counts", "torque_constant"])
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_impossible_sensors_are_refused(field, value):
    with pytest.raises(DalembertError, match=field):
        JointSensors(**{field: value})
