"""Motions of five seconds, the same as MuJoCo's and as those of SciPy's DOP853 on Pinocchio's dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert import Robot, load, robots
from dalembert.dynamics import algorithms
from dalembert.model.bundled import path
from peers.example_robots import peer
from peers.mujoco_twin import Twin as MujocoTwin
from peers.pinocchio_twin import Twin as PinocchioTwin
from tolerances import COARSE_RUN, INTEGRATED

mj = peer("mujoco")

DURATION = 5.0
STIFFNESS, DAMPING = 20.0, 2.0  # of the joints, without which small differences would grow: free arms are chaotic


def held(name: str) -> tuple[Robot, np.ndarray, np.ndarray]:
    """A bare robot whose own joints have springs and dampers, and a state off their rest; a free base tumbles."""
    assert name in robots()
    model = load(name).without("friction", "damping", "armature", "springs").model
    rng = np.random.default_rng(0)
    q, v = algorithms.neutral(model), 0.3 * rng.normal(size=model.nv)
    bodies = []
    for body in model.bodies:
        n = body.joint.nv
        if n == 1:
            q[body.q] = 0.5 * rng.uniform(-1.0, 1.0, 1)
            values = {"stiffness": np.full(1, STIFFNESS), "damping": np.full(1, DAMPING), "rest": np.zeros(1)}
            body = replace(body, joint=body.joint.with_values(armature=np.full(1, 0.1), **values))
        bodies.append(body)
    return Robot(replace(model, bodies=tuple(bodies))), q, v


@pytest.mark.parametrize("name", ["ur5", "panda", "quadruped"])
def test_as_scipy_on_pinocchio(name: str) -> None:
    robot, q, v = held(name)
    model = robot.model
    twin = PinocchioTwin(path(name).read_text(), robot, floating=robot.joints[0].kind == "free")
    single = np.array([body.joint.nv == 1 for body in model.bodies for _ in range(body.joint.nv)])
    index = np.concatenate([np.arange(model.nq)[body.q] for body in model.bodies if body.joint.nv == 1])

    def rate(t, y):
        q, v = y[: model.nq], y[model.nq :]
        tau = np.zeros(model.nv)
        tau[single] = -STIFFNESS * q[index] - DAMPING * v[single]
        return np.concatenate(
            [algorithms.coordinate_rate(model, q, v), twin.forward_dynamics(robot.normalize(q), v, tau)]
        )

    theirs = solve_ivp(rate, (0.0, DURATION), np.concatenate([q, v]), method="DOP853", rtol=1e-9, atol=1e-10)
    run = robot.simulate(q, v, DURATION, rtol=1e-9, atol=1e-10, record=DURATION)
    assert np.abs(run.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(run.q[-1], robot.normalize(theirs.y[: model.nq, -1]), atol=INTEGRATED)
    np.testing.assert_allclose(run.v[-1], theirs.y[model.nq :, -1], atol=INTEGRATED)


@pytest.mark.parametrize("name", ["ur5", "panda", "quadruped"])
def test_as_mujoco(name: str) -> None:
    robot, q, v = held(name)
    twin = MujocoTwin(robot.model)
    twin.model.opt.integrator, twin.model.opt.timestep = mj.mjtIntegrator.mjINT_RK4, 5e-4
    twin.data.qpos[:], twin.data.qvel[:] = twin.q(q), twin.T(q) @ v
    mj.mj_step(twin.model, twin.data, nstep=round(DURATION / 5e-4))
    run = robot.simulate(q, v, DURATION, record=DURATION)
    np.testing.assert_allclose(twin.q(run.q[-1]), twin.data.qpos, atol=COARSE_RUN)
    np.testing.assert_allclose(twin.T(run.q[-1]) @ run.v[-1], twin.data.qvel, atol=COARSE_RUN)
