"""Regrouping: zeros where the joint allows, and the same equations of motion."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from dalembert.dynamics.algorithms import rnea
from dalembert.dynamics.algorithms.mass import Mass
from dalembert.dynamics.algorithms.regroup import regrouped
from dalembert.model import ModelBuilder
from tolerances import PRODUCT, RECURSION, assert_close
from trees import random_mass, random_model, random_state

# for the axis z: which of m, hx hy hz, Pxx Pyy Pzz Pxy Pxz Pyz stay with the child
LEFT = {
    "revolute": (0, 1, 1, 0, 1, 1, 0, 1, 1, 1),
    "continuous": (0, 1, 1, 0, 1, 1, 0, 1, 1, 1),
    "prismatic": (1, 1, 1, 1, 0, 0, 0, 0, 0, 0),
    "screw": (1, 1, 1, 1, 1, 1, 0, 1, 1, 1),
    "cylindrical": (1, 1, 1, 1, 1, 1, 0, 1, 1, 1),
    "planar": (1, 1, 1, 1, 1, 1, 0, 1, 1, 1),
    "universal": (0, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "ball": (0, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "free": (1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
}


def numbers(mass):
    return np.array([mass.m, *mass.h, *np.diag(mass.P), mass.P[0, 1], mass.P[0, 2], mass.P[1, 2]])


@pytest.mark.parametrize("kind", LEFT)
def test_zeros_take_the_place_of_what_the_joint_leaves_at_rest(kind):
    builder = ModelBuilder("one")
    pitch = {"pitch": 0.01} if kind == "screw" else {}
    mass = random_mass(np.random.default_rng(1))
    builder.add_body("child", parent="world", joint=kind, axis=(0, 0, 1), **pitch, **mass)
    builder.add_body("tip", parent="child", joint="revolute", axis=(0, 1, 0))
    masses = regrouped(builder.model())
    child = masses[0 if kind == "free" else 1]
    assert np.array_equal(numbers(child) != 0.0, np.array(LEFT[kind], bool))


def test_a_fine_screw_still_lifts_its_mass():
    """However small the pitch, the weight on the screw is felt: m g pitch."""
    builder = ModelBuilder("press")
    builder.add_body("nut", parent="world", joint="screw", pitch=1e-9, mass=3.0)
    tau = rnea(builder.model(), np.zeros(1), np.zeros(1), np.zeros(1))
    assert_close(tau / 1e-9, [3.0 * 9.81], PRODUCT)


@pytest.mark.parametrize("seed", range(4))
def test_regrouped_masses_move_alike_and_weigh_alike(seed, monkeypatch):
    model = random_model(seed, n_bodies=10, base="free")
    q, v, a = random_state(np.random.default_rng(seed), model)
    tau = rnea(model, q, v, a)
    plain = [Mass.of(body.inertia) for body in model.bodies]
    assert_close(sum(m.m for m in regrouped(model)), sum(m.m for m in plain), RECURSION)
    monkeypatch.setattr(import_module("dalembert.dynamics.algorithms.rnea"), "regrouped", lambda _: plain)
    assert_close(tau, rnea(model, q, v, a), RECURSION)
