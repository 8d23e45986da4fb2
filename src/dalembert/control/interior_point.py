"""Forces of feet with the least cost, by an interior-point method with predictor and corrector (Mehrotra 1992).

Every row has room r > 0 to its bound and a multiplier z > 0; at the optimum r z = 0. Unknowns are forces f (N, k, 3)
and multipliers (N, k, ROWS); `dual` (N, k, 3) is what the slopes of the Lagrange function still differ from 0 by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_and, map, maximum, repeat, where
from dalembert.math.entries import each, largest

from .horizon import ROWS, ForceHorizon, Recursion

MOST = 30  # iterations
TO_THE_BOUNDARY = 0.995  # share of the longest step


class Interior(NamedTuple):
    """Forces f and multipliers z; active (N, k, ROWS): 1 for rows that seem to be at their bounds."""

    f: np.ndarray
    z: np.ndarray
    active: np.ndarray
    iterations: Any


class _Prediction(NamedTuple):
    """The Newton step towards r z = 0, the factors that gave it, and the product r z to aim at instead."""

    recursion: Recursion
    df: np.ndarray
    dz: np.ndarray
    centre: Any


@dataclass(frozen=True, eq=False)
class ForceInteriorPoint:
    """The method for a horizon. force: the size of forces [N].

    It ends when the products r z add up to at most `gap` and the slopes differ from 0 by at most `still`.
    """

    horizon: ForceHorizon
    force: Any
    gap: Any
    still: Any

    def run(self, f: np.ndarray, z: np.ndarray, slopes: np.ndarray, skip: Any) -> Interior:
        """From f and z on, where the cost has these slopes in f; skip: 1 to leave them as they are."""
        feet = self.horizon.on
        dual = slopes + self.horizon.pushed(z)
        end = repeat(self._step, MOST, {"f": f, "z": z, "dual": dual, "done": skip}, "done")
        strongest, widest = largest(list(end["z"].ravel())), self.force

        def bound(f: np.ndarray, z: np.ndarray, feet: np.ndarray) -> dict[str, Any]:
            room = self.horizon.room(f, feet)
            return {"on": each(lambda a, b: where(a * widest > b * strongest, 1.0, 0.0), z, room)}

        active = map(bound, {"f": end["f"], "z": end["z"], "feet": feet})["on"]
        return Interior(end["f"], end["z"], active, end["passes"])

    def _step(self, f: np.ndarray, z: np.ndarray, dual: np.ndarray, done: Any) -> dict[str, Any]:
        horizon, feet = self.horizon, self.horizon.on
        prediction = self._predicted(f, z, dual)

        def correct(f: Any, z: Any, feet: Any, dual: Any, df: Any, dz: Any) -> dict[str, Any]:
            room = horizon.room(f, feet)
            target = (prediction.centre * feet[:, None] + horizon.along(df) * dz) / room - z
            return {"target": target, "r": -dual - horizon.pushed(target)}

        items = {"f": f, "z": z, "feet": feet, "dual": dual, "df": prediction.df, "dz": prediction.dz}
        corrected = map(correct, items)
        df = prediction.recursion.solve(corrected["r"])

        def far(f: Any, z: Any, feet: Any, df: Any, target: Any) -> dict[str, Any]:
            room, change = horizon.room(f, feet), horizon.along(df)
            dz = target + z / room * change
            return {"most": _steepest(room, z, feet, change, dz), "dz": dz}

        last = map(far, {"f": f, "z": z, "feet": feet, "df": df, "target": corrected["target"]})
        length = TO_THE_BOUNDARY / maximum(largest(list(last["most"])), TO_THE_BOUNDARY)

        def move(f: Any, z: Any, feet: Any, dual: Any, df: Any, dz: Any) -> dict[str, Any]:
            f, z, dual = f + length * df, z + length * dz, (1.0 - length) * dual
            worst = largest([absolute(x) for x in dual.ravel()])
            return {"f": f, "z": z, "dual": dual, "product": (horizon.room(f, feet) * z).sum(), "worst": worst}

        after = map(move, {"f": f, "z": z, "feet": feet, "dual": dual, "df": df, "dz": last["dz"]})
        still = largest(list(after["worst"])) <= self.still
        small = _sum(after["product"]) <= self.gap
        done = where(logical_and(still, small), 1.0, 0.0)
        return {"f": after["f"], "z": after["z"], "dual": after["dual"], "done": done}

    def _predicted(self, f: np.ndarray, z: np.ndarray, dual: np.ndarray) -> _Prediction:
        """The step towards r z = 0; how much of the products it would leave says how far to aim above 0."""
        horizon, feet = self.horizon, self.horizon.on
        rows = maximum(ROWS * feet.sum(), 1.0)

        def begun(f: np.ndarray, z: np.ndarray, feet: np.ndarray, dual: np.ndarray) -> dict[str, Any]:
            room = horizon.room(f, feet)
            soft = [horizon.softened(w) * o for w, o in zip(z / room, feet, strict=True)]
            return {"soft": np.array(soft), "r": horizon.pushed(z) - dual, "product": (room * z).sum()}

        def ahead(f: np.ndarray, z: np.ndarray, feet: np.ndarray, df: np.ndarray) -> dict[str, Any]:
            room, change = horizon.room(f, feet), horizon.along(df)
            dz = z / room * change - z
            return {"most": _steepest(room, z, feet, change, dz), "dz": dz}

        begin = map(begun, {"f": f, "z": z, "feet": feet, "dual": dual})
        recursion = horizon.factored(begin["soft"])
        df = recursion.solve(begin["r"])
        near = map(ahead, {"f": f, "z": z, "feet": feet, "df": df})
        length = 1.0 / maximum(largest(list(near["most"])), 1.0)
        mu = _sum(begin["product"]) / rows

        def product(f: Any, z: Any, feet: Any, df: Any, dz: Any) -> dict[str, Any]:
            return {"product": ((horizon.room(f, feet) - length * horizon.along(df)) * (z + length * dz)).sum()}

        reached = map(product, {"f": f, "z": z, "feet": feet, "df": df, "dz": near["dz"]})["product"]
        share = _sum(reached) / rows / mu
        return _Prediction(recursion, df, near["dz"], share * share * share * mu)


def _sum(values: np.ndarray) -> Any:
    return sum(list(values))


def _steepest(room: np.ndarray, z: np.ndarray, feet: np.ndarray, change: np.ndarray, dz: np.ndarray) -> Any:
    """The largest share of room or multiplier that a whole step takes away."""
    positive = z + (1.0 - feet)[:, None]  # multipliers of feet in the air are 0 and stay so
    return largest([*(change / room).ravel(), *(-dz / positive).ravel()])
