"""Motions from files: every format gives the numbers back, joints are found by name, gaps are named."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.logs import Trajectory, read_trajectory, write_trajectory
from dalembert.tables import FORMATS, read_table, write_table

ARM = load("2r")
LIBRARY = {".parquet": "pyarrow", ".h5": "h5py", ".mcap": "mcap"}


def motion(n: int = 51) -> Trajectory:
    t = np.linspace(0, 1, n)
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    v = np.stack([np.cos(t), -2 * np.sin(2 * t)], axis=1)
    a = np.stack([-np.sin(t), -4 * np.cos(2 * t)], axis=1)
    return Trajectory(t, q, v, a, ARM.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_comes_back(tmp_path, ending: str) -> None:
    if ending in LIBRARY:
        pytest.importorskip(LIBRARY[ending])
    file, given = tmp_path / f"motion{ending}", motion()
    write_trajectory(file, ARM, given)
    back = read_trajectory(file, ARM)
    for field in ("t", "q", "v", "a", "tau"):
        np.testing.assert_array_equal(getattr(back, field), getattr(given, field))
    assert back.log == ()


@pytest.mark.parametrize("ending", FORMATS)
def test_notes_go_with_a_table(tmp_path, ending: str) -> None:
    if ending in LIBRARY:
        pytest.importorskip(LIBRARY[ending])
    file = tmp_path / f"table{ending}"
    write_table(file, {"t": np.arange(3.0), "a/b": np.ones(3)}, '{"robot": "2r"}')
    table, notes = read_table(file)
    assert list(table) == ["t", "a/b"] and notes == '{"robot": "2r"}'


@pytest.mark.parametrize(
    "header",
    [
        "time,shoulder,elbow",
        "t,q.shoulder,q.elbow",
        "Time, Shoulder_pos , elbow_pos",
        "stamp,elbow.position,shoulder.position",
    ],
)
def test_joints_are_found_by_name(tmp_path, header: str) -> None:
    file, given = tmp_path / "log.csv", motion()
    columns = [given.t, given.q[:, 0], given.q[:, 1]]
    if header.index("elbow") < header.lower().index("shoulder"):
        columns[1:] = columns[:0:-1]
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in zip(*columns, strict=True))
    file.write_text(f"# a comment\n{header}\n{rows}\n", "utf-8")
    back = read_trajectory(file, ARM)
    np.testing.assert_allclose(back.q, given.q)
    np.testing.assert_allclose(back.v[1:-1], given.v[1:-1], atol=2e-3)
    np.testing.assert_allclose(back.a[2:-2], given.a[2:-2], atol=5e-3)
    assert len(back.log) == 2 and back.tau is None


def test_rates_on_the_manifold(tmp_path) -> None:
    """A floating base that turns and moves at constant rates, in its own axes."""
    robot = load("quadrotor")
    t, twist = np.linspace(0, 1, 21), np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.4])
    q = robot.integrate(np.broadcast_to(robot.neutral(), (21, 7)), t[:, None] * twist)
    file = tmp_path / "flight.npz"
    write_table(file, {"t": t} | {f"q.{robot.joints[0].name}[{k}]": q[:, k] for k in range(7)})
    np.testing.assert_allclose(read_trajectory(file, robot).v, np.broadcast_to(twist, (21, 6)), atol=1e-9)


def test_a_saved_run_is_a_trajectory(tmp_path) -> None:
    robot = load("quadrotor")
    run = robot.simulate(robot.neutral(), np.array([0.1, 0.2, 0.3, 0.0, 0.0, 1.0]), 0.1)
    run.save(tmp_path / "run.csv")
    back = read_trajectory(tmp_path / "run.csv", robot)
    np.testing.assert_array_equal(back.q, run.q)
    np.testing.assert_array_equal(back.v, run.v)
    assert back.title == "run.csv"


def test_joint_states_of_a_ros_bag(tmp_path) -> None:
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    types, given = get_typestore(Stores.ROS2_HUMBLE), motion(11)
    names = ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    JointState, Header, Time = (types.types[name] for name in names)
    with Writer(tmp_path / "bag", version=9) as bag:
        connection = bag.add_connection("/joint_states", names[0], typestore=types)
        for k, t in enumerate(given.t):
            stamp = Time(sec=100 + int(t), nanosec=round(1e9 * (t % 1)))
            numbers = (x[k, ::-1].copy() for x in (given.q, given.v, given.tau))  # in an order of the driver's own
            state = JointState(Header(stamp, "base"), ["elbow", "shoulder"], *numbers)
            bag.write(connection, round(1e9 * t), types.serialize_cdr(state, names[0]))
    back = read_trajectory(tmp_path / "bag", ARM)
    np.testing.assert_allclose(back.t, given.t, atol=1e-6)
    np.testing.assert_array_equal(back.q, given.q)
    np.testing.assert_array_equal(back.tau, given.tau)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t,shoulder\n0,1\n1,2\n", "no column for q of elbow; expected 'q.elbow'"),
        ("s,shoulder,elbow\n0,1,2\n1,2,3\n", "no column of times"),
        ("t,shoulder,elbow\n0,1,2\n0,2,3\n", "must increase"),
        ("t,shoulder,elbow\n0,1,2\n", "two rows"),
        ("t,shoulder,elbow\n0,1,2\n1,2\n", "row 2 has 2 cells, the header 3"),
        ("t,shoulder,elbow\n0,1,2\n1,nan,3\n", "row 2 has no number for q of shoulder"),
        ("t,shoulder,elbow\n0,1,2\n1,x,3\n", "row 2 has .x. for shoulder"),
        ("t,shoulder,elbow,v.shoulder\n0,1,2,3\n1,2,3,4\n", "no column for v of elbow"),
        ("", "the file is empty"),
    ],
)
def test_gaps_are_named(tmp_path, text: str, said: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(DalembertError, match=said):
        read_trajectory(file, ARM)


def test_unknown_endings_and_missing_files(tmp_path) -> None:
    with pytest.raises(DalembertError, match=r"unknown ending '\.xls'"):
        write_table(tmp_path / "a.xls", {})
    with pytest.raises(DalembertError, match="no such file"):
        read_table(tmp_path / "a.csv")


def test_motions_in_degrees_are_doubted(tmp_path):
    robot, file = load("2r"), tmp_path / "motion.csv"
    low, high = robot.joint("shoulder").lower[0], robot.joint("shoulder").upper[0]
    assert np.isfinite(high)
    file.write_text("t,shoulder,elbow\n0,0,0\n1,0.1,0.1\n2,90,0.2\n")
    log = read_trajectory(file, robot).log
    assert f"positions leave the limits of shoulder (0 to 90, limits {low:.4g} to {high:.4g}); expected rad" in log[-1]
    file.write_text(file.read_text().replace("90", "0.2"))
    assert "limits" not in " ".join(read_trajectory(file, robot).log)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; expected a line of names"),
        ("# only a note\n", "the file is empty"),
        ("t;shoulder;elbow\n0;0;0", "cells are parted by ;, expected commas"),
        ("t\tshoulder\telbow\n0\t0\t0", "cells are parted by tabs, expected commas"),
        ("t,shoulder,elbow\n0,0,0\n1,0.1,fast\n", "row 2 has 'fast' for elbow, expected a number"),
    ],
)
def test_tables_that_are_none(tmp_path, text, said):
    file = tmp_path / "motion.csv"
    file.write_text(text)
    with pytest.raises(DalembertError, match=said):
        read_trajectory(file, load("2r"))
