"""Emitted C and CUDA compared with stored files, so that a change in folding, order or layout is seen in review.

After an intended change: DALEMBERT_UPDATE_GOLDEN=1 pytest tests/golden
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dalembert import math
from dalembert.compiler.backends import c, cuda
from dalembert.compiler.graph import Loop, trace

HERE = Path(__file__).parent
MASS, LENGTH, GRAVITY = (2.0, 1.5), (0.5, 0.4), 9.81


def two_link(q, v, a):
    """Mass matrix and torques of a planar arm with point masses at the ends of its links."""
    (m1, m2), (l1, l2) = MASS, LENGTH
    c2, s2 = math.cos(q[1]), math.sin(q[1])
    m12 = m2 * l2 * (l2 + l1 * c2)
    M = np.array([[m1 * l1 * l1 + m2 * (l1 * l1 + 2.0 * l1 * l2 * c2 + l2 * l2), m12], [m12, m2 * l2 * l2]], object)
    h = m2 * l1 * l2 * s2
    bias = np.array([-h * (2.0 * v[0] * v[1] + v[1] * v[1]), h * v[0] * v[0]])
    outer = m2 * l2 * GRAVITY * math.cos(q[0] + q[1])
    gravity = np.array([(m1 + m2) * l1 * GRAVITY * math.cos(q[0]) + outer, outer])
    return {"M": M, "tau": M @ a + bias + gravity}


def swing(q, v, tau, step):
    """One semi-implicit step of a damped pendulum with a saturated torque."""
    torque = math.maximum(-1.0, math.minimum(1.0, tau[0]))
    v = v + step[0] * (torque - 0.1 * v - GRAVITY * math.sin(q[0]))
    return {"q_end": q + step[0] * v, "v_end": v, "power": torque * v[0]}


def two_link_function():
    return trace(two_link, {"q": 2, "v": 2, "a": 2}, name="two_link")


def pendulum_loop():
    return Loop(
        trace(swing, {"q": 1, "v": 1, "tau": 1, "step": 1}, name="pendulum_rollout"),
        carry=(("q_end", "q"), ("v_end", "v")),
        sequence=("tau",),
        record=("power",),
    )


SOURCES = {
    "two_link": lambda: c.emit(two_link_function()),
    "pendulum_rollout": lambda: c.emit(pendulum_loop(), dtype="float"),
}
KERNELS = {
    "two_link": lambda: cuda.emit(two_link_function()),
    "pendulum_rollout": lambda: cuda.emit(pendulum_loop(), dtype="float"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_emitted_c_is_as_stored(name):
    source = SOURCES[name]()
    compare(f"{name}.h", source.header)
    compare(f"{name}.c", source.source)


@pytest.mark.parametrize("name", KERNELS)
def test_emitted_cuda_is_as_stored(name):
    compare(f"{name}.cu", KERNELS[name]().text)


def compare(file: str, text: str) -> None:
    if os.environ.get("DALEMBERT_UPDATE_GOLDEN"):
        (HERE / file).write_text(text, encoding="ascii", newline="\n")
    assert text == (HERE / file).read_text(encoding="ascii"), f"{file} changed; if meant: {__doc__.splitlines()[-1]}"
