"""Rollouts: a batch of motions with fixed steps, as one compiled loop on SIMD lanes and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from dalembert.compile import check_quaternions, real_array
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.quantities import GROUPS, checked

from .elements.base import Element
from .failure import SimulationError
from .fixed import STEPS
from .implicit import midpoint, solved
from .laws import Sampled, drive
from .program import Program
from .system import Law, System
from .variational import variational

INTEGRATORS = STEPS | {
    "implicit-midpoint": partial(solved, method=midpoint),
    "variational": partial(solved, method=variational),
}


class Rollout(NamedTuple):
    """t (n,) [s], q (…, n, nq), v (…, n, nv) at the recorded steps; without records q (…, nq), v (…, nv) at the end."""

    t: Any
    q: np.ndarray
    v: np.ndarray


def rollout(
    model: Model,
    q: Any,
    v: Any,
    torque: Any = None,
    step: float = 1e-3,
    steps: int = 1000,
    integrator: str = "semi-implicit",
    record: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    elements: Sequence[Element] = (),
    threads: int | None = None,
    check: bool = True,
) -> Rollout:
    """See `Robot.rollout`."""
    if not model.nv:
        raise DalembertError(f"rollout: robot {model.name!r} has no joint that moves")
    _check(integrator, step, steps, record)
    elements, groups = tuple(elements), dict(parameters or {})
    _check_elements(elements)
    for element in elements:
        model = element.prepared(model)
    live = checked(groups)
    n = model.nv
    arrays = {"q": _array(model, "q", q, model.nq), "v": _array(model, "v", v, n)}
    arrays |= {name: _array(model, name, x, len(GROUPS[name].values(model))) for name, x in groups.items()}
    law = _law(model, torque) if callable(torque) else None
    tau, varying = _torque(model, None if law else torque, int(steps), _batch(arrays))
    if tau is not None:
        arrays["u"] = tau
    batch = _batch(arrays)
    plain = all(element.plain for element in elements)  # else functions in them may have changed: trace again
    make = _program if plain else _program.__wrapped__
    loop = make(model, elements, law, integrator, live, tau is not None, varying)
    arrays["e"] = _with_states(model, elements, arrays.pop("v"), arrays["q"])
    if check:
        _check_finite(arrays)
        check_quaternions(model, "rollout", {"q": arrays["q"]})
    run = _Loop(loop, arrays, batch, float(step), varying * n, threads)
    return run.recorded(int(steps), record, model, check)


def _batch(arrays: Mapping[str, np.ndarray]) -> tuple[int, ...]:
    """The batch shape that all arguments share."""
    try:
        return np.broadcast_shapes(*[a.shape[:-1] for a in arrays.values()])
    except ValueError:
        found = ", ".join(f"{'torque' if n == 'u' else n} {a.shape[:-1]}" for n, a in arrays.items())
        raise DalembertError(f"rollout: batch shapes do not broadcast: {found}") from None


def _check_finite(arrays: Mapping[str, np.ndarray]) -> None:
    names = {"u": "torque", "e": "v"}
    for name, a in arrays.items():
        if not np.isfinite(a).all():
            raise DalembertError(
                f"rollout: {names.get(name, name)} has NaN or inf, expected finite numbers; pass check=False to let "
                "them through"
            )


class _Loop:
    """The compiled loop and where its states are."""

    def __init__(
        self, loop: Program, arrays: dict[str, np.ndarray], batch: tuple[int, ...], step: float, row: int, threads: Any
    ) -> None:
        self.loop, self.batch, self.step, self.row, self.threads = loop, batch, step, row, threads
        self.arrays = arrays | {"number": np.zeros(1), "timing": np.array([0.0, step])}

    def advance(self, done: int, passes: int) -> None:
        """So many steps further."""
        inputs = dict(self.arrays)
        if self.row:
            inputs["u"] = inputs["u"][..., done * self.row : (done + passes) * self.row]
        made = self.loop(inputs, self.batch or (1,), passes, self.threads)
        self.arrays |= {"q": made["q_next"], "e": made["e_next"], "number": made["number_next"]}

    def recorded(self, steps: int, record: int | None, model: Model, check: bool) -> Rollout:
        """All steps, and the states on the way."""
        every, kept = record or steps, []
        for done in range(0, steps, every):
            passes = min(every, steps - done)
            self.advance(done, passes)
            q, v = self.arrays["q"], self.arrays["e"][..., : model.nv]
            if check:
                _finite(model, q, v, done * self.step, (done + passes) * self.step)
            if passes == every:
                kept.append((q, v))
        q, v = (np.stack([k[i] for k in kept], axis=-2) for i in (0, 1))
        q, v = (x.reshape(*self.batch, *x.shape[-2:]) for x in (q, v))
        if record is None:
            return Rollout(steps * self.step, q[..., 0, :], v[..., 0, :])
        return Rollout(np.arange(1, len(kept) + 1) * every * self.step, q, v)


@lru_cache(maxsize=64)
def _program(
    model: Model,
    elements: tuple[Element, ...],
    law: Law | None,
    integrator: str,
    live: tuple[str, ...],
    driven: bool,
    varying: bool,
) -> Program:
    """The loop: carried q, e and the step's number; u, if any, constant or one row per step; live groups constant."""
    base, step = System(model, elements, law, driven, ledger=False), INTEGRATORS[integrator]
    rest = np.zeros(model.nv + 1)

    def compute(q: Any, e: Any, number: Any, timing: Any, u: Any, **groups: Any) -> dict[str, Any]:
        t0, h = timing
        system = base
        for name, x in groups.items():
            system = replace(system, model=GROUPS[name].put(system.model, x))
        given = np.concatenate([u, rest]) if driven else u
        q1, e1 = step(system, t0 + number[0] * h, h, q, e, given)
        return {"q_next": q1, "e_next": e1, "number_next": number + 1.0}

    sizes = {"q": model.nq, "e": base.ne, "number": 1, "timing": 2, "u": model.nv if driven else 0}
    sizes |= {name: len(GROUPS[name].values(model)) for name in live}
    plain = law is None and all(element.plain for element in elements)
    text = f"rollout {model.fingerprint} {elements!r} {integrator} {live} {driven}" if plain else None
    return Program(
        f"rollout {integrator}",
        text,
        sizes,
        {"q_next": (model.nq,), "e_next": (base.ne,), "number_next": (1,)},
        compute,
        carry={"q_next": "q", "e_next": "e", "number_next": "number"},
        sequence=("u",) if varying else (),
    )


def _law(model: Model, torque: Any) -> Law:
    """A function of the user's, if it can be traced."""
    made = drive(model, torque, 1.0)
    if made.called:
        raise DalembertError(
            f"rollout: {made.log[0]}: write it with arithmetic, dalembert.math and the robot's methods; only "
            "`simulate` calls functions back"
        )
    assert made.function is not None
    return made.function


def _check(integrator: str, step: Any, steps: Any, record: Any) -> None:
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS, "rollout")
    if not (isinstance(step, (int, float, np.number)) and 0.0 < float(step) < np.inf):
        raise DalembertError(f"rollout: step is {step!r}, expected a time above 0 [s]")
    for name, value in (("steps", steps), ("record", record)):
        if name == "record" and value is None:
            continue
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise DalembertError(f"rollout: {name} is {value!r}, expected a whole number ≥ 1")
    if record is not None and record > steps:
        raise DalembertError(f"rollout: record is {record}, expected at most the number of steps, {steps}")


def _check_elements(elements: tuple[Element, ...]) -> None:
    """Refuse what needs events."""
    for element in elements:
        if not isinstance(element, Element):
            raise DalembertError(f"rollout: elements: expected force elements, got {type(element).__name__}")
        if type(element).gaps is not Element.gaps:
            raise DalembertError(f"rollout: {element.label()} needs events, which only `simulate` has: use SoftLimit")


def _array(model: Model, name: str, x: Any, size: int) -> np.ndarray:
    expected = f"expected (…, {size}) for robot {model.name!r}"
    a = real_array(f"rollout: {name}", x, expected).astype(float)
    if not a.ndim or a.shape[-1] != size:
        raise DalembertError(f"rollout: {name} has shape {a.shape}, {expected}")
    return a


def _torque(model: Model, torque: Any, steps: int, batch: tuple[int, ...]) -> tuple[np.ndarray | None, bool]:
    """The numbers, flat where there is a row per step, and whether there is; batch: of all other arguments."""
    if torque is None:
        return None, False
    if isinstance(torque, Sampled):
        raise DalembertError("rollout: Sampled calls Python code, which only `simulate` does: pass rows or a function")
    n = model.nv
    a = _array(model, "torque", torque, n)
    if len(batch) == a.ndim - 1 > 0 and batch[-1] == a.shape[-2] == steps > 1:
        raise DalembertError(
            f"rollout: torque {a.shape} could be a row for each of {steps} steps or one for each of {steps} motions: "
            "write torque[None] for rows that all motions share, or np.repeat(torque[..., None, :], steps, axis=-2) "
            "for constants of each motion"
        )
    if a.ndim >= 2 and a.shape[-2] == steps:
        return np.ascontiguousarray(a).reshape(*a.shape[:-2], steps * n), True
    return a, False


def _with_states(model: Model, elements: tuple[Element, ...], v: np.ndarray, q: np.ndarray) -> np.ndarray:
    """[v, z] (…, nv + nz) at the beginning."""
    if not any(element.size(model) for element in elements):
        return v
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))
    z = [[element.start(model, q[i], v[i]) for element in elements] for i in np.ndindex(*batch)]
    rows = np.array([np.concatenate(parts) for parts in z])
    return np.concatenate([v, rows.reshape(*batch, -1)], axis=-1)


def _finite(model: Model, q: np.ndarray, v: np.ndarray, begin: float, end: float) -> None:
    """Raise for the first motion that is no longer made of numbers."""
    good = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
    if not good.all():
        number = int(np.argmin(good.ravel()))
        row = v.reshape(-1, model.nv)[number]
        joint = model.freedom_names[int(np.argmin(np.isfinite(row))) if not np.isfinite(row).all() else 0]
        raise SimulationError(
            f"rollout: motion {number} is no longer made of numbers between t = {begin:.6g} and {end:.6g} s (joint "
            f"{joint!r}): try a smaller step, 'implicit-velocity' for stiff damping, or check=False to go on"
        )
