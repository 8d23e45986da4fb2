"""Mechanisms that several tests move."""

from __future__ import annotations

import numpy as np

from dalembert import Mechanism

SECTION = 0.03  # [m]: side of square bars, of 1000 kg/m³


def add_bar(mechanism: Mechanism, name: str, length: float, **options) -> None:
    """A square bar from its point "a" to its point "b"."""
    mass = 1000.0 * length * SECTION**2
    moments = mass / 12.0 * np.array([2.0 * SECTION**2, length**2 + SECTION**2, length**2 + SECTION**2])
    points = {"a": (-0.5 * length, 0.0), "b": (0.5 * length, 0.0)}
    mechanism.body(name, mass, moments, points=points, **options)


def slider_crank(speed: float = 20.0, pin: str = "revolute") -> Mechanism:
    """Crank of 0.15 m, rod of 0.4 m, slider of 1 kg."""
    m = Mechanism("slider-crank", gravity=(0.0, -9.81, 0.0))
    m.ground(A=(0.0, 0.0))
    add_bar(m, "crank", 0.15)
    add_bar(m, "rod", 0.4)
    m.body("slider", 1.0, [1.0 / 600.0] * 3)
    m.joint("revolute", "ground.A", "crank.a", name="pivot", start=0.0, rate=speed)
    m.joint(pin, "crank.b", "rod.a", name="pin")
    m.joint("revolute", "rod.b", "slider.origin", name="wrist")
    m.joint("prismatic", "ground.A", "slider.origin", name="guide", axis=(1.0, 0.0, 0.0))
    return m


def four_bar(
    crank: float = 0.1, coupler: float = 0.3, rocker: float = 0.25, frame: float = 0.3, **options
) -> Mechanism:
    """A crank-rocker in the x-y plane; options: of the crank's pivot."""
    m = Mechanism("four-bar", gravity=(0.0, -9.81, 0.0))
    m.ground(A=(0.0, 0.0), D=(frame, 0.0))
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        add_bar(m, name, length)
    m.joint("revolute", "ground.A", "crank.a", name="A", **({"start": 1.0} | options))
    m.joint("revolute", "crank.b", "coupler.a", name="B")
    m.joint("revolute", "coupler.b", "rocker.b", name="C")
    m.joint("revolute", "ground.D", "rocker.a", name="D")
    return m


def chain(count: int) -> Mechanism:
    """Bars in a row, hinged to each other and to the ground, stretched out level."""
    m = Mechanism("chain", gravity=(0.0, -9.81, 0.0))
    for k in range(count):
        add_bar(m, f"b{k}", 0.2, xyz=(0.2 * k + 0.1, 0.0))
        m.joint("revolute", "ground.origin" if not k else f"b{k - 1}.b", f"b{k}.a", name=f"j{k}")
    return m


KINDS = {
    "fixed": {}, "revolute": {}, "prismatic": {}, "screw": {"pitch": 0.02}, "cylindrical": {}, "universal": {},
    "spherical": {}, "planar": {"axis": (0, 1, 0)}, "point-on-line": {}, "point-on-plane": {}, "distance": {"length":
    0.3},
}  # fmt: skip


def two_bodies(kind: str, **options) -> Mechanism:
    """An arm on the ground and a body that a joint of that kind holds to it."""
    m = Mechanism(kind)
    m.ground(A=((0.0, 0.0, 1.0), (0.3, -0.2, 0.4)))
    m.body("arm", 2.0, [0.02, 0.03, 0.04], com=(0.1, 0, 0), points={"tip": ((0.4, 0.1, 0.0), (0.5, 0.2, -0.3))})
    m.body("hand", 1.0, [0.01, 0.02, 0.015], com=(0.1, 0.05, 0.2), points={"base": ((0.0, 0.0, -0.1), (0.1, 0.3, 0.2))})
    m.joint("revolute", "ground.A", "arm.origin", name="shoulder", axis=(0, 1, 0), start=0.2, rate=1.5)
    m.joint(kind, "arm.tip", "hand.base", name="wrist", **(KINDS[kind] | options))
    if kind in ("point-on-line", "point-on-plane", "distance"):
        m.spring("hand.com", "ground.A", stiffness=40.0, length=0.2, damping=0.5)
    return m
