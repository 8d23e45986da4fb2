"""Translation between dalembert's coordinates and a peer's: order, quaternions, angles as (cos, sin), free joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalembert.spatial import so3

KINDS = ("revolute", "continuous", "prismatic", "free")


class Unavailable(Exception):
    """The peer cannot take part; the message says why."""


@dataclass
class Layout:
    """Where each coordinate of the robot sits in a peer's arrays, and what the peer's free-joint velocity means.

    With v' the peer's velocity, v' = T(q) v, where T has orthonormal columns; so a' = T a + c(q, v),
    tau = Tᵀ tau', M = Tᵀ M' T, J = J' T. `linear` and `angular` name the axes ("body" or "world") of the two halves
    of the peer's free-joint velocity, which all peers order [v; ω].
    """

    nq: int
    nv: int
    scalar_first: bool = True  # quaternion order w x y z
    linear: str = "body"
    angular: str = "body"
    angles: list[tuple[int, int]] = field(default_factory=list)  # q: (ours, theirs)
    circles: list[tuple[int, int]] = field(default_factory=list)  # q: (ours, theirs): cos there, sin next to it
    rates: list[tuple[int, int]] = field(default_factory=list)  # v: (ours, theirs)
    free: tuple[int, int, int, int] | None = None  # first index: q ours, q theirs, v ours, v theirs

    def add(self, joint, q: int, v: int, *, circle: bool = False) -> None:
        """Enter a joint of dalembert that starts at q and v in the peer's arrays."""
        if joint.kind not in KINDS:
            raise Unavailable(f"no translation for joint {joint.name!r} of kind {joint.kind}")
        if joint.kind == "free":
            self.free = (joint.q.start, q, joint.v.start, v)
            return
        (self.circles if circle else self.angles).append((joint.q.start, q))
        self.rates.append((joint.v.start, v))

    def positions(self, q: np.ndarray) -> np.ndarray:
        """(n, nq) of ours to (n, nq') of the peer's."""
        out = np.zeros((len(q), self.nq))
        for ours, theirs in self.angles:
            out[:, theirs] = q[:, ours]
        for ours, theirs in self.circles:
            out[:, theirs], out[:, theirs + 1] = np.cos(q[:, ours]), np.sin(q[:, ours])
        if self.free:
            i, k = self.free[:2]
            w, xyz = q[:, i + 3 : i + 4], q[:, i + 4 : i + 7]
            out[:, k : k + 7] = np.hstack([q[:, i : i + 3], *((w, xyz) if self.scalar_first else (xyz, w))])
        return out

    def transform(self, q: np.ndarray) -> np.ndarray:
        """T (n, nv', nv)."""
        T = np.zeros((len(q), self.nv, q.shape[1] - bool(self.free)))
        for ours, theirs in self.rates:
            T[:, theirs, ours] = 1.0
        if self.free:
            _, _, i, k = self.free
            R, E = self.base_rotation(q), np.eye(3)
            T[:, k : k + 3, i + 3 : i + 6] = R if self.linear == "world" else E
            T[:, k + 3 : k + 6, i : i + 3] = R if self.angular == "world" else E
        return T

    def drift(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """c (n, nv'): what a' holds beside T a, since world axes do not turn with the body: R (ω × v)."""
        c = np.zeros((len(q), self.nv))
        if self.free and self.linear == "world":
            _, _, i, k = self.free
            turning = np.cross(v[:, i : i + 3], v[:, i + 3 : i + 6])
            c[:, k : k + 3] = np.einsum("nij,nj->ni", self.base_rotation(q), turning)
        return c

    def base_rotation(self, q: np.ndarray) -> np.ndarray:
        """R (n, 3, 3) of the free joint."""
        i = self.free[0]  # type: ignore[index]
        return so3.from_quaternion(q[:, i + 3 : i + 7])
