"""The figures of a report as SVG text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from dalembert import notebook
from dalembert.audit.closed import ClosedManifold, motors
from dalembert.logs import Trajectory
from dalembert.robot import Robot
from dalembert.sim.run.plot import COLUMN, style
from dalembert.sim.run.run import Run

SAMPLES = 4000
GRID = 61


def figure(width: float, height: float, **layout: Any) -> tuple[Any, Any]:
    """A matplotlib figure without a display, and its axes."""
    picture = notebook.figure(width, height)
    return picture, picture.subplots(**layout)


def svg(picture: Any) -> str:
    """SVG text to stand inside a page; the same bytes for the same data."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dalembert", "svg.fonttype": "none"}):
        picture.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    content = text.getvalue()
    return content[content.index("<svg") :]


def names(robot: Robot) -> list[tuple[str, int]]:
    """Joints of one coordinate and where they are in v."""
    return [(b.joint.name, b.v.start) for b in robot.model.independent if b.joint.nv == 1]


def workspace(robot: Robot, frame: str) -> str:
    """Where the frame gets to: side view and top view of random configurations, a floating base held, loops closed."""
    rng = np.random.default_rng(5)
    if robot.model.closures:
        q = ClosedManifold(robot, motors(robot.model)).sample(rng)
    else:
        q = robot.random(rng, SAMPLES)
    root = robot.model.base
    q[:, root.q] = robot.neutral()[root.q]
    points = robot.pose(q, frame)[:, :3, 3]
    picture, axes = figure(9, 4.2, ncols=2)
    for axis, (i, j) in zip(axes, ((0, 2), (0, 1)), strict=True):
        axis.scatter(points[:, i], points[:, j], s=2, alpha=0.35, color="#3b6fb0", rasterized=True)
        axis.set(xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]", aspect="equal")
        axis.grid(alpha=0.3)
        axis.locator_params(nbins=5)
    axes[0].set_title(f"reach of {frame}, from the side")
    axes[1].set_title("from above")
    return svg(picture)


def gravity_map(robot: Robot) -> str | None:
    """Gravity torque of the two most loaded joints over their angles, the others in the middle of their ranges."""
    joints = names(robot)
    if len(joints) < 2 or robot.model.closures:  # loops do not let two angles be chosen
        return None
    load = np.max(np.abs(robot.gravity(robot.random(np.random.default_rng(6), 500))), axis=0)
    first, second = sorted(sorted(joints, key=lambda item: -load[item[1]])[:2], key=lambda item: item[1])
    bodies = [robot.model.joint(name) for name, _ in (first, second)]
    spans = [_span(body.joint) for body in bodies]
    x, y = (np.linspace(low, high, GRID) for low, high in spans)
    q = np.tile(_middle(robot), (GRID, GRID, 1))
    q[..., bodies[0].q.start], q[..., bodies[1].q.start] = x[:, None], y[None, :]
    held = robot.gravity(q)
    if np.ptp(held[..., [first[1], second[1]]], axis=(0, 1)).max() <= 1e-6 * max(1.0, np.abs(held).max()):
        return None  # constant, as of a vertical slide: no map needed
    angles = [body.joint.units[0] == "rad" for body in bodies]
    shown = [np.degrees(values) if angle else values for values, angle in zip((x, y), angles, strict=True)]
    labels = [f"{name} [{'°' if angle else 'm'}]" for (name, _), angle in zip((first, second), angles, strict=True)]
    picture, axes = figure(9, 3.8, ncols=2)
    for axis, (name, k) in zip(axes, (first, second), strict=True):
        turning = robot.model.freedom_units[k] == "rad"
        image = axis.pcolormesh(*shown, held[..., k].T, cmap="RdBu_r", shading="auto", rasterized=True)
        picture.colorbar(image, ax=axis, label="N·m" if turning else "N")
        axis.set(xlabel=labels[0], ylabel=labels[1], title=f"gravity {'torque' if turning else 'force'} of {name}")
    return svg(picture)


def curves(robot: Robot, motion: Trajectory, tau: np.ndarray) -> str | None:
    """Torque and power of every joint along the motion; None for a robot without joints of one coordinate."""
    if not names(robot):
        return None
    picture, axes = figure(9, 6, nrows=2, sharex=True)
    joints = names(robot)
    for place, (name, k) in enumerate(joints):
        axes[0].plot(motion.t, tau[:, k], label=name, **style(place))
        axes[1].plot(motion.t, tau[:, k] * motion.v[:, k], **style(place))
    axes[0].set(ylabel="torque [N·m], force [N]")
    axes[1].set(xlabel="t [s]", ylabel="power [W]")
    for axis in axes:
        axis.grid(alpha=0.3)
    size, columns = ("small", 1) if len(joints) <= COLUMN else ("xx-small", -(-len(joints) // (2 * COLUMN)))
    axes[0].legend(fontsize=size, loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=columns)
    return svg(picture)


def contact_curves(run: Run | None) -> str | None:
    """Gaps, normal forces and shares of the friction of a run; None without contacts."""
    return None if run is None or run.contacts is None else svg(run.contacts.plot())


def support(run: Run | None) -> str | None:
    """Forces and friction cones of the last instant from the side, and the support from above; None without contacts.

    From above: where points touched, the polygon that they span at the end, and the way of the zero-moment point.
    """
    if run is None or run.contacts is None:
        return None
    contacts = run.contacts
    pushing = np.flatnonzero(contacts.normal_force[-1] > 0.0)
    if not len(pushing):
        return None
    picture, (side, top) = figure(9, 4.2, ncols=2)
    position, force, normal = contacts.position[-1, pushing], contacts.force[-1, pushing], contacts.normal[-1, pushing]
    span = max(float(np.ptp(position[:, :2], axis=0).max()), 0.1)
    scale = 0.5 * span / float(np.linalg.norm(force, axis=1).max())
    across = np.stack([normal[:, 2], 0.0 * normal[:, 0], -normal[:, 0]], axis=1)  # along x for a level ground
    height = scale * contacts.normal_force[-1, pushing][:, None]
    for sign in (-1.0, 1.0):
        edge = position + height * (normal + sign * contacts.friction[pushing][:, None] * across)
        side.plot([position[:, 0], edge[:, 0]], [position[:, 2], edge[:, 2]], color="#7896be", linewidth=0.8)
    side.quiver(
        position[:, 0], position[:, 2], scale * force[:, 0], scale * force[:, 2],
        angles="xy", scale_units="xy", scale=1.0, color="#d63c28", width=0.006,
    )  # fmt: skip
    side.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title=f"forces and cones at t = {contacts.t[-1]:.3g} s")
    side.margins(0.15)
    side.set_ylim(top=float((position[:, 2:] + 1.2 * height).max()))
    touched = contacts.position[contacts.normal_force > 0.0]
    top.scatter(touched[:, 0], touched[:, 1], s=3, color="#b0b8c4", label="touched")
    top.scatter(position[:, 0], position[:, 1], s=16, color="#3b6fb0", label="touches at the end")
    corners = contacts.support_polygon()
    if len(corners):
        ring = np.concatenate([corners, corners[:1]])
        top.plot(ring[:, 0], ring[:, 1], color="#3b6fb0", linewidth=1.0, label="support")
    zero = contacts.zero_moment_point
    top.plot(zero[:, 0], zero[:, 1], color="#d63c28", linewidth=1.0, label="zero-moment point")
    top.plot(zero[-1:, 0], zero[-1:, 1], "x", color="#d63c28")
    top.set(
        xlabel="x [m]", ylabel="y [m]", aspect="equal", title=f"margin at the end {1e3 * contacts.margin[-1]:.3g} mm"
    )
    top.margins(0.15)
    top.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    for axis in (side, top):
        axis.grid(alpha=0.3)
    return svg(picture)


def _middle(robot: Robot) -> np.ndarray:
    q = robot.neutral()
    for body in robot.model.independent:
        if body.joint.nv == 1 and np.all(np.isfinite([body.joint.lower, body.joint.upper])):
            q[body.q] = 0.5 * (body.joint.lower + body.joint.upper)
    return q


def _span(joint: Any) -> tuple[float, float]:
    low, high = float(joint.lower[0]), float(joint.upper[0])
    reach = joint.reach[0]  # of a joint without limits
    return (max(low, -reach), min(high, reach)) if joint.turns or np.isinf(high - low) else (low, high)
