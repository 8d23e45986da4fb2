"""Which joint of one robot is which of the other, and what state of the one is what state of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dalembert.algorithms import neutral, poses
from dalembert.errors import unknown
from dalembert.model import Body, Coupled, Model
from dalembert.spatial import Pose, so3


def matched_names(a: Iterable[str], b: Iterable[str], renames: Mapping[str, str]) -> dict[str, str]:
    """a's name → b's: as told, or alike, or alike but for one prefix on either side."""
    left, right = dict.fromkeys(a), dict.fromkeys(b)
    pairs = {}
    for name in list(left):
        other = renames.get(name, name)
        if other in right:
            pairs[name] = other
            del left[name], right[other]
    best: dict[str, str] = {}
    for cut in _prefixes(left, right) | _prefixes(right, left):
        trial = {name: name.removeprefix(cut) for name in left if name.startswith(cut)}
        trial = {name: other for name, other in trial.items() if other in right}
        back = {name: cut + name for name in left if cut + name in right}
        best = max((best, trial, back), key=len)
    return pairs | best


def _prefixes(long: Iterable[str], short: Iterable[str]) -> set[str]:
    return {x[: -len(y)] for x in long for y in short if len(x) > len(y) and x.endswith(y)}


class Pair(NamedTuple):
    """A joint of each robot, by the bodies that they move."""

    a: Body
    b: Body


def matched_joints(a: Model, b: Model, renames: Mapping[str, str]) -> list[Pair]:
    """Moving joints of both robots that are the same one; free joints of two bases are."""
    ours, theirs = (
        {body.joint.name: body for body in model.bodies if body.joint.nv and not _floats(model, body)}
        for model in (a, b)
    )
    for name in renames:
        if name not in ours and name not in {frame.name for frame in a.frames}:
            raise unknown("joint or frame", name, ours, f"compare: rename: robot {a.name!r}")
    names = matched_names(ours, theirs, renames)
    pairs = [Pair(ours[name], theirs[other]) for name, other in names.items()]
    pairs = [pair for pair in pairs if pair.a.joint.nv == pair.b.joint.nv and pair.a.joint.nq == pair.b.joint.nq]
    if _floats(a, a.bodies[0]) and _floats(b, b.bodies[0]):
        pairs.append(Pair(a.bodies[0], b.bodies[0]))
    return sorted(pairs, key=lambda pair: pair.a.index)


def _floats(model: Model, body: Body) -> bool:
    return body.index == 0 and body.joint.nv > 0


class Map:
    """From states of a to those of b: coordinates in another order, the base measured by another frame.

    shift: pose of b's base frame in a's. Joints without a partner rest at their neutral configuration.
    rows_a, rows_b: the matched entries of v, in the same order.
    """

    def __init__(self, a: Model, b: Model, pairs: list[Pair], shift: Pose) -> None:
        self.a, self.b, self.pairs, self.shift = a, b, pairs, shift
        led = [pair for pair in pairs if not any(isinstance(body.joint, Coupled) for body in pair)]
        self.independent = led
        self.rows_a = np.concatenate([np.r_[pair.a.v] for pair in led]).astype(int) if led else np.zeros(0, int)
        self.rows_b = np.concatenate([np.r_[pair.b.v] for pair in led]).astype(int) if led else np.zeros(0, int)
        self.floating = bool(led) and led[0].a.index == 0 and led[0].b.index == 0 and led[0].a.joint.nv == 6

    def states(self, rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """(q, v, a) of both: the same motion."""
        q = np.array(neutral(self.a))
        v, acceleration = np.zeros(self.a.nv), np.zeros(self.a.nv)
        for pair in self.independent:
            q[pair.a.q] = pair.a.joint.random(rng, 1)[0]
        v[self.rows_a] = rng.normal(size=self.rows_a.size)
        acceleration[self.rows_a] = rng.normal(size=self.rows_a.size)
        return (q, v, acceleration), (self.q(q), self.v(v), self.v(acceleration))

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration of b."""
        out = np.array(neutral(self.b))
        for pair in self.independent:
            out[pair.b.q] = q[pair.a.q]
        if self.floating or self.b.bodies[0].joint.nv == 6:
            X = self.b.bodies[0].placement.inverse() @ poses(self.a, q)[0] @ self.shift
            out[self.b.bodies[0].q] = np.concatenate([X.p, so3.to_quaternion(X.R)])
        return out

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocity, or acceleration, of b."""
        out = np.zeros(self.b.nv)
        out[self.rows_b] = v[self.rows_a]
        if self.floating:
            base = self.independent[0]
            out[base.b.v] = self.shift.inverse_motion(v[base.a.v])
        return out

    def force(self, tau: np.ndarray) -> np.ndarray:
        """Matched generalised forces of b, or rows of a matrix, as a writes them."""
        out = tau[self.rows_b]
        if self.floating:  # the base comes first
            out[:6] = self.shift.inverse().adjoint().T @ out[:6]
        return out


def base_shift(a: Model, b: Model) -> Pose:
    """Pose of b's base frame in a's: none, or by a frame that both bases carry, as their inertias agree best."""
    choices = [Pose.identity()]
    placed = [{f.name: f.placement for f in model.frames if f.body == 0} for model in (a, b)]
    choices += [placed[0][name] @ placed[1][name].inverse() for name in placed[0] if name in placed[1]]
    ours, theirs = a.bodies[0].inertia, b.bodies[0].inertia

    def mismatch(X: Pose) -> float:
        return float(np.max(np.abs(theirs.transform(X).parameters() - ours.parameters())))

    errors = [mismatch(X) for X in choices]
    best = int(np.argmin(errors))
    return choices[best] if errors[best] < 0.5 * errors[0] else choices[0]
