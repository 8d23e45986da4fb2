"""The energy ledger: what is stored where, what came in, what was lost, and what does not add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class EnergyLedger:
    """Energies [J] over the times of a run, arrays (n,).

    kinetic, potential (gravity), elastic (springs and what elements store); work: what each source has put in since
    the beginning, by name; heat: what each friction, damper, limit and element has taken out. Integrated with the
    scheme of the run.
    """

    kinetic: np.ndarray
    potential: np.ndarray
    elastic: np.ndarray
    work: Mapping[str, np.ndarray]
    heat: Mapping[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """Kinetic + potential + elastic (n,)."""
        return self.kinetic + self.potential + self.elastic

    @property
    def residual(self) -> np.ndarray:
        """The gain of the total beyond work − heat (n,): the error of the integration."""
        gained = self.total - self.total[0]
        return gained - sum(self.work.values(), 0.0) + sum(self.heat.values(), 0.0)

    @property
    def scale(self) -> float:
        """The largest amount of energy that moved [J]: what a residual is to be compared with."""
        moved = [np.ptp(x) for x in (self.kinetic, self.potential, self.elastic, *self.work.values())]
        moved += [np.ptp(x) for x in self.heat.values()]
        return float(max([*moved, np.max(np.abs(self.kinetic), initial=0.0)]))

    @property
    def stored(self) -> float:
        """The largest energy that was stored in one of the three forms [J]: rounding errors are relative to it."""
        return float(max(np.max(np.abs(x), initial=0.0) for x in (self.kinetic, self.potential, self.elastic)))

    def __repr__(self) -> str:
        drift = np.max(np.abs(self.residual), initial=0.0)
        return (
            f"<Ledger: {len(self.kinetic)} times, {len(self.work)} sources, {len(self.heat)} sinks, "
            f"residual at most {drift:.3g} J>"
        )
