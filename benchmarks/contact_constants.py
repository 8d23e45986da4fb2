"""What the constants of the contact solver are for: each at ten times and at a tenth of its value, on hard problems.

`python benchmarks/contact_constants.py [names]`; some minutes, on plain numbers, without compiling. Problems: those in
which contacts jam (tests/unit/contact/solver/jams.json), faces with more points than they need that stick, slide and
spin, chains of heavy bodies on light ones, each from nothing and from a start that is nearly right, to 1e-10 m/s and in
single precision to 1e-4 m/s. A row says how many of them do not settle, how many passes all of them take,
and by how much the worst one that says that it has settled misses its laws [m/s].
"""

from __future__ import annotations

import argparse
import json
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np

from dalembert.contact.solver import Carrier, Law, constraint_impulses, contact_error, impulses, iteration
from dalembert.contact.solver.row_laws import row_impulse

JAMS = Path(__file__).parent.parent / "tests" / "unit" / "contact" / "solver" / "jams.json"
PRECISIONS = (1e-10, np.float64), (1e-4, np.float32)  # with their tolerances [m/s]
WHOLE = ("SWEEPS", "STEPS", "PATIENCE", "FINE")  # numbers of passes
NAMES = (
    *("SWEEPS", "STEPS", "SLOW", "FIRST", "NEW", "FLIP", "STAY", "LATER", "PATIENCE", "MOST_SOFT", "WORSE"),
    *("STIFFEST", "STIFF", "FINE", "DEEPER", "ROUNDING", "WELL_WITHIN"),
)


def carried(G):
    """Something with unit inertia that moves like G."""
    sizes, ways = np.linalg.eigh(G)
    moved = sizes > 1e-12 * sizes.max()
    return Carrier.reduced((ways[:, moved] * np.sqrt(sizes[moved])).T, np.ones(int(moved.sum())))


def jams():
    """(G, c, mu, laws, start) of contacts that jam."""
    for stated in json.loads(JAMS.read_text()).values():
        n = len(stated["c"])
        G = np.zeros((n, n))
        G[np.tril_indices(n)] = stated["G"]
        laws = [Law(*law) for law in stated["laws"]]
        yield G + np.tril(G, -1).T, np.array(stated["c"]), stated["mu"], laws, np.array(stated["start"])


def faces():
    """A plate of 1 kg on so many points that it slides, spins or nearly does: the points share its weight."""
    rng = np.random.default_rng(0)
    for count in (4, 9):
        side = round(np.sqrt(count))
        x, y = (z.ravel() for z in np.meshgrid(*[np.linspace(-0.1, 0.1, side)] * 2))
        J = np.zeros((3 * count, 6))
        for k in range(count):
            for row, axis in zip(J[3 * k : 3 * k + 3], ((0, 0, 1), (1, 0, 0), (0, 1, 0)), strict=True):
                row[:3], row[3:] = np.cross((x[k], y[k], -0.1), axis), axis
        G = J @ np.diag([150.0, 150.0, 150.0, 1.0, 1.0, 1.0]) @ J.T
        for speed, spin in ((0.0, 0.0), (0.011, 0.0), (0.01, 0.1)):
            v = np.array([0.0, 0.0, spin, speed, 0.3 * speed, -0.0196]) + 1e-5 * rng.standard_normal(6)
            yield G, J @ v, [0.6] * count, [], np.tile([0.0196 / count, 0.0, 0.0], count)


def chains():
    """Heavy bodies on light ones, in a row: each contact between two, the last one on the ground."""
    for masses in ((100.0, 1.0), (1000.0, 1.0, 100.0), (1e4, 1.0), (1.0,) * 5):
        n = len(masses)
        J = np.zeros((3 * n, 3 * n))
        for k in range(n):
            J[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = np.eye(3)
            if k + 1 < n:
                J[3 * k : 3 * k + 3, 3 * k + 3 : 3 * k + 6] = -np.eye(3)
        v = np.tile([-0.0196, 3e-3, 0.0], n)
        weights = 0.0196 * np.cumsum(masses)
        yield J @ np.diag(np.repeat(1.0 / np.array(masses), 3)) @ J.T, J @ v, [0.5] * n, [], np.kron(weights, [1, 0, 0])


def missed(G, c, mu, laws, p):
    """The largest velocity by which contacts and rows miss their laws."""
    first, u = 3 * len(mu), c + G @ p
    errors = [contact_error(G[:first, :first], (c + G[:, first:] @ p[first:])[:first], mu, p[:first])]
    for i, law in enumerate(laws, first):
        errors.append(G[i, i] * abs(row_impulse(law, G[i, i], u[i] - G[i, i] * p[i]) - p[i]))
    return float(max(errors))


def measured(problems):
    """How many are not settled, passes of all, and the worst that misses its laws."""
    unsettled, passes, worst = 0, 0, 0.0
    for G, c, mu, laws, start in problems:
        for begin in (np.zeros(len(c)), start):
            for tolerance, kind in PRECISIONS:
                carrier = Carrier(*(x.astype(kind) for x in carried(G)))
                state = begin.astype(kind), np.zeros(len(mu), kind)
                end = constraint_impulses(carrier, c.astype(kind), [kind(x) for x in mu], laws, state, tolerance)
                passes += int(end.passes)
                if not end.settled:
                    unsettled += 1
                else:
                    worst = max(worst, missed(G, c, mu, laws, end.p.astype(float)) / tolerance)
    return unsettled, passes, worst


def scaled(name, factor):
    """The value of a constant times a factor; numbers of passes stay whole."""
    value = getattr(iteration, name)
    if isinstance(value, tuple):
        return tuple(factor * x for x in value)
    return max(1, round(value * factor)) if name in WHOLE else min(value * factor, 0.99 if value < 1.0 else np.inf)


@contextmanager
def changed(name, value):
    """The constant with another value wherever it was imported."""
    rooms: list[ModuleType] = [room for room in (iteration, impulses) if hasattr(room, name)]
    kept = getattr(iteration, name)
    for room in rooms:
        setattr(room, name, value)
    try:
        yield
    finally:
        for room in rooms:
            setattr(room, name, kept)


def show(name, unsettled, passes, worst):
    """A row of the table."""
    print(f"{name:40s} {unsettled:6d} {passes:7d} {worst:10.2g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    every = [*jams(), *faces(), *chains()]
    print(f"{len(every)} problems, four times each       not settled  passes  missed laws, tolerances")
    show("as they are", *measured(every))
    for name in parser.parse_args().names:
        for factor in (0.1, 10.0):
            value = scaled(name, factor)
            with changed(name, value):
                show(f"{name} = {value}", *measured(every))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
