"""The rule of the audit that tries the controller a robot is meant for, in its eleventh step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.audit import Found, NotRun, Subject, rule
from dalembert.model import motorized

from .audit import audit
from .laws.joint import computed_torque

RATE = 1000.0  # Hz, where none is stated


@rule(
    "closed-loop",
    "controller",
    "warning",
    reason="gains that look right can ring, saturate or not stand a delay or an inexact model on this robot",
    cure="`dalembert control ROBOT` shows margins and a run: lower the frequency, raise the rate, or mend the model",
)
def closed_loop(subject: Subject) -> Iterator[Found]:
    stated = subject.expect.controller if subject.expect else None
    if stated is None or stated.kp is None or stated.kd is None:
        raise NotRun("no controller is stated with kp and kd ([controller] of --expect FILE)")
    model = subject.model
    if stated.kp <= 0.0 or stated.kd <= 0.0:
        raise NotRun("the stated gains are not above 0")
    if model.closures or not motorized(model).all():
        raise NotRun("only robots with a motor at every joint are tried")
    frequency = float(np.sqrt(stated.kp))
    smooth = subject.robot.without("friction")  # which would hide that a loop rings
    law = computed_torque(smooth, subject.q[0], frequency, stated.kd / (2.0 * frequency))
    tried = audit(law, subject.q[0], period=1.0 / (stated.rate or RATE))
    for finding in tried.findings:
        if finding.severity != "ok" and finding.topic != "time budget":  # times differ from machine to machine
            what = f"{finding.topic}: {finding.what}"
            yield Found(f"robot '{model.name}'", what, "error" if finding.severity == "error" else None)
