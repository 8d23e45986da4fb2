"""The bundled robots: physically possible, as their sources state, and giving the numbers printed for them."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from dalembert.dynamics.algorithms import (
    center_of_mass,
    forward_dynamics,
    frame_pose,
    gravity,
    mass_matrix,
    neutral,
    random,
    rnea,
)
from dalembert.errors import DalembertError
from dalembert.formats import read_urdf
from dalembert.model import Model
from dalembert.model.bundled import names, path
from dalembert.spatial import Pose, so3
from tolerances import COMPUTED, INTEGRATED, ITERATED, PRINTED, PRODUCT, RECURSION, REORDERED, assert_close

NAMES = names()
ZERO, ONE = np.zeros(6), np.ones(6)
PI = np.pi


def load(name: str) -> Model:
    return read_urdf(path(name), strict=True)[0]


def mass(model: Model) -> float:
    return sum(body.inertia.mass for body in model.bodies)


def test_names_and_paths() -> None:
    arms = {"2r", "3r", "fr3", "gen3", "hydraulic", "iiwa14", "panda", "puma560", "scara", "stanford"}
    arms |= {"ur3e", "ur5", "ur5e", "ur10e"}
    others = {"acrobot", "biped", "cartpole", "delta", "four_bar", "humanoid", "quadrotor", "quadruped"}
    assert set(NAMES) == arms | others
    assert list(NAMES) == sorted(NAMES)
    assert all(path(name).is_file() for name in NAMES)
    with pytest.raises(DalembertError, match="unknown bundled robot 'puma': did you mean 'puma560'"):
        path("puma")


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_clean(name: str) -> None:
    """Strict reading tells of loops and of the slides of the delta alone; every body is possible, M is positive."""
    model, log = read_urdf(path(name), strict=True)
    assert all("closure" in finding.what or "slide_x" in finding.where for finding in log)
    assert model.name == name
    for body in model.bodies[1:]:
        joint = body.joint
        range_ = () if joint.kind == "continuous" else (joint.lower, joint.upper)
        for limit in (*range_, joint.effort_limit, joint.velocity_limit):
            assert np.all(np.isfinite(limit)), joint.name
        for part in body.parts:
            assert part.inertia.problems() == (), part.name
    q = random(model, np.random.default_rng(1))
    assert np.min(np.linalg.eigvalsh(mass_matrix(model, q))) > 0.0
    comment = next(node for node in etree.parse(path(name)).getroot().itersiblings(preceding=True))
    assert len(comment.text) > 200  # says where the numbers come from


@pytest.mark.parametrize(
    ("name", "base", "joints", "kilograms"),
    [
        ("2r", "fixed", 2, 3.5),
        ("3r", "fixed", 3, 6.0),
        ("scara", "fixed", 4, 31.3),
        ("ur5", "fixed", 6, 21.0489),
        ("puma560", "fixed", 6, 36.45),
        ("panda", "fixed", 7, 17.421901),
        ("quadruped", "free", 12, 12.0),
        ("humanoid", "free", 30, 73.0),
        ("acrobot", "fixed", 2, 2.0),
        ("biped", "free", 12, 70.0),
        ("delta", "fixed", 6, 13.5),
        ("four_bar", "fixed", 3, 60.0),
        ("cartpole", "fixed", 2, 1.1),
        ("fr3", "fixed", 7, 17.8914010252),
        ("gen3", "fixed", 7, 8.1879),
        ("hydraulic", "fixed", 5, 830 + 3200 / 9.81),
        ("iiwa14", "fixed", 7, 30.61),
        ("quadrotor", "free", 0, 0.028),
        ("stanford", "fixed", 6, 40.77),
        ("ur3e", "fixed", 6, 11.2),
        ("ur5e", "fixed", 6, 20.6),
        ("ur10e", "fixed", 6, 33.5),
    ],
)
def test_size(name: str, base: str, joints: int, kilograms: float) -> None:
    model = load(name)
    assert model.bodies[0].joint.kind == base
    assert sum(body.joint.nv == 1 for body in model.bodies) == joints
    assert_close(mass(model), kilograms, ITERATED)


@pytest.mark.parametrize("name", ["3r", "cartpole", "hydraulic", "scara", "quadruped", "humanoid"])
def test_inertias_are_those_of_the_solids_drawn(name: str) -> None:
    checked = 0
    for link in etree.parse(path(name)).getroot().iter("link"):
        inertial, visual = link.find("inertial"), link.find("visual")
        if inertial is None:
            continue
        assert dict(inertial.find("origin").attrib) == dict(visual.find("origin").attrib)
        m = float(inertial.find("mass").get("value"))
        moments = [float(inertial.find("inertia").get(key)) for key in ("ixx", "iyy", "izz")]
        assert_close(moments, solid(visual.find("geometry")[0], m), 0.1 * PRINTED, scale=0.0)
        checked += 1
    assert checked >= 2


def solid(shape: etree._Element, m: float) -> list[float]:
    """Moments of a uniform solid about its centre."""
    if shape.tag == "box":
        x, y, z = (float(word) for word in shape.get("size").split())
        return [m * (y * y + z * z) / 12, m * (x * x + z * z) / 12, m * (x * x + y * y) / 12]
    r = float(shape.get("radius"))
    if shape.tag == "sphere":
        return 3 * [0.4 * m * r * r]
    across = m * (3 * r * r + float(shape.get("length")) ** 2) / 12
    return [across, across, m * r * r / 2]


def test_2r_gives_the_textbook_numbers() -> None:
    model, q, v = load("2r"), np.array([0.0, PI / 2]), np.array([1.0, -0.5])
    assert_close(mass_matrix(model, q), [[0.450, 0.135], [0.135, 0.135]], RECURSION)
    assert_close(gravity(model, q), [3.5 * 9.81 * 0.3, 0.0], RECURSION)
    coriolis = rnea(model, q, v, np.zeros(2)) - gravity(model, q)
    assert_close(coriolis, [0.135 * 0.75, 0.135], RECURSION)
    assert np.round(rnea(model, q, v, np.zeros(2)), 3).tolist() == [10.402, 0.135]


# Printed by the Robotics Toolbox for its Puma 560 at qn.
QN = np.array([0, PI / 4, PI, 0, PI / 4, 0])
PUMA = {
    "gravity": (0, 0, [0, 31.6399, 6.0351, 0, 0.0283, 0], 5e-5),
    "acceleration": (0, 1, [3.35311, 36.0025, 7.42596, 0.190043, 0.203441, 0.194133], 5e-5),
    "velocity": (1, 0, [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648], 5e-5),
    "both": (1, 1, [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781], 5.1e-5),
}


@pytest.mark.parametrize("case", PUMA)
def test_puma560_gives_the_printed_torques(case: str) -> None:
    v, a, printed, digits = PUMA[case]
    torques = rnea(load("puma560"), QN, v * ONE, a * ONE)
    np.testing.assert_allclose(torques, printed, rtol=0, atol=digits)


def test_puma560_gives_the_printed_inertia_and_accelerations() -> None:
    model = load("puma560")
    M = [
        [3.6594, -0.4044, 0.1006, -0.0025, 0, 0],
        [-0.4044, 4.4137, 0.3509, 0, 0.0024, 0],
        [0.1006, 0.3509, 0.9378, 0, 0.0015, 0],
        [-0.0025, 0, 0, 0.1925, 0, 0],
        [0, 0.0024, 0.0015, 0, 0.1713, 0],
        [0, 0, 0, 0, 0, 0.1941],
    ]
    np.testing.assert_allclose(mass_matrix(model, QN), M, rtol=0, atol=0.6 * PRINTED)
    v, tau = [0.1, 0.2, 0.8, 0.2, 0.5, 1.0], [1.0, 3.2, 1.8, 0.1, 0.7, 4.6]
    printed = [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228]
    np.testing.assert_allclose(
        forward_dynamics(model, QN, np.array(v), np.array(tau)), printed, rtol=0, atol=0.6 * PRINTED
    )


def test_puma560_moves_exactly_as_the_published_tensors_say() -> None:
    """The file makes two impossible tensors possible by regrouping; joint torques and M must not notice."""
    text, model = path("puma560").read_text(encoding="utf-8"), load("puma560")
    tensor = 'ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"'
    swaps = {
        '<mass value="13"/>': '<mass value="0"/>',
        tensor.format(0.25, 0.346, 0.25): tensor.format(0, 0.35, 0),
        tensor.format(0.07, 0.086, 0.0165): tensor.format(0.066, 0.086, 0.0125),
    }
    for ours, theirs in swaps.items():
        assert text.count(ours) == 1
        text = text.replace(ours, theirs)
    published, log = read_urdf(text[text.index("<robot") :])
    assert {f.where.split()[-1] for f in log if f.severity == "warning"} == {"name='link1'>", "name='link3'>"}
    rng = np.random.default_rng(3)
    for q, v, a in rng.uniform(-3, 3, (5, 3, 6)):
        assert_close(rnea(model, q, v, a), rnea(published, q, v, a), RECURSION)
        assert_close(mass_matrix(model, q), mass_matrix(published, q), RECURSION)


def standard_dh(q: np.ndarray, a: list[float], d: list[float], alpha: list[float]) -> Pose:
    X = Pose.identity()
    for angle, length, offset, twist in zip(q, a, d, alpha, strict=True):
        X = X @ Pose.from_xyz_rpy((0, 0, offset), (0, 0, angle)) @ Pose.from_xyz_rpy((length, 0, 0), (twist, 0, 0))
    return X


def modified_dh(q: np.ndarray, a: list[float], d: list[float], alpha: list[float]) -> Pose:
    X = Pose.identity()
    for angle, length, offset, twist in zip(q, a, d, alpha, strict=True):
        X = X @ Pose.from_xyz_rpy((length, 0, 0), (twist, 0, 0)) @ Pose.from_xyz_rpy((0, 0, offset), (0, 0, angle))
    return X


H = PI / 2
TABLES = {
    "ur5": (
        standard_dh, "tool0",
        [0, -0.425, -0.39225, 0, 0, 0], [0.089159, 0, 0, 0.10915, 0.09465, 0.0823], [H, 0, 0, H, -H, 0],
    ),
    "ur3e": (
        standard_dh, "tool0",
        [0, -0.24355, -0.2132, 0, 0, 0], [0.15185, 0, 0, 0.13105, 0.08535, 0.0921], [H, 0, 0, H, -H, 0],
    ),
    "ur5e": (
        standard_dh, "tool0",
        [0, -0.425, -0.3922, 0, 0, 0], [0.1625, 0, 0, 0.1333, 0.0997, 0.0996], [H, 0, 0, H, -H, 0],
    ),
    "ur10e": (
        standard_dh, "tool0",
        [0, -0.6127, -0.57155, 0, 0, 0], [0.1807, 0, 0, 0.17415, 0.11985, 0.11655], [H, 0, 0, H, -H, 0],
    ),
    "fr3": (
        modified_dh, "fr3_link8",
        [0, 0, 0, 0.0825, -0.0825, 0, 0.088, 0], [0.333, 0, 0.316, 0, 0.384, 0, 0, 0.107], [0, -H, H, H, -H, H, H, 0],
    ),
    "puma560": (
        standard_dh, "tool",
        [0, 0.4318, 0.0203, 0, 0, 0], [0.67183, 0, 0.15005, 0.4318, 0, 0], [H, 0, -H, H, -H, 0],
    ),
    "panda": (
        modified_dh, "panda_link8",
        [0, 0, 0, 0.0825, -0.0825, 0, 0.088, 0], [0.333, 0, 0.316, 0, 0.384, 0, 0, 0.107], [0, -H, H, H, -H, H, H, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_kinematics_follow_the_published_table(name: str) -> None:
    chain, frame, a, d, alpha = TABLES[name]
    model = load(name)
    q = np.random.default_rng(5).uniform(-2, 2, model.nq)
    expected = chain(np.append(q, [0.0] * (len(a) - len(q))), a, d, alpha)
    assert_close(frame_pose(model, q, model.frame(frame)).matrix(), expected.matrix(), PRODUCT)


def test_panda_friction_is_the_identified_law() -> None:
    """phi1/(1 + exp(-phi2 v)) - phi1/2, the published law without its offset phi3; joints 1, 4, 7."""
    model, speed = load("panda"), 0.13
    friction = rnea(model, neutral(model), np.full(7, speed), np.zeros(7))
    friction -= rnea(model.without("friction"), neutral(model), np.full(7, speed), np.zeros(7))
    for joint, phi1, phi2 in ((0, 0.54615, 5.1181), (3, 1.2794, 5.5903), (6, 0.56489, 10.336)):
        assert_close(friction[joint], phi1 / (1 + np.exp(-phi2 * speed)) - phi1 / 2, ITERATED)


def test_humanoid_and_quadruped_are_symmetric() -> None:
    for name in ("humanoid", "quadruped"):
        model = load(name)
        assert abs(center_of_mass(model, neutral(model))[1]) < COMPUTED


def test_humanoid_has_human_mass_fractions() -> None:
    parts = {part.name: part.inertia.mass for body in load("humanoid").bodies for part in body.parts}

    def percent(*segments: str) -> float:
        return 100 * sum(parts[segment] for segment in segments) / 73.0

    assert round(percent("neck", "head"), 2) == 6.94
    assert round(percent("pelvis", "abdomen", "chest"), 2) == 43.46
    assert round(percent("left_hip", "left_hip_fork", "left_thigh"), 2) == 14.16
    assert round(percent("right_ankle", "right_foot"), 2) == 1.37


def test_standing_robots_reach_the_ground_where_expected() -> None:
    quadruped, humanoid = load("quadruped"), load("humanoid")
    foot = frame_pose(quadruped, neutral(quadruped), quadruped.frame("RL_foot"))
    assert_close(foot.p, [-0.18, 0.14, -0.4], PRODUCT)
    sole = frame_pose(humanoid, neutral(humanoid), humanoid.frame("left_sole"))
    assert_close(sole.p, [0.05, 0.09, -0.98], PRODUCT)
    assert_close(sole.R, so3.from_rpy(0, 0, 0), PRODUCT)


def test_stanford_follows_the_published_table() -> None:
    model = load("stanford")
    q = np.array([0.3, -0.7, 0.5, 1.1, -0.4, 0.9])
    theta, d = np.add(q, [0, 0, -q[2] - H, 0, 0, 0]), [0.412, 0.154, q[2], 0, 0, 0.263]
    expected = standard_dh(theta, [0.0] * 6, d, [-H, H, 0, -H, H, 0])
    assert_close(frame_pose(model, q, model.frame("tool")).matrix(), expected.matrix(), PRODUCT)


def test_stanford_has_the_printed_moments_about_its_axes() -> None:
    """Joint 6 turns link 6 about its printed axial moment, joint 3 moves what it carries; beside their rotors."""
    M = mass_matrix(load("stanford"), np.zeros(6))
    assert_close(M[5, 5], 0.0003 + 0.020, ITERATED)
    assert_close(M[2, 2], 4.25 + 1.08 + 0.63 + 0.51 + 0.782, ITERATED)


def test_acrobot_and_cartpole_have_their_textbook_equations() -> None:
    q = np.array([0.7, -1.1])
    I1, I2, l1, c1, c2 = 0.083, 0.33, 1.0, 0.5, 1.0
    M22 = I2 + c2**2
    M12 = M22 + l1 * c2 * np.cos(q[1])
    M11 = I1 + c1**2 + M22 + l1**2 + 2 * l1 * c2 * np.cos(q[1])
    assert_close(mass_matrix(load("acrobot"), q), [[M11, M12], [M12, M22]], RECURSION)
    pole = mass_matrix(load("cartpole"), np.array([0.2, 0.4]))
    rod = 0.1 * (0.5**2 + 1 / 12 + 0.01**2 / 4)
    assert_close(pole, [[1.1, 0.05 * np.cos(0.4)], [0.05 * np.cos(0.4), rod]], INTEGRATED)


def test_hydraulic_arm_holds_its_load_with_the_stated_margin() -> None:
    """Stretched out, gravity takes at most 1/1.3 of each lifting joint's torque; the load weighs 3200 N."""
    model = load("hydraulic")
    held = np.abs(gravity(model, np.zeros(5)))
    limits = np.concatenate([body.joint.effort_limit for body in model.bodies[1:]])
    assert np.all(1.3 * held <= limits) and held[1] > 0.5 * limits[1]
    parts = {part.name: part.inertia.mass for body in model.bodies for part in body.parts}
    assert_close(parts["load"] * 9.81, 3200.0, INTEGRATED)


def test_biped_stands_on_its_soles() -> None:
    model = load("biped")
    sole = frame_pose(model, neutral(model), model.frame("left_sole"))
    assert_close(sole.p, [0.0, 0.191 * 1.75 / 2, -(0.245 + 0.246 + 0.039) * 1.75], INTEGRATED)
    assert abs(center_of_mass(model, neutral(model))[1]) < COMPUTED


@pytest.mark.parametrize(("name", "loops"), [("delta", 3), ("four_bar", 1)])
def test_loops_are_closed_at_zero(name: str, loops: int) -> None:
    model = load(name)
    assert len(model.closures) == loops
    q = neutral(model)
    for closure in model.closures:
        a, b = (frame_pose(model, q, frame) for frame in (closure.a, closure.b))
        np.testing.assert_allclose(closure.residual(a.inverse() @ b), 0.0, atol=COMPUTED)


def test_four_bar_hangs_as_published() -> None:
    """Angles of crank, coupler (seen from the crank) and rocker in equilibrium, in degrees."""
    model = load("four_bar")
    R = {n: frame_pose(model, np.zeros(3), model.frame(n)).R for n in ("crank", "coupler", "rocker")}
    seen = {"crank": R["crank"], "coupler": R["crank"].T @ R["coupler"], "rocker": R["rocker"]}
    angles = [np.degrees(np.arctan2(-X[2, 0], X[0, 0])) for X in seen.values()]
    np.testing.assert_allclose(angles, [75.52248781407008, 104.47751218592992, 104.47751218592992], rtol=REORDERED)
