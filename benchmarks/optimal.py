"""Optimal control beside Crocoddyl, in one run, on one thread: python benchmarks/optimal.py

Arms that reach (symplectic Euler; armature 0.1; weights as in tests/refs/test_optimal_costs.py) without and with torque
limits, a step of a receding horizon, and gaits of ANYmal and Talos as Crocoddyl's examples state them (--gaits; they
compile for half a minute each). Times are CPU times of whole solves from Python, the best of many. --goals: 100 random
goals of a Panda within limits on torque, velocity and position, beside IPOPT (pip install casadi).

The peer: pip install crocoddyl==3.2.1 pin==4.0.0, in an environment of its own (it does not load with later ones).
The robots: pip install --no-deps example-robot-data==5.0.0. Without the peer only our own times are printed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import load

UR5 = ("ur_description/urdf/ur5_robot.urdf", "tool0", [0, -np.pi / 2, np.pi / 2, 0, 0.1, 0], [0.4, 0.3, 0.5])
PANDA = ("panda_description/urdf/panda.urdf", "panda_hand", [0, -0.5, 0, -2.0, 0, 1.6, 0.8], [0.4, 0.4, 0.4])
CASES = {
    "UR5, 100 nodes": (UR5, 100, 0.01),
    "Panda, 100 nodes": (PANDA, 100, 0.01),
    "Panda, 20 nodes": (PANDA, 20, 0.05),
}
TORQUES = np.array([15, 20, 10, 25, 4, 5, 2.0])


def robots() -> Path:
    """Where example-robot-data keeps its robots."""
    folder = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    if not folder.is_dir():
        sys.exit("the robots are missing: pip install --no-deps example-robot-data==5.0.0")
    return folder


def best(work: Callable[[], Any], seconds: float = 3.0) -> float:
    """Least CPU time of a call [µs]."""
    work()
    least, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.process_time_ns()
        work()
        least = min(least, time.process_time_ns() - begin)
    return least / 1e3


def ours(arm: tuple[Any, ...], nodes: int, step: float, **options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """The problem, its start and its goal."""
    file, frame, start, goal = arm
    robot, start = load(robots() / file), np.array(start, float)
    if "panda" in file:
        robot = robot.edit().lock({"panda_finger_joint1": 0.0}).done()
    edit = robot.without("friction", "damping", "springs").edit()
    for joint in robot.joints:
        edit = edit.set_joint(joint.name, armature=0.1)
    robot = edit.done()

    def running(q: Any, v: Any, u: Any, goal: Any) -> dict[str, Any]:
        state = np.concatenate([q - start, v])
        reach = robot.pose(q, frame)[:3, 3] - goal
        return {"state": (1e-1, state), "effort": (1e-3, u - robot.gravity(q)), "reach": (1.0, reach)}

    def terminal(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        return {"reach": (1e3, robot.pose(q, frame)[:3, 3] - goal), "state": (1e-1, np.concatenate([q - start, v]))}

    return robot.optimal_control(running, terminal, step=step, nodes=nodes, goal=3, **options), start, np.array(goal)


def crocoddyl_problem(arm: tuple[Any, ...], nodes: int, step: float, torques: np.ndarray | None = None) -> Any:
    """The same problem for Crocoddyl."""
    import crocoddyl
    import pinocchio as pin

    file, frame, start, goal = arm
    model = pin.buildModelFromUrdf(str(robots() / file))
    fingers = [model.getJointId(name) for name in model.names if "finger" in name]
    model = pin.buildReducedModel(model, fingers, pin.neutral(model)) if fingers else model
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    x0 = np.concatenate([np.array(start, float), np.zeros(model.nv)])

    def cost(residual: Any) -> Any:
        return crocoddyl.CostModelResidual(state, residual)

    place = crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId(frame), np.array(goal), model.nv)
    posture = crocoddyl.ResidualModelState(state, x0, model.nv)
    effort = crocoddyl.ResidualModelControlGrav(state, model.nv)
    running, terminal = crocoddyl.CostModelSum(state), crocoddyl.CostModelSum(state)
    for name, residual, weight in (("x", posture, 1e-1), ("u", effort, 1e-3), ("g", place, 1.0)):
        running.addCost(name, cost(residual), weight)
    for name, residual, weight in (("g", place, 1e3), ("x", posture, 1e-1)):
        terminal.addCost(name, cost(residual), weight)

    def stage(costs: Any, step: float) -> Any:
        model_of_node = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        model_of_node.armature = 0.1 * np.ones(model.nv)
        node = crocoddyl.IntegratedActionModelEuler(model_of_node, step)
        if torques is not None:
            node.u_lb, node.u_ub = -torques, torques
        return node

    problem = crocoddyl.ShootingProblem(x0, [stage(running, step)] * nodes, stage(terminal, 0.0))
    problem.nthreads = 1
    return problem


def peer_solve(problem: Any, name: str, iterations: int = 200) -> tuple[Callable[[], Any], Any]:
    """A call that solves from rest under gravity torques, and the solver."""
    import crocoddyl

    solver = getattr(crocoddyl, name)(problem)
    states = [problem.x0] * (problem.T + 1)
    controls = problem.quasiStatic([problem.x0] * problem.T)
    return lambda: solver.solve(list(states), list(controls), iterations, False, 1e-9), solver


def has_peer() -> bool:
    """Whether Crocoddyl can be loaded; says how to get it if not."""
    try:
        import crocoddyl  # noqa: F401
    except ImportError as error:
        print(f"Crocoddyl is missing ({error}): pip install crocoddyl==3.2.1 pin==4.0.0 in an environment of its own\n")
        return False
    return True


def row(what: str, us: float, iterations: int, cost: float, peer: tuple[float, int, float] | None) -> None:
    beside = ""
    if peer is not None:
        beside = f"{peer[0]:10.0f} {peer[1]:4d} {peer[2]:16.12f} {peer[0] / us:6.1f}x {cost / peer[2] - 1.0:9.1e}"
    print(f"{what:34s}{us:10.0f} {iterations:4d} {cost:16.12f} {beside}")


def main() -> None:
    if "--goals" in sys.argv:
        goals()
        return
    peer = has_peer()
    titles = ("ours", 10), ("it", 4), ("cost", 16), ("Crocoddyl", 10), ("it", 4), ("cost", 16)
    print(f"{'µs, CPU time':34s}{' '.join(title.rjust(n) for title, n in titles)}   ratio  cost off")
    for name, (arm, nodes, step) in CASES.items():
        problem, start, goal = ours(arm, nodes, step)
        us, plan = best(partial(problem.solve, start, goal=goal)), problem.solve(start, goal=goal)
        other = None
        if peer:
            solve, solver = peer_solve(crocoddyl_problem(arm, nodes, step), "SolverFDDP")
            other = best(solve), solver.iter + 1, solver.cost
        row(name, us, plan.iterations, plan.cost, other)
    problem, start, goal = ours(PANDA, 100, 0.01, limits={"torque": TORQUES})
    us, plan = best(lambda: problem.solve(start, goal=goal)), problem.solve(start, goal=goal)
    other = None
    if peer:
        solve, solver = peer_solve(crocoddyl_problem(PANDA, 100, 0.01, TORQUES), "SolverBoxFDDP")
        other = best(solve, 5.0), solver.iter + 1, solver.cost
    row("Panda, 100 nodes, torque limits", us, plan.iterations, plan.cost, other)
    problem, start, goal = ours(PANDA, 100, 0.01, limits={"torque": TORQUES, "velocity": 0.6})
    us, plan = best(lambda: problem.solve(start, goal=goal)), problem.solve(start, goal=goal)
    row("… and speed limits (no peer)", us, plan.iterations, plan.cost, None)
    problem, start, goal = ours(PANDA, 20, 0.05)
    law, t = problem.receding(goal=goal), [0.0]
    q, v = start, np.zeros(7)

    def call() -> None:
        t[0] += 0.05
        law(t[0], q, v)

    us, other = best(call), None
    if peer:
        solve, solver = peer_solve(crocoddyl_problem(PANDA, 20, 0.05), "SolverFDDP", 1)
        other = best(solve), 1, solver.cost
    row("Panda, 20 nodes, receding step", us, 1, law.plan.cost, other)

    us = rollout_step(problem, start, goal)
    row("… in a rollout of 64 motions", us, 1, law.plan.cost, None)

    if "--gaits" in sys.argv:
        row("quadruped, 20 nodes, receding step", *quadruped_step(), None)
        for name, gait in gaits().items():
            solve = partial(gait.problem.solve, gait.start, **gait.data)
            us, plan = best(solve), solve()
            other = crocoddyl_gait(name) if peer else None
            row(name, us, plan.iterations, plan.cost, other)


def rollout_step(problem: Any, start: np.ndarray, goal: np.ndarray, motions: int = 64, plans: int = 50) -> float:
    """CPU time of a plan of a receding horizon inside a compiled rollout, steps of 1 ms included [µs]."""
    law, rng = problem.receding(goal=goal, rate=100.0), np.random.default_rng(0)
    q = start + 0.05 * rng.standard_normal((motions, len(start)))
    times = {}
    for steps in (10, 10 * (plans + 1)):  # the first plan is a whole solve
        times[steps] = best(partial(problem.robot.rollout, q, 0.0 * q, law, 1e-3, steps, threads=1), 5.0)
    return (times[10 * (plans + 1)] - times[10]) / (motions * plans)


def quadruped_step() -> tuple[float, int, float]:
    """A step of a quadruped's receding horizon with 20 nodes and contacts of its feet: time [µs], iterations, cost."""
    robot, feet = load("quadruped"), ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    home = robot.neutral()
    home[7:] = [0.0, 0.7, -1.4] * 4
    home[2] = -robot.pose(home, feet[0])[2, 3]

    def state(q: Any, v: Any) -> dict[str, Any]:
        return {"posture": (2.0, robot.difference(home, q)), "speed": (1e-1, v)}

    def running(q: Any, v: Any, u: Any, force: Any) -> dict[str, Any]:
        return state(q, v) | {"effort": (1e-3, u), "push": (1e-6, np.concatenate(list(force.values())))}

    problem = robot.optimal_control(running, state, step=0.025, nodes=20, contacts=feet)
    stance = np.tile([[1.0, 0.0, 0.0, 1.0]] * 10 + [[0.0, 1.0, 1.0, 0.0]] * 10, (2, 1))[:21]  # a trot
    law, t, v = problem.receding(stance=stance), [0.0], np.zeros(robot.nv)

    def call() -> None:
        t[0] += 0.025
        law(t[0], home, v)

    return best(call), 1, law.plan.cost


def goals(count: int = 100) -> None:
    """Random goals within tight limits: our minima and IPOPT's."""
    robot, frame, start = load("panda"), "panda_hand", np.array(PANDA[2], float)
    here = np.asarray(robot.pose(start, frame))[:3, 3]

    def running(q: Any, v: Any, u: Any, goal: Any) -> dict[str, Any]:
        reach = robot.pose(q, frame)[:3, 3] - goal
        return {
            "posture": (0.1, q - start),
            "speed": (0.1, v),
            "effort": (1e-3, u - robot.gravity(q)),
            "reach": (1, reach),
        }

    def terminal(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        return {"reach": (1e3, robot.pose(q, frame)[:3, 3] - goal), "rest": (0.1, v)}

    limits = {"torque": 1.3 * TORQUES, "velocity": 0.5, "position": (start - 0.6, start + 0.6)}
    problem = robot.optimal_control(running, terminal, step=0.02, nodes=50, goal=3, limits=limits)
    rng, rows = np.random.default_rng(0), []
    for _ in range(count):
        goal = here + rng.uniform(-0.35, 0.35, 3)
        plan, other = problem.solve(start, goal=goal), problem.functions(start, goal=goal).ipopt()
        rows.append((plan.converged, other.converged, plan.iterations, other.iterations, plan.cost / other.cost - 1.0))
        if abs(rows[-1][4]) > 1e-6:
            print(f"  another minimum at {goal.round(4)}: ours {plan.cost:.9f}, IPOPT's {other.cost:.9f} {other.why}")
    ours_ok, its_ok, our_count, its_count, off = (np.array(x) for x in zip(*rows, strict=True))
    same = np.abs(off) <= 1e-6
    lower, higher = (off < -1e-6).sum(), (off > 1e-6).sum()
    print(f"{count} goals, converged: ours {ours_ok.sum()}, IPOPT {its_ok.sum()}")
    print(f"the same minimum: {same.sum()}; ours lower: {lower}; ours higher: {higher}")
    print(
        f"iterations: {our_count.mean():.1f} (most {our_count.max()}); IPOPT {its_count.mean():.1f} ({its_count.max()})"
    )


def gaits() -> dict[str, Any]:
    """The gaits of tests/refs/gaits.py."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from refs import gaits

    anymal = {f"ANYmal {kind}": gaits.anymal(robots(), kind) for kind in ("trot", "walk")}
    return anymal | {"Talos legs walk": gaits.talos(robots())}


def crocoddyl_gait(name: str) -> tuple[float, int, float]:
    """Time, iterations and cost of the peer's own problem."""
    import crocoddyl
    import example_robot_data
    from crocoddyl.utils.biped import SimpleBipedGaitProblem
    from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

    model = example_robot_data.load("talos_legs" if name.startswith("Talos") else "anymal").model
    pose = model.referenceConfigurations["half_sitting" if name.startswith("Talos") else "standing"].copy()
    x0 = np.concatenate([pose, np.zeros(model.nv)])
    if name.startswith("Talos"):
        biped = SimpleBipedGaitProblem(model, "right_sole_link", "left_sole_link")
        problem = biped.createWalkingProblem(x0, 0.6, 0.1, 0.0375, 25, 1)
    else:
        gait = SimpleQuadrupedalGaitProblem(model, "LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
        trots = name.endswith("trot")
        make = gait.createTrottingProblem if trots else gait.createWalkingProblem
        problem = make(x0, *((0.15, 0.1) if trots else (0.25, 0.15)), 1e-2, 25, 2)
    problem.nthreads = 1
    solver = crocoddyl.SolverFDDP(problem)
    states, controls = [problem.x0] * (problem.T + 1), problem.quasiStatic([problem.x0] * problem.T)
    us = best(lambda: solver.solve(list(states), list(controls), 100, False, 0.1), 5.0)
    return us, solver.iter + 1, solver.cost


if __name__ == "__main__":
    main()
