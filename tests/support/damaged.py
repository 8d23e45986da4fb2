"""A sound arm of uniform solids, and ways to damage robots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dalembert import Robot, load
from dalembert.audit import expectations_of
from dalembert.audit.expectations import (
    ContactExpectations,
    ControllerExpectations,
    Expectations,
    SimulationExpectations,
)
from dalembert.logs import Trajectory


def solid_arm(limits: str = 'lower="-2" upper="2" effort="500" velocity="3"', wheel_axis: str = "0 0 1") -> str:
    """Three bars of one density (1 m, 0.6 m, 0.4 m long, 2700 kg/m³), with a wheel of the same at the end."""
    parts = ['<robot name="bars"><link name="base"/>']
    parent, x = "base", 0.0
    for name, length, width, height in (
        ("upper", 1.0, 0.08, 0.06),
        ("fore", 0.6, 0.06, 0.05),
        ("last", 0.4, 0.05, 0.03),
    ):
        m, I = 2700 * length * width * height, _moments(length, width, height)
        place = f'<origin xyz="{length / 2} 0 0"/>'
        shape = f'<visual>{place}<geometry><box size="{length} {width} {height}"/></geometry></visual>'
        parts.append(_link(name, place, m, I, shape))
        parts.append(_joint(f"{name}_joint", "revolute", parent, name, x, "0 1 0", limits))
        parent, x = name, length
    m, r, h = 2700 * np.pi * 0.05**2 * 0.02, 0.05, 0.02
    shape = f'<visual><geometry><cylinder radius="{r}" length="{h}"/></geometry></visual>'
    parts.append(_link("wheel", "", m, [m * (3 * r * r + h * h) / 12] * 2 + [m * r * r / 2], shape))
    parts.append(_joint("wheel_joint", "continuous", parent, "wheel", x, wheel_axis, 'effort="5" velocity="20"'))
    return "\n".join([*parts, "</robot>"])


def _moments(length: float, width: float, height: float) -> list[float]:
    m = 2700 * length * width * height
    return [m / 12 * (a * a + b * b) for a, b in ((width, height), (length, height), (length, width))]


def _link(name: str, place: str, m: float, I: list[float], shape: str) -> str:
    tensor = f'<inertia ixx="{I[0]}" ixy="0" ixz="0" iyy="{I[1]}" iyz="0" izz="{I[2]}"/>'
    return f'<link name="{name}"><inertial>{place}<mass value="{m}"/>{tensor}</inertial>{shape}</link>'


def _joint(name: str, kind: str, parent: str, child: str, x: float, axis: str, limits: str) -> str:
    drive = '<dynamics damping="0.5" friction="0.4"/><dalembert armature="0.1"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<limit {limits}/>{drive}</joint>'


@cache
def arm() -> Robot:
    return load(solid_arm())


def turned(I: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return R @ I @ R.T


def heavier(robot: Robot, factor: float) -> Robot:
    editor = robot.edit()
    for body in robot.model.bodies:
        for part in body.parts:
            if part.inertia.mass > 0:
                I = part.inertia
                editor.set_inertia(part.name, mass=I.mass * factor, inertia=I.about_com() * factor)
    return editor.done()


def slow_log(robot: Robot, *, scale: float = 1.0, n: int = 400) -> Trajectory:
    """Four seconds of sines on all joints with the torques of the robot."""
    t = np.linspace(0.0, 4.0, n)
    w = scale * (1.0 + 0.37 * np.arange(robot.nv))
    q, v, a = 0.6 * np.sin(t[:, None] * w), 0.6 * w * np.cos(t[:, None] * w), -0.6 * w**2 * np.sin(t[:, None] * w)
    return Trajectory(t, q, v, a, robot.inverse_dynamics(q, v, a))


def simulated(step: float, integrator: str = "semi-implicit", stiffness: float | None = None) -> dict[str, Any]:
    contact = ContactExpectations(stiffness=stiffness) if stiffness else None
    return {"expect": Expectations(simulation=SimulationExpectations(step, integrator), contact=contact)}


def controlled(kp: float, kd: float) -> dict[str, Any]:
    return {"expect": Expectations(controller=ControllerExpectations(kp=kp, kd=kd))}


def expected(name: str) -> dict[str, Any]:
    return {"expect": expectations_of(load(name))}


def changed(name: str, method: str, *arguments: Any, **keywords: Any) -> Callable[[], Robot]:
    """A bundled robot, or the arm of bars, after one edit."""

    def damaged() -> Robot:
        return getattr((arm() if name == "bars" else load(name)).edit(), method)(*arguments, **keywords).done()

    return damaged


def inertia(link: str, **values: Any) -> Callable[[], Robot]:
    return changed("bars", "set_inertia", link, **values)


def joint(name: str, **values: Any) -> Callable[[], Robot]:
    return changed("bars", "set_joint", name, **values)


FORE = next(part for body in arm().model.bodies for part in body.parts if part.name == "fore").inertia
MASS, COM, TENSOR = float(FORE.mass), FORE.com, FORE.about_com()
ABOUT_ORIGIN = TENSOR + MASS * (COM @ COM * np.eye(3) - np.outer(COM, COM))
EXCHANGED = np.diag(np.diag(TENSOR)[[2, 1, 0]])


def impossible() -> Robot:
    return load(solid_arm().replace(f'izz="{_moments(0.6, 0.06, 0.05)[2]}"', 'izz="40"'))


def shape_in_millimetres() -> Robot:
    return load(solid_arm().replace('size="0.6 0.06 0.05"', 'size="600 60 50"'))


def placeholders() -> Robot:
    editor = arm().edit()
    for link in ("upper", "fore", "last"):
        editor.set_inertia(link, mass=1.0, inertia=np.eye(3))
    return editor.done()


def on_axis() -> Robot:
    return arm().edit().set_inertia("wheel", inertia=np.zeros((3, 3))).set_joint("wheel_joint", armature=0.0).done()


def coaxial() -> Robot:
    editor = arm().edit()
    for joint in ("fore_joint", "last_joint"):
        editor.set_joint(joint, axis=(1, 0, 0))
    return editor.done()


def yaw() -> Robot:
    names = {"upper_joint": "trunk_pitch", "fore_joint": "arm_pitch", "last_joint": "hand_yaw"}
    return arm().edit().rename(joints=names).done()


def quadruped_without(effect: str) -> Robot:
    robot = load("quadruped")
    editor = robot.edit()
    for joint in robot.joints[1:]:
        editor.set_joint(joint.name, armature=0.01, damping=0.1, friction=0.0)
    return editor.set_joint("FL_swing", **{effect: 0.0}).done()


def with_nan(log: Trajectory) -> Trajectory:
    v = log.v.copy()
    v[7, 1] = np.nan
    return replace(log, v=v)


def massless_wheel() -> Robot:
    wheel = arm().edit().set_inertia("wheel", mass=0.0, inertia=np.zeros((3, 3)))
    return wheel.set_joint("wheel_joint", armature=0.0).done()


def negated(log: Trajectory) -> Trajectory:
    assert log.tau is not None
    return replace(log, tau=-log.tau)
