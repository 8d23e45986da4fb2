"""Pictures of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from .plan import Plan

LEGEND = 16  # curves up to which each is named


def plot(plan: Plan) -> Any:
    """A figure: q, v and u over time with the limits that are kept, and the costs by name."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DalembertError("plot needs matplotlib: pip install 'dalembert[plot]'") from None
    problem, model = plan.problem, plan.problem.robot.model
    figure = Figure(figsize=(9.0, 9.0), layout="constrained")
    panels = figure.subplots(4, 1, height_ratios=(3, 3, 3, 2))
    _curves(panels[0], plan.t, plan.q, model.coordinate_names, "q", problem.ranges.get("position"))
    _curves(panels[1], plan.t, plan.v, model.freedom_names, "v", problem.ranges.get("velocity"))
    held = np.vstack([plan.u, plan.u[-1:]])
    _curves(panels[2], plan.t, held, problem.control_names, "u", problem.ranges.get("torque"), "steps-post")
    panels[2].set_xlabel("t [s]")
    names, values = list(plan.costs), list(plan.costs.values())
    panels[3].barh(names, values, color="C0")
    panels[3].invert_yaxis()
    panels[3].set_xlabel("cost")
    state = "converged" if plan.converged else "not converged"
    figure.suptitle(f"{problem.robot.name}: cost {plan.cost:.6g}, {state} after {plan.iterations} iterations")
    return figure


def _curves(
    axes: Any,
    t: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    label: str,
    limits: tuple[np.ndarray, np.ndarray] | None,
    style: str = "default",
) -> None:
    for k, name in enumerate(names):
        color, line = f"C{k % 10}", ("-", "--", ":", "-.")[k // 10 % 4]
        axes.plot(t, values[:, k], color=color, linestyle=line, linewidth=1.2, label=name, drawstyle=style)
        size = max(float(np.ptp(values[:, k])), 0.1 * float(np.ptp(values)), 1e-9)
        for bound in (side[k] for side in limits) if limits is not None else ():
            if (
                np.isfinite(bound) and np.min(np.abs(values[:, k] - bound)) < 0.3 * size
            ):  # those far away would flatten it
                axes.axhline(bound, color=color, linewidth=0.6, linestyle="--")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    if len(names) <= LEGEND:
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
