"""Rollouts: a batch of motions with fixed steps, as one compiled loop on SIMD lanes and threads, or on a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.compiler.interop import is_foreign
from dalembert.compiler.interop.kinds import library
from dalembert.model import Model

from ..settings import Settings
from ..system.sampled import Sampled
from ..system.unsolved import counts, unsolved
from .accelerations import Later
from .motions import Diverged, Motions, batch_of
from .plan import RolloutPlan, planned
from .ready import given, keep, ready_for
from .result import Rollout, RolloutContacts, WatchedRollout
from .stepping import Stepping


def rollout(
    model: Model, q: Any, v: Any, settings: Settings, threads: int | None = None, check: bool = True
) -> Rollout:
    """See `Robot.rollout`."""
    arrays = given(settings, q, v)
    key, ready = ready_for(model, arrays, settings, check)
    if ready is not None and (result := ready(arrays, settings.memory, check)) is not None:
        return _with_programs(result, model, settings)
    result, plan = whole(model, q, v, settings, threads, check)
    if key is not None:
        keep(key, model, plan, settings, arrays)
    return _with_programs(result, model, settings)


def whole(
    model: Model, q: Any, v: Any, settings: Settings, threads: int | None, check: bool
) -> tuple[Rollout, RolloutPlan]:
    """A rollout from the beginning, and its plan, with room for all contacts."""
    growth = 1
    while True:
        plan = planned(model, q, v, settings, check, growth=growth)
        result = _result(plan.motions, plan.arguments, settings, threads, check)
        if any(map(is_foreign, plan.arguments)) or not crowded(result.contacts):
            return result, plan
        growth = plan.more_room


def _with_programs(result: Rollout, model: Model, settings: Settings) -> Rollout:
    """The result, with what finds out at which states programs in the law have no solution."""
    law = settings.torque if settings.controls is None else settings.controls
    if not (callable(law) or isinstance(law, Sampled)) or not counts():
        return result
    programs = partial(unsolved, model, law)
    return after(
        result,
        WatchedRollout(*result, result.events, result.contacts, programs, result.memory, result.tallies),
    )


def _result(motions: Motions, inputs: list[Any], settings: Settings, threads: int | None, check: bool) -> Rollout:
    """The motions, computed where the inputs lie."""
    last = settings.every is None
    foreign = any(map(is_foreign, inputs))
    apart = motions.every * motions.step
    try:
        if foreign:
            from dalembert.compiler.execute.foreign import evaluate

            q, e = evaluate(motions, inputs, None, threads, check)
        else:
            q, e = motions(*inputs, threads=threads, check=check)
    except Diverged as error:
        q, e = (x.reshape(*batch_of(list(motions.sizes), inputs), *x.shape[-2:]) for x in error.states)
        if q.shape[-2] and not last:
            error.rollout = named_result(motions, np.arange(1, q.shape[-2] + 1) * apart, q, e, e[..., -1, :])
        raise
    except Interrupted as error:
        q, e, q_end, e_end = error.result
        if last:
            error.result = named_result(motions, error.passes * motions.step, q_end, e_end, e_end)
        else:
            error.result = named_result(motions, np.arange(1, q.shape[-2] + 1) * apart, q, e, e_end)
        raise
    if last:
        q, e = q[..., 0, :], e[..., 0, :]
        result = named_result(motions, motions.steps * motions.step, q, e, e)
        if not foreign:
            result._later = Later(motions, inputs, q, e, recorded=False)
        return _with_forces(result, motions, settings, q, e)
    count = motions.count
    t = library("rollout", [q]).counted(count, apart, q) if foreign else np.arange(1, count + 1) * apart
    every = slice(None) if settings.forces == "every" else -1
    result = named_result(motions, t, q, e, e[..., -1, :])
    if not foreign:
        result._later = Later(motions, inputs, q, e, recorded=True)
    return _with_forces(result, motions, settings, q[..., every, :], e[..., every, :])


def _with_forces(result: Rollout, motions: Motions, settings: Settings, q: Any, e: Any) -> Rollout:
    """The result with the forces of contacts in states q, e, where these are asked for."""
    if settings.forces is None:
        return result
    from .forces import with_forces

    contacts = with_forces(result.contacts, motions, q, e)
    forced = WatchedRollout(*result, result.events, contacts, memory=result.memory, tallies=result.tallies)
    return after(result, forced)


def after(result: Rollout, other: WatchedRollout) -> WatchedRollout:
    """The other result, which has the accelerations of this one."""
    other._later = getattr(result, "_later", None)
    return other


def named_result(
    motions: Motions, t: Any, q: Any, e: Any, e_end: Any, contacts: RolloutContacts | None = None
) -> WatchedRollout:
    """The result of its arrays; e_end: that at the end. contacts: the report, if it is known."""
    v, count = e[..., : motions.stepping.model.nv], len(motions.stepping.events)
    measured = motions.stepping.tallies.size
    tallies = e_end[..., e_end.shape[-1] - count - measured : e_end.shape[-1] - count] if measured else None
    contacts = contacts_at(motions.stepping, e_end) if contacts is None else contacts
    stepping, nv = motions.stepping, motions.stepping.model.nv
    memory = e_end[..., nv : nv + stepping.kept] if stepping.kept else None
    if not count:
        return WatchedRollout(t, q, v, None, contacts, memory=memory, tallies=tallies)
    marks = e_end[..., -count:]
    namespace = library("rollout", [marks]).namespace if is_foreign(marks) else np
    times = namespace.where(marks < 0.0, np.nan, marks)
    return WatchedRollout(t, q, v, times, contacts, memory=memory, tallies=tallies)


def crowded(contacts: RolloutContacts | None) -> bool:
    """Whether more contacts than there was room for touched in some motion, on the processor."""
    return contacts is not None and bool(np.any(np.asarray(contacts.crowded) > 0.0))


def contacts_at(stepping: Stepping, e_end: Any) -> RolloutContacts | None:
    """The report of rigid contact, from its memory at the end."""
    system = stepping.system
    if system.contact is None:
        return None
    memory = system.contact_memory(e_end)
    diverged = (0.0 * e_end.sum(-1)) != 0.0  # a sum is finite only if all of its terms are
    numbers = memory.unsettled, memory.worst, memory.crowded, diverged, memory.passed
    return RolloutContacts(system.contact.names, *numbers)
