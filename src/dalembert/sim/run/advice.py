"""Advice on steps: the fastest motion near a state, and the explanation when a run stops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.typing import Array

from ..elements.base import Element
from ..integrators.catalogue import INTEGRATORS, Integrator, chosen
from ..system.laws import Inputs, drive
from .compiled import Programs, programs
from .engines import State, Trouble
from .initial import checked_state, first_state

NUDGE = 1e-6
AHEAD = (1e-12, 1e-9, 1e-6, 1e-3)  # s after a state at which the law is tried where steps are not fixed
UNDEFINED = "a joint may move no mass, or a force be undefined there: look at robot.mass_matrix(q) and the elements"


class StepAdvice(NamedTuple):
    """The fastest motion near a state, and the largest step that resolves it.

    frequency: |λ| of it [rad/s]; joint: whose freedom moves most in it; stable: the largest stable step of the
    chosen integrator [s] (for an undamped oscillation, 2/ω with "semi-implicit"); accurate: a twentieth of its
    period [s]; text: the same in words.
    """

    frequency: float
    joint: str
    stable: float
    accurate: float
    text: str

    def __repr__(self) -> str:
        return f"<StepAdvice: {self.text}>"


def step_advice(compiled: Programs, state: State, u: Array) -> StepAdvice:
    """From the eigenvalues of the system's equations, linearised at the state by differences."""
    system, integrator = compiled.system, compiled.integrator
    values, vectors = np.linalg.eig(_linearized(compiled, state, u))
    fastest = int(np.argmax(np.abs(values)))
    w = float(np.abs(values[fastest]))
    n = system.model.nv
    moved = np.abs(vectors[n : 2 * n, fastest])
    joint = system.model.freedom_names[int(np.argmax(moved))]
    oscillating, decaying = integrator.stable
    share = abs(values[fastest].imag) / w if w else 0.0
    limit = oscillating if share > 0.5 else decaying
    stable = limit / w if w else np.inf
    accurate = 2.0 * np.pi / (20.0 * w) if w else np.inf
    words = "unstable at every step, slowly" if limit == 0.0 else f"stable up to {stable:.3g} s"
    text = (
        f"the fastest motion is at {w:.4g} rad/s (joint {joint!r}): {integrator.name} is {words}; "
        f"a step of {accurate:.2g} s resolves it"
        if w
        else "nothing swings or decays near the state: any step is stable"
    )
    return StepAdvice(w, joint, stable, accurate, text)


def _linearized(compiled: Programs, state: State, u: Array) -> Array:
    """A (nv + m, nv + m) of δ = [δq, δv, δz]."""
    system, n, m = compiled.system, compiled.system.model.nv, compiled.system.layout.measured_size
    size = n + m
    A = np.zeros((size, size))
    A[:n, n : 2 * n] = np.eye(n)
    for k in range(size):
        ends = []
        for sign in (1.0, -1.0):
            q, e = state.q, state.e.copy()
            nudge = NUDGE * max(1.0, abs(e[k - n]) if k >= n else 1.0)
            if k < n:
                q = integrate(system.model, q, sign * nudge * np.eye(n)[k])
            else:
                e[k - n] += sign * nudge
            inputs = {"t": np.array([state.t]), "q": q, "e": e, "u": u}
            ends.append(compiled.rates(inputs)["rates"][0, :m])
        A[n:, k] = (ends[0] - ends[1]) / (2.0 * nudge)
    return np.where(np.isfinite(A), A, 0.0)


def why_and_what(
    compiled: Programs, trouble: Trouble, start: State, settings: dict[str, Any], u: Array, remarks: list[str]
) -> str:
    """The sentence of the error: when, which joint, why, what to try. remarks: on contacts until then.

    The advice is that of the start where steps are fixed: after an explosion no state tells what is needed.
    """
    system, state = compiled.system, trouble.state
    v = np.abs(system.layout.velocity(state.e))
    k = int(np.argmax(v))
    joint, speed = system.model.freedom_names[k], float(v[k])
    integrator, step = compiled.integrator, settings["step"]
    adapts = integrator.adaptive and step is None
    if trouble.cure:
        return f"simulate: stopped at t = {state.t:.6g} s: {trouble.why}: {trouble.cure}"
    advice = step_advice(compiled, state if adapts else start, u)
    nan = _nan_torque(compiled, state, u, step)
    if nan or trouble.undefined:
        remedy = nan or UNDEFINED
    elif system.contact is not None:
        by_law = system.law is not None or system.driven
        remedy = "; ".join([*remarks, _shorter_with_contact(advice, step, by_law)])
    elif system.soft is not None and system.soft.problem.gathers:
        remedy = (
            f"either {system.soft.problem.room} (name the pairs that matter), or the step of {step:g} s is too long"
        )
    elif adapts:
        stiff = "integrator='rodas', or 'implicit-midpoint' with that step"
        remedy = f"forces may jump or blow up there; {advice.text}; try {stiff}"
    elif integrator.residual is not None:
        remedy = f"try a smaller step than {step:g} s; {advice.text}"
    else:
        remedy = f"the step is {step:g} s; {advice.text}; or let 'rk45' choose steps, or 'rodas' where it is stiff"
    fastest = f"; joint {joint!r} is fastest with {speed:.3g} (rad/s or m/s)" if speed > 0.0 else ""
    first = "" if state.t > start.t else "the first step fails: look at the forces at the start; "
    return f"simulate: stopped at t = {state.t:.6g} s: {trouble.why}{fastest}: {first}{remedy}"


def _nan_torque(compiled: Programs, state: State, u: Array, step: float | None) -> str:
    """Say where to look if the law gives no number at the state or just after it; "" where it does."""
    model, v = compiled.system.model, compiled.system.layout.velocity(state.e)
    for h in (0.0, 0.5 * step, step) if step else (0.0, *AHEAD):
        t, q = state.t + h, integrate(model, state.q, h * v)
        tau = np.ravel(compiled.observed({"t": np.array([t]), "q": q, "e": state.e, "u": u})["tau"])
        wrong = np.flatnonzero(~np.isfinite(tau))
        if wrong.size:
            joint = model.freedom_names[wrong[0]]
            at = f"at t = {t:.9g} s, {h:.2g} s after it, " if h else ""
            return f"{at}the torque at joint {joint!r} is {tau[wrong[0]]}: correct the law or the numbers that give it"
    return ""


def _shorter_with_contact(advice: StepAdvice, step: float, by_law: bool) -> str:
    """Advice on a step with rigid contact; the fastest motion is that of the robot and its law without it.

    by_law: there is a law. Without one it is damping or springs of joints, which the step takes at its end.
    """
    if not (by_law and advice.frequency * step > 1.0):
        return f"the step is {step:g} s: try a shorter one"
    return (
        f"the step of {step:g} s is too long for the torque law, which swings joint {advice.joint!r} at "
        f"{advice.frequency:.3g} rad/s: take at most {1.0 / advice.frequency:.2g} s or lower gains, or state them as "
        "servos (add_actuator with gain and bias, <position> in MJCF) and give controls: those act within the step"
    )


def advise(model: Model, q: Any, v: Any, integrator: str | Integrator, elements: tuple[Element, ...]) -> StepAdvice:
    """See `Robot.step_advice`."""
    if not model.nv:
        raise DalembertError(f"step_advice: robot {model.name!r} has no joint that moves")
    q, v = checked_state("step_advice", model, q, v)
    for element in elements:
        model = element.prepared(model)
    compiled = programs(
        model, elements, drive(Inputs.torques(model), None, 1.0), chosen(integrator, INTEGRATORS, "step_advice")
    )
    return step_advice(compiled, State(0.0, q, first_state(compiled.system, q, v)), np.zeros(0))
