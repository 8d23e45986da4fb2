"""Pictures of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown

from .run import Run

UNITS = {"q": "rad or m", "v": "rad/s or m/s", "tau": "N·m or N", "energy": "J"}
LEGEND = 12  # curves up to which each is named


def plot(run: Run, what: tuple[str, ...]) -> Any:
    """A figure with one panel for each of "q", "v", "tau", "energy"."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DalembertError("plot needs matplotlib: pip install 'dalembert[plot]'") from None
    what = (what,) if isinstance(what, str) else tuple(what)
    for name in what:
        if name not in UNITS:
            raise unknown("panel", name, UNITS, "plot")
    figure = Figure(figsize=(9.0, 2.6 * len(what)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(what), 1, sharex=True))
    for axes, name in zip(panels, what, strict=True):
        for label, values in _curves(run, name):
            axes.plot(run.t, values, label=label, linewidth=1.2)
        for event in run.events:
            axes.axvline(event.t, color="0.8", linewidth=0.6, zorder=0)
        axes.set_ylabel(f"{name} [{UNITS[name]}]")
        axes.grid(alpha=0.3)
        if len(axes.lines) - len(run.events) <= LEGEND:
            axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    panels[-1].set_xlabel("t [s]")
    figure.suptitle(f"{run.robot}, {run.settings['integrator']}")
    return figure


def _curves(run: Run, name: str) -> list[tuple[str, np.ndarray]]:
    """(label, numbers (n,)) of a panel."""
    if name != "energy":
        labels = run.coordinates if name == "q" else run.freedoms
        return list(zip(labels, getattr(run, name).T, strict=True))
    ledger = run.energy
    found = [(kind, getattr(ledger, kind)) for kind in ("kinetic", "potential", "elastic", "total")]
    if ledger.work:
        found.append(("work put in", sum(ledger.work.values(), np.zeros(len(run.t)))))
    if ledger.heat:
        found.append(("heat", sum(ledger.heat.values(), np.zeros(len(run.t)))))
    return [*found, ("residual", ledger.residual)]
