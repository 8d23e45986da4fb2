"""The page of a fit: verdict, what changed, what the data cannot tell, torques beside predictions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.report.figures import figure, svg
from dalembert.version import __version__

from .fitted import CONFIDENCE, Fit
from .validation import Validation

TEMPLATE = Path(__file__).with_name("page.html.j2")
SHOWN = 2000  # points of a curve at most
DRIFT = 12  # pieces of a log over which the residual is followed


def write_report(fit: Fit, path: str | os.PathLike[str], validation: Validation | None = None) -> Path:
    """Write the page of a fit (.html), beside a validation if there is one."""
    try:
        import jinja2
    except ImportError:
        raise DalembertError("the report needs jinja2: pip install 'dalembert[report]'") from None
    path = Path(path)
    if not path.parent.is_dir():
        raise DalembertError(f"{path}: there is no folder {path.parent}; make it first")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    page = environment.from_string(TEMPLATE.read_text("utf-8"))
    write_text(path, page.render(_content(fit, validation)))
    return path


def _content(fit: Fit, validation: Validation | None) -> dict[str, Any]:
    robot = fit.columns.robot
    shown = validation if validation is not None else fit.training
    deviation = np.sqrt(np.diag(fit.covariance))
    before, after = fit.base.matrix @ fit.columns.prior(), fit.base_values
    rows = [
        {
            "group": group,
            "before": f"{before[k]:.5g}",
            "after": f"{after[k]:.5g}",
            "deviation": f"± {CONFIDENCE * deviation[k]:.2g}" if fit.seen[k] else "not seen in these logs",
        }
        for k, group in enumerate(fit.base.groups)
    ]
    bodies = [
        (old.name, f"{old.mass:.4g}", f"{new.mass:.4g}", _vector(old.com), _vector(new.com))
        for old, new in zip(robot.bodies, fit.robot.bodies, strict=True)
    ]
    joints = [
        {
            "name": name,
            "rms": f"{shown.rms[k]:.3g}",
            "percent": f"{shown.rms_percent[k]:.2f}",
            "factory": f"{shown.factory_percent[k]:.1f}",
            "torque": f"{verdict.torque:.3g}",
            "status": verdict.status,
            "why": verdict.why,
        }
        for k, (name, verdict) in enumerate(zip(shown.joints, shown.verdicts, strict=True))
    ]
    return {
        "robot": robot,
        "fit": fit,
        "version": __version__,
        "held_out": validation is not None,
        "shown": shown,
        "rows": rows,
        "bodies": bodies,
        "joints": joints,
        "unseen": fit.unseen,
        "notes": [*map(str, fit.doubts), *fit.log],
        "problems": fit.robot.problems,
        "curves": _curves(shown),
        "drift": _drift(shown),
        "against": _against(shown),
        "warming": shown.warming,
    }


def _vector(x: np.ndarray) -> str:
    return ", ".join(f"{value:.4f}" for value in x)


def _curves(shown: Validation) -> str:
    """Measured and predicted torque of every joint, and the difference."""
    n = len(shown.joints)
    drawing, axes = figure(9.0, 1.6 * n + 0.4, nrows=n, ncols=1, sharex=True, squeeze=False)
    every = max(1, len(shown.t) // SHOWN)
    t = shown.t[::every]
    for k, (name, (axis,)) in enumerate(zip(shown.joints, axes, strict=True)):
        axis.plot(t, shown.measured[::every, k], color="#9aa5b1", linewidth=1.4, label="measured")
        axis.plot(t, shown.predicted[::every, k], color="#1f5fa8", linewidth=0.9, label="predicted")
        difference = shown.measured[::every, k] - shown.predicted[::every, k]
        axis.plot(t, difference, color="#c0392b", linewidth=0.7, label="left over")
        axis.set_ylabel(f"{name}\n[N·m]", fontsize=8)
        axis.grid(alpha=0.25)
    axes[0][0].legend(loc="upper right", ncols=3, fontsize=8)
    axes[-1][0].set_xlabel("t [s]")
    return svg(drawing)


def _drift(shown: Validation) -> str:
    """The residual along the log, piece by piece: warming up and wear show as a trend."""
    drawing, axis = figure(9.0, 2.6)
    pieces = np.array_split(np.arange(len(shown.t)), min(DRIFT, len(shown.t)))
    t = [float(shown.t[at].mean()) for at in pieces]
    left = shown.measured - shown.predicted
    for k, name in enumerate(shown.joints):
        axis.plot(t, [float(np.sqrt(np.nanmean(left[at, k] ** 2))) for at in pieces], marker=".", label=name)
    axis.set_xlabel("t [s]")
    axis.set_ylabel("left over, rms [N·m]")
    axis.set_ylim(bottom=0.0)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=7, ncols=2)
    return svg(drawing)


def _against(shown: Validation) -> str:
    """The residual against what it may depend on: a good model leaves no shape in these clouds."""
    n, units = len(shown.joints), {"position": "rad", "velocity": "rad/s", "temperature": "°C"}
    drawing, axes = figure(9.0, 1.5 * n + 0.4, nrows=n, ncols=len(shown.along), sharex="col", squeeze=False)
    every = max(1, len(shown.t) // SHOWN)
    left = (shown.measured - shown.predicted)[::every]
    for k, (name, row) in enumerate(zip(shown.joints, axes, strict=True)):
        for axis, values in zip(row, shown.along.values(), strict=True):
            axis.plot(values[::every, k], left[:, k], ".", color="#c0392b", markersize=1.5, alpha=0.5)
            axis.grid(alpha=0.25)
        row[0].set_ylabel(f"{name}\n[N·m]", fontsize=8)
    for axis, word in zip(axes[-1], shown.along, strict=True):
        axis.set_xlabel(f"{word} [{units[word]}]")
    return svg(drawing)
