"""From the parts of a mechanism to a model: a tree of joints with closures, or free bodies with a closure per joint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.kinematics import joint_pose
from dalembert.errors import DalembertError
from dalembert.model import Frame, Model, ModelBuilder
from dalembert.model.closures import CLOSURES, Closure
from dalembert.sim.elements.couplings import Bushing
from dalembert.spatial import Inertia, Pose, cross, so3
from dalembert.typing import Array

from . import assembly
from .graph import CarrierTree, PathStep, coordinate_joints, factors, solved_for, spanning_tree
from .parts import COM, GROUND, KINDS, ORIGIN, BodyPart, CamPart, JointPart, Relation, ShapePart, coordinates


class MechanismParts(NamedTuple):
    """All parts of a mechanism."""

    name: str
    gravity: Array
    bodies: dict[str, BodyPart]  # the ground first
    joints: dict[str, JointPart]
    relations: list[Relation]
    shapes: list[ShapePart]

    @property
    def what(self) -> str:
        """Its name in errors."""
        return f"mechanism {self.name!r}"


class Built(NamedTuple):
    """A model, and the state q (nq,), v (nv,) in which it was put together."""

    model: Model
    q: Array
    v: Array


def tree_of(parts: MechanismParts, only_needed: bool = False) -> CarrierTree:
    """The joints that carry bodies, and those that close loops."""
    tied = coordinate_joints(parts.relations, list(parts.joints.values()))

    def needed(joint: JointPart) -> bool:
        stated = joint.start is not None or joint.rate is not None
        return joint.name in tied or bool(joint.values) or (stated and not only_needed)

    bodies = [name for name in parts.bodies if name != GROUND]
    return spanning_tree(bodies, parts.joints.values(), needed, only_needed, parts.what)


def built_tree(parts: MechanismParts) -> Built:
    """Build a tree of joints with as few coordinates as it can have; other joints close loops."""
    tree = tree_of(parts)
    model = _model(parts, tree)
    q = _rough(parts, tree, model)
    steps = [step for step in tree.carriers.values() if step is not None and step.joint.start is not None]
    held = [model.joint(step.joint.name).v.start for step in steps]
    if _with_relations(parts, tree):
        model = _model(parts, tree, q)
    moved = {body.name: body for body in model.bodies}
    named = [name for name in tree.carriers if parts.bodies[name].pose is not None and name in moved]
    stated = [k for name in named for k in range(model.nv)[moved[name].v]]
    q = assembly.closed(model, q, held, parts.what, stated)
    return Built(model, q, _speeds(parts, tree, model, q))


def built_free(parts: MechanismParts) -> Built:
    """Every body free, every joint a closure, but for joints that gears and cams count: they carry their bodies."""
    assembled = built_tree(parts)
    tree = tree_of(parts, only_needed=True)
    model = _model(parts, tree)
    X, V = algorithms.poses(assembled.model, assembled.q), _twists(assembled)
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for name, step in tree.carriers.items():
        if step is None:
            body, stated = model.body(name), assembled.model.frame(f"{name}.{ORIGIN}")
            X_BM = model.frame(f"{name}.{ORIGIN}").placement.inverse()
            place = X[stated.body] @ stated.placement @ X_BM
            q[body.q] = np.concatenate([place.p, so3.to_quaternion(place.R)])
            spin, R = V[stated.body][:3], place.R.T @ X[stated.body].R
            velocity = V[stated.body][3:] + cross(spin, stated.placement.point(X_BM.p))
            v[body.v] = np.concatenate([R @ spin, R @ velocity])
        elif KINDS[step.joint.kind].freedoms:
            body, source = model.body(name), assembled.model.joint(step.joint.name)
            q[body.q], v[body.v] = assembled.q[source.q], assembled.v[source.v]
    if _with_relations(parts, tree):
        model = _model(parts, tree, q)
    return Built(model, assembly.closed(model, q, (), parts.what), v)


def _twists(built: Built) -> list[Array]:
    """[ω; v] (6,) of every body, of its origin and along its axes."""
    V: list[Array] = []
    for body in built.model.bodies:
        inherited = V[body.parent] if body.parent >= 0 else np.zeros(6)
        X_PB = joint_pose(body, built.q)
        V.append(X_PB.inverse_motion(inherited) + body.joint.subspace(built.q[body.q]) @ built.v[body.v])
    return V


def _with_relations(parts: MechanismParts, tree: CarrierTree) -> bool:
    return any(not isinstance(relation, CamPart) for relation in parts.relations)


# ---- the model


def _model(parts: MechanismParts, tree: CarrierTree, q: Array | None = None) -> Model:
    """q: where relations hold; None: relations are left out, but for cams."""
    builder = ModelBuilder(parts.name, gravity=parts.gravity)
    builder.add_body(GROUND, parent="world")
    frames: dict[str, Pose] = {GROUND: Pose.identity()}  # X_BM: the frame of the model's body in the stated frame
    for name, step in tree.carriers.items():
        body = parts.bodies[name]
        if step is None:
            frames[name] = _principal(body.inertia)
            inertia = body.inertia.transform(frames[name].inverse())
            builder.add_body(
                name,
                parent=GROUND,
                joint="free",
                joint_name=f"{name}.free",
                inertia_object=Inertia(inertia.mass, np.zeros(3), np.diag(np.diag(inertia.I))),
            )
            continue
        near, far = (step.joint.a, step.joint.b) if step.sign > 0.0 else (step.joint.b, step.joint.a)
        frames[name] = parts.bodies[name].points[far.point]
        builder.add_body(
            name,
            parent=near.body,
            joint=KINDS[step.joint.kind].tree or "fixed",
            joint_name=step.joint.name,
            placement=frames[near.body].inverse() @ parts.bodies[near.body].points[near.point],
            inertia_object=body.inertia.transform(frames[name].inverse()),
            **_shape(step),
            **step.joint.values,
        )
    for name, body in parts.bodies.items():
        for point, X in body.points.items():
            builder.add_frame(f"{name}.{point}", body=name, placement=frames[name].inverse() @ X)
    for each in parts.shapes:
        X = frames[each.at.body].inverse() @ parts.bodies[each.at.body].points[each.at.point]
        builder.add_geometry(each.shape, body=each.at.body, placement=X, name=each.name)
        builder.add_geometry(each.shape, body=each.at.body, placement=X, role="collision", name=each.name)
    for joint in tree.closing:
        shape = {key: joint.shape[key] for key in KINDS[joint.kind].shape}
        builder.add_closure(joint.name, KINDS[joint.kind].closure, a=joint.a.name, b=joint.b.name, **shape)
    for relation in parts.relations:
        if isinstance(relation, CamPart):
            builder.add_cam(relation.name, relation.follower, relation.cam, relation.lift)
        elif q is not None:
            tied = factors(relation, list(parts.joints.values()))
            model = builder.model()
            constant = sum(factor * float(q[model.joint(joint).q][0]) for joint, factor in tied.items())
            follower, value, others = solved_for(tied, constant)
            builder.add_equation(relation.name, follower, coefficients=[value], others=others)
    return builder.model()


def _principal(inertia: Inertia) -> Pose:
    """The frame at the centre of mass along the principal axes; along the body's own where they are principal."""
    moments = inertia.about_com()
    off = moments - np.diag(np.diag(moments))
    if np.max(np.abs(off)) <= 1e-12 * np.max(np.abs(moments)):
        return Pose(np.eye(3), inertia.com)
    _, axes = np.linalg.eigh(moments)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return Pose(axes, inertia.com)


def _shape(step: PathStep) -> dict[str, Any]:
    """Axes of the joint in the tree: where it is taken from its second body to its first, the opposite ones."""
    shape = {key: step.joint.shape[key] for key in KINDS[step.joint.kind].shape}
    if step.sign > 0.0 or not shape:
        return shape
    if step.joint.kind == "universal":
        return {"axis": -shape["axis2"], "axis2": -shape["axis"]}
    return shape | {"axis": -shape["axis"]}


# ---- the state in which it is put together


def _rough(parts: MechanismParts, tree: CarrierTree, model: Model) -> Array:
    """Coordinates (nq,) from what was stated of joints, and of the places of bodies."""
    q = algorithms.neutral(model)
    reached: dict[str, Pose] = {GROUND: Pose.identity()}  # X_WB of the stated frames
    for name, step in tree.carriers.items():
        stated = parts.bodies[name].pose
        if step is None:
            X = stated or Pose.identity()
            place = X @ model.frame(f"{name}.{ORIGIN}").placement.inverse()
            q[model.body(name).q] = np.concatenate([place.p, so3.to_quaternion(place.R)])
            reached[name] = X
            continue
        near, far = (step.joint.a, step.joint.b) if step.sign > 0.0 else (step.joint.b, step.joint.a)
        base = reached[near.body] @ parts.bodies[near.body].points[near.point]
        tip = parts.bodies[name].points[far.point]
        reached[name] = base @ tip.inverse()
        if KINDS[step.joint.kind].freedoms:
            body = model.body(name)
            if step.joint.start is not None:
                q[body.q] = step.joint.start
            elif stated is not None:
                q[body.q] = coordinates(step.joint.kind, _shape(step), base.inverse() @ stated @ tip)
            reached[name] = base @ body.joint.pose(q[body.q]) @ tip.inverse()
    return q


def _speeds(parts: MechanismParts, tree: CarrierTree, model: Model, q: Array) -> Array:
    v = np.zeros(model.nv)
    held: list[int] = []
    names: list[str] = []
    for name, step in tree.carriers.items():
        part = parts.bodies[name]
        if step is None and (part.velocity is not None or part.spin is not None):
            body = model.body(name)
            R = so3.from_quaternion(q[body.q][3:])
            spin, velocity = (np.zeros(3) if x is None else x for x in (part.spin, part.velocity))
            origin = R @ model.frame(f"{name}.{ORIGIN}").placement.p  # from the model's frame to the stated one
            v[body.v] = np.concatenate([R.T @ spin, R.T @ (velocity - np.cross(spin, origin))])
            held += range(body.v.start, body.v.stop)
            names.append(name)
        elif step is not None and step.joint.rate is not None:
            body = model.joint(step.joint.name)
            v[body.v] = step.joint.rate
            held.append(body.v.start)
            names.append(step.joint.name)
        elif part.velocity is not None or part.spin is not None:
            raise DalembertError(
                f"{parts.what}: body {name!r} has a velocity, and joint {step.joint.name if step else ''!r} "
                "carries it: "
                "give the speed of that joint (rate=)"
            )
    return assembly.moving(model, q, v, held, names, parts.what)


def points_of(stated: dict[str, Pose], com: Array) -> dict[str, Pose]:
    """The named points of a body, with those that every body has."""
    return {ORIGIN: Pose.identity(), COM: Pose(np.eye(3), com)} | stated


SHARE = 0.25  # of |ω h| = 2, where explicit steps of an oscillation become unstable; rows of one body add up
DAMPED = 0.2  # damping ratio of every row


def closure_of(joint: JointPart) -> Closure:
    """The rows of a joint, between frames that coincide with its points."""
    shape = {key: joint.shape[key] for key in KINDS[joint.kind].shape}
    ends = (Frame(end.name, -1, Pose.identity()) for end in (joint.a, joint.b))
    return CLOSURES[KINDS[joint.kind].closure](joint.name, *ends, **shape)


def bushing(parts: MechanismParts, model: Model, q: Array, joint: JointPart, step: float | None) -> Bushing:
    """The springs and dampers instead of a joint.

    A stiffness that is stated is that of rows in m, and per m² that of rows in rad. Without one every row gets
    k = (SHARE / step)² / A, A the inverse of the mass that it feels.
    """
    assert joint.springs is not None
    stiffness, damping = joint.springs
    closure = closure_of(joint)
    if joint.compliance is not None:
        linear, angular = joint.compliance
        # whether each row is an angle: shifts do not change it
        rng = np.random.default_rng(0)
        X = Pose(so3.exp(rng.uniform(-0.5, 0.5, 3)), rng.uniform(0.5, 1.0, 3))
        shifts = np.array([closure.rate(X, V) for V in np.eye(6)[3:]])
        yielding = np.where(np.all(np.abs(shifts) < 1e-12, axis=0), angular, linear)
        ends = joint.a.name, joint.b.name
        return Bushing(
            joint.name, *ends, closure, tuple((1.0 / yielding).tolist()), (0.0,) * closure.count, implicit=True
        )
    if stiffness is None and step is None:
        raise DalembertError(
            f"{parts.what}: joint {joint.name!r} is held by springs: give its stiffness=… and damping=…, or the "
            "time step "
            "for which they are advised, build(step=1e-5)"
        )
    mobility = _mobility(model, q, joint, closure)
    k = (SHARE / step) ** 2 / mobility if stiffness is None and step is not None else np.full(closure.count, stiffness)
    d = 2.0 * DAMPED * np.sqrt(k / mobility) if damping is None else np.full(closure.count, damping)
    return Bushing(
        joint.name,
        joint.a.name,
        joint.b.name,
        closure,
        tuple(k.astype(float).tolist()),
        tuple(d.astype(float).tolist()),
    )


def _mobility(model: Model, q: Array, joint: JointPart, closure: Closure) -> Array:
    """How easily each row gives way: the diagonal of J M⁻¹ Jᵀ (n,)."""
    frames = [model.frame(end.name) for end in (joint.a, joint.b)]
    K, L = (algorithms.frame_pose(model, q, frame) for frame in frames)
    X = Pose(K.R.T @ L.R, K.R.T @ (L.p - K.p))
    J_K, J_L = (algorithms.jacobian(model, q, frame, np.zeros(3)) for frame in frames)
    turning = K.R.T @ (J_L[:3] - J_K[:3])
    p = L.p - K.p
    moving = K.R.T @ (J_L[3:] - J_K[3:] - np.cross(J_K[:3].T, p).T)
    rows = np.array([closure.rate(X, V) for V in np.concatenate([turning, moving]).T]).T
    M = algorithms.mass_matrix(model, q)
    mobility = np.einsum("ij,ji->i", rows, np.linalg.solve(M, rows.T))
    return np.maximum(mobility, 1e-12)
