"""Files of named columns as they come: separators, doubles, links, bombs, topics; never a raw exception."""

from __future__ import annotations

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from dalembert import DalembertError, load, load_run
from dalembert.logs import read_trajectory
from dalembert.tables import read_table
from tolerances import COMPUTED, INTEGRATED, ITERATED

ARM = load("2r")
T = np.arange(30) * 0.01


@pytest.mark.parametrize("ending", [".csv", ".txt", ".tsv", ".dat"])
@pytest.mark.parametrize(
    ("separator", "decimal", "said"),
    [
        (",", ".", ()),
        (", ", ".", ()),
        (";", ".", ("semicolons",)),
        (";", ",", ("semicolons", "decimal commas")),
        ("\t", ".", ("tabs",)),
        ("\t", ",", ("tabs", "decimal commas")),
        ("  ", ".", ("blanks",)),
        (" ", ",", ("blanks", "decimal commas")),
        ("|", ".", ("bars",)),
    ],
)
def test_any_separator_and_decimal_commas(tmp_path, ending, separator, decimal, said) -> None:
    rows = [f"{t:.3f}{separator}{np.sin(t):.9e}{separator}{-t:.6f}".replace(".", decimal) for t in T]
    (tmp_path / f"log{ending}").write_text("\n".join([separator.join(("t", "shoulder", "elbow")), *rows]))
    table = read_table(tmp_path / f"log{ending}")
    np.testing.assert_allclose(table.columns["shoulder"], np.sin(T), rtol=10 * ITERATED)
    np.testing.assert_allclose(table.columns["elbow"], -T, atol=ITERATED)
    assert len(table.log) == len(said) and all(word in note for word, note in zip(said, table.log, strict=True))


def test_names_in_a_comment_as_numpy_writes_them(tmp_path) -> None:
    np.savetxt(tmp_path / "log.txt", np.stack([T, T, -T], axis=1), header="t shoulder elbow")
    back = read_trajectory(tmp_path / "log.txt", ARM)
    np.testing.assert_allclose(back.q[:, 1], -T)
    assert any("names of the columns come from the comment" in note for note in back.log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,shoulder,elbow,elbow\n0,1,2,3\n1,2,3,4\n", "two columns are called 'elbow'"),
        ("t;shoulder;elbow;elbow\n0;1;2;3\n1;2;3;4\n", "two columns are called 'elbow'"),
        ("0,1,2\n1,2,3\n", "has no line of names for its columns c1 to c3: say which they are"),
        ("t,shoulder,elbow\n0,1,2\n1,2\n", "row 2 has 2 cells, the header 3"),
        ("t,shoulder,elbow\n0,0,1,5,2,5\n", "row 1 has 6 cells, the header 3; decimal commas need"),
        ("t,shoulder,elbow\n0,1,\n0.1,2,3\n", "row 1 has no number for q of elbow"),
        ("t,shoulder,elbow\n0,1,2\n0.1,x,3\n", "row 2 has 'x' for shoulder, expected a number"),
        ("t,shoulder,elbow\n0,1,2\nlater,2,3\n", "row 2 has 'later' for t, expected a number"),
    ],
)
def test_texts_that_are_refused(tmp_path, text, message) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(DalembertError, match=message):
        read_trajectory(tmp_path / "log.csv", ARM)


def test_text_columns_and_trailing_separators_do_no_harm(tmp_path) -> None:
    (tmp_path / "log.csv").write_text("t,shoulder,elbow,mode,\n0,1,2,idle,\n0.1,2,3,run,\n")
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.csv", ARM).q, [[1, 2], [2, 3]])


def test_lists_in_parquet(tmp_path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    states = np.stack([np.sin(T), np.cos(T)], axis=1)
    parquet.write_table(arrow.table({"t": T, "q": states.tolist()}), tmp_path / "log.parquet")
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.parquet", ARM).q, states)
    ragged = [row[: 1 + k % 2] for k, row in enumerate(states.tolist())]
    parquet.write_table(arrow.table({"t": T, "q": ragged}), tmp_path / "log.parquet")
    with pytest.raises(DalembertError, match="no column for q of shoulder"):
        read_trajectory(tmp_path / "log.parquet", ARM)
    assert "left out" in read_table(tmp_path / "log.parquet").log[0]
    twice = arrow.Table.from_arrays([arrow.array(T)] * 2, names=["t", "t"])
    parquet.write_table(twice, tmp_path / "log.parquet")
    with pytest.raises(DalembertError, match="two columns are called 't'"):
        read_table(tmp_path / "log.parquet")


def test_npz_with_what_is_no_column(tmp_path) -> None:
    """Scalars, objects and arrays of other lengths lie beside the columns, and are not in their way."""
    odd = {"dt": 0.01, "meta": np.array({"a": 1}, object), "gains": np.ones(7), "cube": np.ones((2, 2, 2))}
    np.savez(tmp_path / "log.npz", t=T, shoulder=T, elbow=T, **odd)
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.npz", ARM).q[:, 0], T)
    assert "dt, meta, cube" in read_table(tmp_path / "log.npz").log[0]


@pytest.mark.parametrize(
    "columns",
    [
        {"t": np.arange(3.0), "energy.kinetic": np.zeros(2)},
        {"t": np.zeros((3, 2))},
        {"t": np.array(["a", "b"])},
        {"q.shoulder": np.zeros(4)},
        {"q.shoulder": np.zeros((3, 2)), "q.elbow": np.zeros(3)},
    ],
)
def test_runs_with_wrong_columns(tmp_path, columns) -> None:
    run = ARM.simulate([0.1, 0.2], [0.0, 0.0], 0.02)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        whole = {name: file[name] for name in file.files}
    np.savez(tmp_path / "run.npz", **(whole | columns))
    with pytest.raises(DalembertError, match="not a run saved by dalembert"):
        load_run(tmp_path / "run.npz")


@pytest.mark.parametrize("notes", ["[" * 100_000, "7", "[]", '{"robot": 1}', "", '{"robot": "x", "events": 3}'])
def test_runs_with_wrong_notes(tmp_path, notes) -> None:
    ARM.simulate([0.1, 0.2], [0.0, 0.0], 0.02).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        whole = {name: file[name] for name in file.files}
    np.savez(tmp_path / "run.npz", **(whole | {"dalembert": np.array(notes)}))
    with pytest.raises(DalembertError, match="not a run saved by dalembert"):
        load_run(tmp_path / "run.npz")


def test_links_out_of_hdf5_files_are_refused(tmp_path) -> None:
    """A file from elsewhere must not make bytes of other files into a column."""
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(30.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = T
    for name in ("external", "soft", "storage", "virtual", "nested"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["t"] = T
            if name == "external":
                file["q"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
            elif name == "nested":
                file.create_group("inner")["q"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
            elif name == "soft":
                file["q"] = h5py.SoftLink("/t")
            elif name == "storage":
                file.create_dataset("q", (30,), "f8", external=[(str(secret), 0, 240)])
            else:
                layout = h5py.VirtualLayout((30,), "f8")
                layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (30,))
                file.create_virtual_dataset("q", layout)
        with pytest.raises(DalembertError, match=r"'(inner/)?q' is (a link to elsewhere|stored in other files)"):
            read_table(tmp_path / f"{name}.h5")


def test_groups_and_text_in_hdf5_files(tmp_path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        file["t"], file["q"], file["joint_names"] = T, np.stack([T, -T], axis=1), ["elbow", "shoulder"]
        file.create_group("camera")["frame"] = np.arange(30)
    table = read_table(tmp_path / "log.hdf5")
    assert set(table.columns) == {"t", "q", "joint_names", "camera/frame"}
    np.testing.assert_array_equal(read_trajectory(tmp_path / "log.hdf5", ARM).q[:, 1], T)


def test_small_files_that_would_fill_the_memory_are_refused(tmp_path) -> None:
    h5py, arrow = pytest.importorskip("h5py"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with h5py.File(tmp_path / "bomb.h5", "w") as file:
        file.create_dataset("t", (400_000_000,), "f8", chunks=(10_000,))
    with (
        zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("t.npy", "w") as file,
    ):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (40_000_000,)})
        file.write(header.getvalue())
        for _ in range(40):
            file.write(bytes(8_000_000))
    chunk = arrow.table({f"x{k}": np.zeros(1_000_000) for k in range(5)})
    with parquet.ParquetWriter(tmp_path / "bomb.parquet", chunk.schema) as writer:
        for _ in range(8):
            writer.write_table(chunk)
    for ending in ("h5", "npz", "parquet"):
        assert (tmp_path / f"bomb.{ending}").stat().st_size < 2_000_000
        with pytest.raises(DalembertError, match=r"MB on disk expand to .* GB, at most"):
            read_table(tmp_path / f"bomb.{ending}")


def log_of_messages(path, topics: dict[str, list[dict]], encoding: str = "json") -> None:
    """An MCAP file with JSON rows on several topics, interleaved in time."""
    writer_of = pytest.importorskip("mcap.writer").Writer
    with path.open("wb") as file:
        writer = writer_of(file)
        writer.start()
        schema = writer.register_schema(name="row", encoding="jsonschema", data=b"{}")
        channels = {t: writer.register_channel(topic=t, message_encoding=encoding, schema_id=schema) for t in topics}
        for k in range(max(map(len, topics.values()))):
            for topic, rows in topics.items():
                if k < len(rows):
                    data = rows[k] if isinstance(rows[k], bytes) else json.dumps(rows[k]).encode()
                    stamp = 1_700_000_000_000_000_000 + k * 10_000_000
                    writer.add_message(channel_id=channels[topic], log_time=stamp, publish_time=stamp, data=data)
        writer.finish()


def rows_of(sign: float) -> list[dict]:
    return [{"t": float(t), "shoulder": sign * float(np.sin(t)), "elbow": float(t)} for t in T]


def test_one_topic_is_read(tmp_path) -> None:
    file = tmp_path / "log.mcap"
    log_of_messages(file, {"/measured": rows_of(1.0), "/command": rows_of(-1.0)})
    with pytest.raises(DalembertError, match="several topics could be meant: /measured, /command: give topic="):
        read_trajectory(file, ARM)
    np.testing.assert_allclose(read_trajectory(file, ARM, topic="/command").q[:, 0], -np.sin(T))
    with pytest.raises(DalembertError, match=r"unknown topic '/comand': did you mean '/command'\?"):
        read_trajectory(file, ARM, topic="/comand")
    with pytest.raises(DalembertError, match=r"only \.mcap files and ROS bags have topics"):
        read_table(_csv(tmp_path), "/command")


def _csv(folder):
    (folder / "a.csv").write_text("t,x\n0,1\n")
    return folder / "a.csv"


def test_times_of_recording_where_messages_have_none(tmp_path) -> None:
    rows = [{"shoulder": float(t), "elbow": float(t)} for t in T]
    log_of_messages(tmp_path / "log.mcap", {"/state": rows})
    back = read_trajectory(tmp_path / "log.mcap", ARM)
    np.testing.assert_allclose(back.t, T, atol=COMPUTED)
    assert any("times of recording" in note for note in back.log)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b'{"t": 0, "elbow": 1, "elbow": 2}', "a message names 'elbow' twice"),
        (b"[1, 2]", "a message is a list, expected an object"),
        (b"[" * 100_000, "cannot be read: RecursionError"),
        (b"\xff\xfe{", "cannot be read"),
        (b"{", "cannot be read: JSONDecodeError"),
    ],
)
def test_messages_that_are_refused(tmp_path, row, message) -> None:
    log_of_messages(tmp_path / "log.mcap", {"/state": [row, row]})
    with pytest.raises(DalembertError, match=message):
        read_table(tmp_path / "log.mcap")


def joint_states(folder, topics: dict[str, tuple[list[str], np.ndarray]], base: int = 1_700_000_000) -> None:
    """A ROS 2 bag with JointState messages at 1 kHz on several topics."""
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE)
    names = ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    JointState, Header, Time = (types.types[name] for name in names)
    with Writer(folder, version=9) as bag:
        for topic, (joints, q) in topics.items():
            connection = bag.add_connection(topic, names[0], typestore=types)
            for k, row in enumerate(q):
                stamp = Time(sec=base, nanosec=k * 1_000_000)
                state = JointState(Header(stamp, ""), joints, row, np.zeros(0), np.zeros(0))
                bag.write(connection, base * 10**9 + k * 10**6, types.serialize_cdr(state, names[0]))


def test_measured_joint_states_are_chosen_before_commands(tmp_path) -> None:
    """/joint_states beside /joint_command: the two must not be interleaved, nor stamps lose digits."""
    q = np.stack([0.5 + 2.0 * np.arange(300) * 1e-3, np.zeros(300)], axis=1)
    joint_states(tmp_path / "bag", {
        "/joint_states": (["shoulder", "elbow"], q), "/joint_command": (["shoulder", "elbow"], q + 0.1),
    })  # fmt: skip
    back = read_trajectory(tmp_path / "bag", ARM)
    np.testing.assert_array_equal(back.q, q)
    np.testing.assert_allclose(back.a, 0.0, atol=INTEGRATED)
    assert "topic /joint_states is read; /joint_command left out" in back.log
    np.testing.assert_array_equal(read_trajectory(tmp_path / "bag", ARM, topic="/joint_command").q, q + 0.1)


def test_a_joint_named_twice_in_a_message(tmp_path) -> None:
    joint_states(tmp_path / "bag", {"/joint_states": (["shoulder", "elbow", "elbow"], np.zeros((5, 3)))})
    with pytest.raises(DalembertError, match=r"a message names 'q\.elbow' twice"):
        read_trajectory(tmp_path / "bag", ARM)


def test_messages_about_other_joints_are_dropped(tmp_path) -> None:
    """An arm and its gripper on one topic, each with messages of its own."""
    rows = [row for k, t in enumerate(T) for row in ({"t": float(t), "shoulder": 0.1 * k, "elbow": 0.2 * k},
                                                     {"t": float(t) + 0.004, "finger": 0.01})]  # fmt: skip
    log_of_messages(tmp_path / "log.mcap", {"/joint_states": rows})
    back = read_trajectory(tmp_path / "log.mcap", ARM)
    np.testing.assert_allclose(back.t, T, atol=COMPUTED)
    assert "30 of 60 rows have no numbers of this robot and are dropped" in back.log


@pytest.mark.parametrize("ending", [".npz", ".parquet", ".h5", ".mcap", ".bag"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", struct.pack("<9Q", *range(9))])
def test_files_that_are_something_else(tmp_path, ending, content) -> None:
    for library in ("h5py", "mcap", "pyarrow", "rosbags"):
        pytest.importorskip(library)
    (tmp_path / f"log{ending}").write_bytes(content)
    with pytest.raises(DalembertError, match=rf"log\{ending}: cannot be read"):
        read_table(tmp_path / f"log{ending}")
