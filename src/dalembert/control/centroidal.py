"""The convex centroidal program: forces of standing feet that move a body along a reference.   Di Carlo et al. 2018.

One rigid body, small roll and pitch: with x = [rpy, p, ω, v] and the yaw ψ of the horizon's begin,

    d/dt rpy = Rz(ψ)ᵀ ω    ṗ = v    ω̇ = I⁻¹ Σ rᵢ × fᵢ    v̇ = Σ fᵢ / m + g

Forces of feet that swing are no variables. The friction pyramid lies within the cone. `horizon` and `forces` solve it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Call, is_traced
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError
from dalembert.math import cos, map, sin
from dalembert.robot import Robot
from dalembert.spatial import so3

from .forces import solved
from .horizon import ROWS, ForceHorizon, inverse

WEIGHTS = (20.0, 20.0, 10.0, 20.0, 20.0, 60.0, 0.2, 0.2, 0.2, 1.0, 1.0, 1.0)
FORCE = 1e-5  # of the squared force, in the cost
STANDARD = 9.81  # [m/s²]
GRAVITY = np.array([0.0, 0.0, -STANDARD])
ALIKE = 0.01  # of it: other values that files have for the same, as 9.8 and 9.80665


class ForcePlan(NamedTuple):
    """forces (N, k, 3) [N] on the body, in the world, 0 where a foot swings; states (N, 12) that they lead to.

    active (N, k, 5): 1 where a force is at a side of its pyramid (4) or at its greatest; solved: 1 where all conditions
    of the optimum hold to round-off, else 0, and the forces are near it; iterations that it took.
    """

    forces: np.ndarray
    states: np.ndarray
    active: np.ndarray
    solved: Any
    iterations: Any


@dataclass(frozen=True, eq=False)
class Centroidal:
    """A body of mass [kg] and inertia (3, 3) about its centre, along its axes [kg·m²]; made by `centroidal`.

    step [s] between nodes; friction µ; most [N]: greatest normal force of a foot; weights (12,) of [rpy, p, ω, v].
    """

    mass: Any
    inertia: np.ndarray
    step: Any
    friction: Any
    most: Any
    weights: np.ndarray

    def plan(self, state: Any, reference: Any, feet: Any, contacts: Any, active: Any = None) -> ForcePlan:
        """The forces of the next nodes.

        state (12,): [roll pitch yaw, position, angular velocity in the world, velocity]; reference (N, 12): at the end
        of each node; feet (k, 3) or (N, k, 3): places in the world; contacts (N, k): which stand; active (N, k, 5): of
        an earlier plan, a guess. Batches have leading axes. Traced arguments give a traced plan.
        """
        x0, ref, places, stands = (np.asarray(part) for part in (state, reference, feet, contacts))
        nodes, k = stands.shape[-2:] if stands.ndim > 1 else (0, 0)
        if not nodes * k or x0.shape[-1:] != (12,) or ref.shape[-2:] != (nodes, 12):
            raise DalembertError(
                f"centroidal: state {x0.shape}, reference {ref.shape} and contacts {stands.shape}, expected (12,), "
                "(N, 12) and (N, k)"
            )
        guess = _no_guess(nodes, k) if active is None else np.asarray(active)
        if places.shape[-2:] != (k, 3) or guess.shape[-3:] != (nodes, k, ROWS):
            raise DalembertError(
                f"centroidal: feet {places.shape} and active {guess.shape}, expected ({k}, 3) or ({nodes}, {k}, 3), "
                f"and ({nodes}, {k}, {ROWS})"
            )
        if places.shape[:-2] != (nodes,) and (places.ndim == 2 or places.shape[-3] != nodes):
            places = np.broadcast_to(places[..., None, :, :], (*places.shape[:-2], nodes, k, 3))
        dtypes = x0.dtype, ref.dtype, places.dtype, stands.dtype, guess.dtype
        if object in dtypes and is_traced(x0, ref, places, stands, guess):
            return self._planned(x0, ref, places, stands, guess)
        parts = (x0, _flat(ref, 2), _flat(places, 3), _flat(stands, 2), _flat(guess, 3))
        flat = _compiled(nodes, k)(self._body, *(part.astype(float, copy=False) for part in parts))
        return self._named(flat, nodes, k)

    @cached_property
    def _body(self) -> np.ndarray:
        """All numbers of the body and the program (25,)."""
        single = [self.mass, self.step, self.friction, self.most]
        return np.array([*single, *self.weights, *np.ravel(self.inertia)], float)

    def _named(self, flat: np.ndarray, nodes: int, k: int) -> ForcePlan:
        batch, forces, states = flat.shape[:-1], 3 * nodes * k, 12 * nodes
        end = forces + states + ROWS * nodes * k
        if not isfinite(flat[..., :forces].sum()):
            raise DalembertError("centroidal: state, reference or feet are not made of finite numbers")
        reached, active = flat[..., forces : forces + states], flat[..., forces + states : end]
        return ForcePlan(
            flat[..., :forces].reshape(*batch, nodes, k, 3), reached.reshape(*batch, nodes, 12),
            active.reshape(*batch, nodes, k, ROWS), flat[..., end], flat[..., end + 1],
        )  # fmt: skip

    def _planned(self, x0: Any, ref: Any, places: Any, stands: Any, guess: Any) -> ForcePlan:
        """On traced scalars; angular velocities along the axes of the yaw of now."""
        n, W = len(ref), self.weights
        c, s = cos(x0[2]), sin(x0[2])
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        rates = np.diag(W[6:]).astype(object)
        rates[:3, :3] = R.T @ np.diag(W[6:9]) @ R
        angular = inverse(np.asarray(self.inertia))
        about = [x0[3:6] + (ref[j, 3:6] - x0[3:6]) * (j / n) for j in range(n)]  # where forces turn the body

        def arms(places: Any, about: Any) -> dict[str, Any]:
            return {"turns": np.array([angular @ (R.T @ so3.skew(place - about)) for place in places])}

        turns = map(arms, {"places": places, "about": np.array(about)})["turns"]
        side = self.friction / np.sqrt(2.0)
        horizon = ForceHorizon(self.step, self.mass, turns, stands, np.diag(W[:6]), rates, FORCE, side, self.most)
        gravity = np.concatenate([np.zeros(3), GRAVITY])
        start = np.concatenate([x0[:6], R.T @ x0[6:9], x0[9:]])
        goal = np.array([np.concatenate([x[:6], R.T @ x[6:9], x[9:]]) for x in ref])
        best = solved(horizon, start, gravity, goal, guess)
        states = horizon.states(start, horizon.accelerations(best.f) + gravity)
        world = np.array([np.concatenate([x[:6], R @ x[6:9], x[9:]]) for x in states])
        return ForcePlan(best.f, world, best.active, best.solved, best.tries + best.iterations)


@cache
def _compiled(nodes: int, k: int) -> Any:
    """Plans of any body, as a function of flat vectors."""
    sizes = {"body": 25, "state": 12, "reference": 12 * nodes, "feet": 3 * nodes * k, "contacts": nodes * k}
    sizes["active"] = ROWS * nodes * k

    def compute(body: Any, state: Any, reference: Any, feet: Any, contacts: Any, active: Any) -> np.ndarray:
        mass, step, friction, most = body[:4]
        program = Centroidal(mass, body[16:].reshape(3, 3), step, friction, most, body[4:16])
        shaped = reference.reshape(nodes, 12), feet.reshape(nodes, k, 3), contacts.reshape(nodes, k)
        plan = program._planned(state, *shaped, active.reshape(nodes, k, ROWS))
        return np.concatenate([np.ravel(part) for part in plan])

    shapes = {"plan": ((3 * k + 12 + ROWS * k) * nodes + 2,)}
    identity = f"{nodes} nodes, {k} feet"
    build = partial(trace, compute, sizes, "centroidal")
    call = Call("centroidal", identity, identity, sizes, shapes, build, lambda _: None)
    return call.builtin("centroidal", f"({', '.join(sizes)})\n--\n\n", call)


@cache
def _no_guess(nodes: int, k: int) -> np.ndarray:
    return np.zeros((nodes, k, ROWS))


def _flat(x: np.ndarray, axes: int) -> np.ndarray:
    """The last axes as one."""
    return x.reshape(*x.shape[:-axes], -1)


def centroidal(
    robot: Robot | None = None, q: Any = None, *, mass: float | None = None, inertia: Any = None, step: float = 0.05,
    friction: float = 0.6, most: float | None = None, weights: Any = WEIGHTS,
) -> Centroidal:  # fmt: skip
    """A centroidal program of a robot, as one body in the configuration q (nq,), or of a mass and an inertia (3, 3).

    step [s] between nodes, friction µ, most [N]: greatest normal force of a foot, default three times the weight.
    """
    if robot is not None:
        if np.abs(robot.model.gravity - GRAVITY).max() > ALIKE * STANDARD:
            raise DalembertError(
                f"centroidal: the gravity of robot {robot.name!r} is {robot.model.gravity.tolist()}, expected "
                f"{GRAVITY.tolist()} to {100.0 * ALIKE:g} %: plans and gaits hold on Earth, upright"
            )
        place = robot.neutral() if q is None else np.asarray(q, float)
        R = so3.from_quaternion(place[3:7]) if robot.model.floating else np.eye(3)
        whole = robot.composite_inertia(place)
        inertia = R.T @ whole[:3, :3] @ R if inertia is None else inertia
        mass = float(whole[5, 5]) if mass is None else mass
    if mass is None or inertia is None or not 0.0 < mass < np.inf:
        raise DalembertError("centroidal: pass a robot, or mass=… above 0 and inertia=… (3, 3)")
    tensor = np.asarray(inertia, float)
    if tensor.shape != (3, 3) or np.linalg.eigvalsh(0.5 * (tensor + tensor.T)).min() <= 0.0:
        raise DalembertError(f"centroidal: inertia is {inertia!r}, expected (3, 3), positive definite")
    if not (0.0 < step < np.inf and 0.0 < friction < np.inf):
        raise DalembertError(f"centroidal: step is {step!r} s and friction {friction!r}, expected numbers above 0")
    W = np.asarray(weights, float)
    if W.shape != (12,) or W.min() < 0.0:
        raise DalembertError(f"centroidal: weights has shape {W.shape}, expected (12,) numbers of at least 0")
    top = 3.0 * STANDARD * mass if most is None else float(most)
    return Centroidal(float(mass), tensor, float(step), float(friction), top, W)
