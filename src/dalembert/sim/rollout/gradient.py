"""Gradients of a loss of rollouts, without a library for gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.compiler.graph import jacobian
from dalembert.compiler.interop import is_foreign
from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.guards import function_call
from dalembert.typing import Array

from ..settings import Settings
from .adjoint import Adjoint
from .plan import RolloutPlan, planned
from .result import Rollout, crowded, named_result
from .stepping import Stepping

POLISHED = 1e-12  # [m/s] a solution to 1e-6 m/s has slopes that are wrong by some percent, or none

Loss = Callable[[Any, np.ndarray, np.ndarray], Any]  # (t, q, v) → a number


class RolloutGradient(NamedTuple):
    """The loss (…) of each motion, and its slopes in what went into the motion.

    q (…, nq), in coordinates: four numbers for a quaternion; v (…, nv); torque: (…, nv), or (…, steps, nv) where there
    was a row for every step, None without; controls: the same of actuators; parameters: by name, (…, n). rollout: the
    motions.
    """

    loss: Any
    q: Array
    v: Array
    torque: Array | None
    controls: Array | None
    parameters: dict[str, Array]
    rollout: Rollout

    def __repr__(self) -> str:
        motions = int(np.size(self.loss))
        return f"<RolloutGradient of {motions} motion{'s' * (motions != 1)}, loss {np.mean(self.loss):.6g} on average>"


def rollout_gradient(
    model: Model, loss: Loss, q: Any, v: Any, settings: Settings, threads: int | None = None
) -> RolloutGradient:
    """See `Robot.rollout_gradient`."""
    settings = replace(settings, contact=_polished(settings.contact))
    plan, (q_way, e_way), rolled = _rolled(model, q, v, settings, threads)
    motions, stepping = plan.motions, plan.motions.stepping
    arguments = [np.asarray(x, float) for x in plan.arguments]
    n, nq = model.nv, model.nq
    t = np.arange(1, motions.count + 1) * (motions.every * motions.step)
    values = _loss(model, loss)(t[:, None], q_way, e_way[..., :n])  # (…, count, 1 + nq + nv)
    weights = np.zeros(e_way.shape)
    weights[..., :n] = values[..., 1 + nq :]
    batch = q_way.shape[:-2]
    seeds = [x.reshape(*batch, -1) for x in (values[..., 1 : 1 + nq], weights)]
    slopes = dict(zip(stepping.arguments, Adjoint(motions)(*arguments, *seeds, threads=threads), strict=True))
    _refuse_none(slopes, rolled)
    in_q, in_v = slopes["q"], slopes["e"][..., :n]
    kept = stepping.system.layout.nz + stepping.memory_size  # of elements and controllers, which start from q and v
    if kept:
        starts = _starts(stepping)(*_starting(arguments, stepping))
        pulled = np.einsum("...i,...ij->...j", slopes["e"][..., n : n + kept], starts)
        in_q, in_v = in_q + pulled[..., :nq], in_v + pulled[..., nq:]
    driven = slopes.pop("u", None)
    if driven is not None and stepping.varying:
        driven = driven.reshape(*driven.shape[:-1], motions.steps, -1)
    if stepping.series:
        ends = np.cumsum([*stepping.series.values()])[:-1]
        slopes |= zip(stepping.series, np.split(driven, ends, axis=-1), strict=True)
        driven = None
    return RolloutGradient(
        values[..., 0].sum(axis=-1),
        in_q,
        in_v,
        driven if plan.word == "torque" else None,
        driven if plan.word == "controls" else None,
        {name: x for name, x in slopes.items() if name not in ("q", "e")},
        rolled,
    )


def _rolled(
    model: Model, q: Any, v: Any, settings: Settings, threads: int | None
) -> tuple[RolloutPlan, tuple[Array, Array], Rollout]:
    """The motions, with room for all contacts: their plan, the records of q and e, and the result."""
    growth = 1
    while True:
        plan = planned(model, q, v, settings, check=True, carries=False, growth=growth)
        if any(map(is_foreign, plan.arguments)):
            raise DalembertError("rollout_gradient: expected NumPy arrays: rollouts of other libraries' have gradients")
        motions = plan.motions
        try:
            q_way, e_way = motions(*(np.asarray(x, float) for x in plan.arguments), threads=threads, check=True)
        except Interrupted as error:
            said = f"interrupted after {error.passes} of {motions.steps} steps, before there were slopes"
            raise Interrupted(f"rollout_gradient: {said}", error.passes) from None
        t = np.arange(1, motions.count + 1) * (motions.every * motions.step)
        last = settings.every is None
        times, states = (t[-1], (q_way[..., 0, :], e_way[..., 0, :])) if last else (t, (q_way, e_way))
        result = named_result(motions, times, *states, e_way[..., -1, :])
        if not crowded(result.contacts):
            return plan, (q_way, e_way), result
        growth = plan.more_room


def _polished(contact: Contact | None) -> Contact | None:
    """A rigid contact whose solutions are those of its laws to rounding: slopes are of these, not of the iteration."""
    if contact is None or contact.model != "rigid":
        return contact
    return replace(contact, tolerance=min(contact.tolerance, POLISHED))


def _refuse_none(slopes: Mapping[str, Array], rolled: Rollout) -> None:
    """Raise where a motion has no gradient."""
    if all(np.isfinite(x).all() for x in slopes.values()):
        return
    bad = reduce(np.logical_or, [~np.isfinite(x).all(axis=-1) for x in slopes.values()])
    number, contacts = int(np.argmax(np.ravel(bad))), rolled.contacts
    if contacts is None:
        raise DalembertError(f"rollout_gradient: motion {number} has no gradient: a slope in it is not a number")
    steps = int(np.ravel(contacts.unsettled)[number])
    missed = f"{steps} of its steps did not settle, " if steps else ""
    raise DalembertError(
        f"rollout_gradient: motion {number} has no gradient: {missed}in some step a contact is at the edge of its law, "
        "between sticking and sliding, or a body turns on more points than it needs: start elsewhere, take fewer "
        "points that touch at once, or model='compliant'"
    )


def _loss(model: Model, loss: Loss) -> Any:
    """(t, q, v) → [loss, its slopes in q and v], compiled."""

    def compute(t: Array, q: Array, v: Array) -> Array:
        value = np.asarray(loss(t[0], q, v), object)
        if value.shape != ():
            raise DalembertError(f"rollout_gradient: loss returned shape {value.shape}, expected one number")
        number = t[0].lift(value.item())
        return np.concatenate([[number], jacobian(np.array([number]), np.concatenate([q, v]))[0]])

    return function_call(model, "rollout_gradient", {"t": 1, "q": model.nq, "v": model.nv}, compute)


def _starting(arguments: list[Array], stepping: Stepping) -> tuple[Array, Array]:
    named = dict(zip(stepping.arguments, arguments, strict=True))
    return named["q"], named["e"][..., : stepping.model.nv]


def _starts(stepping: Stepping) -> Any:
    """(q, v) → slopes (n, nq + nv) of the states at the beginning, compiled."""
    model = stepping.model

    def compute(q: Array, v: Array) -> Array:
        states = stepping.starting(q, v)
        return jacobian(np.array([q[0].lift(x) for x in states], object), np.concatenate([q, v]))

    return function_call(model, "rollout_gradient", {"q": model.nq, "v": model.nv}, compute)
