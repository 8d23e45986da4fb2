"""What the audit of a run says of its contacts: heat that falls is impossible, whatever the residual."""

from __future__ import annotations

from dataclasses import replace

from dalembert import Contact
from loose_bodies import box, standing

STEP = 1e-3


def test_heat_that_falls_is_named_with_body_and_instant() -> None:
    """A box that slides to rest; then with the heat of its friction taken for that of a contact that gives it back."""
    q, v = standing(0.1, 3.0, 0.0, 0.0)
    run = box().simulate(q, v, 0.4, step=STEP, contact=Contact(friction=0.5))
    assert "gave back" not in run.audit().text
    heat = dict(run.energy.heat)
    heat["contact friction"] = -heat["contact friction"]
    audit = replace(run, energy=replace(run.energy, heat=heat)).audit()
    assert audit.verdict == "poor"
    assert "contact friction gave back" in audit.text and "J by t = 0.4 s" in audit.text
    assert "'box' on 'ground'" in audit.text


def test_a_box_that_is_thrown_is_not_accused() -> None:
    q, v = standing(0.5, 3.0, 0.0, 0.0)
    v[:3] = 1.0, 4.0, -2.0
    run = box().simulate(q, v, 1.5, step=STEP, contact=Contact(friction=0.5, restitution=0.4))
    assert "gave back" not in run.audit().text
