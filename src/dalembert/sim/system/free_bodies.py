"""Mechanisms of free bodies: constant inertia along body axes, joints between two bodies, sparse multipliers.

A body moves with the velocity V of its centre of mass in the world and its spin W along its own axes.

What is done for every body, and for every joint of a kind, is written once, as a step for one of them. For a single
motion it is compiled as a loop whose SIMD lanes are bodies or joints; for batches, whose lanes are motions, and for a
few of a kind, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Closure, JointEquation, Model
from dalembert.spatial import cross, so3

from ..elements.base import Element
from ..elements.couplings import Bushing, IndependentJoints
from .free_body import FreeBody, Moving, alike, over, snapped
from .free_joints import LIKE, Held, Joints


class FreeBodies:
    """The free bodies of a model and the joints between them. Refuses models that are not made of free bodies."""

    def __init__(
        self, model: Model, elements: Sequence[Element], where: str, explicit: bool = False, lanes: bool = False
    ) -> None:
        """explicit: the rows are those of all joints held by springs, in their order; else those of closures, and of
        springs that are taken implicitly. lanes: like bodies and joints are lanes of loops, as a single motion has it.
        """
        self.model, self.lanes = model, lanes
        closures = _closures(model, where)
        free = [body for body in model.bodies if body.joint.nv]
        self.numbers = {body.index: k for k, body in enumerate(free)}
        self.bodies = [_free_body(model, body, where) for body in free]
        self._q, self._v = [body.q for body in free], [body.v for body in free]
        held = [Held(closure, None) for closure in closures]
        held += [
            Held(_placed_closure(element, model), 1.0 / np.array(element.stiffness))
            for element in elements
            if isinstance(element, Bushing) and (element.implicit or explicit)
        ]
        for element in elements:
            if element.constraints(model):
                raise DalembertError(
                    f"{where}: {element.label()!r} holds the motion by conditions of its own: take another integrator "
                    "than 'leapfrog' and 'axis-angle'"
                )
        promised = any(isinstance(element, IndependentJoints) for element in elements)
        self.joints = Joints(self.bodies, self.numbers, held, promised, lanes)

    def over_bodies(self, step: Callable[..., Mapping[str, Any]], **items: np.ndarray) -> dict[str, np.ndarray]:
        """step(body, one row of each of the items) for every body: results by name, bodies first."""
        constants = {name: alike([getattr(body, name) for body in self.bodies]) for name in FreeBody._fields}

        def one(mass: Any, com: Any, inertia: Any, inverse: Any, *rows: Any) -> Mapping[str, Any]:
            return step(FreeBody(mass, com, inertia, inverse), *rows)

        return over(one, constants | items, self.lanes and len(self.bodies) >= LIKE)

    # ---- where the bodies are, and how they move

    def by_body(self, q: np.ndarray) -> np.ndarray:
        """q (nq,) body by body (n, 7): position and quaternion."""
        return np.array([q[place] for place in self._q]).reshape(-1, 7)

    def wrenches(self, forces: np.ndarray, on_bodies: Mapping[int, np.ndarray]) -> np.ndarray:
        """Generalised forces (nv,) and wrenches by body index, together and body by body (n, 6)."""
        total = np.array([forces[place] for place in self._v], object)
        for index, wrench in on_bodies.items():
            if index in self.numbers:
                total[self.numbers[index]] = total[self.numbers[index]] + wrench
        return total

    def moving(self, q: np.ndarray, v: np.ndarray) -> Moving:
        """All bodies at q (nq,), v (nv,)."""
        twists = np.array([v[place] for place in self._v]).reshape(-1, 6)

        def step(body: FreeBody, pose: np.ndarray, twist: np.ndarray) -> dict[str, Any]:
            return {"V": so3.from_quaternion(pose[3:]) @ (twist[3:] + cross(twist[:3], body.com))}

        poses = self.by_body(q)
        return Moving(poses, self.over_bodies(step, pose=poses, twist=twists)["V"], twists[:, :3])


def _free_body(model: Model, body: Any, where: str) -> FreeBody:
    joint = body.joint
    what = f"{where}: integrator 'leapfrog' moves free bodies"
    base = model.bodies[0]
    on_ground = body.parent < 0 or (body.parent == 0 and not base.joint.nv)
    untouched = [body.placement, *([base.placement] if body.parent == 0 else [])]
    if joint.kind != "free" or not on_ground or any(np.any(X.matrix() != np.eye(4)) for X in untouched):
        raise DalembertError(
            f"{what}, and joint {joint.name!r} of robot {model.name!r} is {joint.kind}: build the mechanism with "
            "coordinates='free', or take another integrator"
        )
    for effect in ("armature", "damping", "friction", "stribeck", "stiffness"):
        if np.any(getattr(joint, effect)):
            raise DalembertError(f"{what}: joint {joint.name!r} has {effect}: use an element in its place")
    inertia = body.inertia
    if inertia.moment.dtype == object:
        raise DalembertError(f"{what}, of constant inertia: it takes no live parameters")
    moments = inertia.about_com()
    if not inertia.mass > 0.0 or np.linalg.eigvalsh(moments)[0] <= 1e-12 * np.max(np.abs(moments)):
        missing = "no inertia about one of its axes" if inertia.mass > 0.0 else "no mass"
        raise DalembertError(
            f"{what}, and {body.name!r} has {missing}: give it some, or build the mechanism with coordinates='tree'"
        )
    moments = snapped(moments)
    return FreeBody(float(inertia.mass), snapped(inertia.com), moments, snapped(np.linalg.inv(moments)))


def _closures(model: Model, where: str) -> list[Closure]:
    for closure in model.closures:
        if isinstance(closure, JointEquation):
            raise DalembertError(
                f"{where}: integrators 'leapfrog' and 'axis-angle' move free bodies, and {closure.kind} "
                f"{closure.name!r} ties coordinates of joints: take another integrator, such as 'rk4'"
            )
    return [closure for closure in model.closures if not isinstance(closure, JointEquation)]


def _placed_closure(element: Bushing, model: Model) -> Closure:
    return replace(element.closure, a=model.frame(element.frame), b=model.frame(element.other))
