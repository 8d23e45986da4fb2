"""Rollouts with their rates: how motions change when what goes into them changes, exactly, in forward mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import empty
from dalembert.errors import DalembertError
from dalembert.model import Model

from ..settings import Settings
from .motions import Motions, batch_of
from .plan import RolloutPlan, planned
from .rollout import contacts_at, crowded


class RolloutRates(NamedTuple):
    """The records q (…, count, nq), v (…, count, nv) of motions, and their rates of change, of the same shapes."""

    q: np.ndarray
    v: np.ndarray
    q_rate: np.ndarray
    v_rate: np.ndarray


def rollout_rates(
    model: Model, q: Any, v: Any, settings: Settings, rates: Mapping[str, Any], threads: int | None = None
) -> RolloutRates:
    """Motions, and how they change when what is named in `rates` changes at those rates.

    rates: by name, "q", "v", "torque" or "controls", and parameters of the settings; shapes as of the values. What is
    not named does not change.
    """
    growth, nv = 1, model.nv
    while True:
        plan = planned(model, q, v, settings, check=False, carries=False, growth=growth)
        motions = plan.motions
        arguments = {name: np.asarray(x, float) for name, x in zip(motions.lengths, plan.arguments, strict=True)}
        pushed = _pushed(plan, arguments, rates)
        records = _records(motions, arguments, pushed, threads)
        if not crowded(contacts_at(motions.stepping, records[1][..., -1, :])):
            return RolloutRates(records[0], records[1][..., :nv], records[2], records[3][..., :nv])
        growth = plan.more_room


def _pushed(plan: RolloutPlan, arguments: Mapping[str, np.ndarray], rates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The rates of all arguments, zero where none is named."""
    words = {"v": "e", plan.word: "u"}
    pushed = {name: np.zeros(x.shape[-1]) for name, x in arguments.items()}
    for name, rate in rates.items():
        inner = words.get(name, name)
        if inner not in pushed:
            raise DalembertError(f"rollout_rates: {name!r} does not go into this rollout: expected {', '.join(pushed)}")
        x = np.asarray(rate, float)
        if inner == "u" and plan.motions.stepping.varying:
            x = x.reshape(*x.shape[:-2], -1)
        filled = np.zeros((*x.shape[:-1], arguments[inner].shape[-1]))
        filled[..., : x.shape[-1]] = x
        pushed[inner] = filled
    return pushed


def _records(
    motions: Motions, arguments: Mapping[str, np.ndarray], pushed: Mapping[str, np.ndarray], threads: int | None
) -> list[np.ndarray]:
    """q, e and their rates after every `every` steps, each (…, count, n)."""
    stepping, names = motions.stepping, list(motions.sizes)
    rate_names = [f"rate of {name}" for name in names]
    batch = batch_of([*names, *rate_names], [*arguments.values(), *pushed.values()])
    shape = batch or (1,)
    loop, nu = stepping.with_rates(), stepping.system.input_count
    state = (
        dict(arguments) | {f"{name} rate": x for name, x in pushed.items()} | {"timing": np.array([0.0, motions.step])}
    )
    outputs = ("q_next", "e_next", "q rate next", "e rate next")
    records = [empty((*shape, motions.count, stepping.sizes[name]), np.float64) for name in ("q", "e", "q", "e")]
    number = np.empty((*shape, 1))
    for k in range(motions.count):
        inputs = state | {"number": np.array([float(k * motions.every)])}
        if stepping.varying:
            rows = slice(k * motions.every * nu, (k + 1) * motions.every * nu)
            inputs |= {name: state[name][..., rows] for name in ("u", "u rate")}
        here = [x[..., k : k + 1, :] for x in records]
        loop.run(inputs, dict(zip(outputs, here, strict=True)) | {"number_next": number}, shape, motions.every, threads)
        state |= dict(zip(("q", "e", "q rate", "e rate"), (x[..., k, :] for x in records), strict=True))
    return [x.reshape(*batch, *x.shape[-2:]) for x in records]
