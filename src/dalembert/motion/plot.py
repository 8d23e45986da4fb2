"""Pictures of a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.notebook import figure
from dalembert.robot import Robot

from .motion import Motion
from .points import freedom_names

SAMPLES = 1001
LEGEND = 14


def plot(motion: Motion, robot: Robot | None = None) -> Any:
    """A figure with q, v and a over time; limits of position and velocity as thin dashed lines."""
    mover = robot if robot is not None else motion.robot
    if mover is not None:
        motion.of(mover, "plot")
    t = np.linspace(0.0, motion.duration, SAMPLES)
    state = motion.at(t)
    names = freedom_names(mover, motion.nv)
    coordinates = names if motion.nq == motion.nv or mover is None else mover.model.coordinate_names
    kinds = set() if mover is None else {u for body in mover.model.independent for u in body.joint.units}
    units = ", ".join(sorted(kinds, reverse=True))
    picture = figure(9.0, 7.0)
    panels = picture.subplots(3, 1, sharex=True)
    for axes, values, label, rate in zip(panels, state, "qva", ("", "/s", "/s²"), strict=True):
        curves = coordinates if label == "q" else names
        for k, name in enumerate(curves):
            style = {"color": f"C{k % 10}", "linestyle": ("-", "--", ":", "-.")[k // 10 % 4]}
            axes.plot(t, values[:, k], linewidth=1.2, label=name, **style)
            if mover is not None and label != "a":
                _limits(axes, mover, label, k, values[:, k], style["color"])
        axes.set_ylabel(f"{label} [{units}{rate}]" if units else label)
        axes.grid(alpha=0.3)
    if motion.nv <= LEGEND:
        panels[0].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    panels[-1].set_xlabel("t [s]")
    picture.suptitle(motion.title if mover is None else f"{mover.name}, {motion.title}")
    return picture


def _limits(axes: Any, robot: Robot, label: str, k: int, values: np.ndarray, color: str) -> None:
    """Limits that the curve comes near to: those far away would flatten the picture."""
    limits = robot.limits
    bounds = (limits.lower[k], limits.upper[k]) if label == "q" else (-limits.velocity[k], limits.velocity[k])
    room = 0.5 * max(float(np.ptp(values)), 1e-3)
    for bound in bounds:
        if np.isfinite(bound) and values.min() - room < bound < values.max() + room:
            axes.axhline(bound, color=color, linewidth=0.8, linestyle="--", alpha=0.6)
