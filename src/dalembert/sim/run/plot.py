"""Pictures of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.model import Model
from dalembert.notebook import figure
from dalembert.typing import Array

from .run import Run

PANELS = ("q", "v", "tau", "energy")
FORCES = {"rad": "N·m", "m": "N"}
COLUMN, LEGEND = 14, 42  # names in a column of the legend, and curves up to which each is named
LINES = ("-", "--", ":", "-.")  # one after the other when the ten colours are used up
NUMBERED = re.compile(r"(.*)\[(\d+)\]")
PLACE, QUATERNION, AXES = ("x", "y", "z"), ("qw", "qx", "qy", "qz"), ("x", "y", "z")
LETTERS = {"v": {"rad": "ω", "m": "v"}, "tau": {"rad": "τ", "m": "F"}}  # of joints with a quaternion


def plot(run: Run, what: str | tuple[str, ...] | None) -> Any:
    """A figure with one panel for each of "q", "v", "tau", "energy"."""
    if what is None:
        what = tuple(name for name in PANELS if name != "tau" or run.tau.any())
    what = (what,) if isinstance(what, str) else tuple(what)
    for name in what:
        if name not in PANELS:
            raise unknown("panel", name, PANELS, "plot")
    picture = figure(9.0, 2.6 * len(what))
    panels = np.atleast_1d(picture.subplots(len(what), 1, sharex=True))
    for axes, name in zip(panels, what, strict=True):
        _panel(axes, run, name)
    panels[-1].set_xlabel("t [s]")
    picture.suptitle(f"{run.robot}, {run.settings['integrator']}")
    return picture


def style(k: int) -> dict[str, str]:
    """Colour and line of curve k; no two of forty are alike."""
    return {"color": f"C{k % 10}", "linestyle": LINES[k // 10 % len(LINES)]}


def labels(run: Run, name: str) -> list[str]:
    """Labels of the columns of "q", "v" or "tau"; see `names`."""
    return _labels(name, run.coordinates, run.coordinate_units, run.freedoms, run.freedom_units)


def names(model: Model, name: str) -> list[str]:
    """Labels of the columns of "q", "v" or "tau": a joint's name, with the component where it has a quaternion.

    "base[3]" becomes "base qw", and of v "base[0]" becomes "base ωx".
    """
    coordinates, freedoms = model.coordinate_names, model.freedom_names
    return _labels(name, coordinates, model.coordinate_units, freedoms, model.freedom_units)


def _labels(
    name: str, coordinates: Sequence[str], units: Sequence[str], freedoms: Sequence[str], rates: Sequence[str]
) -> list[str]:
    turning = {_joint(n)[0] for n, unit in zip(coordinates, units, strict=False) if unit == ""}  # with a quaternion
    columns, units = (coordinates, units) if name == "q" else (freedoms, rates)
    sizes = Counter(_joint(n)[0] for n in columns)
    texts = []
    for text, unit in zip(columns, units or [""] * len(columns), strict=True):
        joint, k = _joint(text)
        if joint not in turning or k < 0:
            texts.append(text)
        elif name == "q":
            texts.append(f"{joint} {(*PLACE, *QUATERNION)[k + 7 - sizes[joint]]}")
        else:
            texts.append(f"{joint} {LETTERS[name][unit]}{AXES[k % 3]}")
    return texts


def _joint(name: str) -> tuple[str, int]:
    """The joint of a column's name and the number of its component, -1 where it has only one."""
    match = NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, -1)


def _panel(axes: Any, run: Run, name: str) -> None:
    """Curves of one kind with their names; the unit stands at the axis where all have the same one."""
    curves = _curves(run, name)
    units = _units(run, name) or [""] * len(curves)
    common = len(set(units)) == 1
    for k, (label, values) in enumerate(curves):
        text = label if common or not units[k] else f"{label} [{units[k]}]"
        axes.plot(run.t, values, label=text, linewidth=1.2, **style(k))
    for event in run.events:
        axes.axvline(event.t, color="0.8", linewidth=0.6, zorder=0)
    axes.set_ylabel(f"{name} [{units[0]}]" if common and units[0] else name)
    axes.grid(alpha=0.3)
    if len(curves) <= LEGEND:
        columns, size = -(-len(curves) // COLUMN), "small" if len(curves) <= COLUMN else "xx-small"
        axes.legend(fontsize=size, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns)


def _units(run: Run, name: str) -> list[str]:
    """The unit of each curve; none where the run does not tell."""
    if name == "q":
        return list(run.coordinate_units)
    if name == "energy":
        return ["J"] * len(_curves(run, name))
    return [f"{unit}/s" if name == "v" else FORCES[unit] for unit in run.freedom_units]


def _curves(run: Run, name: str) -> list[tuple[str, Array]]:
    """(label, numbers (n,)) of a panel; of energies those that are not zero all the time."""
    if name != "energy":
        return list(zip(labels(run, name), getattr(run, name).T, strict=True))
    ledger = run.energy
    energies = [(kind, getattr(ledger, kind)) for kind in ("kinetic", "potential", "elastic")]
    energies.append(("work put in", sum(ledger.work.values(), np.zeros(len(run.t)))))
    energies.append(("heat", sum(ledger.heat.values(), np.zeros(len(run.t)))))
    return [*((label, x) for label, x in energies if x.any()), ("total", ledger.total), ("residual", ledger.residual)]
