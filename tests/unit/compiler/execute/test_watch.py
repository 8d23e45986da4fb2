"""Watches: what changes is noticed, what cannot be seen is said."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from dalembert import Contact, load
from dalembert.compiler.execute.watch import Watch

NUMBER, NUMBERS, TABLE = 1.0, [1.0, 2.0], {"a": 1.0}


def by_names(x):
    return math.sin(NUMBER) * NUMBERS[0] + TABLE["a"] + x


def reading(x):
    return random.random() + x


def importing(x):
    import os

    return os.getpid() + x


def reaching(x):
    return eval("x")


def test_changes_are_noticed():
    global NUMBER
    array, watch = np.zeros(3), Watch(by_names)
    assert watch.complete and watch.still()
    for change, back in (
        (lambda: NUMBERS.append(1.0), NUMBERS.pop),
        (lambda: TABLE.update(a=2.0), lambda: TABLE.update(a=1.0)),
    ):
        watch = Watch(by_names)
        change()
        assert not watch.still()
        back()
    watch = Watch(by_names)
    NUMBER = 2.0
    assert not watch.still()
    watch = Watch(lambda x: array + x)
    assert watch.still()
    array[1] = 1e-300
    assert not watch.still()
    inner = [by_names]
    watch = Watch(inner)
    inner[0] = reading
    assert not watch.still()


@pytest.mark.parametrize("x", [reading, importing, reaching, object(), np.zeros(10_000), {1: object()}, open])
def test_what_cannot_be_seen_is_said(x):
    assert not Watch(x).complete


def test_robots_and_contacts_are_seen():
    robot = load("2r")
    assert Watch(robot, robot.model, Contact(), lambda q: robot.gravity(q)).complete
    assert Watch(None, 1, "a", (1.0, 2), np.float64(3.0), np.sin, math.cos).still()
