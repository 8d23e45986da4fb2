"""The audit on every URDF file of example-robot-data: the robots known to be faulty are found, the sound ones pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalembert import Robot, load
from dalembert.audit import RULES
from dalembert.audit.classes import legs
from peers.example_robots import EMPTY, files, folder

MESHES = (
    "shape",
    "moments",
    "density",
    "com-place",
    "self-collision",
)  # these read hundreds of files; tests of their own try them on shapes
DYNAMIC = ("gravity", "mass-matrix", "passivity", "integrator")  # steps whose rules compile the robot
STATIC = [name for name, rule in RULES.items() if rule.step not in DYNAMIC and name not in MESHES] + ["mass-missing"]
# links whose inertia is impossible or missing, counted in the files by hand
FAULTY = {
    "icub_description/robots/icub.urdf": 14,
    "hyq_description/robots/hyq_no_sensors.urdf": 6,
    "anymal_c_simple_description/urdf/anymal.urdf": 5,
    "allegro_hand_description/urdf/allegro_left_hand.urdf": 4,
    "quadruped_description/urdf/quadruped.urdf": 4,
}
TABLE = dict(
    line.rsplit(" ", 1)
    for line in Path(__file__).with_name("audit_robots.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)


def upright(robot: Robot) -> Robot:
    """Legged robots are meant to be loaded with a free base, which URDF cannot say."""
    limbs = legs(robot.model)
    return robot.edit().base("free").done() if limbs >= 2 and not robot.model.floating else robot


@pytest.mark.parametrize("file", FAULTY)
def test_faulty_links_are_found(file: str) -> None:
    audit = load(folder() / file).audit(rules=["inertia-possible", "inertia-missing"])
    assert len({finding.where for finding in audit.findings}) == FAULTY[file]


@pytest.mark.parametrize("file", sorted(set(files()) - EMPTY))
def test_findings_are_those_looked_at(file: str) -> None:
    """rule:count of errors and warnings, as each was looked at in the file; "clean" for none."""
    audit = upright(load(folder() / file)).audit(rules=STATIC)
    found = [f.rule for f in audit.findings if f.severity != "info"]
    counts = ",".join(f"{rule}:{found.count(rule)}" for rule in sorted(set(found)))
    assert (counts or "clean") == TABLE[file]


def test_most_robots_are_clean() -> None:
    assert len(TABLE) == len(files()) - len(EMPTY)
    assert sum(counts == "clean" for counts in TABLE.values()) >= 33
