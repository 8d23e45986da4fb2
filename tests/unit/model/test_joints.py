"""Every joint type: its pose, subspace, bias, integrate and difference belong together; parameters are checked."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.model import KINDS, Joint
from dalembert.model.joints import Ball, Continuous, Free, Planar, Prismatic, Revolute, Screw, Universal
from dalembert.spatial import Pose, se3, so3
from tolerances import DIFFERENCE, PRODUCT, ROUNDING, STEP, assert_close
from trees import random_axis

MEAN = 0.15  # of the mean of some hundred random quaternions

MOVING = [kind for kind in KINDS if kind != "fixed"]
SEEDS = range(6)


def random_joint(kind: str, rng: np.random.Generator) -> Joint:
    shape = {"axis": random_axis(rng), "axis2": rng.normal(size=3), "pitch": 0.3}
    own = {field.name for field in fields(KINDS[kind])}
    return KINDS[kind](name=kind, **{key: value for key, value in shape.items() if key in own})


@pytest.fixture(params=[(kind, seed) for kind in MOVING for seed in SEEDS], ids=lambda p: f"{p[0]}{p[1]}")
def case(request):
    """A joint, a configuration, a velocity."""
    kind, seed = request.param
    rng = np.random.default_rng(seed)
    joint = random_joint(kind, rng)
    return joint, joint.random(rng, 1)[0], rng.normal(size=joint.nv)


def test_names_and_sizes():
    sizes = {kind: (joint.nq, joint.nv) for kind, joint in KINDS.items()}
    assert sizes == {
        "revolute": (1, 1), "continuous": (1, 1), "prismatic": (1, 1), "screw": (1, 1), "cylindrical": (2, 2),
        "universal": (2, 2), "ball": (4, 3), "planar": (3, 3), "free": (7, 6), "fixed": (0, 0),
    }  # fmt: skip


def test_subspace_is_the_derivative_of_the_pose(case):
    joint, q, v = case
    ahead, behind = joint.pose(joint.integrate(q, STEP * v)), joint.pose(joint.integrate(q, -STEP * v))
    twist = se3.log(behind.inverse() @ ahead) / (2 * STEP)
    assert joint.subspace(q).shape == (6, joint.nv)
    assert_close(joint.subspace(q) @ v, twist, DIFFERENCE)


def test_bias_is_the_rate_of_the_subspace(case):
    joint, q, v = case
    ahead, behind = joint.subspace(joint.integrate(q, STEP * v)), joint.subspace(joint.integrate(q, -STEP * v))
    assert_close(joint.bias(q, v), (ahead - behind) @ v / (2 * STEP), DIFFERENCE)


def test_integrate_undoes_difference(case):
    joint, q, v = case
    v = 0.8 * v
    assert_close(joint.difference(q, joint.integrate(q, v)), v, PRODUCT, 4.0)
    target = joint.random(np.random.default_rng(9), 1)[0]
    reached = joint.integrate(q, joint.difference(q, target))
    assert_close(joint.pose(reached).matrix(), joint.pose(target).matrix(), PRODUCT)
    assert_close(joint.integrate(q, np.zeros(joint.nv)), q, ROUNDING)
    assert_close(joint.difference(q, q), np.zeros(joint.nv), ROUNDING)


def test_difference_jacobian_is_its_rate(case):
    joint, q0, v = case
    q1 = joint.integrate(q0, 0.7 * v)
    for k, e in enumerate(np.eye(joint.nv)):
        ahead, behind = (joint.difference(q0, joint.integrate(q1, s * STEP * e)) for s in (1, -1))
        assert_close(joint.difference_jacobian(q0, q1)[:, k], (ahead - behind) / (2 * STEP), DIFFERENCE)


def test_stages_cover_the_freedoms_in_order(case):
    joint, _, _ = case
    assert [k for part in joint.stages for k in range(joint.nv)[part]] == list(range(joint.nv))


def test_constant_velocity_adds_up(case):
    joint, q, v = case
    half = joint.integrate(joint.integrate(q, 0.5 * v), 0.5 * v)
    assert_close(joint.pose(half).matrix(), joint.pose(joint.integrate(q, v)).matrix(), PRODUCT)


def test_neutral_is_the_identity(case):
    joint, _, _ = case
    assert joint.neutral().shape == (joint.nq,)
    assert_close(joint.pose(joint.neutral()).matrix(), np.eye(4), 0.0)


def test_normalize(case):
    joint, q, _ = case
    assert_close(joint.normalize(q), q, ROUNDING)
    stretched = q * np.where(np.arange(joint.nq) >= joint.nq - 4, 1.5, 1.0) if joint.nq > joint.nv else q
    assert_close(joint.normalize(stretched), q, ROUNDING)


def test_traced_joints_agree_with_numbers(case):
    joint, q, v = case

    def everything(q, v):
        pose = np.ravel(joint.pose(q).matrix())
        moved = joint.integrate(q, v)
        subspace = np.ravel(joint.subspace(q))
        return np.concatenate([pose, subspace, joint.bias(q, v), moved, joint.difference(q, moved), joint.normalize(q)])

    function = trace(everything, {"q": joint.nq, "v": joint.nv}, "y")
    assert_close(run(function, {"q": q, "v": v})["y"], everything(q, v), PRODUCT)


def test_spring_torque_has_a_potential(case):
    joint, q, v = case
    if joint.kind == "free":
        v[3:] = 0.0  # a free joint has springs about its axes only
        joint = replace(joint, stiffness=[2.0, 2.0, 2.0, 0.0, 0.0, 0.0])
    elif joint.kind == "ball":
        joint = replace(joint, stiffness=2.0)
    else:
        joint = replace(joint, stiffness=np.arange(1.0, 1.0 + joint.nv))

    def energy(q):
        return 0.5 * joint.stiffness @ joint.difference(joint.rest, q) ** 2

    slope = (energy(joint.integrate(q, STEP * v)) - energy(joint.integrate(q, -STEP * v))) / (2 * STEP)
    force = joint.stiffness * joint.difference(joint.rest, q)
    assert_close(force @ v, slope, DIFFERENCE, 10.0)


@pytest.mark.parametrize("kind", MOVING)
def test_random_is_within_reach(kind):
    rng = np.random.default_rng(0)
    joint = random_joint(kind, rng)
    q = joint.random(rng, 500)
    assert q.shape == (500, joint.nq)
    reach = np.array([1.0] * joint.nq if joint.nq > joint.nv else joint.reach)
    assert np.all(np.abs(q) <= reach) and np.all(np.max(np.abs(q), axis=0) > 0.9 * reach)
    if joint.nq > joint.nv:
        assert_close(np.linalg.norm(q[:, -4:], axis=1), np.ones(500), ROUNDING)
        assert_close(np.mean(q[:, -4:], axis=0), np.zeros(4), MEAN)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({"lower": -0.2, "upper": 0.1}, (-0.2, 0.1)), ({"lower": 5.0}, (5.0, 7.0)), ({"upper": 5.0}, (3.0, 5.0))],
)
def test_random_respects_limits(limits, expected):
    q = Prismatic(name="slide", **limits).random(np.random.default_rng(0), 400)
    low, high = expected
    assert low <= q.min() < low + 0.02 and high - 0.02 < q.max() <= high


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3)])
def test_aligned_axes_trace_to_minimal_operations(axis):
    joint = Revolute(name="j", axis=axis)
    function = trace(lambda q: joint.pose(q).matrix(), {"q": 1}, "X")
    assert set(function.operations()) <= {"sin", "cos", "neg"}
    assert Prismatic(name="j", axis=axis).pose(np.zeros(1)).R.dtype == float
    assert_close(joint.subspace(np.zeros(1))[:, 0], [*axis, 0, 0, 0], 0.0)


def test_planar_basis():
    for axis, x, y in zip(np.eye(3), np.roll(np.eye(3), -1, axis=0), np.roll(np.eye(3), -2, axis=0), strict=True):
        assert_close(Planar(name="p", axis=axis).basis(), (x, y), 0.0)
    axis = np.array([0.3, -0.5, 0.2])
    joint = Planar(name="p", axis=axis)
    x, y = joint.basis()
    assert_close(np.linalg.det([x, y, joint.axis]), 1.0, PRODUCT)
    assert_close(np.cross(x, y), axis / np.linalg.norm(axis), PRODUCT)
    assert_close(joint.pose(np.array([1.0, 2.0, 0.0])).p, x + 2.0 * y, ROUNDING)
    flat = Planar(name="p").pose(np.array([1.0, 2.0, np.pi / 2]))
    assert_close(flat.p, [1.0, 2.0, 0.0], 0.0)
    assert_close(flat.R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], ROUNDING)


def test_universal_order():
    joint = Universal(name="u", axis=(0, 0, 1), axis2=(1, 0, 0))
    expected = so3.about_axis((0, 0, 1), 0.4) @ so3.about_axis((1, 0, 0), 0.7)
    assert_close(joint.pose(np.array([0.4, 0.7])).R, expected, ROUNDING)


def test_screw_advances():
    X = Screw(name="s", axis=(0, 2, 0), pitch=0.5).pose(np.array([np.pi]))
    assert_close(X.p, [0.0, 0.5 * np.pi, 0.0], ROUNDING)
    assert_close(X.R, np.diag([-1.0, 1.0, -1.0]), ROUNDING)


def test_free_joint_layout():
    q = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])  # half a turn about z
    X = Free(name="base").pose(q)
    assert_close(X.matrix(), Pose(np.diag([-1.0, -1.0, 1.0]), q[:3]).matrix(), 0.0)
    moved = Free(name="base").integrate(q, np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))  # forward is backward in J
    assert_close(moved, q - [1.0, 0, 0, 0, 0, 0, 0], 0.0)


def test_defaults_and_broadcasting():
    joint = Free(name="base", damping=0.5)
    assert_close(joint.damping, np.full(6, 0.5), 0.0)
    assert_close(joint.rest, joint.neutral(), 0.0)
    assert joint.slip_speed == 0.01
    assert np.all(joint.lower == -np.inf) and np.all(joint.upper == np.inf) and joint.lower.shape == (7,)
    assert np.all(joint.effort_limit == np.inf) and joint.velocity_limit.shape == (6,)


def test_axes_become_unit_vectors_and_stay_as_they_are():
    joint = Revolute(name="j", axis=(1, 2, 3))
    assert_close(joint.axis, np.array([1, 2, 3]) / np.sqrt(14), ROUNDING)
    for _ in range(5):
        again = replace(joint, damping=1.0)
        assert np.array_equal(again.axis, joint.axis)
    assert np.array_equal(Revolute(name="j", axis=(1e-17, 0, -2)).axis, [0.0, 0.0, -1.0])


def test_pickle():
    joint = pickle.loads(pickle.dumps(Screw(name="s", axis=(1, 2, 3), pitch=0.1, damping=0.2)))
    assert isinstance(joint, Screw) and joint.pitch == 0.1 and joint.damping == 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Revolute(name="j", axis=(0, 0, 0)), "joint 'j': axis is"),
        (lambda: Revolute(name="j", axis=(0, np.nan, 0)), "joint 'j': axis is"),
        (lambda: Revolute(name="j", axis=(0, 1)), r"axis has shape \(2,\), expected \(3,\)"),
        (lambda: Revolute(name="j", axis="z"), "axis is 'z', expected 3 number"),
        (lambda: Revolute(name="j", damping=-1), "damping is .* at least 0"),
        (lambda: Revolute(name="j", armature=np.nan), "armature is .* finite"),
        (
            lambda: Revolute(name="j", friction=(1, 2)),
            r"friction has shape \(2,\), expected \(1,\) for a revolute joint",
        ),
        (lambda: Revolute(name="j", slip_speed=0), "slip_speed is 0.0, expected a speed above 0"),
        (lambda: Revolute(name="j", lower=1, upper=-1), "swap them"),
        (lambda: Revolute(name="j", lower=np.nan), "lower is .* not NaN"),
        (lambda: Revolute(name="j", effort_limit=-5), "effort_limit"),
        (lambda: Revolute(name="j", rest=np.inf), "rest is .* finite"),
        (lambda: Continuous(name="j", lower=-1, upper=1), "use joint='revolute'"),
        (lambda: Screw(name="j", pitch=np.nan), "pitch is"),
        (lambda: Universal(name="j", axis=(0, 0, 1), axis2=(0, 0, -2)), "are parallel"),
        (lambda: Ball(name="j", stiffness=(1, 1, 2)), "three equal numbers"),
        (lambda: Ball(name="j", rest=(1, 1, 0, 0)), "unit quaternion"),
        (lambda: Ball(name="j", lower=0), "no position limits"),
        (lambda: Free(name="j", stiffness=1), "stiffness of the translation"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(DalembertError, match=message):
        make()
