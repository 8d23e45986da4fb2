"""Inverse kinematics: configurations that bring a frame to a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import Call, Recent, is_single, one_line, real_array
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.inverse_kinematics import FAR
from dalembert.errors import DalembertError, is_number
from dalembert.model import Model
from dalembert.spatial import se3
from dalembert.typing import ArrayLike

from .configurations import difference, generator, integrate, normalize
from .guards import function_call
from .kinds import Configuration, FrameName, Input, Number, Rows, Tangent, chosen_rows
from .quantity import Keywords, quantity

if TYPE_CHECKING:
    from dalembert.robot import Robot


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


@quantity("nq + 7")
def inverse_kinematics_descent(
    robot: Robot,
    q: Configuration,
    target: Annotated[Any, Input(16)],
    tolerance: Number,
    most: Number,
    lower: Tangent,
    upper: Tangent,
    mobile: Tangent,
    frame: FrameName,
    rows: Rows = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """[q'; cost; steps; rotation, displacement, gap; slack; flaw] (…, nq + 7): the search from q for the target.

    target: a pose by rows. It ends when the errors [rad, m] are within the tolerance (…), at a minimum of the cost, or
    after `most` (…) steps. lower, upper (…, nv): limits of the coordinates; mobile (…, nv): 1 for those that may move,
    0 for the others. slack: least distance to the joints' own limits, 1e300 without. flaw: how far the target is from
    being a pose.
    """
    bounds, chosen = algorithms.Bounds(lower, upper, mobile), chosen_rows("inverse_kinematics", rows)
    frames, targets = [robot.model.frame(frame)], target.reshape(1, 4, 4)
    return algorithms.inverse_kinematics(robot.model, q, targets, tolerance, most, bounds, frames, chosen)


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
    _check_settings(tolerance, max_iterations, starts, limits, seed, rng)
    if joints is not None and not isinstance(joints, (str, list, tuple)):
        raise DalembertError(f"inverse_kinematics: joints is {joints!r}, expected a list of names")
    if type(frame) is str and {type(target), type(start)} <= {np.ndarray, list, tuple}:
        found = _at_once(robot, target, frame, rows, start, joints, limits, tolerance, max_iterations)
        if found is not None:
            return found
    frames = [frame] if isinstance(frame, str) else list(frame) if isinstance(frame, (list, tuple)) else []
    if not frames or not all(isinstance(name, str) for name in frames):
        raise DalembertError(f"inverse_kinematics: frame is {frame!r}, expected a name, or a list of at least one")
    T, points = _targets(target)
    if not isinstance(frame, str):
        if T.ndim < 2 or T.shape[-2] != len(frames):
            raise DalembertError(
                f"inverse_kinematics: target has shape {np.shape(target)}, expected (…, {len(frames)}, 4, 4) or "
                f"(…, {len(frames)}, 3) for {len(frames)} frames"
            )
        T = T.reshape(*T.shape[:-2], 16 * len(frames))
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
    search = _Search(robot, tuple(frames), chosen, joints, limits, tolerance, max_iterations, is_single(target))
    solution = search.run(T, first, starts, lambda: generator("inverse_kinematics", rng, seed))
    single = is_single(target) and (start is None or is_single(start))
    result = _result(solution, batch, search, single)
    if check and not batch and not result.success:
        raise DalembertError(_unreached(robot, frames, result, starts, limits, solution.numbers[:, GAP]))
    return result


def _check_settings(tolerance: Any, max_iterations: Any, starts: Any, limits: Any, seed: Any, rng: Any) -> None:
    whole = (int, np.integer)
    for name, value, right, expected in (
        ("tolerance", tolerance, is_number(tolerance) and 0.0 <= tolerance < np.inf, "a number above 0 [m and rad]"),
        ("max_iterations", max_iterations, isinstance(max_iterations, whole), "a whole number"),
        ("starts", starts, isinstance(starts, whole), "a whole number of at least 1"),
        ("limits", limits, isinstance(limits, (bool, np.bool_)), "True or False"),
        ("seed", seed, isinstance(seed, whole) and seed >= 0, "a whole number of at least 0"),
    ):
        if not right:
            raise DalembertError(f"inverse_kinematics: {name} is {value!r}, expected {expected}")
    if rng is not None:
        generator("inverse_kinematics", rng, seed)


def _at_once(
    robot: Robot,
    target: ArrayLike,
    frame: str,
    rows: str | Sequence[int] | None,
    start: ArrayLike,
    joints: Sequence[str] | None,
    limits: bool,
    tolerance: float,
    max_iterations: int,
) -> InverseKinematicsResult | None:
    """The result for one target of one frame, in float64, if one search from the start finds it."""
    model = robot.model
    try:
        T, q = np.asarray(target), np.asarray(start)
    except ValueError:
        return None
    if T.shape == (3,) and rows is None:
        X, rows = np.eye(4), "position"
        X[:3, 3], T = T, X
    if not (T.shape == (4, 4) and q.ndim == 1 and T.dtype == q.dtype == float):
        return None
    try:
        q = q if model.nq == model.nv else normalize(robot, q)
        settings = (tolerance, max_iterations, *_range(model, limits, joints))
        found = inverse_kinematics_descent(robot, q, T.ravel(), *settings, frame, rows)
    except DalembertError:  # the general way names the argument
        return None
    _, steps, rotation, displacement, gap, slack, flaw = found[model.nq :].tolist()
    if max(rotation, displacement, gap) > tolerance or flaw > se3.ORTHONORMAL:
        return None
    slack = slack if slack < FAR else np.inf
    return InverseKinematicsResult(found[: model.nq].copy(), True, displacement, rotation, int(steps), slack)


def _targets(target: Any) -> tuple[np.ndarray, bool]:
    """Poses (…, 16) by rows; and whether only positions were given."""
    what = "expected poses (…, 4, 4) or positions (…, 3)"
    x = real_array("inverse_kinematics: target", target, what).astype(float)
    if not np.all(np.isfinite(x)):
        raise DalembertError("inverse_kinematics: target has entries that are not finite")
    if x.ndim >= 1 and x.shape[-1] == 3:
        X = np.tile(np.eye(4), (*x.shape[:-1], 1, 1))
        X[..., :3, 3] = x
        return X.reshape(*x.shape[:-1], 16), True
    if x.ndim < 2 or x.shape[-2:] != (4, 4):
        raise DalembertError(f"inverse_kinematics: target has shape {x.shape}, {what}")
    return x.reshape(*x.shape[:-2], 16), False


def _first_start(robot: Robot, start: Any, joints: Sequence[str] | None, batch: tuple[int, ...]) -> np.ndarray | None:
    if start is None:
        if joints is not None:
            raise DalembertError("inverse_kinematics: with joints=… pass start=…, in which the others stay")
        return None
    nq = robot.model.nq
    x = real_array("inverse_kinematics: start", start, f"expected (…, {nq}) for robot {robot.name!r}")
    if x.ndim == 0 or x.shape[-1] != nq:
        raise DalembertError(f"inverse_kinematics: start has shape {x.shape}, expected (…, {nq}) for {robot.name!r}")
    if not np.all(np.isfinite(x)):
        raise DalembertError("inverse_kinematics: start has entries that are not finite")
    q = normalize(robot, x)
    difference(robot, q, q)  # refuses quaternions of length 0
    try:
        np.broadcast_shapes(batch, q.shape[:-1])
    except ValueError:
        raise DalembertError(
            f"inverse_kinematics: batch shapes do not broadcast: target {batch}, start {q.shape[:-1]}"
        ) from None
    return q.astype(float)


def _result(solution: _Solution, batch: tuple[int, ...], search: _Search, single: bool) -> InverseKinematicsResult:
    q = (solution.q.astype(np.float32) if single else solution.q).reshape(*batch, search.model.nq)
    numbers, reached = solution.numbers, search.reached(solution.numbers)
    slack = np.where(numbers[:, SLACK] < FAR, numbers[:, SLACK], np.inf)
    columns = (reached, numbers[:, DISPLACEMENT], numbers[:, ROTATION], numbers[:, STEPS].astype(int), slack)
    return InverseKinematicsResult(q, *(x.reshape(batch) if batch else x[0].item() for x in columns))


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


def _descent(model: Model, frames: tuple[str, ...], rows: tuple[int, ...] | None) -> Call:
    """The search for several frames together, compiled; that of an earlier call if there was one."""
    nv = model.nv
    sizes = {"q": model.nq, "target": 16 * len(frames), "tolerance": 1, "most": 1}
    sizes |= {"lower": nv, "upper": nv, "mobile": nv}

    def compute(q: Any, target: Any, tolerance: Any, most: Any, lower: Any, upper: Any, mobile: Any) -> np.ndarray:
        bounds, places = algorithms.Bounds(lower, upper, mobile), [model.frame(name) for name in frames]
        targets = target.reshape(-1, 4, 4)
        return algorithms.inverse_kinematics(model, q, targets, tolerance[0], most[0], bounds, places, rows)

    return _several.get((model, frames, rows), lambda: function_call(model, "inverse_kinematics", sizes, compute))


_several = Recent(32)


COST, STEPS, ROTATION, DISPLACEMENT, GAP, SLACK, FLAW = range(7)  # columns of `_Solution.numbers`


class _Solution(NamedTuple):
    """Configurations (n, nq) and what the search says of them (n, 7)."""

    q: np.ndarray
    numbers: np.ndarray


class _Search:
    """The search of one call: the joints that move, the limits, and the tolerances."""

    def __init__(
        self,
        robot: Robot,
        frames: tuple[str, ...],
        rows: tuple[int, ...] | None,
        joints: Sequence[str] | None,
        limits: bool,
        tolerance: float,
        max_iterations: int,
        single: bool,
    ) -> None:
        self.robot, self.model, self.tolerance = robot, robot.model, tolerance
        self.orthonormal = (100 if single else 1) * se3.ORTHONORMAL
        lower, upper, self.mobile = _range(robot.model, limits, joints)
        self.settings = (float(tolerance), float(max_iterations), lower, upper, self.mobile)
        if len(frames) == 1:
            self.descent = partial(inverse_kinematics_descent, robot, frame=frames[0], rows=rows, check=False)
        else:
            self.descent = partial(_descent(robot.model, frames, rows), check=False)

    def reached(self, numbers: np.ndarray) -> np.ndarray:
        """Whether (n,) all errors are within the tolerance."""
        return numbers[:, ROTATION : GAP + 1].max(axis=1) <= self.tolerance

    def run(
        self, target: np.ndarray, first: np.ndarray | None, starts: int, rng: Callable[[], np.random.Generator]
    ) -> _Solution:
        """The best of several starts for each target (n, 16 k), in waves of 1, 2, 4 …, until it is reached."""
        n, nq, tried, draws = len(target), self.model.nq, 0, None
        best = _Solution(np.zeros((n, nq)), np.full((n, 7), np.inf))
        if first is not None:
            best, tried = self._descend(first, target), 1
        open_ = np.flatnonzero(~self.reached(best.numbers))
        while tried < max(starts, 1) and len(open_):
            draws = rng() if draws is None else draws
            count = min(max(1, tried), max(starts, 1) - tried)
            drawn = np.broadcast_to(algorithms.random(self.model, draws, count), (len(open_), count, nq))
            if first is not None:
                drawn = self._moved(first[open_], drawn)
            wave = self._descend(drawn.reshape(-1, nq), np.repeat(target[open_], count, axis=0))
            least = np.argmin(wave.numbers[:, COST].reshape(-1, count), axis=1) + count * np.arange(len(open_))
            better = wave.numbers[least, COST] < best.numbers[open_, COST]
            for mine, theirs in zip(best, wave, strict=True):
                mine[open_[better]] = theirs[least[better]]
            tried += count
            open_ = open_[~self.reached(best.numbers[open_])]
        return best

    def _moved(self, first: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Random configurations (n, k, nq) in which the joints that may not move stay as in `first` (n, nq)."""
        return integrate(self.robot, first[:, None], self.mobile * difference(self.robot, first[:, None], drawn))

    def _descend(self, q: np.ndarray, target: np.ndarray) -> _Solution:
        """Levenberg-Marquardt from every q (n, nq) to its target (n, 16 k)."""
        found = self.descent(q, target, *self.settings)
        if np.any(found[:, self.model.nq + FLAW] > self.orthonormal):
            raise DalembertError(
                "inverse_kinematics: target is not a pose: expected a rotation matrix (orthonormal to "
                f"{self.orthonormal:g}, right-handed), a position, and the last row 0 0 0 1"
            )
        return _Solution(found[:, : self.model.nq].copy(), found[:, self.model.nq :])


_ranges = Recent(32)


def _range(model: Model, limits: bool, joints: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Limits (nv,) of the coordinates, `FAR` for quaternion joints or all; 1 for those of the joints, default all."""

    def prepare() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lower, upper, mobile = np.full(model.nv, -FAR), np.full(model.nv, FAR), np.full(model.nv, float(names is None))
        for body in model.bodies if limits else ():
            for i, k, _ in body.joint.lines:
                place = body.v.start + k
                lower[place] = max(lower[place], body.joint.lower[i])
                upper[place] = min(upper[place], body.joint.upper[i])
        for name in names or ():
            mobile[model.joint(name).v] = 1.0
        return lower, upper, mobile

    names = None if joints is None else (joints,) if isinstance(joints, str) else tuple(joints)
    return _ranges.get((model, bool(limits), names), prepare)
