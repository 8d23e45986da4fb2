"""DH tables: the two conventions against each other, against products of DH matrices, closed forms and other files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert import Robot, load
from dalembert.formats import read_dh
from dalembert.spatial import Pose, so3
from refs.printed import DATA_FILES, assert_significant, data
from tolerances import PRODUCT, RECURSION, assert_close

PUMA = DATA_FILES / "puma560.dh.toml"


def rotation(axis: str, angle: float) -> np.ndarray:
    i = "xyz".index(axis)
    return so3.about_axis(np.eye(3)[i], angle)


def step(row: dict[str, Any], q: float, convention: str) -> np.ndarray:
    """The DH matrix of one row, from its definition."""
    theta = row["theta"] + (q if row["type"] == "revolute" else 0.0)
    d = row["d"] + (q if row["type"] == "prismatic" else 0.0)
    turn, along = np.eye(4), np.eye(4)
    turn[:3, :3], along[2, 3] = rotation("z", theta), d
    twist, offset = np.eye(4), np.eye(4)
    twist[:3, :3], offset[0, 3] = rotation("x", row["alpha"]), row["a"]
    return turn @ along @ offset @ twist if convention == "standard" else twist @ offset @ turn @ along


def robot_of(convention: str, rows: list[dict[str, Any]], tmp_path: Path, head: str = "") -> Robot:
    lines = [f'convention = "{convention}"', 'angles = "rad"', head]
    for row in rows:
        lines += ["[[joint]]", *(f"{key} = {_toml(value)}" for key, value in row.items())]
    file = tmp_path / f"{convention}.dh.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return load(file)


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(np.asarray(value).tolist())


def random_rows(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    rows = []
    for _ in range(n):
        B = rng.normal(size=(3, 3))
        J = B @ B.T
        row = {key: rng.uniform(-2, 2) for key in ("a", "alpha", "d", "theta")}
        row |= {"type": rng.choice(["revolute", "prismatic"]).item(), "mass": rng.uniform(0.5, 2.0)}
        rows.append(row | {"com": rng.normal(size=3), "inertia": np.trace(J) * np.eye(3) - J})
    return rows


def as_modified(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Pose]:
    """The same arm as a modified table: a and α move one row down, links are seen from their near end."""
    made, before = [], {"a": 0.0, "alpha": 0.0}
    for row in rows:
        X = Pose(rotation("x", row["alpha"]), np.array([row["a"], 0.0, 0.0]))
        moved = {"com": X.point(np.array(row["com"])), "inertia": X.R @ np.array(row["inertia"]) @ X.R.T}
        made.append(row | moved | {"a": before["a"], "alpha": before["alpha"]})
        before = row
    return made, X


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_are_products_of_dh_matrices(convention: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 5)
    head = "[base]\nxyz = [1, 2, 3]\nrpy = [0.1, 0.2, 0.3]\n[tool]\nxyz = [0, 0.5, 0]\nrpy = [1, 0, 0]"
    robot = robot_of(convention, rows, tmp_path, head)
    q = rng.uniform(-1, 1, 5)
    T = Pose.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)).matrix()
    for i, row in enumerate(rows):
        T = T @ step(row, q[i], convention)
        assert_close(robot.pose(q, f"link{i + 1}_dh"), T, PRODUCT)
    assert_close(robot.pose(q, "tool"), T @ Pose.from_xyz_rpy((0, 0.5, 0), (1, 0, 0)).matrix(), PRODUCT)


@pytest.mark.parametrize("seed", range(4))
def test_both_conventions_give_one_arm(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 5)
    standard = robot_of("standard", rows, tmp_path)
    modified = robot_of("modified", as_modified(rows)[0], tmp_path)
    q, v, a = rng.uniform(-1, 1, (3, 5))
    assert_close(standard.inverse_dynamics(q, v, a), modified.inverse_dynamics(q, v, a), RECURSION)
    assert_close(standard.mass_matrix(q), modified.mass_matrix(q), RECURSION)


def test_puma_as_printed() -> None:
    """Read from its DH table the robot gives the Toolbox's torques; what cannot be a body is reported and kept."""
    model, log = read_dh(PUMA)
    robot = load(PUMA)
    qn = np.array([0.0, np.pi / 4, np.pi, 0.0, np.pi / 4, 0.0])
    six = data("puma560")["six significant digits"]
    assert_significant(robot.inverse_dynamics(qn, np.ones(6), np.ones(6)), six["rne qd=1 qdd=1"], 6)
    assert_close(model.joint("joint1").joint.upper, np.deg2rad([160.0]), PRODUCT)
    warnings = [finding for finding in log if finding.severity == "warning"]
    places = [finding.where.split("toml")[1] for finding in warnings]
    assert places == [":20 joint (entry 1)", ":20 joint (entry 1)", ":44 joint (entry 3)"]
    for finding, words in zip(warnings, ("mass is 0", "triangle", "triangle"), strict=True):
        assert words in finding.what


def test_puma_as_bundled_and_modified(tmp_path: Path) -> None:
    bundled, standard = load("puma560"), load(PUMA)
    table = read_table(PUMA)
    modified = robot_of("modified", as_modified(table)[0], tmp_path)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = rng.uniform(-2, 2, (3, 6))
        tau = bundled.inverse_dynamics(q, v, a)
        assert_close(standard.inverse_dynamics(q, v, a), tau, RECURSION)
        assert_close(modified.inverse_dynamics(q, v, a), tau, RECURSION)
        assert_close(standard.mass_matrix(q), bundled.mass_matrix(q), RECURSION)
        assert_close(modified.gravity(q), bundled.gravity(q), RECURSION)
        assert_close(standard.pose(q, "tool"), bundled.pose(q, "tool"), PRODUCT)


def read_table(file: Path) -> list[dict[str, Any]]:
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["joint"]
    for row in rows:
        row["alpha"], row["theta"] = np.deg2rad(row["alpha"]), 0.0
        row["com"] = row.get("com", [0.0, 0.0, 0.0])
        row["inertia"] = np.diag(row["inertia"]) if np.ndim(row["inertia"]) == 1 else np.array(row["inertia"])
        for key in ("lower", "upper"):
            row.pop(key, None)
    return rows


def planar(convention: str, tmp_path: Path) -> Robot:
    """Two links of 0.30 m, point masses 2.0 and 1.5 kg at their ends, z0 horizontal, x0 horizontal."""
    base = f"[base]\nrpy = [{np.pi / 2}, 0, 0]"
    point = {"type": "revolute", "alpha": 0.0, "d": 0.0}
    far = [0.0, 0.0, 0.0] if convention == "standard" else [0.3, 0.0, 0.0]
    lengths = (0.3, 0.3) if convention == "standard" else (0.0, 0.3)
    rows = [point | {"a": length, "mass": m, "com": far} for length, m in zip(lengths, (2.0, 1.5), strict=True)]
    return robot_of(convention, rows, tmp_path, base)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_planar_arm_closed_form(convention: str, tmp_path: Path) -> None:
    """Torques of the lecture's equation (21), and the bundled 2r."""
    robot, bundled = planar(convention, tmp_path), load("2r")
    (m1, m2), L, g = (2.0, 1.5), 0.3, 9.81
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, a = rng.uniform(-2, 2, (3, 2))
        c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q[0] + q[1])
        k = m2 * L * L
        tau1 = (
            (m1 * L * L + 2 * k + 2 * k * c2) * a[0]
            + (k + k * c2) * a[1]
            - 2 * k * s2 * v[0] * v[1]
            - k * s2 * v[1] ** 2
        )
        tau1 += g * ((m1 + m2) * L * c1 + m2 * L * c12)
        tau2 = (k + k * c2) * a[0] + k * a[1] + k * s2 * v[0] ** 2 + g * m2 * L * c12
        assert_close(robot.inverse_dynamics(q, v, a), [tau1, tau2], RECURSION)
        assert_close(bundled.inverse_dynamics(q, v, a), [tau1, tau2], RECURSION)


def test_polar_arm_closed_form(tmp_path: Path) -> None:
    """A slider on a turning link: τ = (I + m r²) θ̈ + 2 m r ṙ θ̇ + m g r cos θ, f = m r̈ - m r θ̇² + m g sin θ."""
    m, I, g = 3.0, 0.4, 9.81
    rows = [
        {"type": "revolute", "a": 0.0, "alpha": np.pi / 2, "d": 0.0, "theta": np.pi / 2},
        {"type": "prismatic", "a": 0.0, "alpha": 0.0, "d": 0.5, "theta": 0.0, "mass": m},
    ]
    rows[0] |= {"mass": 1.0, "inertia": [I, I, I]}
    robot = robot_of("standard", rows, tmp_path, f"[base]\nrpy = [{np.pi / 2}, 0, 0]")
    rng = np.random.default_rng(0)
    for _ in range(5):
        (th, s), (w, ds), (dw, dds) = rng.uniform(-1, 1, (3, 2))
        r = 0.5 + s
        tau = (I + m * r * r) * dw + 2 * m * r * ds * w + m * g * r * np.cos(th)
        force = m * dds - m * r * w * w + m * g * np.sin(th)
        assert_close(robot.inverse_dynamics([th, s], [w, ds], [dw, dds]), [tau, force], RECURSION)
