"""Poses all over the ranges of the joints: where the tool gets to, how well it moves there, and what it can carry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.model import Model, motorized, tool_frame
from dalembert.model.joints import Prismatic
from dalembert.robot import Robot
from dalembert.study.distributions.laws import uniform
from dalembert.study.distributions.space import Space

from ..job import study
from ..result import Result
from ..rows import Chunked

AXIS = "place"  # of the joints within their ranges, each from 0 to 1
TRIALS = 32  # poses from which the rank of the tool's motion is found
RANK = 1e-6  # of the largest singular value: smaller ones count as 0
POINT = 10.0  # area of a point of a figure


@dataclass(frozen=True)
class _Ranges:
    """Joints with one coordinate spread over their ranges, all others as at home."""

    home: tuple[float, ...]
    places: tuple[int, ...]
    freedoms: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def q(self, share: np.ndarray) -> np.ndarray:
        """Configurations (n, nq) of shares (n, k) between 0 and 1 of each range."""
        low, high = np.array(self.low), np.array(self.high)
        q = np.tile(self.home, (len(share), 1))
        q[:, list(self.places)] = low + (high - low) * share.reshape(len(share), -1)
        return q


def _ranges(robot: Robot, who: str) -> _Ranges:
    model = robot.model
    if model.closures:
        raise DalembertError(
            f"{who}: robot {robot.name!r} has closed loops, whose joints do not move one by one: use the tree, "
            "robot.without('loops'), if every joint has a motor"
        )
    places, freedoms, low, high = [], [], [], []
    for body in model.independent:
        if body.joint.nq != 1:
            continue
        k = body.q.start
        least, most = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if not np.isfinite([least, most]).all():
            if isinstance(body.joint, Prismatic):
                raise DalembertError(
                    f"{who}: joint {body.joint.name!r} slides without end: state its range, "
                    f"robot.edit().set_joint({body.joint.name!r}, lower=…, upper=…)"
                )
            least, most = -np.pi, np.pi
        places.append(k)
        freedoms.append(body.v.start)
        low.append(least)
        high.append(most)
    if not places:
        raise DalembertError(f"{who}: robot {robot.name!r} has no joint with a range")
    return _Ranges(tuple(robot.home().q.tolist()), tuple(places), tuple(freedoms), tuple(low), tuple(high))


def _moves(robot: Robot, ranges: _Ranges, q: np.ndarray, frame: str) -> np.ndarray:
    """Singular values (n, k), in order, of how the frame's point moves with the joints; a floating base is held."""
    jacobian = robot.jacobian(q, frame, threads=1)[:, 3:, list(ranges.freedoms)]
    return np.linalg.svd(jacobian, compute_uv=False)


def _limited(robot: Robot) -> np.ndarray:
    """Freedoms (nv,) with a motor whose effort limit is stated."""
    return motorized(robot.model) & np.isfinite(robot.limits.effort)


@dataclass(frozen=True)
class _Pose(Chunked):
    """The rows of `workspace`."""

    ranges: _Ranges
    frame: str
    rank: int
    limited: tuple[bool, ...]

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the outputs."""
        return "position", "manipulability", "isotropy", *(("headroom",) if any(self.limited) else ())

    def chunk(
        self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int
    ) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """See `Chunked.chunk`."""
        q = self.ranges.q(values[AXIS])
        moves = _moves(robot, self.ranges, q, self.frame)[:, : self.rank]
        found = {"position": robot.pose(q, self.frame, threads=1)[:, :3, 3], "manipulability": moves.prod(axis=1)}
        found["isotropy"] = np.divide(moves[:, -1], moves[:, 0], out=np.zeros(n), where=moves[:, 0] > 0.0)
        if any(self.limited):
            mask = np.array(self.limited)
            used = np.abs(robot.gravity(q, threads=1)[:, mask]) / robot.limits.effort[mask]
            found["headroom"] = 1.0 - used.max(axis=1)
        return found, {}


@dataclass(frozen=True)
class Workspace:
    """Poses of a tool; print it to read it.

    points (n, 3) [m]. manipulability (n,): product of the singular values of the Jacobian of the point (Yoshikawa);
    isotropy (n,): the smallest of them by the largest. headroom (n,): share of the weakest motor's torque that gravity
    leaves, None where no limit is stated. reach [m]: farthest from the first joint. result: the study.
    """

    frame: str
    points: np.ndarray
    manipulability: np.ndarray
    isotropy: np.ndarray
    headroom: np.ndarray | None
    reach: float
    result: Result

    def __str__(self) -> str:
        lines = [
            f"workspace of frame {self.frame!r}, {len(self.points)} poses: reach {self.reach:.3g} m",
            f"manipulability: median {np.median(self.manipulability):.3g}, at most {self.manipulability.max():.3g}",
        ]
        if self.headroom is None:
            lines.append("torque headroom: not known, no motor has an effort limit")
        else:
            over = np.mean(self.headroom < 0.0)
            least = f"least {self.headroom.min():.0%}"
            lines.append(f"torque headroom: {least}; gravity is too much in {over:.1%} of the poses")
        return "\n".join(lines)

    def plot(self) -> Any:
        """A matplotlib figure: side and top view of the points, by manipulability and by headroom."""
        rows = [("manipulability", self.manipulability)]
        if self.headroom is not None:
            rows.append(("torque headroom", self.headroom))
        return _views(self.points, rows)


def workspace(
    robot: Robot,
    frame: str | None = None,
    *,
    samples: int = 4096,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> Workspace:
    """Where a frame gets to, how well it moves there, and what gravity leaves of the motors' torques.

    Joints with one coordinate take values all over their ranges, by Sobol's points; a floating base stays. frame:
    default the tool. A joint without a range turns once around; a slide must have one.
    """
    ranges = _ranges(robot, "workspace")
    name = tool_frame(robot.model, frame).name
    trial = ranges.q(np.random.default_rng(0).random((TRIALS, len(ranges.places))))
    moves = _moves(robot, ranges, trial, name)
    if not moves.max() > 0.0:
        raise DalembertError(
            f"workspace: frame {name!r} stays where it is when the joints of robot {robot.name!r} move: name another, "
            "frame=…"
        )
    rank = max(1, int((moves > RANK * moves[:, :1]).sum(axis=1).max()))
    space = Space(**{AXIS: uniform(0.0, 1.0, size=len(ranges.places))})
    row = _Pose(ranges, name, rank, tuple(_limited(robot).tolist()))
    result = study(robot, space, row, samples=samples, method="sobol", seed=seed).run(folder, executor)
    table = result.table()
    points = table["position"]
    headroom = table.get("headroom")
    far = np.linalg.norm(points - _root(robot, ranges), axis=1)
    return Workspace(name, points, table["manipulability"], table["isotropy"], headroom, float(far.max()), result)


def _root(robot: Robot, ranges: _Ranges) -> np.ndarray:
    """Where the first joint is that moves (3,), at home."""
    model: Model = robot.model
    first = next(body for body in model.independent if body.joint.nq == 1)
    return robot.pose(np.array(ranges.home), first.name)[:3, 3]


@dataclass(frozen=True)
class _Load(Chunked):
    """The rows of `payload_map`: gravity's torques are linear in the mass of a load."""

    ranges: _Ranges
    frame: str
    offset: tuple[float, ...]
    margin: float
    limited: tuple[bool, ...]

    names = ("position", "payload", "joint")

    def chunk(
        self, robot: Robot, space: Space, values: Mapping[str, np.ndarray], n: int
    ) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """See `Chunked.chunk`."""
        q = self.ranges.q(values[AXIS])
        mask = np.array(self.limited)
        pose = robot.pose(q, self.frame, threads=1)
        own = robot.gravity(q, threads=1)[:, mask]
        jacobian = robot.jacobian(q, self.frame, point=self.offset, threads=1)[:, 3:]
        each = -np.einsum("nij,i->nj", jacobian, np.asarray(robot.model.gravity, float))[:, mask]  # [N·m/kg]
        limit = robot.limits.effort[mask] / self.margin
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(each > 0.0, limit - own, limit + own) / np.abs(each)
        room = np.where(np.abs(own) > limit, 0.0, np.where(each == 0.0, np.inf, room))
        joint = np.argmin(room, axis=1)
        found = {
            "position": pose[:, :3, 3] + pose[:, :3, :3] @ np.array(self.offset),
            "payload": np.maximum(room[np.arange(n), joint], 0.0),
            "joint": np.flatnonzero(mask)[joint].astype(float),
        }
        return found, {}


@dataclass(frozen=True)
class PayloadMap:
    """Payload an arm can hold: payload (n,) [kg] at points (n, 3) [m], and joint (n,), the freedom whose motor decides.

    anywhere [kg]: the least of them; names: of the freedoms. result: the study.
    """

    frame: str
    points: np.ndarray
    payload: np.ndarray
    joint: np.ndarray
    names: tuple[str, ...]
    result: Result

    @property
    def anywhere(self) -> float:
        """Payload held in every pose [kg]."""
        return float(self.payload.min())

    def __str__(self) -> str:
        lines = [f"payload at frame {self.frame!r}, {len(self.points)} poses: {self.anywhere:.3g} kg anywhere"]
        finite = self.payload[np.isfinite(self.payload)]
        if len(finite):
            lines[0] += f", median {np.median(finite):.3g} kg"
        counts = np.bincount(self.joint, minlength=len(self.names))
        for k in np.argsort(-counts, kind="stable"):
            if counts[k]:
                least = self.payload[self.joint == k].min()
                lines.append(f"  {self.names[k]} decides in {counts[k] / len(self.joint):.0%}, least {least:.3g} kg")
        return "\n".join(lines)

    def plot(self) -> Any:
        """A matplotlib figure: side and top view of the points by payload."""
        high = np.percentile(self.payload[np.isfinite(self.payload)], 95) if np.isfinite(self.payload).any() else 1.0
        return _views(self.points, [("payload [kg]", np.minimum(self.payload, high))])


def payload_map(
    robot: Robot,
    frame: str | None = None,
    *,
    offset: Sequence[float] = (0.0, 0.0, 0.0),
    margin: float = 1.0,
    samples: int = 4096,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> PayloadMap:
    """The heaviest load that the motors hold at rest, in poses all over the ranges of the joints.

    frame: where it is held, default the tool; offset (3,): its centre of mass in that frame [m]. margin: torques asked
    for are multiplied by it, as in sizing. Motors without an effort limit do not count; with none at all there is no
    answer, which is an error.
    """
    ranges = _ranges(robot, "payload_map")
    if not (is_number(margin) and 0.0 < margin < np.inf):
        raise DalembertError(f"payload_map: margin is {margin!r}, expected a number above 0, such as 1.3")
    point = np.asarray(offset, float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise DalembertError(f"payload_map: offset is {offset!r}, expected three lengths [m]")
    limited = _limited(robot)
    if not limited.any():
        raise DalembertError(
            f"payload_map: no motor of robot {robot.name!r} has an effort limit: state them, "
            "robot.edit().set_joint(name, effort_limit=…)"
        )
    name = tool_frame(robot.model, frame).name
    row = _Load(ranges, name, tuple(point.tolist()), float(margin), tuple(limited.tolist()))
    space = Space(**{AXIS: uniform(0.0, 1.0, size=len(ranges.places))})
    result = study(robot, space, row, samples=samples, method="sobol", seed=seed).run(folder, executor)
    table = result.table()
    return PayloadMap(
        name, table["position"], table["payload"], table["joint"].astype(int), robot.model.freedom_names, result
    )


def _views(points: np.ndarray, rows: list[tuple[str, np.ndarray]]) -> Any:
    from dalembert.report.figures import figure

    picture, axes = figure(9.0, 4.0 * len(rows), nrows=len(rows), ncols=2, squeeze=False)
    for (label, values), places in zip(rows, axes, strict=True):
        order = np.argsort(values)
        for axis, (i, j) in zip(places, ((0, 2), (0, 1)), strict=True):
            shown = axis.scatter(
                points[order, i], points[order, j], c=values[order], s=POINT, linewidths=0, rasterized=True
            )
            axis.set(xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]", aspect="equal")
            axis.grid(alpha=0.3)
        picture.colorbar(shown, ax=list(places), label=label)
    return picture
