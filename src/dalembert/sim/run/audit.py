"""The verdict on the ledger of a run, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dalembert.notebook import html
from dalembert.typing import Array

from ..integrators.catalogue import INTEGRATORS, TIME_STEPPING
from .run import Run

NEGLIGIBLE = 1e-9  # accounts below this fraction of the energies of the run are not listed
LISTED = 8  # accounts of one kind, the largest first
ROUNDING, GOOD, FAIR = 1e-12, 1e-6, 1e-3  # residual relative to the energy that moved
GIVEN_BACK = 0.01  # of the energy present: heat of contacts that falls by more is no error of the step
FEW = 8  # records that do not tell whether an error grows
STORED = 1e-12  # residual relative to the energies themselves, below which it is rounding whatever moved


class EnergyAudit(NamedTuple):
    """residual: the largest [J]; relative: to the energy that moved; steady: whether it stays within bounds; text.

    A residual that is the rounding error of the energies counts as none: relative is 0 then, and it is steady.
    verdict: "good", "fair" or "poor" by `relative`, or "incomplete" for a run that did not reach its end.
    """

    residual: float
    relative: float
    steady: bool
    text: str
    verdict: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<EnergyAudit: {' '.join(self.text.split())}>"

    def _repr_html_(self) -> str:
        heading, *lines = self.text.splitlines()
        return html(heading, remarks=(line.strip() for line in lines))


def audit(run: Run) -> EnergyAudit:
    """Judge a run by its ledger."""
    ledger, name = run.energy, str(run.settings["integrator"])
    worst, scale = float(np.max(np.abs(ledger.residual), initial=0.0)), ledger.scale
    rounding = worst <= STORED * ledger.stored
    relative = 0.0 if rounding or not scale else worst / scale
    steady = rounding or not _grows(ledger.residual)
    verdict = "good" if relative < GOOD else "fair" if relative < FAIR else "poor"
    impossible = _impossible(run)
    verdict = "incomplete" if run.unfinished else "poor" if impossible else verdict
    share = "" if rounding else f", {relative:.1e} of the {scale:.3g} J exchanged"
    lines = [
        f"Energy of run of {run.robot!r} with {name}: {verdict}{f', {run.unfinished}' if run.unfinished else ''}.",
        f"  {worst:.3g} J are unaccounted for{share}"
        + ("; rounding." if relative < ROUNDING else _course(len(run), steady)),
    ]
    for kind, accounts in (("put in", ledger.work), ("turned into heat", ledger.heat)):
        lines += [f"  {line} J {kind}" for line in _listed(accounts, NEGLIGIBLE * max(scale, ledger.stored))]
    lines += [f"  {line}" for line in impossible]
    lines += [f"  {line}" for line in _remedies(run, name, relative, steady)]
    lines += [f"  log: {line}" for line in run.log]
    return EnergyAudit(worst, relative, steady, "\n".join(lines), verdict)


def _impossible(run: Run) -> list[str]:
    """Lines on heat of contacts that no contact can make: it only grows, by no more than there is."""
    contacts, ledger = run.contacts, run.energy
    if contacts is None or not len(run.t):
        return []
    present = float(ledger.kinetic.max() + np.ptp(ledger.potential) + np.ptp(ledger.elastic))
    lines = []
    for label in ("contact friction", "contact impacts"):
        heat = ledger.heat.get(label, np.zeros(len(run.t)))
        lost = np.maximum.accumulate(heat) - heat
        at = int(np.argmax(lost))
        if lost[at] > GIVEN_BACK * present:
            k = int(np.argmax(np.linalg.norm(contacts.force[at], axis=-1)))
            first, second = contacts.bodies[k]
            lines.append(
                f"{label} gave back {lost[at]:.3g} J by t = {run.t[at]:g} s, with {present:.3g} J present: heat never "
                f"falls. The largest force there is that of {first!r} on {second!r}: take a shorter step"
            )
    return lines


def _listed(accounts: Mapping[str, Array], negligible: float) -> list[str]:
    """The largest accounts with what they hold in the end, and the sum of the others."""
    largest = {label: float(np.max(np.abs(amount), initial=0.0)) for label, amount in accounts.items()}
    felt = [label for label in sorted(accounts, key=lambda label: -largest[label]) if largest[label] > negligible]
    lines = [f"{label}: {accounts[label][-1]:.6g}" for label in felt[:LISTED]]
    if others := [label for label in accounts if label not in felt[:LISTED]]:
        total = sum(float(accounts[label][-1]) for label in others)
        text = "0" if abs(total) <= negligible else f"{total:.6g}"
        lines.append(f"{len(others)} {'more ' if lines else ''}account{'s' if len(others) > 1 else ''}: {text}")
    return lines


def _course(records: int, steady: bool) -> str:
    if records < FEW:
        return "."
    return "; the error stays within bounds." if steady else "; the error grows with time."


def _grows(residual: Array) -> bool:
    """Whether the residual of the last quarter is beyond twice that of the first; not known of few records."""
    if len(residual) < FEW:
        return False
    quarter = len(residual) // 4
    return bool(np.max(np.abs(residual[-quarter:])) > 2.0 * np.max(np.abs(residual[:quarter])))


def _remedies(run: Run, name: str, relative: float, steady: bool) -> list[str]:
    if relative < GOOD:
        return []
    step, known = run.settings["step"], INTEGRATORS.get(name)
    order = run.settings.get("order", 1 if known is None else known.order)
    if step is None:
        return [f"Tighter tolerances would do: rtol = {run.settings['rtol'] * GOOD / relative:.1e}."]
    needed = step * (GOOD / relative) ** (1.0 / order)
    of_order, wanted = f"is of order {order}", f"{needed:.2g} s would bring the residual to {GOOD:g}."
    if name == TIME_STEPPING.name:  # no other integrator holds contacts
        first = f"{name} {of_order}, and of order 1 where joints move over contacts"
        return [f"{first}: a step of {step * GOOD / relative:.2g} to {wanted}"]
    remedies = [f"{name} {of_order}: a step of {wanted}"]
    if not steady and not (known is not None and known.bounded_energy):
        remedies.append("For long runs without drift: 'implicit-midpoint' or 'variational'.")
    if needed < 1e-2 * step:
        remedies.append("'rk45' without a step chooses its own and may be faster.")
    return remedies
