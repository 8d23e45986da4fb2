"""A run as a USD stage: the robot, and the poses of its bodies as time samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert.formats.write.losses import Losses
from dalembert.formats.write.usd import to_usd

from .drawn import Drawn

SLOWEST, FASTEST = 24.0, 1000.0  # [1/s] time codes


def write(drawn: Drawn, path: Path) -> None:
    """Write a stage that plays the run; what USD cannot say of the robot is listed in the documentation of the file."""
    losses = Losses("USD", approximate=True)
    writer = to_usd(drawn.robot.model, losses)
    notes = [f"{finding.where}: {finding.what}; {finding.action}" for finding in losses.close()]
    stage, run = writer.stage, drawn.run
    steps = np.diff(run.t)
    rate = float(np.clip(round(1.0 / float(np.median(steps))), SLOWEST, FASTEST)) if len(steps) else SLOWEST
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    if len(run):
        stage.SetStartTimeCode(float(run.t[0]) * rate)
        stage.SetEndTimeCode(float(run.t[-1]) * rate)
    gf = writer.pxr.Gf
    for i, body in enumerate(writer.bodies):
        if not body:
            continue
        translate, orient = writer.pxr.UsdGeom.Xformable(stage.GetPrimAtPath(body)).GetOrderedXformOps()[:2]
        for k, t in enumerate(run.t):
            w, x, y, z = (float(value) for value in drawn.quaternions[k, i])
            translate.Set(gf.Vec3d(*(float(value) for value in drawn.poses[k, i, :3, 3])), float(t) * rate)
            orient.Set(gf.Quatd(w, x, y, z), float(t) * rate)
    writer.save(path, [f"A run of robot {run.robot!r}, {len(run)} times, written by dalembert.", *notes])
