"""The whole-body and the centroidal program beside daqp: `python benchmarks/control.py [bundled]`.

CPU time, one thread, best of five.

ANYmal standing under a moving reference, from example-robot-data (`pip install --no-deps example-robot-data`), else the
bundled quadruped. The peer solves the usual form, accelerations, torques and forces as 42 variables with 30 equations,
assembled from the same quantities with NumPy; our own program has the 12 torques left. Both keep the same rows and have
the same optimum, which is compared. daqp: `pip install daqp`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import sysconfig
import time
from ctypes import c_int
from pathlib import Path

import numpy as np

from dalembert import control, load
from dalembert.control import gait
from dalembert.control.program.tasks import Situation

FRICTION, TORQUE, FORCE, BATCH, TICKS = 0.4, 1e-4, 1e-5, 4096, 200


def robot_and_feet():
    folder = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    path = folder / "anymal_b_simple_description" / "robots" / "anymal.urdf"
    if path.exists() and "bundled" not in sys.argv:
        robot = load(path, base="free")
        q = robot.neutral()
        q[2] = 0.47
        for joint in robot.joints:
            if joint.name.endswith(("HFE", "KFE")):
                sign = 1.0 if "F_" in joint.name else -1.0
                q[joint.q] = sign * (0.7 if joint.name.endswith("HFE") else -1.4)
        return robot, q, [f"{leg}_FOOT" for leg in ("LF", "RF", "LH", "RH")]
    print(
        "example-robot-data is not installed: the bundled quadruped instead (pip install --no-deps example-robot-data)"
    )
    robot = load("quadruped")
    q = robot.neutral()
    q[2], q[7:] = 0.3, np.tile([0.0, 0.8, -1.6], 4)
    return robot, q, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


def clock(work, repeats):
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        for k in range(repeats):
            work(k)
        best = min(best, (time.process_time() - begin) / repeats)
    return 1e6 * best


def usual_form(robot, weights, feet, q, v, a_d):
    """H, g, A, b, C, u, box of [a, tau, forces], with NumPy."""
    n, k = robot.nv, 3 * len(feet)
    M, h = robot.mass_matrix(q), robot.bias(q, v)
    J = np.concatenate([robot.jacobian(q, foot)[3:] for foot in feet])
    drift = np.concatenate([robot.acceleration(q, v, np.zeros(n), foot)[3:] for foot in feet])
    size = n + (n - 6) + k
    H, g = np.zeros((size, size)), np.zeros(size)
    H[:n, :n] = np.diag(weights)
    H[n:, n:] = np.diag(np.r_[np.full(n - 6, TORQUE), np.full(k, FORCE)])
    g[:n] = -weights * a_d
    A = np.zeros((n + k, size))
    A[:n, :n], A[6:n, n : 2 * n - 6], A[:n, 2 * n - 6 :], A[n:, :n] = M, -np.eye(n - 6), -J.T, J
    C = np.zeros((4 * len(feet), size))
    C[:, 2 * n - 6 :] = np.kron(
        np.eye(len(feet)), [[1, 0, -FRICTION], [-1, 0, -FRICTION], [0, 1, -FRICTION], [0, -1, -FRICTION]]
    )
    effort = robot.limits.effort[6:]
    lower = np.r_[np.full(n, -1e30), -effort, np.tile([-1e30, -1e30, 0.0], len(feet))]
    upper = np.r_[np.full(n, 1e30), effort, np.full(k, 1e30)]
    return H, g, A, np.r_[-h, -drift], C, lower, upper


def with_daqp(daqp, H, g, A, b, C, lower, upper):
    rows = np.vstack([A, C])
    high, low = np.r_[upper, b, np.zeros(len(C))], np.r_[lower, b, np.full(len(C), -1e30)]
    sense = np.zeros(len(high), dtype=c_int)
    sense[len(g) : len(g) + len(b)] = 5
    return daqp.solve(H, g, rows, high, low, sense)[0]


def trotting(count, noise):
    """States, references, places and contacts of a 12 kg body that trots at 1 m/s, more or less as it should."""
    clock, rng = gait.trot(), np.random.default_rng(0)
    hips = np.array([[0.2, 0.13, 0.0], [0.2, -0.13, 0.0], [-0.2, 0.13, 0.0], [-0.2, -0.13, 0.0]])
    cases = []
    for k in range(count):
        t, speed = 0.025 * k, np.array([1.0, 0.0, 0.0]) + noise * rng.normal(size=3) * [0.2, 0.2, 0.04]
        place = np.array([t, 0.01 * noise * rng.normal(), 0.3 + 0.01 * noise * rng.normal()])
        tilt, spin = noise * rng.normal(size=3), noise * rng.normal(size=3)
        state = np.concatenate([0.03 * tilt, place, 0.3 * spin, speed])
        goal = np.zeros((10, 12))
        goal[:, 3], goal[:, 5], goal[:, 9] = t + 0.05 * np.arange(1, 11), 0.3, 1.0
        stands = hips - [0.075, 0.0, 0.0] + place * [1.0, 1.0, 0.0]
        feet = clock.foreseen(t, 10, 0.05, stands, place + hips, speed, [1.0, 0.0, 0.0], 0.3)
        cases.append((state, goal, feet, clock.schedule(t, 10, 0.05)))
    return cases


def condensed(program, state, goal, feet, contacts):
    """The same program with the states eliminated, for a dense solver: H, g, C, upper."""
    nodes, h, c, s = len(goal), program.step, np.cos(state[2]), np.sin(state[2])
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turn = np.linalg.inv(R @ program.inertia @ R.T)
    A = np.eye(12)
    A[0:3, 6:9], A[3:6, 9:12] = h * R.T, h * np.eye(3)
    standing = np.argwhere(contacts)
    B, free, x, slope = [], [], state.copy(), np.zeros((12, 3 * len(standing)))
    for node in range(nodes):
        x, slope = A @ x, A @ slope
        x[5], x[11] = x[5] - 0.5 * h * h * 9.81, x[11] - h * 9.81
        about = state[3:6] + (goal[node, 3:6] - state[3:6]) * node / nodes
        for row, (at, foot) in enumerate(standing):
            if at == node:
                arm = feet[node, foot] - about
                torque = turn @ np.cross(np.eye(3), arm)
                both = np.vstack([0.5 * h * h * R.T @ torque, 0.5 * h * h / program.mass * np.eye(3), h * torque,
                                  h / program.mass * np.eye(3)])  # fmt: skip
                slope[:, 3 * row : 3 * row + 3] += both
        B.append(slope)
        free.append(x)
    B, W = np.concatenate(B), np.tile(program.weights, nodes)
    even = np.concatenate([[0.0, 0.0, 9.81 * program.mass / contacts[node].sum()] for node, _ in standing])
    m = program.friction / np.sqrt(2.0)
    rows = np.array([[1, 0, -m], [-1, 0, -m], [0, 1, -m], [0, -1, -m], [0, 0, 1.0]])
    return (
        B.T @ (W[:, None] * B) + FORCE * np.eye(B.shape[1]), B.T @ (W * (np.ravel(free) - goal.ravel())) - FORCE * even,
        np.kron(np.eye(len(standing)), rows), np.tile([0.0, 0.0, 0.0, 0.0, program.most], len(standing)),
    )  # fmt: skip


def plans(noise):
    """The centroidal program of a trot, 10 nodes."""
    program, cases = control.centroidal(mass=12.0, inertia=np.diag([0.07, 0.30, 0.32])), trotting(TICKS, noise)
    ours = [program.plan(*case) for case in cases]
    active = np.mean([plan.active.sum() for plan in ours])
    print(f"\ncentroidal program of a trot, 10 nodes, {active:.1f} rows at their bounds on average")
    assert all(plan.solved for plan in ours)
    one = clock(lambda k: program.plan(*cases[k]), TICKS)
    print(f"one plan from Python, assembly and solution:             {one:6.1f} µs")
    many = [np.tile(np.array(part), (8, *[1] * (np.ndim(part[0])))) for part in zip(*cases, strict=True)]
    print(f"in batches of {len(many[0])} on SIMD lanes:                      "
          f"{clock(lambda _: program.plan(*many), 1) / len(many[0]):6.1f} µs each")  # fmt: skip
    try:
        import daqp
    except ImportError:
        return
    dense = [condensed(program, *case) for case in cases]

    def solve(H, g, C, upper):
        return daqp.solve(H, g, C, upper, np.full(len(upper), -1e30), np.zeros(len(upper), c_int))[0]

    alone = clock(lambda k: solve(*dense[k]), TICKS)
    whole = clock(lambda k: solve(*condensed(program, *cases[k])), TICKS)
    print(f"daqp: solution alone {alone:6.1f} µs, with assembly in NumPy {whole:6.1f} µs")
    worst = max(np.abs(solve(*x) - plan.forces[case[3]].ravel()).max() / np.abs(plan.forces).max()
                for x, plan, case in zip(dense, ours, cases, strict=True))  # fmt: skip
    print(f"largest difference of forces, relative: {worst:.1e}")


def walking_form(law, robot, feet, t, q, v, command, active):
    """The usual form of a walking tick, of [a, tau, forces of standing feet]: H, g, A, b, C, lower, upper."""
    situation, n = Situation(robot, t, q, v, command), robot.nv
    standing = [k for k in range(len(feet)) if active[k] > 0.5]
    size = n + (n - 6) + 3 * len(standing)
    H, g = np.zeros((size, size)), np.zeros(size)
    H[n:, n:] = np.diag(np.r_[np.full(n - 6, TORQUE), np.full(3 * len(standing), FORCE)])
    for task in law.settings.tasks:
        if isinstance(task, control.Force):
            k = feet.index(task.frame)
            if k in standing:
                place = slice(size - 3 * len(standing) + 3 * standing.index(k), None)
                place = slice(place.start, place.start + 3)
                H[place, place] += task.weight * np.eye(3)
                g[place] -= task.weight * np.asarray(task.goal(t, command))
            continue
        rows = task.rows(situation)
        weight = np.broadcast_to(np.asarray(task.weight, float), (len(rows.b),))
        A = np.asarray(rows.A, float)
        H[:n, :n] += A.T @ (weight[:, None] * A)
        g[:n] -= A.T @ (weight * np.asarray(rows.b, float))
    M, h = robot.mass_matrix(q), robot.bias(q, v)
    J = np.concatenate([robot.jacobian(q, feet[k])[3:] for k in standing])
    drift = np.concatenate([robot.acceleration(q, v, np.zeros(n), feet[k])[3:] for k in standing])
    A = np.zeros((n + len(J), size))
    A[:n, :n], A[6:n, n : 2 * n - 6], A[:n, 2 * n - 6 :], A[n:, :n] = M, -np.eye(n - 6), -J.T, J
    m = FRICTION / np.sqrt(2.0)
    C = np.zeros((4 * len(standing), size))
    C[:, 2 * n - 6 :] = np.kron(np.eye(len(standing)), [[1, 0, -m], [-1, 0, -m], [0, 1, -m], [0, -1, -m]])
    effort = robot.limits.effort[6:]
    lower = np.r_[np.full(n, -1e30), -effort, np.tile([-1e30, -1e30, 0.0], len(standing))]
    return H, g, A, np.r_[-h, -drift], C, lower, np.r_[np.full(n, 1e30), effort, np.full(len(J), 1e30)]


def walking_ticks():
    """The program of `control.legs` in a trot: body, swinging feet, planned forces of the two that stand."""
    robot, q0, feet = robot_and_feet()
    n, rng = robot.nv, np.random.default_rng(0)
    walker = (
        control.legs(robot, feet, q0, (0.5, 0.0, 0.0), friction=FRICTION, margin=1.0).inputs["program"].law.__self__
    )
    law, states = walker.program, []
    for k in range(TICKS):
        t, d, v = 0.002 * k, 0.02 * rng.normal(size=n), 0.1 * rng.normal(size=n)
        v[3] += 0.5
        q, active = robot.integrate(q0, d), walker.gait.standing(t)
        steps = walker.steps(t, q, v, walker.start(q, v))[0]
        forces = np.array([0.0, 0.0, 0.5 * 9.81 * robot.total_mass]) * active[:, None]
        states.append((t, q, v, np.r_[steps, forces.ravel()], active))
    tick = law._tick
    times = np.array([[state[0]] for state in states])

    def ours(k):
        return tick(times[k], *states[k][1:])

    x = np.array([ours(k) for k in range(TICKS)])
    solved = x[:, -3] > 0.5
    print(f"\n{robot.name} walking: {solved.mean():.0%} solved, {x[:, -1].mean():.1f} iterations on average")
    one = clock(ours, TICKS)
    print(f"one tick from Python, quantities, assembly and solution: {one:6.1f} µs")
    many = [np.tile(times, (20, 1)), *(np.tile([s[k] for s in states], (20, 1)) for k in range(1, 5))]
    each = clock(lambda _: tick(*many, threads=1), 1) / len(many[0])
    print(f"in batches of {len(many[0])} on SIMD lanes:                      {each:6.1f} µs each")
    try:
        import daqp
    except ImportError:
        return
    programs = [walking_form(law, robot, feet, *state) for state in states]
    alone = clock(lambda k: with_daqp(daqp, *programs[k]), TICKS)
    worst = max(
        np.abs(with_daqp(daqp, *programs[k])[n : 2 * n - 6] - x[k, 6:n]).max() / np.abs(x[k, 6:n]).max()
        for k in range(0, TICKS, 10)
        if solved[k]
    )
    print(f"daqp, solution alone: {alone:6.1f} µs; largest difference of torques, relative: {worst:.1e}")
    print(f"programs per core: {alone / each:.1f} times daqp's solutions")


def main():
    whole_body_ticks()
    walking_ticks()
    plans(0.2)
    plans(1.0)


def whole_body_ticks():
    robot, q0, feet = robot_and_feet()
    n = robot.nv
    weights = np.r_[np.full(6, 100.0), np.ones(n - 6)]

    def goal(t, command):  # the state's own place, so that only the command is asked for
        return command[: robot.nq], command[robot.nq : robot.nq + n], command[robot.nq + n :]

    task = control.Posture(goal=goal, weight=weights, frequency=0.0)
    supports = [control.Support(frame=foot, friction=FRICTION * np.sqrt(2.0)) for foot in feet]
    law = control.whole_body(robot, [task], supports, torque_weight=TORQUE, force_weight=FORCE, horizon=None,
                             command=robot.nq + 2 * n)  # fmt: skip
    states = []
    for k in range(max(BATCH, TICKS)):
        t = 0.002 * (k % 4096)
        d = np.zeros(n)
        d[5], d[3], d[6:] = 0.02 * np.sin(3 * t), 0.02 * np.cos(2 * t), 0.05 * np.sin(4 * t + np.arange(n - 6))
        v = np.zeros(n)
        v[5], v[6:] = 0.06 * np.cos(3 * t), 0.2 * np.cos(4 * t + np.arange(n - 6))
        q = robot.integrate(q0, d)
        a = np.zeros(n)
        a[5], a[3] = 12.0 * np.sin(5 * t), 10.0 * np.cos(7 * t)
        a[6:] = 20.0 * robot.difference(q, q0)[6:] - 2.0 * v[6:]
        states.append((q, v, a, np.r_[q, np.zeros(n), a]))
    on, zero = np.ones(len(feet)), np.zeros(1)
    answer = law.solve(0.0, *states[0][:2], states[0][3])
    assert answer.solved, answer.why
    tick = law._tick

    def ours(k):
        q, v, _, command = states[k % TICKS]
        return tick(zero, q, v, command, on)

    tick_time = clock(ours, TICKS)
    x = np.array([ours(k) for k in range(TICKS)])
    print(
        f"{robot.name}: {len(law.rows)} rows; {x[:, -1].mean():.1f} iterations on average, {x[:, -1].max():.0f} at most"
    )
    print(f"one tick from Python, quantities, assembly and solution: {tick_time:6.1f} µs")
    Q, V, command = (np.array([state[k] for state in states[:BATCH]]) for k in (0, 1, 3))
    batch_time = (
        clock(lambda _: tick(np.zeros((BATCH, 1)), Q, V, command, np.ones((BATCH, len(feet))), threads=1), 1) / BATCH
    )
    print(f"in batches of {BATCH} on SIMD lanes:                      {batch_time:6.1f} µs each")
    try:
        import daqp
    except ImportError:
        print("daqp is not installed (pip install daqp): nothing to compare with")
        return
    programs = [usual_form(robot, weights, feet, *state[:3]) for state in states[:TICKS]]
    solve_time = clock(lambda k: with_daqp(daqp, *programs[k % TICKS]), TICKS)
    whole_time = clock(lambda k: with_daqp(daqp, *usual_form(robot, weights, feet, *states[k % TICKS][:3])), TICKS)
    print(f"daqp, one by one: solution alone {solve_time:6.1f} µs, whole tick {whole_time:6.1f} µs")
    worst = 0.0
    for k in range(0, TICKS, 10):
        theirs = with_daqp(daqp, *programs[k])
        worst = max(worst, np.abs(theirs[n : 2 * n - 6] - x[k, 6:n]).max() / np.abs(theirs[n : 2 * n - 6]).max())
    print(f"largest difference of torques, relative: {worst:.1e}")
    by_solution, by_tick = solve_time / batch_time, whole_time / batch_time
    print(f"programs per core: {by_solution:.1f} times daqp's solutions, {by_tick:.1f} times its whole ticks")


if __name__ == "__main__":
    main()
