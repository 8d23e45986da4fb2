"""Is each channel of a log the joint's own? Torques beside the file's model, which is roughly right, joint by joint.

Of each joint: tau = gain · (the file's torque without friction) + friction + rotor · a + offset. What the friction of
the joint and its rotor can imitate shows no gain; where nothing else is above the noise, the gain is not observable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dalembert.robot import Robot

from .compression import Samples
from .signals import Doubt

ROWS = 2000  # of a log that are looked at
UNITS = {
    1e-3: "is it in kN·m or kN?",
    1e3: "is it in mN·m or mN?",
    100.0: "is it in N·cm?",
    0.7375621: "is it in lbf·ft?",
    8.850746: "is it in lbf·in?",
    1.0 / 9.80665: "is it in kgf·m?",
}
LIGHTEST, HEAVIEST = 1.0 / 3.0, 6.0  # times the file's torque: masses may be wrong, and a tool may be missing
NEAR = 1.3  # factor by which a gain may miss that of a unit
SURE = 4.0  # standard deviations
LEAST = (0.02, 0.1)  # of a torque that the model must make up, as it stands and with the gain found
ALIKE, GAINED = 0.7, 0.3  # share of a torque that another explanation must explain, and how much more than the joint's
CLEAR, CLEAREST = 0.99, 0.999  # share that the joint's own model explains where nothing is wrong, where nothing is late
CLEARLY = 2.0  # logarithm of what another explanation takes off all that is unexplained
LATEST, LAGS, FINER = 1.5, 60, 5  # [s]: delays that are tried, so many; then halved so often
LARGEST = 0.9  # of the delays that are tried: beyond, it is the end of the search
HALVED = 0.5  # share of what is left over that a delay must leave
COMMON = 0.1  # [s]: a delay up to there may be corrected for all torques
CORRECTIONS = (
    (np.pi / 180.0, "its position looks like degrees", "state the unit (--unit q=deg), or give radians"),
    (-1.0, "its position looks counted the other way", "turn the sign of its position round, or its axis"),
)
PUSH = 0.05  # Coulomb friction below zero, relative to the torque, that is no chance
BEYOND = 3.0  # factor by which a torque exceeds the effort limit of the file
OFFSET = 0.6  # of a torque, relative to the modelled one and to its own variation


@dataclass(frozen=True)
class _Beside:
    """Torques tau, modelled (T, nv) of some rows, what friction and rotor may add, and which joints are compared."""

    robot: Robot
    t: np.ndarray
    tau: np.ndarray
    modelled: np.ndarray
    v: np.ndarray
    a: np.ndarray
    joints: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return self.robot.model.freedom_names

    @property
    def limits(self) -> np.ndarray:
        """(nv,) [N·m or N]: effort limits of the file."""
        return np.concatenate([body.joint.effort_limit for body in self.robot.model.independent if body.joint.nv])

    def friction(self, k: int) -> np.ndarray:
        """(T, 4): what explains the torque of joint k beside the model."""
        v, a = self.v[:, k], self.a[:, k]
        fast = max(float(np.sqrt(np.mean(v**2))), 1e-12)
        return np.column_stack([np.ones_like(v), np.tanh(20.0 * v / fast), v, a])


class _Match(NamedTuple):
    """A torque explained by a joint's model: the share explained, the gain with its deviation, the offset, Coulomb
    friction with its deviation; weighs: whether the model without friction matters beside the torque.
    """

    share: float
    gain: float
    deviation: float
    offset: float
    coulomb: float
    coulomb_deviation: float
    weighs: bool

    @property
    def observable(self) -> bool:
        """Whether the gain shows, be it right or wrong."""
        return self.weighs and SURE * self.deviation < max(abs(self.gain), 1.0 - LIGHTEST)

    @property
    def plausible(self) -> bool:
        """Whether the file may have such masses, and a joint such friction."""
        low, high = self.gain - SURE * self.deviation, self.gain + SURE * self.deviation
        friction = self.coulomb > -SURE * self.coulomb_deviation
        return friction and not (self.observable and (low > HEAVIEST or high < LIGHTEST))


def doubts(robot: Robot, samples: Samples, t: np.ndarray | None, joints: np.ndarray) -> list[Doubt]:
    """Doubts about sign, unit, order, delay and zero of the channels of these joints (nv,)."""
    beside = _beside(robot, samples, t, joints)
    own = {k: _match(beside, k, k) for k in map(int, np.flatnonzero(joints))}
    listed = list(_order(beside, own)) or _positions(beside, samples, own)
    if not listed:
        late = _delays(beside, own)
        listed = [doubt for k, match in own.items() for doubt in (late[k] if k in late else _scale(beside, k, match))]
    return [doubt._replace(beside_file=True) for doubt in listed]


def observable(robot: Robot, samples: Samples) -> np.ndarray:
    """(nv,): of which joints a log shows whether their torque has the right scale, by the file's model."""
    beside = _beside(robot, samples, None, np.ones(robot.nv, bool))
    return np.array([_match(beside, k, k).observable for k in range(robot.nv)])


def _beside(robot: Robot, samples: Samples, t: np.ndarray | None, joints: np.ndarray) -> _Beside:
    every = max(1, len(samples.q) // ROWS)
    bare = robot.without("friction", "damping", "armature")
    q, v, a, tau = (getattr(samples, kind)[::every] for kind in ("q", "v", "a", "tau"))
    t = np.arange(len(q)) * 1e-2 if t is None else np.asarray(t, float)[::every]
    return _Beside(robot, t, tau, bare.inverse_dynamics(q, v, a), v, a, joints)


def _match(beside: _Beside, channel: int, joint: int, tau: np.ndarray | None = None) -> _Match:
    """The torque of a channel explained by the model of a joint."""
    y = beside.tau[:, channel] if tau is None else tau
    used = np.isfinite(y)
    A, y, m = beside.friction(joint)[used], y[used], beside.modelled[used, joint]
    spread = float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0
    if len(y) < 2 * A.shape[1] or not spread:
        return _Match(0.0, 0.0, np.inf, 0.0, 0.0, np.inf, False)
    A = np.column_stack([m, A])
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    inverse = Vt.T @ ((U.T @ y) / np.maximum(s, 1e-9 * s[0]))
    left = y - A @ (inverse / scale)
    below = left[1:] @ left[:-1] / max(float(left @ left), 1e-300)
    memory = max((1.0 + below) / max(1.0 - below, 1e-3), 1.0)  # of errors each of which is `below` of the one before
    variance = float(left @ left) / max(len(left) / memory, 1.0)  # by how many errors are independent of each other
    deviations = np.sqrt(variance * np.sum((Vt / np.maximum(s, 1e-9 * s[0])[:, None]) ** 2, axis=0)) / scale
    x = inverse / scale
    weighs = _beyond(A, m) * max(1.0 / LEAST[0], abs(float(x[0])) / LEAST[1]) > float(np.std(y))
    share = max(0.0, 1.0 - float(left @ left) / spread)
    return _Match(share, float(x[0]), float(deviations[0]), float(x[1]), float(x[2]), float(deviations[2]), weighs)


def _beyond(A: np.ndarray, m: np.ndarray) -> float:
    """Root mean square of the part of a modelled torque m (T,) that the other columns of A cannot imitate."""
    others = A[:, 1:] / np.maximum(np.linalg.norm(A[:, 1:], axis=0), 1e-300)
    return float(np.sqrt(np.mean((m - others @ np.linalg.lstsq(others, m, rcond=1e-9)[0]) ** 2)))


def _order(beside: _Beside, own: dict[int, _Match]) -> Iterator[Doubt]:
    """Channels that hold the torque of another joint."""
    other: dict[int, int] = {}
    for k, match in own.items():
        if match.plausible and match.share > 1.0 - GAINED:
            continue
        least = max(ALIKE, match.share + (GAINED if match.plausible else 0.0))
        shares = {j: m.share for j in own if j != k and (m := _match(beside, k, j)).plausible and m.observable}
        best = max(shares, key=lambda j: shares[j], default=k)
        if best != k and shares[best] > least:
            other[k] = best
    for k, j in other.items():
        if other.get(j) == k:
            if k < j:
                what = f"its torque is like that of {beside.names[j]!r} and the reverse: the two channels are swapped"
                yield Doubt(beside.names[k], what, "swap them")
            continue
        what = f"its torque is like that of {beside.names[j]!r}: the channels are in another order"
        yield Doubt(beside.names[k], what, "put them into the order of the robot's joints, or name the columns")


def _positions(beside: _Beside, samples: Samples, own: dict[int, _Match]) -> list[Doubt]:
    """Positions in degrees, or counted the other way: with them corrected the model explains the torques."""
    robot = beside.robot
    if robot.nq != robot.nv:
        return []
    every = max(1, len(samples.q) // ROWS)
    q, v, a = (getattr(samples, kind)[::every] for kind in ("q", "v", "a"))
    degrees = list(_degrees(robot, q))
    if degrees or all(match.plausible and match.share > CLEAR for match in own.values()):
        return degrees
    bare, before = robot.without("friction", "damping", "armature"), _unexplained(own.values())
    best = (0.0, Doubt("", "", ""))
    far = np.ptp(q, axis=0) > 2.0 * np.pi
    for k, (factor, what, cure) in ((k, c) for k in own for c in CORRECTIONS if c[0] < 0.0 or far[k]):
        scale = np.ones(robot.nv)
        scale[k] = factor
        moved = replace(
            beside, modelled=bare.inverse_dynamics(q * scale, v * scale, a * scale), v=v * scale, a=a * scale
        )
        matches = {j: _match(moved, j, j) for j in own}
        sound = all(m.plausible and (m.observable or not own[j].observable) for j, m in matches.items())
        if sound and matches[k].share > ALIKE:
            best = max(best, (before - _unexplained(matches.values()), Doubt(beside.names[k], what, cure)))
    if best[0] < CLEARLY:
        return []
    return [best[1]]


def _degrees(robot: Robot, q: np.ndarray) -> Iterator[Doubt]:
    """Positions far beyond the limits of the file that lie within them if they are taken as degrees."""
    for body in robot.model.independent:
        joint, x = body.joint, q[:, body.q]
        if joint.nq == 1 and joint.turns and np.isfinite(joint.lower[0]) and np.isfinite(joint.upper[0]):
            low, high, slack = joint.lower[0], joint.upper[0], 0.1
            outside = float(np.mean((x < low - 1.0) | (x > high + 1.0)))
            scaled = np.radians(x)
            if outside > 0.2 and scaled.min() > low - slack and scaled.max() < high + slack:
                what = f"its position reaches {np.abs(x).max():.4g}, limit {high:.3g}: it looks like degrees"
                yield Doubt(joint.name, what, "state the unit (--unit q=deg), or give radians")


def _unexplained(matches: Iterable[_Match]) -> float:
    """Logarithms of the shares that stay unexplained, all joints together; nothing of what is implausible counts."""
    return float(sum(np.log(max(1.0 - m.share, 1e-4)) if m.plausible else 0.0 for m in matches))


def _delays(beside: _Beside, own: dict[int, _Match]) -> dict[int, list[Doubt]]:
    """Torques that are later or earlier than the motion, each by itself."""
    seconds: dict[int, float] = {}
    span = float(beside.t[-1] - beside.t[0])
    latest = min(LATEST, 0.2 * span)
    if latest <= 0.0 or np.any(np.diff(beside.t) <= 0.0):
        return {}
    for k, match in own.items():
        best, width = (match.share, 0.0), 2.0 * latest / LAGS
        if match.plausible and match.share > CLEAREST:
            continue
        for lag in width * np.arange(-LAGS // 2, LAGS // 2 + 1):
            best = max(best, (_shifted(beside, k, float(lag)), float(lag)))
        for _ in range(FINER):
            width *= 0.5
            best = max(best, *((_shifted(beside, k, best[1] + side), best[1] + side) for side in (-width, width)))
        if best[0] > ALIKE and 1.0 - best[0] < HALVED * (1.0 - match.share) and abs(best[1]) < LARGEST * latest:
            seconds[k] = best[1]
    if not seconds:
        return {}
    common = float(np.median([seconds.get(k, 0.0) for k in own]))
    listed = {}
    for k, late in seconds.items():
        side = "later" if late > 0.0 else "earlier"
        what = f"its torque is about {1e3 * abs(late):.2g} ms {side} than its motion"
        cure = "shift it back (--align, identify.delays), or log both with one clock"
        listed[k] = [Doubt(beside.names[k], what, cure, serious=abs(late - common) > COMMON or abs(late) > COMMON)]
    return listed


def _shifted(beside: _Beside, k: int, lag: float) -> float:
    """Share of a torque that its model explains when it is taken `lag` [s] later; 0 where that is implausible."""
    inside = (beside.t + lag >= beside.t[0]) & (beside.t + lag <= beside.t[-1])
    tau = np.interp(beside.t + lag, beside.t, beside.tau[:, k])
    found = _match(beside, k, k, np.where(inside, tau, np.nan))
    shows = found.observable or found.coulomb > SURE * found.coulomb_deviation
    return found.share if found.plausible and shows else 0.0


def _scale(beside: _Beside, k: int, match: _Match) -> Iterator[Doubt]:
    """Sign, unit and zero of one joint's torque."""
    name, low, high = beside.names[k], match.gain - SURE * match.deviation, match.gain + SURE * match.deviation
    pushes = match.coulomb < -SURE * match.coulomb_deviation and -match.coulomb > PUSH * float(
        np.nanstd(beside.tau[:, k])
    )
    if match.observable and high < 0.0:
        yield Doubt(name, "its torque has the opposite sign of the model's", "turn the sign round")
    elif pushes:
        what = "its torque pushes with the motion, where friction resists: opposite sign of torque or position"
        yield Doubt(name, what, "turn one of them round")
    elif match.observable and high < LIGHTEST and low < 0.0:
        cure = "is it a log of this robot, with joints in this order, zero positions and gravity as in the file?"
        yield Doubt(name, f"its torque has little to do with the model's (gain {match.gain:.2g})", cure)
    elif not match.plausible and match.observable and match.gain > 0.0:
        yield _unit(name, match.gain)
    else:
        yield from _offset(beside, k)
        limit = beside.limits[k]
        most = float(np.nanmax(np.abs(beside.tau[:, k]), initial=0.0))
        if not match.observable and 0.0 < BEYOND * limit < most < np.inf:
            what = f"its torque reaches {most:.3g}, {most / limit:.3g} times the effort limit of the file"
            yield Doubt(name, what, "is its unit N·m? Else correct the limit in the file", serious=False)


def _unit(name: str, gain: float) -> Doubt:
    """A torque that is so many times the model's."""
    near = min(UNITS, key=lambda unit: abs(np.log(gain / unit)))
    if 1.0 / NEAR < gain / near < NEAR:
        cause = UNITS[near]
    elif gain < 1.0:
        cause = f"torque looks like motor side: ratio {1.0 / gain:.3g}, or like current"
    else:
        cause = "is its unit right?"
    cure = (
        "give torques at the joint in N·m (motor side: times the gear ratio; currents: times the torque constant too)"
    )
    return Doubt(name, f"its torque is {gain:.3g} times the model's: {cause}", cure)


def _offset(beside: _Beside, k: int) -> Iterator[Doubt]:
    """A zero error of a torque sensor that outweighs the torque."""
    tau, m = beside.tau[:, k], beside.modelled[:, k]
    used, size = np.isfinite(tau), max(float(np.sqrt(np.mean(m**2))), float(np.nanstd(tau)))
    offset = float(np.linalg.lstsq(beside.friction(k)[used], (tau - m)[used], rcond=1e-9)[0][0])
    if abs(offset) > OFFSET * size:
        yield zero_error(beside.names[k], offset, size)


def zero_error(name: str, offset: float, size: float) -> Doubt:
    """A doubt about a torque whose constant part is large beside the rest."""
    what = f"its torque has an offset of {offset:.3g}, beside {size:.3g} that the motion asks for"
    return Doubt(name, what, "calibrate the sensor's zero; a robot file holds no offset", serious=False)
