"""Like operations of one state on lanes, and steps that wait until a repetition needs them: bits stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load, math
from dalembert.compiler.backends.llvm.compounds import Repeating
from dalembert.compiler.backends.llvm.plan import SlotPlan
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import Function, trace

TURNS = 3
TYPES = [np.float64, np.float32]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def one_and_batch(function: Function, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Results of rows of inputs, alone, where like steps share lanes, and as a batch, whose lanes are states."""
    (output,) = function.outputs
    kernel = Kernel(function.name, function.fingerprint(), [rows.shape[1]], [output.shape], lambda: function)
    alone, together = np.full((2, len(rows), *output.shape), np.nan, rows.dtype)
    for row, result in zip(rows, alone, strict=True):
        kernel.run_one([row.copy()], [result])
    kernel.run_batch([rows], [together], (len(rows),))
    return alone, together


def packs(function: Function) -> list:
    return SlotPlan(function, 8, keep_outputs=False).packing.packs


def legs(x: np.ndarray) -> np.ndarray:
    """Four mirrored legs on a trunk: like structures with other constants and signs, sums that all of them enter."""
    trunk, total, out = x[0] * x[1], x[0], []
    for k, (side, length) in enumerate([(1.0, 0.3), (-1.0, 0.3), (1.0, -0.4), (-1.0, -0.4)]):
        a, b, c = x[2 + 3 * k : 5 + 3 * k]
        s, t = math.sin(a), math.cos(b)
        lever = side * length * s - t * (trunk + side * 0.7)
        reach = math.sqrt(lever * lever + c * c) - side * c
        bent = math.minimum(reach / (1.0 + s * s), math.maximum(lever, -c)) - math.abs(side * s - c) * length
        out.append([lever - reach, -(bent * reach), bent - side * trunk * s])
        total = total + bent
    return np.array(out) - total


@pytest.mark.parametrize("dtype", TYPES)
def test_lanes_compute_what_each_would_alone(dtype) -> None:
    function = trace(legs, {"x": 14}, name="legs")
    rows = np.random.default_rng(0).normal(size=(37, 14)).astype(dtype)
    rows[3, 5], rows[4, 6], rows[5, 2:] = np.nan, np.inf, 0.0
    assert len(packs(function)) >= 10
    np.testing.assert_array_equal(*one_and_batch(function, rows))


def turned(x: np.ndarray) -> np.ndarray:
    """Points of four legs whose joints turn about an axis, two of them about its opposite: sums are differences."""
    out = []
    for k, side in enumerate([1.0, -1.0, 1.0, -1.0]):
        a, y, z = x[3 * k : 3 * k + 3]
        s, c = side * math.sin(a), math.cos(a)
        for _ in range(TURNS):
            y, z = s * z + c * y, c * z - s * y
        out.append([y, z])
    return np.array(out)


def test_legs_that_turn_the_other_way_share_lanes() -> None:
    function = trace(turned, {"x": 12}, name="turned")
    assert len(packs(function)) == 4 * TURNS
    np.testing.assert_array_equal(*one_and_batch(function, np.random.default_rng(4).normal(size=(17, 12))))


def pushing(x: np.ndarray) -> np.ndarray:
    """Four contacts that push where they are closed: comparisons, conditions and choices."""
    out = []
    for k, friction in enumerate([0.7, 0.5, 0.8, 0.7]):
        gap, along, load = x[3 * k : 3 * k + 3]
        closed = math.logical_and(gap < 0.1, math.logical_or(load > 0.0, math.logical_not(along <= 0.3)))
        limit = friction * math.where(closed, load * load + 1.0, 0.5 - gap)
        slides = math.logical_and(closed, math.abs(along) * along + gap > limit)
        out.append([math.where(slides, limit, -along), math.where(math.logical_or(slides, gap == 0.0), 1.0, limit)])
    return np.array(out)


@pytest.mark.parametrize("dtype", TYPES)
def test_choices_are_made_on_lanes(dtype) -> None:
    function = trace(pushing, {"x": 12}, name="pushing")
    rows = np.random.default_rng(5).normal(size=(64, 12)).astype(dtype)
    rows[::7, 0], rows[3, 4] = 0.0, np.nan
    assert {"where", "lt", "and", "or"} <= {pack.op for pack in packs(function)}
    np.testing.assert_array_equal(*one_and_batch(function, rows))


def test_nothing_is_packed_that_is_not_alike() -> None:
    def chain(x: np.ndarray) -> np.ndarray:
        y = x[0]
        for number in x[1:]:
            y = y * number + 1.0 / (y * y + 2.0)
        return np.array([y])

    assert not packs(trace(chain, {"x": 9}, name="chain"))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_quadruped_has_the_same_bits_alone_and_in_a_batch(dtype) -> None:
    robot, rng = load("quadruped"), np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(9)]).astype(dtype)
    v, tau = rng.normal(size=(2, 9, robot.nv)).astype(dtype)
    together = robot.forward_dynamics(q, v, tau)
    alone = [robot.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)]
    np.testing.assert_array_equal(alone, together)


def rooted(x: np.ndarray) -> np.ndarray:
    """√|x₀| by Newton's method from 1, where x₁ is not above 0: what only its passes need is computed before them."""
    size = math.abs(x[0]) + x[1] * x[1] + 1.0
    half, begin = 0.5 * size, x[0] * 3.0

    def step(y, done):
        better = 0.5 * y + half / y
        return {"y": better, "done": math.where(math.abs(better - y) <= 1e-9 * better, 1.0, 0.0)}

    start = {"y": begin * begin + 1.0, "done": math.where(x[1] > 0.0, 1.0, 0.0)}
    return np.array([math.repeat(step, 60, start, "done")["y"], begin])


def test_steps_that_only_a_repetition_needs_wait_for_it() -> None:
    function = trace(rooted, {"x": 2}, name="rooted")
    (repeating,) = [part for part in SlotPlan(function, 8, keep_outputs=False).parts if isinstance(part, Repeating)]
    deferred = {step.op for steps in repeating.before for step in steps}
    assert {"abs", "mul"} <= deferred
    rows = np.random.default_rng(2).normal(size=(21, 2))
    alone, together = one_and_batch(function, rows)
    np.testing.assert_array_equal(alone, together)
    starts = (3.0 * rows[:, 0]) ** 2 + 1.0
    roots = np.sqrt(np.abs(rows[:, 0]) + rows[:, 1] ** 2 + 1.0)
    np.testing.assert_allclose(alone[:, 0], np.where(rows[:, 1] > 0.0, starts, roots))


def test_without_a_pass_nothing_of_it_is_computed() -> None:
    """A step that would be infinite is not taken, in any lane of a batch."""

    def guarded(x: np.ndarray) -> np.ndarray:
        reciprocal = 1.0 / (x[0] - x[0] * 1.0)

        def step(y, done):
            return {"y": y + reciprocal, "done": 1.0}

        return np.array([math.repeat(step, 1, {"y": x[1], "done": math.where(x[1] < 9.0, 1.0, 0.0)}, "done")["y"]])

    rows = np.random.default_rng(3).normal(size=(11, 2))
    for result in one_and_batch(trace(guarded, {"x": 2}, name="guarded"), rows):
        np.testing.assert_array_equal(result[:, 0], rows[:, 1])
