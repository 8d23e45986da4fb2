"""The drawing of a mechanism: bodies with named points, and joints, gears and cams between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import ModelBuilder
from dalembert.model.joints.joint import LIMITS
from dalembert.spatial import Inertia, Pose

from .build import points_of
from .graph import factors
from .parts import (
    COUNTED,
    GROUND,
    KINDS,
    BodyPart,
    CamPart,
    End,
    JointPart,
    MeshPart,
    Relation,
    ShapePart,
    X,
    Z,
    compliance_stated,
    inertia_stated,
    lift_stated,
    numbers,
    place_stated,
    shape_stated,
    unit,
)

ORIGIN = (0.0, 0.0, 0.0)
SQUARE = 1e-9  # cosine of the angle between axes that are at right angles
VALUES = ("lower", "upper", "friction", "armature", *LIMITS)


class Drawing:
    """Bodies and joints between their named points.

    gravity (3,) in the world [m/s²]. Points are written "body.point"; "ground" is a body that does not move, and every
    body has the points "origin" (its frame) and "com". Two numbers are a point in the x-y plane.
    """

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        if not isinstance(name, str) or not name:
            raise DalembertError(f"mechanism: name is {name!r}, expected text")
        self.name = name
        self.gravity = numbers(gravity, f"mechanism {name!r}", "gravity")
        self._bodies: dict[str, BodyPart] = {GROUND: BodyPart(GROUND, Inertia.zero(), points_of({}, np.zeros(3)))}
        self._joints: dict[str, JointPart] = {}
        self._relations: dict[str, Relation] = {}
        self._shapes: dict[str, ShapePart] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self._bodies) - 1} bodies, {len(self._joints)} joints>"

    # ---- bodies and points

    def body(
        self,
        name: str,
        mass: float,
        inertia: Any = None,
        *,
        com: Any = ORIGIN,
        points: Mapping[str, Any] | None = None,
        xyz: Any = None,
        rpy: Any = None,
        angle: float | None = None,
        velocity: Any = None,
        spin: Any = None,
    ) -> Self:
        """Add a body of `mass` [kg], its centre of mass at `com` (3,) [m] in its frame.

        inertia [kg·m²] about the centre of mass: three principal moments, a matrix (3, 3), or one number, the moment
        about z of a body that moves in the x-y plane; without it the body is a point mass. points: name → position (3,)
        in the body's frame, or (position, rpy) of a frame of its own, or a `Pose`. xyz, rpy (or angle, about z):
        roughly where it is; without them the joints say. velocity (3,) of its origin [m/s] and spin (3,) [rad/s], in
        the world, of a body that no joint carries.
        """
        where = f"mechanism {self.name!r}: body {name!r}"
        self._check_name(where, name, self._bodies)
        mass = float(numbers(mass, where, "mass", ()))
        if not mass > 0.0:
            raise DalembertError(f"{where}: mass is {mass:g} kg: give it some, or fix its points to a body that has")
        center = numbers(com, where, "com")
        body_inertia = Inertia.from_com(mass, center, inertia_stated(inertia, where))
        problems = body_inertia.problems()
        if problems:
            raise DalembertError(f"{where}: {'; '.join(problems)}; check mass, com, and inertia (about the com)")
        if angle is not None and rpy is not None:
            raise DalembertError(f"{where}: both angle and rpy are given: give one of them")
        turned = (0.0, 0.0, float(numbers(angle, where, "angle", ()))) if angle is not None else rpy
        placed = None
        if xyz is not None or turned is not None:
            placed = Pose.from_xyz_rpy(
                numbers(ORIGIN if xyz is None else xyz, where, "xyz"),
                numbers(ORIGIN if turned is None else turned, where, "rpy"),
            )
        rates = [None if x is None else numbers(x, where, what) for x, what in ((velocity, "velocity"), (spin, "spin"))]
        self._bodies[name] = BodyPart(name, body_inertia, points_of({}, center), placed, *rates)
        for point, place in (points or {}).items():
            self.point(name, point, place)
        return self

    def ground(self, **points: Any) -> Self:
        """Name points of the ground, in the world's frame."""
        for point, place in points.items():
            self.point(GROUND, point, place)
        return self

    def point(self, body: str, name: str, place: Any, rpy: Any = None) -> Self:
        """Name a point of a body: position (3,) [m] in its frame, and the axes that it has, turned by rpy [rad]."""
        where = f"mechanism {self.name!r}: point {f'{body}.{name}'!r}"
        if body not in self._bodies:
            raise unknown("body", body, self._bodies, where)
        if not isinstance(name, str) or not name or "." in name:
            raise DalembertError(f"{where}: the name of a point is text without dots")
        if name in self._bodies[body].points:
            raise DalembertError(f"{where}: there is already a point of that name: names must differ")
        self._bodies[body].points[name] = place_stated(place, rpy, where)
        return self

    def shape(self, point: str, kind: str, *, name: str | None = None, **sizes: Any) -> Self:
        """Give a body a shape at one of its points, along its axes, to be seen and, with `contact`, to be touched.

        kind: "sphere" (radius), "box" (size (3,)), "cylinder" and "capsule" (radius, length, along z), all in m.
        """
        name = name or f"shape{len(self._shapes) + 1}"
        where = f"mechanism {self.name!r}: shape {name!r}"
        self._check_name(where, name, {**self._shapes, **self._bodies})
        self._shapes[name] = ShapePart(name, self._end(point, where), kind, sizes, shape_stated(kind, sizes, where))
        return self

    # ---- joints

    def joint(
        self,
        kind: str,
        a: str,
        b: str,
        *,
        name: str | None = None,
        axis: Any = None,
        axis2: Any = None,
        pitch: float | None = None,
        length: float | None = None,
        start: float | None = None,
        rate: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        hold: str = "multipliers",
        compliance: float | tuple[float, float] | None = None,
        **values: Any,
    ) -> Self:
        """Join point `b` to point `a`.

        kind: fixed revolute prismatic screw cylindrical universal spherical planar point-on-line point-on-plane
        distance. axis (3,): in the frames of both points (default z); axis2 of a universal joint, in b (default x);
        pitch [m/rad] of a screw; length [m] of a distance, by default as the bodies are placed. The coordinate is the
        angle, or shift, of b's frame as seen from a. start: its value when the mechanism is put together, which is held
        then; rate: its speed. values: lower, upper, friction, armature … of a joint that carries a body.
        hold: "multipliers", or "springs", of `stiffness` and `damping` for every equation [N/m, and N·m/rad for
        angles], which are advised by `build(step=…)` where they are not stated. compliance: by how much multipliers
        give way, (m/N, rad/(N·m)) or one number for both.
        """
        name = name or f"joint{len(self._joints) + 1}"
        where = f"mechanism {self.name!r}: joint {name!r}"
        if kind not in KINDS:
            raise unknown("joint kind", kind, KINDS, where)
        self._check_name(where, name, self._joints)
        ends = self._end(a, where), self._end(b, where)
        if ends[0].body == ends[1].body:
            raise DalembertError(
                f"{where}: {a!r} and {b!r} are points of one body, {ends[0].body!r}: join points of two bodies"
            )
        shape = self._shape(kind, where, {"axis": axis, "axis2": axis2, "pitch": pitch, "length": length})
        if kind == "distance" and length is None:
            shape["length"] = self._distance(ends, where)
        start, rate = (self._coordinate(kind, where, what, x) for what, x in (("start", start), ("rate", rate)))
        self._check_values(kind, name, shape, values)
        gives_way = compliance_stated(compliance, where)
        springs = _springs(name, where, hold, stiffness, damping, gives_way is not None)
        if springs and (start is not None or rate is not None or values):
            raise DalembertError(
                f"{where}: held by springs it has no coordinate: leave out start, rate, {', '.join(VALUES)}"
            )
        self._joints[name] = JointPart(name, kind, *ends, shape, start, rate, values, springs, gives_way)
        return self

    def gear(self, a: str, b: str, *, teeth: tuple[float, float], carrier: str = GROUND, internal: bool = False,
             name: str | None = None) -> Self:  # fmt: skip
        """Let two wheels mesh, body `a` and body `b`, both turning on the body `carrier`.

        teeth: of a and b, or their pitch radii. Seen along the axes of their joints, which may be parallel or meet
        (bevel
        gears), the wheels turn against each other; internal: the same way, as in a ring.
        """
        za, zb = (float(x) for x in numbers(teeth, f"mechanism {self.name!r}: gear {a} on {b}", "teeth", (2,)))
        return self._mesh("gear", name, a, b, carrier, za, -zb if internal else zb)

    def belt(self, a: str, b: str, *, radii: tuple[float, float], carrier: str = GROUND, crossed: bool = False,
             name: str | None = None) -> Self:  # fmt: skip
        """Let a belt that does not slip run over two wheels, of `radii` [m], both turning on the body `carrier`."""
        ra, rb = (float(x) for x in numbers(radii, f"mechanism {self.name!r}: belt {a} to {b}", "radii", (2,)))
        return self._mesh("belt", name, a, b, carrier, ra, rb if crossed else -rb)

    def rack(self, pinion: str, rack: str, *, radius: float, carrier: str = GROUND, name: str | None = None) -> Self:
        """Let a pinion roll on a rack: the rack slides by radius [m] · the pinion's angle, both held by `carrier`."""
        r = float(numbers(radius, f"mechanism {self.name!r}: rack {rack}", "radius", ()))
        return self._mesh("rack", name, pinion, rack, carrier, r, -1.0)

    def _mesh(self, kind: str, name: str | None, a: str, b: str, carrier: str, fa: float, fb: float) -> Self:
        name = name or f"{kind}{len(self._relations) + 1}"
        where = f"mechanism {self.name!r}: {kind} {name!r}"
        self._check_name(where, name, {**self._relations, **self._joints})
        for body in (a, b, carrier):
            if body not in self._bodies:
                raise unknown("body", body, self._bodies, where)
        if len({a, b, carrier}) < 3:
            raise DalembertError(f"{where}: {a!r}, {b!r} and their carrier {carrier!r} must be three bodies")
        if not (fa and fb):
            raise DalembertError(f"{where}: teeth and radii must not be 0")
        mesh = MeshPart(name, kind, a, b, carrier, fa, fb)
        factors(mesh, list(self._joints.values()))  # refuses wheels without shafts
        self._relations[name] = mesh
        return self

    def cam(self, cam: str, follower: str, *, lift: Any, name: str | None = None) -> Self:
        """Let the coordinate of joint `follower` be a function of the angle of joint `cam`, turn after turn.

        lift: a function of the angle [rad] to the follower's coordinate [m or rad], or rows (angle, lift) at equal
        distances from 0 to 2π, both ends included.
        """
        name = name or f"cam{len(self._relations) + 1}"
        where = f"mechanism {self.name!r}: cam {name!r}"
        self._check_name(where, name, {**self._relations, **self._joints})
        for joint in (cam, follower):
            if joint not in self._joints:
                raise unknown("joint", joint, self._joints, where)
            if self._joints[joint].kind not in COUNTED:
                raise DalembertError(f"{where}: joint {joint!r} is {self._joints[joint].kind}, expected one coordinate")
        self._relations[name] = CamPart(name, cam, follower, lift_stated(lift, where))
        return self

    # ---- checks

    def _check_name(self, where: str, name: str, taken: Mapping[str, Any]) -> None:
        if not isinstance(name, str) or not name:
            raise DalembertError(f"{where}: the name must be text and not empty")
        if taken is self._bodies and "." in name:
            raise DalembertError(f"{where}: the name of a body has no dots, which stand before its points")
        if name in taken:
            raise DalembertError(f"{where}: there is already one of that name: names must differ")

    def _end(self, text: str, where: str) -> End:
        body, dot, point = text.partition(".") if isinstance(text, str) else ("", "", "")
        if not dot:
            raise DalembertError(f"{where}: {text!r} is not a point, expected one such as 'crank.tip'")
        if body not in self._bodies:
            raise unknown("body", body, self._bodies, where)
        if point not in self._bodies[body].points:
            raise unknown("point", text, [f"{body}.{name}" for name in self._bodies[body].points], where)
        return End(body, point)

    def _shape(self, kind: str, where: str, stated: dict[str, Any]) -> dict[str, Any]:
        needed = KINDS[kind].shape
        for key, value in stated.items():
            if value is not None and key not in needed:
                raise DalembertError(f"{where}: {key} does not apply to a {kind} joint: leave it out")
        shape: dict[str, Any] = {}
        for key in needed:
            value = stated[key]
            if key in ("axis", "axis2"):
                shape[key] = unit({"axis": Z, "axis2": X}[key] if value is None else value, where, key)
            elif value is not None:
                shape[key] = float(numbers(value, where, key, ()))
            elif key == "pitch":
                raise DalembertError(f"{where}: a screw needs its pitch [m/rad]: pitch=…")
        if kind == "screw" and shape["pitch"] == 0.0:
            raise DalembertError(f"{where}: pitch is 0: use a revolute joint")
        if kind == "universal" and abs(shape["axis"] @ shape["axis2"]) > SQUARE:
            raise DalembertError(
                f"{where}: axis {shape['axis'].tolist()} and axis2 {shape['axis2'].tolist()} are not at right angles: "
                "use two revolute joints with a body between them"
            )
        if "length" in shape and not shape["length"] > 0.0:
            raise DalembertError(
                f"{where}: length is {shape['length']:g}, expected a length above 0: use a spherical joint"
            )
        return shape

    def _check_values(self, kind: str, name: str, shape: dict[str, Any], values: dict[str, Any]) -> None:
        """Refuse values that a joint of that kind does not take."""
        where = f"mechanism {self.name!r}: joint {name!r}"
        for key in values:
            if key not in VALUES:
                raise unknown("argument", key, VALUES, where)
        tree = KINDS[kind].tree
        if values and (tree is None or not KINDS[kind].freedoms):
            raise DalembertError(f"{where}: {next(iter(values))} means nothing to a {kind} joint: leave it out")
        if values:
            alone = ModelBuilder("joint")
            alone.add_body(GROUND, parent="world")
            try:
                alone.add_body("carried", parent=GROUND, joint=str(tree), joint_name=name, **shape, **values)
            except DalembertError as error:
                raise DalembertError(f"mechanism {self.name!r}: {error}") from None

    def _coordinate(self, kind: str, where: str, what: str, value: Any) -> float | None:
        """A value of the coordinate of a joint, or of its speed."""
        if value is None:
            return None
        if kind not in COUNTED:
            raise DalembertError(
                f"{where}: {what} is for joints of one coordinate ({', '.join(COUNTED)}), and it is {kind}: give xyz "
                "and rpy of bodies"
            )
        return float(numbers(value, where, what, ()))

    def _distance(self, ends: tuple[End, End], where: str) -> float:
        poses = [Pose.identity() if end.body == GROUND else self._bodies[end.body].pose for end in ends]
        if poses[0] is None or poses[1] is None:
            raise DalembertError(f"{where}: give length=…, or xyz and rpy of both bodies, from which it follows")
        pairs = zip(poses, ends, strict=True)
        p, r = ((X @ self._bodies[end.body].points[end.point]).p for X, end in pairs if X is not None)
        length = float(np.linalg.norm(r - p))
        if not length > 0.0:
            raise DalembertError(f"{where}: its points lie together: use a spherical joint, or give length=…")
        return length


def _springs(
    name: str, where: str, hold: str, stiffness: float | None, damping: float | None, gives_way: bool
) -> tuple[float | None, float | None] | None:
    """Stiffness and damping of the springs that hold a joint; None: multipliers. gives_way: with a compliance."""
    if hold not in ("multipliers", "springs"):
        raise DalembertError(f"{where}: hold is {hold!r}, expected 'multipliers' or 'springs'")
    if hold == "springs":
        return stiffness, damping
    if stiffness is not None or damping is not None:
        raise DalembertError(
            f"{where}: stiffness and damping belong to hold='springs': for a spring or damper along its coordinate "
            f"write spring({name!r}, …)"
        )
    return (None, None) if gives_way else None
