"""A joint type defined outside the package, with public names only: it is built, moved, edited, saved, and cached."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import dalembert as da
from dalembert import charts
from dalembert.math import cos, sin
from tolerances import DIFFERENCE, INTEGRATED, PRODUCT, STEP, assert_close

AXIS = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Cam(da.Joint):
    """Turns about z and rises by lift · sin(q)."""

    charts = (charts.ANGLE,)
    lift: float = field(default=0.05, metadata={"length": 1})  # [m]

    def pose(self, q):
        return da.Pose(da.spatial.so3.about_axis(AXIS, q[0]), AXIS * (self.lift * sin(q[0])))

    def subspace(self, q):
        return np.concatenate([AXIS, AXIS * (self.lift * cos(q[0]))])[:, None]

    def bias(self, q, v):
        return np.concatenate([np.zeros(3), AXIS * (-self.lift * sin(q[0]) * v[0] * v[0])])


@dataclass(frozen=True, eq=False, kw_only=True)
class Telescope(da.Joint):
    """Points anywhere, and extends along its own z: a product of a rotation and a length."""

    charts = (charts.ROTATION, charts.LENGTH)

    def pose(self, q):
        R = da.spatial.so3.from_quaternion(q[:4])
        return da.Pose(R, R @ (AXIS * q[4]))

    def subspace(self, q):
        S = np.zeros((6, 4), object)
        S[:3, :3] = np.eye(3)
        S[3:, :3] = -da.spatial.so3.skew(AXIS) * q[4]
        S[5, 3] = 1.0
        return S

    def bias(self, q, v):
        return np.concatenate([np.zeros(3), da.spatial.cross(v[:3], AXIS * v[3])])


def builder(**fields) -> da.ModelBuilder:
    b = da.ModelBuilder("outside")
    b.add_body("base", parent="world")
    I = np.diag([0.02, 0.03, 0.04])
    b.add_body("drum", parent="base", joint=Cam, mass=2.0, com=(0.1, 0.02, 0.0), inertia=I, damping=0.1, **fields)
    b.add_body("boom", parent="drum", joint=Telescope, xyz=(0.2, 0, 0), mass=1.5, com=(0, 0.1, 0.2), inertia=I)
    b.add_body(
        "tip", parent="boom", joint="revolute", axis=(0, 1, 0), xyz=(0, 0, 0.3), mass=0.5, com=(0.1, 0, 0), inertia=I
    )
    return b


@pytest.fixture(scope="module")
def robot() -> da.Robot:
    return builder().build()


@pytest.fixture
def state(robot):
    rng = np.random.default_rng(3)
    return robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def test_units_and_sizes_come_from_the_charts(robot):
    assert (robot.nq, robot.nv) == (7, 6)
    assert robot.joint("drum").kind == "cam"
    assert robot.joint("drum").units == ("rad",)
    assert robot.joint("boom").units == ("rad", "rad", "rad", "m")
    assert robot.model.coordinate_units == ("rad", "", "", "", "", "m", "rad")


def test_velocities_are_rates_of_poses(robot, state):
    q, v, _ = state
    ahead, behind = (robot.pose(robot.integrate(q, h * v), "tip") for h in (STEP, -STEP))
    rate = (ahead - behind)[:3, 3] / (2 * STEP)
    assert_close(robot.velocity(q, v, "tip")[3:], rate, DIFFERENCE)


def test_laws(robot, state):
    q, v, a = state
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(robot.forward_dynamics(q, v, tau), a, 1e3 * PRODUCT)
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, v)
    bare = robot.without("damping")
    assert_close(M @ a + C @ v + robot.gravity(q), bare.inverse_dynamics(q, v, a), 1e2 * PRODUCT)
    M_ahead, M_behind = (robot.mass_matrix(robot.integrate(q, h * v)) for h in (STEP, -STEP))
    rate = (M_ahead - M_behind) / (2 * STEP)
    turned = rate - C - C.T  # zero: Ṁ − 2C is skew
    assert_close(v @ turned @ v, 0.0, DIFFERENCE)
    power = robot.energy(robot.integrate(q, STEP * v), v + STEP * a) - robot.energy(
        robot.integrate(q, -STEP * v), v - STEP * a
    )
    assert_close(power / (2 * STEP), v @ bare.inverse_dynamics(q, v, a), DIFFERENCE)


def test_derivatives_against_differences(robot, state):
    q, v, a = state
    derivatives = robot.inverse_dynamics_derivatives(q, v, a)
    for k, unit in enumerate(np.eye(robot.nv)):
        ahead = robot.inverse_dynamics(robot.integrate(q, STEP * unit), v, a)
        behind = robot.inverse_dynamics(robot.integrate(q, -STEP * unit), v, a)
        assert_close(derivatives.dq[:, k], (ahead - behind) / (2 * STEP), DIFFERENCE)


def test_a_run_keeps_its_energy(robot, state):
    q, v, _ = state
    bare = robot.without("damping")
    run = bare.simulate(q, 0.3 * v, duration=0.2)
    assert_close(bare.energy(run.q[-1], run.v[-1]), bare.energy(q, 0.3 * v), INTEGRATED)
    assert_close(np.linalg.norm(run.q[:, 1:5], axis=1), np.ones(len(run.q)), PRODUCT)


def test_quaternions_of_products_are_checked(robot, state):
    q, v, a = state
    bad = q.copy()
    bad[1:5] *= 1.1
    with pytest.raises(da.DalembertError, match="quaternion of joint 'boom'"):
        robot.inverse_dynamics(bad, v, a)
    assert_close(robot.normalize(bad), q, PRODUCT)


def test_fields_are_checked():
    with pytest.raises(da.DalembertError, match=r"unknown argument 'lft'.*lift"):
        builder(lft=0.1)
    with pytest.raises(da.DalembertError, match="no position limits"):
        b = da.ModelBuilder("x")
        b.add_body("boom", parent="world", joint=Telescope, lower=(-1, -1, -1, -1, 0), upper=(1, 1, 1, 1, 1))
    b = da.ModelBuilder("x")
    b.add_body("boom", parent="world", joint=Telescope, lower=(-np.inf,) * 4 + (0,), upper=(np.inf,) * 4 + (1,))


class Unfinished(da.Joint):
    def pose(self, q):
        return da.Pose.identity()


def test_what_is_missing_is_named():
    b = da.ModelBuilder("x")
    with pytest.raises(da.DalembertError, match="class Unfinished lacks subspace"):
        b.add_body("a", parent="world", joint=Unfinished)

    class Plain(Cam):
        pass

    with pytest.raises(da.DalembertError, match="Plain is not a frozen dataclass"):
        b.add_body("a", parent="world", joint=Plain)
    with pytest.raises(da.DalembertError, match="expected one of revolute"):
        b.add_body("a", parent="world", joint=3)


def test_parameters_can_be_edited(robot, state):
    q, v, a = state
    flat = robot.edit().set_joint("drum", lift=0.0).done()
    hinge = robot.edit().set_joint("drum", kind="revolute").done()
    assert_close(flat.inverse_dynamics(q, v, a), hinge.inverse_dynamics(q, v, a), PRODUCT)
    again = hinge.edit().set_joint("drum", kind=Cam, lift=0.05).done()
    assert again.model == robot.model


def test_another_base_is_the_same_robot(robot):
    turned = robot.edit().base("free").reroot("tip").done()
    assert "reversed cam" in {joint.kind for joint in turned.joints}
    edited = turned.edit().set_joint("drum", lift=0.1, damping=0.3).scale(length=2.0).rename({}, joints={"drum": "cam"})
    assert edited.done().model.joint("cam").joint.joint.lift == 0.2
    back = turned.edit().reroot("base").done()
    assert {joint.kind for joint in back.joints} == {"free", "cam", "telescope", "revolute"}


def test_scaling_scales_the_fields_that_are_lengths(robot):
    assert robot.edit().scale(length=2.0).done().model.joint("drum").joint.lift == 0.1


@pytest.mark.parametrize("ending", [".urdf", ".sdf", ".xml", ".dh.toml"])
def test_saving_refuses_by_name(robot, ending, tmp_path):
    with pytest.raises(da.DalembertError, match=r"joint 'drum'.* has no cam joint; give class Cam a `row`"):
        robot.save(tmp_path / f"robot{ending}")


def test_a_row_of_simple_joints_can_be_saved(tmp_path):
    from dalembert.model.joints import Prismatic, Revolute
    from dalembert.model.joints.stacked import stacked

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Crane(da.Joint):
        """Turns about z, then slides along its own x."""

        charts = (charts.ANGLE, charts.LENGTH)

        def pose(self, q):
            R = da.spatial.so3.about_axis(AXIS, q[0])
            return da.Pose(R, R @ np.array([q[1], 0.0, 0.0]))

        def subspace(self, q):
            S = np.zeros((6, 2), object)
            S[2, 0], S[4, 0], S[3, 1] = 1.0, q[1], 1.0
            return S

        def bias(self, q, v):
            return np.array([0.0, 0.0, 0.0, 0.0, v[0] * v[1], 0.0])

        def row(self):
            return stacked(self, [(Revolute, AXIS), (Prismatic, np.array([1.0, 0.0, 0.0]))])

    b = da.ModelBuilder("crane")
    b.add_body("base", parent="world")
    b.add_body(
        "trolley", parent="base", joint=Crane, mass=1.0, com=(0, 0.1, 0.1), inertia=0.1 * np.eye(3), damping=(1, 2)
    )
    robot = b.build()
    q, v, a = np.array([0.4, 0.7]), np.array([0.3, -0.2]), np.array([1.0, 2.0])
    for ending in (".urdf", ".sdf", ".xml"):
        robot.save(tmp_path / f"crane{ending}", approximate=True)
        again = da.load(tmp_path / f"crane{ending}")
        assert_close(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), 1e2 * PRODUCT)


def test_a_subclass_does_not_inherit_words_for_another_motion():
    from dalembert.model.joints import Revolute

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Bent(Revolute):
        def pose(self, q):
            return da.Pose(da.spatial.so3.about_axis(self.axis, 2.0 * q[0]), np.zeros(3))

    assert Bent.keywords == {}
    assert Bent.kind == "bent"
    assert Bent(name="b").reversed().kind == "reversed bent"


SOURCE = """
from dataclasses import dataclass
import numpy as np
import dalembert as da

FACTOR = {factor}

def factor():
    return FACTOR

@dataclass(frozen=True, eq=False, kw_only=True)
class Geared(da.AxisJoint):
    charts = (da.charts.ANGLE,)

    def pose(self, q):
        return da.Pose(da.spatial.so3.about_axis(self.axis, factor() * q[0]), np.zeros(3))

    def subspace(self, q):
        return np.concatenate([factor() * self.axis, np.zeros(3)])[:, None]
"""


def geared(factor: float) -> da.Robot:
    """The robot of a module as it stands after an edit: same names, other code."""
    names = {"__name__": "users_module"}
    exec(SOURCE.format(factor=factor), names)
    b = da.ModelBuilder("geared")
    b.add_body("base", parent="world")
    b.add_body(
        "arm", parent="base", joint=names["Geared"], axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3)
    )
    return b.build()


def test_an_edit_of_the_code_takes_effect(tmp_path, monkeypatch):
    """With the same names and fields: another model, and other compiled code."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    first, second, again = geared(2.0), geared(3.0), geared(2.0)
    assert first.model != second.model
    assert first.model.fingerprint == again.model.fingerprint
    q, v, a = np.zeros(1), np.zeros(1), np.ones(1)
    assert_close(first.inverse_dynamics(q, v, a)[0], 4.0 * 0.35 - 2.0 * 0.5 * 9.81, PRODUCT)
    kept = set(tmp_path.rglob("*"))
    assert_close(second.inverse_dynamics(q, v, a)[0], 9.0 * 0.35 - 3.0 * 0.5 * 9.81, PRODUCT)
    assert set(tmp_path.rglob("*")) > kept
    assert_close(again.inverse_dynamics(q, v, a)[0], 4.0 * 0.35 - 2.0 * 0.5 * 9.81, PRODUCT)


def test_a_follower_of_a_joint_from_outside():
    b = builder()
    b.add_body(
        "second",
        parent="tip",
        joint=Cam,
        mimic=("drum", -0.5, 0.2),
        mass=0.3,
        com=(0.1, 0, 0),
        inertia=0.01 * np.eye(3),
    )
    robot = b.build()
    rng = np.random.default_rng(5)
    q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    assert_close(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a)), a, 1e3 * PRODUCT)
    dq = robot.inverse_dynamics_derivatives(q, v, a).dq
    unit = np.eye(robot.nv)[0]
    ahead, behind = (robot.inverse_dynamics(robot.integrate(q, h * unit), v, a) for h in (STEP, -STEP))
    assert_close(dq[:, 0], (ahead - behind) / (2 * STEP), DIFFERENCE)


def test_mass_that_rests_only_at_neutral_is_not_moved_to_the_parent():
    """S of a lift (1 − cos q) is a plain rotation at q = 0 only: mass on the axis is not at rest elsewhere."""

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Lift(da.Joint):
        charts = (charts.ANGLE,)

        def pose(self, q):
            return da.Pose(da.spatial.so3.about_axis(AXIS, q[0]), AXIS * (1.0 - cos(q[0])))

        def subspace(self, q):
            return np.concatenate([AXIS, AXIS * sin(q[0])])[:, None]

        def bias(self, q, v):
            return np.concatenate([np.zeros(3), AXIS * (cos(q[0]) * v[0] * v[0])])

    b = da.ModelBuilder("lift")
    b.add_body("base", parent="world")
    b.add_body("mass", parent="base", joint=Lift, mass=2.0, inertia=np.diag([0.1, 0.1, 0.1]))
    q = np.array([0.7])
    assert_close(b.build().mass_matrix(q), [[0.1 + 2.0 * np.sin(0.7) ** 2]], PRODUCT)
