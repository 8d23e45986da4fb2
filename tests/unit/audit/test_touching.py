"""The rules on contacts of a run and on links that collide: what passes, what is found, and what is not run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, load
from dalembert.audit import Audit
from dalembert.model.geometry import Box, Sphere
from loose_bodies import standing, table


@pytest.fixture(scope="module")
def resting() -> Any:
    return table().simulate(*standing(0.32), duration=0.2, step=2e-3, contact=Contact(friction=0.6))


def judged(run: Any) -> Audit:
    return table().audit(rules=["contact-run"], run=run)


def test_a_table_at_rest_passes(resting: Any) -> None:
    assert judged(resting).passed == ("contact-run",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"force": 0.9}, "carries 105.9 N at rest, the robot weighs 117.7 N"),
        ({"gap": -2e-3}, "is 2 mm deep"),
        ({"unsettled": 3, "worst": 1e-2}, "3 steps did not reach the tolerance"),
        ({"friction": 3.0}, "the friction coefficient is 3"),
        ({"tilt": 0.7}, "asks for 1.17 times the friction there is"),
    ],
)
def test_what_is_wrong_with_a_run(resting: Any, changes: dict[str, Any], said: str) -> None:
    contacts = resting.contacts
    if "force" in changes:
        changed = replace(contacts, force=0.9 * contacts.force)
    elif "gap" in changes:
        changed = replace(contacts, gap=contacts.gap + changes["gap"])
    elif "friction" in changes:
        changed = replace(contacts, friction=np.full(4, changes["friction"]))
    elif "tilt" in changes:
        changed = replace(
            contacts, force=contacts.force + changes["tilt"] * contacts.normal_force[..., None] * [1, 0, 0]
        )
    else:
        changed = replace(contacts, **changes)
    found = judged(replace(resting, contacts=changed)).findings
    assert any(said in finding.what for finding in found), found


def test_what_is_not_run_says_why(resting: Any) -> None:
    (skipped,) = table().audit(rules=["contact-run"]).skipped
    assert "no run with contact is given" in skipped.because
    moving = replace(resting, v=resting.v + 1.0)
    (skipped,) = judged(moving).skipped
    assert "does not end at rest" in skipped.because
    flying = replace(resting.contacts, force=0.0 * resting.contacts.force)
    (skipped,) = judged(replace(resting, contacts=flying)).skipped
    assert "nothing touches" in skipped.because


def folding(gap: float, aside: float = 0.0) -> Robot:
    """Three links in a row, the last of which can fold back onto the first; gap [m] between these at home.

    aside [m]: how far the last one lies before its joint, and turns away from the first.
    """
    builder = ModelBuilder("folding")
    builder.add_body(
        "first", parent="world", joint="revolute", axis=(0, 0, 1), lower=-1.0, upper=1.0, mass=1.0, inertia=np.eye(3)
    )
    turning = {"joint": "revolute", "axis": (0, 1, 0), "lower": -3.0, "upper": 3.0}
    for name, parent in (("second", "first"), ("third", "second")):
        builder.add_body(name, parent=parent, mass=1.0, inertia=np.eye(3), xyz=(0.2, 0, 0), **turning)
    builder.add_geometry(Box([0.1, 0.1, 0.1]), body="first", role="collision")
    builder.add_geometry(Sphere(0.02), body="second", role="collision")
    builder.add_geometry(Sphere(0.35 - aside - gap), body="third", xyz=(-aside, 0, 0), role="collision")
    return builder.build()


def test_links_that_collide_at_home_and_within_limits() -> None:
    (found,) = folding(-0.01, aside=0.1).audit(rules=["self-collision"]).findings
    assert (found.severity, found.where) == ("warning", "links 'first', 'third'")
    assert "overlap by 10 mm at home" in found.what
    (found,) = folding(0.1).audit(rules=["self-collision"]).findings
    assert found.severity == "info" and "first and third" in found.what
    (found,) = folding(-0.01).audit(rules=["self-collision"]).findings
    assert (
        found.severity == "info" and "overlap in every configuration" in found.what and "first and third" in found.what
    )
    bare = ModelBuilder("bare")
    bare.add_body("body", parent="world", joint="revolute", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3))
    (skipped,) = bare.build().audit(rules=["self-collision"]).skipped
    assert "no collision shapes" in skipped.because


def test_what_floats_is_not_placed_in_its_ground() -> None:
    """At home a free body is at the world's origin, in the middle of the floor: that says nothing."""
    floor = '<geom name="floor" type="plane" size="1 1 .1"/>'
    body = '<body name="box"><freejoint/><geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>'
    robot = load(f"<mujoco><worldbody>{floor}{body}</worldbody></mujoco>")
    assert not robot.audit(rules=["self-collision"]).findings


def test_shapes_of_a_robot_without_joints_are_looked_at() -> None:
    builder = ModelBuilder("frame")
    builder.add_body("base", parent="world", mass=1.0)
    for name in ("left", "right"):
        builder.add_body(name, parent="base", mass=1.0)
        builder.add_geometry(Box([0.1, 0.1, 0.1]), body=name, role="collision")
    robot = builder.build()
    assert robot.nv == 0 and robot.audit(rules=["self-collision"]).ok
    assert robot.near_pairs(np.zeros((4, 0)), 0.1) == ()
    with pytest.raises(DalembertError, match=r"near_pairs: q has shape \(12,\), expected \(…, 6\)"):
        load("ur5").near_pairs(np.zeros(12), 0.1)
