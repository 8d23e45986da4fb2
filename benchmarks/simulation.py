"""Rollouts and single steps beside MuJoCo, and adaptive runs beside SciPy on Pinocchio's dynamics, in one run.

`python benchmarks/simulation.py [--quick]`; needs the peers of `make bench`. Rollouts: semi-implicit Euler, one thread
each, no contacts, constant torques; the joints' speeds at the end are compared. Adaptive runs: a swing of a UR5 over
5 s, "rk45" and "rk8" beside solve_ivp's RK45 and DOP853 with pinocchio.aba, the same tolerances; ours keeps its energy
ledger. Results also go to bench/simulation.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from dalembert.cli.benchmark import cases
from dalembert.cli.benchmark.clock import Job, race
from dalembert.spatial import so3

STEP, STEPS = 1e-3, 100
RTOL, ATOL, DURATION = 1e-8, 1e-10, 5.0


def twin(robot) -> object:
    """The same robot in MuJoCo, made body by body: hinges and at most a free base, no contacts."""
    import mujoco as mj

    spec = mj.MjSpec()
    spec.compiler.balanceinertia = False
    spec.option.gravity, spec.option.timestep = robot.model.gravity, STEP
    spec.option.integrator = mj.mjtIntegrator.mjINT_EULER
    spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    made: list = []
    for body in robot.model.bodies:
        X, inertia = body.placement, body.inertia
        parent = made[body.parent] if body.parent >= 0 else spec.worldbody
        made.append(parent.add_body(name=f"body {body.index}", pos=X.p, quat=so3.to_quaternion(X.R)))
        if inertia.mass:
            made[-1].explicitinertial, made[-1].mass, made[-1].ipos = True, inertia.mass, inertia.com
            made[-1].fullinertia = inertia.about_com()[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        if body.joint.kind == "free":
            made[-1].add_joint(type=mj.mjtJoint.mjJNT_FREE)
        elif body.joint.nv:
            S = body.joint.subspace(body.joint.neutral())[:, 0]
            kind = mj.mjtJoint.mjJNT_HINGE if S[:3].any() else mj.mjtJoint.mjJNT_SLIDE
            made[-1].add_joint(type=kind, axis=S[:3] if S[:3].any() else S[3:])
    return spec.compile()


def rollouts(case: cases.Case, batch: int, rounds: int) -> dict[str, float]:
    """Steps per second of both on one core. A free base starts at rest, where the two write velocities alike.

    MuJoCo keeps every state; "dalembert" keeps the last ones alone, "recording" every one.
    """
    import mujoco
    from mujoco import rollout

    robot = case.load()
    model = twin(robot)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng, batch), np.zeros((batch, robot.nv)), 0.1 * rng.normal(size=(batch, robot.nv))
    free = 6 if robot.joints[0].kind == "free" else 0
    v[:, free:], tau[:, :free] = 0.1 * rng.normal(size=(batch, robot.nv - free)), 0.0
    state = np.zeros((batch, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq], state[:, 1 + model.nq : 1 + model.nq + model.nv] = q, v
    names = {
        "rollout": rollout,
        "model": model,
        "data": mujoco.MjData(model),
        "state": state,
        "control": np.repeat(tau[:, None], STEPS, axis=1),
        "kind": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
        "steps": STEPS,
    }
    code = "y, _ = rollout.rollout(model, data, state, control, control_spec=kind, nstep=steps)"
    ours = {"robot": robot, "q": q, "v": v, "tau": tau, "STEP": STEP, "STEPS": STEPS}
    jobs = {
        "MuJoCo": Job(code, names, batch * STEPS),
        "dalembert": Job("y = robot.rollout(q, v, tau, STEP, STEPS, threads=1)", ours, batch * STEPS),
        "recording": Job("y = robot.rollout(q, v, tau, STEP, STEPS, every=1, threads=1)", ours, batch * STEPS),
    }
    exec(code, names)
    joints = names["y"][:, -1, 1 + model.nq + free : 1 + model.nq + model.nv]
    difference = np.abs(robot.rollout(q, v, tau, STEP, STEPS, threads=1).v[:, free:] - joints).max()
    times = race(jobs, rounds=rounds, round_time=0.3)
    found = {name: 1.0 / sample.best for name, sample in times.items()}
    return {**found, "ratio": found["dalembert"] / found["MuJoCo"], "difference": float(difference), "batch": batch}


def single_steps(case: cases.Case, rounds: int) -> dict[str, float]:
    """Steps per second of a loop in Python that gives a torque for each step."""
    import mujoco

    robot = case.load()
    model = twin(robot)
    rng = np.random.default_rng(0)
    q, v, tau = robot.random(rng), np.zeros(robot.nv), 0.01 * rng.normal(size=robot.nv)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    theirs = {"model": model, "data": data, "tau": tau, "mj_step": mujoco.mj_step}
    ours = {"step": robot.stepper(STEP), "q": q, "v": v, "tau": tau}
    jobs = {
        "MuJoCo": Job("data.qfrc_applied[:] = tau; mj_step(model, data)", theirs),
        "dalembert": Job("y = step(q, v, tau)", ours),
    }
    times = race(jobs, rounds=rounds, round_time=0.1)
    found = {name: 1.0 / sample.best for name, sample in times.items()}
    return {**found, "ratio": found["dalembert"] / found["MuJoCo"]}


def swings(rounds: int, label: str = "UR5", duration: float = DURATION) -> dict[str, dict[str, float]]:
    """Seconds of both for the swing of a UR5; the bundled one, "ur5", turns a wrist many times in it."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    (case,) = cases.select([label])
    robot = case.load()
    model = pin.buildModelFromUrdf(str(case.path))
    data, zero = model.createData(), np.zeros(6)
    q, v = np.array([0.0, -0.5, 0.0, 0.0, 0.0, 0.0]), np.zeros(6)

    def rate(t, y):
        return np.concatenate([y[6:], pin.aba(model, data, y[:6], y[6:], zero)])

    found = {}
    for ours, theirs in (("rk45", "RK45"), ("rk8", "DOP853")):
        names = {"robot": robot, "q": q, "v": v, "y0": np.concatenate([q, v]), "rate": rate, "solve_ivp": solve_ivp}
        times = race(
            {
                theirs: Job(
                    f"solve_ivp(rate, (0, {duration}), y0, method={theirs!r}, rtol={RTOL}, atol={ATOL})", names
                ),
                ours: Job(f"robot.simulate(q, v, {duration}, None, {ours!r}, None, {RTOL}, {ATOL})", names),
            },
            rounds=rounds,
            round_time=0.2,
        )
        slow, fast = times[theirs].best, times[ours].best
        found[f"{ours} beside {theirs}"] = {"SciPy + Pinocchio": slow, "dalembert": fast, "ratio": slow / fast}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and states")
    quick = parser.parse_args().quick
    labels = [label for label in ("panda", "quadruped", "Panda", "ANYmal") if label in cases.available()]
    runs = {case.label: rollouts(case, 128 if quick else 1024, 3 if quick else 9) for case in cases.select(labels)}
    steps = {case.label: single_steps(case, 3 if quick else 9) for case in cases.select(labels)}
    result = {
        "rollouts": runs,
        "single steps": steps,
        "swings": swings(3 if quick else 9),
    }
    for label, row in result["rollouts"].items():
        print(
            f"{label:8} rollout, steps/s on one core: MuJoCo {row['MuJoCo']:.3g}, dalembert {row['dalembert']:.3g}, "
            f"ratio {row['ratio']:.1f}; ends differ by {row['difference']:.1e}"
        )
    for label, row in result["single steps"].items():
        print(
            f"{label:8} single steps from Python, steps/s: MuJoCo {row['MuJoCo']:.3g}, "
            f"dalembert {row['dalembert']:.3g}, ratio {row['ratio']:.1f}"
        )
    for label, row in result["swings"].items():
        print(
            f"UR5 swing, {label}: SciPy + Pinocchio {1e3 * row['SciPy + Pinocchio']:.1f} ms, "
            f"dalembert {1e3 * row['dalembert']:.2f} ms, ratio {row['ratio']:.0f}"
        )
    folder = Path("bench")
    folder.mkdir(exist_ok=True)
    (folder / "simulation.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
