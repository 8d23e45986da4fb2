"""Pictures of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.notebook import figure
from dalembert.sim.run.plot import COLUMN, FORCES, LEGEND, style
from dalembert.sim.run.plot import names as curve_names

if TYPE_CHECKING:
    from .plan import Plan

NEAR = 0.3  # of a curve's range: limits farther away would flatten it


def plot(plan: Plan) -> Any:
    """A figure: q, v and u over time with the limits that are kept, and the costs by name."""
    problem, model = plan.problem, plan.problem.robot.model
    picture = figure(9.0, 9.0)
    panels = picture.subplots(4, 1, height_ratios=(3, 3, 3, 2))
    rates = [f"{unit}/s" for unit in model.freedom_units]
    ranges = problem.ranges
    _curves(panels[0], "q", plan.t, plan.q, curve_names(model, "q"), model.coordinate_units, ranges.get("position"))
    _curves(panels[1], "v", plan.t, plan.v, curve_names(model, "v"), rates, ranges.get("velocity"))
    motion, held = problem.motion, np.vstack([plan.u, plan.u[-1:]])
    units = [FORCES[model.freedom_units[k]] for k in motion.driven] or [""] * motion.controls  # others have their own
    _curves(panels[2], "u", plan.t, held, problem.control_names, units, ranges.get("torque"), "steps-post")
    for axes in panels[:3]:
        axes.set_xlabel("t [s]")
    panels[3].barh(list(plan.costs), list(plan.costs.values()), color="C0")
    panels[3].invert_yaxis()
    panels[3].set_xlabel("cost over the whole plan (no unit)")
    panels[3].grid(alpha=0.3, axis="x")
    state = "converged" if plan.converged else "not converged"
    picture.suptitle(f"{problem.robot.name}: cost {plan.cost:.6g}, {state} after {plan.iterations} iterations")
    return picture


def _curves(
    axes: Any, label: str, t: np.ndarray, values: np.ndarray, names: Sequence[str], units: Sequence[str],
    limits: tuple[np.ndarray, np.ndarray] | None, steps: str = "default",
) -> None:  # fmt: skip
    """Curves with their names, and dashed the limits near them; the unit stands at the axis where all have one."""
    common = len(set(units)) == 1
    for k, (name, unit) in enumerate(zip(names, units, strict=True)):
        text = name if common or not unit else f"{name} [{unit}]"
        axes.plot(t, values[:, k], label=text, linewidth=1.2, drawstyle=steps, **style(k))
        size = max(float(np.ptp(values[:, k])), 0.1 * float(np.ptp(values)), 1e-9)
        for bound in (side[k] for side in limits) if limits is not None else ():
            if np.isfinite(bound) and np.min(np.abs(values[:, k] - bound)) < NEAR * size:
                axes.axhline(bound, color=f"C{k % 10}", linewidth=0.6, linestyle="--")
    axes.set_ylabel(f"{label} [{units[0]}]" if common and units[0] else label)
    axes.grid(alpha=0.3)
    if len(names) <= LEGEND:
        columns, size_name = -(-len(names) // COLUMN), "small" if len(names) <= COLUMN else "xx-small"
        axes.legend(fontsize=size_name, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns)
