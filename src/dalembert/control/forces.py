"""The forces of feet with the least cost: which rows are at their bounds.

Those of a guess are made equations, rows that would pull are dropped and those that are passed are added, until all
conditions of the optimum hold. Where that does not settle, an interior-point method names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import map, maximum, minimum, repeat, where
from dalembert.math.entries import each, largest

from .horizon import ForceHorizon, multipliers
from .interior_point import ForceInteriorPoint

TRIES, AFTER = 12, 4  # sets of rows that are tried, one from another, before and after the interior-point method
ROUNDS = 3  # of that method, each nearer to the optimum
NEAR, NEARER = 1e-7, 1e-3  # relative gap of its first round, and factor of each further one
REFINED = 3  # steps with one set of rows
KEPT = 1e-10  # of forces and slopes, relative to their sizes: what counts as 0
CLEARLY = 1e-5  # the same, for rows that must change before forces are exact


class Optimum(NamedTuple):
    """f (N, k, 3); active (N, k, ROWS): 1 for rows at their bounds; solved: 1 where all conditions of the optimum hold.

    tries: of sets of rows; iterations: of the interior-point method.
    """

    f: np.ndarray
    active: np.ndarray
    solved: Any
    tries: Any
    iterations: Any


def solved(
    horizon: ForceHorizon, start: np.ndarray, gravity: np.ndarray, goal: np.ndarray, active: np.ndarray
) -> Optimum:
    """The optimum for states [ξ, η]: start (12,), goal (N, 12); gravity γ (6,); active (N, k, ROWS): a guess."""
    count = horizon.on.sum(axis=-1)
    share = np.array([o / maximum(c, 1.0) for o, c in zip(horizon.on, count, strict=True)])  # of the weight, by foot
    even = share[..., None] * (-horizon.mass * gravity[3:])
    return _ActiveSetSearch(horizon, start, gravity, goal, even).run(active, share)


class _Try(NamedTuple):
    """Forces with some rows as equations; following: rows to try next; done: 1 where they are the optimum."""

    f: np.ndarray
    following: np.ndarray
    done: Any


@dataclass(frozen=True, eq=False)
class _ActiveSetSearch:
    horizon: ForceHorizon
    start: np.ndarray
    gravity: np.ndarray
    goal: np.ndarray
    even: np.ndarray

    @property
    def force(self) -> Any:
        """The size of forces [N]."""
        return self.horizon.mass * 9.81

    def run(self, active: np.ndarray, share: np.ndarray) -> Optimum:
        """From a guess of the rows on."""
        horizon, slope = self.horizon, self.horizon.steepest * self.force
        inner = share[..., None] * np.array([0.0, 0.0, minimum(self.force, 0.5 * horizon.most)])  # within all cones
        z = 0.1 * slope * self.force * horizon.on[..., None] / horizon.room(inner, horizon.on)
        begin = {"f": self.even, "on": active * horizon.on[..., None], "inner": inner, "z": z}
        begin |= {"gap": NEAR, "tries": 0.0, "iterations": 0.0, "done": 0.0}

        def attempt(f: Any, on: Any, tries: Any, left: Any, done: Any, ended: Any) -> dict[str, Any]:
            tried = self._with_equations(on, slope)
            after = {"f": tried.f, "on": where(tried.done > 0.5, on, tried.following), "tries": tries + 1.0}
            return after | {"left": left - 1.0, "done": tried.done, "ended": where(left > 1.5, tried.done, 1.0)}

        def search(
            f: Any, on: Any, inner: Any, z: Any, gap: Any, tries: Any, iterations: Any, done: Any
        ) -> dict[str, Any]:
            left = where(tries > 0.5, float(AFTER), float(TRIES))
            first = {"f": f, "on": on, "tries": tries, "left": left, "done": done, "ended": 0.0}
            end = repeat(attempt, TRIES, first, "ended")
            method = ForceInteriorPoint(horizon, self.force, gap * slope * self.force, KEPT * slope)
            interior = method.run(inner, z, self._slopes(inner), end["done"])
            rows = where(end["done"] > 0.5, end["on"], interior.active)
            after = {"f": end["f"], "on": rows, "inner": interior.f, "z": interior.z, "gap": NEARER * gap}
            after |= {"tries": end["tries"], "iterations": iterations + interior.iterations}
            return after | {"done": end["done"]}

        end = repeat(search, 1 + ROUNDS, begin, "done")
        f = where(end["done"] > 0.5, end["f"], end["inner"])
        return Optimum(f, end["on"], end["done"], end["tries"], end["iterations"])

    def _slopes(self, f: np.ndarray) -> np.ndarray:
        """Slopes of the cost in the forces (N, k, 3)."""
        horizon = self.horizon
        reached = horizon.states(self.start, horizon.accelerations(f) + self.gravity)
        return horizon.slopes(reached - self.goal, f, self.even)

    def _with_equations(self, on: np.ndarray, slope: Any) -> _Try:
        """Forces on the faces that the rows `on` make, with least cost; a second step takes away round-off."""
        horizon, feet = self.horizon, self.horizon.on

        def begun(on: np.ndarray, feet: np.ndarray, even: np.ndarray) -> dict[str, Any]:
            faces = [horizon.face(rows) for rows in on]
            f = [(face.point + face.along @ x) * o for face, o, x in zip(faces, feet, even, strict=True)]
            soft = [face.along / horizon.force * o for face, o in zip(faces, feet, strict=True)]
            across = {"basis": np.array([face.basis for face in faces]), "R": np.array([face.R for face in faces])}
            return {"f": np.array(f), "soft": np.array(soft)} | across

        begin = map(begun, {"on": on, "feet": feet, "even": self.even})
        recursion = horizon.factored(begin["soft"])

        def judge(f: Any, on: Any, feet: Any, slopes: Any, basis: Any, R: Any) -> dict[str, Any]:
            beyond = (horizon.along(f) - horizon.bounds) * feet[:, None] / self.force
            y = np.array([multipliers(*face) for face in zip(basis, R, slopes, strict=True)]) / slope
            wrong = -on * y + (1.0 - on) * beyond  # by how much a row should not be what it is taken to be
            following = each(lambda o, w: where(w > KEPT, 1.0 - o, o), on, wrong)
            left = each(absolute, slopes / slope + horizon.pushed(y))
            missed = each(absolute, on * beyond)
            worst = largest([*left.ravel(), *missed.ravel()])
            return {"following": following, "wrong": largest(list(wrong.ravel())), "worst": worst}

        def refine(f: Any, slopes: Any, following: Any, optimal: Any, ended: Any) -> dict[str, Any]:
            f = f + recursion.solve(-slopes)
            slopes = self._slopes(f)
            items = {"f": f, "on": on, "feet": feet, "slopes": slopes, "basis": begin["basis"], "R": begin["R"]}
            judged = map(judge, items)
            wrong, worst = (largest(list(judged[name])) for name in ("wrong", "worst"))
            met = where(worst <= KEPT, 1.0, 0.0)
            after = {"f": f, "slopes": slopes, "following": judged["following"]}
            after["optimal"] = where(wrong <= KEPT, met, 0.0)
            return after | {"ended": where(wrong > where(met > 0.5, KEPT, CLEARLY), 1.0, optimal)}

        start = {"f": begin["f"], "slopes": self._slopes(begin["f"])}
        end = repeat(refine, REFINED, start | {"following": on, "optimal": 0.0, "ended": 0.0}, "ended")
        return _Try(end["f"], end["following"], end["optimal"])
