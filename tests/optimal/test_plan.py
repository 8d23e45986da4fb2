"""What people do with a plan: pictures, files, motions, the command line."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import dalembert
from dalembert import cli, read_trajectory
from tolerances import COMPUTED, ITERATED

WEIGHED = 0.01  # goals that are weighed against effort [rad or m]


@cache
def plan():
    robot = dalembert.load("2r").without("friction")
    problem = robot.optimal_control(
        lambda q, v, u, goal: {"speed": (0.1, v), "effort": (1e-3, u - robot.gravity(q)), "goal": (1.0, q - goal)},
        lambda q, v, goal: {"goal": (1e2, q - goal), "rest": (1.0, v)},
        step=0.02,
        nodes=30,
        goal=2,
        limits={"torque": 30.0, "velocity": 1.0},
    )
    return problem.solve([0.3, -0.2], goal=[0.8, 0.5])


def test_as_a_motion():
    motion = plan().motion
    assert motion.duration == pytest.approx(0.6)
    assert np.allclose(motion.q(plan().t), plan().q, atol=COMPUTED)
    assert np.allclose(motion.v(plan().t[1:-1]), plan().v[1:-1], atol=COMPUTED)
    assert motion.title == "plan"


def test_free_bodies_as_a_motion():
    robot = dalembert.load("quadrotor")
    hover = 0.028 * 9.81
    turned = np.array([0.2, 0.0, 0.1, np.cos(0.3), 0.0, 0.0, np.sin(0.3)])
    found = robot.optimal_control(
        lambda q, v, u: {"effort": (np.array([1e3, 1e3, 1e3, 1.0]), u - np.array([0, 0, 0, hover]))},
        lambda q, v: {"there": (1e2, robot.difference(turned, q)), "rest": (1.0, v)},
        step=0.02,
        nodes=50,
        actuation=lambda q, v, u: np.array([u[0], u[1], u[2], 0.0, 0.0, u[3]], object),
        control_count=4,
    ).solve(robot.neutral())
    assert np.allclose(found.motion.q(found.t[::7]), found.q[::7], atol=ITERATED)
    assert np.allclose(found.tau[:, 5], found.u[:, 3]) and not found.tau[:, 3:5].any()


def test_saved_and_read_again(tmp_path):
    plan().save(tmp_path / "plan.csv")
    again = read_trajectory(tmp_path / "plan.csv", plan().problem.robot)
    assert np.allclose(again.q, plan().q) and np.allclose(again.tau[:-1], plan().u)


def test_plot_shows_states_controls_limits_and_costs():
    figure = plan().plot()
    panels = figure.axes
    assert len(panels) == 4
    assert [len([x for x in axes.lines if len(x.get_xdata()) > 2]) for axes in panels[:3]] == [2, 2, 2]
    dashed = [line for line in panels[1].lines if line.get_linestyle() == "--"]
    assert any(abs(line.get_ydata()[0] - 1.0) < COMPUTED for line in dashed)
    assert [label.get_text() for label in panels[3].get_yticklabels()] == list(plan().costs)


def test_view_plays_the_plan():
    pytest.importorskip("viser")
    with plan().view() as viewer:
        assert viewer.url.startswith("http")


def test_summary_says_what_matters():
    assert "converged" in plan().summary() and "effort" in plan().summary()


def test_command(tmp_path, capsys):
    out, picture = tmp_path / "plan.npz", tmp_path / "plan.png"
    arguments = ["plan", "2r", "--goal", "0.3,0,0.4", "--nodes", "40", "--limits", "torque"]
    assert cli.main([*arguments, "--out", str(out), "--plot", str(picture)]) == 0
    assert "converged" in capsys.readouterr().out
    assert out.exists() and picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["converged"] and said["missed_by"] < WEIGHED and len(said["joints"]) == 2
    assert cli.main(["plan", "2r", "--goal", "9,0,0", "--nodes", "40", "--limits", "torque"]) == 1
    assert "out of reach" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--goal", "0.9,0"], "expected 3"),
        (["--goal", "there"], "numbers separated by commas"),
        (["--goal", "0.3,0,0.4", "--limits", "speed"], "speed"),
        (["--goal", "0.3,0,0.4", "--start", "1"], "expected 2"),
        (["--goal", "0.3,0,0.4", "--duration", "0"], "above 0"),
        (["--goal", "0.3,0,0.4", "--frame", "hand"], "hand"),
        (["--goal", "0.3,0,0.4", "--nodes", "0"], "≥ 1"),
        (["--goal", "0.3,0,0.4", "--base", "free"], "--base fixed"),
    ],
)
def test_bad_commands(arguments, words, capsys):
    assert cli.main(["plan", "2r", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_joints_that_do_not_move_the_tool_are_held(tmp_path, capsys):
    """Of an arm beside a head: the plan is that of the arm, the file has all joints, the head where it was."""
    builder = dalembert.ModelBuilder("torso")
    link = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": np.eye(3) * 0.01, "axis": (0, 1, 0), "effort_limit": 50.0}
    builder.add_body("head", parent="world", joint="revolute", joint_name="nod", **link)
    builder.add_body("upper", parent="world", joint="revolute", joint_name="shoulder", **link)
    builder.add_body("lower", parent="upper", joint="revolute", joint_name="elbow", xyz=(0.4, 0, 0), **link)
    builder.add_frame("tool", body="lower", xyz=(0.4, 0, 0))
    builder.build().save(tmp_path / "torso.urdf")
    arguments = ["plan", str(tmp_path / "torso.urdf"), "--goal", "0.5,0,-0.3", "--frame", "tool", "--nodes", "40"]
    arguments += ["--start", "0.3,0.2,0.4", "--limits", "torque", "--out", str(tmp_path / "plan.csv"), "--json"]
    assert cli.main(arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["held"] == ["nod"] and [row["joint"] for row in content["joints"]] == ["shoulder", "elbow"]
    robot = dalembert.load(tmp_path / "torso.urdf")
    written = dalembert.read_trajectory(tmp_path / "plan.csv", robot)
    assert np.allclose(written.q[:, 0], 0.3) and np.allclose(written.tau[:, 0], robot.gravity([0.3, 0, 0])[0])
    assert np.linalg.norm(robot.pose(written.q[-1], "tool")[:3, 3] - [0.5, 0, -0.3]) < WEIGHED
