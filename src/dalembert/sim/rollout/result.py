"""The result of a rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.compiler.interop import is_foreign
from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.typing import Array

from ..system.unsolved import Unsolved


class Rollout(NamedTuple):
    """t (n,) [s], q (…, n, nq), v (…, n, nv) at the recorded steps; without records t, q (…, nq), v (…, nv) at the end.

    Arrays of the kind that was given, on its device.
    """

    t: Array
    q: Array
    v: Array

    @property
    def a(self) -> Array:
        """Accelerations (…, n, nv) at the recorded states, or (…, nv): the mean over the step that follows each.

        Computed when they are asked for, of NumPy arrays, from q and v as they are then.
        """
        raise DalembertError("rollout: a: only rollouts of NumPy arrays that were not copied have accelerations")

    @property
    def events(self) -> Array | None:
        """None: no events were watched for."""
        return None

    @property
    def contacts(self) -> RolloutContacts | None:
        """The report of rigid contact; None: there was none."""
        return None

    @property
    def unsolved(self) -> dict[str, np.ndarray]:
        """Programs in the law, such as "whole_body", and at how many recorded states (…,) no torques keep all rows.

        Computed when it is asked for, of NumPy arrays and of controllers that keep no state. {}: of no program.
        """
        return {}

    @property
    def memory(self) -> Array | None:
        """(…, n): what contacts, elements and controllers keep, for `rollout(memory=…)`; None: nothing."""
        return None

    @property
    def tallies(self) -> Array | None:
        """(…, n): what was measured along each motion, see `tallies.Tallies`; None: nothing."""
        return None

    def beyond_limits(self, robot: Robot) -> list[str]:
        """A line for each kind of limit of the robot (range, speed) that a recorded state exceeds, with a joint.

        Limits do not act in rollouts, and a rollout does not look at them by itself. For NumPy arrays.
        """
        from ..run.limits import beyond_limits

        model = robot.model
        q, v = (np.asarray(x, float).reshape(-1, x.shape[-1]) for x in (self.q, self.v))
        t = np.resize(np.atleast_1d(np.asarray(self.t, float)), len(q))
        return beyond_limits(model, (), t, q, v, np.zeros((len(q), model.nv)))

    def __repr__(self) -> str:
        return one_line(self)


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
    def by_body(self) -> dict[str, np.ndarray]:
        """The sum of the contact forces (…, 3) on each body that may touch something, in world axes [N]."""
        if self.force is None:
            raise DalembertError("rollout: contacts have no forces: pass forces='last' or forces='every'")
        named: dict[str, np.ndarray] = {}
        for k, (first, second) in enumerate(self.bodies):
            for name, sign in ((first, 1.0), (second, -1.0)):
                if name != "ground":
                    named[name] = named.get(name, 0.0) + sign * self.force[..., k, :]
        return named


class WatchedRollout(Rollout):
    """A `Rollout` with the times of events, how its contacts were solved for, and its memory."""

    def __new__(
        cls,
        t: Any,
        q: Any,
        v: Any,
        events: Any = None,
        contacts: RolloutContacts | None = None,
        programs: Callable[..., list[Unsolved]] | None = None,
        memory: Any = None,
        tallies: Any = None,
    ) -> WatchedRollout:
        self = super().__new__(cls, t, q, v)
        self._times, self._contacts, self._programs, self._memory = events, contacts, programs, memory
        self._tallies = tallies
        return self

    _times: Any
    _contacts: RolloutContacts | None
    _programs: Callable[..., list[Unsolved]] | None
    _memory: Any
    _tallies: Any
    _later: Callable[[], np.ndarray] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but what computes `a`, which holds compiled code."""
        return vars(self) | {"_later": None}

    @property
    def a(self) -> Any:
        """See `Rollout.a`."""
        return super().a if self._later is None else self._later()

    @property
    def unsolved(self) -> dict[str, np.ndarray]:
        """See `Rollout.unsolved`."""
        if self._programs is None or is_foreign(self.q):
            return {}
        found = self._programs(self.t, np.asarray(self.q, float), np.asarray(self.v, float))
        return {each.name: each.missed.sum(axis=-1) if np.ndim(self.t) else each.missed.astype(int) for each in found}

    @property
    def memory(self) -> Array | None:
        """(…, n): what contacts, elements and controllers keep, for `rollout(memory=…)`; None: nothing."""
        return self._memory

    @property
    def tallies(self) -> Array | None:
        """(…, n): what was measured along each motion, see `tallies.Tallies`; None: nothing."""
        return self._tallies

    @property
    def contacts(self) -> RolloutContacts | None:
        """The report of rigid contact; None: there was none."""
        return self._contacts

    @property
    def events(self) -> Array | None:
        """(…, k) [s]: the end of the step in which each event first fell, NaN where it did not."""
        return self._times

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self._times, self._contacts, None, self._memory, self._tallies)
