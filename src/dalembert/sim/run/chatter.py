"""Chatter: a law that switches back and forth at one point, where adaptive steps get shorter without end.

Nearer to its switching point than the tolerances, a relay has no motion that steps could follow: it slides along the
point in infinitely many switches. The signs are jumps of a torque or an acceleration that remain however near the two
states are, at one time, many of them in a row, while the motion between two of them is below the tolerances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.typing import Array

from .compiled import Programs
from .engines import Chunk, State, Trouble
from .watch import Torques

WINDOW = 256  # steps that are checked together
SHORT = 1e-4  # mean step relative to the duration, above which a window is not checked
LEAST_SWITCHES = 8  # in a window
JUMP = 0.4  # of the range of a signal in a window: what a step that switches changes at least
INVISIBLE = 100.0  # motion between two switches in units of the tolerances
HALVINGS = 80

CURE = (
    "adaptive steps cannot follow this: take fixed ones (integrator='semi-implicit', step=1e-3), let the law run at a "
    "rate (dalembert.Sampled), or give its switch a width; dry friction belongs in the joint or in elements.Friction"
)


class _Nodes(NamedTuple):
    """Nodes of steps: t (n,), q (n, nq), e (n, ne), and u (n, nu) that drove the step after each."""

    t: Array
    q: Array
    e: Array
    u: Array

    def between(self, k: int, s: float) -> State:
        """The state a fraction s of the way from node k to the next."""
        return State(*(x[k] + s * (x[k + 1] - x[k]) for x in self[:3]))


class Chatter:
    """Watches the steps of an adaptive run; `check` raises `Trouble` when they follow a switch without end."""

    def __init__(self, programs: Programs, torques: Torques | None, tolerance: float, duration: float) -> None:
        """torques: of a law that is called; tolerance: of positions of size 1."""
        self.programs, self.torques, self.tolerance, self.duration = programs, torques, tolerance, duration
        self.nv = programs.system.model.nv
        self._collected: list[_Nodes] = []

    def check(self, chunk: Chunk, u: Array) -> None:
        """Take the steps of a chunk, driven by u (nu,) or its own numbers."""
        if not chunk.steps:
            return
        driven = np.broadcast_to(u, (chunk.steps, len(u))) if chunk.u is None else chunk.u
        first = max(0, chunk.steps - WINDOW)
        self._collected.append(_Nodes(chunk.t[first:-1], chunk.q[first:-1], chunk.e[first:-1], driven[first:]))
        if sum(len(nodes.t) for nodes in self._collected) < WINDOW:
            return
        nodes = _Nodes(*(np.concatenate(x)[-WINDOW:] for x in zip(*self._collected, strict=True)))
        self._collected = []
        span = float(nodes.t[-1] - nodes.t[0])
        if span < WINDOW * SHORT * self.duration:
            self._judge(nodes, span, chunk)

    def _judge(self, nodes: _Nodes, span: float, chunk: Chunk) -> None:
        """Raise if a signal switches in the window, more finely than the tolerances."""
        signals = self._signals(nodes.t, nodes.q, nodes.e, nodes.u)
        ranges = np.ptp(signals, axis=0)
        jumps = np.abs(np.diff(signals, axis=0))
        counts = np.sum((jumps >= JUMP * ranges) & (ranges > 0.0), axis=0)
        if counts.max() < LEAST_SWITCHES:
            return
        apart = span / counts.max()
        if ranges[self.nv :].max() * apart**2 / 8.0 > INVISIBLE * self.tolerance:
            return
        many = np.flatnonzero(counts >= LEAST_SWITCHES)
        signal = int(many[many < self.nv][0] if (many < self.nv).any() else many[0])  # a torque rather than its effect
        step = int(np.argmax(jumps[:, signal]))
        if (sides := self._sides(nodes, step, signal)) is not None:
            raise Trouble(chunk.end, self._why(*sides, nodes.u[step], signal, int(counts[signal]), span), cure=CURE)

    def _signals(self, t: Array, q: Array, e: Array, u: Array) -> Array:
        """Torques and accelerations (n, 2 nv) at states (n, …)."""
        u = u if self.torques is None else self.torques(t, q, e)
        inputs = {"t": t[:, None], "q": q, "e": e, "u": u}
        tau = self.programs.observed(inputs, (len(t),))["tau"]
        if self.torques is None:
            rates = self.programs.rates(inputs, (len(t),))["rates"]
        else:  # a function of one state
            rates = np.array(
                [self.programs.rates({n: x[k] for n, x in inputs.items()})["rates"][0] for k in range(len(t))]
            )
        return np.concatenate([tau, rates[:, : self.nv]], axis=1)

    def _signal(self, signal: int, states: list[State], u: Array) -> Array:
        t, q, e = (np.array(x) for x in zip(*states, strict=True))
        return self._signals(t, q, e, np.broadcast_to(u, (len(t), len(u))))[:, signal]

    def _sides(self, nodes: _Nodes, step: int, signal: int) -> tuple[State, State] | None:
        """The states on both sides of a jump within a step, if it is one and time does not cause it."""
        u, low, high = nodes.u[step], 0.0, 1.0
        ends = self._signal(signal, [nodes.between(step, s) for s in (low, high)], u)
        whole = abs(ends[1] - ends[0])
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            between = self._signal(signal, [nodes.between(step, middle)], u)[0]
            if abs(between - ends[0]) >= abs(ends[1] - between):
                high, ends[1] = middle, between
            else:
                low, ends[0] = middle, between
        before, after = nodes.between(step, low), nodes.between(step, high)._replace(t=nodes.between(step, low).t)
        left = np.ptp(self._signal(signal, [before, after], u))
        return (before, after) if left >= 0.5 * whole else None

    def _why(self, before: State, after: State, u: Array, signal: int, count: int, span: float) -> str:
        """Say what switches, where, and with which coordinate."""
        model = self.programs.system.model
        low, high = sorted(self._signal(signal, [before, after], u) + 0.0)
        name, torque = model.freedom_names[signal % self.nv], signal < self.nv
        what = (
            f"the {'torque at' if torque else 'acceleration of'} joint {name!r} jumps between {low:.4g} and {high:.4g}"
        )
        by = self._switched_by(before, after, u, signal)
        return f"{what}{by}, {count} times in {span:.2g} s"

    def _switched_by(self, before: State, after: State, u: Array, signal: int) -> str:
        """The coordinate or speed that alone switches it, in words."""
        model = self.programs.system.model
        ends = self._signal(signal, [before, after], u)
        for key, names, what in (("q", model.coordinate_names, "position"), ("e", model.freedom_names, "speed")):
            for k, name in enumerate(names):
                moved = getattr(before, key).copy()
                moved[k] = getattr(after, key)[k]
                value = self._signal(signal, [before._replace(**{key: moved})], u)[0]
                if abs(value - ends[0]) > 0.5 * abs(ends[1] - ends[0]):
                    return f" with the {what} of joint {name!r} at {round(moved[k], 12) + 0.0:.6g}"
        return ""
