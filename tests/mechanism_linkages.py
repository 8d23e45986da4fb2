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
