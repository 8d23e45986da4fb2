"""A fit: parameters found from logs, what the data show, how sure they are, and a robot that has them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.audit.logs import MeasuredMotion as Log
from dalembert.errors import DalembertError
from dalembert.notebook import html
from dalembert.robot import Robot

from . import least_squares
from .base import BaseParameters, base_of, independent_columns
from .checks import open_doubts
from .columns import Columns
from .compression import Compressed, Samples
from .signals import Doubt
from .validation import Validation, along_log

CONFIDENCE = 1.96  # standard deviations of an interval that holds the truth in 95 of 100 cases


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters of a robot found from logs.

    x (n,): values of `names`; sigma (nv,): noise of each joint's torque [N·m or N]; doubts: what was odd about the
    logs; log: what was assumed; titles: of the logs.
    """

    method: str
    columns: Columns
    x: np.ndarray
    sigma: np.ndarray
    data: Compressed
    samples: tuple[Samples, ...] = field(repr=False)
    doubts: tuple[Doubt, ...] = ()
    log: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.columns.names

    @cached_property
    def base(self) -> BaseParameters:
        """The parameters that motions of the robot can show."""
        return base_of(self.columns)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the parameters found; offsets, which models do not have, are left out."""
        return self.columns.robot_with(self.x)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(rank, rank): of the base parameters, errors of neighbouring samples taken as dependent."""
        return least_squares.covariance(self.data, self.samples, self._unconstrained, self.sigma, self.base.matrix)

    @cached_property
    def _unconstrained(self) -> np.ndarray:
        return least_squares.weighted(self.data, self.columns.prior())[0]

    @cached_property
    def base_values(self) -> np.ndarray:
        """(rank,): the base parameters."""
        return self.base.matrix @ self.x

    @cached_property
    def interval(self) -> np.ndarray:
        """(rank, 2): lower and upper end of the 95 % interval of each base parameter; infinite where it is not seen."""
        middle = self.base.matrix @ self._unconstrained
        half = CONFIDENCE * np.sqrt(np.diag(self.covariance))
        half = np.where(self.seen, half, np.inf)
        return np.column_stack([middle - half, middle + half])

    @cached_property
    def seen(self) -> np.ndarray:
        """(rank,): whether these logs show each base parameter."""
        R, _, _ = self.data.stacked(self.sigma)
        scale, visible = least_squares.column_scale(R)
        chosen = independent_columns(np.where(visible, R, 0.0) / scale)
        return np.isin(self.base.independent, chosen)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Parameters that the logs do not show: those of no motion, then base parameters that these logs miss."""
        missed = [group for group, seen in zip(self.base.groups, self.seen, strict=True) if not seen]
        return (*self.base.unseen, *missed)

    def torque(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """(T, nv): the torques that the parameters predict, offsets included."""
        q, v, a = (np.atleast_2d(np.asarray(x, float)) for x in (q, v, a))
        return self.columns.matrix(q, v, a) @ self.x + self.columns.known(q, v, a)

    @property
    def offsets(self) -> np.ndarray | None:
        """(nv,) [N·m or N]: zero errors of the torque sensors, which no robot has; None where they were not fitted."""
        return self.x[self.columns.term("offset")] if "offset" in self.columns.terms else None

    def validate(self, log: Log, written: Robot | None = None) -> Validation:
        """The torques of the robot found beside those of a log, preferably one that was not fitted.

        written: the robot as read back from its file; default: `robot`. Offsets are in neither.
        """
        samples = samples_of(self.columns.robot, log)
        temperature = getattr(log, "temperature", None)
        return self._judged(np.asarray(log.t, float), [samples], temperature, written or self.robot)

    @cached_property
    def training(self) -> Validation:
        """The same on the logs that were fitted; its times are numbers of rows."""
        if not self.samples:
            raise DalembertError("fit: the log was read in pieces and not kept: validate the fit with another log")
        rows = np.arange(sum(len(s.q) for s in self.samples), dtype=float)
        return self._judged(rows, self.samples, None, self.robot)

    def _judged(
        self, t: np.ndarray, samples: Sequence[Samples], temperature: np.ndarray | None, written: Robot
    ) -> Validation:
        robot = self.columns.robot
        names = robot.model.freedom_names
        if written.model.freedom_names != names or written.nq != robot.nq:
            raise DalembertError(
                f"validate: robot {written.name!r} has other joints than {robot.name!r}, which was fitted: "
                f"{', '.join(written.model.freedom_names)} instead of {', '.join(names)}"
            )
        q, v, a = (np.concatenate([getattr(s, kind) for s in samples]) for kind in ("q", "v", "a"))
        measured = np.concatenate([np.where(s.counted(), s.tau, np.nan) for s in samples])
        predicted, factory = written.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a)
        along = along_log(robot, q, v, temperature)
        return Validation(names, t, measured, predicted, factory, along, self.offsets, open_doubts(self.doubts, names))

    def table(self) -> str:
        """Base parameters: before, after, uncertainty; then what the logs cannot tell."""
        before, after = self.base.matrix @ self.columns.prior(), self.base_values
        deviation = np.sqrt(np.diag(self.covariance))
        lines = ["      before       after   ± 95 %   relative  base parameter"]
        for k, group in enumerate(self.base.groups):
            if self.seen[k]:
                share = 100.0 * deviation[k] / abs(after[k]) if after[k] else np.inf
                sure = f"{CONFIDENCE * deviation[k]:8.2g}  {f'{share:.1f} %' if share < 100.0 else '> 100 %':>9}"
            else:
                sure = "not seen in these logs"[:19].rjust(19)
            lines.append(f"{before[k]:12.5g}{after[k]:12.5g} {sure}  {group}")
        if self.base.unseen:
            lines.append(f"no motion shows: {', '.join(self.base.unseen)}")
        return "\n".join(lines)

    def json(self) -> str:
        """Parameters, base parameters with 95 % intervals, and what the logs cannot tell, for programs."""
        base = [
            {"group": group, "value": value, "lower": low, "upper": high, "seen": bool(seen)}
            for group, value, (low, high), seen in zip(
                self.base.groups, self.base_values.tolist(), self.interval.tolist(), self.seen, strict=True
            )
        ]
        for entry in base:
            if not entry["seen"]:
                entry["lower"] = entry["upper"] = None
        content = {
            "robot": self.columns.robot.name,
            "method": self.method,
            "parameters": dict(zip(self.names, self.x.tolist(), strict=True)),
            "base": base,
            "unseen": list(self.unseen),
            "noise": dict(zip(self.columns.robot.model.freedom_names, self.sigma.tolist(), strict=True)),
            "log": list(self.log),
        }
        return json.dumps(content, indent=1, ensure_ascii=False)

    @property
    def provenance(self) -> tuple[str, ...]:
        """Where the numbers come from, in a few lines."""
        rows, share = int(self.data.rows.max(initial=0)), self._share()
        terms = ", ".join(self.columns.terms) or "no friction"
        sources = ", ".join(dict.fromkeys(title for title in self.titles if title)) or "a log without a name"
        lines = [
            f"Parameters identified by method {self.method!r} from {rows} samples of {sources}, with {terms}; "
            f"this file leaves {share:.2f} % of the torques (RMS) unexplained.",
        ]
        if self.offsets is not None:
            pairs = zip(self.columns.robot.model.freedom_names, self.offsets, strict=True)
            zeros = ", ".join(f"{name} {x:.3g}" for name, x in pairs)
            lines.append(f"Offsets of the measured torques, which are not in this file: {zeros}.")
        return (*lines, *(f"Not seen in the data, and near the file before: {group}." for group in self.unseen))

    def save(self, path: str | os.PathLike[str], **options: Any) -> tuple[Any, ...]:
        """Write the robot that the fit found, with its provenance in the first comment; the ending names the format.

        Options and result: those of `Robot.save`.
        """
        notes = (*self.provenance, *options.pop("notes", ()))
        return self.robot.save(path, notes=notes, **options)

    def report(self, path: str | os.PathLike[str], validation: Validation | None = None) -> None:
        """Write a page with tables and plots, beside a validation if there is one."""
        from .report import write_report

        write_report(self, path, validation)

    def _share(self) -> float:
        """RMS of what the robot found leaves over of the fitted torques, in percent of them."""
        left = self.data.residuals(self.columns.written(self.x)).sum()
        return float(100.0 * np.sqrt(left / max(self.data.torque_squares.sum(), 1e-300)))

    def _repr_html_(self) -> str:
        before, half = self.base.matrix @ self.columns.prior(), np.diff(self.interval)[:, 0] / 2.0
        rows = [
            (group, before[k], self.base_values[k], half[k] if seen else "not seen in these logs")
            for k, (group, seen) in enumerate(zip(self.base.groups, self.seen, strict=True))
        ]
        hidden = [f"no motion shows: {', '.join(self.base.unseen)}"] if self.base.unseen else []
        return html(
            repr(self), ("base parameter", "before", "after", "± 95 %"), rows, [*map(str, self.doubts), *hidden]
        )

    def __repr__(self) -> str:
        return f"<Fit of {self.columns.robot.name!r}, {self.method}: {self._share():.2f} % left over>"


def samples_of(robot: Robot, log: Log) -> Samples:
    """The motion and torques of a log, as arrays."""
    if log.tau is None:
        raise DalembertError("the log has no torques: a fit needs a column for each joint")
    q, v, a, tau = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
    if q.ndim != 2 or q.shape[1] != robot.nq:
        raise DalembertError(f"the log's q has shape {q.shape}, expected (T, {robot.nq}) for robot {robot.name!r}")
    return Samples(q, v, a, tau)
