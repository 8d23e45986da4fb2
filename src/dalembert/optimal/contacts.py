"""Contacts whose phases are given: which frames stand still at which node is data, and so is where feet land.

Accelerations a and forces f of the contacts follow from
    M(q) a + bias(q, v) − S u − Jᵀ f = 0        the equations of motion
    J a + J̇ v + k J v = 0                       frames in contact do not move; k lets errors of velocity die out
At an impact the same matrices give the jump of the velocity instead of a, and impulses instead of f:
    M(q) a − Jᵀ f = 0,    J (v + a) = 0.
Slopes come from the same factors: of the residuals above at constant a and f, solved with the same matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms import Load, body_loads
from dalembert.dynamics.algorithms.passive import spring_force
from dalembert.errors import DalembertError, is_number
from dalembert.linear import elimination_order, factor, gram, nonzeros, sparse_product
from dalembert.robot import Robot
from dalembert.spatial import so3


@dataclass(frozen=True)
class Contacts:
    """Frames that may touch: points (3 rows) that do not slip, or surfaces (6 rows) that do not turn either."""

    robot: Robot
    rows: Mapping[str, int]
    decay: float = 50.0  # k [1/s]

    @staticmethod
    def of(robot: Robot, frames: Any, decay: float) -> Contacts | None:
        """From names of frames, points all, or a dict from names to 3 or 6."""
        if not frames:
            return None
        names = [frames] if isinstance(frames, str) else frames
        rows = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, 3)
        if not (is_number(decay) and 0.0 <= decay < np.inf):
            raise DalembertError(f"optimal_control: contact_decay is {decay!r}, expected a rate ≥ 0 [1/s]")
        for name, size in rows.items():
            robot.frame(name)
            if size not in (3, 6):
                raise DalembertError(
                    f"optimal_control: contact {name!r} is {size!r}, expected 3 (a point) or 6 (a surface)"
                )
        return Contacts(robot, rows, decay)

    @property
    def size(self) -> int:
        """Numbers in the forces of all contacts."""
        return sum(self.rows.values())

    def parts(self, f: np.ndarray) -> dict[str, np.ndarray]:
        """Forces by frame: [f] (3,), or [τ; f] (6,), on the robot, along world axes [N·m, N]; impulses at impacts."""
        ends = np.cumsum(list(self.rows.values()))
        return dict(zip(self.rows, np.split(f, ends[:-1]), strict=True))

    def _mask(self, stance: Any) -> np.ndarray:
        return np.repeat(np.asarray(stance, object), list(self.rows.values()))

    def _stacked(self, twists: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([x[-size:] for x, size in zip(twists, self.rows.values(), strict=True)])

    def residual(self, x: Mapping[str, Any], torque: Any, a: Any, f: Any) -> np.ndarray:
        """(nv + size,): what is missing in the equations of motion and of contact; torque (nv,) of the control."""
        model, q, v, impact = self.robot.model, x["q"], x["v"], x["impact"][0]
        during = 1.0 - impact
        mask = self._mask(x["stance"])
        loads = []
        for name, part in self.parts(mask * f).items():
            moment = part[:3] if len(part) == 6 else np.zeros(3)
            loads.append(Load(model.frame(name), moment, part[-3:], np.zeros(3), "world"))
        wrenches = body_loads(model, q, loads)
        force = algorithms.rnea(model, q, during * v, a, wrenches, gravity=during * model.gravity)
        frames = [model.frame(name) for name in self.rows]
        rates = self._stacked([algorithms.velocity(model, q, v, frame) for frame in frames])
        bends = self._stacked([self._bend(x, during * v, a, name) for name in self.rows])
        moving = bends + (impact + during * self.decay) * rates
        return np.concatenate([force - impact * spring_force(model, q) - during * torque, mask * moving])

    def _bend(self, x: Mapping[str, Any], v: Any, a: Any, name: str) -> np.ndarray:
        """[α; a] (6,) of a frame, along world axes; of a surface, the rate of its twist as the frame itself sees it."""
        model, frame = self.robot.model, self.robot.model.frame(name)
        bend = algorithms.acceleration(model, x["q"], v, a, frame)
        if self.rows[name] == 6:
            twist = algorithms.velocity(model, x["q"], v, frame)
            bend = np.concatenate([bend[:3], bend[3:] - so3.skew(twist[:3]) @ twist[3:]])
        return bend

    def solved(self, x: Mapping[str, Any], torque: Any) -> ContactSolution:
        """Accelerations and forces, with the factors for their slopes."""
        return ContactSolution(self, x, torque)


class ContactSolution:
    """a (nv,) and f (size,) at a point; `slopes` solves with the same matrices."""

    def __init__(self, contacts: Contacts, x: Mapping[str, Any], torque: Any) -> None:
        model, n, p = contacts.robot.model, contacts.robot.nv, contacts.size
        M = algorithms.mass_matrix(model, x["q"])
        self.n, self.factor = n, factor(M, elimination_order(nonzeros(M)))
        mask = contacts._mask(x["stance"])
        frames = [model.frame(name) for name in contacts.rows]
        J = np.concatenate(
            [
                algorithms.jacobian(model, x["q"], frame)[-size:]
                for frame, size in zip(frames, contacts.rows.values(), strict=True)
            ]
        )
        self.half = self.factor.forward((mask[:, None] * J).T)  # L⁻¹ Jᵀ
        G = gram(self.half, self.factor.r)
        for k in range(p):
            G[k, k] = G[k, k] + (1.0 - mask[k])  # no force where there is no contact
        self.response = factor(G)
        start = contacts.residual(x, torque, np.zeros(n), np.zeros(p))
        y = self.slopes(start[:, None])[:, 0]
        self.a, self.f = y[:n], y[n:]

    def slopes(self, residual_slopes: np.ndarray) -> np.ndarray:
        """Slopes (nv + size, m) of a and f, from those of the residuals at constant a and f."""
        moved = self.factor.forward(residual_slopes[: self.n])
        scaled = (moved.T * self.factor.r).T
        df = self.response.solve(sparse_product(self.half.T, scaled) - residual_slopes[self.n :])
        scaled = scaled - (sparse_product(self.half, df).T * self.factor.r).T
        return np.concatenate([-self.factor.backward(scaled), df])
