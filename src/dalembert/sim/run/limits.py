"""Remarks on joints that went beyond the limits of the model, which do not act by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.model import Model

from ..elements.base import Element
from ..system.system import System

SLACK = 1e-9  # relative: a joint that starts on its limit is within it


def beyond_limits(
    model: Model, elements: Sequence[Element], t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> list[str]:
    """A line for each kind of limit (range, speed, effort) that was exceeded, with the first joint to do so."""
    joints = [body.joint for body in model.independent]
    lower, upper, speed, effort = (
        np.concatenate([getattr(joint, field) for joint in joints])
        for field in ("lower", "upper", "velocity_limit", "effort_limit")
    )
    for element in elements:  # these act, each in its own way
        joint = getattr(element, "joint", None)
        if joint is not None and "range" in element.enforces:
            where = model.joint(joint).q
            lower[where], upper[where] = -np.inf, np.inf
        if joint is not None and "effort" in element.enforces:
            effort[model.joint(joint).v] = np.inf
    lines = (
        _line("range", model.coordinate_names, t, q, lower, upper, "limits act only with elements=robot.stops()"),
        _line("speed", model.freedom_names, t, v, -speed, speed, "nothing enforces it"),
        _line("effort", model.freedom_names, t, tau, -effort, effort, "elements.Motor limits what a motor gives"),
    )
    return [line for line in lines if line]


def _line(
    what: str, names: Sequence[str], t: np.ndarray, x: np.ndarray, low: np.ndarray, high: np.ndarray, note: str
) -> str:
    """Words for the first number beyond its limits; empty if there is none."""
    over = np.maximum(x - high, low - x) > SLACK * (1.0 + np.abs(x))
    if not over.any():
        return ""
    row, k = np.argwhere(over)[0]
    limit = (high[k] if x[row, k] > high[k] else low[k]) + 0.0  # no "-0"
    others = int(over.any(axis=0).sum()) - 1
    more = f" ({others} more {'joint exceeds its' if others == 1 else 'joints exceed theirs'})" if others else ""
    return f"{what} of {names[k]!r} exceeded at t = {t[row]:.4g} s: {x[row, k]:.4g}, limit {limit:.4g}{more}; {note}"


def held_at_the_end(system: System, e: np.ndarray) -> list[str]:
    """A line on joints that dry friction holds at the end of a run (n, ne) although a law drives them."""
    held: dict[str, bool] = {}
    for k, owner in enumerate(system.row_owners[system.permanent_count :] if system.layout.nm else ()):
        active = [bool(owner.constraint.admissible.active(mode)) for mode in system.layout.modes(e)[..., k].tolist()]
        if np.isinf(owner.constraint.admissible.lower) and np.isinf(owner.constraint.admissible.upper) and active[-1]:
            held[owner.constraint.name.removeprefix("friction ")] = all(active)
    if not held:
        return []
    never = [name for name, always in held.items() if always]
    words = f"; at no record did {', '.join(never)} move" if never else ""
    return [f"dry friction holds {', '.join(held)} at the end, where the law may not want them{words}"]
