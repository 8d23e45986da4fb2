"""`compare`: the same joints by name, the same bodies by their joints, the same physics at the same states.

Bodies are compared by mass, centre of mass and inertia in the world at matched configurations, joints by their twists
there, so that numbering, names of bodies and the choice of body frames do not matter. An item that differs in the
world, but not relative to the body that carries it, is only carried by something that differs, and is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import energy, gravity, mass_matrix, poses, rnea
from dalembert.errors import DalembertError
from dalembert.model import Body, Closure, Frame, Joint, Model
from dalembert.model.joints import Continuous, Revolute
from dalembert.model.joints.joint import LIMITS
from dalembert.spatial import Inertia, Pose

from .matching import Map, MatchedLinks, alone, base_shift, matched_joints, matched_names
from .report import MISSING, Agreement, Comparison, Difference

LAWS = ("lower", "upper", *LIMITS, "armature", "damping", "friction", "stribeck", "stiffness")
UNITS = {
    "lower": "[rad or m]",
    "upper": "[rad or m]",
    "rest": "[rad or m]",
    "velocity_limit": "[rad/s or m/s]",
    "acceleration_limit": "[rad/s² or m/s²]",
    "deceleration_limit": "[rad/s² or m/s²]",
    "jerk_limit": "[rad/s³ or m/s³]",
    "slip_speed": "[rad/s or m/s]",
    "stribeck_speed": "[rad/s or m/s]",
    "effort_limit": "[N·m or N]",
    "continuous_limit": "[N·m or N]",
    "friction": "[N·m or N]",
    "stribeck": "[N·m or N]",
    "armature": "[kg·m² or kg]",
    "damping": "[N·m·s/rad or N·s/m]",
    "stiffness": "[N·m/rad or N/m]",
}
# the size below which a quantity of a body is compared with this rather than with itself
SMALL = {"mass [kg]": 1e-5, "centre of mass in the world [m]": 1.0, "inertia in the world [kg·m²]": 1e-5}


def compare(
    a: Any,
    b: Any,
    *,
    rename: Mapping[str, str] | None = None,
    tolerance: float = 1e-9,
    states: int = 5,
    seed: int = 0,
) -> Comparison:
    """The differences between two robots (or models); see `Comparison`, which prints itself.

    rename: a's name → b's, for joints and frames. Names that differ by one prefix only are matched without it, and
    joints of other names by the link that they move.
    tolerance: relative to the size of what is compared; to 1 SI unit for smaller parameters of joints and places, 1e-5
    for masses and inertias. states: how many random matched
    states the dynamics is compared at.
    """
    models = [getattr(robot, "model", robot) for robot in (a, b)]
    for model in models:
        if not isinstance(model, Model):
            raise DalembertError(f"compare: expected two robots or models, got {type(model).__name__}")
    one, two = alone(models[0], models[1]), alone(models[1], models[0])
    renames = dict(rename or {})
    pairs = matched_joints(one, two, renames)
    shift = base_shift(one, two)
    matching = Map(one, two, pairs, shift)
    rng = np.random.default_rng(seed)
    drawn = [matching.states(rng) for _ in range(states)]
    notes = [
        f"{model.name} floats in a link 'world', which is left out"
        for model, kept in zip(models, (one, two), strict=True)
        if kept is not model
    ]
    if np.any(np.abs(shift.matrix() - np.eye(4)) > tolerance):
        notes.append("the base frames differ: the second is seen from the first through a frame that both carry")
    alike = {b.joint.name: b for b in two.bodies if b.joint.nv}
    other_kind = [
        Difference("joint", body.joint.name, "kind", body.joint.kind, alike[other].joint.kind, np.inf)
        for body in one.bodies
        if (other := renames.get(body.joint.name, body.joint.name)) in alike
        and body.joint.nv not in (0, alike[other].joint.nv)
    ]
    differences = [
        *other_kind,
        *_robots(one, two, tolerance),
        *(difference for pair in pairs for difference in _joints(pair, tolerance)),
        *_twists(matching, drawn[:2], tolerance),
        *_bodies(matching, drawn[0], tolerance),
        *_closures(matching, drawn[0], tolerance),
        *_frames(matching, drawn[0], renames, tolerance),
    ]
    return Comparison(
        one.name,
        two.name,
        tolerance,
        tuple((pair.a.joint.name, pair.b.joint.name) for pair in pairs),
        _left_over(one, [pair.a.index for pair in pairs]),
        _left_over(two, [pair.b.index for pair in pairs]),
        tuple(differences),
        _dynamics(matching, drawn),
        tuple(notes),
    )


def _left_over(model: Model, matched: list[int]) -> tuple[str, ...]:
    return tuple(body.joint.name for body in model.bodies if body.joint.nv and body.index not in matched)


def _differs(
    subject: str, name: str, quantity: str, a: Any, b: Any, tolerance: float, floor: float = 1.0
) -> Iterator[Difference]:
    """A difference of numbers, if it exceeds tolerance · max(floor, size); equal infinities are equal."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    if x.shape != y.shape:
        yield Difference(subject, name, quantity, a, b, np.inf)
        return
    with np.errstate(invalid="ignore"):  # inf - inf, where the limits are equal
        gap = np.where(x == y, 0.0, np.abs(x - y))
    size = float(np.max(np.abs(x[np.isfinite(x)]), initial=floor))
    error = float(np.max(gap, initial=0.0))
    if not error <= tolerance * size:
        yield Difference(subject, name, quantity, a, b, error)


def _robots(a: Model, b: Model, tolerance: float) -> Iterator[Difference]:
    mass, other = (sum(float(body.inertia.mass) for body in model.bodies) for model in (a, b))
    yield from _differs("robot", a.name, "total mass [kg]", mass, other, tolerance)
    yield from _differs("robot", a.name, "gravity [m/s²]", a.gravity, b.gravity, tolerance)
    x, y = a.bodies[0], b.bodies[0]
    if x.joint.kind != y.joint.kind:
        yield Difference("robot", a.name, "base", x.joint.kind, y.joint.kind, np.inf)
    if y.name != x.name and any(part.name == y.name for body in a.bodies[1:] for part in body.parts):
        yield Difference("robot", a.name, f"base link (reroot the first to {y.name!r})", x.name, y.name, np.inf)


def _joints(pair: MatchedLinks, tolerance: float) -> Iterator[Difference]:
    """Kind, limits and effects of one joint; of a follower in its uncoupled coordinate."""
    name = pair.a.joint.name
    laws = [joint.mimic for joint in (pair.a.joint, pair.b.joint)]
    x, y = pair.a.joint.uncoupled, pair.b.joint.uncoupled
    if (laws[0] is None) != (laws[1] is None):
        yield Difference("joint", name, "follows", laws[0], laws[1], np.inf)
    elif laws[0] is not None and laws[1] is not None:
        yield from _differs("joint", name, "ratio and offset", laws[0][1:], laws[1][1:], tolerance)
    if _kind(x) != _kind(y):
        yield Difference("joint", name, "kind", x.kind, y.kind, np.inf)
    fields = [*LAWS]
    fields += ["slip_speed"] if np.any(x.friction) and np.any(y.friction) else []
    fields += ["stribeck_speed"] if np.any(x.stribeck) and np.any(y.stribeck) else []
    fields += ["rest"] if np.any(x.stiffness) and np.any(y.stiffness) else []
    for field in fields:
        yield from _differs("joint", name, f"{field} {UNITS[field]}", getattr(x, field), getattr(y, field), tolerance)


def _kind(joint: Joint) -> str:
    """Its kind; revolute joints without limits are continuous ones."""
    unlimited = not np.any(np.isfinite([*joint.lower, *joint.upper]))
    return Continuous.kind if type(joint) is Revolute and unlimited else joint.kind


def _twists(matching: Map, drawn: Any, tolerance: float) -> Iterator[Difference]:
    """The joints' unit twists: direction and place of their axes."""
    reported: set[str] = set()
    for (q, _, _), (p, _, _) in drawn:
        X, Y = poses(matching.a, q), poses(matching.b, p)
        for a, b in matching.pairs:
            if a.index == 0 or b.index == 0 or a.joint.name in reported:
                continue
            (S, local), (T, other) = _twist(a, q, X[a.index]), _twist(b, p, Y[b.index])
            for part, quantity in ((slice(0, 3), "axis direction"), (slice(3, 6), "axis position [m]")):
                for each in _differs("joint", a.joint.name, f"{quantity} in the world", S[part], T[part], tolerance):
                    if any(_differs("", "", "", local[part], other[part], tolerance)):
                        reported.add(a.joint.name)
                        yield each


def _twist(body: Body, q: np.ndarray, X: Pose) -> tuple[np.ndarray, np.ndarray]:
    """S (6, nv) of a joint in its own coordinate, at the world's origin along its axes, and so in the parent body."""
    S = body.joint.uncoupled.subspace(body.joint.coordinate(q[body.q]))
    return _moved(X, S), _moved(_carried(body, q), S)


def _moved(X: Pose, S: np.ndarray) -> np.ndarray:
    return np.stack([X.motion(column) for column in S.T], axis=1).squeeze()


def _bodies(matching: Map, drawn: Any, tolerance: float) -> Iterator[Difference]:
    """Inertias, in the world and as seen from the bodies that carry them: one of the two must agree."""
    (q, _, _), (p, _, _) = drawn
    X, Y = poses(matching.a, q), poses(matching.b, p)
    pairs = [(pair.a, pair.b) for pair in matching.pairs if pair.a.index and pair.b.index]
    for a, b in [(matching.a.bodies[0], matching.b.bodies[0]), *pairs]:
        masses = _masses(a.inertia, b.inertia, _carried(a, q), _carried(b, p))
        world = _masses(a.inertia, b.inertia, X[a.index], Y[b.index])
        for quantity, (ours, theirs) in world.items():
            if any(_differs("", "", "", *masses[quantity], tolerance, floor=SMALL[quantity])):
                yield from _differs("body", a.name, quantity, ours, theirs, tolerance, floor=SMALL[quantity])


def _carried(body: Body, q: np.ndarray) -> Pose:
    """A body in the one that carries it; the base in itself."""
    return Pose.identity() if body.index == 0 else body.placement @ body.joint.pose(q[body.q])


def _masses(a: Inertia, b: Inertia, X: Pose, Y: Pose) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mass, centre of mass and inertia of two bodies, placed at X and Y."""
    quantities = {"mass [kg]": (np.array(a.mass), np.array(b.mass))}
    if a.mass and b.mass:
        quantities["centre of mass in the world [m]"] = (X.point(a.com), Y.point(b.com))
    turned = X.R @ a.about_com() @ X.R.T, Y.R @ b.about_com() @ Y.R.T
    return quantities | {"inertia in the world [kg·m²]": turned}


def _closures(matching: Map, drawn: Any, tolerance: float) -> Iterator[Difference]:
    """Differences of closures: the same names and kinds, between the same places."""
    ours, theirs = ({c.name: c for c in model.closures} for model in (matching.a, matching.b))
    names = matched_names(ours, theirs, {})
    for name in ours.keys() - names.keys():
        yield Difference("closure", name, "missing", ours[name].kind, None, np.inf)
    for name in theirs.keys() - set(names.values()):
        yield Difference("closure", name, "missing", None, theirs[name].kind, np.inf)
    (q, _, _), (p, _, _) = drawn
    X, Y = poses(matching.a, q), poses(matching.b, p)
    for name, other in names.items():
        c, d = ours[name], theirs[other]
        if c.kind != d.kind:
            yield Difference("closure", name, "kind", c.kind, d.kind, np.inf)
        elif isinstance(c, Closure) and isinstance(d, Closure):
            for end in ("a", "b"):
                ours_at, theirs_at = _place(X, getattr(c, end)), _place(Y, getattr(d, end))
                yield from _differs("closure", name, f"place of end {end} [m]", ours_at, theirs_at, tolerance)
        else:
            law, other_law = (getattr(equation, "coefficients", ()) for equation in (c, d))
            yield from _differs("closure", name, "coefficients", law, other_law, tolerance)


def _place(X: list[Pose], frame: Frame) -> np.ndarray:
    return frame.placement.p if frame.body < 0 else X[frame.body].point(frame.placement.p)


def _frames(matching: Map, drawn: Any, renames: Mapping[str, str], tolerance: float) -> Iterator[Difference]:
    ours, theirs = ({frame.name: frame for frame in model.frames} for model in (matching.a, matching.b))
    names = matched_names(ours, theirs, renames)
    (q, _, _), (p, _, _) = drawn
    X, Y = poses(matching.a, q), poses(matching.b, p)
    for name in ours:
        if name not in names:
            yield Difference("frame", name, MISSING, "there", None, np.inf)
            continue
        f, g = ours[name], theirs[names[name]]
        in_a, in_b = (X[f.body] @ f.placement).matrix(), (Y[g.body] @ g.placement).matrix()
        bodies = matching.a.bodies[f.body], matching.b.bodies[g.body]
        local, other = (_carried(bodies[0], q) @ f.placement).matrix(), (_carried(bodies[1], p) @ g.placement).matrix()
        if any(_differs("", "", "", local, other, tolerance)):
            yield from _differs("frame", name, "pose in the world [m]", in_a, in_b, tolerance)
    for name in theirs:
        if name not in names.values():
            yield Difference("frame", name, MISSING, None, "there", np.inf)


def _dynamics(matching: Map, drawn: Any) -> dict[str, Agreement]:
    """Rows of matched joints, those without a partner at rest."""
    a, b, rows = matching.a, matching.b, matching.rows
    errors: dict[str, list[tuple[float, float]]] = {}
    for (q, v, x), (p, w, y) in drawn:
        M = mass_matrix(b, p)
        turned = matching.force(matching.force(M).T)
        results = {
            "mass matrix": (mass_matrix(a, q)[np.ix_(rows, rows)], turned),
            "gravity and springs": (gravity(a, q)[rows], matching.force(gravity(b, p))),
            "inverse dynamics": (rnea(a, q, v, x)[rows], matching.force(rnea(b, p, w, y))),
            "energy": (np.array(energy(a, q, v)), np.array(energy(b, p, w))),
        }
        for quantity, (ours, theirs) in results.items():
            size = float(np.max(np.abs(ours), initial=0.0))
            error = float(np.max(np.abs(ours - theirs), initial=0.0))
            errors.setdefault(quantity, []).append((size, error))
    return {
        quantity: Agreement(max(size for size, _ in pairs), max(error for _, error in pairs))
        for quantity, pairs in errors.items()
    }
