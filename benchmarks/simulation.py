"""Rollouts beside mujoco.rollout, and adaptive runs beside SciPy on Pinocchio's dynamics, in one run.

`python benchmarks/simulation.py [--quick]`; needs the peers of `make bench`. Rollouts: semi-implicit Euler, one thread
each, no contacts, constant torques; both end in the same states. Adaptive runs: a swing of a UR5 over 5 s, "rk45" and
"rk8" beside solve_ivp's RK45 and DOP853 with pinocchio.aba, the same tolerances; ours keeps its energy ledger.
Results also go to bench/simulation.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from dalembert.bench import cases
from dalembert.bench.clock import Job, race
from dalembert.bench.peers import mujoco as rivals

STEP, STEPS = 1e-3, 100
RTOL, ATOL, DURATION = 1e-8, 1e-10, 5.0


def rollouts(case: cases.Case, batch: int, rounds: int) -> dict[str, float]:
    """Steps per second of both on one core."""
    import mujoco
    from mujoco import rollout

    robot = case.load()
    rival = rivals.build(case, robot, robot.bodies[-1].name)
    model, layout = rival.names["model"], rival.layout
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_EULER, STEP
    rng = np.random.default_rng(0)
    q, v = robot.random(rng, batch), 0.1 * rng.normal(size=(batch, robot.nv))
    tau = 0.1 * rng.normal(size=(batch, robot.nv))
    theirs_q, theirs_v, theirs_tau = rival.inputs("forward_dynamics", q, v, tau)
    state = np.zeros((batch, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + model.nq], state[:, 1 + model.nq : 1 + model.nq + model.nv] = theirs_q, theirs_v
    control = np.repeat(np.asarray(theirs_tau)[:, None], STEPS, axis=1)
    names = {
        "rollout": rollout, "model": model, "data": mujoco.MjData(model), "state": state, "control": control,
        "kind": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), "steps": STEPS,
    }  # fmt: skip
    code = "y, _ = rollout.rollout(model, data, state, control, control_spec=kind, nstep=steps)"
    ours = {"robot": robot, "q": q, "v": v, "tau": tau, "STEP": STEP, "STEPS": STEPS}
    jobs = {
        "MuJoCo": Job(code, names, batch * STEPS),
        "dalembert": Job("y = robot.rollout(q, v, tau, STEP, STEPS, threads=1)", ours, batch * STEPS),
    }
    exec(code, names)
    end = names["y"][:, -1, 1 + model.nq : 1 + model.nq + model.nv]
    mine = robot.rollout(q, v, tau, STEP, STEPS, threads=1)
    T = layout.transform(mine.q)
    difference = np.abs(np.einsum("nij,nj->ni", T, mine.v) - end).max() if robot.nv == model.nv else np.nan
    times = race(jobs, rounds=rounds, round_time=0.3)
    found = {name: 1.0 / sample.median for name, sample in times.items()}
    return {**found, "ratio": found["dalembert"] / found["MuJoCo"], "difference": float(difference)}


def tried(case: cases.Case, batch: int, rounds: int) -> dict[str, float] | None:
    """As `rollouts`; None where MuJoCo cannot have the robot."""
    try:
        return rollouts(case, batch, rounds)
    except ValueError as error:
        print(f"{case.label}: not with MuJoCo: {str(error).splitlines()[0]}")
        return None


def swings(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of both for the UR5's swing."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    (case,) = cases.select(["ur5"])
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
                    f"solve_ivp(rate, (0, {DURATION}), y0, method={theirs!r}, rtol={RTOL}, atol={ATOL})", names
                ),
                ours: Job(f"robot.simulate(q, v, {DURATION}, None, {ours!r}, None, {RTOL}, {ATOL})", names),
            },
            rounds=rounds,
            round_time=0.2,
        )
        slow, fast = times[theirs].median, times[ours].median
        found[f"{ours} beside {theirs}"] = {"SciPy + Pinocchio": slow, "dalembert": fast, "ratio": slow / fast}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and states")
    quick = parser.parse_args().quick
    labels = [label for label in ("panda", "quadruped", "Panda", "ANYmal") if label in cases.available()]
    runs = {case.label: tried(case, 128 if quick else 1024, 3 if quick else 9) for case in cases.select(labels)}
    result = {
        "rollouts": {label: row for label, row in runs.items() if row is not None},
        "swings": swings(3 if quick else 9),
    }
    for label, row in result["rollouts"].items():
        print(
            f"{label:8} rollout, steps/s on one core: MuJoCo {row['MuJoCo']:.3g}, dalembert {row['dalembert']:.3g}, "
            f"ratio {row['ratio']:.1f}; ends differ by {row['difference']:.1e}"
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
