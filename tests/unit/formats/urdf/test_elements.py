"""Versions of URDF: what 1.1 and 1.2 brought is used where the file states them, and named where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics.algorithms import mass_matrix
from dalembert.errors import DalembertError
from dalembert.formats import read_urdf
from dalembert.model import Model
from tolerances import ROUNDING

QUARTER = 'quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"'


def urdf(version: str | None = None, *, origin: str = "", limit: str = 'lower="-1" upper="1"') -> str:
    """A hinge about x that carries diag(0.1, 0.2, 0.25), turned by the <origin>."""
    stated = "" if version is None else f' version="{version}"'
    return f"""<robot name="r"{stated}>
  <link name="a"/>
  <link name="b"><inertial>
    <origin {origin}/>
    <mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
    <limit {limit} effort="3" velocity="4"/></joint>
</robot>"""


def inertia(model: Model) -> float:
    return float(mass_matrix(model, np.zeros(1))[0, 0])


@pytest.mark.parametrize(("version", "expected"), [(None, 0.1), ("1.0", 0.1), ("1.1", 0.2), ("1.2", 0.2)])
def test_quaternions_count_from_version_1_1_on(version: str | None, expected: float) -> None:
    model, log = read_urdf(urdf(version, origin=QUARTER))
    assert inertia(model) == pytest.approx(expected, rel=ROUNDING)
    warnings = [(f.where, f.what) for f in log if f.severity == "warning"]
    if expected > 0.1:
        assert warnings == []
    else:
        assert warnings == [("<string>:4 <origin>", "quat_xyzw, a word of URDF 1.1, in a file of version 1.0")]
        with pytest.raises(DalembertError, match=r'write <robot version="1\.1">'):
            read_urdf(urdf(version, origin=QUARTER), strict=True)


def test_a_quaternion_is_the_rotation_that_rpy_states() -> None:
    x, y, z, w = np.array([0.1, -0.4, 0.2, 0.88]) / np.linalg.norm([0.1, -0.4, 0.2, 0.88])
    roll, yaw = (
        np.arctan2(2 * (w * x + y * z), 1 - 2 * (x**2 + y**2)),
        np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)),
    )
    pitch = np.arcsin(2 * (w * y - z * x))
    one, _ = read_urdf(urdf("1.1", origin=f'xyz="1 2 3" quat_xyzw="{x} {y} {z} {w}"'), strict=True)
    two, _ = read_urdf(urdf("1.0", origin=f'xyz="1 2 3" rpy="{roll} {pitch} {yaw}"'))
    np.testing.assert_allclose(
        one.bodies[1].inertia.parameters(), two.bodies[1].inertia.parameters(), atol=100 * ROUNDING
    )


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        (f'rpy="0 0 0" {QUARTER}', "rpy and quat_xyzw both state the rotation"),
        ('quat_xyzw="0 0 0 0"', "quat_xyzw has length 0"),
        ('quat_xyzw="0 0 1"', "has 3 numbers, expected 4"),
        ('quat_xyzw="nan 0 0 1"', "'nan' is not finite"),
        ('quat_xyzw="1e99 0 0 1"', "1e99 is too large"),
    ],
)
def test_impossible_quaternions(origin: str, message: str) -> None:
    with pytest.raises(DalembertError, match=rf"<string>:4 <origin>: .*{message}"):
        read_urdf(urdf("1.1", origin=origin))


def test_a_quaternion_of_another_length_is_a_warning() -> None:
    model, log = read_urdf(urdf("1.1", origin='quat_xyzw="0 0 2 2"'))
    assert inertia(model) == pytest.approx(0.2, rel=ROUNDING)
    assert [(f.severity, f.what) for f in log] == [("warning", "quat_xyzw has length 2.82843, expected 1")]


LIMITS = 'lower="-1" upper="1" acceleration="5" deceleration="7" jerk="90"'


def test_further_limits_count_from_version_1_2_on() -> None:
    joint = read_urdf(urdf("1.2", limit=LIMITS), strict=True)[0].joint("j").joint
    assert [joint.acceleration_limit[0], joint.deceleration_limit[0], joint.jerk_limit[0]] == [5.0, 7.0, 90.0]
    for version in (None, "1.0", "1.1"):
        model, log = read_urdf(urdf(version, limit=LIMITS))
        joint = model.joint("j").joint
        assert np.isinf([joint.acceleration_limit, joint.deceleration_limit, joint.jerk_limit]).all()
        assert [f.what.split()[0] for f in log if f.severity == "warning"] == ["acceleration", "deceleration", "jerk"]


def test_a_joint_slows_down_as_it_speeds_up_unless_the_file_says_otherwise() -> None:
    plain = read_urdf(urdf("1.2", limit='lower="-1" upper="1" acceleration="5"'))[0].joint("j").joint
    free = (
        read_urdf(urdf("1.2", limit='lower="-1" upper="1" acceleration="5" deceleration="1e308"'))[0].joint("j").joint
    )
    assert plain.deceleration_limit[0] == 5.0
    assert np.isinf(free.deceleration_limit[0])


def test_a_negative_limit_is_named_and_not_used() -> None:
    model, log = read_urdf(urdf("1.2", limit='lower="-1" upper="1" acceleration="-5"'))
    assert np.isinf(model.joint("j").joint.acceleration_limit[0])
    assert [f.what for f in log] == ["acceleration limit is negative (-5)"]


@pytest.mark.parametrize(("version", "upper", "severity"), [("1.0", 0.0, "info"), ("1.2", np.inf, "warning")])
def test_a_missing_end_of_the_range(version: str, upper: float, severity: str) -> None:
    model, log = read_urdf(urdf(version, limit='lower="-1"'))
    assert (model.joint("j").joint.lower[0], model.joint("j").joint.upper[0]) == (-1.0, upper)
    assert [(f.severity, f.what.split(",")[0]) for f in log] == [(severity, "no upper limit")]


@pytest.mark.parametrize("version", ["", "1", "1.0.0", "one", "0.9", "1.2345"])
def test_versions_that_ros_refuses_are_read_as_the_first(version: str) -> None:
    model, log = read_urdf(urdf(version, origin=QUARTER))
    assert inertia(model) == pytest.approx(0.1, rel=ROUNDING)
    assert f'version="{version}" is not a version of URDF' in log[0].what


def test_a_newer_version() -> None:
    _, log = read_urdf(urdf("1.3"))
    assert [(f.severity, f.what) for f in log] == [
        ("warning", 'version="1.3" is newer than 1.2, the last that is read')
    ]
    for version in ("2.0", "3", "1" * 400 + ".0"):
        with pytest.raises(DalembertError, match=r"is not read yet, expected \"1.0\" to \"1.2\""):
            read_urdf(urdf(version))


@pytest.mark.parametrize(("version", "said"), [("1.0", True), ("1.1", False)])
def test_capsules_are_read_in_all_versions(version: str, said: bool) -> None:
    shape = '<collision><geometry><capsule radius="0.1" length="0.4"/></geometry></collision>'
    model, log = read_urdf(urdf(version).replace('<link name="a"/>', f'<link name="a">{shape}</link>'))
    (capsule,) = model.bodies[0].parts[0].geometry
    assert (capsule.shape.kind, capsule.shape.radius, capsule.shape.length) == ("Capsule", 0.1, 0.4)
    assert [f.what for f in log] == ["<capsule>, a word of URDF 1.1, in a file of version 1.0"] * said
