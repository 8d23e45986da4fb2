"""Fits: from logs to parameters, with what the data show, how sure they are, and a robot that has them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot

from . import least_squares, physical
from .base import BaseParameters, base_of, independent_columns
from .checks import Doubt, LogError, doubts
from .columns import INERTIAL, NONNEGATIVE, Columns, columns
from .compression import Compressed, Samples, compress
from .hulls import hull_bounds
from .validation import Validation, along_log

METHODS = ("least-squares", "weighted", "total", "instrumental", "physical", "simulation")
# Strength of the prior in units of the noise: of whole bodies, and of their masses alone, which motions hardly show.
BODY_STRENGTH, MASS_STRENGTH = 2.0, 100.0
HELD = 1e6  # weight of parameters that the user fixed or tied, beside that of the data
CONFIDENCE = 1.96  # standard deviations of an interval that holds the truth in 95 of 100 cases


class Log(Protocol):
    """What a fit needs of a log; see `read_log`."""

    @property
    def t(self) -> np.ndarray:
        """(T,) [s]"""

    @property
    def q(self) -> np.ndarray:
        """(T, nq)"""

    @property
    def v(self) -> np.ndarray:
        """(T, nv)"""

    @property
    def a(self) -> np.ndarray:
        """(T, nv)"""

    @property
    def tau(self) -> np.ndarray | None:
        """(T, nv) [N·m or N]"""


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
        """What motions of the robot can show at all."""
        return base_of(self.columns)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the parameters found; offset and stribeck, which models do not have, are left out."""
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
        """What the logs cannot tell: parameters that no motion shows, then base parameters that these logs do not."""
        missed = [group for group, seen in zip(self.base.groups, self.seen, strict=True) if not seen]
        return (*self.base.unseen, *missed)

    def torque(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """(T, nv): the torques that the parameters predict, offset and stribeck included."""
        q, v, a = (np.atleast_2d(np.asarray(x, float)) for x in (q, v, a))
        return self.columns.matrix(q, v, a) @ self.x + self.columns.known(q, v, a)

    def validate(self, log: Log) -> Validation:
        """Predictions beside the torques of a log, preferably one that was not fitted."""
        samples = _samples(self.columns.robot, log)
        predicted = self.torque(samples.q, samples.v, samples.a)
        factory = self.columns.robot.inverse_dynamics(samples.q, samples.v, samples.a)
        measured = np.where(samples.counted(), samples.tau, np.nan)
        names = self.columns.robot.model.freedom_names
        along = along_log(self.columns.robot, samples.q, samples.v, getattr(log, "temperature", None))
        return Validation(names, np.asarray(log.t, float), measured, predicted, factory, along)

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
        lines = [
            f"Parameters identified by method {self.method!r} from {rows} samples of {self._sources()}, with {terms}; "
            f"{share:.2f} % of the torques (RMS) is not explained.",
        ]
        return (*lines, *(f"Not seen in the data, and near the file before: {group}." for group in self.unseen))

    def _sources(self) -> str:
        titles = list(dict.fromkeys(title for title in self.titles if title))
        return ", ".join(titles) if titles else "a log without a name"

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
        """RMS of what the fit leaves over, in percent of that of the torques."""
        return float(100.0 * np.sqrt(self.data.residuals(self.x).sum() / max(self.data.torque_squares.sum(), 1e-300)))

    def __repr__(self) -> str:
        return f"<Fit of {self.columns.robot.name!r}, {self.method}: {self._share():.2f} % left over>"


def fit(
    robot: Robot,
    log: Log | Sequence[Log] | Iterator[Log],
    *,
    friction: Iterable[str] = ("viscous", "coulomb", "offset"),
    rotor: bool = False,
    springs: bool = False,
    method: str = "physical",
    prior: str = "entropic",
    strength: float = 1.0,
    fixed: Mapping[str, float] | None = None,
    tied: Iterable[Sequence[str]] = (),
    stribeck_speed: float = 0.1,
    reference: Log | Sequence[Log] | None = None,
    check: bool = True,
) -> Fit:
    """The parameters of a robot from one log or several, or from an iterator of pieces, each seen once and not kept.

    friction: terms to find, of "viscous", "coulomb", "stribeck", "offset"; rotor: reflected rotor inertia; springs:
    joint stiffness. What is not found keeps the robot's own value.
    method: "least-squares", "weighted" (by each joint's noise), "total" (errors in the regressor as well),
    "instrumental" (with the motion that was asked for, `reference`, sampled like the log, as instrument: noise of the
    measured motion does not bias it): values that explain the log, which bodies may not be able to have; "physical":
    ones that bodies can have, near the file's where the data do not tell; "simulation": such that simulated motions
    follow the log, started from "physical".
    prior: "entropic" (divergence of bodies, independent of units and axes) or "quadratic"; strength: of the prior.
    fixed: parameter → value; tied: groups of parameters that are equal, as of a left and a right arm.
    check: refuse a log that makes no sense (LogError says why).
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS, "fit")
    if prior not in ("entropic", "quadratic"):
        raise unknown("prior", prior, ("entropic", "quadratic"), "fit")
    if not strength > 0.0:
        raise DalembertError(f"fit: strength is {strength!r}, expected a number above 0")
    parameters = columns(robot, friction, rotor, springs, stribeck_speed)
    if isinstance(log, Iterator):
        if method in ("instrumental", "simulation"):
            raise DalembertError(f"fit: method {method!r} looks at the log again: give logs instead of an iterator")
        return _streamed(parameters, log, method, prior, strength, fixed or {}, tied, check)
    logs = _listed(log)
    if not logs:
        raise DalembertError("fit: expected a log or several, got none")
    samples = tuple(_samples(robot, each) for each in logs)
    noted = tuple(d for s, each in zip(samples, logs, strict=True) for d in doubts(robot, s, np.asarray(each.t, float)))
    if check and any(doubt.serious for doubt in noted):
        raise LogError(noted)
    data = _held(compress(parameters, samples), fixed or {}, tied)
    if method == "instrumental":
        x, sigma = least_squares.instrumental(data, samples, _references(robot, reference, samples), parameters.prior())
        notes: tuple[str, ...] = ()
    else:
        x, sigma, notes = _estimate(data, method, prior, strength)
    titles = tuple(str(getattr(each, "title", "")) for each in logs)
    result = Fit(method, parameters, x, sigma, data, samples, noted, (*notes, *_below_zero(parameters, x)), titles)
    if method == "simulation":
        from .simulation import refined

        return refined(result, logs)
    return result


def _listed(log: Log | Sequence[Log]) -> list[Log]:
    return list(log) if isinstance(log, (list, tuple)) else [log]  # type: ignore[list-item]


def _references(robot: Robot, reference: Log | Sequence[Log] | None, samples: Sequence[Samples]) -> list[Samples]:
    """The motions that were asked for, one for each log and as long."""
    if reference is None:
        raise DalembertError("fit: method 'instrumental' needs reference=…, the motion that was asked for")
    commanded = [Samples(*(np.asarray(x, float) for x in (r.q, r.v, r.a, r.v))) for r in _listed(reference)]
    if [len(each.q) for each in commanded] != [len(each.q) for each in samples]:
        raise DalembertError("fit: reference must have a row for every sample of the log")
    return commanded


def _streamed(
    parameters: Columns,
    pieces: Iterator[Log],
    method: str,
    prior: str,
    strength: float,
    fixed: Mapping[str, float],
    tied: Iterable[Sequence[str]],
    check: bool,
) -> Fit:
    """A fit of a log that is too long to be kept; its intervals take errors as independent, which is too hopeful."""
    robot = parameters.robot
    log_doubts: list[tuple[Doubt, ...]] = []

    def checked() -> Iterator[Samples]:
        for piece in pieces:
            samples = _samples(robot, piece)
            if not log_doubts:  # the first piece speaks for all of them
                log_doubts.append(doubts(robot, samples, np.asarray(piece.t, float)))
                if check and any(doubt.serious for doubt in log_doubts[0]):
                    raise LogError(log_doubts[0])
            yield samples

    data = _held(compress(parameters, checked()), fixed, tied)
    if not log_doubts:
        raise DalembertError("fit: expected pieces of a log, got none")
    x, sigma, notes = _estimate(data, method, prior, strength)
    note = "the log was not kept: intervals take errors of neighbouring samples as independent, and are too narrow"
    return Fit(method, parameters, x, sigma, data, (), log_doubts[0], (*notes, *_below_zero(parameters, x), note))


def _estimate(
    data: Compressed, method: str, prior: str, strength: float
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    before = data.columns.prior()
    if method == "least-squares":
        return (*least_squares.ordinary(data, before), ())
    if method == "weighted":
        return (*least_squares.weighted(data, before), ())
    if method == "total":
        return (*least_squares.total(data, before), ())
    return possible_fit(data, least_squares.weighted(data, before)[1], prior, strength)


def possible_fit(
    data: Compressed, sigma: np.ndarray, prior: str, strength: float
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """(x, sigma, notes) with bodies that can exist; see `physical`."""
    parameters = data.columns
    stated = parameters.prior()[: parameters.inertial].reshape(-1, len(INERTIAL))
    bodies, changed = physical.possible(stated)
    names = [parameters.robot.model.bodies[parameters.bodies[k]].name for k in changed]
    notes = [f"the file's inertia of {name!r} is no possible body's: a near one is the prior" for name in names]
    R, z, _ = data.stacked(sigma)
    entropic = prior == "entropic"
    radius = np.sqrt(bodies[:, 4:7].sum(axis=1) / (2.0 * bodies[:, 0]))  # of gyration about the origin
    scale = (bodies[:, :1] * radius[:, None] ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])).ravel()
    problem = physical.Problem(
        R,
        z,
        len(bodies),
        bodies.ravel(),
        _bounds(parameters, bodies),
        strength=BODY_STRENGTH * strength if entropic else 0.0,
        mass_strength=MASS_STRENGTH * strength if entropic else 0.0,
        weight=0.0 if entropic else strength,
        scale=None if entropic else np.concatenate([scale, np.ones(parameters.size - len(scale))]),
    )
    solution = physical.solve(problem)
    return solution.x, sigma, tuple(notes)


def _below_zero(parameters: Columns, x: np.ndarray) -> list[str]:
    """What is said of friction, rotors and springs that came out below zero."""
    low = [
        parameters.names[k]
        for name in parameters.terms
        if name in NONNEGATIVE
        for k in range(parameters.size)[parameters.term(name)]
        if x[k] < 0.0
    ]
    return [f"below zero, and 0 in the robot: {', '.join(low)}; method='physical' keeps them possible"] if low else []


def _bounds(parameters: Columns, bodies: np.ndarray) -> np.ndarray:
    """Rows that are ≥ 0: friction, rotors and springs; centres of mass within the hulls of their shapes."""
    rows = []
    for name in parameters.terms:
        if name in NONNEGATIVE:
            at = np.arange(parameters.size)[parameters.term(name)]
            rows.append(np.eye(parameters.size)[at])
    for k, body in enumerate(parameters.bodies):
        limits = hull_bounds(parameters.robot, body, bodies[k, 1:4] / bodies[k, 0])
        block = np.zeros((len(limits), parameters.size))
        block[:, len(INERTIAL) * k : len(INERTIAL) * k + 4] = limits
        rows.append(block)
    return np.concatenate(rows) if rows else np.zeros((0, parameters.size))


def _held(data: Compressed, fixed: Mapping[str, float], tied: Iterable[Sequence[str]]) -> Compressed:
    """The data with rows that hold parameters at a value or equal to each other."""
    names = list(data.columns.names)

    def index(name: str) -> int:
        if name not in names:
            raise unknown("parameter", name, names, "fit")
        return names.index(name)

    rows = []
    for name, value in fixed.items():
        row = np.zeros(len(names) + 1)
        row[[index(name), -1]] = 1.0, float(value)
        rows.append(row)
    for group in tied:
        first, *others = [index(name) for name in group]
        for other in others:
            row = np.zeros(len(names) + 1)
            row[[first, other]] = 1.0, -1.0
            rows.append(row)
    if not rows:
        return data
    heaviest = max(np.linalg.norm(factor, axis=0)[:-1].max(initial=0.0) for factor in data.factors)
    factors = (np.concatenate([data.factors[0], HELD * heaviest * np.array(rows)]), *data.factors[1:])
    return Compressed(data.columns, factors, data.rows)


def _samples(robot: Robot, log: Log) -> Samples:
    if log.tau is None:
        raise DalembertError("the log has no torques: a fit needs a column for each joint")
    q, v, a, tau = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
    if q.ndim != 2 or q.shape[1] != robot.nq:
        raise DalembertError(f"the log's q has shape {q.shape}, expected (T, {robot.nq}) for robot {robot.name!r}")
    return Samples(q, v, a, tau)
