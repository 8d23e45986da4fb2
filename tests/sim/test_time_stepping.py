"""Stops and dry friction in rollouts and steppers: closed forms, `simulate`'s located events, exact sticking."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import DalembertError, Event, ModelBuilder, Robot, Rollout, SimulationError, elements, load
from dalembert.math import sqrt
from dalembert.sim.integrators import INTEGRATORS
from dalembert.sim.rollout.live import prepared
from dalembert.sim.rollout.motions import Motions
from dalembert.sim.rollout.stepping import StepParts, Stepping
from linkages import four_bar
from tolerances import COMPUTED, INTEGRATED, ITERATED, MILLISECOND_STEPS, REORDERED, ROUNDING

FLOAT32_STEPS = 0.01  # of a small speed summed up in float32 over 10 000 steps
STRIBECK = 0.01  # of a slide that starts within a step

STEP = 1e-3


def slides(count: int = 1, gravity: float = 0.0, **effects) -> Robot:
    """Bodies of 1 kg on slides along z, each by itself."""
    builder = ModelBuilder("slides", gravity=(0.0, 0.0, -gravity))
    for k in range(count):
        builder.add_body(
            f"body{k}", parent="world", joint="prismatic", joint_name=f"x{k}", mass=1.0, inertia=np.eye(3), **effects
        )
    return builder.build()


def folded(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """The place of an elastic puck between walls that would be at x without them."""
    y = np.mod(x - low, 2.0 * (high - low))
    return low + np.minimum(y, 2.0 * (high - low) - y)


def test_elastic_pucks_between_walls_keep_their_energy() -> None:
    robot, rng = slides(3), np.random.default_rng(0)
    q, v = rng.uniform(-0.4, 0.4, (20, 3)), rng.uniform(-2.0, 2.0, (20, 3))
    q[0], v[0] = 0.2, 1.0  # all three meet at the same instant
    walls = [elements.HardStop(f"x{k}", 1.0, lower=-0.5, upper=0.5) for k in range(3)]
    run = robot.rollout(q, v, step=STEP, steps=5000, elements=walls, every=500)
    np.testing.assert_allclose(np.abs(run.v), np.abs(v)[:, None] * np.ones(run.v.shape), rtol=COMPUTED)
    assert np.abs(run.q).max() <= 0.5
    bounces = np.abs(v)[:, None] * run.t[:, None] + 1.0
    errors = np.abs(run.q - folded(q[:, None] + v[:, None] * run.t[:, None], -0.5, 0.5))
    assert np.all(errors <= 2.0 * STEP * np.abs(v)[:, None] * bounces)  # each bounce may come a step early


def test_a_ball_bounces_to_its_height_for_ever() -> None:
    stop = [elements.HardStop("x0", 1.0, lower=0.0)]
    z = slides(gravity=9.81).rollout([0.5], [0.0], step=STEP, steps=20_000, elements=stop, every=1).q[:, 0]
    tops = z[1:-1][(z[:-2] < z[1:-1]) & (z[1:-1] >= z[2:])]
    assert len(tops) > 25 and z.min() >= 0.0
    np.testing.assert_allclose(tops, 0.5, rtol=COMPUTED)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_first_order_towards_located_events(restitution: float) -> None:
    """A ball that bounces and comes to rest while a spring pulls at it."""
    robot = slides(gravity=9.81)
    parts = [elements.HardStop("x0", restitution, lower=0.0), elements.Spring("x0", 20.0, 0.3)]
    exact = robot.simulate([0.4], [1.0], 0.7, elements=parts, rtol=1e-11, atol=1e-12, record=None).q[-1, 0]
    errors = []
    for steps in (700, 1400, 2800, 5600):
        end = robot.rollout([0.4], [1.0], step=0.7 / steps, steps=steps, elements=parts)
        errors.append(abs(end.q[0] - exact))
    assert errors[-1] < 0.5 * 0.7 / 5600 * 10 and errors[-1] < 0.4 * errors[0]


def test_a_fall_ends_on_the_stop_and_stays() -> None:
    stop = [elements.HardStop("x0", 0.5, lower=0.0)]
    end = slides(gravity=9.81).rollout([0.5], [0.0], step=STEP, steps=5000, elements=stop)
    assert abs(end.q[0]) < ROUNDING and abs(end.v[0]) < ROUNDING
    up = slides(gravity=9.81).rollout([0.0], [0.0], np.array([20.0]), step=STEP, steps=1000, elements=stop)
    assert up.q[0] == pytest.approx(0.5 * (20.0 - 9.81), rel=2 * MILLISECOND_STEPS)  # it does not stick to the stop


def test_a_start_beyond_a_stop_comes_back_slowly() -> None:
    stop = [elements.HardStop("x0", 0.9, lower=0.0)]
    run = slides().rollout([-0.02], [0.0], step=STEP, steps=200, elements=stop, every=1)
    assert not run.v.any() and -INTEGRATED < run.q[-1, 0] <= 0.0 and np.all(np.diff(run.q[:, 0]) >= 0.0)


def test_friction_holds_to_rounding_and_lets_go_above() -> None:
    robot = slides(friction=2.0)
    loads = np.array([[1.998], [-1.998], [2.002], [0.0]])
    end = robot.rollout(np.zeros(1), np.zeros(1), loads, step=STEP, steps=100_000)
    assert np.abs(end.q[[0, 1, 3]]).max() < ROUNDING
    assert end.v[2, 0] == pytest.approx(0.002 * 100.0, rel=ITERATED)
    smooth = robot.rollout(np.zeros(1), np.zeros(1), loads, step=STEP, steps=1000, friction="smooth")
    assert np.abs(smooth.q[0]).max() > 1e-4  # what it is not
    single = robot.rollout(*(np.zeros(1, np.float32),) * 2, loads.astype(np.float32), step=STEP, steps=10_000)
    assert single.q.dtype == np.float32 and np.abs(single.q[[0, 1, 3]]).max() < ITERATED
    assert single.v[2, 0] == pytest.approx(0.02, rel=FLOAT32_STEPS)


def test_a_sliding_body_stops_where_it_should() -> None:
    stepper = slides(friction=2.0).stepper(STEP)
    q, v = np.zeros(1), np.ones(1)
    for _ in range(1000):
        q, v = stepper(q, v)
    assert q[0] == pytest.approx(0.25, abs=STEP) and v[0] == 0.0


def test_static_friction_above_that_of_sliding() -> None:
    """It holds up to the static force, then slides against less."""
    robot = slides()
    rough = [elements.Friction("x0", 1.0, static=2.0, stribeck_speed=1e-3)]
    loads = np.array([[1.99], [2.01]])
    held, gone = robot.rollout(np.zeros(1), np.zeros(1), loads, step=1e-4, steps=20_000, elements=rough).q[:, 0]
    assert abs(held) < ROUNDING
    exact = robot.simulate([0.0], [0.0], 2.0, np.array([2.01]), elements=rough, record=None).q[-1, 0]
    assert gone == pytest.approx(exact, rel=STRIBECK)


def test_an_arm_loaded_below_its_friction_stays() -> None:
    """All joints at once, coupled by the inertia; one is loaded beyond, and moves against what friction takes."""
    robot = load("puma560")
    friction = np.array([body.joint.friction[0] for body in robot.model.bodies if body.joint.nv])
    q = np.array([0.3, -0.8, 0.5, 0.2, 0.4, 0.1])
    tau = robot.gravity(q) + 0.999 * friction * np.array([1, -1, 1, -1, 1, -1])
    end = robot.rollout(q, np.zeros(6), tau, step=STEP, steps=10_000)
    assert np.abs(end.q - q).max() < REORDERED and np.abs(end.v).max() < REORDERED
    tau[0] += 0.01 * friction[0]
    moved = robot.rollout(q, np.zeros(6), tau, step=STEP, steps=1000)
    assert moved.v[0] > 1e-6


def test_stop_and_friction_of_one_joint() -> None:
    """Rows that say the same: on the stop, friction and stop share the load in any way, and the body rests."""
    robot = slides(gravity=9.81, friction=3.0)
    stop = [elements.HardStop("x0", 0.0, lower=0.0)]
    end = robot.rollout([0.2], [-1.0], step=STEP, steps=2000, elements=stop)
    assert abs(end.q[0]) < COMPUTED and abs(end.v[0]) < COMPUTED
    up = robot.rollout(end.q, end.v, np.array([[9.81 + 2.9], [9.81 + 3.1]]), step=STEP, steps=1000, elements=stop)
    assert abs(up.q[0, 0]) < COMPUTED and up.q[1, 0] == pytest.approx(0.05, rel=2 * MILLISECOND_STEPS)
    single = robot.rollout(np.float32([0.2]), np.float32([-1.0]), step=STEP, steps=2000, elements=stop)
    assert single.q.dtype == np.float32 and abs(single.q[0]) < INTEGRATED and abs(single.v[0]) < INTEGRATED


def test_stops_and_friction_within_a_loop() -> None:
    """Rows of three joints on one freedom, while the loop stays closed; near `simulate` with located events."""
    robot = four_bar()
    q, v = robot.close_loops(np.deg2rad([60.0, 110.0, 80.0]), np.array([0.5, 0.0, 0.0]))
    parts = [elements.HardStop("joint_A", 0.5, lower=float(q[0]) - 0.1, upper=float(q[0]) + 0.1)]
    parts += [elements.Friction(f"joint_{name}", 20.0) for name in "ABC"]
    exact = robot.simulate(q, v, 0.4, elements=parts, record=None)
    assert len(exact.events) >= 1
    errors = []
    for steps in (400, 800, 1600):
        end = robot.rollout(q, v, step=0.4 / steps, steps=steps, elements=parts)
        errors.append(np.abs(end.q - exact.q[-1]).max())
        closed = robot.close_loops(end.q, end.v)
        np.testing.assert_allclose(end.q, closed.q, atol=INTEGRATED)
    assert errors[-1] < 2 * MILLISECOND_STEPS and errors[-1] < 0.5 * errors[0]


def test_lanes_do_not_depend_on_their_neighbours() -> None:
    robot, rng = load("puma560"), np.random.default_rng(1)
    q, v = robot.random(rng, 16), 0.3 * rng.normal(size=(16, 6))
    stops = [elements.HardStop(joint.name, 0.3, lower=-3.0, upper=3.0) for joint in robot.joints[:3]]
    q = np.clip(q, -2.9, 2.9)
    together = robot.rollout(q, v, step=STEP, steps=300, elements=stops)
    for k in (0, 5, 15):
        alone = robot.rollout(q[k], v[k], step=STEP, steps=300, elements=stops)
        np.testing.assert_array_equal(alone.q, together.q[k])
        np.testing.assert_array_equal(alone.v, together.v[k])
    np.testing.assert_array_equal(robot.rollout(q, v, step=STEP, steps=300, elements=stops, threads=2).v, together.v)
    step, state = robot.stepper(STEP, elements=stops), (q[3], v[3])
    for _ in range(300):
        state = step(*state)
    np.testing.assert_allclose(state[0], together.q[3], atol=COMPUTED)


def test_gradients_are_those_of_differences() -> None:
    """While one joint slides, one sticks and one rests on a stop: in states and torques."""
    robot = slides(3, gravity=9.81, friction=1.0)
    stop = (elements.HardStop("x2", 0.0, lower=0.0),)
    model, parts = prepared("test", robot.model, stop, INTEGRATORS["semi-implicit"], None)
    motions = Motions(
        Stepping(StepParts(model, parts, None, INTEGRATORS["semi-implicit"], (), True, False)), 0.01, 6, 1
    )
    given = [np.array([[0.1, 0.2, 0.0]]), np.array([[0.5, 0.0, 0.0]]), np.array([[9.0, 9.5, 0.0]])]
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=x.shape) for x in motions(*given)]

    def total(arrays: list[np.ndarray]) -> float:
        return float(sum((w * x).sum() for w, x in zip(weights, motions(*arrays), strict=True)))

    for k, slopes in enumerate(motions.pullback()(*given, *(w.reshape(1, -1) for w in weights))):
        for j in range(slopes.shape[-1]):
            if (k, j) in ((0, 2), (1, 1), (1, 2)):
                continue  # at the stop and at rest the motion has no slope to both sides
            nudge = 1e-6 * np.eye(slopes.shape[-1])[j]
            plus, minus = (total([*given[:k], given[k] + d, *given[k + 1 :]]) for d in (nudge, -nudge))
            assert slopes[0, j] == pytest.approx((plus - minus) / 2e-6, abs=INTEGRATED), (k, j)


def test_what_steps_cannot_take_is_told() -> None:
    robot = slides(friction=1.0)
    stop = [elements.HardStop("x0", lower=0.0)]
    for arguments, said in (
        ({"integrator": "rk4", "elements": stop}, r"HardStop\(x0\) begins and ceases to act.*'semi-implicit'"),
        ({"integrator": "rk4", "friction": "dry"}, "friction='dry' needs integrator='semi-implicit' or .*'rk4'"),
        ({"friction": "wet"}, "unknown friction 'wet'"),
        ({"parameters": {"friction": np.ones(1)}, "friction": "dry"}, "live friction is smooth"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.rollout([0.0], [0.0], **arguments)
    slow = robot.rollout([0.0], [0.0], np.array([0.9]), step=STEP, steps=10, parameters={"friction": np.array([2.0])})
    assert np.isfinite(slow.q).all()


def test_events_to_the_resolution_of_a_step() -> None:
    """Thrown up at several speeds: the top is logged, the floor ends the motion; one never comes down in time."""
    robot, v = slides(gravity=9.81), np.array([[1.0], [2.0], [3.0], [30.0]])
    events = [
        Event("top", lambda t, q, v: v[0], -1),
        Event("floor", lambda t, q, v: q[0], -1, terminal=True),
        Event("late", lambda t, q, v: t - 0.7, 1),
    ]
    end = robot.rollout([0.0], v, step=STEP, steps=1000, events=events)
    t, q, _ = end  # still three things
    assert isinstance(end, Rollout) and t == pytest.approx(1.0)
    top, floor, late = end.events.T
    np.testing.assert_allclose(top[:3], v[:3, 0] / 9.81, atol=STEP)
    np.testing.assert_allclose(floor[:3], 2.0 * v[:3, 0] / 9.81, atol=2.0 * STEP)
    assert np.isnan([top[3], floor[3]]).all() and np.isnan(late[:3]).all() and late[3] == pytest.approx(0.7)
    assert np.all(np.abs(q[:3]) < 3.1 * STEP) and q[3] > 10.0  # where they landed they rest
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(end)).events, end.events)
    records = robot.rollout([0.0], v, step=STEP, steps=1000, events=events, every=100)
    np.testing.assert_array_equal(records.events, end.events)
    assert robot.rollout([0.0], [1.0], steps=10).events is None


def test_zero_counts_once_and_nan_is_an_error() -> None:
    robot = slides()
    start = Event("start", lambda t, q, v: q[0])  # it starts at zero: that does not count
    exact = Event("exact", lambda t, q, v: q[0] - 0.25, terminal=True)  # zero exactly at the end of a step
    end = robot.rollout([0.0], [0.5], step=0.125, steps=16, events=[start, exact])
    assert np.isnan(end.events[0]) and end.events[1] == 0.5 and end.q[0] == 0.25
    with pytest.raises(SimulationError, match=r"event 'root' of motion 0 is NaN between t = 0\.4 and 0\.6"):
        robot.rollout(
            [0.0], [1.0], step=0.1, steps=10, every=2, events=[Event("root", lambda t, q, v: sqrt(0.5 - q[0]) + 1.0)]
        )
    with pytest.raises(DalembertError, match="events: expected Events, got str"):
        robot.rollout([0.0], [1.0], events=["floor"])
