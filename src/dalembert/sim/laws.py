"""Torque laws: what people may pass as `torque`, and the system that it drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compile import real_array
from dalembert.errors import DalembertError
from dalembert.graph import trace
from dalembert.model import Model

from .failure import SimulationError
from .system import Law


@dataclass(frozen=True, eq=False)
class Drive:
    """How a run is driven: numbers u for each leg between `times`, or a law.

    times (k,): begin of each leg [s], the first 0; values (k, 2nv+1): u of each leg. called: a Python function that is
    asked for its values; function: the law, traced or called, or None. log: what the user should know.
    """

    times: np.ndarray
    values: np.ndarray
    function: Law | None = None
    called: bool = False
    log: tuple[str, ...] = ()


def drive(model: Model, torque: Any, duration: float) -> Drive:
    """From None, an array, (times, values), or a function (t, q, v) → tau."""
    n = model.nv
    if torque is None:
        return Drive(np.zeros(1), np.zeros((1, 0)))
    if callable(torque):
        return _function(model, torque)
    if isinstance(torque, tuple) and len(torque) == 2 and np.ndim(torque[1]) == 2:
        return _linear(n, *torque, duration)
    values = _numbers(torque, f"expected ({n},) or (steps, {n}) for robot {model.name!r}")
    if values.shape == (n,):
        values = values[None]
    if values.ndim != 2 or values.shape[1] != n or not len(values):
        raise DalembertError(
            f"simulate: torque has shape {values.shape}, expected ({n},) constant, (steps, {n}) over the duration, "
            f"(times, values), or a function (t, q, v) → tau, for robot {model.name!r}"
        )
    times = np.arange(len(values)) * (duration / len(values))
    u = np.concatenate([values, np.zeros_like(values), times[:, None]], axis=1)
    log = (f"torque: {len(values)} rows, each held for {duration / len(values):.6g} s",) if len(values) > 1 else ()
    return Drive(times, u, log=log)


def _linear(n: int, times: Any, values: Any, duration: float) -> Drive:
    """Straight lines between given points; the first and last value hold outside."""
    t, x = _numbers(times, "expected times (k,)"), _numbers(values, f"expected values (k, {n})")
    if t.ndim != 1 or x.shape != (len(t), n) or len(t) < 2 or np.any(np.diff(t) <= 0.0):
        raise DalembertError(
            f"simulate: torque is (times {t.shape}, values {x.shape}), expected rising times (k,) with k ≥ 2 and "
            f"values (k, {n})"
        )
    slopes = np.diff(x, axis=0) / np.diff(t)[:, None]
    legs = [(0.0, x[0], np.zeros(n), 0.0)] if t[0] > 0.0 else []
    legs += [(t[k], x[k], slopes[k], t[k]) for k in range(len(t) - 1)]
    legs.append((t[-1], x[-1], np.zeros(n), t[-1]))
    current = max(k for k, leg in enumerate(legs) if leg[0] <= 0.0)
    legs = [leg for leg in legs[current:] if leg[0] < duration]
    begins = np.array([max(leg[0], 0.0) for leg in legs])
    u = np.array([np.concatenate([a, b, [c]]) for _, a, b, c in legs])
    return Drive(begins, u, log=(f"torque: straight lines between {len(t)} points",))


def _numbers(x: Any, expected: str) -> np.ndarray:
    a = real_array("simulate: torque", x, expected).astype(float)
    if not np.all(np.isfinite(a)):
        raise DalembertError("simulate: torque has NaN or inf, expected finite numbers")
    return a


def _function(model: Model, law: Callable[..., Any]) -> Drive:
    """Traced if it can be, called back otherwise."""
    name = getattr(law, "__name__", type(law).__name__)

    def on_vectors(t: Any, q: Any, v: Any) -> np.ndarray:
        return _shaped(model, name, law(t[0], q, v))

    try:
        made = trace(on_vectors, {"t": 1, "q": model.nq, "v": model.nv}, "torque")
    except SimulationError:
        raise
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        why = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        log = (f"torque: {name} cannot be traced ({why}) and is called back from Python, which is slower",)
        return Drive(np.zeros(1), np.zeros((1, 2 * model.nv + 1)), Checked(model, name, law), called=True, log=log)
    return Drive(np.zeros(1), np.zeros((1, 0)), TracedLaw(law, made.fingerprint()))


@dataclass(frozen=True, eq=False)
class TracedLaw:
    """A law that can be traced, known by what it computes now: a function may change with what it refers to."""

    function: Law
    fingerprint: str

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        return self.function(t, q, v)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedLaw) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _shaped(model: Model, name: str, tau: Any) -> np.ndarray:
    array = np.asarray(tau)
    if array.shape != (model.nv,):
        raise SimulationError(
            f"simulate: torque function {name} returned shape {array.shape}, expected ({model.nv},) for robot "
            f"{model.name!r}"
        )
    return array


@dataclass(frozen=True, eq=False)
class Checked:
    """A law of the user's, asked for numbers, which are looked at."""

    model: Model
    name: str
    law: Callable[..., Any]

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = _shaped(self.model, self.name, np.asarray(self.law(float(t), q.copy(), v.copy()), float))
        if not np.all(np.isfinite(tau)):
            k = int(np.argmin(np.isfinite(tau)))
            raise SimulationError(
                f"simulate: at t = {float(t):.6g} s torque function {self.name} returned {tau[k]} for joint "
                f"{self.model.freedom_names[k]!r}, expected finite numbers: look at what it does with q = {q}, v = {v}"
            )
        return tau
