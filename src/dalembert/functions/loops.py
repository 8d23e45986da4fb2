"""Closed loops: states that keep them closed, accelerations and forces through them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.errors import DalembertError
from dalembert.execute import Call

from .calls import function_call
from .evaluation import Evaluation

CONSISTENT = 1e-6  # share of the forces, or of the accelerations, that may be left over


class LoopDynamics(NamedTuple):
    """a (…, nv), and the forces of the closures (…, nc), equation by equation; 0 where others imply an equation."""

    a: np.ndarray
    multipliers: np.ndarray


class LoopForces(NamedTuple):
    """tau (…, nv), zero at joints that are not actuated, and the forces of the closures (…, nc)."""

    tau: np.ndarray
    multipliers: np.ndarray


class Loops(Evaluation):
    """Dynamics of robots with closed loops."""

    def loop_dynamics(
        self, q: Any, v: Any, tau: Any, *, threads: int | None = None, check: bool = True
    ) -> LoopDynamics:
        """The acceleration under tau with all loops kept closed, and the forces that keep them: M a + h = tau + Jᵀ λ.

        For states in which the loops are closed (`close_loops`); errors of q and v are not corrected here.
        """
        return LoopDynamics(*self._loop_call("loop_dynamics", ())(q, v, tau, threads=threads, check=check))

    def loop_inverse_dynamics(
        self, q: Any, v: Any, a: Any, *, actuated: Iterable[str], threads: int | None = None, check: bool = True
    ) -> LoopForces:
        """The forces of the actuated joints (by name) that cause the acceleration a, which must keep the loops closed.

        With more actuators than freedoms the smallest forces; with too few, or an acceleration that opens a loop, an
        error.
        """
        names = tuple(actuated)
        tau, multipliers, left, opening, scale = self._loop_call("loop_inverse_dynamics", names)(
            q, v, a, threads=threads, check=check
        )
        for what, cure, x, size in (
            (f"joints {', '.join(names)} cannot cause it", "actuate others", left, scale[..., :1]),
            ("the acceleration opens a loop", "take a of loop_dynamics", opening, scale[..., 1:]),
        ):
            share = np.max(np.abs(x) / np.maximum(size, 1.0), initial=0.0)
            if check and share > CONSISTENT:
                raise DalembertError(f"loop_inverse_dynamics: {what}: {share:.1e} of it is left over; {cure}")
        return LoopForces(tau, multipliers)

    def _loop_call(self, name: str, actuated: tuple[str, ...]) -> Call:
        if not self.model.closures:
            raise DalembertError(f"{name}: robot {self.model.name!r} has no loops: use forward or inverse_dynamics")
        kept: dict[Any, Call] = self.__dict__.setdefault("_loop_calls", {})
        if (name, actuated) not in kept:
            model, n = self.model, self.model.nv
            rows = [k for joint in actuated for k in range(n)[model.joint(joint).v]]

            def compute(q: Any, v: Any, x: Any) -> dict[str, Any]:
                if name == "loop_dynamics":
                    a, multipliers = algorithms.loop_dynamics(model, q, v, x)
                    return {"a": a, "multipliers": multipliers}
                return algorithms.loop_inverse_dynamics(model, q, v, x, rows)._asdict()

            sizes = {"q": model.nq, "v": n, "tau" if name == "loop_dynamics" else "a": n}
            kept[name, actuated] = function_call(model, name, sizes, compute)
        return kept[name, actuated]
