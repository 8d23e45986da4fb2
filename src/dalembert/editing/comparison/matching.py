"""Matching the joints of two robots, and converting states of one into states of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import neutral, poses
from dalembert.errors import unknown
from dalembert.model import Body, Model, plan
from dalembert.model.assembly import WORLD
from dalembert.model.joints import Free
from dalembert.spatial import Pose, so3


def matched_names(a: Iterable[str], b: Iterable[str], renames: Mapping[str, str]) -> dict[str, str]:
    """a's name → b's: as stated, or equal, or equal but for one prefix on either side."""
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


def alone(model: Model, other: Model) -> Model:
    """The model; of one whose only body floats in a link "world", as MJCF has it, the robot alone, as the other is."""
    base, carried = model.bodies[0], model.children(0)
    if base.name != WORLD or base.joint.nv or not other.bodies[0].joint.nv or len(carried) != 1:
        return model
    if not isinstance(model.bodies[carried[0]].joint, Free):
        return model
    drawn, robot = plan(model), model.bodies[carried[0]].name
    ground = {frame.name for frame in model.frames if frame.body == 0}
    drawn.places = {name: place for name, place in drawn.places.items() if name not in ground}
    drawn.links = {name: link for name, link in drawn.links.items() if name not in ground}
    drawn.links[robot] = replace(drawn.links[robot], mount="")
    return drawn.model()


class MatchedLinks(NamedTuple):
    """A joint of each robot, by the bodies that they move."""

    a: Body
    b: Body


def matched_joints(a: Model, b: Model, renames: Mapping[str, str]) -> list[MatchedLinks]:
    """Moving joints of both robots that are the same one: by name, else by the link they move; two free bases are."""
    ours, theirs = (
        {body.joint.name: body for body in model.bodies if body.joint.nv and not _floats(model, body)}
        for model in (a, b)
    )
    for name in renames:
        if name not in ours and name not in {frame.name for frame in a.frames}:
            raise unknown("joint or frame", name, ours, f"compare: rename: robot {a.name!r}")
    names = matched_names(ours, theirs, renames)
    left = {body.name: name for name, body in theirs.items() if name not in names.values()}
    for name, body in ours.items():  # joints that have other names, and move the same link
        if name not in names and name not in renames and body.name in left:
            names[name] = left[body.name]
    pairs = [MatchedLinks(ours[name], theirs[other]) for name, other in names.items()]
    pairs = [pair for pair in pairs if pair.a.joint.nv == pair.b.joint.nv and pair.a.joint.nq == pair.b.joint.nq]
    if _floats(a, a.bodies[0]) and _floats(b, b.bodies[0]):
        pairs.append(MatchedLinks(a.bodies[0], b.bodies[0]))
    return sorted(pairs, key=lambda pair: pair.a.index)


def _floats(model: Model, body: Body) -> bool:
    return body.index == 0 and body.joint.nv > 0


class Map:
    """From states of a to those of b: coordinates in another order, the base measured by another frame.

    shift: pose of b's base frame in a's. v of b is T v of a, with T (nv of b, nv of a); rows: the entries of a's v that
    b knows. A joint that follows in a and is free in b moves there as it must. Joints without a partner rest at their
    neutral configuration.
    """

    def __init__(self, a: Model, b: Model, pairs: list[MatchedLinks], shift: Pose) -> None:
        self.a, self.b, self.pairs, self.shift = a, b, pairs, shift
        self.T = np.zeros((b.nv, a.nv))
        self._led = [pair for pair in pairs if pair.b.joint.mimic is None]
        for x, y in self._led:
            if x.index == 0 and y.index == 0:
                self.T[y.v, x.v] = shift.inverse().adjoint()
            else:
                self.T[y.v, x.v] = np.eye(x.joint.nv) if x.joint.mimic is None else x.joint.mimic.ratio
        self.rows = np.flatnonzero(np.any(self.T, axis=0))

    def states(self, rng: np.random.Generator) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """(q, v, a) of both: the same motion."""
        q = np.array(neutral(self.a))
        known = {pair.a.q.start for pair in self._led}
        for body in self.a.independent:
            drawn = body.joint.random(rng, 1)[0]
            if body.joint.nv and body.q.start in known:
                q[body.q] = drawn
        v, acceleration = np.zeros((2, self.a.nv))
        v[self.rows], acceleration[self.rows] = rng.normal(size=(2, self.rows.size))
        return (q, v, acceleration), (self.q(q), self.T @ v, self.T @ acceleration)

    def q(self, q: np.ndarray) -> np.ndarray:
        """Configuration of b."""
        out = np.array(neutral(self.b))
        for x, y in self._led:
            out[y.q] = x.joint.coordinate(q[x.q])
        base = self.b.bodies[0]
        if base.joint.nv:
            X = base.placement.inverse() @ poses(self.a, q)[0] @ self.shift
            out[base.q] = np.concatenate([X.p, so3.to_quaternion(X.R)])
        return out

    def force(self, tau: np.ndarray) -> np.ndarray:
        """Generalised forces of b, or columns of a matrix, as a writes them, in its rows that b knows."""
        return self.T[:, self.rows].T @ tau


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
