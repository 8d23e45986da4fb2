"""Inverse kinematics: configurations that bring a frame to a target."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import Call, Recent, is_single, one_line, real_array
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.spatial import se3

from .configurations import difference, generator, integrate, normalize
from .guards import function_call
from .kinds import Configuration, FrameName, Input, Rows, Tangent, TaskDamping, chosen_rows
from .quantity import Keywords, quantity

if TYPE_CHECKING:
    from dalembert.robot import Robot

DAMPING, LEAST, MOST = 0.01, 1e-6, 1e8  # of the steps: at the start, least, and where no step leads downhill any more
FASTER, SLOWER = 0.5, 3.0  # what the damping is multiplied with after a step downhill, or a refused one
STALLED = 1e-10  # relative gain of a step that counts as none


class InverseKinematicsResult(NamedTuple):
    """One configuration per target, and how near it comes.

    q (…, nq); success (…): whether both errors are within the tolerance; position_error (…) [m], orientation_error (…)
    [rad] of what was asked for, 0 for what was not; iterations (…) of the start that led there; limit_distance (…):
    least distance of a coordinate to its limits [rad or m], inf without limits.
    """

    q: np.ndarray
    success: Any
    position_error: Any
    orientation_error: Any
    iterations: Any
    limit_distance: Any

    def __repr__(self) -> str:
        return one_line(self)


@quantity("nq + 6 + nc")
def inverse_kinematics_step(
    robot: Robot,
    q: Configuration,
    target: Annotated[Any, Input(12)],
    damping: TaskDamping,
    lower: Tangent,
    upper: Tangent,
    mobile: Tangent,
    frame: FrameName,
    rows: Rows = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """[q'; error at q'] (…, nq + 6 + nc): a step of the search from q towards the target (rotation by rows, position).

    lower, upper (…, nv): limits of the coordinates; mobile (…, nv): 1 for those that may move, 0 for the others.
    """
    bounds, chosen = algorithms.Bounds(lower, upper, mobile), chosen_rows("inverse_kinematics", rows)
    frames = [robot.model.frame(frame)]
    return algorithms.inverse_kinematics_step(robot.model, q, target, damping, bounds, frames, chosen)


def inverse_kinematics(
    robot: Robot,
    target: Any,
    frame: str | Sequence[str],
    *,
    rows: str | Sequence[int] | None = None,
    start: Any = None,
    joints: Sequence[str] | None = None,
    limits: bool = True,
    starts: int = 32,
    tolerance: float = 1e-8,
    max_iterations: int = 100,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    check: bool = True,
) -> InverseKinematicsResult:
    """Configurations q (…, nq) in which the frame has the pose `target` (…, 4, 4) in the world [m].

    target: or positions (…, 3), the orientation left free. frame: or k names, with targets (…, k, 4, 4) or (…, k, 3)
    that are to be reached together. rows: the part of the pose that matters, in world axes: "position", "orientation"
    or numbers of rows of [rotation; displacement], of each frame. start (…, nq): where to begin, default a random
    configuration. joints: names of those that may move, default all; the others stay as in `start`.
    limits: keep within the joint limits. starts: how many beginnings are tried in all, further ones random, drawn
    with `rng`, or a generator made of `seed` (the same result every time), and only for targets not yet reached.
    tolerance: [m] and [rad], also of closed loops, which the configurations found close. Damped Gauss-Newton
    (Levenberg-Marquardt) on the manifold, all targets at once.

    A single target that is not reached is an error that says how near it came; with check=False, or in a batch,
    `success` is False and q is the nearest found: out of reach, or (rarely, with enough starts) not found.
    """
    frames = [frame] if isinstance(frame, str) else list(frame)
    if not frames:
        raise DalembertError("inverse_kinematics: frame is empty, expected at least one name")
    T, points = _targets(target)
    if not isinstance(frame, str):
        if T.ndim < 2 or T.shape[-2] != len(frames):
            raise DalembertError(
                f"inverse_kinematics: target has shape {np.shape(target)}, expected (…, {len(frames)}, 4, 4) or "
                f"(…, {len(frames)}, 3) for {len(frames)} frames"
            )
        T = T.reshape(*T.shape[:-2], 12 * len(frames))
    if points and rows is None:
        rows = "position"
    chosen = chosen_rows("inverse_kinematics", rows)
    if points and not set(chosen or (0,)) <= {3, 4, 5}:
        raise DalembertError(f"inverse_kinematics: rows={rows!r} needs a target (…, 4, 4), got positions (…, 3)")
    batch = T.shape[:-1]
    first = _first_start(robot, start, joints, batch)
    if first is not None:
        batch = np.broadcast_shapes(batch, first.shape[:-1])
        first = np.broadcast_to(first, (*batch, robot.model.nq)).reshape(-1, robot.model.nq)
    T = np.broadcast_to(T, (*batch, T.shape[-1])).reshape(-1, T.shape[-1])
    search = _Search(robot, frames, chosen, joints, limits, tolerance, max_iterations)
    solution = search.run(T, first, starts, generator("inverse_kinematics", rng, seed))
    single = is_single(target) and (start is None or is_single(start))
    result = _result(solution, batch, search, single)
    if check and not batch and not result.success:
        raise DalembertError(_unreached(robot, frames, result, starts, limits, search.gap(solution.error)))
    return result


def _targets(target: Any) -> tuple[np.ndarray, bool]:
    """Targets (…, 12), rotation by rows and position; and whether only positions were given."""
    what = "expected poses (…, 4, 4) or positions (…, 3)"
    x = real_array("inverse_kinematics: target", target, what).astype(float)
    if not np.all(np.isfinite(x)):
        raise DalembertError("inverse_kinematics: target has entries that are not finite")
    if x.ndim >= 1 and x.shape[-1] == 3:
        return np.concatenate([np.broadcast_to(np.eye(3).ravel(), (*x.shape[:-1], 9)), x], axis=-1), True
    if x.ndim < 2 or x.shape[-2:] != (4, 4):
        raise DalembertError(f"inverse_kinematics: target has shape {x.shape}, {what}")
    slack = (100 if is_single(target) else 1) * se3.ORTHONORMAL
    if not se3.is_pose(x, slack):
        raise DalembertError(
            "inverse_kinematics: target is not a pose: expected a rotation matrix (orthonormal to "
            f"{slack:g}, right-handed), a position, and the last row 0 0 0 1"
        )
    return np.concatenate([x[..., :3, :3].reshape(*x.shape[:-2], 9), x[..., :3, 3]], axis=-1), False


def _first_start(robot: Robot, start: Any, joints: Sequence[str] | None, batch: tuple[int, ...]) -> np.ndarray | None:
    if start is None:
        if joints is not None:
            raise DalembertError("inverse_kinematics: with joints=… pass start=…, in which the others stay")
        return None
    q = normalize(robot, start)
    difference(robot, q, q)  # refuses NaN
    try:
        np.broadcast_shapes(batch, q.shape[:-1])
    except ValueError:
        raise DalembertError(
            f"inverse_kinematics: batch shapes do not broadcast: target {batch}, start {q.shape[:-1]}"
        ) from None
    return q.astype(float)


def _result(solution: _Solution, batch: tuple[int, ...], search: _Search, single: bool) -> InverseKinematicsResult:
    q = solution.q.astype(np.float32 if single else float).reshape(*batch, search.model.nq)
    position, orientation = search.errors(solution.error)
    numbers = (search.reached(solution.error), position, orientation, solution.iterations, search.slack(solution.q))
    shaped = [x.reshape(batch) if batch else x[0].item() for x in numbers]
    return InverseKinematicsResult(q, *shaped)


def _unreached(
    robot: Robot, frames: list[str], result: InverseKinematicsResult, starts: int, limits: bool, gap: np.ndarray
) -> str:
    named = f"frame {frames[0]!r} to the target" if len(frames) == 1 else f"frames {', '.join(frames)} to their targets"
    loops = f", its loops open by {gap[0]:.3g} (m or rad)" if robot.model.closures else ""
    return (
        f"inverse_kinematics: no configuration of robot {robot.model.name!r}{' within limits' if limits else ''} "
        f"found that brings {named}: the nearest is off by {result.position_error:.6g} m and "
        f"{result.orientation_error:.6g} rad{loops} (best of {starts} starts); pass check=False to get it, rows=… to "
        "ask for less"
    )


def _steps(model: Model, frames: tuple[str, ...], rows: tuple[int, ...] | None) -> Call:
    """The step of the search for several frames together, compiled; that of an earlier call if there was one."""
    nv = model.nv
    sizes = {"q": model.nq, "target": 12 * len(frames), "damping": 1, "lower": nv, "upper": nv, "mobile": nv}

    def compute(q: Any, target: Any, damping: Any, lower: Any, upper: Any, mobile: Any) -> np.ndarray:
        bounds, places = algorithms.Bounds(lower, upper, mobile), [model.frame(name) for name in frames]
        return algorithms.inverse_kinematics_step(model, q, target, damping[0], bounds, places, rows)

    def prepare() -> Any:
        call = function_call(model, "inverse_kinematics", sizes, compute)
        return lambda q, target, damping, *bounds, **keywords: call(q, target, damping[:, None], *bounds, **keywords)

    return _several.get((model, frames, rows), prepare)


_several = Recent(32)


class _Solution(NamedTuple):
    """Configurations (n, nq), the remaining errors (n, 6 k + nc), their weighted size (n,), iterations."""

    q: np.ndarray
    error: np.ndarray
    cost: np.ndarray
    iterations: np.ndarray


class _Search:
    """The search of one call: the joints that move, the weights, and the tolerances."""

    def __init__(
        self,
        robot: Robot,
        frames: list[str],
        rows: tuple[int, ...] | None,
        joints: Sequence[str] | None,
        limits: bool,
        tolerance: float,
        max_iterations: int,
    ) -> None:
        self.model, self.tolerance, self.max_iterations = robot.model, tolerance, max_iterations
        self.lower, self.upper = _limits(robot.model)
        self.mobile = np.ones(robot.model.nv)
        if joints is not None:
            self.mobile = np.zeros(robot.model.nv)
            for name in joints:
                self.mobile[robot.model.joint(name).v] = 1.0
        bounds = (
            (self.lower, self.upper) if limits else (np.full(robot.model.nv, -np.inf), np.full(robot.model.nv, np.inf))
        )
        self.frames = len(frames)
        self.weight = algorithms.error_weights(robot.model, [robot.model.frame(name) for name in frames], rows)
        self.robot, self.step = robot, partial(inverse_kinematics_step, robot, frame=frames[0], rows=rows, check=False)
        if len(frames) > 1:
            self.step = partial(_steps(robot.model, tuple(frames), rows), check=False)
        self.bounds = (*bounds, self.mobile)

    def errors(self, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and orientation [rad] error (n,) of the weighted components, the largest of all frames."""
        weighted = np.where(self.weight > 0.0, error, 0.0)[:, : 6 * self.frames].reshape(len(error), -1, 2, 3)
        orientation, position = np.moveaxis(np.linalg.norm(weighted, axis=-1).max(axis=1), -1, 0)
        return position, orientation

    def gap(self, error: np.ndarray) -> np.ndarray:
        """How far (n,) loops are from closed [m or rad]."""
        return np.max(np.abs(error[:, 6 * self.frames :]), axis=-1, initial=0.0)

    def reached(self, error: np.ndarray) -> np.ndarray:
        """Whether (n,) both errors are within the tolerance, and loops closed."""
        return np.maximum(np.maximum(*self.errors(error)), self.gap(error)) <= self.tolerance

    def run(self, target: np.ndarray, first: np.ndarray | None, starts: int, rng: np.random.Generator) -> _Solution:
        """The best of several starts for each target (n, 12 k), in waves of 1, 2, 4 …, until it is reached."""
        n, nq = len(target), self.model.nq
        best = _Solution(np.zeros((n, nq)), np.zeros((n, len(self.weight))), np.full(n, np.inf), np.zeros(n, int))
        open_, tried = np.arange(n), 0
        while tried < max(starts, 1) and len(open_):
            count = min(max(1, tried), max(starts, 1) - tried)
            drawn = np.broadcast_to(algorithms.random(self.model, rng, count), (len(open_), count, nq))
            if first is not None:
                drawn = first[open_][:, None] if tried == 0 else self._moved(first[open_], drawn)
            wave = self._descend(drawn.reshape(-1, nq), np.repeat(target[open_], count, axis=0))
            least = np.argmin(wave.cost.reshape(-1, count), axis=1) + count * np.arange(len(open_))
            better = wave.cost[least] < best.cost[open_]
            for mine, theirs in zip(best, wave, strict=True):
                mine[open_[better]] = theirs[least[better]]
            tried += count
            open_ = open_[~self.reached(best.error[open_])]
        return best

    def _moved(self, first: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Random configurations (n, k, nq) in which the joints that may not move stay as in `first` (n, nq)."""
        return integrate(self.robot, first[:, None], self.mobile * difference(self.robot, first[:, None], drawn))

    def _descend(self, q: np.ndarray, target: np.ndarray) -> _Solution:
        """Levenberg-Marquardt from every q (n, nq) to its target (n, 12 k)."""
        n, nq = q.shape
        best = _Solution(q.copy(), np.zeros((n, len(self.weight))), np.full(n, np.inf), np.zeros(n, int))
        damping, active = np.full(n, DAMPING), np.arange(n)
        for k in range(1, self.max_iterations + 1):
            if not len(active):
                break
            moved, error = np.split(self.step(best.q[active], target[active], damping[active], *self.bounds), [nq], 1)
            cost = np.square(self.weight * error).sum(axis=-1)
            before = best.cost[active]
            better = cost < before
            taken = active[better]
            best.q[taken], best.error[taken], best.cost[taken] = moved[better], error[better], cost[better]
            best.iterations[active] = k
            damping[active] = np.maximum(damping[active] * np.where(better, FASTER, SLOWER), LEAST)
            gained = ~better | (cost < (1.0 - STALLED) * before)
            active = active[gained & (damping[active] < MOST) & ~self.reached(best.error[active])]
        return best

    def slack(self, q: np.ndarray) -> np.ndarray:
        """Least distance (n,) of the coordinates of q (n, nq) to their limits, inf without."""
        rooms = [np.full((len(q), 1), np.inf)]
        for body in self.model.bodies:
            for i, k, _ in body.joint.lines:
                x, place = q[:, body.q.start + i, None], body.v.start + k
                rooms += [x - self.lower[place], self.upper[place] - x]
        return np.min(np.concatenate(rooms, axis=1), axis=1)


def _limits(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Limits (nv,) of the coordinates, infinite for quaternion joints."""
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for body in model.bodies:
        for i, k, _ in body.joint.lines:
            place = body.v.start + k
            lower[place] = max(lower[place], body.joint.lower[i])
            upper[place] = min(upper[place], body.joint.upper[i])
    return lower, upper
