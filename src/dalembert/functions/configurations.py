"""Configurations as points of a manifold."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError

from .evaluation import Evaluation, Keywords, column


class Configurations(Evaluation):
    """Neutral and random configurations, moving along velocities, differences, interpolation."""

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with all joints at zero (quaternions: no rotation)."""
        return algorithms.neutral(self.model)

    def random(self, rng: np.random.Generator, n: int | None = None) -> np.ndarray:
        """A configuration (nq,), or n of them (n, nq), uniform within the joint limits."""
        if not isinstance(rng, np.random.Generator):
            raise DalembertError(
                "random: expected a NumPy generator, such as np.random.default_rng(0), as first argument"
            )
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0):
            raise DalembertError(f"random: n is {n!r}, expected how many configurations, 0 or more")
        return algorithms.random(self.model, rng, n)

    def normalize(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """q (…, nq) with its quaternions brought to unit length."""
        return self._evaluate("normalize", (q,), keywords)

    def integrate(self, q: Any, v: Any, dt: Any = 1.0, **keywords: Unpack[Keywords]) -> np.ndarray:
        """q ⊕ v·dt (…, nq): the configuration after the time dt [s] at the constant velocity v."""
        return self._evaluate("integrate", (q, v, column("integrate: dt", dt, (q, v))), keywords)

    def difference(self, q0: Any, q1: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """The velocity (…, nv) with q0 ⊕ v = q1 in unit time."""
        return self._evaluate("difference", (q0, q1), keywords)

    def interpolate(self, q0: Any, q1: Any, s: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """The configuration (…, nq) on the shortest way from q0 (s = 0) to q1 (s = 1); s a number or a batch."""
        return self._evaluate("interpolate", (q0, q1, column("interpolate: s", s, (q0, q1))), keywords)
