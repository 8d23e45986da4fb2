"""What the ledger of a run means, in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .run import Run

ORDERS = {
    "euler": 1,
    "semi-implicit": 1,
    "heun": 2,
    "rk4": 4,
    "merson": 4,
    "rk23": 3,
    "rk45": 5,
    "rk8": 8,
    "implicit-midpoint": 2,
    "implicit-velocity": 1,
    "variational": 2,
}
BOUNDED = ("implicit-midpoint", "variational")  # the error of the energy does not grow
NONE = 1e-15  # part of the energy that moved which is no energy
ROUNDING, GOOD, FAIR = 1e-12, 1e-6, 1e-3  # residual relative to the energy that moved


class Audit(NamedTuple):
    """residual: the largest [J]; relative: to the energy that moved; steady: whether it grows with time; text."""

    residual: float
    relative: float
    steady: bool
    text: str

    def __str__(self) -> str:
        return self.text


def audit(run: Run) -> Audit:
    """Judge a run by its ledger."""
    ledger, name = run.energy, str(run.settings["integrator"])
    residual = np.abs(ledger.residual)
    worst, scale = float(np.max(residual, initial=0.0)), ledger.scale
    relative = worst / scale if scale else 0.0
    steady = _steady(ledger.residual)
    judgement = "good" if relative < GOOD else "fair" if relative < FAIR else "poor"
    lines = [
        f"Energy of run of {run.robot!r} with {name}: {judgement}.",
        f"  {worst:.3g} J are unaccounted for, {relative:.1e} of the {scale:.3g} J that moved"
        + ("; rounding." if relative < ROUNDING else _course(steady)),
    ]
    for kind, accounts in (("put in", ledger.work), ("turned into heat", ledger.heat)):
        felt = {label: amount[-1] for label, amount in accounts.items() if np.max(np.abs(amount)) > NONE * scale}
        lines += [f"  {label}: {amount:.6g} J {kind}" for label, amount in felt.items()]
        if idle := len(accounts) - len(felt):
            lines.append(f"  {idle} {'more ' if felt else ''}accounts: 0 J {kind}")
    lines += [f"  {line}" for line in _remedies(run, name, relative, steady)]
    lines += [f"  log: {line}" for line in run.log]
    return Audit(worst, relative, steady, "\n".join(lines))


def _course(steady: bool) -> str:
    return "; the error grows with time." if steady else "; the error stays within bounds."


def _steady(residual: np.ndarray) -> bool:
    """Whether the residual of the last quarter is beyond twice that of the first."""
    if len(residual) < 8:
        return False
    quarter = len(residual) // 4
    return bool(np.max(np.abs(residual[-quarter:])) > 2.0 * np.max(np.abs(residual[:quarter])))


def _remedies(run: Run, name: str, relative: float, steady: bool) -> list[str]:
    if relative < GOOD:
        return []
    step, order = run.settings["step"], ORDERS[name]
    if step is None:
        return [f"Tighter tolerances would do: rtol = {run.settings['rtol'] * GOOD / relative:.1e}."]
    wanted = step * (GOOD / relative) ** (1.0 / order)
    found = [f"{name} is of order {order}: a step of {wanted:.2g} s would bring the residual to {GOOD:g}."]
    if steady and name not in BOUNDED:
        found.append("For long runs without drift: 'implicit-midpoint' or 'variational'.")
    if wanted < 1e-2 * step:
        found.append("'rk45' without a step chooses its own and may be faster.")
    return found
