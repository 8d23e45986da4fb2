"""The result of a rollout: its arrays, reports of contacts, and what is computed from its states when asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.compiler.interop import is_foreign
from dalembert.compiler.interop.kinds import library
from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.typing import Array

from ..integrators.catalogue import TIME_STEPPING
from ..run.compiled import Programs
from ..system.unsolved import Unsolved
from .motions import Motions
from .stepping import Stepping

LARGEST = 1 << 24  # bytes of torques and parameters that a rollout keeps for its accelerations


class RolloutContacts(NamedTuple):
    """Rigid contact in each motion (…,): how many steps did not reach the tolerance, and the largest error [m/s].

    names: of the points that may touch. crowded (…,): of the unsettled steps, those of a scene in which more contacts
    touched than there is room for; those beyond it had no forces. Rollouts of NumPy arrays take the room that they
    need, so that it is 0; on graphics processors, and in PyTorch and JAX, look at it. passed (…,): of the unsettled
    steps, those in which something may have passed through another body, or begun inside of one. diverged (…,): which
    motions are no longer numbers; on graphics processors and with check=False nothing is raised.

    With forces="last" or "every": bodies: (first, second) of each of the k points, "ground" among them; force and
    moment (…, k, 3) on the first body, in world axes [N, N·m], the mean over the step that led to the last state, or to
    each that is recorded; moment: of torsional and rolling friction.
    """

    names: tuple[str, ...]
    unsettled: Any
    worst: Any
    crowded: Any
    diverged: Any
    passed: Any = 0
    bodies: tuple[tuple[str, str], ...] = ()
    force: Any = None
    moment: Any = None

    @property
    def by_body(self) -> dict[str, Array]:
        """The sum of the contact forces (…, 3) on each body that may touch something, in world axes [N]."""
        if self.force is None:
            raise DalembertError("rollout: contacts have no forces: pass forces='last' or forces='every'")
        named: dict[str, Array] = {}
        for k, (first, second) in enumerate(self.bodies):
            for name, sign in ((first, 1.0), (second, -1.0)):
                if name != "ground":
                    named[name] = named.get(name, 0.0) + sign * self.force[..., k, :]
        return named


class _Records(NamedTuple):
    t: Array
    q: Array
    v: Array


class Rollout(_Records):
    """t (n,) [s], q (…, n, nq), v (…, n, nv) at the recorded steps; without records t, q (…, nq), v (…, nv) at the end.

    Arrays of the kind that was given, on its device. events (…, k) [s]: the end of the step in which each event first
    fell, NaN where it did not. contacts: the report of rigid contact. memory (…, n): what contacts, elements and
    controllers keep, for `rollout(memory=…)`. tallies (…, n): what was measured along each motion, see
    `tallies.Tallies`. Each is None where there is nothing.
    """

    events: Array | None = None
    contacts: RolloutContacts | None = None
    memory: Array | None = None
    tallies: Array | None = None
    _programs: Callable[..., list[Unsolved]] | None = None
    _later: Callable[[], Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but what holds compiled code."""
        return vars(self) | {"_later": None, "_programs": None}

    @property
    def a(self) -> Array:
        """Accelerations (…, n, nv) at the recorded states, or (…, nv): the mean over the step that follows each.

        Computed when they are asked for, of NumPy arrays, from q and v as they are then.
        """
        if self._later is None:
            raise DalembertError("rollout: a: only rollouts of NumPy arrays that were not copied have accelerations")
        return self._later()

    @property
    def unsolved(self) -> dict[str, Array]:
        """Programs in the law, such as "whole_body", and at how many recorded states (…,) no torques keep all rows.

        Computed when it is asked for, of NumPy arrays and of controllers that keep no state. {}: of no program.
        """
        if self._programs is None or is_foreign(self.q):
            return {}
        found = self._programs(self.t, np.asarray(self.q, float), np.asarray(self.v, float))
        return {each.name: each.missed.sum(axis=-1) if np.ndim(self.t) else each.missed.astype(int) for each in found}

    def beyond_limits(self, robot: Robot) -> list[str]:
        """A line for each kind of limit of the robot (range, speed) that a recorded state exceeds, with a joint.

        Limits do not act in rollouts, and a rollout does not look at them by itself. For NumPy arrays.
        """
        from ..run.remarks import beyond_limits

        model = robot.model
        q, v = (np.asarray(x, float).reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        t = np.resize(np.atleast_1d(np.asarray(self.t, float)), len(q))
        return beyond_limits(model, (), t, q, v, np.zeros((len(q), model.nv)))

    def __repr__(self) -> str:
        return one_line(self)


def named_result(
    motions: Motions, t: Any, q: Any, e: Any, e_end: Any, contacts: RolloutContacts | None = None
) -> Rollout:
    """The result of its arrays; e_end: that at the end. contacts: the report, if it is known."""
    stepping = motions.stepping
    nv, count, measured = stepping.model.nv, len(stepping.events), stepping.tallies.size
    tallies = e_end[..., e_end.shape[-1] - count - measured : e_end.shape[-1] - count] if measured else None
    contacts = contacts_at(stepping, e_end) if contacts is None else contacts
    memory = e_end[..., nv : nv + stepping.kept] if stepping.kept else None
    times = None
    if count:
        marks = e_end[..., -count:]
        namespace = library("rollout", [marks]).namespace if is_foreign(marks) else np
        times = namespace.where(marks < 0.0, np.nan, marks)
    result = Rollout(t, q, e[..., :nv])
    result.events, result.contacts, result.memory, result.tallies = times, contacts, memory, tallies
    return result


def contacts_at(stepping: Stepping, e_end: Any) -> RolloutContacts | None:
    """The report of rigid contact, from its memory at the end."""
    system = stepping.system
    if system.contact is None:
        return None
    memory = system.contact_memory(e_end)
    diverged = (0.0 * e_end.sum(-1)) != 0.0  # a sum is finite only if all of its terms are
    numbers = memory.unsettled, memory.worst, memory.crowded, diverged, memory.passed
    return RolloutContacts(system.contact.names, *numbers)


def crowded(contacts: RolloutContacts | None) -> bool:
    """Whether more contacts than there was room for touched in some motion, on the processor."""
    return contacts is not None and bool(np.any(np.asarray(contacts.crowded) > 0.0))


def with_forces(contacts: RolloutContacts | None, motions: Motions, q: Array, e: Array) -> RolloutContacts:
    """The report with the forces in states q (…, nq), e (…, ne), the mean over the step that led to each."""
    from ..run.observed_contacts import contacts_of

    system, batch = motions.stepping.system, q.shape[:-1]
    if system.contact is None or contacts is None:
        raise DalembertError("rollout: forces: expected contact=Contact(…) of model='rigid', which has contact forces")
    if not isinstance(q, np.ndarray):
        raise DalembertError("rollout: forces: expected NumPy arrays: those of other libraries have no forces here")
    q, e = (np.asarray(x, float).reshape(-1, x.shape[-1]) for x in (q, e[..., : system.ne]))
    programs = Programs(system, TIME_STEPPING, motions.stepping.identity)
    seen = contacts_of(programs, np.zeros(len(q)), q, e, np.zeros((len(q), system.nu)), motions.step)
    assert seen is not None
    force, moment = (x.reshape(*batch, *x.shape[1:]) for x in (seen.force, seen.moment))
    return contacts._replace(names=seen.names, bodies=seen.bodies, force=force, moment=moment)


class StepAccelerations:
    """`rollout.a` of motions with arguments `arrays`, from their states q (…, nq), e; recorded: (…, n, nq)."""

    def __init__(self, motions: Motions, arrays: list[Array], q: Array, e: Array, recorded: bool) -> None:
        self.motions, self.q, self.e, self.recorded = motions, q, e, recorded
        inputs = {name: x for name, x in zip(motions.lengths, arrays, strict=True) if name not in ("q", "e")}
        small = sum(x.nbytes for x in inputs.values()) <= LARGEST
        self.kept = {name: x.copy() for name, x in inputs.items()} if small else None  # theirs may change

    def __call__(self) -> Array:
        """(…, nv), or of records (…, n, nv)."""
        motions, stepping = self.motions, self.motions.stepping
        if type(motions) is not Motions:
            raise DalembertError("rollout: a: planners act between the steps: roll out without them, or use `simulate`")
        if self.kept is None:
            raise DalembertError(
                f"rollout: a: torques and parameters take more than {LARGEST >> 20} MB, which a rollout does not keep: "
                "roll out fewer motions at a time"
            )
        shape, nv, recorded = self.q.shape[:-1], stepping.model.nv, self.recorded
        rows = int(np.prod(shape))
        numbers = (np.arange(1, (shape[-1] if recorded else 1) + 1) * motions.every).astype(self.q.dtype)
        inputs: dict[str, Any] = {"q": self.q.reshape(rows, -1), "e": self.e.reshape(rows, -1)}
        inputs["number"] = np.broadcast_to(numbers[:, None] if recorded else numbers, (*shape, 1)).reshape(rows, 1)
        for name, x in self.kept.items():
            if name == "u" and stepping.varying:
                row = np.minimum(numbers.astype(int), motions.steps - 1)
                x = x.reshape(*x.shape[:-1], motions.steps, -1)[..., row, :]
                x = x if recorded else x[..., 0, :]
            elif recorded and x.ndim > 1:
                x = x[..., None, :]
            inputs[name] = np.ascontiguousarray(np.broadcast_to(x, (*shape, x.shape[-1]))).reshape(rows, -1)
        inputs["timing"] = np.array([0.0, motions.step])
        loop = stepping.onwards(alone=False)
        outputs = {name: np.empty((rows, *size), self.q.dtype) for name, size in loop.shapes.items()}
        loop.run({n: np.ascontiguousarray(x, self.q.dtype) for n, x in inputs.items()}, outputs, (rows,), 1)
        after = outputs["e_next"].reshape(*shape, -1)[..., :nv]
        return (after - self.e[..., :nv]) / self.q.dtype.type(motions.step)
