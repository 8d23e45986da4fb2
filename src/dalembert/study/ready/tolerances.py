"""Which error of the model matters for which joint's torque."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.study.distributions.model_errors import ModelErrors, cad_errors
from dalembert.study.distributions.space import MODEL, Space

from ..job import study
from ..result import Result
from ..rows import Chunked
from ..sensitivity import sobol_indices

INSTANTS = 40  # of a motion, at most
LISTED = 12  # parameters of the text
SMALL = 1e-12  # of the largest variance: a joint whose torque varies less depends on none of the errors


@dataclass(frozen=True)
class Tolerance:
    """Errors of torques by errors of the model; print it to read it.

    deviation (nv,): standard deviation of each joint's torque [N·m or N], over a motion as a root mean square; peak
    (nv,): the largest torque there. first, total (nv, parameters): shares of that variance that a parameter explains by
    itself, and with all its interactions. contribution (nv, parameters): the standard deviation that each causes by
    itself. result: the study.
    """

    joints: tuple[str, ...]
    parameters: tuple[str, ...]
    deviation: np.ndarray
    peak: np.ndarray
    first: np.ndarray
    total: np.ndarray
    result: Result

    @property
    def contribution(self) -> np.ndarray:
        """Standard deviations (nv, parameters) of torque that each parameter causes by itself."""
        return self.deviation[:, None] * np.sqrt(np.maximum(self.first, 0.0))

    def __str__(self) -> str:
        lines = []
        for k, joint in enumerate(self.joints):
            peak = f", {100 * self.deviation[k] / self.peak[k]:.1f} % of the peak" if self.peak[k] > 0.0 else ""
            lines.append(f"{joint}: ± {self.deviation[k]:.3g}{peak}")
            order = np.argsort(-self.total[k], kind="stable")[: max(3, LISTED // max(1, len(self.joints)))]
            for i in order:
                if self.total[k, i] > 0.005:
                    lines.append(f"    {min(1.0, self.total[k, i]):6.1%}  {self.parameters[i]}")
        return "\n".join(lines)

    def plot(self) -> Any:
        """A matplotlib figure: the share of each parameter in the variance of each joint's torque."""
        from dalembert.report.figures import figure

        order = np.argsort(-self.total.max(axis=0), kind="stable")[:LISTED]
        picture, axis = figure(9.0, 1.5 + 0.4 * len(order))
        shown = axis.imshow(np.clip(self.total[:, order].T, 0.0, 1.0), aspect="auto", vmin=0.0, cmap="Blues")
        axis.set_yticks(range(len(order)), [self.parameters[i] for i in order])
        axis.set_xticks(range(len(self.joints)), list(self.joints), rotation=30, ha="right")
        picture.colorbar(shown, ax=axis, label="share of the variance of the torque")
        return picture


@dataclass(frozen=True)
class _Torques(Chunked):
    """The rows of `tolerance`: torques of a motion, with the model's errors as live parameters."""

    q: tuple[tuple[float, ...], ...]
    v: tuple[tuple[float, ...], ...]
    a: tuple[tuple[float, ...], ...]
    names = ("torque",)

    def chunk(
        self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int
    ) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """See `Chunked.chunk`."""
        errors = space.axes[MODEL]
        assert isinstance(errors, ModelErrors)
        groups = errors.live(robot.model, values[MODEL])
        compiled = _compiled(robot, tuple(groups))
        each = {name: x[:, None] for name, x in groups.items()}
        return {"torque": compiled(np.array(self.q), np.array(self.v), np.array(self.a), **each)}, {}


@lru_cache(maxsize=4)
def _compiled(robot: Robot, groups: tuple[str, ...]) -> Any:
    return robot.compile("inverse_dynamics", live=groups, batch=True)


def tolerance(
    robot: Robot,
    errors: ModelErrors | None = None,
    q: Any = None,
    v: Any = None,
    a: Any = None,
    *,
    samples: int = 512,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> Tolerance:
    """Which parameter's error matters for which joint's torque, by Sobol's indices.

    errors: default `study.cad_errors()`; `study.model_errors(mass=0.02, com=0.003)` for a shop's own. q, v, a: a state
    (nq,), (nv,), (nv,), default home at rest; or a motion (T, …), of which at most 40 instants count.
    """
    errors = cad_errors() if errors is None else errors
    if not isinstance(errors, ModelErrors):
        raise DalembertError(
            f"tolerance: errors is of type {type(errors).__name__}, expected study.cad_errors() or "
            "study.model_errors(…)"
        )
    motion = _motion(robot, q, v, a)
    row = _Torques(*(tuple(map(tuple, x.tolist())) for x in motion))
    job = study(robot, Space(model=errors), row, samples=samples, method="saltelli", seed=seed)
    result = job.run(folder, executor)
    torque = result.table()["torque"]  # (rows, T, nv)
    block, nv = result.draw.per_sample, robot.nv
    names = tuple(label.removeprefix(f"{MODEL}.") for label, _ in result.draw.factors)
    values = torque.reshape(-1, block, torque.shape[1], nv)
    base = torque.reshape(-1, block, torque.shape[1], nv)[:, :2].reshape(-1, torque.shape[1], nv)
    variance = base.var(axis=0)  # (T, nv)
    first, total = np.zeros((nv, len(names))), np.zeros((nv, len(names)))
    for k in range(nv):
        weights = variance[:, k]
        if weights.max() <= SMALL * max(variance.max(), np.finfo(float).tiny):
            continue
        for t in np.flatnonzero(weights > SMALL * weights.max()):
            found = sobol_indices("torque", list(names), values[:, :, t, k], intervals=False)
            share = weights[t] / weights.sum()
            first[k] += share * found.first
            total[k] += share * found.total
    nominal = np.abs(np.atleast_2d(robot.inverse_dynamics(*motion)))
    deviation = np.sqrt(variance.mean(axis=0))
    return Tolerance(robot.model.freedom_names, names, deviation, nominal.max(axis=0), first, total, result)


def _motion(robot: Robot, q: Any, v: Any, a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instants q (T, nq), v (T, nv), a (T, nv), checked."""
    q = robot.home().q if q is None else np.asarray(q, float)
    given = [np.atleast_2d(q)]
    for x in (v, a):
        given.append(np.atleast_2d(np.zeros(robot.nv) if x is None else np.asarray(x, float)))
    count = max(len(x) for x in given)
    for name, x, size in zip("qva", given, (robot.nq, robot.nv, robot.nv), strict=True):
        if x.ndim != 2 or x.shape[1] != size or len(x) not in (1, count):
            raise DalembertError(
                f"tolerance: {name} has shape {x.shape}, expected ({size},) or ({count}, {size}) for robot "
                f"{robot.name!r}"
            )
    chosen = np.unique(np.linspace(0, count - 1, min(count, INSTANTS)).round().astype(int))
    q, v, a = (np.broadcast_to(x, (count, x.shape[1]))[chosen] for x in given)
    return robot.normalize(q), np.ascontiguousarray(v), np.ascontiguousarray(a)
