"""From logs to the parameters that explain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.math.blas import one_blas_thread
from dalembert.robot import Robot

from . import channels, least_squares, physical, scales
from .checks import LogError, doubts
from .columns import FIELDS, INERTIAL, Columns, columns
from .compression import Compressed, Samples, compress, triangle
from .fitted import Fit, Log, samples_of
from .physical import Extent, extent, hull_bounds
from .signals import Doubt

if TYPE_CHECKING:
    from .chosen import ChosenFit

METHODS = ("least-squares", "weighted", "total", "instrumental", "physical", "simulation")
# Strength of the prior in units of the noise: of whole bodies, and of their masses alone, which motions hardly show.
BODY_STRENGTH, MASS_STRENGTH = 2.0, 100.0
# Outliers: at most this share of a log's samples, further off than so many times the median, more than this share of
# the squares of what is left over.
FEW, FAR, MOST = 0.01, 10.0, 0.5
# An offset is not told from a weight where bodies imitate it but for this share, and where, for so much of the torque,
# their parameters need to change by no more than that.
CONFUSED, WEIGHTY, CHANGED = 0.01, 0.1, 0.2
LIKELY = 3.0  # of a torque: an offset that is no surprise
BEYOND = 1e-3  # [m]: by which a centre of mass is outside the shapes, to be told
KEPT = 1e-3  # relative error of a fixed or tied parameter that counts as kept


@overload
def fit(
    robot: Robot,
    log: Any,
    *,
    parameters: Sequence[str],
    bounds: Mapping[str, Sequence[float]] | None = None,
    start: Mapping[str, float] | None = None,
    **options: Any,
) -> ChosenFit: ...
@overload
def fit(robot: Robot, log: Log | Sequence[Log] | Iterator[Log], *, parameters: None = None, **options: Any) -> Fit: ...
@one_blas_thread()
def fit(
    robot: Robot,
    log: Any,
    *,
    parameters: Sequence[str] | None = None,
    bounds: Mapping[str, Sequence[float]] | None = None,
    start: Mapping[str, float] | None = None,
    **options: Any,
) -> Fit | ChosenFit:
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

    parameters: instead of all, some by name: "elbow.armature", ".damping", ".friction", ".stiffness" of a joint,
    "tool.mass", ".com.x", ".com.y", ".com.z" of a body, "payload" and "contact_friction". They are found by simulation
    from logs of positions q and of tau or `controls`, objects or dicts with t, q and either (each row held until the
    next); noise of positions does not bias them. A mass scales its body's inertia with it. bounds: {name: (low, high)},
    by default 0 and more for what cannot be negative; start: {name: value}, by default the robot's own. Options then:
    piece [s]: logs are cut into pieces with starts of their own, by default none; substeps of the simulation per
    sample; integrator and contact, as of `rollout`. Returns a `ChosenFit` with values, intervals and the robot.
    """
    if parameters is None:
        if bounds or start:
            raise DalembertError("fit: bounds and start are of chosen parameters: name them, parameters=[…]")
        return _fit(robot, log, **options)
    from .chosen import fit_chosen

    own = dict(fit_chosen.__kwdefaults__ or {})
    for name in options:
        if name not in own:
            raise DalembertError(
                f"fit: option {name!r} does not go with chosen parameters, which take {', '.join(own)}: leave it out"
            )
    logs = list(log) if isinstance(log, (list, tuple)) else [log]
    if not logs:
        raise DalembertError("fit: expected a log or several, got none")
    return fit_chosen(robot, logs, parameters, bounds or {}, start or {}, **options)


def _fit(
    robot: Robot, log: Log | Sequence[Log] | Iterator[Log], *,
    friction: Iterable[str] = ("viscous", "coulomb", "offset"), rotor: bool = False, springs: bool = False,
    method: str = "physical", prior: str = "entropic", strength: float = 1.0, fixed: Mapping[str, float] | None = None,
    tied: Iterable[Sequence[str]] = (), stribeck_speed: float = 0.1, reference: Log | Sequence[Log] | None = None,
    check: bool = True,
) -> Fit:  # fmt: skip
    """See `fit`."""
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
    samples = tuple(samples_of(robot, each) for each in logs)
    noted = tuple(d for s, each in zip(samples, logs, strict=True) for d in doubts(robot, s, np.asarray(each.t, float)))
    if check and any(doubt.serious and not doubt.beside_file for doubt in noted):
        raise LogError(noted)
    compressed = compress(parameters, samples)
    noted = tuple(scales.doubts(compressed, samples[0], noted))
    if check and any(doubt.serious for doubt in noted):
        raise LogError(noted)
    data, notes = _held(compressed, fixed or {}, tied)
    if method == "instrumental":
        x, sigma = least_squares.instrumental(data, samples, _references(robot, reference, samples), parameters.prior())
    else:
        x, sigma, more = _estimate(data, method, prior, strength)
        notes = (*notes, *more)
    noted = (*noted, *_offsets(data, x, noted))
    titles = tuple(str(getattr(each, "title", "")) for each in logs)
    notes = (*notes, *_below_zero(parameters, x), *_outliers(parameters, samples, x))
    result = Fit(method, parameters, x, sigma, data, samples, noted, notes, titles)
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
    parameters: Columns, pieces: Iterator[Log], method: str, prior: str, strength: float, fixed: Mapping[str, float],
    tied: Iterable[Sequence[str]], check: bool,
) -> Fit:  # fmt: skip
    """A fit of a log that is too long to be kept; its intervals take errors as independent, which is too hopeful."""
    robot = parameters.robot
    log_doubts: list[tuple[Doubt, ...]] = []

    def checked() -> Iterator[Samples]:
        for piece in pieces:
            samples = samples_of(robot, piece)
            if not log_doubts:  # the first piece speaks for all of them
                log_doubts.append(doubts(robot, samples, np.asarray(piece.t, float)))
                if check and any(doubt.serious for doubt in log_doubts[0]):
                    raise LogError(log_doubts[0])
            yield samples

    data, held = _held(compress(parameters, checked()), fixed, tied)
    if not log_doubts:
        raise DalembertError("fit: expected pieces of a log, got none")
    x, sigma, notes = _estimate(data, method, prior, strength)
    notes = (*held, *notes)
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
    notes = [
        f"no body can have the inertia that the file gives {name!r}: the prior is a possible one near it"
        for name in names
    ]
    extents = [extent(parameters.robot, body) for body in parameters.bodies]
    for k, bounds in enumerate(extents):
        if bounds is not None and (beyond := bounds.outside(bodies[k, 1:4] / bodies[k, 0])) > BEYOND:
            name = parameters.robot.model.bodies[parameters.bodies[k]].name
            notes.append(
                f"the file's centre of mass of {name!r} lies {100 * beyond:.2g} cm outside its shapes: the fit may put "
                "it as far out"
            )
    R, z = _with_weak_offsets(data, *data.stacked(sigma)[:2])
    entropic = prior == "entropic"
    scale = _size(bodies)
    problem = physical.PhysicalProblem(
        R,
        z,
        len(bodies),
        bodies.ravel(),
        _bounds(parameters, bodies, extents),
        strength=BODY_STRENGTH * strength if entropic else 0.0,
        mass_strength=MASS_STRENGTH * strength if entropic else 0.0,
        weight=0.0 if entropic else strength,
        scale=None if entropic else np.concatenate([scale, np.ones(parameters.size - len(scale))]),
    )
    solution = physical.solve(problem)
    _check_kept(data, solution.x)
    return solution.x, sigma, tuple(notes)


def _with_weak_offsets(data: Compressed, R: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and z with offsets that are hardly more than the torques, by one deviation: a short log does not tell them."""
    columns = data.columns
    if "offset" not in columns.terms:
        return R, z
    sizes = np.sqrt(data.torque_squares / np.maximum(data.rows, 1))
    rows = np.zeros((columns.robot.nv, columns.size + 1))
    rows[:, columns.term("offset")] = np.diag(1.0 / np.maximum(LIKELY * sizes, 1e-9 * max(sizes.max(), 1e-300)))
    both = triangle(np.concatenate([np.column_stack([R, z]), rows]))
    return both[: columns.size, :-1], both[: columns.size, -1]


def _check_kept(data: Compressed, x: np.ndarray) -> None:
    """Raise where fixed or tied parameters are such that no body has them."""
    torques = np.sqrt(sum(np.sum(factor**2, axis=0) for factor in data.factors))  # of a unit of each; the measured one
    for row in data.held if data.held is not None else ():
        used = np.flatnonzero(row[:-1])
        error = abs(row @ np.append(x, -1.0))
        if error * torques[used].max() < KEPT**2 * torques[-1]:
            continue  # no torque shows the difference
        if error > KEPT * max(np.abs(x[used]).max(), abs(row[-1])):
            names = " and ".join(repr(data.columns.names[k]) for k in used)
            raise DalembertError(
                f"fit: {names} cannot be fixed or tied so: no body that can exist, with its centre of mass within its "
                "shapes and friction above 0, has that; method='weighted' does not ask for such bodies"
            )


def _outliers(parameters: Columns, samples: Sequence[Samples], x: np.ndarray) -> list[str]:
    """A note on each joint of which a few samples make up most of what is left over."""
    notes = []
    for number, log in enumerate(samples):
        parts = [
            chunk.tau - parameters.matrix(chunk.q, chunk.v, chunk.a) @ x - parameters.known(chunk.q, chunk.v, chunk.a)
            for chunk in log.chunks()
        ]
        left = np.where(log.counted(), np.concatenate(parts), 0.0) ** 2
        few = max(1, int(FEW * len(left)))
        for k, name in enumerate(parameters.robot.model.freedom_names):
            worst = np.argsort(left[:, k])[-few:]
            far = worst[left[worst, k] > FAR**2 * np.median(left[:, k])]
            if len(far) and left[far, k].sum() > MOST * left[:, k].sum():
                where = f"row {far[-1] + 1}" + (f" of log {number + 1}" if len(samples) > 1 else "")
                notes.append(
                    f"joint {name!r}: {len(far)} of {len(left)} torques make up most of what is left over, the largest "
                    f"in {where}: set them to NaN if they are outliers"
                )
    return notes


def _offsets(data: Compressed, x: np.ndarray, noted: Sequence[Doubt]) -> list[Doubt]:
    """Doubts about joints of which a zero error of the sensor outweighs the torque."""
    columns, listed = data.columns, []
    if "offset" not in columns.terms:
        return []
    sizes = np.sqrt(data.torque_squares / np.maximum(data.rows, 1))
    for name, offset, size in zip(columns.robot.model.freedom_names, x[columns.term("offset")], sizes, strict=True):
        moved = np.sqrt(max(size**2 - offset**2, 0.0))
        if abs(offset) > channels.OFFSET * moved and name not in [doubt.joint for doubt in noted]:
            listed.append(channels.zero_error(name, float(offset), float(moved)))
    return listed


def _below_zero(parameters: Columns, x: np.ndarray) -> list[str]:
    """A note on friction, rotors and springs that came out below zero."""
    low = [
        parameters.names[k]
        for name in parameters.terms
        if name in FIELDS
        for k in range(parameters.size)[parameters.term(name)]
        if x[k] < 0.0
    ]
    return [f"below zero, and 0 in the robot: {', '.join(low)}; method='physical' keeps them possible"] if low else []


def _bounds(parameters: Columns, bodies: np.ndarray, extents: Sequence[Extent | None]) -> np.ndarray:
    """Rows that are ≥ 0: friction, rotors and springs; centres of mass within the hulls of their shapes."""
    rows = []
    for name in parameters.terms:
        if name in FIELDS:
            at = np.arange(parameters.size)[parameters.term(name)]
            rows.append(np.eye(parameters.size)[at])
    for k, bounds in enumerate(extents):
        if bounds is not None:
            limits = hull_bounds(bounds, bodies[k, 1:4] / bodies[k, 0])
            block = np.zeros((len(limits), parameters.size))
            block[:, len(INERTIAL) * k : len(INERTIAL) * k + 4] = limits
            rows.append(block)
    return np.concatenate(rows) if rows else np.zeros((0, parameters.size))


def _held(
    data: Compressed, fixed: Mapping[str, float], tied: Iterable[Sequence[str]]
) -> tuple[Compressed, tuple[str, ...]]:
    """The data with rows that hold parameters at a value or equal to each other, and notes.

    An offset that the log cannot tell from a load, as of a vertical slide, is held at 0: a robot has no offset.
    """
    hidden = [name for name in _hidden_offsets(data) if name not in fixed]
    fixed = {**fixed, **dict.fromkeys(hidden, 0.0)}
    notes = [f"{name}: cannot be told from the weight that the joint carries, and is taken as 0" for name in hidden]
    names = list(data.columns.names)

    def index(name: str) -> int:
        if name not in names:
            raise unknown("parameter", name, names, "fit")
        return names.index(name)

    rows = []
    for name, value in fixed.items():
        if not np.isfinite(value):
            raise DalembertError(f"fit: fixed: {name!r} is {value!r}, expected a finite number")
        row = np.zeros(len(names) + 1)
        row[[index(name), -1]] = 1.0, float(value)
        rows.append(row)
    for group in tied:
        first, *others = [index(name) for name in group]
        for other in others:
            row = np.zeros(len(names) + 1)
            row[[first, other]] = 1.0, -1.0
            rows.append(row)
    return (replace(data, held=np.array(rows)) if rows else data), tuple(notes)


def _hidden_offsets(data: Compressed) -> list[str]:
    """Names of the offsets that bodies little different from the file's could imitate along the log."""
    columns = data.columns
    if "offset" not in columns.terms:
        return []
    bodies, hidden = physical.possible(columns.prior()[: columns.inertial].reshape(-1, len(INERTIAL)))[0], []
    for k, at in enumerate(range(columns.size)[columns.term("offset")]):
        factor = data.factors[k]
        offset, size = factor[:, at], np.ones(columns.size)
        size[: columns.inertial] = _size(bodies)
        A = np.delete(factor[:, :-1] * size, at, axis=1)
        if len(factor) and np.any(offset):
            change = np.linalg.lstsq(A, offset, rcond=least_squares.SEEN)[0]
            torque = float(np.linalg.norm(factor[:, -1]) / np.linalg.norm(offset))
            alike = np.linalg.norm(offset - A @ change) < CONFUSED * np.linalg.norm(offset)
            if alike and WEIGHTY * torque * np.abs(change[: columns.inertial]).max() < CHANGED:
                hidden.append(columns.names[at])
    return hidden


def _size(bodies: np.ndarray) -> np.ndarray:
    """(10 n,): how large the parameters of bodies (n, 10) are, by their masses and radii of gyration."""
    radius = np.sqrt(bodies[:, 4:7].sum(axis=1) / (2.0 * bodies[:, 0]))  # about the origin
    return (bodies[:, :1] * radius[:, None] ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])).ravel()
