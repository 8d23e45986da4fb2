"""Contact as a part of a system: what a time step needs of rigid contact, and the forces of compliant contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert.contact import Contact, ContactLaw, Patch, candidates
from dalembert.contact.compliant import FOLLOWS, Push, push
from dalembert.contact.gathering import Gathering
from dalembert.contact.rows import Rows as ContactRows
from dalembert.contact.rows import contact_rows
from dalembert.contact.scene import Scene, is_loose, known_growth, scene_of
from dalembert.dynamics.algorithms import mass_matrix, neutral
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.dynamics.algorithms.kinematics import chain
from dalembert.errors import DalembertError
from dalembert.linear import sparse_product
from dalembert.model import Model

from .base import Action, Element, Situation
from .patch_facts import facts_of, laws_of

SLOTS, SLOTS_PER_BODY = 40, 4  # contacts at a time of a robot, and of each body that flies freely
MEMORY_COUNTS = 10  # fields of a memory that are single numbers, behind the arrays
LARGEST = 2000  # velocities of all points, or of all slots, with many loose bodies: about two minutes to compile
PAIR_POINTS = 40  # of bodies against each other: more are looked for by pairs that are near
MOST_POINTS = 1000  # candidates: more are looked for by pairs that are near; else 2300 take minutes to compile
FEW = 8  # more candidates than are taken at a time up to which each has its own place
FOLLOWED = 0.5  # of 1/ω: the step of integrators without a bound for oscillations


class Memory(NamedTuple):
    """Results of a step of rigid contact for the next one and for reports, of k contacts.

    contacts (3 k,): impulses along the normal and tangents of each [N·s]; turned: moments of their friction about axes
    [N·m·s]; rows: impulses of other elements; slip (k,); held (3 k,): velocities along the normal and tangents at
    which contacts were held, not 0 where they roll, turn, close or bounce [m/s]; approach (k,), where some bounce:
    squares of the speeds at which contacts met that are to bounce in the next step [m²/s²], 0: none; numbers: where
    contacts are gathered, 1 + that of the candidate in each slot, 0: none; normals (3 k,): of pairs of bodies that are
    reported, as the step took them. residual: what the last pass changed or
    missed, worst: of all steps so far [m/s]; unsettled: how many steps did not reach the tolerance, or began beyond
    what they touch; passes: of the last step; owed: the energy that stopping these approaches took, of which the
    rebounds give some back [J]; crowded: how many steps had more contacts than there is room for; turn, turner: the
    largest angle so far by which a body turned that its step did not follow [rad], and 1 + its number, 0: none. passed:
    how many steps something may have passed through another in; share: of a step, the part with which the next one
    begins where it is divided, 0: the whole.
    """

    contacts: np.ndarray
    turned: np.ndarray
    rows: np.ndarray
    slip: np.ndarray
    held: np.ndarray
    approach: np.ndarray
    numbers: np.ndarray
    normals: np.ndarray
    residual: Any
    worst: Any
    unsettled: Any
    passes: Any
    owed: Any
    crowded: Any = 0.0
    turn: Any = 0.0
    turner: Any = 0.0
    passed: Any = 0.0
    share: Any = 0.0

    @property
    def impulses(self) -> np.ndarray:
        """Impulses of contacts, of their moments, and of rows."""
        return np.concatenate([self.contacts, self.turned, self.rows], axis=-1)

    def by_place(self) -> dict[str, np.ndarray]:
        """Memory of each of k contacts, as arrays (k, …)."""
        k = len(self.slip)
        turned = self.turned.reshape(k, len(self.turned) // k)
        return {
            "p": self.contacts.reshape(k, 3),
            "turned": turned,
            "slip": self.slip,
            "held": self.held.reshape(k, 3),
            "approach": self.approach.reshape(k, len(self.approach) // k),
        }

    def flat(self) -> np.ndarray:
        """One vector."""
        return np.concatenate([*self[:-MEMORY_COUNTS], self[-MEMORY_COUNTS:]])


@dataclass(frozen=True)
class RigidContact(Element):
    """Contacts that a time step keeps by impulses; rows: those of other elements, whose impulses are kept as well.

    slots: where candidates are many, for how many of them at a time a step has room before it takes all; 0: each
    candidate has its own place. remembered: with slots, how many contacts of a step the next one knows; where all that
    push are to be reported, as many as there are candidates. scene_room: where pairs that are near are listed first,
    contacts at a time; 0: they are not. looped: whether loose bodies are looped over. reported: whether forces are
    asked for, so that the normals of pairs of bodies are remembered. growth: how many times the usual room for pairs
    and contacts a scene has. lean: a step that its feet do not suffice for takes few slots and no more, as on graphics
    processors, where code for every number of contacts would take minutes to compile; what finds no slot is unsettled.
    footless: feet are contacts like others.
    """

    gives: ClassVar[bool] = False

    contact: Contact
    patches: tuple[Patch, ...]
    rows: int = 0
    slots: int = 0
    remembered: int = 0
    scene_room: int = 0
    looped: bool = False
    reported: bool = False
    growth: int = 1
    lean: bool = False
    footless: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the points that may touch."""
        return facts_of(self.patches).names

    def label(self) -> str:
        """The name of its accounts."""
        return "contact"

    @property
    def laws(self) -> tuple[ContactLaw, ...]:
        """Laws of the points that may touch."""
        return facts_of(self.patches).laws

    @property
    def thin(self) -> tuple[float, ...]:
        """Thickness of the thinner of both bodies of each point that may touch [m]; infinite on the ground."""
        return facts_of(self.patches).thin

    @property
    def bounces(self) -> bool:
        """Whether some of them bounce."""
        return facts_of(self.patches).bounces

    @property
    def divides(self) -> bool:
        """Whether bodies may pass through thin ones in a step: then it is divided."""
        return any(map(np.isfinite, self.thin))

    @property
    def turning(self) -> tuple[int, ...]:
        """Axes about which some contact resists turning: 0 the normal, 1 and 2 the tangents."""
        return tuple(sorted(facts_of(self.patches).axes))

    def gathering(self, model: Model) -> Gathering:
        """The candidates as a step finds them that has slots."""
        return Gathering(model, self.patches)

    def scene(self, model: Model) -> Scene:
        """The candidates as a step of a scene finds them."""
        return scene_of(model, self.patches, self.growth)

    def grown(self, model: Model) -> int:
        """The growth of a room twice as large, which the next steps with these bodies and this contact have."""
        scene_of(model, self.patches, 2 * self.growth)
        return 2 * self.growth

    def determinants(self) -> tuple[Any, ...]:
        """Everything that decides what it does."""
        settings = self.contact, self.rows, self.slots, self.remembered, self.scene_room, self.looped, self.reported
        return (*settings, self.growth, self.lean, self.footless, *facts_of(self.patches).determinants)

    @property
    def places(self) -> int:
        """Contacts that it remembers."""
        return self.scene_room or self.remembered or len(self.names)

    @property
    def keeps_normals(self) -> bool:
        """Whether it remembers normals: those of shapes that meet within a step depend on the velocities before it."""
        return self.reported and any(patch.passes_by for patch in self.patches)

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Sizes of the parts of its memory that are arrays."""
        k = self.places
        bouncing, numbered = self.bounces, bool(self.slots or self.scene_room)
        return 3 * k, k * len(self.turning), self.rows, k, 3 * k, k * bouncing, k * numbered, 3 * k * self.keeps_normals

    def size(self, model: Model) -> int:
        """Numbers of its memory."""
        return sum(self.memory_sizes) + MEMORY_COUNTS

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Nothing touched before."""
        return np.zeros(self.size(model))

    def act(self, s: Situation) -> Action:
        """Nothing by itself: the forces follow from the motion."""
        return Action(rate=np.zeros(self.size(s.model)))

    def memory(self, z: np.ndarray) -> Memory:
        """Its states (…, size) by name."""
        ends = np.cumsum(self.memory_sizes)
        arrays = [z[..., end - size : end] for size, end in zip(self.memory_sizes, ends, strict=True)]
        return Memory(*arrays, *(_number(z[..., ends[-1] + i]) for i in range(MEMORY_COUNTS)))

    def scaled(self, memory: Memory, share: Any) -> Memory:
        """The memory with the impulses of a step that takes this share of the time."""
        names = ("contacts", "turned", "rows")
        return memory._replace(slip=memory.slip / share, **{name: share * getattr(memory, name) for name in names})

    def by_candidate(self, memory: Memory) -> Memory:
        """The memory of n states with the contacts in the order of all candidates."""
        if not self.slots:
            return memory
        n, k = memory.slip.shape
        places = np.arange(n)[:, None], memory.numbers.astype(int)

        def ordered(x: np.ndarray, width: int) -> np.ndarray:
            rows = np.zeros((n, len(self.names) + 1, width))  # the first one is that of empty slots
            rows[places] = x.reshape(n, k, width)
            return rows[:, 1:].reshape(n, -1)

        widths = {"contacts": 3, "slip": 1, "held": 3} | ({"normals": 3} if self.keeps_normals else {})
        widths |= {"turned": len(self.turning)} if self.turning else {}
        return memory._replace(**{name: ordered(getattr(memory, name), width) for name, width in widths.items()})


def _number(x: Any) -> Any:
    """A traced number out of an array without axes."""
    return x[()] if isinstance(x, np.ndarray) else x


@dataclass(frozen=True)
class CompliantContact(Element):
    """Contacts as forces of springs, with friction that is smooth in the slip or that of bristles."""

    loses: ClassVar[bool] = True

    contact: Contact
    patches: tuple[Patch, ...]

    def label(self) -> str:
        """The name of its account."""
        return "contact"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the points that may touch."""
        return tuple(name for patch in self.patches for name in patch.names)

    @property
    def bristles(self) -> bool:
        """Whether the points remember where they took hold."""
        return self.contact.friction_model == "bristle"

    def size(self, model: Model) -> int:
        """Two stretches for each bristle."""
        return 2 * len(self.names) if self.bristles else 0

    def start(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Not stretched."""
        return np.zeros(self.size(model))

    def pushes(self, s: Situation) -> tuple[ContactRows, list[Push]]:
        """The rows of all points, and what each of them does."""
        rows = contact_rows(s.model, s.q, self.patches)
        u, w = (sparse_product(J, s.v).reshape(-1, 3) for J in (rows.J, rows.spin))
        z = s.z.reshape(-1, 2) if self.bristles else [None] * len(u)
        points = zip(laws_of(self.patches), rows.gap, u, w, z, strict=True)
        return rows, [push(law, self.contact.slip_speed, *motion) for law, *motion in points]

    def act(self, s: Situation) -> Action:
        """All forces, at the joints."""
        rows, pushes = self.pushes(s)
        tau = sparse_product(rows.J.T, np.concatenate([each.force for each in pushes]))
        if any(patch.law.axes for patch in self.patches):
            tau = tau + sparse_product(rows.spin.T, np.concatenate([each.moment for each in pushes]))
        at_joints = {body.index: tau[body.v] for body in s.model.independent if body.joint.nv}
        rate = np.concatenate([each.rate for each in pushes]) if self.bristles else ()
        return Action(at_joints, rate=rate, lost=sum((each.lost for each in pushes), 0.0))

    def energy(self, s: Situation) -> Any:
        """½ k depth² of all, and ½ k stretch² of bristles."""
        return sum((each.energy for each in self.pushes(s)[1]), 0.0)


def with_contact(
    where: str,
    model: Model,
    elements: tuple[Element, ...],
    contact: Any,
    step: float | None = None,
    stable: tuple[float, float] = (0.0, 0.0),
    reported: bool = False,
    growth: int = 1,
) -> tuple[Element, ...]:
    """The elements, all prepared, with that of a contact.

    step [s], stable: of an integrator with fixed steps, which must be short enough for the stiffness. reported: whether
    the forces of all contacts are asked for, which then are all remembered. growth: see `RigidContact`, at least.
    """
    if contact is None:
        return elements
    if not isinstance(contact, Contact):
        raise DalembertError(f"{where}: contact is {contact!r}, expected a dalembert.Contact")
    if contact.model == "mujoco":
        return elements  # `softened` has added its constraints
    points = candidates(model, contact)
    if contact.model == "compliant":
        if step is not None:
            _check_step(where, model, contact, points, step, stable)
        return (*elements, CompliantContact(contact, points))
    constraints = [c for element in elements for c in element.constraints(model)]
    growth = max(growth, known_growth(model, points))
    scene = scene_of(model, points, growth)
    looped = scene.looped and bool(scene.links or not (constraints or model.closures))
    switching = sum(c.count for c in constraints if c.admissible.switches)
    slots = slots_for(model, points)
    if not looped:
        _check_size(where, model, points, slots)
    if looped or _in_pairs(points):
        return (*elements, RigidContact(contact, points, switching, 0, 0, scene.room, looped, reported, growth))
    remembered = sum(len(patch.names) for patch in points) if slots and reported else slots
    return (*elements, RigidContact(contact, points, switching, slots, remembered, reported=reported))


def _check_size(where: str, model: Model, patches: tuple[Patch, ...], slots: int) -> None:
    """Refuse what would take many minutes to compile: many loose bodies of which constraints hold some."""
    loose = [body.name for body in model.bodies if is_loose(model, body)]
    moved = sum(len(patch.names) * _velocities(model, patch) for patch in patches)
    if len(loose) > FEW and (moved if not slots else slots * model.nv) > LARGEST:
        raise DalembertError(
            f"{where}: {len(loose)} loose bodies ({', '.join(loose[:3])}, …) with elements that hold some of them "
            "would take many minutes to compile: name the pairs that may touch, pairs=[(a, b), …], take fewer bodies, "
            "or give those that are held a joint with some damping, so that they count as links. Without such elements "
            "many loose bodies compile in seconds"
        )


def _in_pairs(patches: tuple[Patch, ...]) -> bool:
    """Whether points are so many, or those of bodies against each other, that pairs which are near are listed first."""
    points = [len(patch.names) for patch in patches]
    of_pairs = [len(patch.names) for patch in patches if patch.ground is None]
    return sum(of_pairs) > PAIR_POINTS or sum(points) > MOST_POINTS


def slots_for(model: Model, patches: tuple[Patch, ...]) -> int:
    """Contacts at a time for which a step has room; 0: each candidate has its own place, which then costs less.

    A contact in a slot may be of any body and counts with all velocities, one in its own place with those that move it.
    Half of the slots are taken at a time, or fewer.
    """
    slots = SLOTS + SLOTS_PER_BODY * sum(drifts(model, body) for body in model.bodies)
    taken, points = slots // 2, sum(len(patch.names) for patch in patches)
    moved = sum(len(patch.names) * _velocities(model, patch) for patch in patches)
    return min(slots, points) if points > taken + FEW and taken * model.nv < moved else 0


def _velocities(model: Model, patch: Patch) -> int:
    """How many velocities move a point of a patch."""
    ends = [index for index in (patch.first, patch.second) if index >= 0]
    return sum(body.joint.nv for body in {b.index: b for i in ends for b in chain(model, i)}.values())


def _check_step(
    where: str, model: Model, contact: Contact, patches: tuple[Patch, ...], step: float, stable: tuple[float, float]
) -> None:
    """Refuse steps that are too long for the springs of the contact, or for its friction under the robot's weight."""
    q = neutral(model)
    J = contact_rows(model, q, patches).J.astype(float)[::3]
    mobility = np.einsum("ki,ik->k", J, np.linalg.solve(mass_matrix(model, q), J.T))
    masses = 1.0 / np.maximum(mobility, np.finfo(float).tiny)
    laws = laws_of(patches)
    stiffness, friction = (np.array([getattr(law, name) for law in laws]) for name in ("stiffness", "friction"))
    k = int(np.argmin(masses / stiffness))
    weight = max(float(friction.max() * np.linalg.norm(model.gravity)), 1e-300)
    longest = {f"stiffness, {stiffness[k]:g} N/m": max(stable[0], FOLLOWED) * np.sqrt(masses[k] / stiffness[k])}
    if contact.friction_model == "bristle":
        longest["bristles"] = stable[1] / FOLLOWS
    else:
        longest[f"friction with slip_speed {contact.slip_speed:g} m/s"] = stable[1] * contact.slip_speed / weight
    for cause, limit in longest.items():
        if step > limit:
            raise DalembertError(
                f"{where}: a step of {step:g} s is too long for the contact's {cause}: take at most {limit:.2g} s, a "
                "softer contact or a larger slip_speed, or `simulate` without step, which finds its own"
            )
