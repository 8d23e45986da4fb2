"""Plans of small robots: against exact solutions, dense solvers and differences; limits, constraints, bad input."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, optimal
from tolerances import COMPUTED, ITERATED, OPTIMAL, REACHED, ROUGH_SLOPE, SOLVER_DEFAULT

WEIGHED = 2e-3  # goals that are weighed against effort [rad]

STEP, NODES = 0.02, 30


@cache
def arm():
    return dalembert.load("2r").without("friction")


def posture(robot):
    def running(q, v, u, goal):
        return {"rate": (0.1, v), "effort": (1e-3, u - robot.gravity(q)), "goal": (1.0, q - goal)}

    def terminal(q, v, goal):
        return {"goal": (1e2, q - goal), "rest": (1.0, v)}

    return running, terminal


@cache
def problem(**options):
    running, terminal = posture(arm())
    return arm().optimal_control(running, terminal, step=STEP, nodes=NODES, goal=2, **dict(options))


def rolled(robot, plan, u):
    """States under the controls u, with the step that plans have."""
    q, v, h = [plan.q[0]], [plan.v[0]], plan.problem.step
    for row in u:
        v.append(v[-1] + h * robot.forward_dynamics(q[-1], v[-1], row))
        q.append(robot.integrate(q[-1], v[-1], h))
    return np.array(q), np.array(v)


def cost_of(robot, u, start, goal):
    """The cost of `posture`, written in NumPy."""
    q, v = start, np.zeros(2)
    total = 0.0
    for row in u:
        effort = row - robot.gravity(q)
        total += 0.5 * STEP * (0.1 * v @ v + 1e-3 * effort @ effort + (q - goal) @ (q - goal))
        v = v + STEP * robot.forward_dynamics(q, v, row)
        q = q + STEP * v
    return total + 0.5 * (1e2 * (q - goal) @ (q - goal) + v @ v)


def test_a_plan_moves_as_the_robot_does_and_costs_what_it_says():
    start, goal = np.array([0.3, -0.2]), np.array([0.8, 0.5])
    plan = problem().solve(start, goal=goal)
    assert plan.converged and plan.iterations < 20 and plan.violation == 0.0
    q, v = rolled(arm(), plan, plan.u)
    assert np.allclose(q, plan.q, atol=ITERATED) and np.allclose(v, plan.v, atol=SOLVER_DEFAULT)
    assert cost_of(arm(), plan.u, start, goal) == pytest.approx(plan.cost, rel=ITERATED)
    assert plan.t.shape == (NODES + 1,) and plan.t[-1] == pytest.approx(STEP * NODES)


def test_no_change_of_a_control_lowers_the_cost():
    start, goal, rng = np.array([0.3, -0.2]), np.array([0.8, 0.5]), np.random.default_rng(0)
    plan = problem().solve(start, goal=goal, tolerance=1e-14)
    for _ in range(20):
        change = rng.standard_normal(plan.u.shape)
        slope = (
            cost_of(arm(), plan.u + 1e-6 * change, start, goal) - cost_of(arm(), plan.u - 1e-6 * change, start, goal)
        ) / 2e-6
        assert abs(slope) < ROUGH_SLOPE
        assert cost_of(arm(), plan.u + 0.1 * change, start, goal) > plan.cost


def test_gains_are_how_the_best_control_changes_with_the_state():
    start = goal = np.array([0.8, 0.5])  # where residuals vanish, the curvature that Gauss-Newton leaves out does, too
    plan = problem().solve(start, goal=goal)
    assert plan.gains.shape == (NODES, 2, 4)
    h = 1e-5
    for k in range(4):
        change = np.zeros(4)
        change[k] = h
        ends = [
            problem().solve(start + s * change[:2], s * change[2:], goal=goal, tolerance=1e-13).u[0] for s in (1, -1)
        ]
        assert np.allclose((ends[0] - ends[1]) / (2 * h), plan.gains[0][:, k], rtol=100 * OPTIMAL, atol=100 * OPTIMAL)


def test_acceleration_and_torque_as_control_find_the_same_plan():
    running, terminal = posture(arm())

    def torques(q, v, u):
        return u

    by_torque = arm().optimal_control(
        running, terminal, step=STEP, nodes=NODES, goal=2, actuation=torques, control_count=2
    )
    start, goal = np.array([0.3, -0.2]), np.array([0.8, 0.5])
    one, other = problem().solve(start, goal=goal), by_torque.solve(start, goal=goal)
    assert other.converged and other.violation < ITERATED
    assert other.cost == pytest.approx(one.cost, rel=ITERATED)
    assert np.allclose(other.gains[0], one.gains[0], rtol=REACHED, atol=REACHED)


def test_a_linear_problem_takes_one_step():
    slide = dalembert.ModelBuilder("cart", gravity=(0, 0, 0))
    slide.add_body("cart", parent="world", joint="prismatic", joint_name="rail", axis=(1, 0, 0), mass=2.0)
    cart = slide.build()
    plan = cart.optimal_control(
        lambda q, v, u: {"q": (1.0, q), "u": (0.1, u)},
        lambda q, v: {"end": (10.0, np.concatenate([q, v]))},
        step=0.1,
        nodes=20,
    ).solve([1.0])
    assert plan.converged and plan.iterations <= 2
    A, B = np.array([[1, 0.1], [0, 1]]), np.array([[0.01 / 2], [0.1 / 2]])
    V, K = 10.0 * np.eye(2), []
    for _ in range(20):
        Q = np.diag([0.1, 0.0]) + A.T @ V @ A
        K.insert(0, np.linalg.solve(0.01 * np.eye(1) + B.T @ V @ B, B.T @ V @ A))
        V = Q - A.T @ V @ B @ K[0]
    assert np.allclose(plan.gains, -np.array(K), rtol=ITERATED, atol=ITERATED)
    assert plan.cost == pytest.approx(0.5 * V[0, 0], rel=COMPUTED)


@pytest.mark.parametrize("integrator", ["semi-implicit", "midpoint", "rk4"])
def test_underactuated_swing_up_within_limits(integrator):
    robot = dalembert.load("cartpole").without("friction")
    plan = robot.optimal_control(
        lambda q, v, u: {"effort": (1e-2, u), "rate": (1e-3, v)},
        lambda q, v: {"up": (1e3, q), "rest": (1e2, v)},
        step=0.02,
        nodes=100,
        limits=("torque", "position"),
        integrator=integrator,
    ).solve([0.0, np.pi])
    assert plan.converged and plan.violation < SOLVER_DEFAULT and plan.u.shape == (100, 1)
    assert np.max(np.abs(plan.u)) <= 10.0 + SOLVER_DEFAULT and np.max(np.abs(plan.u)) > 9.9
    assert np.allclose(plan.q[-1], 0.0, atol=WEIGHED)
    if integrator == "rk4":  # the plan is a motion of the robot, to the integrator's accuracy
        tau = np.column_stack([plan.u, np.zeros(100)])
        run = robot.simulate(plan.q[0], plan.v[0], 2.0, torque=tau, record=0.02)
        assert np.allclose(run.q[-1], plan.q[-1], atol=WEIGHED)


def test_free_bodies_move_on_their_manifold():
    robot = dalembert.load("quadrotor")
    hover = 0.028 * 9.81

    def actuation(q, v, u):  # moments and thrust
        return np.array([u[0], u[1], u[2], 0.0, 0.0, u[3]], object)

    plan = robot.optimal_control(
        lambda q, v, u, goal: {
            "effort": (np.array([1e3, 1e3, 1e3, 1.0]), u - np.array([0, 0, 0, hover])),
            "rate": (1e-3, v),
        },
        lambda q, v, goal: {"there": (1e2, robot.difference(goal, q)), "rest": (1.0, v)},
        step=0.02,
        nodes=50,
        goal=7,
        actuation=actuation,
        control_count=4,
    )
    turned = np.array([0.5, 0.2, 0.1, np.cos(0.6), 0.0, 0.0, np.sin(0.6)])
    plan = plan.solve(robot.neutral(), goal=turned)
    assert plan.converged and plan.violation < ITERATED
    assert np.allclose(np.linalg.norm(plan.q[:, 3:], axis=1), 1.0, atol=COMPUTED)
    assert np.max(np.abs(robot.difference(turned, plan.q[-1]))) < 0.02
    v = plan.v[:-1] + 0.02 * robot.forward_dynamics(
        plan.q[:-1], plan.v[:-1], np.array([actuation(None, None, u) for u in plan.u], float)
    )
    assert np.allclose(v, plan.v[1:], atol=SOLVER_DEFAULT)
    assert np.allclose(robot.difference(robot.integrate(plan.q[:-1], v, 0.02), plan.q[1:]), 0.0, atol=ITERATED)


def test_path_constraints_and_ends_are_kept():
    robot = arm()
    running, _terminal = posture(robot)
    target = np.array([0.9, 0.4])
    centre, radius = robot.pose([0.55, 0.15], "tool")[:3, 3], 0.05
    plan = robot.optimal_control(
        running,
        lambda q, v, goal: {"rest": (1.0, v)},
        step=STEP,
        nodes=NODES,
        goal=2,
        constraints=lambda q, v, u, goal: {
            "obstacle": np.sum((robot.pose(q, "tool")[:3, 3] - centre) ** 2) - radius**2
        },
        terminal_constraints=lambda q, v, goal: {"there": optimal.Equal(q - goal), "still": optimal.Equal(v)},
    )
    start, s = np.array([0.3, -0.2]), np.linspace(0.0, 1.0, NODES + 1)[:, None]
    straight = start + (3 * s**2 - 2 * s**3) * (target - start)  # through the obstacle
    guess = straight, np.vstack([np.zeros(2), np.diff(straight, axis=0) / STEP]), np.zeros((NODES, 2))
    plan = plan.solve(start, goal=target, guess=guess)
    assert plan.converged and plan.violation < SOLVER_DEFAULT
    distance = np.linalg.norm(robot.pose(plan.q, "tool")[:, :3, 3] - centre, axis=1)
    assert np.min(distance) >= radius - SOLVER_DEFAULT
    assert np.min(distance) < radius + REACHED  # it is in the way
    assert np.allclose(plan.q[-1], target, atol=SOLVER_DEFAULT) and np.allclose(plan.v[-1], 0.0, atol=SOLVER_DEFAULT)


def test_smooth_costs_that_are_no_squares():
    robot = arm()
    plan = robot.optimal_control(
        lambda q, v, u: {"effort": (1e-2, u), "log": dalembert.math.log(1.0 + np.sum((q - 0.5) ** 2))},
        lambda q, v: {"rest": (1.0, v)},
        step=STEP,
        nodes=NODES,
    ).solve([0.4, 0.4])
    squares = robot.optimal_control(
        lambda q, v, u: {
            "effort": (1e-2, u),
            "log": (2.0, dalembert.math.sqrt(dalembert.math.log(1.0 + np.sum((q - 0.5) ** 2)) + 1e-300)),
        },
        lambda q, v: {"rest": (1.0, v)},
        step=STEP,
        nodes=NODES,
    ).solve([0.4, 0.4])
    assert plan.converged
    assert plan.cost == pytest.approx(squares.cost, rel=OPTIMAL)


def sliding(**options):
    """A slide that is drawn to 1 m, as far as what the options keep lets it."""
    builder = dalembert.ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    return builder.build().optimal_control(
        lambda q, v, u: {"effort": (1e-4, u)}, lambda q, v: {"there": (1e3, q - 1.0)}, step=0.05, nodes=10, **options
    )


@pytest.mark.parametrize("kept", ["state", "state and control", "parameter", "equality"])
def test_constraints_on_the_state_alone_hold_at_the_last_node(kept):
    """They were kept at the nodes before the last one only, with violation 0 and a final state behind the wall."""
    walls = {
        "state": lambda q, v, u: {"wall": 0.5 - q},
        "state and control": lambda q, v, u: {"both": np.array([0.5 - q[0], 400.0 - u[0] - q[0]])},
        "parameter": lambda q, v, u, wall: {"wall": wall - q, "power": 400.0 - u * v},
        "equality": lambda q, v, u: {"still": optimal.Equal(v - q)},
    }
    problem = sliding(constraints=walls[kept], **({"wall": 1} if kept == "parameter" else {}))
    plan = problem.solve([0.0], **({"wall": 0.5} if kept == "parameter" else {}))
    assert plan.converged and plan.violation < SOLVER_DEFAULT
    if kept == "equality":
        np.testing.assert_allclose(plan.v, plan.q, atol=SOLVER_DEFAULT)
        return
    assert plan.q.max() < 0.5 + SOLVER_DEFAULT
    if kept == "state and control":
        assert (plan.u[:, 0] + plan.q[:-1, 0]).max() < 400.0 + SOLVER_DEFAULT
        names = problem.functions([0.0]).names
        assert "both[0] at node 10" in names and "both[1] at node 9" in names and "both[1] at node 10" not in names


def test_a_step_too_long_for_friction_is_named():
    """The message was that the control took part in no cost, although it had a weight."""
    b = dalembert.ModelBuilder("arm", gravity=(0, 0, 0))
    b.add_body("hull", parent="world", joint="free", mass=5.0, inertia=np.eye(3))
    link = {"mass": 0.5, "com": (0, 0, -0.1), "inertia": np.diag([1e-3] * 3), "xyz": (0, 0, -0.2), "damping": 100.0}
    for k in range(4):
        axis, parent = (k % 2, 1 - k % 2, 0), f"l{k - 1}" if k else "hull"
        b.add_body(f"l{k}", parent=parent, joint="revolute", joint_name=f"j{k}", axis=axis, **link)
    problem = b.build().optimal_control(
        lambda q, v, u: {"effort": (1e-3, u), "speed": (1e-2, v)},
        lambda q, v: {"there": (1e3, q[7:] - 0.3), "rest": (1.0, v)},
        step=0.02, nodes=10,
    )  # fmt: skip
    with pytest.raises(
        DalembertError, match=r"a step of 0.02 s is too long for 'j3', whose friction and damping multiply"
    ):
        problem.solve(b.build().neutral())


def test_infeasible_problems_name_the_constraint():
    robot = arm()
    running, terminal = posture(robot)
    plan = robot.optimal_control(
        running,
        terminal,
        step=STEP,
        nodes=NODES,
        goal=2,
        limits={"velocity": 0.1},
        terminal_constraints=lambda q, v, goal: {"there": optimal.Equal(q - goal)},
    ).solve([0.0, 0.0], goal=[2.0, 0.0], max_iterations=60)
    assert not plan.converged and plan.violation > 1e-3
    assert "there[0]" in plan.why or "velocity of" in plan.why
    assert "node" in plan.why


def test_a_start_outside_the_limits_is_named():
    running, terminal = posture(arm())
    limited = arm().optimal_control(
        running, terminal, step=STEP, nodes=NODES, goal=2, limits={"position": (-1.0, 1.0), "velocity": 5.0}
    )
    plan = limited.solve([1.5, 0.0], goal=[0.5, 0.0], max_iterations=80)
    assert "the start" in plan.why and "position" in plan.why and plan.violation >= 0.5


def test_batches_are_the_plans_one_by_one():
    starts = np.array([[0.3, -0.2], [0.1, 0.1], [0.0, 0.4]])
    goals = np.array([[0.8, 0.5], [0.2, 0.0], [0.4, 0.9]])
    plans = problem().solve(starts, np.zeros((3, 2)), goal=goals, threads=2)
    for plan, start, goal in zip(plans, starts, goals, strict=True):
        assert plan.cost == problem().solve(start, goal=goal).cost


def test_parameters_may_differ_from_node_to_node():
    goals = np.linspace([0.3, -0.2], [0.8, 0.5], NODES + 1)
    plan = problem().solve([0.3, -0.2], goal=goals)
    assert plan.converged
    assert plan.cost < problem().solve([0.3, -0.2], goal=goals[-1]).cost


def test_a_guess_is_where_it_starts():
    plan = problem().solve([0.3, -0.2], goal=[0.8, 0.5])
    again = problem().solve([0.3, -0.2], goal=[0.8, 0.5], guess=plan)
    assert again.iterations == 1 and again.cost == pytest.approx(plan.cost, rel=COMPUTED)


BAD = [
    ({"step": 0.0}, "step"),
    ({"nodes": 0}, "nodes"),
    ({"nodes": 2.5}, "nodes"),
    ({"limits": ("speed",)}, "velocity"),
    ({"limits": {"torque": [1.0, 2.0, 3.0]}}, "torque"),
    ({"limits": {"velocity": -1.0}}, "no room"),
    ({"integrator": "euler"}, "midpoint"),
    ({"motors": "knee"}, "knee"),
    ({"step": 1e300}, "up to 1e\\+09"),
    ({"q": 3}, "another name"),
]


@pytest.mark.parametrize("options, words", BAD)
def test_bad_options(options, words):
    running, terminal = posture(arm())
    with pytest.raises(DalembertError, match=words):
        arm().optimal_control(running, terminal, **({"step": STEP, "nodes": NODES, "goal": 2} | options))


@pytest.mark.parametrize(
    "running, words",
    [
        (lambda q, v, u: {"x": (1.0, q, v)}, "3 parts"),
        (lambda q, v, u: {"x": ([1.0, 2.0, 3.0], q)}, "3 weights for 2"),
        (lambda q, v, u: {"x": (-1.0, q)}, "≥ 0"),
        (lambda q, v, u: {"x": (1.0, np.outer(q, q))}, "shape"),
        (lambda q, v, u: {"x": (np.nan, q)}, "finite"),
        (lambda q, v, u: {"x": q}, "vector"),
        (lambda q, v, u: q, "expected a dict"),
        (lambda q, v, u, aim: {"x": (1.0, q - aim)}, "aim"),
        (lambda q, v, u: {"x": (1.0, q) if q[0] > 0 else (1.0, v)}, "compiled"),
        (3, "function"),
        (lambda q, v, u: {}, "no cost"),
        (lambda q, v, u: {"x": (1.0, q - np.zeros(3))}, "running fails on q \\(2,\\)"),
    ],
)
def test_bad_costs(running, words):
    with pytest.raises(DalembertError, match=words):
        arm().optimal_control(running, step=STEP, nodes=NODES)


GUESS = (
    np.zeros((NODES + 1, 2)),
    np.where(np.arange(NODES + 1) == 2, np.nan, 0.0)[:, None] * [1, 1],
    np.zeros((NODES, 2)),
)


def test_bad_states_and_parameters():
    for arguments, words in (
        ({"q": [0.0], "goal": [0, 0]}, "shape"),
        ({"q": [0.0, np.nan], "goal": [0, 0]}, "nan"),
        ({"q": [0.0, 0.0], "v": [0.0], "goal": [0, 0]}, "v has shape"),
        ({"q": [0.0, 0.0]}, "goal"),
        ({"q": [0.0, 0.0], "goal": [0.0]}, "goal has shape"),
        ({"q": [0.0, 0.0], "goal": [np.inf, 0.0]}, "finite"),
        ({"q": [0.0, 0.0], "goal": [0, 0], "aim": 3}, "aim"),
        ({"q": np.zeros((3, 2)), "v": np.zeros((2, 2)), "goal": [0, 0]}, "v has 2 rows, expected 3"),
        ({"q": [[0.0, 0.0], [0.0, np.inf]], "goal": [0, 0]}, r"row 1: solve: q\[1\] is inf"),
        ({"q": np.zeros((3, 2)), "guess": [None], "goal": [0, 0]}, "guess has 1 rows"),
        ({"q": [0.0, 0.0], "guess": 3, "goal": [0, 0]}, "expected a plan"),
        ({"q": [0.0, 0.0], "guess": GUESS, "goal": [0, 0]}, "v of the guess has NaN or inf at node 2"),
    ):
        with pytest.raises(DalembertError, match=words):
            problem().solve(**arguments)


def test_a_cost_that_is_no_number_is_named():
    bad = arm().optimal_control(
        lambda q, v, u: {"effort": (1.0, u), "root": (1.0, dalembert.math.sqrt(q[0]))}, step=STEP, nodes=NODES
    )
    with pytest.raises(DalembertError, match=r"cost 'root' is nan at node 0"):
        bad.solve([-1.0, 0.0])


def test_a_cost_without_a_slope_is_named():
    bad = arm().optimal_control(
        lambda q, v, u: {"effort": (1.0, u), "distance": (1.0, dalembert.math.sqrt(q @ q))}, step=STEP, nodes=NODES
    )
    with pytest.raises(DalembertError, match=r"cost 'distance' has no finite slope at node 0"):
        bad.solve([0.0, 0.0])


def test_a_control_that_changes_no_cost_is_left_alone():
    idle = arm().optimal_control(lambda q, v, u: {"constant": (1.0, 0.0 * q + 1.0)}, step=STEP, nodes=NODES)
    plan = idle.solve([0.1, 0.2])
    assert plan.converged and plan.cost == pytest.approx(STEP * NODES)
    assert np.allclose(plan.q, [0.1, 0.2])


def test_controls_without_a_cost_of_their_own():
    robot = arm()
    free = robot.optimal_control(lambda q, v, u: {"posture": (1.0, q - 0.3)}, step=STEP, nodes=10)
    plan = free.solve([0.1, 0.2])
    assert plan.converged and plan.iterations < 20
    assert np.allclose(plan.q[1:], 0.3, atol=100 * OPTIMAL)  # at once: nothing speaks against it


def test_goals_out_of_reach():
    robot, goal = arm(), [0.9, 0.0, 0.9]
    running = lambda q, v, u: {"speed": (0.1, v), "effort": (1e-3, u - robot.gravity(q))}  # noqa: E731
    terminal = lambda q, v: {"goal": (1e4, robot.pose(q, "tool")[:3, 3] - goal), "rest": (1e2, v)}  # noqa: E731
    exact = robot.optimal_control(running, terminal, step=STEP, nodes=NODES, curvature="exact").solve([0.0, 0.1])
    assert exact.converged and exact.iterations < 30
    assert np.allclose(exact.q[-1], [np.pi / 4, 0.0], atol=REACHED)  # stretched out towards it
    plain = robot.optimal_control(running, terminal, step=STEP, nodes=NODES, curvature="gauss-newton")
    slow = plain.solve([0.0, 0.1], max_iterations=70)
    assert not slow.converged and 'curvature="auto"' in slow.why
    assert slow.cost == pytest.approx(exact.cost, rel=REACHED)
    chosen = robot.optimal_control(running, terminal, step=STEP, nodes=NODES)
    plan = chosen.solve([0.0, 0.1])
    assert plan.converged and plan.iterations < 40
    assert plan.cost == pytest.approx(exact.cost, rel=SOLVER_DEFAULT)


def test_exact_curvature_finds_the_same_minimum():
    running, terminal = posture(arm())
    exact = arm().optimal_control(running, terminal, step=STEP, nodes=NODES, goal=2, curvature="exact")
    plan = exact.solve([0.3, -0.2], goal=[0.8, 0.5])
    assert plan.converged
    assert plan.cost == pytest.approx(problem().solve([0.3, -0.2], goal=[0.8, 0.5]).cost, rel=ITERATED)
    with pytest.raises(DalembertError, match="motor on every joint"):
        dalembert.load("cartpole").optimal_control(running, terminal, step=STEP, nodes=NODES, goal=2, curvature="exact")


def test_settings_stand_for_keywords_that_are_not_given():
    running, terminal = posture(arm())
    given = optimal.ProblemSettings(limits={"torque": 20.0}, integrator="midpoint", curvature="gauss-newton")
    once = arm().optimal_control(running, terminal, step=STEP, nodes=NODES, goal=2, settings=given, integrator="rk4")
    named = arm().optimal_control(
        running,
        terminal,
        step=STEP,
        nodes=NODES,
        goal=2,
        limits={"torque": 20.0},
        integrator="rk4",
        curvature="gauss-newton",
    )
    plans = [each.solve(np.zeros(2), goal=np.ones(2)) for each in (once, named)]
    assert np.array_equal(plans[0].u, plans[1].u) and np.max(np.abs(plans[0].u)) <= 20.0
    with pytest.raises(DalembertError, match=r"settings is dict, expected dalembert\.optimal\.ProblemSettings"):
        arm().optimal_control(running, terminal, step=STEP, nodes=NODES, goal=2, settings={"limits": ()})
    assert repr(given) == "ProblemSettings(limits={'torque': 20.0}, integrator='midpoint', curvature='gauss-newton')"
