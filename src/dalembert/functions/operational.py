"""Operational space: the dynamics as a task feels it; and hybrid dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import is_single, is_traced
from dalembert.interop import is_foreign

from .catalogue import LoadPlace, Options
from .evaluation import Evaluation, Keywords, column
from .structure import ORIGIN, Wrench

PARTS = {"orientation": (0, 1, 2), "position": (3, 4, 5)}  # rows of a frame


class OperationalDynamics(NamedTuple):
    """Λ ẍ + μ + p = F of a task with k rows: (…, k, k), (…, k), (…, k), and J̄ (…, nv, k)."""

    inertia: np.ndarray
    bias: np.ndarray
    gravity: np.ndarray
    inverse: np.ndarray


class HybridDynamics(NamedTuple):
    """Acceleration and generalised force of every joint, each (…, nv)."""

    a: np.ndarray
    tau: np.ndarray


class Operational(Evaluation):
    """Inertia, dynamics and null space of tasks.

    A task is [ω; v] of the point `point` of a frame along `axes`, as in `jacobian`; of several frames given as a tuple
    of names, stacked (the point then has the same coordinates in each). rows: which of the 6 rows, or 6 per frame, make
    the task: "position", "orientation" (of every frame) or numbers, such as (3, 4, 5) for the position of the first.

    damping: Λ = (J M⁻¹ Jᵀ + damping² 1)⁻¹, damped least squares; the root of a mobility, 1/√kg or 1/√(kg·m²) by row.
    Without damping, a task whose rows depend on one another (more rows than freedoms, a singular configuration) has no
    inertia, which is an error; with check=False the result is inf or NaN there.
    """

    def operational_inertia(
        self,
        q: Any,
        frame: str | Sequence[str],
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        rows: str | Sequence[int] | None = None,
        damping: Any = 0.0,
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """Λ (…, k, k) = (J M⁻¹ Jᵀ + damping² 1)⁻¹: the inertia that a force on the task meets; see `Operational`."""
        return self._task("operational_inertia", (q,), frame, point, axes, rows, damping, keywords)

    def operational_dynamics(
        self,
        q: Any,
        v: Any,
        frame: str | Sequence[str],
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        rows: str | Sequence[int] | None = None,
        damping: Any = 0.0,
        external: Sequence[Wrench] = (),
        **keywords: Unpack[Keywords],
    ) -> OperationalDynamics:
        """(inertia Λ, bias μ, gravity p, inverse J̄) with Λ ẍ + μ + p = F, where ẍ = J a + J̇ v and tau = Jᵀ F.

        J̄ (…, nv, k) = M⁻¹ Jᵀ Λ is the dynamically consistent inverse of J; μ = J̄ᵀ (bias − gravity) − Λ J̇ v and
        p = J̄ᵀ gravity, with friction and damping of the joints and external wrenches in μ and springs in p. Damping
        enters in Λ, and through Λ in the others. `out` is (…, k + 2 + nv, k): Λ, μ, p, J̄ below one another. See
        `Operational`.
        """
        packed = self._task("operational_dynamics", (q, v), frame, point, axes, rows, damping, keywords, external)
        k = packed.shape[-1]
        return OperationalDynamics(
            packed[..., :k, :], packed[..., k, :], packed[..., k + 1, :], packed[..., k + 2 :, :]
        )

    def null_space(
        self,
        q: Any,
        frame: str | Sequence[str],
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        rows: str | Sequence[int] | None = None,
        damping: Any = 0.0,
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """N (…, nv, nv) = 1 − J̄ J: velocities N v leave the task still, torques Nᵀ tau do not accelerate it.

        Exactly so without damping; see `Operational`. With damping, what leaks is J N = damping² Λ J.
        """
        return self._task("null_space", (q,), frame, point, axes, rows, damping, keywords)

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        known: Any,
        *,
        accelerations: str | Sequence[str],
        external: Sequence[Wrench] = (),
        **keywords: Unpack[Keywords],
    ) -> HybridDynamics:
        """(a, tau), each (…, nv), when some joints are given by their acceleration and the others by their force.

        accelerations: names of the joints of the first kind; known (…, nv): the acceleration of those joints, the
        generalised force of the others. `out` is (…, 2, nv).
        """
        names = {accelerations} if isinstance(accelerations, str) else set(accelerations)
        for name in names:
            self.model.joint(name)
        joints = tuple(body.joint.name for body in self.model.bodies if body.joint.nv and body.joint.name in names)
        places, numbers = self._loads("hybrid_dynamics", (q, v, known), external)
        call = self._fast_call("hybrid_dynamics", Options(joints=joints, loads=places))
        result = call(q, v, known, *numbers, **keywords)
        return HybridDynamics(result[..., 0, :], result[..., 1, :])

    def _task(
        self,
        name: str,
        inputs: tuple[Any, ...],
        frame: str | Sequence[str],
        point: Any,
        axes: str,
        rows: str | Sequence[int] | None,
        damping: Any,
        keywords: Keywords,
        external: Sequence[Wrench] = (),
    ) -> np.ndarray:
        """A quantity of a task. Single precision is computed in double: solves lose digits near singularities."""
        asked = name, frame, axes, rows, point is not ORIGIN
        numbers = [*inputs, column(f"{name}: damping", damping, inputs)]
        numbers += [] if point is ORIGIN else [point]
        places, loads = self._loads(name, inputs, external) if external else ((), [])
        numbers += loads
        if is_traced(*numbers) or any(map(is_foreign, numbers)):
            return self._compute(name, replace(self._task_options(*asked), loads=places), *numbers, **keywords)
        single, out = all(is_single(x) for x in inputs), keywords.get("out")
        if single:
            numbers = [np.asarray(x, float) for x in numbers]
            keywords = {**keywords, "out": None}
        result = self._task_call(asked, places)(*numbers, **keywords)
        if keywords.get("check", True) and not np.isfinite(result).all():
            raise DalembertError(self._singular(name, self._task_options(*asked), result))
        return _rounded(name, result, out) if single else result

    def _task_call(self, asked: tuple[Any, ...], places: tuple[LoadPlace, ...]) -> Callable[..., Any]:
        """The fast call of a task, found at once when the same was asked for before."""
        try:
            return self._fast[asked, places]
        except (KeyError, TypeError, ValueError):  # new, or asked for with something like a list
            call = self._fast_call(asked[0], replace(self._task_options(*asked), loads=places))
        with suppress(TypeError, ValueError):
            self._fast[asked, places] = call
        return call

    def _task_options(self, name: str, frame: Any, axes: str, rows: Any, point: bool) -> Options:
        frames = (frame,) if isinstance(frame, str) else tuple(frame)
        if not frames:
            raise DalembertError(f"{name}: which frame? pass a name or several")
        for other in frames[1:]:
            self._options(other, axes, point)
        first = self._options(frames[0], axes, point)
        return Options(first.frame, axes, point, others=frames[1:], rows=chosen_rows(name, rows, len(frames)))

    def _singular(self, name: str, options: Options, result: np.ndarray) -> str:
        """Words for a task without inertia."""
        frames = ", ".join(repr(f) for f in (options.frame, *options.others))
        bad = np.argwhere(~np.isfinite(result).all(axis=(-2, -1)))
        place = f" of state {tuple(int(k) for k in bad[0])}" if bad.size else ""
        k = 6 * (1 + len(options.others)) if options.rows is None else len(options.rows)
        return (
            f"{name}: the {k} rows of the task on frame {frames} of robot {self.model.name!r} ({self.model.nv} degrees "
            f"of freedom) depend on one another{place}, so that it has no inertia: choose fewer with rows=…, move away "
            "from the singular configuration, or pass damping=… (0.01, for instance)"
        )


def chosen_rows(name: str, rows: str | Sequence[int] | None, frames: int = 1) -> tuple[int, ...] | None:
    """The rows of a task as numbers; None for all."""
    if rows is None:
        return None
    count = 6 * frames
    words = f"{name}: rows={rows!r}, expected 'position', 'orientation' or different numbers from 0 to {count - 1}"
    if isinstance(rows, str):
        if rows not in PARTS:
            raise DalembertError(words)
        return tuple(6 * f + k for f in range(frames) for k in PARTS[rows])
    try:
        chosen = tuple(int(k) for k in rows)
    except (TypeError, ValueError):
        raise DalembertError(words) from None
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= k < count for k in chosen):
        raise DalembertError(words)
    return chosen


def _rounded(name: str, result: np.ndarray, out: Any) -> np.ndarray:
    """The result in single precision, in `out` if there is one."""
    if out is None:
        return result.astype(np.float32)
    if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != result.shape:
        raise DalembertError(f"{name}: out must be a float32 array of shape {result.shape}")
    out[...] = result
    return out
