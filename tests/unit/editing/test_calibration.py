"""Arms with their makers' calibration beside the product of their Denavit-Hartenberg matrices."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.cli import main
from dalembert.editing.calibration import TYPES
from tolerances import CONVERGED, PRINTED, assert_close

# a real UR10e, as its driver's documentation prints it: two parallel axes, 439 and −446 m along them
MEASURED = {
    "theta": [-2.4147806894359e-07, 1.60233952386695, -1.68607190752171, 0.0837331147700119, -1.01260355871158e-07,
              3.91986209186124e-08],
    "a": [2.12234865571206e-05, 0.0193171326277006, -0.569251663611088, -4.61409023720934e-05,
          -6.39280053471802e-05, 0],
    "d": [0.180539811714259, 439.140974079901, -446.027059806332, 7.0603368964236, 0.119811341150314,
          0.115670917257426],
    "alpha": [1.57014608044242, 0.0013941666682559, 0.00693818880325995, 1.56998468543761, -1.57038520649543, 0],
}  # fmt: skip


TABLE = 0.05  # [N·m] of the tens that hold an arm: the tables round its lengths


def matrix(theta, a, d, alpha):
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1.0]])


def product(table, q):
    X = np.eye(4)
    for angle, theta, a, d, alpha in zip(q, *(np.asarray(table[k], float) for k in ("theta", "a", "d", "alpha"))):  # noqa: B905
        X = X @ matrix(angle + theta, a, d, alpha)
    return X


def written(tmp_path, kind, table):
    lines = [f"{kind}_{name} = [{', '.join(repr(float(x)) for x in values)}]" for name, values in table.items()]
    path = tmp_path / "calibration.conf"
    path.write_text("[mounting]\ncalibration_status = 2\n" + "\n".join(lines) + "\n")
    return path


def placed(robot, name):
    """Frame 0 in the world and the tool in frame 6, of the nominal arm."""
    q = np.zeros(6)
    tool = robot.pose(q, "tool0")
    nominal = product(TYPES[name]._asdict(), q)
    base = np.eye(4)  # the files have the maker's own base
    return base, np.linalg.inv(base @ nominal) @ tool


def test_a_measured_arm_is_where_its_table_says(tmp_path) -> None:
    robot, rng = load("ur10e"), np.random.default_rng(0)
    base, tool = placed(robot, "UR10e")
    for q in rng.uniform(-3.0, 3.0, (4, 6)):
        assert_close(robot.pose(q, "tool0"), base @ product(TYPES["UR10e"]._asdict(), q) @ tool, PRINTED)
    measured = robot.edit().calibrate(written(tmp_path, "dh", MEASURED)).done()
    for q in rng.uniform(-3.0, 3.0, (10, 6)):
        assert_close(measured.pose(q, "tool0"), base @ product(MEASURED, q) @ tool, 100 * CONVERGED)
        moved = np.linalg.norm(measured.pose(q, "tool0")[:3, 3] - robot.pose(q, "tool0")[:3, 3])
        assert 1e-4 < moved < 0.05
    links = [np.linalg.norm(measured.pose(q, x.name)[:3, 3] - robot.pose(q, x.name)[:3, 3]) for x in robot.bodies]
    assert max(links) < 0.05 and "UR10e" in str(measured.import_log[-1])
    assert measured.total_mass == pytest.approx(robot.total_mass)


@pytest.mark.parametrize(("name", "kind"), [("ur3e", "UR3e"), ("ur5e", "UR5e"), ("ur5", "UR5")])
def test_differences_are_added_to_the_table_of_the_type(name, kind, tmp_path) -> None:
    robot, rng = load(name), np.random.default_rng(1)
    base, tool = placed(robot, kind)
    deltas = {k: 1e-3 * rng.normal(size=6) for k in ("theta", "a", "d", "alpha")}
    deltas["a"][5] = deltas["alpha"][5] = 0.0
    deltas["d"][1:3] += [300.0, -300.0]
    measured = robot.edit().calibrate(written(tmp_path, "delta", deltas)).done()
    table = {k: getattr(TYPES[kind], k) + deltas[k] for k in deltas}
    q = rng.uniform(-3.0, 3.0, 6)
    assert_close(measured.pose(q, "tool0"), base @ product(table, q) @ tool, 10 * PRINTED)
    same = robot.edit().calibrate(written(tmp_path, "delta", {k: np.zeros(6) for k in deltas})).done()
    assert_close(same.pose(q, "tool0"), robot.pose(q, "tool0"), PRINTED)
    np.testing.assert_allclose(same.gravity(q), robot.gravity(q), atol=TABLE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mounting]\n", "has no dh_theta, dh_a, dh_d, dh_alpha"),
        ("delta_theta = [1, 2]\n", "delta_theta has 2 numbers, expected 6"),
        ("delta_theta = [1, 2, x, 4, 5, 6]\n", "an entry that is not a number"),
    ],
)
def test_a_file_that_is_none_is_named(text, message, tmp_path) -> None:
    path = tmp_path / "calibration.conf"
    path.write_text(text)
    with pytest.raises(DalembertError, match=message):
        load("ur5e").edit().calibrate(path)


def test_other_arms_are_refused(tmp_path) -> None:
    path = written(tmp_path, "dh", MEASURED)
    with pytest.raises(DalembertError, match="is no arm of Universal Robots"):
        load("puma560").edit().calibrate(path)
    with pytest.raises(DalembertError, match="six turning joints in a row"):
        load("2r").edit().calibrate(path)


def test_the_command_writes_the_calibrated_arm(tmp_path, capsys) -> None:
    path, out = written(tmp_path, "dh", MEASURED), tmp_path / "mine.urdf"
    assert main(["edit", "ur10e", str(out), "--calibration", str(path)]) == 0
    assert "calibrated as a UR10e" in capsys.readouterr().out
    q = np.full(6, 0.4)
    measured = load("ur10e").edit().calibrate(path).done()
    assert_close(load(out).pose(q, "tool0"), measured.pose(q, "tool0"), 10 * CONVERGED)
