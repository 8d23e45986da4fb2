"""Regulators about equilibria, and robots that are swung up to unstable ones."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, control, load
from tolerances import COARSE_RUN, COMPUTED, REORDERED, SOLVER_DEFAULT


def pendulum(*efforts, length=1.0):
    """Links of 1 kg and 1 m that hang down at q = 0, with the motors' limits [N·m]."""
    builder, parent = ModelBuilder("pendulum"), "world"
    for k, effort in enumerate(efforts):
        builder.add_body(f"link{k}", parent=parent, joint="continuous", joint_name=f"joint{k}", axis=(0, 1, 0),
                         xyz=(0, 0, -length if k else 0), mass=1.0, com=(0, 0, -0.5 * length),
                         inertia=np.diag([1 / 12, 1 / 12, 1e-3]), effort_limit=effort)  # fmt: skip
        parent = f"link{k}"
    return builder.build()


def test_the_riccati_equation_of_a_double_integrator() -> None:
    """P = [[√3, 1], [1, √3]] for Q = 1, R = 1."""
    P = control.riccati(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))
    np.testing.assert_allclose(P, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], atol=REORDERED)


def test_a_regulator_is_what_scipy_says() -> None:
    linalg = pytest.importorskip("scipy.linalg")
    robot = load("acrobot")
    law = control.lqr(robot, [np.pi, 0.0], Q=[10.0, 5.0, 1.0, 2.0], R=0.5)
    A, B = robot.linearize(law.q, np.zeros(2), law.tau, actuated="elbow")
    P = linalg.solve_continuous_are(A, B, np.diag([10.0, 5.0, 1.0, 2.0]), 0.5 * np.eye(1))
    np.testing.assert_allclose(law.P, P, rtol=SOLVER_DEFAULT)
    assert law.poles.real.max() < 0.0
    np.testing.assert_array_equal(law.K[0], 0.0)


def test_the_cost_to_go_is_what_a_run_pays() -> None:
    robot = load("cartpole").without("friction", "damping")
    law = control.lqr(robot, [0.0, 0.0])
    q, v = np.array([1e-3, -1e-3]), np.zeros(2)
    run = robot.simulate(q, v, 20.0, law, rtol=1e-11, atol=1e-14, record=2e-3)
    x = np.concatenate([run.q, run.v], axis=1)
    rate = (x**2).sum(axis=1) + run.tau[:, 0] ** 2
    paid = float(np.sum(0.5 * (rate[1:] + rate[:-1]) * np.diff(run.t)))
    assert abs(paid / law.cost(q, v) - 1.0) < 10 * COARSE_RUN


@pytest.mark.parametrize(
    "robot, goal, start, weights, options",
    [
        (load("cartpole"), [0.0, 0.0], [0.0, np.pi - 0.05], {"Q": [1.0, 10.0, 1.0, 1.0], "R": 0.1}, {}),
        (load("acrobot"), [np.pi, 0.0], [0.05, 0.0], {}, {}),
        (pendulum(2.0), [np.pi], [0.05], {}, {}),
        (pendulum(25.0, 0.0), [np.pi, 0.0], [0.05, 0.0], {}, {"energy": 1.0, "frequency": 3.0, "damping_ratio": 0.7}),
    ],
    ids=["cart-pole", "acrobot", "pendulum", "double pendulum"],
)
def test_swung_up_and_held(robot, goal, start, weights, options) -> None:
    law = control.energy_shaping(robot, goal, hold=control.lqr(robot, goal, **weights), **options)
    run = robot.simulate(start, np.zeros(robot.nv), 40.0, law, "rk4", 2e-3, friction="smooth")
    assert not any("called back" in line for line in run.log)
    assert np.abs(run.tau).max() <= np.max(robot.limits.effort) * (1 + COMPUTED)
    last = run.t > 37.0
    off = law.hold.state(run.q[-1], run.v[-1])
    assert np.abs(off).max() < 2e-2
    assert np.abs(run.v[last]).max() < 5e-2
    if robot.name == "cartpole":
        assert np.abs(run.q[:, 0]).max() < 2.4  # on its rail


def test_the_region_of_attraction_is_bounded_by_the_motor() -> None:
    robot = pendulum(2.0)
    hold = control.lqr(robot, [np.pi])
    angles = np.linspace(-1.2, 1.2, 25)
    held = control.region_of_attraction(hold, [np.pi], np.pi + angles[:, None], np.zeros((25, 1)))
    least = np.arcsin(2.0 / (9.81 * 0.5))  # where the motor just carries the link
    assert held[np.abs(angles) < 0.9 * least].all()
    assert not held[np.abs(angles) > 1.1 * least].any()


def test_bad_input_is_named() -> None:
    acrobot = load("acrobot")
    with pytest.raises(DalembertError, match=r"not an equilibrium .* joint 'shoulder'"):
        control.lqr(acrobot, [1.0, 0.0])
    with pytest.raises(DalembertError, match=r"no motor can reach .* joint .loose"):
        control.lqr(weightless(), [0.0, 0.0])
    with pytest.raises(DalembertError, match="R is not symmetric and positive definite"):
        control.lqr(acrobot, [np.pi, 0.0], R=0.0)
    with pytest.raises(DalembertError, match=r"Q has shape \(3,\)"):
        control.lqr(acrobot, [np.pi, 0.0], Q=[1.0, 2.0, 3.0])
    with pytest.raises(DalembertError, match="no motor"):
        control.lqr(pendulum(0.0), [np.pi])
    with pytest.raises(DalembertError, match="energy is -1"):
        control.energy_shaping(acrobot, [np.pi, 0.0], energy=-1.0)


def weightless():
    """Two slides at right angles, the second without a motor: nothing couples them."""
    builder = ModelBuilder("table", gravity=(0, 0, 0))
    builder.add_body("x", parent="world", joint="prismatic", joint_name="driven", axis=(1, 0, 0), mass=1.0,
                     inertia=np.eye(3) * 0.01, effort_limit=1.0)  # fmt: skip
    builder.add_body("y", parent="x", joint="prismatic", joint_name="loose", axis=(0, 1, 0), mass=1.0,
                     inertia=np.eye(3) * 0.01, effort_limit=0.0)  # fmt: skip
    return builder.build()
