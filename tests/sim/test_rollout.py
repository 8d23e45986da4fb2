"""Rollouts: the same motions as single runs, the same bits however they are split."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Sampled, SimulationError, elements, load
from dalembert.math import where
from dalembert.sim.integrators import INTEGRATORS
from dalembert.sim.rollout.motions import Motions
from dalembert.sim.rollout.stepping import StepParts, Stepping
from tolerances import ACCUMULATED, COMPUTED, ITERATED, REORDERED, SLOPE

STEPS, STEP = 60, 1e-3


def states(robot, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return robot.random(rng, n), 0.1 * rng.normal(size=(n, robot.nv)), 0.5 * rng.normal(size=(n, robot.nv))


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_the_same_bits_with_any_threads_and_any_split(name: str) -> None:
    robot = load(name)
    q, v, tau = states(robot, 53)
    whole = robot.rollout(q, v, tau, STEP, STEPS, threads=1)
    for threads in (2, 5):
        np.testing.assert_array_equal(robot.rollout(q, v, tau, STEP, STEPS, threads=threads).q, whole.q)
    parts = [robot.rollout(q[i], v[i], tau[i], STEP, STEPS) for i in (slice(0, 7), slice(7, 8), slice(8, 53))]
    np.testing.assert_array_equal(np.concatenate([p.q for p in parts]), whole.q)
    np.testing.assert_array_equal(np.concatenate([p.v for p in parts]), whole.v)
    one = robot.rollout(q[3], v[3], tau[3], STEP, STEPS)
    assert one.q.shape == (robot.nq,)
    np.testing.assert_array_equal(one.q, whole.q[3])


@pytest.mark.parametrize(
    "integrator", ["semi-implicit", "rk4", "implicit-velocity", "implicit-midpoint", "variational"]
)
def test_a_rollout_is_many_runs(integrator: str) -> None:
    robot = load("2r")
    q, v, tau = states(robot, 3)
    made = robot.rollout(q, v, tau, STEP, STEPS, integrator, every=20)
    assert made.q.shape == (3, 3, 2) and made.v.shape == (3, 3, 2)
    np.testing.assert_allclose(made.t, [0.02, 0.04, 0.06])
    for k in range(3):
        run = robot.simulate(q[k], v[k], STEP * STEPS, tau[k], integrator, STEP, record=0.02)
        np.testing.assert_allclose(made.q[k], run.q[1:], atol=REORDERED)
        np.testing.assert_allclose(made.v[k], run.v[1:], atol=COMPUTED)


def test_torques_may_come_as_rows_or_as_feedback() -> None:
    robot = load("panda")
    q, v, tau = states(robot, 9)
    rows = np.sin(np.arange(STEPS * robot.nv)).reshape(STEPS, robot.nv)
    by_row = robot.rollout(q, v, rows, STEP, STEPS)
    step_by_step = q, v
    for row in rows:
        made = robot.rollout(*step_by_step, row, STEP, 1)
        step_by_step = made.q, made.v
    np.testing.assert_array_equal(by_row.q, step_by_step[0])
    each = np.broadcast_to(tau[:, None], (9, STEPS, robot.nv))
    np.testing.assert_array_equal(
        robot.rollout(q, v, each, STEP, STEPS, every=7).q[:, -1], robot.rollout(q, v, tau, STEP, 56).q
    )
    held = robot.rollout(q, np.zeros(robot.nv), lambda t, q, v: robot.gravity(q), STEP, STEPS)
    np.testing.assert_allclose(held.q, q, atol=COMPUTED)


def test_rows_that_could_be_motions_are_refused() -> None:
    """As many motions as steps: a row per step and a row per motion look alike."""
    robot = load("2r")
    q, v, tau = states(robot, 20)
    with pytest.raises(DalembertError, match="could be one per motion or one per step"):
        robot.rollout(q, v, tau, STEP, 20)
    one = robot.rollout(q[3], v[3], tau, STEP, 20)
    np.testing.assert_array_equal(robot.rollout(q, v, tau[None], STEP, 20).q[3], one.q)
    held = robot.rollout(q[3], v[3], tau[3], STEP, 20)
    each = robot.rollout(q, v, np.repeat(tau[..., None, :], 20, axis=-2), STEP, 20)
    np.testing.assert_array_equal(each.q[3], held.q)


def test_parameters_may_differ_from_motion_to_motion() -> None:
    robot = load("ur5")
    q, v, tau = states(robot, 4)
    pi = robot.parameters() * np.array([1.0, 1.1, 0.9, 1.3])[:, None]
    made = robot.rollout(q, v, tau, STEP, STEPS, parameters={"inertia": pi})
    for k in range(4):
        other = robot.with_parameters(pi[k]).rollout(q[k], v[k], tau[k], STEP, STEPS)
        np.testing.assert_allclose(made.q[k], other.q, atol=ACCUMULATED)
    assert np.abs(made.q - robot.rollout(q, v, tau, STEP, STEPS).q).max() > 1e-6


def test_elements_take_part() -> None:
    robot = load("2r")
    joint = robot.joints[0].name
    friction = elements.Friction(joint, 0.5, stiffness=1e3, bristle_damping=1.0)
    q, v, _ = states(robot, 3)
    made = robot.rollout(q, v, None, 1e-4, 500, elements=[friction])
    run = robot.simulate(q[1], v[1], 0.05, None, "semi-implicit", 1e-4, elements=[friction])
    np.testing.assert_allclose(made.q[1], run.q[-1], atol=REORDERED)


def test_bad_rollouts_say_what_is_wrong() -> None:
    robot = load("2r")
    q, v = np.zeros(2), np.zeros(2)
    for arguments, said in (
        ({"integrator": "rk5"}, "unknown integrator 'rk5'"),
        ({"steps": 0}, "steps is 0"),
        ({"step": -1.0}, "step is -1.0"),
        ({"every": 2000}, "expected at most the number of steps"),
        ({"torque": np.array([np.nan, 0.0])}, "torque has NaN or inf"),
        ({"torque": np.zeros((3, 2)), "parameters": {"gravity": np.zeros((4, 3))}}, r"torque \(3,\), gravity \(4,\)"),
        ({"torque": Sampled(lambda t, q, v: v * float(t), 1e-3)}, "cannot be traced"),
        ({"torque": np.zeros(3)}, r"torque has shape \(3,\)"),
        ({"parameters": {"inertias": 1.0}}, "did you mean 'inertia'"),
        ({"torque": lambda t, q, v: v if v[0] > 0 else q}, "cannot be traced"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.rollout(q, v, **arguments)
    with pytest.raises(DalembertError, match="begins and ceases to act, which steps of 'rk4' do not take"):
        robot.rollout(q, v, integrator="rk4", elements=[elements.HardStop(robot.joints[0].name, lower=-1.0)])
    with pytest.raises(SimulationError, match="diverged between t = 0 and"):
        robot.rollout(q, v, lambda t, q, v: 1e9 * v + 1.0, 0.1, 1000)


def test_a_law_that_turns_nan_is_not_called_fast() -> None:
    def broken(t, q, v):
        return where(t > 0.3, np.nan, 0.0) * v

    with pytest.raises(SimulationError, match=r"'shoulder' is NaN: .* a law or a force that gives NaN"):
        load("2r").rollout(np.zeros(2), np.zeros(2), broken, step=1e-3, steps=400)


def test_a_motion_that_diverges_stops_and_keeps_what_came_before() -> None:
    """Numbers that are finite but that no machine can have are no result."""
    builder = ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    robot = builder.build()
    force = np.array([[0.0], [2e10]])  # 2e7 m/s more in every step
    with pytest.raises(SimulationError, match=r"motion 1 diverged between t = 0\.005 and 0\.006 s") as stopped:
        robot.rollout(np.zeros((2, 1)), np.zeros((2, 1)), force, step=1e-3, steps=10, every=1)
    before = stopped.value.rollout
    np.testing.assert_allclose(before.v[1, :, 0], 2e7 * np.arange(1, 6))
    assert before.t[-1] == pytest.approx(5e-3)
    with pytest.raises(SimulationError, match="grew beyond all numbers") as stopped:
        robot.simulate([0.0], [0.0], 0.01, torque=force[1], step=1e-3, record=1e-3, integrator="semi-implicit")
    assert stopped.value.run.v[-1] == pytest.approx(1e8)
    assert robot.rollout([0.0], [0.0], force[1], step=1e-3, steps=10, check=False).v == pytest.approx(2e8)


@pytest.mark.parametrize("integrator", ["semi-implicit", "implicit-velocity", "implicit-midpoint", "variational"])
def test_loops_stay_closed_in_rollouts(integrator: str) -> None:
    robot = load("four_bar")
    q, v = robot.close_loops(robot.neutral(), [0.5, 0.0, 0.0])
    tau = np.linspace(0.0, 1.0, 15).reshape(5, 3)
    made = robot.rollout(np.tile(q, (5, 1)), v, tau, 1e-3, 200, integrator)
    assert np.abs(made.q - q).max() > 0.01
    for end in made.q:
        np.testing.assert_allclose(robot.close_loops(end).q, end, atol=ITERATED)
    parts = [robot.rollout(q, v, tau[i], 1e-3, 200, integrator) for i in (slice(0, 3), slice(3, 5))]
    np.testing.assert_array_equal(np.concatenate([part.q for part in parts]), made.q)
    np.testing.assert_array_equal(robot.rollout(q, v, tau, 1e-3, 200, integrator, threads=2).v, made.v)
    run = robot.simulate(q, v, 0.2, tau[1], integrator, 1e-3)
    np.testing.assert_allclose(run.q[-1], made.q[1], atol=COMPUTED)
    np.testing.assert_allclose(run.v[-1], made.v[1], atol=ACCUMULATED)


@pytest.mark.parametrize(("every", "count"), [(6, 1), (1, 6), (2, 3)])
@pytest.mark.parametrize("varying", [False, True])
def test_gradients_are_those_of_differences(every: int, count: int, varying: bool) -> None:
    """In states, torques and live parameters, without a library that asks for them."""
    robot = load("2r")
    stepping = Stepping(StepParts(robot.model, (), None, INTEGRATORS["semi-implicit"], ("inertia",), True, varying))
    motions = Motions(stepping, 0.01, every, count)
    q, v, tau = states(robot, 2)
    given = [q, v, np.tile(tau, every * count) if varying else tau, 1.1 * robot.parameters()]
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=x.shape) for x in motions(*given)]

    def total(arrays: list[np.ndarray]) -> np.ndarray:
        return sum((w * x).sum(axis=(1, 2)) for w, x in zip(weights, motions(*arrays), strict=True))

    found = motions.pullback()(*given, *(w.reshape(2, -1) for w in weights))
    for k, slopes in enumerate(found):
        for j in range(slopes.shape[-1]):
            nudge = 1e-6 * np.eye(slopes.shape[-1])[j]
            plus, minus = (total([*given[:k], given[k] + d, *given[k + 1 :]]) for d in (nudge, -nudge))
            np.testing.assert_allclose(
                slopes[:, j], (plus - minus) / 2e-6, atol=2 * SLOPE * max(1.0, np.abs(slopes).max())
            )
