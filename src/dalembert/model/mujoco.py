"""MuJoCo's soft constraints in an MJCF file, as data: `Contact(model="mujoco")` makes it act."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dalembert.spatial import Pose

from .geometry import Surface

LEAST = 1e-15  # MuJoCo's smallest number: lengths, areas and weights below it count as 0


@dataclass(frozen=True)
class Softness:
    """Softness of a constraint: solref (time constant [s], damping ratio) or (−stiffness, −damping); solimp (5,)."""

    solref: tuple[float, float] = (0.02, 1.0)
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)


SOFT = Softness()


@dataclass(frozen=True)
class MujocoOption:
    """<option>: timestep [s]; integrator, as MuJoCo calls it; cone; impratio.

    override: (margin, softness, friction) instead of those of every contact; refsafe: whether time constants are
    at least two steps; contacts, limits, equalities: whether they act; joined_touch: whether bodies that a joint
    connects may touch; implicit_damping: whether Euler's method takes damping at the end of the step.
    """

    timestep: float = 0.002
    integrator: str = "Euler"
    cone: str = "pyramidal"
    impratio: float = 1.0
    override: tuple[float, Softness, tuple[float, ...]] | None = None
    refsafe: bool = True
    contacts: bool = True
    limits: bool = True
    equalities: bool = True
    joined_touch: bool = False
    implicit_damping: bool = True


@dataclass(frozen=True)
class MujocoJoint:
    """MuJoCo's data of a joint: reference, its coordinates in the model's first state; margin of its limits [rad or m].

    largest_angle: of a ball joint that is limited [rad].
    """

    joint: str
    reference: tuple[float, ...]
    limit: Softness = SOFT
    margin: float = 0.0
    friction: Softness = SOFT
    largest_angle: float | None = None


@dataclass(frozen=True, eq=False)
class MujocoTendon:
    """A sum of coordinates (joints: name, coefficient), or straight lines from site to site (path).

    range: of its length [m or rad], None: without limits; rest: lengths between which its spring does not act;
    reference: its length in the model's first state.
    """

    name: str
    joints: tuple[tuple[str, float], ...] = ()
    path: tuple[str, ...] = ()
    range: tuple[float, float] | None = None
    margin: float = 0.0
    limit: Softness = SOFT
    frictionloss: float = 0.0
    friction: Softness = SOFT
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    reference: float = 0.0

    @property
    def pulls(self) -> bool:
        """Whether it has a spring or a damper, which act in every simulation."""
        return bool(self.stiffness or self.damping)

    def holding(self, held: Mapping[str, float]) -> MujocoTendon:
        """The same with joints held at these coordinates: their share of its length is taken off all its lengths."""
        share = sum(x * held[name] for name, x in self.joints if name in held)
        return replace(
            self,
            joints=tuple((name, x) for name, x in self.joints if name not in held),
            range=None if self.range is None else (self.range[0] - share, self.range[1] - share),
            rest=(self.rest[0] - share, self.rest[1] - share),
            reference=self.reference - share,
        )


@dataclass(frozen=True, eq=False)
class MujocoEquality:
    """<equality>: kind "connect" or "weld" of links a and b, at placements in them; "joint" or "tendon" of a and b.

    b may be "": none, or the world. coefficients: of a − reference as a polynomial of b − reference. torque_scale: of a
    weld [m].
    """

    name: str
    kind: str
    a: str
    b: str
    softness: Softness = SOFT
    placement_a: Pose | None = None
    placement_b: Pose | None = None
    coefficients: tuple[float, ...] = ()
    torque_scale: float = 1.0


@dataclass(frozen=True)
class MujocoPair:
    """<pair>: two shapes by name, with parameters of their own; friction: two sliding, torsional, two rolling."""

    a: str
    b: str
    condim: int
    friction: tuple[float, ...]
    softness: Softness
    friction_solref: tuple[float, float]
    margin: float
    gap: float


@dataclass(frozen=True, eq=False)
class HeightMap:
    """<hfield> of the world: heights z (n, m) [m] at the points (xs[i], ys[j]) of a grid [m], in a frame at placement.

    link: what it belongs to. base: how far it reaches down below the origin of that frame [m].
    """

    name: str
    link: str
    placement: Pose
    xs: np.ndarray
    ys: np.ndarray
    z: np.ndarray
    base: float
    surface: Surface

    @property
    def level(self) -> bool:
        """Whether its axes are along those of the world."""
        return is_level(self.placement)


def is_level(X: Pose) -> bool:
    """Whether the axes of a frame are along those of the world."""
    return bool(np.allclose(X.R, np.eye(3), atol=1e-12))


@dataclass(frozen=True, eq=False)
class Mujoco:
    """All of it."""

    option: MujocoOption = MujocoOption()
    joints: tuple[MujocoJoint, ...] = ()
    tendons: tuple[MujocoTendon, ...] = ()
    equalities: tuple[MujocoEquality, ...] = ()
    pairs: tuple[MujocoPair, ...] = ()
    height_maps: tuple[HeightMap, ...] = ()

    def joint(self, name: str) -> MujocoJoint | None:
        """The entry of a joint, if the file has one."""
        return next((each for each in self.joints if each.joint == name), None)

    def holding(self, held: Mapping[str, float]) -> Mujoco:
        """With joints held at these coordinates; a tendon over held joints alone has nothing left to pull."""
        tendons = (tendon.holding(held) for tendon in self.tendons)
        return replace(self, tendons=tuple(tendon for tendon in tendons if tendon.joints or tendon.path))

    def kept(self, links: Collection[str], joints: Collection[str]) -> Mujoco:
        """Without what links, frames or joints carried that are no longer there."""
        tendons = tuple(
            t for t in self.tendons if {name for name, _ in t.joints} <= {*joints} and {*t.path} <= {*links}
        )
        known = {
            "connect": {*links, ""},
            "weld": {*links, ""},
            "joint": {*joints, ""},
            "tendon": {"", *(t.name for t in tendons)},
        }
        equalities = tuple(e for e in self.equalities if {e.a, e.b} <= known[e.kind])
        return replace(
            self, joints=tuple(j for j in self.joints if j.joint in joints), tendons=tendons, equalities=equalities
        )

    def prefixed(self, prefix: str) -> Mujoco:
        """The same with other names of tendons and equalities."""
        tied = (
            replace(e, a=prefix + e.a, b=prefix + e.b if e.b else "") if e.kind == "tendon" else e
            for e in self.equalities
        )
        return replace(
            self,
            tendons=tuple(replace(t, name=prefix + t.name) for t in self.tendons),
            equalities=tuple(replace(e, name=prefix + e.name) for e in tied),
        )

    def joined(self, other: Mujoco | None) -> Mujoco:
        """With the constraints of another file; the options stay."""
        if other is None:
            return self
        return replace(
            self,
            joints=(*self.joints, *other.joints),
            tendons=(*self.tendons, *other.tendons),
            equalities=(*self.equalities, *other.equalities),
            pairs=(*self.pairs, *other.pairs),
        )

    def renamed(self, links: Mapping[str, str], joints: Mapping[str, str]) -> Mujoco:
        """The same with other names of links, frames and joints."""
        tendons = (
            replace(
                t,
                joints=tuple((joints.get(name, name), x) for name, x in t.joints),
                path=tuple(links.get(site, site) for site in t.path),
            )
            for t in self.tendons
        )
        names = {"connect": links, "weld": links, "joint": joints, "tendon": {}}
        equalities = (replace(e, a=names[e.kind].get(e.a, e.a), b=names[e.kind].get(e.b, e.b)) for e in self.equalities)
        return replace(
            self,
            joints=tuple(replace(j, joint=joints.get(j.joint, j.joint)) for j in self.joints),
            tendons=tuple(tendons),
            equalities=tuple(equalities),
        )
