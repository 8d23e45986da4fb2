"""SDF files that others wrote: the legged robot Cassie, with loops, springs, gearboxes and ball joints."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from dalembert import load
from dalembert.dynamics import algorithms
from peers.example_robots import folder
from tolerances import RECURSION, assert_close

FILES = {  # gears, closures
    "cassie": (10, 6),
    "cassie_reduced": (0, 4),
    "cassie_simple": (0, 4),
    "cassie_v2": (0, 4),
    "cassie_wo_gearbox_spring": (0, 4),
}


@pytest.mark.parametrize("name", FILES)
def test_cassie(name: str) -> None:
    file = folder() / "cassie_description" / "robots" / f"{name}.sdf"
    robot = load(file)
    model, (gears, loops) = robot.model, FILES[name]
    assert sum(joint.leader is not None for joint in robot.joints) == gears
    assert len(model.closures) == loops
    root = ElementTree.parse(file).getroot()
    stated = [float(mass.text) for mass in root.iter("mass")]
    assert_close(sum(body.inertia.mass for body in model.bodies), sum(stated), RECURSION)
    q = np.asarray(algorithms.neutral(model), float)
    for closure in model.closures:  # the layout of the file closes every loop
        a, b = (algorithms.frame_pose(model, q, frame) for frame in (closure.a, closure.b))
        assert_close(closure.residual(a.inverse() @ b), np.zeros(closure.count), RECURSION)
    start = algorithms.frame_pose(model, q, model.frame("pelvis")).inverse()
    for link in root.iter("link"):
        height = [float(x) for x in link.find("pose").text.split()]
        pelvis = [float(x) for x in next(root.iter("link")).find("pose").text.split()]
        found = (start @ algorithms.frame_pose(model, q, model.frame(link.get("name")))).p
        assert_close(found, np.subtract(height[:3], pelvis[:3]), RECURSION)
