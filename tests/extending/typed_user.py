"""A user's script through every public room, for type checkers: `mypy --strict` and pyright find nothing in it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dalembert
from dalembert import (
    Contact,
    DalembertError,
    Event,
    ModelBuilder,
    Robot,
    Settings,
    Wrench,
    charts,
    constraints,
    control,
    elements,
    identify,
    integrators,
    kinds,
    mechanism,
    motion,
    optimal,
)
from dalembert.collision import distance
from dalembert.math import cos
from dalembert.shapes import Box, Sphere
from dalembert.spatial import Pose, so3
from dalembert.study import Space, uniform
from dalembert.tables import read_table, write_table
from dalembert.typing import Array, ArrayLike, Scalar


def built() -> Robot:
    """An arm of one link with a tool."""
    builder = ModelBuilder("arm", gravity=(0, 0, -9.81))
    builder.add_body("link", parent="world", joint="revolute", joint_name="hinge", axis=(0, 1, 0), mass=1.0,
                     com=(0.2, 0, 0), inertia=np.diag([0.01, 0.02, 0.02]))  # fmt: skip
    builder.add_frame("tool", body="link", xyz=(0.4, 0, 0))
    return builder.build()


def dynamics(robot: Robot, q: ArrayLike, v: ArrayLike) -> Array:
    """Torques, checked by the accelerations that they give."""
    push = Wrench(force=(0.0, 0.0, 1.0), frame="tool")
    tau = robot.inverse_dynamics(q, v, np.zeros(robot.nv), external=[push])
    a = robot.forward_dynamics(q, v, tau, external=[push])
    energy: Scalar = robot.energy(q, v)
    slopes = robot.inverse_dynamics_derivatives(q, v, a)
    jacobian = robot.jacobian(q, "tool", axes="body")
    assert slopes.dq.shape == (robot.nv, robot.nv) and jacobian.shape == (6, robot.nv) and float(energy) < 100.0
    return tau


def motions(robot: Robot, q: Array, v: Array) -> None:
    """Runs, rollouts and steps with the same settings."""
    spring = elements.Spring(robot.joints[0].name, 2.0)
    settings = Settings(step=1e-3, elements=[spring], integrator=integrators.INTEGRATORS["semi-implicit"])

    def height(t: float, q: Array, v: Array) -> Scalar:
        low: Scalar = q[0] + 2.0
        return low

    crossed = Event("low", height)
    run = robot.simulate(q, v, 0.05, settings=settings, events=[crossed])
    rolled = robot.rollout(np.tile(q, (3, 1)), v, steps=20, every=10, settings=settings)
    step = robot.stepper(settings=settings)
    q1, v1 = step(q, v, np.zeros(robot.nv))
    print(run.t[-1], run.energy.residual, rolled.q.shape, rolled.t.sum(), q1, v1)
    ball = dalembert.load("quadruped")
    motion_of_feet = ball.rollout(ball.neutral(), np.zeros(ball.nv), steps=2, contact=Contact(friction=0.8))
    print(motion_of_feet.contacts)


def people(robot: Robot, q: Array, v: Array) -> None:
    """Motions, laws, plans, identification and studies."""
    way = motion.quintic(q, q + 0.3, 1.0, robot=robot)
    law = control.computed_torque(robot, way, frequency=20.0, damping_ratio=0.9)
    print(law(0.1, q, v), motion.check(way, robot), robot.motors, robot.audit().findings)

    def running(q: Array, v: Array, u: Array) -> dict[str, tuple[float, Array]]:
        return {"effort": (1e-2, u)}

    def terminal(q: Array, v: Array, goal: Array) -> dict[str, tuple[float, Array]]:
        return {"reach": (1.0, q - goal)}

    problem = robot.optimal_control(
        running,
        terminal,
        step=0.02,
        nodes=10,
        goal=1,
    )
    plan: optimal.Plan = problem.solve(q, v, goal=[0.1], max_iterations=20)
    print(plan.cost, plan.converged, identify.base_parameters(robot).groups)
    space = Space(gain=uniform(0.5, 1.5))
    print(space, robot.linearize(q, v, np.zeros(robot.nv)), charts.ANGLE, constraints.Range, kinds.Tangent)


def geometry(robot: Robot) -> None:
    """Shapes, poses and distances."""
    box, ball = Box((0.2, 0.2, 0.2)), Sphere(0.1)
    there = Pose(so3.exp(np.array([0.0, 0.0, 0.3])), np.array([1.0, 0.0, 0.0]))
    nearest = distance(box, Pose.identity(), ball, there)
    print(nearest.distance, dalembert.mass_properties(box, density=1000.0), cos(0.5))
    bicycle = mechanism.mechanism("double-four-bar").build()
    print(bicycle.nv, dalembert.compare(robot, robot).same)


def files(robot: Robot, folder: Path) -> None:
    """What is written is read back."""
    robot.save(folder / "arm.urdf")
    write_table(folder / "log.csv", {"t": np.arange(3.0)})
    print(dalembert.load(folder / "arm.urdf").name, read_table(folder / "log.csv").columns)
    try:
        dalembert.load("no such robot")
    except DalembertError as error:
        print(error)


def main() -> None:
    """All of it."""
    robot = built()
    q, v = np.array([0.3]), np.zeros(1)
    dynamics(robot, q, v)
    motions(robot, q, v)
    people(robot, q, v)
    geometry(robot)
    with TemporaryDirectory() as folder:
        files(robot, Path(folder))


if __name__ == "__main__":
    main()
