"""Draws docs/figures/discrete_time.svg: the article's step with and without its slip, and what the step size costs."""

from __future__ import annotations

import numpy as np

from dalembert import Mechanism
from drawing import figure, save

END, STIFFNESS, DAMPING = np.array([-0.25, 0.0, 0.0]), 1e6, 1e2
MASS, INERTIA = 1.0, np.diag([0.001, 0.02, 0.02])
STEPS = (2e-3, 1e-3, 5e-4, 8e-5, 4e-5, 2e-5)


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def swing(slip: bool, step: float = 1e-4, duration: float = 0.8) -> np.ndarray:
    """Places (n, 3) of the centre of a bar that hangs at its end on a stiff spring; slip: (3) as printed."""
    place, R, v, w, places = -END, np.eye(3), np.zeros(3), np.zeros(3), []
    for _ in range(round(duration / step)):
        lever, world = R @ END, R @ INERTIA @ R.T
        F = -STIFFNESS * (place + lever) - DAMPING * (v + np.cross(w, lever))
        v = v + step * (F / MASS + [0, 0, -9.81])
        w = w + step * np.linalg.solve(world, np.cross(END if slip else lever, F) - np.cross(w, world @ w))
        size = np.linalg.norm(w)
        R = turned(w / size, size * step) @ R if size > 0 else R
        place = place + step * v
        places.append(place)
    return np.array(places)


def errors(hold: str, integrator: str, steps: tuple[float, ...], **values: float) -> list[float]:
    """Distance [m] after half a second from the same bar at much smaller steps."""
    m = Mechanism("bar", gravity=(0, 0, -9.81))
    m.body("bar", MASS, np.diag(INERTIA), com=(0, 0, 0), points={"end": END}, xyz=-END)
    m.joint("spherical", "ground.origin", "bar.end", hold=hold, **values)
    robot = m.build("free")

    def end(step: float) -> np.ndarray:
        return robot.rollout(*robot.start, step=step, steps=round(0.5 / step), integrator=integrator).q[:3]

    exact = end(1e-6)
    return [float(np.linalg.norm(end(step) - exact)) for step in steps]


def main() -> None:
    picture, (left, right) = figure(9.0, 3.8, ncols=2)
    for slip, name in ((False, "P_tr turned first"), (True, "(3) as printed")):
        places = swing(slip, duration=0.32)
        left.plot(places[:, 0], places[:, 2], label=name)
    left.set(xlabel="x of the centre [m]", ylabel="z [m]", title="a bar hung at its end", aspect="equal")
    left.legend()
    by_springs, by_pin = STEPS[3:], STEPS[:3]
    found = errors("springs", "axis-angle", by_springs, stiffness=STIFFNESS, damping=DAMPING)
    right.loglog(by_springs, found, "o-", label="springs, axis-angle")
    right.loglog(by_pin, errors("multipliers", "leapfrog", by_pin), "s-", label="pin, leapfrog")
    right.set(xlabel="step [s]", ylabel="error after 0.5 s [m]", title="first and second order")
    right.legend()
    save(picture, __file__)


if __name__ == "__main__":
    main()
