"""Model → MJCF, as MuJoCo's own compiler reads it: bodies with hinges and slides in a row, sites, equalities."""

from __future__ import annotations

import numpy as np
from lxml import etree

from dalembert.model import Body, Closure, Frame, Joint, JointEquation, Model
from dalembert.model.assembly import WORLD
from dalembert.model.closures import WORLD_BODY
from dalembert.model.joints import Free, Step
from dalembert.spatial import Pose

from .layout import Item, UniqueNames, contents, in_row, row_in_words
from .losses import Losses
from .mjcf_drives import FAR, add_actuators, add_keyframes, add_tendons, solver_options
from .mjcf_inertia import JointRow, add_inertial, bare_links, carried_inertias
from .mjcf_shapes import Geoms, place
from .shapes import Package
from .surroundings import MjcfSurroundings
from .text import Element, add, number, numbers

FORMAT = "mjcf"  # among the keywords of joints
SOFT = "an equality, which MuJoCo holds softly"


def to_mjcf(model: Model, losses: Losses, package: Package, geometry: bool = True) -> Element:
    """The <mujoco> element."""
    return _Mjcf(model, losses, geometry).mujoco()


class _Mjcf:
    def __init__(self, model: Model, losses: Losses, geometry: bool) -> None:
        self.model, self.losses = model, losses
        self.joints = UniqueNames(body.joint.name for body in model.bodies)
        self.sites = UniqueNames(frame.name for frame in model.frames)
        self.root = etree.Element("mujoco", model=model.name)
        angles = {"angle": "radian", "autolimits": "true"}
        add(self.root, "compiler", **angles, inertiafromgeom="false", balanceinertia="false", fusestatic="false")
        self.surroundings = MjcfSurroundings(model)
        add(self.root, "option", gravity=numbers(model.gravity), **self.surroundings.option(), **solver_options(model))
        self.shapes = Geoms(losses, add(self.root, "asset"), geometry, self.surroundings)
        self.world = add(self.root, "worldbody")
        self.equality = add(self.root, "equality")
        self.elements: dict[int, Element] = {WORLD_BODY: self.world}

    def mujoco(self) -> Element:
        carried = contents(self.model)
        bare = bare_links(self.model, carried)
        inertias = carried_inertias(self.model, self.losses, bare)
        stack: list[tuple[Element, Item, int, JointRow]] = [
            (self.world, Item(self.model.bodies[0], Pose.identity()), 0, JointRow())
        ]
        while stack:  # depth first, as MuJoCo numbers bodies and coordinates
            parent, item, carrier, row = stack.pop()
            what, row = item.what, row.beyond(item.placement)
            if isinstance(what, Frame):
                add(parent, "site", name=what.name, **place(item.placement))
                continue
            if isinstance(what, Body) and what.index in bare:
                stack.append((parent, bare[what.index], what.index, row.then(what)))
                continue
            if isinstance(what, Body):
                carrier = what.index
                element = self.elements[carrier] = self._body(parent, what, row)
                part = what.parts[0]
            else:
                element, part = add(parent, "body", name=what.name, **place(row.placement)), what
                self._row(element, what.name, row)
            if element is self.world and np.any(inertias[part.name].parameters()):
                self.losses.note(
                    "link", part.name, "its mass moves nothing, and the world has none in MJCF", "left out"
                )
            elif element is not self.world:
                add_inertial(element, part.name, inertias[part.name], self.losses)
                element.attrib.update(self.surroundings.body(part.name))
            self.shapes.add(element, part, fixed=not self._moves(carrier))
            self.surroundings.inertia(part.name, inertias[part.name])
            stack += [(element, child, carrier, JointRow()) for child in reversed(carried[part.name])]
        for closure in self.model.closures:
            self._closure(closure)
        add_tendons(self.root, self.model, self.losses)
        add_actuators(self.root, self.model, self.losses)
        add_keyframes(self.root, self.model)
        self._exclusions()
        self.surroundings.close(self.losses)
        for empty in [element for element in (self.shapes.assets, self.equality) if not len(element)]:
            self.root.remove(empty)
        return self.root

    def _exclusions(self) -> None:
        """Pairs of bodies that never touch."""
        written = {WORLD, *(element.get("name") for element in self.root.iter("body"))}
        pairs = [pair for pair in self.model.exclusions if written.issuperset(pair)]
        contact = add(self.root, "contact") if pairs else None
        for a, b in pairs:
            add(contact, "exclude", body1=a, body2=b)

    def _moves(self, index: int) -> bool:
        """Whether a body can move: not the fixed base."""
        return index > 0 or self.model.bodies[0].joint.nv > 0

    def _row(self, element: Element, name: str, row: JointRow) -> None:
        """The joints of links without mass that end in this one."""
        for body, X in row.bodies:
            if body.name != f"{name}:{body.joint.name}":
                what = "it has no mass, which MuJoCo refuses"
                self.losses.note("link", body.name, what, f"its joint is one of the body '{name}', as MJCF has it")
            self._joints(element, body, X)

    def _body(self, parent: Element, body: Body, row: JointRow) -> Element:
        placement = body.placement if body.index == 0 else row.placement
        if body.index == 0 and body.name == WORLD:
            return self.world
        element = add(parent, "body", name=body.name, **place(placement))
        self._row(element, body.name, row)
        if not body.joint.nv:
            return element
        free = isinstance(body.joint, Free)
        if free and parent is not self.world:
            cure = "let it float in the world, or carry it by joints with other names for its freedoms"
            self.losses.refuse("joint", body.joint.name, "MuJoCo lets only bodies in the world float", cure)
        if free:
            self.losses.place_at_origin(body.joint, placement, "MuJoCo measures a free joint")
        self._joints(element, body, Pose.identity())
        return element

    # ---- joints

    def _joints(self, element: Element, body: Body, X: Pose) -> None:
        """The joint of a body, as MJCF joints of an element whose frame is at X in that body."""
        joint = body.joint.uncoupled
        if FORMAT in joint.keywords:
            self._joint(element, Step(joint, body.joint.mimic), X)
            return
        row = in_row(body.joint, self.joints)
        if not row:
            self.losses.refuse_joint(joint, FORMAT)
            return
        what, joints = f"MJCF has no {joint.kind} joint", f"joints of one body: {row_in_words(joint, FORMAT)}"
        if any(step.mimic for step in row if step.joint.name != joint.name):
            self.losses.change("joint", joint.name, what, f"{joints}, by {SOFT}")
        else:
            self.losses.note("joint", joint.name, what, f"{joints}, same coordinates")
        for step in row:
            self._joint(element, step, X)

    def _joint(self, body: Element, step: Step, X: Pose) -> None:
        joint = step.joint
        element = add(body, "joint", name=joint.name, type=joint.keywords[FORMAT])
        if np.any(X.p):
            element.set("pos", numbers(X.inverse().p))
        if joint.nv == 1:
            element.set("axis", numbers(X.R.T @ joint.axis))  # type: ignore[attr-defined]
            self._limits(element, joint)
        for attribute, field in {"armature": "armature", "damping": "damping", "frictionloss": "friction"}.items():
            if value := self._equal(joint, field):
                element.set(attribute, number(value))
        if np.any(joint.stiffness):
            self._spring(element, joint)
        self.losses.leave_out_slip_speed(joint, "frictionloss", "MuJoCo holds it as a constraint")
        if np.any(np.isfinite(joint.velocity_limit)):
            self.losses.note("joint", joint.name, "MJCF has no limits of speed", "left out")
        self.losses.leave_out_drive(joint)
        if step.mimic is not None:
            leader, ratio, offset = step.mimic
            self.losses.note("joint", joint.name, f"follows '{leader}'", SOFT)
            law = numbers([offset, ratio, 0, 0, 0])
            add(self.equality, "joint", joint1=joint.name, joint2=leader, polycoef=law)

    def _limits(self, element: Element, joint: Joint) -> None:
        lower, upper, effort = joint.lower[0], joint.upper[0], joint.effort_limit[0]
        if np.isfinite(lower) or np.isfinite(upper):
            element.set("range", numbers(np.clip([lower, upper], -FAR, FAR)))
        stated = [limits[1:] for limits in self.model.joint_force_limits if limits.joint == joint.name]
        if stated:
            element.set("actuatorfrcrange", numbers(stated[0]))
        elif np.isfinite(effort):
            element.set("actuatorfrcrange", numbers([-effort, effort]))

    def _equal(self, joint: Joint, field: str) -> float:
        """The one number that MJCF has for all freedoms of a joint."""
        values = getattr(joint, field)
        if isinstance(joint, Free) and field != "damping" and np.any(values):
            what = f"{field} of a free joint, which MuJoCo would apply along world axes"
            self.losses.change("joint", joint.name, what, "left out")
            return 0.0
        if np.ptp(values):
            what = f"{field} is not the same for all freedoms, and MJCF has one number"
            self.losses.change("joint", joint.name, what, "their mean")
        return float(values.mean())

    def _spring(self, element: Element, joint: Joint) -> None:
        if joint.nv == 1:
            element.set("stiffness", number(joint.stiffness[0]))
            element.set("springref", number(joint.rest[0]))
        elif isinstance(joint, Free) or np.any(joint.rest != joint.neutral()):
            what = "MJCF has no such spring: a free joint's also acts on its position, a ball's is relaxed at neutral"
            self.losses.change("joint", joint.name, what, "left out")
        else:
            element.set("stiffness", number(joint.stiffness[0]))

    # ---- loops

    def _closure(self, closure: Closure | JointEquation) -> None:
        name, kind = closure.name, closure.kind
        if isinstance(closure, JointEquation):
            if closure.others or closure.kind != "equation":
                what = f"MJCF has no {closure.kind} of these joints: {', '.join(closure.joints)}"
                self.losses.refuse("closure", name, what, "keep the mechanism as .mech.toml")
                return
            if len(closure.coefficients) > 5:
                self.losses.refuse("closure", name, "MJCF has polynomials up to the fourth power", "use a lower power")
                return
            law = numbers(np.pad(closure.coefficients, (0, 5 - len(closure.coefficients))))
            element = add(self.equality, "joint", name=name, joint1=closure.follower, joint2=closure.leader or None)
            element.set("polycoef", law)
        elif kind in ("weld", "point"):
            self._tie("weld" if kind == "weld" else "connect", name, closure, np.zeros(3))
        elif kind == "revolute":
            what = "a revolute closure, which MJCF does not have"
            self.losses.change("closure", name, what, "two points of the axis, 1 m apart, are connected")
            for suffix, shift in (("", np.zeros(3)), ("_2", closure.axis)):  # type: ignore[attr-defined]
                self._tie("connect", name + suffix, closure, shift)
        else:
            cure = "close the loop by weld, point or revolute, or save as .urdf"
            self.losses.refuse("closure", name, f"MJCF has no {kind} closure", cure)
            return
        self.losses.note("closure", name, f"a {kind} closure", SOFT)

    def _tie(self, tag: str, name: str, closure: Closure, shift: np.ndarray) -> None:
        """An equality between two sites, each placed exactly; `shift` (3,) in their axes."""
        sites = []
        for frame in (closure.a, closure.b):
            X = frame.placement @ Pose(np.eye(3), shift)
            sites.append(self.sites.new(f"{name}{frame.name[-2:]}"))
            add(self.elements[frame.body], "site", name=sites[-1], **place(X))
        add(self.equality, tag, name=name, site1=sites[0], site2=sites[1])
