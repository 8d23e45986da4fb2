"""Ready studies beside closed forms, robots with the load in them, and searches by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, control, load, study
from dalembert.math import abs as absolute
from dalembert.math import where
from dalembert.study.sensitivity import correlations
from tolerances import COMPUTED

pytest.importorskip("pyarrow")
pytest.importorskip("scipy")
G = 9.81
INDEX = 0.02  # Sobol's indices of 2^14 points beside their closed forms
FEW = 0.06  # of 2^10 points
DEVIATIONS = 0.01  # relative, of standard deviations from 512 points
CROSSING = 1e-6  # relative: a zero of the angle, from the tangent at the step before it (RK4, 1 ms)
SAMPLED = 0.01  # relative: a peak among the torques of another method's steps
CHANCE = 0.01  # share of a variance that an idle factor may seem to explain, of 2000 rows
FOUND = 1e-3  # relative, of a search in a range


@pytest.fixture(scope="module")
def arm():
    return load("2r")


def ishigami(robot, row):
    x, y, z = row["x"], row["y"], row["z"]
    return {"f": np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)}


@pytest.mark.parametrize(("points", "within"), [(1 << 10, FEW), pytest.param(1 << 14, INDEX, marks=pytest.mark.long)])
def test_indices_of_ishigamis_function(arm, points, within):
    axis = study.uniform(-np.pi, np.pi)
    result = arm.study(study.Space(x=axis, y=axis, z=axis), ishigami, samples=points, method="saltelli").run()
    a, b, pi4 = 7.0, 0.1, np.pi**4
    parts = np.array([0.5 * (1.0 + b * pi4 / 5.0) ** 2, a * a / 8.0, 0.0])
    crossed = b * b * pi4 * pi4 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = parts.sum() + crossed
    found = result.sensitivity("f")
    np.testing.assert_allclose(found.first, parts / variance, atol=within)
    np.testing.assert_allclose(found.total, (parts + np.array([crossed, 0.0, crossed])) / variance, atol=within)


def test_periods_of_a_pendulum():
    builder = ModelBuilder("pendulum", gravity=(0.0, 0.0, -G))
    builder.add_body(
        "bob", parent="world", joint="revolute", joint_name="pivot", axis=(0, 1, 0), mass=1.5, com=(0, 0, -0.7),
        inertia=np.zeros((3, 3)),
    )  # fmt: skip
    pendulum = builder.build()
    space = study.Space(start=study.states(pendulum, 1.0, about=[1.5]))
    run = study.motion(
        step=1e-3, steps=1200, integrator="rk4", reduce="min",
        measure={"quarter": lambda t, q, v: where(
            (q[0] > 0.0) & (v[0] < 0.0), t - q[0] / where(v[0] < 0.0, v[0], -1.0), 1e9
        )},
    )  # fmt: skip
    table = pendulum.study(space, run, samples=300, seed=2).run().table()
    angles = 1.5 + table["start"][:, 0]
    a, b = np.ones(len(angles)), np.cos(0.5 * angles)  # the period by Gauss's mean
    for _ in range(6):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    np.testing.assert_allclose(4.0 * table["quarter"].ravel(), 2.0 * np.pi * np.sqrt(0.7 / G) / a, rtol=CROSSING)


def test_tolerances_of_a_2r_arm_are_the_derivatives_by_hand(arm):
    q, part = np.array([0.3, 0.5]), 0.1
    found = study.tolerance(arm, study.model_errors(mass=part), q)
    one, two = G * 0.3 * np.cos(q[0]), G * 0.3 * np.cos(q.sum())  # masses of 2 and 1.5 kg at the ends of 0.3 m
    slopes = np.array([[one, one + two], [0.0, two]])
    by_hand = np.abs(slopes) * part * np.array([2.0, 1.5]) / np.sqrt(3.0)
    assert found.joints == ("shoulder", "elbow") and found.parameters == ("mass.link1", "mass.link2")
    np.testing.assert_allclose(found.contribution, by_hand, rtol=DEVIATIONS, atol=COMPUTED)
    np.testing.assert_allclose(found.deviation, np.linalg.norm(by_hand, axis=1), rtol=DEVIATIONS)
    assert "shoulder: ± 0.53" in str(found) and "mass.link1" in str(found)
    motion = study.tolerance(arm, None, np.tile(q, (90, 1)), np.ones((90, 2)), samples=8)
    assert motion.result.table()["torque"].shape[1:] == (40, 2)


def test_a_payload_map_holds_and_no_more(arm):
    found = study.payload_map(load("ur5"), samples=64, offset=(0.0, 0.0, 0.1), margin=1.2)
    robot, table = load("ur5"), found.result.table()
    low, high = robot.limits.lower, robot.limits.upper
    for k in (int(np.argmin(found.payload)), int(np.argmax(found.payload)), 7):
        q = low + (high - low) * table["place"][k]
        loaded = robot.edit().payload(found.payload[k], com=(0.0, 0.0, 0.1), frame=found.frame).done()
        used = 1.2 * np.abs(loaded.gravity(q)) / robot.limits.effort
        assert used.max() == pytest.approx(1.0, rel=COMPUTED) and used.argmax() == found.joint[k]
    assert found.anywhere == found.payload.min() and "decides" in str(found)
    assert study.payload_map(robot, samples=64).anywhere > found.anywhere


def test_the_workspace_of_a_2r_arm(arm):
    found = study.workspace(arm, samples=256)
    q = -np.pi + 2.0 * np.pi * found.result.table()["place"]
    np.testing.assert_allclose(found.manipulability, 0.09 * np.abs(np.sin(q[:, 1])), atol=COMPUTED)
    used = np.abs(arm.gravity(q)) / arm.limits.effort
    np.testing.assert_allclose(found.headroom, 1.0 - used.max(axis=1), atol=COMPUTED)
    assert 0.59 < found.reach <= 0.6 and "reach 0.6 m" in str(found)
    bare = arm.edit().set_joint("shoulder", effort_limit=np.inf).set_joint("elbow", effort_limit=np.inf).done()
    assert study.workspace(bare, samples=16).headroom is None
    with pytest.raises(DalembertError, match="no motor of robot '2r' has an effort limit"):
        study.payload_map(bare)
    with pytest.raises(DalembertError, match="closed loops"):
        study.workspace(load("four_bar"))
    legged = load("quadruped")
    with pytest.raises(DalembertError, match="frame 'trunk' stays where it is"):
        study.workspace(legged)
    leg = study.workspace(legged, "FL_foot", samples=16)
    assert leg.manipulability.max() < 0.1  # [m³]: of three joints, the base held


def test_what_an_output_does_not_rise_with_is_found():
    x = np.random.default_rng(0).random((2000, 3))
    found = correlations("y", ["even", "weak", "idle"], x, (x[:, 0] - 0.5) ** 2 + 0.02 * x[:, 1])
    assert found.order[0] == 0 and found.explained[0] > 0.95 and abs(found.total[0]) < 0.1
    assert found.explained[2] < CHANCE and "explained" in str(found)
    constant = correlations("y", ["a"], x[:, :1], np.ones(2000))
    assert constant.explained[0] == 0.0
    groups = correlations("y", ["group"], np.repeat([1.0, 2.0, 3.0], 100)[:, None], np.repeat([5.0, 0.0, 5.0], 100))
    assert groups.explained[0] == pytest.approx(1.0, rel=COMPUTED)


def test_points_of_a_grid_count_their_sample_once():
    """Eight samples at 50 points of a grid: chance gives large correlations, and the intervals say so."""
    x = np.random.default_rng(0).random((8, 20))
    grid, rows = np.tile(np.linspace(0.0, 1.0, 50), 8), np.repeat(np.arange(8), 50)
    y = np.repeat(np.random.default_rng(1).random(8), 50) + 0.3 * grid
    found = correlations("y", [*map(str, range(20)), "grid"], np.column_stack([x[rows], grid]), y, rows)
    holds = (found.first_interval[:20, 0] <= 0.0) & (found.first_interval[:20, 1] >= 0.0)
    assert holds.sum() >= 18 and np.abs(found.first[:20]).max() > 0.4  # all 20 are idle
    assert found.first_interval[20, 0] > 0.0 and found.explained[:20].max() < 0.9
    few = correlations("y", ["a"], x[rows[:150], :1], y[:150], rows[:150])
    np.testing.assert_array_equal(few.first_interval, [[-1.0, 1.0]])  # three samples tell nothing


def hill(robot, row):
    return {"y": -((row["x"] - 0.3) ** 2) - (row["z"] - 9.0) ** 2 + row["k"], "other": np.array([row["x"], 0.0])}


def test_the_worst_case_of_a_function_and_of_a_motion(arm):
    space = study.Space(x=study.uniform(0, 1), z=study.uniform(0, 5), k=study.grid(1.0, 2.0))
    found = study.worst_case(arm, space, hill, "y", samples=32)
    assert found.axes["x"] == pytest.approx(0.3, rel=FOUND) and found.axes["z"] == 5.0 and found.axes["k"] == 2.0
    assert found.value == pytest.approx(-14.0, rel=COMPUTED) and found.value >= found.sampled
    assert found.run()["y"] == found.value and "y: -14" in str(found)
    bounded = study.worst_case(arm, space.such_that(lambda x: x["z"] < 4.0), hill, "y", samples=32)
    assert 3.99 < bounded.axes["z"] < 4.0
    least = study.worst_case(arm, space, hill, "other", entry=0, smallest=True, samples=32)
    assert least.value == 0.0
    with pytest.raises(DalembertError, match="no axis of the space is random"):
        study.worst_case(arm, study.Space(k=study.grid(1, 2)), hill, "y")
    with pytest.raises(DalembertError, match="unknown output 'yy': did you mean 'y'"):
        study.worst_case(arm, space, hill, "yy", samples=4)

    def held(t, q, v, gain):
        return arm.gravity(q) - gain * q - 2.0 * v

    run = study.motion(held, step=2e-3, steps=50, parameters={"payload": "load", "gain": "gain"},
                       measure={"peak": lambda tau: absolute(tau[0])})  # fmt: skip
    worst = study.worst_case(
        arm, study.Space(load=study.uniform(0, 3), gain=study.uniform(5, 50), start=study.states(arm, 0.3)), run, "peak"
    )
    assert worst.axes == pytest.approx({"load": 3.0, "gain": 50.0}, rel=FOUND) and worst.value > worst.sampled
    np.testing.assert_allclose(np.abs(worst.run().tau[:, 0]).max(), worst.value, rtol=SAMPLED)


def test_a_law_in_many_worlds(arm):
    goal = np.array([0.4, 0.3])
    law = control.computed_torque(arm, goal, frequency=15.0)
    exact = study.Space(start=study.states(arm, 0.2, about=goal))
    found = study.robustness(law, goal, samples=64, space=exact)
    assert found.arrived == 1.0 and found.interval[0] > 0.9 and found.miss.max() < 0.05
    loaded = study.robustness(
        law, goal, samples=64, parameters={"payload": "load"},
        space=study.Space(load=study.uniform(0.0, 4.0), start=study.states(arm, 0.2, about=goal)),
    )  # fmt: skip
    assert 0.0 < loaded.arrived < 1.0 and "rows arrive" in str(loaded)
    heavy = loaded.result.table()["load"]
    assert heavy[loaded.miss > 0.05].min() > heavy[loaded.miss <= 0.05].max() - 1.0
    with pytest.raises(DalembertError, match="pass robot="):
        study.robustness(lambda t, q, v: -q, goal)
    again = study.robustness(law, goal, samples=64, space=exact, period=4e-3)
    compared = study.compared(found.result, again.result, "miss")
    np.testing.assert_array_equal(compared.difference, again.miss - found.miss)
    assert compared.interval[0] <= compared.mean <= compared.interval[1]
    with pytest.raises(DalembertError, match="another space"):
        study.compared(found.result, loaded.result, "miss")


def test_gains_are_those_of_the_lowest_cost(arm):
    goal = np.array([0.5, 0.3])

    def law(t, q, v, kp, kd):
        return arm.gravity(q) + kp * (goal - q) - kd * v

    def miss(q):
        return (q - goal) @ (q - goal)

    grids = {"kp": study.grid(5, 20), "kd": study.grid(1, 4, 16)}
    found = study.gains(arm, law, grids, miss, samples=8, steps=200, step=2e-3)
    space = study.Space(start=study.states(arm, 0.1), **grids)
    run = study.motion(
        law, step=2e-3, steps=200, parameters={"kp": "kp", "kd": "kd"}, measure={"c": miss}, reduce="mean"
    )
    table = arm.study(space, run, samples=8).run().table()
    means = {
        (p, d): table["c"][(table["kp"] == p) & (table["kd"] == d)].mean()
        for p in (5.0, 20.0)
        for d in (1.0, 4.0, 16.0)
    }
    best = min(means, key=lambda pair: means[pair])
    assert (found.best["kp"], found.best["kd"]) == best and found.cost == pytest.approx(means[best], rel=COMPUTED)
    assert len(found.costs) == 6 and "best of 6" in str(found)
    for mistake, text in (
        (lambda: study.gains(arm, law, {}, miss), "values is empty"),
        (lambda: study.gains(arm, law, {"kp": study.uniform(1, 2)}, miss), "expected study.grid"),
        (lambda: study.gains(arm, law, grids, miss, method="optun"), "did you mean 'optuna'"),
    ):
        with pytest.raises(DalembertError, match=text):
            mistake()


def test_gains_by_optuna(arm):
    pytest.importorskip("optuna")

    def law(t, q, v, k):
        return arm.gravity(q) - k * q - 4.0 * v

    found = study.gains(
        arm, law, {"k": study.loguniform(1.0, 100.0)}, lambda q: q @ q, steps=100, step=5e-3,
        samples=4, method="optuna", trials=12,
    )  # fmt: skip
    assert len(found.costs) == 12 and found.cost == found.costs.min() and found.best["k"] > 3.0
