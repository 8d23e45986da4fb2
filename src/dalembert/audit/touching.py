"""Rules on what touches: contacts of a simulation, and links of the robot that collide with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.dynamics.collision.hulls import Hull
from dalembert.dynamics.collision.pairs import LinkPair, body_pairs, solids
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.model.joints import Free

from .classes import LEAST_GROUND_FRICTION, robot_class
from .rule import Found, NotRun, demand, rule
from .subject import Subject

DEEP = {"rigid": 1e-4, "compliant": 5e-3, "mujoco": 5e-3}  # [m]: of hard ground, and of soft ground
MOST_FRICTION = 2.0  # no pair of usual materials has more
AT_REST = 1e-3  # [m/s, rad/s]
CARRIED = 0.01  # of the weight: an error of what the ground carries at rest
OVER = 1.0 + 1e-6  # of the friction that there is
OVERLAP = 1e-3  # [m]: links that touch at home by less are drawn flush
NAMED = 6  # pairs that are named one by one
TRIED = 25  # configurations in which two links must overlap to be taken as drawn into each other


@rule(
    "contact-run",
    "contact",
    "warning",
    reason="a run whose feet sink in, slide against the law or do not carry the weight shows another robot",
    cure="shorter steps, fewer points on one face, a stiffer or a rigid contact, friction of 0.6 and more for legs",
)
def contact_run(subject: Subject) -> Iterator[Found | NotRun]:
    contacts = getattr(subject.run, "contacts", None)
    if contacts is None:
        raise NotRun("no run with contact is given (robot.audit(run=robot.simulate(…, contact=dalembert.Contact())))")
    if subject.run.unfinished:
        yield NotRun(f"the run is incomplete: {subject.run.unfinished}", blocked=True)
    pushing = (contacts.normal_force > 0.0).any(axis=0)
    if not pushing.any():
        raise NotRun("nothing touches anything in the run")
    yield from _friction(subject, contacts, pushing)
    yield from _laws(contacts)
    yield from _carried(subject, contacts)


def _friction(subject: Subject, contacts: Any, pushing: np.ndarray) -> Iterator[Found]:
    legged = robot_class(subject.model) == "legged"
    for value in np.unique(contacts.friction[pushing]):
        points = [name for name, on in zip(contacts.names, pushing & (contacts.friction == value), strict=True) if on]
        if value > MOST_FRICTION:
            yield Found(_listed(points), f"the friction coefficient is {value:g}")
        elif legged and value < LEAST_GROUND_FRICTION:
            yield Found(
                _listed(points), f"μ is {value:g}, legged robots need {LEAST_GROUND_FRICTION:g}: feet slide easily"
            )


def _laws(contacts: Any) -> Iterator[Found]:
    """How well the laws of contact were kept."""
    k = int(np.argmin(contacts.gap.min(axis=0)))
    depth, limit = -float(contacts.gap[:, k].min()), DEEP[contacts.model]
    if depth > limit:
        at = contacts.t[int(np.argmin(contacts.gap[:, k]))]
        what = f"is {1e3 * depth:.3g} mm deep in what it touches at t = {at:.3g} s, expected at most {1e3 * limit:g} mm"
        yield Found(contacts.names[k], what)
    if contacts.unsettled:
        steps = "1 step" if contacts.unsettled == 1 else f"{contacts.unsettled} steps"
        what = f"{steps} did not reach the tolerance; the laws of contact are missed by up to {contacts.worst:.1e} m/s"
        yield Found("solver", what)
    for name, most in zip(contacts.names, contacts.ratio.max(axis=0), strict=True):
        if most > OVER:
            yield Found(name, f"asks for {most:.3g} times the friction there is: the motion is infeasible")


def _carried(subject: Subject, contacts: Any) -> Iterator[Found | NotRun]:
    """At the end of the run, if it is at rest: does the ground carry the weight?"""
    model, gravity = subject.model, np.asarray(subject.model.gravity, float)
    if not (model.floating and gravity.any()):
        return
    if np.abs(subject.run.v[-1]).max() > AT_REST:
        yield NotRun("the loads of the feet were not checked: the run does not end at rest")
        return
    grounded = np.array([second == "ground" for _, second in contacts.bodies])
    if (contacts.normal_force[-1][~grounded] > 0.0).any():
        yield NotRun("the loads of the feet were not checked: bodies touch each other")
        return
    up = -gravity / np.linalg.norm(gravity)
    load = float((contacts.force[-1] @ up).sum())
    weight = subject.mass * float(np.linalg.norm(gravity))
    if abs(load - weight) > CARRIED * weight:
        yield Found("ground", f"carries {load:.4g} N at rest, the robot weighs {weight:.4g} N", "error")


@rule(
    "self-collision",
    "authoring",
    "warning",
    reason="links that collide where the robot stands are drawn wrong, and contacts and planners see them",
    cure="at home: move or shrink the collision shapes, or exclude the pair (SRDF, <exclude>, edit().exclude); "
    "elsewhere: check motions with robot.distance(q), or narrow the limits",
)
def self_collision(subject: Subject) -> Iterator[Found | NotRun]:
    model, robot = subject.model, subject.robot
    try:
        if not solids(model):
            raise NotRun("the robot has no collision shapes")
        pairs = tuple(pair for pair in body_pairs(model) if _of_one_robot(model, pair))
    except DalembertError as error:
        raise NotRun(f"collision shapes cannot be read: {error}") from None
    demand(pairs, "no two links can collide: a joint connects them, or they are excluded")
    home = robot.home().q
    near = set(robot.near_pairs(home, 0.0, pairs))
    close: Any = tuple(pair for pair in pairs if (pair.a, pair.b) in near)
    # random configurations beside home; none of a robot with loops, which would be open in them
    places = subject.q[:TRIED] if model.nv and not model.closures else np.zeros((0, model.nq))
    depths = -np.asarray(robot.distance(np.vstack([home, places]), close)) if close else np.zeros((1, 0))
    at_home = [k for k, depth in enumerate(depths[0]) if depth > OVERLAP]
    always = [k for k in at_home if len(depths) > 1 and np.all(depths[:, k] > 0.0)]
    if always:
        names = _listed([f"{close[k].a} and {close[k].b}" for k in always])
        what = f"links that overlap in every configuration, as they are drawn, are not judged: {names}"
        yield Found(f"robot '{model.name}'", what, "info")
    touching = [(close[k], depths[0, k]) for k in at_home if k not in always]
    for pair, depth in touching[:NAMED]:
        hulls = any(isinstance(solid.shape, Hull) for both in pair.solids for solid in both)
        what = f"{'convex hulls overlap' if hulls else 'overlap'} by {1e3 * depth:.3g} mm at home"
        yield Found(f"links '{pair.a}', '{pair.b}'", what, "info" if hulls else None)
    if len(touching) > NAMED:
        others = ", ".join(f"{pair.a} and {pair.b}" for pair, _ in touching[NAMED:])
        yield Found("other links", f"{len(touching) - NAMED} more pairs overlap at home: {others}", "info")
    known = {close[k] for k in at_home}
    yield from _within_limits(subject, [pair for pair in pairs if pair not in known])


def _of_one_robot(model: Model, pair: LinkPair) -> bool:
    """Whether no free joint is between two links: what floats is nowhere in particular, also beside the ground."""

    def carrier(index: int) -> int:
        while not isinstance(model.bodies[index].joint, Free) and model.bodies[index].parent >= 0:
            index = model.bodies[index].parent
        return index

    return len({carrier(solid.body) for both in pair.solids for solid in both}) == 1


def _within_limits(subject: Subject, pairs: list[LinkPair]) -> Iterator[Found | NotRun]:
    """Pairs of plain shapes that collide somewhere within the limits of the joints, which a planner must know."""
    plain = tuple(p for p in pairs if not any(isinstance(s.shape, Hull) for both in p.solids for s in both))
    if subject.model.closures:
        yield NotRun("checked at home only: the robot has loops")
        return
    if not plain or not subject.model.nv:
        return
    names = set(subject.robot.near_pairs(subject.q, 0.0, plain))
    near: Any = tuple(pair for pair in plain if (pair.a, pair.b) in names)
    if not near:
        return
    distances = np.asarray(subject.robot.distance(subject.q, near))
    colliding = (distances < -OVERLAP).sum(axis=0)
    hit = [f"{pair.a} and {pair.b} ({n})" for pair, n in zip(near, colliding, strict=True) if n]
    if hit:
        k = int(np.argmin(distances.min(axis=1)))
        what = (
            f"links collide in some of {len(subject.q)} random configurations: {', '.join(hit[:NAMED])}"
            f"{' …' if len(hit) > NAMED else ''}; deepest at {subject.configuration(subject.q[k])}"
        )
        yield Found(f"robot '{subject.model.name}'", what, "info")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
