"""Closed linkages that several tests move."""

from __future__ import annotations

import numpy as np

from dalembert import ModelBuilder, Robot
from dalembert.spatial import Pose

LINK = {
    "mass": 20.0,
    "com": (2, 0, 0),
    "inertia": np.diag([0.08333333333333334, 29.46666666666666, 29.416666666666668]),
}


def at(x: float) -> Pose:
    return Pose(np.eye(3), np.array([x, 0.0, 0.0]))


def four_bar(kind: str = "revolute") -> Robot:
    """Three links of 4 m, 20 kg; pivots 2 m apart, as in Drake's example of the four-bar linkage."""
    builder = ModelBuilder("four-bar", gravity=(0.0, 0.0, -9.8))
    for name, parent, x in (("A", "world", 0.0), ("B", "A", 4.0), ("C", "world", -2.0)):
        builder.add_body(
            name, parent=parent, joint="revolute", joint_name=f"joint_{name}", axis=(0, 1, 0), xyz=(x, 0, 0), **LINK
        )
    shape = {"axis": (0, 1, 0)} if kind == "revolute" else {}
    builder.add_closure("pin", kind, a="B", b="C", placement_a=at(4.0), placement_b=at(4.0), **shape)
    return builder.build()


def crossed(s: float) -> np.ndarray:
    """q of the four-bar's crank angle: the coupler's tip lies on the rocker's circle."""
    elbow = np.array([4.0 * np.cos(s), -4.0 * np.sin(s)])
    d = elbow - np.array([-2.0, 0.0])
    reach = np.hypot(*d)
    turn = np.arccos(reach / 8.0)
    rocker = np.arctan2(-d[1], d[0]) - turn
    tip = np.array([-2.0 + 4.0 * np.cos(rocker), -4.0 * np.sin(rocker)])
    coupler = np.arctan2(-(tip - elbow)[1], (tip - elbow)[0]) - s
    return np.array([s, coupler, rocker])
