"""Motions from files: every format gives the numbers back, joints are found by name, gaps are named."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, load
from dalembert.logs import Trajectory, read_log, read_trajectory, write_trajectory
from dalembert.tables import FORMATS, read_table, write_table
from tolerances import COMPUTED, INTEGRATED, ITERATED, ROUGH_SLOPE

SAMPLED_RATE = 2e-3  # speeds from samples of a motion
SAMPLED_ACCELERATION = 5e-3  # accelerations from the same samples
JITTER = 3e-4  # three standard deviations of the stamps [s]
UNDER_JITTER = 0.05  # accelerations under that jitter
FLOAT32_SAMPLES = 0.02  # accelerations from samples in float32

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
    table = read_table(file)
    assert list(table.columns) == ["t", "a/b"] and table.notes == '{"robot": "2r"}'


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
    np.testing.assert_allclose(back.v[1:-1], given.v[1:-1], atol=SAMPLED_RATE)
    np.testing.assert_allclose(back.a[2:-2], given.a[2:-2], atol=SAMPLED_ACCELERATION)
    assert len(back.log) == 1 and "differences" in back.log[0] and back.tau is None


def test_rates_on_the_manifold(tmp_path) -> None:
    """A floating base that turns and moves at constant rates, in its own axes."""
    robot = load("quadrotor")
    t, twist = np.linspace(0, 1, 21), np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.4])
    q = robot.integrate(np.broadcast_to(robot.neutral(), (21, 7)), t[:, None] * twist)
    file = tmp_path / "flight.npz"
    write_table(file, {"t": t} | {f"q.{robot.joints[0].name}[{k}]": q[:, k] for k in range(7)})
    np.testing.assert_allclose(read_trajectory(file, robot).v, np.broadcast_to(twist, (21, 6)), atol=ITERATED)


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
    np.testing.assert_allclose(back.t, given.t, atol=INTEGRATED)
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
    doubt = f"positions leave the limits of shoulder (0 to 90, limits {low:.4g} to {high:.4g}); expected rad and m"
    assert doubt in log
    file.write_text(file.read_text().replace("90", "0.2"))
    assert "limits" not in " ".join(read_trajectory(file, robot).log)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; expected a line of names"),
        ("# only a note\n", "the file is empty"),
        ("t,shoulder,elbow\n0,0,0\n1,0.1,fast\n", "row 2 has 'fast' for elbow, expected a number"),
    ],
)
def test_tables_that_are_none(tmp_path, text, said):
    file = tmp_path / "motion.csv"
    file.write_text(text)
    with pytest.raises(DalembertError, match=said):
        read_trajectory(file, load("2r"))


def write(file, columns: dict[str, np.ndarray], separator: str = ",") -> None:
    """A CSV as other programs write it."""
    rows = zip(*(np.asarray(x).tolist() for x in columns.values()), strict=True)
    lines = [separator.join(columns), *(separator.join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def said(trajectory: Trajectory, *words: str) -> bool:
    return any(all(word in note for word in words) for note in trajectory.log)


EPOCH = 1_700_000_000  # s: in November 2023
WHEEL = load("cartpole")  # its pole turns without limits
SPIN = next(joint.q.start for joint in WHEEL.joints if joint.kind == "continuous")


@pytest.mark.parametrize("cut", [np.pi, 2 * np.pi])
def test_wrapped_angles_of_continuous_joints_are_made_continuous(tmp_path, cut: float) -> None:
    """2 rad/s over several turns, wrapped at π or 2π as drivers do, must not become 300 rad/s at each wrap."""
    t = np.arange(1001) * 0.01
    angle = 2.0 * t
    q = {name: np.zeros(len(t)) for name in WHEEL.model.coordinate_names}
    q[WHEEL.model.coordinate_names[SPIN]] = (angle + 2 * np.pi - cut) % (2 * np.pi) - 2 * np.pi + cut
    write(tmp_path / "log.csv", {"t": t} | q)
    back = read_trajectory(tmp_path / "log.csv", WHEEL)
    np.testing.assert_allclose(back.v[:, SPIN], 2.0, atol=INTEGRATED)
    np.testing.assert_allclose(back.a, 0.0, atol=100 * ROUGH_SLOPE)
    assert said(back, "wraps 3 times", "continuous")


def test_jumps_within_limits_are_motion(tmp_path) -> None:
    """A limited joint cannot have wrapped where the continuous angle would leave its limits."""
    t = np.linspace(0, 10, 11)
    write(tmp_path / "log.csv", {"t": t, "shoulder": np.where(t < 5, -3.0, 3.0), "elbow": 0 * t})
    back = read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_array_equal(back.q[:, 0], np.where(t < 5, -3.0, 3.0))
    assert said(back, "angle of shoulder jumps", "taken as motion")


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("time_ms", 1e3),
        ("t [us]", 1e6),
        ("Time (ns)", 1e9),
        ("timestamp_ns", 1e9),
        ("time [s]", 1.0),
        ("t_min", 1 / 60),
    ],
)
def test_units_of_time_in_the_name(tmp_path, name: str, factor: float) -> None:
    given = motion()
    write(tmp_path / "log.csv", {name: given.t * factor, "shoulder": given.q[:, 0], "elbow": given.q[:, 1]})
    np.testing.assert_allclose(read_trajectory(tmp_path / "log.csv", ARM).t, given.t, atol=COMPUTED)


@pytest.mark.parametrize(
    ("start", "unit", "rate"),
    [
        (0, 1e-9, 1000), (0, 1e-6, 1000), (0, 1e-3, 100), (0, 1.0, 1000), (0, 1.0, 10),
        (EPOCH, 1e-9, 1000), (EPOCH, 1e-6, 500), (EPOCH, 1e-3, 1000), (EPOCH, 1.0, 1000),
        (1234, 1e-9, 1000),  # since the machine was started
    ],
)  # fmt: skip
def test_units_of_time_by_plausibility(tmp_path, start: int, unit: float, rate: int) -> None:
    """Nothing in the name: an epoch, or steps that only fit one unit."""
    n = 200
    stamps = [f"{start * round(1 / unit) + k * round(1 / unit / rate)}" for k in range(n)]
    if unit == 1.0:
        stamps = [f"{start + k / rate:.6f}" if not start else f"{start}.{k * 1_000_000 // rate:06d}" for k in range(n)]
    t = np.arange(n) / rate
    write(tmp_path / "log.csv", {"time": np.array(stamps), "shoulder": np.sin(t), "elbow": np.cos(t)})
    back = read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_allclose(back.t, t, atol=COMPUTED)
    np.testing.assert_allclose(back.v[5:-5, 0], np.cos(t)[5:-5], atol=SAMPLED_ACCELERATION)


def test_steps_of_one_are_refused_unless_something_tells(tmp_path) -> None:
    """1 kHz in milliseconds or 1 Hz in seconds: velocities, the name or the caller decide; a guess does not."""
    t = np.arange(200) * 1e-3
    columns = {"t": np.arange(200), "shoulder": np.sin(9 * t), "elbow": np.cos(9 * t)}
    write(tmp_path / "log.csv", columns)
    with pytest.raises(DalembertError, match=r"steps of 1: seconds or milliseconds\? call the column 't \[s\]'"):
        read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_allclose(read_trajectory(tmp_path / "log.csv", ARM, units={"t": "ms"}).t, t, atol=COMPUTED)
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.csv", ARM, units={"t": "s"}).t, np.arange(200))


@pytest.mark.parametrize("units", [{"t": "deg"}, {"q": "ms"}, {"x": "rad"}, {"tau": "furlong"}, {"v": "rad"}])
def test_units_that_make_no_sense(tmp_path, units) -> None:
    write(tmp_path / "log.csv", {"t": [0, 1], "shoulder": [0, 1], "elbow": [0, 1]})
    with pytest.raises(
        DalembertError, match=r"units\['\w+'\] is '\w+': expected t, q, v, a, tau, current or temperature"
    ):
        read_trajectory(tmp_path / "log.csv", ARM, units=units)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_velocities_tell_the_unit_of_time(tmp_path, unit: float) -> None:
    t = np.arange(200) * unit  # a step of one, in s or in ms
    q, v = np.sin(0.02 / unit * t), 0.02 / unit * np.cos(0.02 / unit * t)
    columns = {"t": np.arange(200), "shoulder": q, "elbow": -q, "v.shoulder": v, "v.elbow": -v}
    write(tmp_path / "log.csv", columns)
    back = read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_allclose(back.t, t, atol=COMPUTED)
    np.testing.assert_allclose(
        back.a[3:-3, 0], -((0.02 / unit) ** 2) * q[3:-3], rtol=100 * ROUGH_SLOPE, atol=INTEGRATED
    )
    assert said(back, "times are taken as", "only so velocities fit")
    write(tmp_path / "log.csv", columns | {"v.shoulder": np.full(200, 7.0), "v.elbow": q})
    with pytest.raises(DalembertError, match="seconds or milliseconds"):
        read_trajectory(tmp_path / "log.csv", ARM)


def test_velocities_in_other_units_than_positions_are_refused(tmp_path) -> None:
    t = np.linspace(0, 3, 301)
    columns = {"t": t, "shoulder": np.sin(t), "elbow": np.cos(t)}
    rates = {"v.shoulder": np.cos(t), "v.elbow": -np.sin(t)}
    degrees = {name: np.degrees(x) for name, x in rates.items()}
    write(tmp_path / "log.csv", columns | degrees)
    with pytest.raises(DalembertError, match="velocities in degrees per second"):
        read_trajectory(tmp_path / "log.csv", ARM)
    back = read_trajectory(tmp_path / "log.csv", ARM, units={"v": "deg/s"})
    np.testing.assert_allclose(back.v[:, 0], np.cos(t))
    write(tmp_path / "log.csv", columns | rates | {"v.elbow": np.sin(t)})
    assert said(read_trajectory(tmp_path / "log.csv", ARM), "velocities do not fit the positions", "elbow (-1)")


@pytest.mark.parametrize(
    ("q", "v", "tau", "size"),
    [
        ("{} [deg]", "v.{} [deg/s]", "tau.{} [Nmm]", (180 / np.pi, 180 / np.pi, 1e3)),
        ("{}_deg", "{}_vel_deg_s", "{}_torque_Nm", (180 / np.pi, 180 / np.pi, 1)),
        ("{} (rad)", "{}.velocity (rpm)", "{}.effort (kN·m)", (1, 30 / np.pi, 1e-3)),
        ("{} [mrad]", "v.{} [rad/s]", "tau.{} [N.m]", (1e3, 1, 1)),
    ],
)
def test_units_of_joints_in_their_names(tmp_path, q, v, tau, size) -> None:
    given = motion()
    columns = {"t": given.t}
    for form, values, factor in zip((q, v, tau), (given.q, given.v, given.tau), size, strict=True):
        columns |= {form.format(name): values[:, k] * factor for k, name in enumerate(("shoulder", "elbow"))}
    write(tmp_path / "log.csv", columns)
    back = read_trajectory(tmp_path / "log.csv", ARM)
    for name in ("q", "v", "tau"):
        np.testing.assert_allclose(getattr(back, name), getattr(given, name), rtol=COMPUTED)


def test_numbered_columns_are_taken_in_order_and_said(tmp_path) -> None:
    given = motion()
    for names in (["q1 [deg]", "q2 [deg]"], ["q_0_deg", "q_1_deg"], ["joint_1 (deg)", "joint_2 (deg)"]):
        degrees = np.degrees(given.q)
        write(tmp_path / "log.csv", {"time_ms": given.t * 1e3, names[0]: degrees[:, 0], names[1]: degrees[:, 1]})
        back = read_trajectory(tmp_path / "log.csv", ARM)
        np.testing.assert_allclose(back.q, given.q, rtol=COMPUTED)
        assert said(back, names[0], "robot's order: shoulder, elbow")


def test_a_row_of_units(tmp_path) -> None:
    given = motion()
    write(tmp_path / "log.csv", {"time": 1e3 * given.t, "shoulder": np.degrees(given.q[:, 0]), "elbow": given.q[:, 1]})
    head, *rows = (tmp_path / "log.csv").read_text().splitlines()
    (tmp_path / "log.csv").write_text("\n".join([head, "ms,[deg],rad", *rows]))
    back = read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_allclose(back.q, given.q, rtol=COMPUTED)
    np.testing.assert_allclose(back.t, given.t, atol=COMPUTED)
    assert said(back, "times are stated in ms") and said(back, "positions shoulder are stated in deg")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("shoulder [m]", "elbow [m]"), r"'shoulder \[m\]' is in m, expected rad"),
        (("shoulder [counts]", "elbow [counts]"), "unit 'counts' of column"),
        (("shoulder", "Shoulder"), "no column for q of elbow"),
        (("elbow.position", "elbow_pos"), "could both be 'q.elbow'"),
        (("q1", "q3"), "no column for q of shoulder, elbow"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, names, message) -> None:
    t = np.linspace(0, 1, 30)
    write(tmp_path / "log.csv", {"t": t, names[0]: t, names[1]: t})
    with pytest.raises(DalembertError, match=message):
        read_trajectory(tmp_path / "log.csv", ARM)


def test_the_caller_chooses_columns(tmp_path) -> None:
    given = motion()
    columns = {
        "clock": given.t,
        "a1": given.q[:, 0],
        "a2": given.q[:, 1],
        "elbow.position": given.t,
        "elbow_pos": given.t,
    }
    write(tmp_path / "log.csv", columns)
    choice = {"t": "clock", "q.shoulder": "a1", "q.elbow": "a2"}
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.csv", ARM, columns=choice).q, given.q)
    with pytest.raises(DalembertError, match=r"columns\['t'\]: there is no column 'clk'"):
        read_trajectory(tmp_path / "log.csv", ARM, columns={"t": "clk"})


def two_joints(first: str, second: str) -> Robot:
    builder = ModelBuilder("two")
    for parent, body, joint in (("world", "upper", first), ("upper", "lower", second)):
        builder.add_body(
            body, parent=parent, joint="revolute", joint_name=joint, axis=(0, 1, 0),
            mass=1.0, com=(0.1, 0, 0), inertia=0.01 * np.eye(3),
        )  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("ending", FORMATS)
def test_joints_that_differ_in_capitals_only(tmp_path, ending: str) -> None:
    if ending in LIBRARY:
        pytest.importorskip(LIBRARY[ending])
    robot = two_joints("J", "j")
    run = robot.simulate([0.1, 0.7], [0.0, 0.0], 0.1)
    run.save(tmp_path / f"run{ending}")
    back = read_trajectory(tmp_path / f"run{ending}", robot)
    np.testing.assert_array_equal(back.q, run.q)
    np.testing.assert_array_equal(back.v, run.v)
    write(tmp_path / "log.csv", {"t": run.t, "j": run.q[:, 0]})
    with pytest.raises(DalembertError, match="column 'j' would serve j and another joint"):
        read_trajectory(tmp_path / "log.csv", robot)


def test_matrices(tmp_path) -> None:
    """positions (n, 2) and the like; in the file's order where it names the joints, else in the robot's, and said."""
    given, file = motion(), tmp_path / "log.npz"
    np.savez(file, times=given.t, positions=given.q, velocities=given.v, accelerations=given.a, torques=given.tau)
    back = read_trajectory(file, ARM)
    for name in ("t", "q", "v", "a", "tau"):
        np.testing.assert_array_equal(getattr(back, name), getattr(given, name))
    assert said(back, "'positions'", "robot's order: shoulder, elbow")
    np.savez(file, t=given.t, q=given.q[:, ::-1], joint_names=["elbow", "shoulder"])
    back = read_trajectory(file, ARM)
    np.testing.assert_array_equal(back.q, given.q)
    assert not said(back, "robot's order")
    np.savez(file, t=given.t, q=given.q[:, ::-1], joint_names=["elbow", "wrist"])
    with pytest.raises(DalembertError, match="the file's joints are elbow, wrist"):
        read_trajectory(file, ARM)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"q": np.zeros((50, 2))}, "column 'q' has 50 rows, the times have 51"),
        ({"q": np.zeros((51, 3))}, r"'q' has shape \(51, 3\), expected \(51, 2\) for shoulder, elbow"),
        ({"q": np.zeros((51, 2)), "a": np.zeros((1, 2))}, "column 'a' has 1 rows, the times have 51"),
        ({"q": np.zeros((51, 2)), "tau": np.zeros((52, 2))}, "column 'tau' has 52 rows"),
        ({"q": np.zeros((51, 2)), "positions": np.zeros((51, 2))}, "columns 'q' and 'positions' could both be 'q'"),
        ({"q.shoulder": np.zeros(51), "q.elbow": np.zeros(1)}, "column 'q.elbow' has 1 rows"),
        ({"q.shoulder": np.zeros(51), "q.elbow": np.zeros((51, 2))}, r"'q.elbow' has shape \(51, 2\)"),
        ({"q.shoulder": np.zeros(51), "q.elbow": np.zeros((51, 2, 2))}, "no column for q of elbow"),
        ({"q.shoulder": np.zeros(51), "q.elbow": np.array(["a"] * 51)}, "row 1 has 'a' for q.elbow"),
        ({"q.shoulder": np.zeros(51), "q.elbow": np.zeros(51, "timedelta64[s]")}, "'q.elbow' holds times"),
    ],
)
def test_arrays_of_another_shape_are_refused(tmp_path, columns, message) -> None:
    np.savez(tmp_path / "log.npz", t=np.linspace(0, 1, 51), **columns)
    with pytest.raises(DalembertError, match=message):
        read_trajectory(tmp_path / "log.npz", ARM)


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_times_with_a_type(tmp_path, unit: str) -> None:
    """datetime64 and timedelta64 in NPZ, timestamps and durations in Parquet: their type is their unit."""
    given = motion(101)
    ticks = np.round(given.t * {"ns": 1e9, "us": 1e6, "ms": 1e3}[unit]).astype(np.int64)
    stamps = np.datetime64("2024-05-01T10:00:00", unit) + ticks.astype(f"timedelta64[{unit}]")
    joints = {"shoulder": given.q[:, 0], "elbow": given.q[:, 1]}
    for name, column in (("date", stamps), ("span", ticks.astype(f"timedelta64[{unit}]"))):
        np.savez(tmp_path / f"{name}.npz", time=column, **joints)
        np.testing.assert_allclose(read_trajectory(tmp_path / f"{name}.npz", ARM).t, given.t, atol=COMPUTED)
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"time": column, **joints}), tmp_path / f"{name}.parquet")
        np.testing.assert_allclose(read_trajectory(tmp_path / f"{name}.parquet", ARM).t, given.t, atol=COMPUTED)
    write(tmp_path / "log.csv", {"time": stamps.astype(str)} | joints)
    np.testing.assert_allclose(read_trajectory(tmp_path / "log.csv", ARM).t, given.t, atol=COMPUTED)


def test_epoch_stamps_lose_nothing(tmp_path) -> None:
    """2 rad/s at 1 kHz, stamped since 1970: float64 alone would make up to 0.4 rad/s² of its rounding."""
    n = 400
    t = np.arange(n) * 1e-3
    joints = {"shoulder": -1 + 2 * t, "elbow": 1 - 2 * t}
    write(tmp_path / "text.csv", {"time": np.array([f"1700000123.{k:03d}000" for k in range(n)])} | joints)
    stamps = (EPOCH + 123) * 1_000_000_000 + 1_000_000 * np.arange(n)
    write(tmp_path / "integers.csv", {"time_ns": stamps} | joints)
    np.savez(tmp_path / "rounded.npz", time=1.7e9 + 123 + t, **joints)
    np.savez(tmp_path / "unsigned.npz", time_ns=stamps.astype("u8"), **joints)
    for name in ("text.csv", "integers.csv", "rounded.npz", "unsigned.npz"):
        back = read_trajectory(tmp_path / name, ARM)
        np.testing.assert_allclose(back.t, t, atol=ITERATED)
        np.testing.assert_allclose(back.a, 0.0, atol=INTEGRATED)
    assert said(read_trajectory(tmp_path / "rounded.npz", ARM), "times are rounded to 0.24 µs")
    jittered = 1.7e9 + t + 1e-4 * np.random.default_rng(0).random(n)
    np.savez(tmp_path / "rounded.npz", time=jittered, **joints)
    assert said(read_trajectory(tmp_path / "rounded.npz", ARM), "times are rounded to 0.24 µs", "% of a step")


def test_seconds_and_nanoseconds_in_two_columns(tmp_path) -> None:
    t = np.arange(100) * 0.01
    stamps = {"stamp.sec": 1_700_000_000 + (t // 1).astype(int), "stamp.nanosec": np.round(1e9 * (t % 1)).astype(int)}
    write(tmp_path / "log.csv", stamps | {"shoulder": t, "elbow": t})
    np.testing.assert_allclose(read_trajectory(tmp_path / "log.csv", ARM).t, t, atol=COMPUTED)


def test_gaps_jitter_and_repeats_are_said(tmp_path) -> None:
    t = np.delete(np.arange(1000) * 0.01, np.arange(400, 450))
    write(tmp_path / "log.csv", {"t": t, "shoulder": np.sin(t), "elbow": np.cos(t)})
    back = read_trajectory(tmp_path / "log.csv", ARM)
    assert said(back, "a gap of 0.51 s after t = 3.99 s", "usual step is 0.01 s")
    uneven = np.sort(t + np.random.default_rng(0).uniform(-0.004, 0.004, len(t)))
    write(tmp_path / "log.csv", {"t": uneven, "shoulder": np.sin(uneven), "elbow": np.cos(uneven)})
    assert said(read_trajectory(tmp_path / "log.csv", ARM), "times jitter", "% RMS")
    twice = np.repeat(t, np.where(np.arange(len(t)) == 7, 2, 1))
    write(tmp_path / "log.csv", {"t": twice, "shoulder": np.sin(twice), "elbow": np.cos(twice)})
    back = read_trajectory(tmp_path / "log.csv", ARM)
    np.testing.assert_allclose(back.q[:, 0], np.sin(t))
    assert said(back, "1 of 951 rows repeat the one before")
    write(tmp_path / "log.csv", {"t": twice, "shoulder": np.arange(len(twice)), "elbow": np.cos(twice)})
    with pytest.raises(DalembertError, match="must increase; row 9 has the time of the row before and other numbers"):
        read_trajectory(tmp_path / "log.csv", ARM)
    back_and_forth = np.concatenate([t, t])
    write(tmp_path / "log.csv", {"t": back_and_forth, "shoulder": back_and_forth, "elbow": back_and_forth})
    with pytest.raises(DalembertError, match="must increase, and go back at row 951"):
        read_trajectory(tmp_path / "log.csv", ARM)


def test_quaternions_as_logs_round_them(tmp_path) -> None:
    robot = load("quadrotor")
    t, twist = np.linspace(0, 1, 101), np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.4])
    q = robot.integrate(np.broadcast_to(robot.neutral(), (101, 7)), t[:, None] * twist)
    names = robot.model.coordinate_names
    write(tmp_path / "log.csv", {"t": t} | {name: np.round(q[:, k], 5) for k, name in enumerate(names)})
    back = read_trajectory(tmp_path / "log.csv", robot)
    np.testing.assert_allclose(back.v, np.broadcast_to(twist, (101, 6)), atol=10 * ROUGH_SLOPE)
    assert said(back, "quaternions are off unit length by up to")
    write(tmp_path / "log.csv", {"t": t} | {name: q[:, k] + 0.1 for k, name in enumerate(names)})
    with pytest.raises(DalembertError, match=r"row 101 has a quaternion of length 1\.136 for body, expected 1"):
        read_trajectory(tmp_path / "log.csv", robot)


def test_read_log_gives_what_was_measured_and_no_more(tmp_path) -> None:
    given = motion()
    write(tmp_path / "log.csv", {"t": given.t, "shoulder": given.q[:, 0], "elbow": given.q[:, 1]})
    log = read_log(tmp_path / "log.csv", ARM)
    np.testing.assert_array_equal(log.q, given.q)
    assert log.v is None and log.a is None and log.tau is None and log.title == "log.csv"
    np.testing.assert_allclose(log.smoothed(bandwidth=8.0).first[5:-5], given.v[5:-5], atol=10 * ROUGH_SLOPE)


def test_stamps_that_jitter_around_a_steady_clock(tmp_path) -> None:
    """Rows of a controller every 5 ms, stamped by a busy computer: the rows are even, the stamps are not."""
    t = np.arange(600) * 5e-3
    stamps = t + 1e-4 * np.random.default_rng(1).normal(size=len(t))
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    np.savez(tmp_path / "log.npz", t=stamps, q=q)
    back = read_trajectory(tmp_path / "log.npz", ARM)
    np.testing.assert_allclose(back.t, t, atol=JITTER)
    np.testing.assert_allclose(back.a[:, 0], -9 * q[:, 0], atol=UNDER_JITTER)
    assert said(back, "times are put on equal steps of 0.00", "stamps jitter by")
    np.savez(tmp_path / "log.npz", t=stamps, q=np.stack([np.sin(3 * stamps), np.cos(2 * stamps)], axis=1))
    back = read_trajectory(tmp_path / "log.npz", ARM)
    np.testing.assert_allclose(back.t, stamps - stamps[0])


def test_single_precision(tmp_path) -> None:
    """Stamps and positions as float32: their rounding is neither jitter nor motion."""
    t = np.arange(3000) * 1e-3 + 20.0
    q = np.stack([np.sin(2 * t), np.cos(3 * t)], axis=1)
    np.savez(tmp_path / "log.npz", t=t.astype("f4"), q=q.astype("f4"))
    back = read_trajectory(tmp_path / "log.npz", ARM)
    np.testing.assert_allclose(back.t, t - 20.0, atol=INTEGRATED)
    np.testing.assert_allclose(back.a[20:-20, 0], -4 * q[20:-20, 0], atol=FLOAT32_SAMPLES)
    assert said(back, "times are rounded to 1.9 µs") and said(back, "bandwidth")


@pytest.mark.parametrize("robot", ["2r", "quadrotor"])
def test_two_rows(tmp_path, robot) -> None:
    arm = load(robot)
    q = np.stack([arm.neutral(), arm.integrate(arm.neutral(), 0.1 * np.ones(arm.nv))])
    np.savez(tmp_path / "log.npz", t=[0.0, 0.1], q=q)
    back = read_trajectory(tmp_path / "log.npz", arm)
    np.testing.assert_allclose(back.v, 1.0)
    np.testing.assert_array_equal(back.a, 0.0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t": [], "q": np.zeros((0, 2))}, "0 rows"),
        ({"t": [0.0, np.nan, 0.2], "q": np.zeros((3, 2))}, "row 2 has no time in column 't'"),
        ({"t": [0.0, np.inf, 0.2], "q": np.zeros((3, 2))}, "row 2 has no time in column 't'"),
        ({"t": np.array(["2024-01-01", "NaT"], "datetime64[ms]"), "q": np.zeros((2, 2))}, "has no time in column"),
        ({"t": [0.0, 0.0, 0.0], "q": np.zeros((3, 2))}, "all rows have the same time"),
        ({"t": np.zeros((3, 2)), "q": np.zeros((3, 2))}, "the times in 't' have shape"),
        ({"t": [0.0, 0.1], "q": np.full((2, 2), np.nan)}, "0 rows with numbers"),
        ({"t": 1.0, "q": np.zeros((3, 2))}, "no column of times"),
        ({}, "no column of times"),
    ],
)
def test_logs_that_are_none(tmp_path, columns, message) -> None:
    np.savez(tmp_path / "log.npz", **columns)
    with pytest.raises(DalembertError, match=message):
        read_trajectory(tmp_path / "log.npz", ARM)
