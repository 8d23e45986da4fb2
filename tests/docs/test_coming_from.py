"""The page for those who know another library: its snippets run there, where it is installed, and give our numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dalembert import load
from tolerances import OPTIMAL, REACHED, RECURSION, SOLVER_DEFAULT, assert_close

PAGE = Path(__file__).parent.parent.parent / "docs" / "coming_from.md"
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]  # rows [v; ω] of our [ω; v]
BEFORE = {  # what a reader has imported by then
    "Drake": """
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import MultibodyForces
from pydrake.systems.framework import DiagramBuilder
builder = DiagramBuilder()
"""
}


def snippets(library: str) -> list[str]:
    """The other library's block, and ours."""
    section = PAGE.read_text("utf-8").split(f"\n## {library}\n")[1].split("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for ending in ("urdf", "xml"):
        load("ur5").save(f"arm.{ending}")
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6))
    goal = load("ur5").pose(q + 0.1, "tool0")
    return {"np": np, "load": load, "q": q, "v": v, "a": a, "tau": np.zeros(6), "goal": goal}


def both(library: str, state: dict) -> tuple[dict, dict]:
    """The variables after each of the two snippets."""
    theirs, ours = snippets(library)
    sides = dict(state), dict(state)
    exec(BEFORE.get(library, "") + theirs, sides[0])
    exec(ours, sides[1])
    return sides


def test_pinocchio(state):
    pytest.importorskip("pinocchio")
    theirs, ours = both("Pinocchio", state)
    for name in ("tau", "a", "dq", "dv", "da"):
        assert_close(theirs[name], ours[name], 100 * RECURSION)
    assert_close(np.triu(theirs["M"]), np.triu(ours["M"]), RECURSION)
    assert_close(theirs["J"], ours["J"][LINEAR_FIRST], RECURSION)


def test_mujoco(state):
    pytest.importorskip("mujoco")
    theirs, ours = both("MuJoCo", state)
    for name in ("tau", "a", "M", "q", "v"):
        assert_close(theirs[name], ours[name], 100 * RECURSION)


def test_drake(state):
    pytest.importorskip("pydrake")
    theirs, ours = both("Drake", state)
    for name in ("tau", "M"):
        assert_close(theirs[name], ours[name], 100 * RECURSION)


def test_robotics_toolbox(state):
    """At positive speeds: its Coulomb friction is another one for each direction, ours is smooth below 0.01 rad/s."""
    pytest.importorskip("roboticstoolbox")
    theirs, ours = both("Robotics Toolbox for Python", {**state, "v": 0.5 + np.abs(state["v"])})
    assert_close(theirs["tau"], ours["tau"], 100 * RECURSION)
    assert_close(theirs["T"].A, ours["T"], RECURSION)


def test_mink(state):
    """Six joints determine the pose: both arrive at the same ones."""
    pytest.importorskip("mink")
    theirs, ours = both("mink and pink", state)
    assert_close(theirs["reached"], ours["reached"], SOLVER_DEFAULT)


def test_crocoddyl(state):
    pytest.importorskip("crocoddyl")
    theirs, ours = both("Crocoddyl", state)
    assert_close(theirs["cost"], ours["cost"], OPTIMAL)


def test_pydy(state):
    pytest.importorskip("sympy")
    theirs, ours = both("PyDy", state)
    for name in ("M", "acceleration"):
        assert_close(theirs[name], ours[name], RECURSION)


def test_goals_and_plans_of_this_side(state):
    """Without the peers: the snippets reach their goal, and plan to it."""
    for library in ("mink and pink", "Crocoddyl"):
        names = dict(state)
        exec(snippets(library)[1], names)
        last = names["reached"] if "reached" in names else names["plan"].q[-1]
        assert_close(names["robot"].pose(last, "tool0")[:3, 3], state["goal"][:3, 3], 10 * REACHED)


def test_every_section_has_both_sides():
    libraries = ("Pinocchio", "MuJoCo", "Drake", "Robotics Toolbox for Python", "mink and pink", "Crocoddyl", "PyDy")
    for library in libraries:
        assert len(snippets(library)) == 2
