"""A rule that finds nothing to look at does not pass: it did not run, and says why."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, load

BALL = {"mass": 1.0, "com": (0.0, 0.0, 0.1), "inertia": 0.01 * np.eye(3)}
ALWAYS = {"import", "names", "base"}


def one_body(gravity=(0.0, 0.0, -9.81), **options):
    builder = ModelBuilder("one", gravity=gravity)
    builder.add_body("link", parent="world", **options)
    return builder.build()


def skipped(audit):
    return {each.rule: each.because for each in audit.skipped}


def test_a_plate_without_mass_or_joint_passes_next_to_nothing():
    audit = one_body().audit()
    assert set(audit.passed) == ALWAYS | {"gravity-direction"}
    assert skipped(audit)["inertia-possible"] == "no link has a mass"
    assert skipped(audit)["limits-empty"] == "no joint states a range"


def test_a_joint_without_limits_has_none_to_check():
    audit = one_body(joint="revolute", axis=(0, 1, 0), **BALL).audit()
    limits = {
        "limits-empty",
        "limits-degrees",
        "limits-speed",
        "limits-zero-effort",
        "neutral-outside",
        "friction-size",
    }
    assert limits <= set(skipped(audit))
    assert {"mass-matrix", "mass-condition", "passivity", "energy"} <= set(audit.passed)


def test_links_without_mass_have_no_laws_to_keep():
    because = skipped(one_body(joint="revolute", axis=(0, 1, 0)).audit())
    for rule in ("gravity-by-hand", "passivity", "derivatives", "inertia-missing", "com-far"):
        assert rule in because


@pytest.mark.parametrize("axis", [(0, 1, 0), (0, 0, 1)])
def test_energy_is_checked_in_motion_where_gravity_moves_nothing(axis):
    """Without gravity, or about an upright axis, a robot at rest stays there."""
    robot = one_body((0, 0, 0) if axis[1] else (0, 0, -9.81), joint="revolute", axis=axis, **BALL)
    speeds = []
    whole = type(robot).simulate

    def watched(self, q, v, *options, **named):
        speeds.append(np.abs(v).max())
        return whole(self, q, v, *options, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(robot), "simulate", watched)
        audit = robot.audit(rules=["energy", "gravity-by-hand"])
    assert "energy" in audit.passed
    assert speeds[0] > 0.0
    assert ("gravity-by-hand" in audit.passed) == (axis[2] == 1)


def test_a_quadrotor_has_no_joints_whose_inertias_could_be_uneven():
    audit = load("quadrotor").audit(rules=["mass-condition"])
    assert not audit.findings
    assert skipped(audit) == {"mass-condition": "no joint of one freedom moves"}


def test_a_small_joint_on_a_heavy_arm_is_named_as_before():
    builder = ModelBuilder("arm")
    builder.add_body(
        "arm", parent="world", joint="revolute", axis=(0, 1, 0), mass=50.0, com=(0, 0, 1), inertia=np.eye(3)
    )
    builder.add_body("finger", parent="arm", joint="revolute", axis=(1, 0, 0), mass=0.01, inertia=1e-4 * np.eye(3))
    (finding,) = builder.build().audit(rules=["mass-condition"]).findings
    assert "cond(M) reaches" in finding.what
