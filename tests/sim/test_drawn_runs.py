"""Runs in files for tools that draw them: MCAP for Foxglove, recordings for Rerun, USD time samples."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, load, load_run
from dalembert.model.geometry import Box, Capsule, Cone, Polyhedron, Sphere
from dalembert.sim.run.foxglove import _from_x
from dalembert.sim.run.save import columns, facts
from dalembert.spatial import so3
from dalembert.tables import write_table
from tolerances import COMPUTED, SINGLE, assert_close

FIELDS = ("t", "q", "v", "tau")


def arm():
    robot = load("2r")
    return robot, robot.simulate([0.3, -0.4], [0.0, 1.0], 0.1, [0.5, 0.0])


def messages(path):
    """(topic, schema, time, message) of all messages."""
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        return [
            (channel.topic, schema.name, message.log_time * 1e-9, json.loads(message.data))
            for schema, channel, message in make_reader(file).iter_messages()
        ]


def test_runs_for_foxglove(tmp_path):
    pytest.importorskip("mcap")
    robot, run = arm()
    run.save(tmp_path / "run.mcap")
    found = messages(tmp_path / "run.mcap")
    assert {(topic, schema) for topic, schema, _, _ in found} == {
        ("/state", "dalembert.State"),
        ("/joint_states", "foxglove.JointStates"),
        ("/tf", "foxglove.FrameTransforms"),
        ("/robot", "foxglove.SceneUpdate"),
    }
    assert [time for _, _, time, _ in found] == sorted(time for _, _, time, _ in found)
    states = [message for topic, _, _, message in found if topic == "/joint_states"]
    assert len(states) == len(run)
    for k, state in enumerate(states):
        for name, field in (("position", "q"), ("velocity", "v"), ("effort", "tau")):
            assert [joint[name] for joint in state["joints"]] == getattr(run, field)[k].tolist()
    last = [message for topic, _, _, message in found if topic == "/tf"][-1]["transforms"]
    for each in last:
        X = robot.pose(run.q[-1], each["child_frame_id"])
        assert_close([each["translation"][x] for x in "xyz"], X[:3, 3], COMPUTED)
        R = so3.from_quaternion(np.array([each["rotation"][x] for x in "wxyz"]))
        assert_close(R, X[:3, :3], COMPUTED)
    back = load_run(tmp_path / "run.mcap")
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(back, field), getattr(run, field))


@pytest.mark.long
def test_tables_of_before_are_read(tmp_path):
    _, run = arm()
    write_table(tmp_path / "old.mcap", columns(run), facts(run))
    assert {topic for topic, *_ in messages(tmp_path / "old.mcap")} == {"/state"}
    np.testing.assert_array_equal(load_run(tmp_path / "old.mcap").q, run.q)


@pytest.mark.long
def test_loaded_runs_need_their_robot_to_be_drawn(tmp_path):
    robot, run = arm()
    run.save(tmp_path / "run.npz")
    back = load_run(tmp_path / "run.npz")
    back.save(tmp_path / "bare.mcap")
    assert {topic for topic, *_ in messages(tmp_path / "bare.mcap")} == {"/state", "/joint_states"}
    back.save(tmp_path / "whole.mcap", robot=robot)
    assert "/tf" in {topic for topic, *_ in messages(tmp_path / "whole.mcap")}
    with pytest.raises(DalembertError, match="robot=robot"):
        back.save(tmp_path / "run.usda")
    with pytest.raises(DalembertError, match="give the robot of the run"):
        back.save(tmp_path / "run.mcap", robot=load("3r"))
    assert not (tmp_path / "run.usda").exists() and not (tmp_path / "run.mcap").exists()


def tumbling():
    """A body of several shapes on the ground, and its run."""
    builder = ModelBuilder("dice")
    builder.add_body("die", parent="world", joint="free", mass=1, inertia=0.01 * np.eye(3))
    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    for k, shape in enumerate(
        (Box(np.full(3, 0.2)), Sphere(0.05), Capsule(0.03, 0.1), Cone(0.03, 0.1), Polyhedron(corners, faces))
    ):
        builder.add_geometry(shape, body="die", role="collision" if k == 0 else "visual", color=(0.1, 0.2, 0.3, 1.0))
    robot = builder.build()
    return robot, robot.simulate([0, 0, 0.1, 1, 0, 0, 0], np.zeros(6), 0.05, contact=Contact())


@pytest.mark.long
def test_messages_are_those_of_foxglove(tmp_path):
    """Foxglove's own classes take every message, field by field; forces of contacts hold the weight."""
    foxglove = pytest.importorskip("foxglove.messages")
    _, run = tumbling()
    run.save(tmp_path / "run.mcap")
    found = messages(tmp_path / "run.mcap")
    kinds = {
        "arrows": "ArrowPrimitive", "cubes": "CubePrimitive", "spheres": "SpherePrimitive", "pose": "Pose",
        "cylinders": "CylinderPrimitive", "triangles": "TriangleListPrimitive", "entities": "SceneEntity",
        "joints": "JointState", "transforms": "FrameTransform", "timestamp": "Timestamp", "color": "Color",
        "lifetime": "Duration", "translation": "Vector3", "rotation": "Quaternion", "orientation": "Quaternion",
        "size": "Vector3", "position": "Vector3", "points": "Point3",
    }  # fmt: skip

    def made(kind, fields):
        values = {}
        for name, value in fields.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                value = [made(kinds[name], item) for item in value]
            elif isinstance(value, dict):
                value = made(kinds[name], value)
            values[name] = value
        return getattr(foxglove, kind)(**values)

    seen = set()
    for _, schema, _, message in found:
        if schema.startswith("foxglove."):
            made(schema.removeprefix("foxglove."), message).encode()
            seen.add(schema)
    assert seen == {"foxglove.JointStates", "foxglove.FrameTransforms", "foxglove.SceneUpdate"}
    scene = next(message for topic, _, _, message in found if topic == "/robot")["entities"][0]
    assert {kind for kind in kinds if scene.get(kind)} >= {"spheres", "cylinders", "triangles", "timestamp"}
    arrows = [message for topic, _, _, message in found if topic == "/contacts"][-1]["entities"][0]["arrows"]
    assert len(arrows) == np.count_nonzero(np.linalg.norm(run.contacts.force[-1], axis=1))
    wrench = [message for topic, _, _, message in found if topic == "/wrenches/die"][-1]["wrench"]
    assert_close(wrench["force"]["z"], run.contacts.force[-1, :, 2].sum(), COMPUTED)


@pytest.mark.long
def test_arrows_point_along_forces():
    rng = np.random.default_rng(0)
    for d in (*np.eye(3), *-np.eye(3), *rng.normal(size=(5, 3))):
        assert_close(so3.from_quaternion(_from_x(d))[:, 0], d / np.linalg.norm(d), COMPUTED)


@pytest.mark.long
def test_runs_for_rerun(tmp_path):
    """Rerun's own command line verifies the file, and lists what is in it."""
    pytest.importorskip("rerun")
    command = Path(sys.executable).with_name("rerun")
    if not command.exists():
        pytest.skip("rerun's command line is not beside Python")
    _, run = tumbling()
    run.save(tmp_path / "run.rrd")
    assert [path.name for path in tmp_path.iterdir()] == ["run.rrd"]
    done = [
        subprocess.run([command, "rrd", what, tmp_path / "run.rrd"], capture_output=True, text=True, check=True)
        for what in ("verify", "print")
    ]
    assert "1 file verified without error" in done[0].stderr + done[0].stdout
    rows = re.findall(r"with (\d+) rows .*? - (\S+) - data columns: \[(.*?)\]", done[1].stdout)
    moves = [(int(count), columns) for count, path, columns in rows if path == "/world/die"]
    assert (len(run), "Transform3D:quaternion Transform3D:translation") in moves
    drawn = " ".join(columns for _, path, columns in rows if path.startswith("/world/die/shape_"))
    for kind in ("Ellipsoids3D", "Capsules3D", "Mesh3D"):
        assert kind in drawn
    assert {"/world/contacts", "/wrench/die/fz"} <= {path for _, path, _ in rows}


@pytest.mark.long
def test_runs_as_time_samples_of_usd(tmp_path):
    usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    robot, run = tumbling()
    run.save(tmp_path / "run.usda")
    stage = usd.Stage.Open(str(tmp_path / "run.usda"))
    rate = stage.GetTimeCodesPerSecond()
    assert_close(stage.GetEndTimeCode() / rate, run.t[-1], COMPUTED)
    prim = stage.GetPrimAtPath("/dice/die")
    for k, t in enumerate(run.t):
        T = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(t * rate)).T
        assert_close(T, robot.pose(run.q[k], "die"), SINGLE)
    again = load(str(tmp_path / "run.usda"))
    assert again.nq == 7
    assert_close(again.mass_matrix(run.q[0]), robot.mass_matrix(run.q[0]), COMPUTED)


@pytest.mark.long
def test_endings(tmp_path):
    _, run = arm()
    with pytest.raises(DalembertError, match=r"unknown ending '\.xyz'.*\.mcap"):
        run.save(tmp_path / "run.xyz")
