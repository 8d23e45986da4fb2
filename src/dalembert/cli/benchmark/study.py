"""One robot's comparison: build the peers, check that all answers agree, only then take the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert

from . import ours, peers
from .cases import Case
from .clock import Sample, race

Row = dict[str, Any]
OURS = "dalembert"


@dataclass(frozen=True)
class Settings:
    """How much is measured. Loops of peers are timed over at most `loop_states` states or about `loop_time` seconds."""

    functions: Sequence[str]
    batches: Sequence[int] = (1, 64, 4096, 2**17)
    rounds: int = 21
    round_time: float = 2e-3
    loop_states: int = 4096
    loop_time: float = 0.05
    memory: float = 1e9  # bytes of inputs and output beyond which a batch is left out
    check_states: int = 64
    seed: int = 1

    @classmethod
    def quick(cls, functions: Sequence[str]) -> Settings:
        """Enough to see where things stand, in a minute or two."""
        return cls(functions, batches=(1, 4096, 2**17), rounds=7, round_time=1e-3, loop_states=1024)


@dataclass
class Study:
    """The measurements of one robot, as rows ready for JSON."""

    timings: list[Row]
    agreement: list[Row]
    skipped: list[Row]
    operations: list[Row]


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def study(case: Case, settings: Settings, say: Callable[[str], None]) -> Study:
    """Measure one robot."""
    result = Study([], [], [], [])
    robot = case.load()
    frame = robot.joints[-1].child
    rivals: dict[str, peers.Rival] = {}
    for label in peers.installed():
        try:
            rivals[label] = peers.build(label, case, robot, frame)
        except peers.Unavailable as reason:
            result.skipped.append({"robot": case.label, "system": label, "reason": str(reason)})
    for function in settings.functions:
        say(f"{case.label}: {function.replace('_', ' ')}")
        counts = robot.operations(function, frame=frame)
        result.operations.append({"robot": case.label, "function": function, "counts": dict(counts)})
        checked = agreement(robot, frame, rivals, function, settings)
        result.agreement += [{"robot": case.label, "function": function} | row for row in checked]
        agreeing = {row["system"] for row in checked if row["error"] <= row["tolerance"]}
        admitted = {label: rival for label, rival in rivals.items() if label in agreeing}
        rows = timings(robot, frame, admitted, function, settings)
        result.timings += [{"robot": case.label, "nv": robot.nv, "function": function} | row for row in rows]
    return result


def agreement(
    robot: dalembert.Robot, frame: str, rivals: dict[str, peers.Rival], function: str, settings: Settings
) -> list[Row]:
    """Largest relative error over the states: each peer against us, and our float32 against our float64."""
    q, v, u = ours.states(robot, settings.check_states, settings.seed)
    y = ours.answer(ours.batch(robot, function, frame, q, v, u))
    # An acceleration is only as well determined as M lets it be.
    condition = float(np.linalg.cond(robot.mass_matrix(q)).max()) if function == "forward_dynamics" else 1.0
    rows = []
    for label, rival in rivals.items():
        tolerance = max(1e-10, 100 * np.finfo(np.float64).eps * condition)
        try:
            error = relative_error(y, rival.answer(function, q, v, u))
            if function in rival.batches:
                error = max(error, rival.batch_error(function, q, v, u))
        except Exception as reason:  # whatever a foreign library raises, it does not agree
            rows.append({"system": label, "error": float("inf"), "tolerance": tolerance, "reason": str(reason)})
            continue
        rows.append({"system": label, "error": error, "tolerance": tolerance})
    single = ours.answer(ours.batch(robot, function, frame, *(x.astype(np.float32) for x in (q, v, u))))
    tolerance = max(1e-3, 100 * float(np.finfo(np.float32).eps) * condition)
    rows.append({"system": f"{OURS} float32", "error": relative_error(single, y), "tolerance": tolerance})
    return rows


def relative_error(y: np.ndarray, reference: np.ndarray) -> float:
    """max over states of |y − reference|∞ / |reference|∞; inf when a number is not finite."""
    axes = tuple(range(1, y.ndim))
    error = np.abs(y - reference).max(axis=axes) / np.maximum(np.abs(reference).max(axis=axes), 1e-300)
    return float(error.max()) if np.isfinite(error).all() else float("inf")


def timings(
    robot: dalembert.Robot, frame: str, rivals: dict[str, peers.Rival], function: str, settings: Settings
) -> list[Row]:
    """One call, then every batch size, each with all contenders in turn."""
    state = ours.states(robot, settings.loop_states, settings.seed)
    jobs = {(label, "call", 1, "float64", 1): rival.call(function, *state) for label, rival in rivals.items()}
    jobs[OURS, "call", 1, "float64", 1] = ours.call(robot, function, frame, *state)
    times = race(jobs, rounds=settings.rounds, round_time=settings.round_time)
    one = {label: times[label, "call", 1, "float64", 1].best for label in rivals}
    for size in settings.batches:
        if footprint(robot, function, size) > settings.memory:
            continue
        states = ours.states(robot, size, settings.seed)
        jobs = {}
        for dtype, threads in variants(size):
            cast = [x.astype(dtype) for x in states]
            jobs[OURS, "batch", size, dtype, threads] = ours.batch(robot, function, frame, *cast, threads=threads)
        for label, rival in rivals.items():
            n = max(1, min(size, settings.loop_states, int(settings.loop_time / one[label])))
            jobs[label, "loop", size, "float64", 1] = rival.loop(function, *(x[:n] for x in states))
            if function in rival.batches:
                jobs[label, "batch", size, "float64", 1] = rival.together(function, *states)
        times |= race(jobs, rounds=settings.rounds, round_time=settings.round_time)
    return [row(key, sample) for key, sample in times.items()]


def variants(size: int) -> list[tuple[str, int]]:
    """(dtype, threads) measured for a batch of this size; small ones do not gain from threads."""
    if size < 4096:
        return [("float64", 1)]
    many = [("float64", cores()), ("float32", cores())] if cores() > 1 else []
    return [("float64", 1), ("float32", 1), *many]


def footprint(robot: dalembert.Robot, function: str, size: int) -> float:
    """Bytes of inputs and output in float64."""
    return 8.0 * size * (robot.nq + 2 * robot.nv + int(np.prod(ours.shape(robot, function))))


def row(key, sample: Sample) -> Row:
    system, mode, batch, dtype, threads = key
    times = sample.to_dict()
    return {"system": system, "mode": mode, "batch": batch, "dtype": dtype, "threads": threads} | times
