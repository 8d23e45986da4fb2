"""Controllers with discrete state, delays and several rates inside compiled steps."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Sampled, SimulationError, control, load, math
from tolerances import ACCUMULATED, COMPUTED, CONVERGED, DEFAULT_RUN, INTEGRATED, ITERATED, REACHED, SETTLED

Q, V, GOAL = np.array([0.4, -0.3]), np.array([0.1, 0.2]), np.array([0.6, 0.2])
PERIOD, STEP = 4e-3, 1e-3


@pytest.fixture(scope="module")
def arm():
    return load("2r").without("friction", "damping")


def integral(t, q, v, state):
    total = state["sum"] + PERIOD * (GOAL - q)
    return 8.0 * (GOAL - q) - 1.0 * v + 6.0 * total, {"sum": total, "asked": state["asked"] + 1.0}


START = {"sum": np.zeros(2), "asked": 0.0}


def loop(arm, law, duration, delay=0.0, state=None, step=STEP, period=PERIOD):
    """The same, written down as a loop over steps in Python."""
    stepper = arm.stepper(step, "rk4")
    q, v, answers, path = Q, V, [], [Q]
    state = START if state is None else state
    for k in range(round(duration / step)):
        if k % round(period / step) == 0:
            tau, state = law(k * step, q, v, state)
            answers.append((k * step + delay, tau))
        acting = [tau for begin, tau in answers if begin <= k * step + 1e-9]
        q, v = stepper(q, v, acting[-1] if acting else np.zeros(2))
        path.append(q)
    return np.array(path)


@pytest.mark.parametrize("delay", [0.0, 2e-3, 4e-3, 11e-3])
def test_all_ways_give_the_same_motion(arm, delay) -> None:
    controller = Sampled(integral, PERIOD, delay, state=START)
    path = loop(arm, integral, 0.2, delay)
    run = arm.simulate(Q, V, 0.2, controller, "rk4", STEP, record=STEP)
    assert any("inside the compiled step" in line for line in run.log)
    np.testing.assert_allclose(run.q, path, atol=COMPUTED)
    rolled = arm.rollout(Q, V, controller, STEP, 200, "rk4", every=1)
    np.testing.assert_allclose(rolled.q, path[1:], atol=COMPUTED)
    stepper = arm.stepper(STEP, "rk4", torque=controller)
    q, v, memory = Q, V, stepper.start(Q, V)
    for _ in range(200):
        q, v, memory = stepper(q, v, memory)
    np.testing.assert_allclose(q, path[-1], atol=COMPUTED)

    def python(t, q, v, state):
        return integral(float(t), q, v, state)  # cannot be traced

    called = arm.simulate(Q, V, 0.2, Sampled(python, PERIOD, delay, state=START), "rk4", STEP, record=STEP)
    assert any("called from Python" in line for line in called.log)
    np.testing.assert_allclose(called.q, path, atol=COMPUTED)
    np.testing.assert_allclose(called.tau, run.tau, atol=CONVERGED)
    assert run.audit().relative < INTEGRATED


def test_records_far_apart_and_uneven_runs(arm) -> None:
    controller = Sampled(integral, PERIOD, 2e-3, state=START)
    path = loop(arm, integral, 0.2, 2e-3)
    for record in (0.1, 0.02, None):
        run = arm.simulate(Q, V, 0.2, controller, "rk4", STEP, record=record)
        np.testing.assert_allclose(run.q[-1], path[-1], atol=COMPUTED)
        np.testing.assert_array_equal(run.tau[0], np.zeros(2))
    odd = arm.simulate(Q, V, 0.2003, controller, "rk4", STEP)
    assert any("called from Python" in line and "multiple" in line for line in odd.log)
    adaptive = arm.simulate(Q, V, 0.2, controller)
    np.testing.assert_allclose(adaptive.q[-1], path[-1], atol=DEFAULT_RUN)


def test_three_rates(arm) -> None:
    """A planner, an outer loop and torques, each with its own rate; the faster ones take what the slower ones hold."""
    planner = Sampled(lambda t, q, v: GOAL * (1.0 - math.cos(4.0 * t)), 20e-3)

    def outer(t, q, v, state, plan):
        state = 0.8 * state + 0.2 * plan
        return 100.0 * (state - q) - 16.0 * v, state

    accelerate = Sampled(outer, 2e-3, 1e-3, state=lambda q, v: q, inputs={"plan": planner})
    torque = Sampled(lambda t, q, v, a: arm.inverse_dynamics(q, v, a), 1e-3, inputs={"a": accelerate})
    fast = arm.simulate(Q, V, 0.5, torque, "rk4", 5e-4)
    assert any("inside the compiled step" in line for line in fast.log)

    def numbers(t, q, v, a):
        return arm.inverse_dynamics(q, v, a) if float(t) >= 0.0 else None

    slow = arm.simulate(Q, V, 0.5, Sampled(numbers, 1e-3, inputs={"a": accelerate}), "rk4", 5e-4)
    assert any("called from Python" in line for line in slow.log)
    np.testing.assert_allclose(slow.q, fast.q, atol=ACCUMULATED)
    batch = arm.rollout(np.stack([Q, Q + 0.1, Q]), V, torque, 5e-4, 1000, "rk4")
    np.testing.assert_allclose(batch.q[0], fast.q[-1], atol=ACCUMULATED)
    np.testing.assert_array_equal(batch.q[0], batch.q[2])
    assert np.abs(batch.q[1] - batch.q[0]).max() > 1e-4


def test_a_slow_controller_is_unstable_where_a_fast_one_is_not(arm) -> None:
    law = control.computed_torque(arm, GOAL, 40.0)
    fast = arm.rollout(Q, V, Sampled(law, 1e-3), 1e-3, 1000)
    slow = arm.rollout(Q, V, Sampled(law, 60e-3), 1e-3, 1000, check=False)
    assert np.abs(fast.q - GOAL).max() < SETTLED
    assert not np.abs(slow.q - GOAL).max() < 1e-1


def test_gradients_in_the_gains(arm) -> None:
    """Of a cost through a rollout, beside differences: plain laws and sampled ones with a state."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def pid(t, q, v, state, gain):
        state = state + PERIOD * (GOAL - q)
        return gain[0] * (GOAL - q) - gain[1] * v + gain[2] * state, state

    def cases():
        yield Sampled(pid, PERIOD, 2e-3, state=np.zeros(2)), "gain", np.array([60.0, 12.0, 40.0])
        yield control.computed_torque(arm, GOAL), "frequency", np.array([8.0, 9.0])

    for torque, name, value in cases():

        def cost(x, torque=torque, name=name):
            path = arm.rollout(jnp.asarray(Q), jnp.asarray(V), torque, STEP, 100, "rk4", every=1, parameters={name: x})
            return jnp.sum((path.q - GOAL) ** 2) + 1e-3 * jnp.sum(path.v**2)

        slope = np.asarray(jax.grad(cost)(jnp.asarray(value)))
        for k in range(len(value)):
            h = 1e-5 * value[k] * np.eye(len(value))[k]
            difference = float(cost(value + h) - cost(value - h)) / (2.0 * h[k])
            assert abs(slope[k] - difference) < INTEGRATED * max(abs(difference), 1e-3)


def test_parameters_of_a_law_per_motion(arm) -> None:
    law, rates = control.gravity_pd(arm, GOAL), np.array([[5.0], [20.0]])
    both = arm.rollout(Q, V, law, STEP, 300, parameters={"frequency": rates})
    for k, rate in enumerate((5.0, 20.0)):
        one = arm.rollout(Q, V, control.gravity_pd(arm, GOAL, rate), STEP, 300)
        np.testing.assert_allclose(both.q[k], one.q, atol=COMPUTED)
    with pytest.raises(DalembertError, match="'frequenzy'"):
        arm.rollout(Q, V, law, STEP, 300, parameters={"frequenzy": rates})


def test_bad_controllers_are_named(arm) -> None:
    with pytest.raises(DalembertError, match=r"the period of integral, 0\.0015 s, is not a multiple of the step"):
        arm.rollout(Q, V, Sampled(integral, 1.5e-3, state=START), 1e-3, 10)
    with pytest.raises(DalembertError, match="the delay of integral"):
        arm.rollout(Q, V, Sampled(integral, 4e-3, 1.5e-3, state=START), 1e-3, 10)
    with pytest.raises(SimulationError, match=r"returned ndarray, expected \(tau, state\)"):
        arm.rollout(Q, V, Sampled(lambda t, q, v, s: v, 1e-3, state=0.0), 1e-3, 10)
    with pytest.raises(SimulationError, match=r"state has shape \(2,\) after a sample, expected \(3,\)"):
        arm.rollout(Q, V, Sampled(lambda t, q, v, s: (v, s[:2]), 1e-3, state=np.zeros(3)), 1e-3, 10)
    with pytest.raises(SimulationError, match="another kind of state"):
        arm.rollout(Q, V, Sampled(lambda t, q, v, s: (v, v), 1e-3, state={"a": 0.0}), 1e-3, 10)
    with pytest.raises(SimulationError, match=r"returned shape \(1,\)"):
        arm.rollout(Q, V, Sampled(lambda t, q, v: v[:1], 1e-3), 1e-3, 10)
    with pytest.raises(DalembertError, match="cannot be traced"):
        arm.rollout(Q, V, Sampled(lambda t, q, v: v * float(t), 1e-3), 1e-3, 10)
    with pytest.raises(DalembertError, match="input 'plan' is function"):
        Sampled(integral, 1e-3, inputs={"plan": integral})
    counted = [0.0]

    def counting(t, q, v):
        counted[0] += 1.0
        return -v * counted[0]

    with pytest.raises(SimulationError, match="another answer"):
        arm.rollout(Q, V, Sampled(counting, 1e-3), 1e-3, 10)


def test_an_integral_learns_a_payload_and_does_not_wind_up() -> None:
    arm = load("2r").without("friction", "damping")
    loaded = arm.edit().payload(0.5, frame="tool").done()
    goal = np.array([0.6, -0.4])
    for integral, settled in ((0.0, False), (3.0, True)):
        run = loaded.simulate([0.0, 0.0], [0.0, 0.0], 4.0, control.pid(arm, goal, 10.0, 1.0, integral), "rk4", 1e-3)
        assert any("inside the compiled step" in line for line in run.log)
        assert (np.abs(run.q[-1] - goal).max() < REACHED) == settled
    with pytest.raises(DalembertError, match=r"integral of joint '\w+' is -1, expected 0 or more"):
        control.pid(arm, goal, integral=-1.0)
    with pytest.raises(DalembertError, match="its resonance, 10 Hz, which it would excite"):
        control.pid(arm, goal, 60.0, resonance=10.0)
    far = np.array([3.0, 0.5])  # motors at their limits for a while
    controller = control.pid(arm, far, 20.0, 1.0, 20.0)
    wound = Sampled(lambda t, q, v, s: unclamped(controller.law, t, q, v, s), 1e-3, state=np.zeros(2))
    runs = [arm.simulate([-3.0, 0.0], [0.0, 0.0], 4.0, each, "rk4", 1e-3) for each in (controller, wound)]
    assert all(np.abs(run.tau).max() <= arm.limits.effort.max() for run in runs)
    over = [max(run.q[:, 0].max() - far[0], 0.0) for run in runs]
    assert over[0] < 0.7 * over[1]


def unclamped(law, t, q, v, state):
    """The same law with an integral that always grows."""
    tau, _ = law(t, q, v, state)
    return tau, state + law.period * law.integral * law.inertia * law.frequency**2 * (law.reference.q(t) - q)


def test_encoders_see_counts_and_differences(arm) -> None:
    seen = []

    def law(t, q, v):
        seen.append((q, v))
        return arm.gravity(q) + 10.0 * (GOAL - q) - 2.0 * v

    resolution = 2.0 * np.pi / 4096.0
    exact = arm.rollout(Q, V, Sampled(law, 1e-3, state=()), 1e-3, 400)
    seen.clear()
    counted = control.encoders(arm, law, resolution, 100.0)
    run = arm.simulate(Q, V, 0.4, counted, "semi-implicit", 1e-3)
    assert any("inside the compiled step" in line for line in run.log)
    assert 1e-7 < np.abs(run.q[-1] - exact.q).max() < 20.0 * resolution
    _, state = counted.law(0.0, Q, V, counted.state(Q, V))
    np.testing.assert_allclose(state["q"] / resolution, np.round(Q / resolution), atol=ITERATED)
    with pytest.raises(DalembertError, match="quaternion"):
        control.encoders(load("quadruped"), law, 1e-3)


def test_controllers_are_traced_once_and_again_when_they_change(monkeypatch) -> None:
    """A second run with the same laws traces nothing; one with other numbers in the same code does."""
    from dalembert.sim.system import sampling

    traced = []
    begin = sampling.Sampling.__init__

    def counted(self, *arguments, **keywords):
        traced.append(1)
        begin(self, *arguments, **keywords)

    monkeypatch.setattr(sampling.Sampling, "__init__", counted)
    arm, gain = load("2r"), np.array([30.0])

    def law(t, q, v):
        return arm.gravity(q) - gain[0] * q - 4.0 * v

    def end(stiffness: float) -> np.ndarray:
        gain[0] = stiffness
        return arm.rollout([0.3, 0.2], [0.0, 0.0], Sampled(law, 2e-3, state=()), 1e-3, 100).q

    soft, again, stiff = end(30.0), end(30.0), end(60.0)
    np.testing.assert_array_equal(soft, again)
    assert np.abs(soft - stiff).max() > 1e-3 and len(traced) == 2
    hold = control.gravity_pd(arm, [0.1, 0.1], 10.0)
    first = arm.rollout([0.3, 0.2], [0.0, 0.0], hold, 1e-3, 100).q
    other = arm.rollout([0.3, 0.2], [0.0, 0.0], control.gravity_pd(arm, [0.1, 0.1], 20.0), 1e-3, 100).q
    assert np.abs(first - other).max() > 1e-3
