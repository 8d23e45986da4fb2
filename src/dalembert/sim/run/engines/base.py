"""Shared by all engines: states, chunks of steps, trouble, the sizes of chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ...failure import sound
from ...system.drive import Leg

LONGEST_CHUNK = 8192  # passes: few enough to be interrupted soon
WATCHED_CHUNKS = (16, 1024)  # the first and the longest, where an event may make the rest of the chunk void


class State(NamedTuple):
    """Time t [s], configuration q (nq,), and e = [v, element states, accounts]."""

    t: float
    q: np.ndarray
    e: np.ndarray


@dataclass
class Chunk:
    """Nodes t (n+1,), q (n+1, nq), e (n+1, ne). dense: states between nodes can be interpolated.

    polynomials (n, degree, nv + ne): of the steps between the nodes, where they cannot be found again from the nodes.
    """

    t: np.ndarray
    q: np.ndarray
    e: np.ndarray
    dense: bool = False
    polynomials: np.ndarray | None = None
    u: np.ndarray | None = None  # (n, nu): what drove the steps to the nodes, where it is not the same for all
    steps: int = 0  # taken from the first node to the last

    @property
    def end(self) -> State:
        """The last node."""
        return State(float(self.t[-1]), self.q[-1], self.e[-1])

    def cut(self, steps: int) -> Chunk:
        """The first so many steps."""
        end = steps + 1
        return Chunk(self.t[:end], self.q[:end], self.e[:end], self.dense, self.polynomials, self.u, steps)


class Trouble(Exception):
    """A step that cannot be taken: at which state, why in words, the steps before it, and whether forces are undefined.

    undefined: the acceleration at the state is not a number. cure: what to do, where that is known.
    """

    def __init__(
        self, state: State, why: str, chunk: Chunk | None = None, undefined: bool = False, cure: str = ""
    ) -> None:
        super().__init__(why)
        self.state, self.why, self.chunk, self.undefined, self.cure = state, why, chunk, undefined, cure


class Engine(Protocol):
    """The base class of all engines."""

    lands: bool  # whether recording times must be ends of steps
    adaptive: bool  # whether it chooses its steps

    def advance(self, state: State, stop: float, leg: Leg, nodes: int | None, every: bool) -> Iterator[Chunk]:
        """Chunks of steps from a state until `stop`, with so many nodes equally far apart, or one for every step.

        leg: what drives the way; of several commands all, until its end. every: steps end at those nodes, but each
        step is a node.
        """

    def once(self, state: State, h: float, command: np.ndarray) -> State:
        """The state after one step of size h, driven by a command (nu,), however large its error."""


def chunk_sizes(watched: bool) -> Iterator[int]:
    """Passes of one chunk after the other: short ones first where something may happen, as it just did."""
    size, longest = WATCHED_CHUNKS if watched else (LONGEST_CHUNK, LONGEST_CHUNK)
    while True:
        yield size
        size = min(2 * size, longest)


def steps_between(begin: float, stop: float, step: float) -> int:
    """How many steps of at most `step` lead from one time to the other."""
    return max(1, int(np.ceil((stop - begin) / step * (1.0 - 1e-9))))


def strides(begin: float, stop: float, step: float, nodes: int | None) -> tuple[int, int]:
    """Steps from node to node, and in all."""
    if nodes is None:
        return 1, steps_between(begin, stop, step)
    stride = steps_between(0.0, (stop - begin) / nodes, step)
    return stride, stride * nodes


def finite(chunk: Chunk, nv: int) -> Chunk:
    """The chunk if all of it is sound, with nv velocities; raises `Trouble` at the last sound node otherwise."""
    good = sound(chunk.q, chunk.e, nv)
    if not good.all():
        until = chunk.cut(max(int(np.argmin(good)) - 1, 0))
        raise Trouble(until.end, "the motion grew beyond all numbers", until)
    return chunk
