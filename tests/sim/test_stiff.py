"""The adaptive stiff integrator beside SciPy's, and where explicit ones need a thousand times as many steps."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, elements, load, math
from tolerances import COARSE_RUN, INTEGRATED, SETTLED

STIFFNESS, DAMPING, REST = np.array([2e6, 5e5]), np.array([4e3, 1e3]), np.array([0.4, -0.3])
START, RATE = np.array([0.3, 0.2]), np.array([1.0, -0.5])


@pytest.fixture(scope="module")
def arm():
    return load("2r").without("friction", "damping")


def springs(robot):
    numbers = zip(robot.joints, STIFFNESS, REST, DAMPING, strict=True)
    return [elements.Spring(joint.name, k, rest, d) for joint, k, rest, d in numbers]


def test_a_stiff_arm_with_a_law_that_changes_with_time_is_where_scipy_has_it(arm) -> None:
    integrate = pytest.importorskip("scipy.integrate")

    def law(t, q, v):
        return 5e3 * np.array([np.cos(9.0 * t), np.sin(7.0 * t)])

    def slope(t, y):
        q, v = y[:2], y[2:]
        tau = STIFFNESS * (REST - q) - DAMPING * v + 5e3 * np.array([np.cos(9.0 * t), np.sin(7.0 * t)])
        return np.concatenate([v, arm.forward_dynamics(q, v, tau)])

    expected = integrate.solve_ivp(
        slope, (0.0, 0.5), [*START, *RATE], "Radau", rtol=1e-9, atol=1e-12, t_eval=[0.013, 0.2, 0.5]
    ).y.T

    def traced(t, q, v):
        return np.array([5e3 * math.cos(9.0 * t), 5e3 * math.sin(7.0 * t)])

    times = [0.013, 0.2, 0.5]
    for k, end in enumerate(times):
        run = arm.simulate(START, RATE, end, traced, "rodas", elements=springs(arm), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(run.q[-1], expected[k, :2], atol=INTEGRATED)
        np.testing.assert_allclose(run.v[-1], expected[k, 2:], atol=COARSE_RUN)


def test_stiffness_does_not_shorten_its_steps(arm) -> None:
    calm = arm.simulate(START, 0 * RATE, 2.0, None, "rodas", elements=springs(arm), record=None, rtol=1e-6)
    explicit = arm.simulate(START, 0 * RATE, 2.0, None, "rk45", elements=springs(arm), record=None, rtol=1e-6)
    np.testing.assert_allclose(calm.q[-1], explicit.q[-1], atol=INTEGRATED)
    assert calm.steps < 500 and explicit.steps > 20 * calm.steps


@pytest.mark.parametrize("decay", [1e4, 1e8, 1e12])
def test_what_decays_within_a_step_is_gone_after_it(decay: float) -> None:
    """L-stability: a wheel in oil of any viscosity, in fixed steps; a method that is A-stable alone would ring."""
    builder = ModelBuilder("wheel", gravity=(0, 0, 0))
    builder.add_body("wheel", parent="world", joint="continuous", mass=1.0, inertia=np.eye(3), damping=decay)
    run = builder.build().simulate([0.0], [1.0], 0.1, integrator="rodas", step=0.1, record=None)
    assert abs(run.v[-1, 0]) < 1000.0 / decay


def test_states_of_elements_and_closed_loops_take_part() -> None:
    """A flexible joint with a light rotor, and the links of a delta robot on stiff springs."""
    arm = load("2r").without("friction")
    joint = elements.FlexibleJoint(arm.joints[1].name, stiffness=1e5, inertia=1e-4, damping=1.0)
    ends = [
        arm.simulate(START, RATE, 0.2, [1.0, 0.5], name, elements=[joint], rtol=1e-8, atol=1e-9).q[-1]
        for name in ("rodas", "rk45")
    ]
    np.testing.assert_allclose(*ends, atol=INTEGRATED)
    delta = load("delta").without("friction")
    stiff = [elements.Spring(each.name, 1e4, 0.3, 50.0) for each in delta.joints[:1]]
    ends = [
        delta.simulate(delta.neutral(), np.zeros(delta.nv), 0.1, None, name, elements=stiff, rtol=1e-8).q[-1]
        for name in ("rodas", "rk45")
    ]
    np.testing.assert_allclose(*ends, atol=10 * SETTLED)


def test_a_law_without_slopes_is_refused_with_the_cure(arm) -> None:
    with pytest.raises(DalembertError, match=r"'rodas' needs the slopes of the torque law.*implicit-midpoint"):
        arm.simulate(START, RATE, 0.1, lambda t, q, v: np.array([float(q[0]), 0.0]), "rodas")
