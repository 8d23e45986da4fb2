"""The whole-body program: equations, cones and limits hold; tasks, priorities, impossible rows, other solvers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, control, load
from dalembert.spatial import so3
from tolerances import ITERATED, OPTIMAL, REACHED, SOLVER_DEFAULT

MU, WEIGHT = 0.7, 12.0 * 9.81


@pytest.fixture(scope="module")
def walker():
    """A trunk of 8 kg on two legs of three joints and 2 kg, with point feet."""
    builder = ModelBuilder("walker")
    builder.add_body("trunk", parent="world", joint="free", mass=8.0, inertia=np.diag([0.2, 0.3, 0.3]))
    for side, y in (("left", 0.15), ("right", -0.15)):
        parts = (("roll", (1, 0, 0), (0, y, 0)), ("pitch", (0, 1, 0), (0, 0, 0)), ("knee", (0, 1, 0), (0, 0, -0.3)))
        parent = "trunk"
        for name, axis, xyz in parts:
            mass, com = (0.2, (0, 0, 0)) if name == "roll" else (0.9, (0, 0, -0.15))
            builder.add_body(f"{side}_{name}_link", parent=parent, joint="revolute", joint_name=f"{side}_{name}",
                             axis=axis, xyz=xyz, mass=mass, com=com, inertia=np.eye(3) * 0.01, effort_limit=60.0,
                             velocity_limit=8.0, lower=-2.5, upper=2.5)  # fmt: skip
            parent = f"{side}_{name}_link"
        builder.add_frame(f"{side}_foot", body=parent, xyz=(0, 0, -0.3))
    return builder.build()


@pytest.fixture(scope="module")
def standing(walker):
    q = walker.neutral()
    q[7:] = [0.0, -0.5, 1.0, 0.0, -0.4, 0.9]
    q[2] = 0.6
    return q


@pytest.fixture(scope="module")
def law(walker, standing):
    def trunk(t, command):
        X = np.array(walker.pose(standing, "trunk"), object)
        X[:3, 3] = X[:3, 3] + command
        return X

    tasks = [
        control.Frame(frame="trunk", goal=trunk, weight=100.0),
        control.Posture(goal=standing, weight=np.r_[np.zeros(6), np.ones(6)]),
    ]
    supports = [control.Support(frame=f"{side}_foot", friction=MU) for side in ("left", "right")]
    return control.whole_body(walker, tasks, supports, command=3)


def check(walker, law, q, v, tick, carrying=("left_foot", "right_foot")):
    """The equations of motion, the supports, the cones and the limits."""
    from dalembert import Wrench

    pushes = [Wrench(force=force, frame=name, axes="world") for name, force in tick.forces.items()]
    need = walker.inverse_dynamics(q, v, tick.a, external=pushes)
    np.testing.assert_allclose(need, tick.tau, atol=SOLVER_DEFAULT * max(1.0, np.abs(need).max()))
    assert np.abs(tick.tau).max() <= 60.0 * (1 + ITERATED)
    for name, force in tick.forces.items():
        if name in carrying:
            assert np.abs(walker.acceleration(q, v, tick.a, name)[3:]).max() < 10 * SOLVER_DEFAULT
        else:
            np.testing.assert_array_equal(force, 0.0)
        if tick.solved:
            assert force[2] >= -10 * SOLVER_DEFAULT and np.hypot(*force[:2]) <= MU * force[2] + 10 * SOLVER_DEFAULT


def test_standing_still_carries_the_weight(walker, law, standing) -> None:
    tick = law.solve(0.0, standing, np.zeros(12))
    check(walker, law, standing, np.zeros(12), tick)
    assert tick.solved and not tick.why
    mass = walker.total_mass
    assert abs(sum(force[2] for force in tick.forces.values()) - mass * 9.81) < 0.05 * mass * 9.81
    np.testing.assert_allclose(tick.tau[:6], 0.0)


def test_random_states_keep_all_rows(walker, law, standing) -> None:
    rng = np.random.default_rng(0)
    bound = 0
    for _ in range(12):
        q, v = walker.integrate(standing, 0.1 * rng.normal(size=12)), 0.3 * rng.normal(size=12)
        tick = law.solve(0.0, q, v, 0.2 * rng.normal(size=3))
        check(walker, law, q, v, tick)
        bound += tick.iterations > 0
    assert bound > 5  # rows are at their bounds, or this would show little


def test_batches_and_single_ticks_agree(walker, law, standing) -> None:
    rng = np.random.default_rng(1)
    q = np.array([walker.integrate(standing, 0.1 * rng.normal(size=12)) for _ in range(11)])
    v, command = 0.3 * rng.normal(size=(11, 12)), 0.1 * rng.normal(size=(11, 3))
    tau = law(np.zeros(11), q, v, command, np.ones((11, 2)))
    for k in range(11):
        np.testing.assert_allclose(tau[k], law.solve(0.0, q[k], v[k], command[k]).tau, atol=10 * SOLVER_DEFAULT)


def test_a_lifted_foot_has_no_force(walker, law, standing) -> None:
    tick = law.solve(0.0, standing, np.zeros(12), active=[1.0, 0.0])
    check(walker, law, standing, np.zeros(12), tick, ("left_foot",))
    flying = law.solve(0.0, standing, np.zeros(12), active=[0.0, 0.0])
    check(walker, law, standing, np.zeros(12), flying, ())
    com = walker.centroidal_momentum_rate(standing, np.zeros(12), flying.a)[3:] / walker.total_mass
    np.testing.assert_allclose(com, [0.0, 0.0, -9.81], atol=OPTIMAL)


@pytest.mark.parametrize("solver", ["daqp", "piqp", "proxqp"])
def test_other_solvers_give_the_same(walker, law, standing, solver) -> None:
    if importlib.util.find_spec("proxsuite" if solver == "proxqp" else solver) is None:
        with pytest.raises(DalembertError, match=r"pip install 'dalembert\[qp\]'"):
            law.solve(0.0, standing, np.zeros(12), solver=solver)
        pytest.skip(f"{solver} is not installed: pip install 'dalembert[qp]'")
    rng = np.random.default_rng(3)
    for _ in range(4):
        q, v = walker.integrate(standing, 0.1 * rng.normal(size=12)), 0.3 * rng.normal(size=12)
        command = 0.1 * rng.normal(size=3)
        ours, theirs = law.solve(0.0, q, v, command), law.solve(0.0, q, v, command, solver=solver)
        np.testing.assert_allclose(theirs.tau, ours.tau, atol=10 * OPTIMAL)


def test_impossible_rows_are_named(walker, standing) -> None:
    """A joint beyond its range at speed, which no torque can stop in time."""
    law = control.whole_body(walker, [control.Posture(goal=standing)], horizon=0.003)
    q, v = standing.copy(), np.zeros(12)
    joint = walker.joint("left_knee")
    q[joint.q], v[joint.v] = 2.49, 7.9
    tick = law.solve(0.0, q, v)
    assert not tick.solved
    assert "misses" in tick.why and "place or speed of 'left_knee' by" in tick.why  # both knees, by the same share
    assert np.abs(tick.tau).max() <= 60.0 * (1 + ITERATED)
    assert abs(tick.tau[joint.v.start] + 60.0) < REACHED  # as hard as the motor can against it


def test_strict_priorities() -> None:
    """A point that can be reached exactly comes first, and the posture takes what is left."""
    robot = load("3r").without("friction", "damping")
    q, v = np.array([0.3, 0.5, -0.4]), np.array([0.2, -0.1, 0.3])
    goal = robot.pose(q, "tool")[:3, 3] + np.array([0.05, 0.0, 0.03])

    def tasks(first, weight):
        return [
            control.Frame(frame="tool", goal=goal, priority=0, weight=first),
            control.Posture(goal=np.zeros(3), priority=1, weight=weight),
        ]

    strict = [
        control.whole_body(robot, tasks(1.0, w), torque_weight=1e-9, horizon=None).solve(0.0, q, v) for w in (1.0, 1e3)
    ]
    np.testing.assert_allclose(
        strict[0].tau, strict[1].tau, atol=100 * OPTIMAL
    )  # weights do not trade between priorities
    drift = robot.acceleration(q, v, np.zeros(3), "tool")[3:]
    J = robot.jacobian(q, "tool")[3:]
    wanted = 100.0 * (goal - robot.pose(q, "tool")[:3, 3]) - 20.0 * J @ v - drift
    reached = J @ strict[0].a
    best = J @ np.linalg.lstsq(J, wanted, rcond=None)[0]
    np.testing.assert_allclose(reached, best, atol=10 * OPTIMAL)


def test_as_a_law_in_a_simulation() -> None:
    robot = load("2r").without("friction", "damping")
    goal = np.array([0.5, -0.6])
    law = control.whole_body(robot, [control.Posture(goal=goal, frequency=8.0)], torque_weight=1e-9, horizon=None)
    end = robot.rollout(np.array([[0.0, 0.0], [0.2, 0.1]]), np.zeros(2), law, 2e-3, 1000)
    np.testing.assert_allclose(end.q, [goal, goal], atol=REACHED)


def test_inverse_kinematics_never_passes_limits() -> None:
    robot = load("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
    inside = robot.pose(q + 0.2, "tool0")
    ik = control.inverse_kinematics(
        robot, [control.Frame(frame="tool0", goal=lambda t, c: c.reshape(4, 4))], command=16
    )
    reached = ik.solve(q, inside.ravel())
    assert reached.converged
    np.testing.assert_allclose(robot.pose(reached.q, "tool0"), inside, atol=10 * OPTIMAL)
    far = inside.copy()
    far[:3, 3] = [2.0, 0.0, 0.5]  # out of reach
    stretched = ik.solve(q, far.ravel(), max_iterations=60)
    assert np.all(stretched.q >= robot.limits.lower) and np.all(stretched.q <= robot.limits.upper)
    assert stretched.error > 0.5
    with pytest.raises(DalembertError, match=r"joint '\w+' starts at 9, its range is"):
        ik.solve([9.0, *q[1:]], inside.ravel())


def test_what_an_earlier_priority_leaves_nothing_of_does_not_move_it() -> None:
    """Where six rows determine six joints, the rest of the projection is rounding, and was solved for."""
    robot = load("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
    goal = robot.pose(q + 0.2, "tool0")
    pose, elsewhere = control.Frame(frame="tool0", goal=goal), control.Posture(goal=q - 0.3, priority=1)
    alone = control.whole_body(robot, [pose], torque_weight=1e-12, horizon=None).solve(0.0, q, np.zeros(6))
    both = control.whole_body(robot, [pose, elsewhere], torque_weight=1e-12, horizon=None).solve(0.0, q, np.zeros(6))
    np.testing.assert_allclose(both.a, alone.a, atol=OPTIMAL)
    place = control.Frame(frame="tool0", goal=goal, rows_of="position")
    again = control.Frame(frame="tool0", goal=goal, rows_of="position", priority=1)
    free = control.Posture(goal=q - 0.3, priority=2)
    twice, thrice = (
        control.whole_body(robot, tasks, torque_weight=1e-12, horizon=None).solve(0.0, q, np.zeros(6))
        for tasks in ([place, free], [place, again, free])
    )
    np.testing.assert_allclose(thrice.a, twice.a, atol=OPTIMAL)


@pytest.mark.parametrize("posture", [5, 0])
def test_inverse_kinematics_keeps_earlier_priorities(posture: int) -> None:
    """The posture drew the tool off its goal whatever its priority."""
    robot = load("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
    goal = robot.pose(q + 0.2, "tool0")
    tasks = [control.Frame(frame="tool0", goal=goal, priority=0), control.Posture(goal=q, priority=posture)]
    reached = control.inverse_kinematics(robot, tasks).solve(q)
    assert reached.converged and reached.error == max(reached.errors) and len(reached.errors) == 2
    off = np.abs(robot.pose(reached.q, "tool0") - goal).max()
    assert off < SOLVER_DEFAULT if posture else off > REACHED  # of one priority, weights decide


def test_inverse_kinematics_of_three_priorities(walker, standing) -> None:
    """Both feet stay, the centre of mass goes where it is sent, the posture gets what is left."""
    feet = ("left_foot", "right_foot")
    tasks = [control.Frame(frame=foot, goal=walker.pose(standing, foot)[:3, 3]) for foot in feet]
    com = walker.center_of_mass(standing) + np.array([0.03, 0.02, -0.03])
    tasks.append(control.CenterOfMass(goal=com, priority=1))
    tasks.append(control.Posture(goal=standing, priority=2))
    reached = control.inverse_kinematics(walker, tasks).solve(standing)
    assert reached.converged and max(reached.errors[:3]) < SOLVER_DEFAULT < reached.errors[3]


def test_inverse_kinematics_in_time_follows_the_frequency() -> None:
    robot, h = load("ur5"), 1e-3
    q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
    for frequency, t in ((4.0, 0.0), (40.0, 0.5)):
        task = control.Posture(goal=lambda t: q + 0.01 + 0.1 * t, frequency=frequency)
        ik = control.inverse_kinematics(robot, [task], step=h, damping=1e-6)
        wanted = (1.0 - np.exp(-frequency * h)) * (0.01 + 0.1 * t)
        np.testing.assert_allclose(ik(q, t=t), np.full(6, wanted), atol=ITERATED)
        np.testing.assert_allclose(ik.solve(q, t=t).q, q + 0.01 + 0.1 * t, atol=SOLVER_DEFAULT)
    beyond = np.array([0.3, -1.2, 7.0, -0.8, -1.2, 0.2])  # a joint beyond its range moves back, as fast as it may
    d = control.inverse_kinematics(robot, [control.Posture(goal=q)], step=h)(beyond)
    assert robot.limits.upper[2] < 7.0 and d[2] == pytest.approx(-h * robot.limits.velocity[2])


def test_a_goal_written_as_a_tuple_is_the_point_that_it_says(walker, standing) -> None:
    """(x, y, z) was taken as a point (x, x, x), its velocity (y, y, y) and its acceleration (z, z, z)."""
    above = walker.center_of_mass(standing) + np.array([0.01, 0.0, 0.02])
    forms = (tuple(above), (above, np.zeros(3)))
    ticks = [
        control.whole_body(
            walker,
            [control.CenterOfMass(goal=goal), control.Momentum(goal=(0.0, 0.1, 0.0))],
            [control.Support(frame="left_foot"), control.Support(frame="right_foot")],
        ).solve(0.0, standing, np.zeros(12))
        for goal in forms
    ]
    np.testing.assert_allclose(ticks[1].tau, ticks[0].tau, atol=ITERATED)
    arm, q = load("2r"), np.array([0.3, -1.2])
    point = tuple(arm.center_of_mass(q + 0.05).tolist())
    reached = control.inverse_kinematics(arm, [control.CenterOfMass(goal=point)]).solve(q)
    np.testing.assert_allclose(arm.center_of_mass(reached.q), point, atol=REACHED)


def test_bad_input_is_named(walker, standing) -> None:
    posture = control.Posture(goal=standing)
    with pytest.raises(DalembertError, match="left_feet"):
        control.whole_body(walker, [posture], [control.Support(frame="left_feet")])
    with pytest.raises(DalembertError, match="a support twice"):
        control.whole_body(walker, [posture], [control.Support(frame="left_foot")] * 2)
    with pytest.raises(DalembertError, match="unknown support 'right_foot'"):
        control.whole_body(
            walker, [control.Force(frame="right_foot", goal=np.zeros(3))], [control.Support(frame="left_foot")]
        )
    with pytest.raises(DalembertError, match="friction is 0"):
        control.Support(frame="left_foot", friction=0.0)
    with pytest.raises(DalembertError, match="expected Tasks, got str"):
        control.whole_body(walker, ["stand"])
    with pytest.raises(DalembertError, match="torque_weight is 0"):
        control.whole_body(walker, [posture], torque_weight=0.0)
    with pytest.raises(DalembertError, match="closed loops"):
        control.whole_body(load("four_bar"), [])
    with pytest.raises(DalembertError, match="weight is -1"):
        control.whole_body(walker, [control.Posture(goal=standing, weight=-1.0)])
    for task in (
        control.CenterOfMass(goal=[0.0, np.nan, 0.5]),
        control.CenterOfMass(goal=[0.0, 0.5]),
        control.Momentum(goal=([0.0, 0.0, 0.0], [0.0, 0.0, np.inf])),
        control.Force(frame="left_foot", goal=[0.0, 0.0, 0.0, 0.0, 0.0, 50.0]),
    ):
        with pytest.raises(DalembertError, match=r"goal is .*, expected \(3,\) of finite numbers"):
            control.whole_body(walker, [task], [control.Support(frame="left_foot")])
    for task, step, message in (
        (control.Posture(goal=standing, damping=0.7), None, "Posture: damping=0.7 is of accelerations"),
        (control.Posture(goal=standing, frequency=3.0), None, "Posture: frequency=3 rad/s is how fast errors decay"),
        (control.Momentum(), None, "Momentum does not constrain positions"),
        (control.Force(frame="left_foot", goal=np.zeros(3)), 1e-3, r"Force\(left_foot\) does not constrain positions"),
    ):
        with pytest.raises(DalembertError, match=message):
            control.inverse_kinematics(walker, [task], step=step)
    law = control.whole_body(walker, [posture])
    with pytest.raises(DalembertError, match=r"active \(2,\)"):
        law.solve(0.0, standing, np.zeros(12), active=[1.0, 1.0])
    with pytest.raises(DalembertError, match="unknown solver 'osqp'"):
        law.solve(0.0, standing, np.zeros(12), solver="osqp")


def test_a_sole_keeps_its_centre_of_pressure_about_its_middle() -> None:
    """Forces at points of the rectangle keep all rows but those of friction; points outside miss one."""
    sole = control.Support(frame="sole", friction=2.0, size=(0.11, 0.04), center=(0.05, -0.01))
    R = so3.from_rpy(0.0, 0.0, 0.4)
    cone = sole.cone(R)
    for x, y, inside in ((0.15, 0.02, True), (-0.05, -0.04, True), (0.17, 0.0, False), (-0.07, 0.0, False),
                         (0.0, 0.04, False), (0.0, -0.06, False)):  # fmt: skip
        force = np.array([0.0, 0.0, 100.0])
        wrench = np.concatenate([np.cross(R @ [x, y, 0.0], force), force])
        assert bool((cone.A @ wrench).max() <= ITERATED) is inside
    twist = np.concatenate([np.cross(R @ [0.05, -0.01, 0.0], [30.0, 20.0, 100.0]), [30.0, 20.0, 100.0]])
    assert (cone.A @ twist).max() <= ITERATED  # a force through the middle does not twist it
    with pytest.raises(DalembertError, match="center is"):
        control.Support(frame="foot", center=(0.1, 0.0))
