"""Rules on expectations: sizes, names, masses, reach and holding torques of a trusted model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.errors import DalembertError

from .expectations import Expectations, reach
from .gravity import gravity_as_expected
from .rule import Found, NotRun, rule
from .subject import Subject

SHARE = 0.05  # of the largest torque of a pose: joints below it are compared with that
UNSTATED = (
    "no expectations were given (expect=…, --expect FILE): a wrong mass, centre of mass or axis that "
    "some robot could have goes unnoticed"
)


def _expected(subject: Subject) -> Expectations:
    if subject.expect is None:
        raise NotRun(UNSTATED)
    return subject.expect


@rule(
    "expected-sizes",
    "intent",
    "error",
    reason="a robot with other joints, coordinates or another base than the design is another robot",
    cure="compare with the trusted version (dalembert compare), or write the expectations anew (dalembert expect)",
)
def sizes(subject: Subject) -> Iterator[Found]:
    meant, model = _expected(subject).model, subject.model
    where = f"robot '{model.name}'"
    present = {"nq": model.nq, "nv": model.nv, "base": "free" if model.floating else "fixed"}
    for key, value in present.items():
        expected = getattr(meant, key)
        if expected is not None and expected != value:
            yield Found(where, f"{key} is {value}, expected {expected}")
    if meant.joints is not None:
        names = [body.joint.name for body in model.bodies if body.joint.nv]
        missing, extra = [n for n in meant.joints if n not in names], [n for n in names if n not in meant.joints]
        if missing:
            yield Found(where, f"joints are missing: {', '.join(missing)}")
        if extra:
            yield Found(where, f"joints are not expected: {', '.join(extra)}")
        if not missing and not extra and names != meant.joints:
            yield Found(where, f"joints come in the order {', '.join(names)}, expected {', '.join(meant.joints)}")


@rule(
    "expected-masses",
    "intent",
    "error",
    reason="a link that lost or gained mass changes every torque",
    cure="compare the link with CAD or the trusted version, or write the expectations anew (dalembert expect)",
)
def masses(subject: Subject) -> Iterator[Found]:
    expected = _expected(subject)
    tolerance = expected.model.tolerance
    present = {part.name: float(part.inertia.mass) for _, part in subject.parts}
    for link, mass in expected.masses.items():
        if link not in present:
            yield Found(f"link '{link}'", f"is missing, expected with {mass:g} kg")
        elif abs(present[link] - mass) > tolerance * mass:
            yield Found(f"link '{link}'", f"weighs {present[link]:.4g} kg, expected {mass:.4g}")
    whole = expected.model.mass
    if whole is not None and abs(subject.mass - whole) > tolerance * whole:
        yield Found(f"robot '{subject.model.name}'", f"weighs {subject.mass:.4g} kg, expected {whole:.4g}")


@rule(
    "expected-reach",
    "intent",
    "error",
    reason="a chain of another length is one in other units, or with a joint or a tool in another place",
    cure="compare the origins of joints and tool with the drawing",
)
def expected_reach(subject: Subject) -> Iterator[Found]:
    meant = _expected(subject).model
    if meant.reach is None:
        raise NotRun("no reach is expected")
    length = reach(subject.robot)
    if abs(length - meant.reach) > meant.tolerance * meant.reach:
        yield Found(f"robot '{subject.model.name}'", f"reaches {length:.4g} m, expected {meant.reach:.4g}")


@rule(
    "expected-gravity",
    "gravity",
    "error",
    reason="holding torques off by more than 10 % mean an error of mass, centre of mass or axis",
    cure="compare masses, centres of mass and axes of what the joint carries",
)
def expected_gravity(subject: Subject) -> Iterator[Found | NotRun]:
    expected = _expected(subject)
    if not expected.pose:
        raise NotRun("no poses are expected")
    if not gravity_as_expected(subject):
        raise NotRun("gravity itself differs from the expected one", blocked=True)
    model, tree = subject.model, subject.tree
    for pose in expected.pose:
        lost = [name for name in model.coordinate_names if name not in pose.q]
        if lost or len(pose.q) != model.nq:
            yield NotRun(f"pose '{pose.name}' has no {', '.join(lost) or 'matching coordinates'}", blocked=True)
            continue
        q = np.array([pose.q[name] for name in model.coordinate_names])
        try:
            torque = tree.gravity(tree.normalize(q))
        except DalembertError as error:
            yield NotRun(f"pose '{pose.name}': {error}", blocked=True)
            continue
        scale = max((abs(x) for x in pose.torque.values()), default=0.0)
        for name, value in zip(model.freedom_names, torque, strict=True):
            meant = pose.torque.get(name)
            size = max(abs(meant), SHARE * scale, 1e-9) if meant is not None else np.inf
            if meant is not None and abs(value - meant) > expected.model.tolerance * size:
                sign = ", the opposite sign" if abs(value + meant) <= 0.2 * size else ""
                yield Found(
                    f"joint '{name}'", f"holds {value:.4g} at '{pose.name}', expected {meant:.4g} N·m (or N){sign}"
                )
