"""Gaits of ANYmal and of the legs of Talos as Crocoddyl's examples state them, as problems of ours.

A gait is rows of data, one for each node: which feet stand, whether it is an impact, where swinging feet and the centre
of mass go. ANYmal's feet are points, Talos' soles are surfaces. Costs at the optimum: Crocoddyl 3.2.1, FDDP.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dalembert
from dalembert.math import clip, maximum, minimum
from dalembert.spatial import se3, so3

ANYMAL = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
TALOS = ("right_sole_link", "left_sole_link")
FRICTION = 0.7


class Gait(NamedTuple):
    """A problem with the data and the start of its solve, and the cost that it should find."""

    problem: Any
    start: np.ndarray
    data: dict[str, np.ndarray]
    cost: float


class Schedule:
    """Rows of a gait. feet: names; places: where they stand; centre: of mass."""

    def __init__(self, places: list[np.ndarray], centre: np.ndarray) -> None:
        self.places, self.centre = [p.copy() for p in places], centre.copy()
        self.rows: list[dict[str, Any]] = []

    def _row(self, stance: list[int], feet: np.ndarray, com: np.ndarray, impact: float, track: float) -> None:
        standing = np.zeros(len(self.places))
        standing[stance] = 1.0
        self.rows.append({"stance": standing, "feet": feet, "com": com, "impact": [impact], "track": [track]})

    def stand(self, nodes: int = 1) -> Schedule:
        """All feet on the ground."""
        for _ in range(nodes):
            self._row(list(range(len(self.places))), np.zeros(3 * len(self.places)), np.zeros(3), 0.0, 0.0)
        return self

    def swing(self, feet: list[int], length: float, height: float, nodes: int = 25) -> Schedule:
        """Some feet move forward in a triangle over the ground, then land; the centre of mass goes with them."""
        support = [k for k in range(len(self.places)) if k not in feet]
        share = len(feet) / len(self.places)
        for k in range(nodes):
            rise = k / (nodes / 2) if k <= nodes / 2 else 2.0 - k / (nodes / 2)
            move = np.array([length * (k + 1) / nodes, 0.0, height * rise])
            targets = np.zeros(3 * len(self.places))
            for foot in feet:
                targets[3 * foot : 3 * foot + 3] = self.places[foot] + move
            com = self.centre + share * np.array([move[0], 0.0, 0.0])
            self._row(support, targets, com, 0.0, 1.0)
        self._row(feet, targets, com, 1.0, 0.0)
        self.centre[0] += share * length
        for foot in feet:
            self.places[foot][0] += length
        return self

    def data(self) -> dict[str, np.ndarray]:
        """Columns, for `solve`."""
        return {name: np.array([row[name] for row in self.rows], float) for name in self.rows[0]}


def _standing(robot: Any, feet: tuple[str, ...], q: np.ndarray) -> Schedule:
    places = [np.array(robot.pose(q, foot))[:3, 3] for foot in feet]
    centre = sum(places) / len(places)
    centre[2] = robot.center_of_mass(q)[2]
    return Schedule(places, centre)


def _state(robot: Any, q0: np.ndarray, q: Any, v: Any) -> np.ndarray:
    return np.concatenate([robot.difference(q0, q), v])


def _weights(turning: float, moving: float, joints: float, base_rates: float, rates: float, nv: int) -> np.ndarray:
    parts = [turning] * 3 + [moving] * 3 + [joints] * (nv - 6) + [base_rates] * 6 + [rates] * (nv - 6)
    return 10.0 * np.array(parts) ** 2


def anymal(robots: Path, kind: str) -> Gait:
    """ANYmal: "trot" (0.15 m steps of two feet) or "walk" (0.25 m steps of one foot)."""
    file = robots / "anymal_b_simple_description" / "robots" / "anymal.urdf"
    robot = dalembert.load(file, base="free").without("friction", "damping", "springs")
    q0 = robot.neutral()
    q0[2] = 0.4792
    for side, sign in (("L", -1.0), ("R", 1.0)):
        for end, bend in (("F", 1.0), ("H", -1.0)):
            for joint, angle in (("HAA", 0.1 * sign), ("HFE", 0.7 * bend), ("KFE", -1.0 * bend)):
                q0[robot.joint(f"{side}{end}_{joint}").q] = angle
    near, nv = _weights(500.0, 0.0, 0.01, 10.0, 1.0, robot.nv), robot.nv
    at_impact = _weights(1.0, 1.0, 10.0, 10.0, 10.0, nv)
    lower, upper, rate = robot.limits.lower[7:], robot.limits.upper[7:], robot.limits.velocity[6:]

    def beyond(q: Any, v: Any) -> np.ndarray:
        places = [x - clip(x, low, high) for x, low, high in zip(q[7:], lower, upper, strict=True)]
        return np.array(places + [x - clip(x, -most, most) for x, most in zip(v[6:], rate, strict=True)])

    def off_cone(f: Any) -> np.ndarray:
        sides = [f[0] - FRICTION * f[2], -f[0] - FRICTION * f[2], f[1] - FRICTION * f[2], -f[1] - FRICTION * f[2]]
        return np.array([maximum(x, 0.0) for x in sides] + [minimum(f[2], 0.0)])

    def foot(q: Any, k: int, feet: Any) -> np.ndarray:
        return robot.pose(q, ANYMAL[k])[:3, 3] - feet[3 * k : 3 * k + 3]

    def running(q: Any, v: Any, u: Any, force: Any, stance: Any, feet: Any, com: Any, track: Any) -> dict[str, Any]:
        costs = {"state": (near, _state(robot, q0, q, v)), "effort": (0.1, u), "bounds": (1e3, beyond(q, v))}
        costs["centre of mass"] = (1e6 * track[0], robot.center_of_mass(q) - com)
        for k, name in enumerate(ANYMAL):
            costs[f"cone {name}"] = (10.0 * stance[k], off_cone(force[name]))
            costs[f"swing {name}"] = (1e6 * track[0] * (1.0 - stance[k]), foot(q, k, feet))
        return costs

    def impact(q: Any, v: Any, stance: Any, feet: Any) -> dict[str, Any]:
        landing = {f"swing {name}": (1e7 * stance[k], foot(q, k, feet)) for k, name in enumerate(ANYMAL)}
        return {"state": (at_impact, _state(robot, q0, q, v))} | landing

    def terminal(q: Any, v: Any) -> dict[str, Any]:
        return {"state": (near, _state(robot, q0, q, v)), "bounds": (1e3, beyond(q, v))}

    rows = _standing(robot, ANYMAL, q0).stand(2)
    lf, rf, lh, rh = range(4)
    if kind == "trot":
        rows.swing([rf, lh], 0.075, 0.1).stand(2).swing([lf, rh], 0.15, 0.1).stand()
    else:
        rows.swing([rh], 0.125, 0.15).swing([rf], 0.125, 0.15).stand(2)
        rows.swing([lh], 0.25, 0.15).swing([lf], 0.25, 0.15).stand()
    data = rows.data()
    nodes = len(data["stance"]) - 1
    sizes = {"feet": 12, "com": 3, "track": 1}
    problem = robot.optimal_control(running, terminal, step=0.01, nodes=nodes, contacts=ANYMAL, impact=impact, **sizes)
    return Gait(problem, q0, data, {"trot": 231.792477729, "walk": 588.636806789}[kind])


def wrench_cone(length: float, width: float) -> np.ndarray:
    """Rows A (17, 6) with A [f; τ] ≤ 0, and ≥ 0 the fifth, of a sole of these sizes [m].   Caron et al. 2015.

    The pyramid lies inside of the cone of friction.
    """
    mu, x, y = FRICTION / np.sqrt(2.0), 0.5 * length, 0.5 * width
    rows = [[1, 0, -mu, 0, 0, 0], [-1, 0, -mu, 0, 0, 0], [0, 1, -mu, 0, 0, 0], [0, -1, -mu, 0, 0, 0]]
    rows += [[0, 0, 1, 0, 0, 0], [0, 0, -y, 1, 0, 0], [0, 0, -y, -1, 0, 0], [0, 0, -x, 0, 1, 0], [0, 0, -x, 0, -1, 0]]
    for turn in (-1, 1):
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            rows.append([a * y, b * x, -mu * (x + y), turn * a * mu, turn * b * mu, turn])
    return np.array(rows, float)


def talos(robots: Path) -> Gait:
    """The legs of Talos: two steps, of 0.3 and 0.6 m."""
    whole = dalembert.load(robots / "talos_data" / "robots" / "talos_reduced.urdf", base="free")
    edit = whole.without("friction", "damping", "springs").edit()
    robot = edit.remove("torso_1_link").done()
    edit = robot.edit()
    for sole in TALOS:  # the peer's model, cut out of the whole robot, counts the soles twice
        edit = edit.set_inertia(sole, mass=0.02, inertia=2e-4 * np.eye(3))
    for joint in robot.joints[1:]:
        edit = edit.set_joint(joint.name, armature=0.1)
    robot = edit.done()
    q0 = robot.neutral()
    q0[2] = 1.01927
    for side in ("left", "right"):
        for k, angle in enumerate((0.0, 0.0, -0.411354, 0.859395, -0.448041, -0.001708), 1):
            q0[robot.joint(f"leg_{side}_{k}_joint").q] = angle
    near, at_impact = (_weights(*w, robot.nv) for w in ((500.0, 0.0, 0.01, 10.0, 10.0), (1.0, 1.0, 0.1, 10.0, 10.0)))
    cone = wrench_cone(0.1, 0.05)

    def off_cone(wrench: Any, q: Any, name: str) -> np.ndarray:
        rows = cone @ np.concatenate([wrench[3:], wrench[:3]])
        return np.array([minimum(x, 0.0) if k == 4 else maximum(x, 0.0) for k, x in enumerate(rows)])

    def placement(q: Any, k: int, feet: Any) -> np.ndarray:
        X = robot.pose(q, TALOS[k])
        turn = so3.log(X[:3, :3])
        return np.concatenate([turn, se3.velocity_reaching(turn, X[:3, 3] - feet[3 * k : 3 * k + 3])])

    def running(q: Any, v: Any, u: Any, force: Any, stance: Any, feet: Any, com: Any, track: Any) -> dict[str, Any]:
        costs = {"state": (near, _state(robot, q0, q, v)), "effort": (0.1, u)}
        costs["centre of mass"] = (1e6 * track[0], robot.center_of_mass(q) - com)
        for k, name in enumerate(TALOS):
            costs[f"cone {name}"] = (10.0 * stance[k], off_cone(force[name], q, name))
            costs[f"swing {name}"] = (1e6 * track[0] * (1.0 - stance[k]), placement(q, k, feet))
        return costs

    def impact(q: Any, v: Any, stance: Any, feet: Any) -> dict[str, Any]:
        landing = {f"swing {name}": (1e8 * stance[k], placement(q, k, feet)) for k, name in enumerate(TALOS)}
        return {"state": (at_impact, _state(robot, q0, q, v))} | landing

    def terminal(q: Any, v: Any, feet: Any) -> dict[str, Any]:
        return {"state": (at_impact, _state(robot, q0, q, v)), f"swing {TALOS[1]}": (1e8, placement(q, 1, feet))}

    rows = _standing(robot, TALOS, q0).stand().swing([0], 0.3, 0.1).stand().swing([1], 0.6, 0.1)
    data = rows.data()
    problem = robot.optimal_control(
        running,
        terminal,
        step=0.0375,
        nodes=len(data["stance"]) - 1,
        contacts=dict.fromkeys(TALOS, 6),
        contact_decay=30.0,
        impact=impact,
        feet=6,
        com=3,
        track=1,
    )
    return Gait(problem, q0, data, 5195.698697658)
