"""Traced functions in bounded memory: what is dropped is traced again, and nothing of a trace outlasts it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, math
from dalembert.compiler.execute import Program, RecentSame
from dalembert.compiler.graph import Function, trace, traces
from dalembert.compiler.graph.scalar import Scalar
from dalembert.compiler.graph.traces import Traced, bound
from dalembert.shapes import Sphere

FEW = 1000  # nodes: those of small programs that know no other identity; the step has thousands


def numbered(traced: list[int], name: int, size: int = 3, keep: bool = False) -> Traced:
    def build() -> Function:
        traced.append(name)
        return trace(lambda x: x * np.arange(2.0, size + 2.0), {"x": size})

    return Traced(build, keep)


def test_functions_used_last_stay(monkeypatch):
    monkeypatch.setattr(traces, "MOST", 2 * numbered([], 0)().outputs[0].nodes[0].graph.size)
    made: list[int] = []
    functions = [numbered(made, k) for k in range(3)]
    for k in (0, 1, 0, 2):
        functions[k]()
    bound()  # 1 goes
    for k in (0, 2, 1):
        functions[k]()
    assert made == [0, 1, 2, 1]


def test_a_large_function_does_not_drive_small_ones_out(monkeypatch):
    monkeypatch.setattr(traces, "MOST", 100)
    made: list[int] = []
    small, large, kept = numbered(made, 0), numbered(made, 1, 200), numbered(made, 2, 200, keep=True)
    function = large()
    kept(), small(), large()
    bound()
    small(), kept()
    assert made == [1, 2, 0]
    assert large() is not function and large().fingerprint() == function.fingerprint()


def test_machine_code_stays_when_its_function_goes(monkeypatch):
    monkeypatch.setattr(traces, "MOST", 0)
    made: list[int] = []

    def build() -> Function:
        made.append(1)
        return trace(lambda x: 2.0 * math.sin(x), {"x": 2}, "twice")

    program = Program("twice", "twice of test_traces", {"x": 2}, {"twice": (2,)}, build)
    x = np.array([[0.1, 0.2]])
    for _ in range(2):
        assert program({"x": x})["twice"] == pytest.approx(2.0 * np.sin(x))
    assert made == [1] and program.function().operations() == {"mul": 2, "sin": 2} and made == [1, 1]


def test_nothing_outlasts_a_trace():
    kept, lasting = RecentSame(4), RecentSame(4, lasting=True)
    key = object()

    def compute(x: np.ndarray) -> np.ndarray:
        assert kept.get((key,), lambda: x) is kept.get((key,), lambda: None) is x
        lasting.get((key,), lambda: "stays")
        return x

    trace(compute, {"x": 1})
    assert kept.get((key,), lambda: "new") == "new" and lasting.get((key,), lambda: "lost") == "stays"


def test_a_rollout_keeps_no_nodes(monkeypatch):
    """Neither in its step nor in what is known of its contacts, whose friction is an input of the step."""
    monkeypatch.setattr(traces, "MOST", 0)
    builder = ModelBuilder("marble")
    builder.add_body("marble", parent="world", joint="free", mass=0.1, inertia=np.eye(3) * 4e-5)
    builder.add_geometry(Sphere(0.03), body="marble", role="collision")
    robot, start = builder.build(), np.array([0.0, 0.0, 0.031, 1.0, 0.0, 0.0, 0.0])
    before = scalars()
    robot.rollout(start, np.zeros(6), step=1e-3, steps=2, contact=Contact(ground=0.0, friction=0.5))
    assert scalars() - before < FEW


def scalars() -> int:
    gc.collect()
    return sum(isinstance(x, Scalar) for x in gc.get_objects())
