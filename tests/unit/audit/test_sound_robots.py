"""Sound robots that an audit must not reject: gravity does no work on them, or their files say more than URDF."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot, load
from dalembert.audit import expectations_of

LINK = {"mass": 1.0, "com": (0.25, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.02])}
INERTIAL = (
    '<inertial><origin xyz=".2 0 0"/><mass value="1"/>'
    '<inertia ixx=".01" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial>'
)
VENDOR = '<dynamics damping="0.1" D="0.003" K="7000" mu_coulomb="0.2" mu_viscous="16"/>'


def arm(kinds: str, axis, gravity=(0.0, 0.0, -9.81), base: str = "fixed") -> Robot:
    builder = ModelBuilder("sound", gravity=gravity)
    builder.add_body("base", parent="world", joint=base, **LINK)
    for k, kind in enumerate(kinds):
        joint = {"r": "revolute", "p": "prismatic", "c": "continuous"}[kind]
        limits = {} if kind == "c" else {"lower": -1.0, "upper": 1.0}
        parent = f"link{k - 1}" if k else "base"
        builder.add_body(f"link{k}", parent=parent, joint=joint, axis=axis, xyz=(0.5, 0.0, 0.0), **limits, **LINK)
    return Robot(builder.model())


def gallery_spacecraft() -> Robot:
    builder = ModelBuilder("spacecraft", gravity=(0, 0, 0))
    builder.add_body("hull", parent="world", joint="free", mass=100.0, inertia=np.diag([20.0, 25.0, 30.0]))
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        moments = np.full(3, 0.03) + 0.02 * np.abs(axis)
        wheel = {"joint": "continuous", "joint_name": name, "axis": axis, "mass": 2.0, "inertia": np.diag(moments)}
        builder.add_body(f"{name}_wheel", parent="hull", **wheel)
    return builder.build()


SOUND = {
    "spacecraft of the gallery": gallery_spacecraft,
    "horizontal 2R": lambda: arm("rr", (0.0, 0.0, 1.0)),
    "horizontal 2R under tilted axes": lambda: arm("rr", (0.0, 1.0, 0.0), gravity=(0.0, -9.81, 0.0)),
    "one joint without gravity": lambda: arm("r", (0.0, 1.0, 0.0), gravity=(0.0, 0.0, 0.0)),
    "horizontal slide": lambda: arm("p", (1.0, 0.0, 0.0)),
    "spacecraft with wheels": lambda: arm("ccc", (0.0, 0.0, 1.0), gravity=(0.0, 0.0, 0.0), base="free"),
    "free fall": lambda: arm("", (0.0, 0.0, 1.0), base="free"),
}


@pytest.mark.parametrize("name", SOUND)
def test_gravity_need_not_work(name: str) -> None:
    robot = SOUND[name]()
    audit = robot.audit()
    assert not audit.failed or audit.failed == ("gravity-direction",), str(audit)
    assert audit.ok and audit.count("error") == 0, str(audit)
    assert {"energy", "passivity", "mass-matrix"} <= set(audit.checked)
    judged = robot.audit(expect=expectations_of(robot), rules=["step-energy", "expected-gravity"])
    assert judged.count("error") == 0, str(judged)
    assert all(row.gravity == 0.0 for row in audit.headroom)


def test_attributes_of_a_vendor_are_one_finding_each() -> None:
    joints = "".join(
        f'<link name="l{k + 1}">{INERTIAL}</link><joint name="j{k}" type="revolute"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><origin xyz=".3 0 0"/><axis xyz="0 1 0"/>'
        f'<limit lower="-1" upper="1" effort="80" velocity="2"/>{VENDOR}</joint>'
        for k in range(7)
    )
    audit = load(f'<robot name="seven"><link name="l0"/>{joints}</robot>').audit()
    found = [finding for finding in audit.findings if finding.rule == "import"]
    assert len(found) == 4 and all(finding.what.startswith("7 × attribute '") for finding in found)
    assert audit.ok


def test_a_report_says_how_much_was_checked() -> None:
    audit = load("ur5e").audit()
    count = len(audit.rules)
    assert 0 < len(audit.checked) < count and not audit.failed
    assert f"{len(audit.checked)} of {count} checked, none failed" in str(audit).splitlines()[0]
    assert "score" not in str(audit) and not hasattr(audit, "score")
    gravity = next(step for step in audit.steps if step.title == "Gravity")
    assert gravity.status == "partly" and "expected-gravity" in gravity.missing
    assert "passed" not in str(gravity) and "not checked: expected-gravity" in str(gravity)
    assert "a wrong mass, centre of mass or axis" in str(gravity)
    for step in audit.steps:
        assert step.status != "passed" or not step.missing


def test_what_did_not_run_is_not_checked() -> None:
    audit = load("2r").audit(rules=["log-finite", "names"])
    assert audit.checked == ("names",) and "1 of 2 checked" in audit.summary()
    blocked = load("quadruped").audit(payload=5.0, frame="trunk", rules=["headroom"])
    assert not blocked.ok and "0 of 1 checked, none failed, 1 could not run" in blocked.summary()
