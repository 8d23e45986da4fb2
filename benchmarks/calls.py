"""One call from Python, written in the ways that people write it, beside Pinocchio's call, in one run.

`python benchmarks/calls.py [--quick] [robot …]`; needs the peers of `make bench`. The last column is Pinocchio's time
divided by ours. Results also go to bench/calls.json. `--reach` measures inverse kinematics of arms instead, beside the
same method, damped Gauss-Newton, as a Python loop over Pinocchio.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import Wrench
from dalembert.cli.benchmark import cases, ours, peers
from dalembert.cli.benchmark.clock import Job, race

PLACED = "pin.computeJointJacobians(model, data, q); "
# of each function: Pinocchio's code, and ours in all ways
CALLS = {
    "inverse dynamics": (
        "pin.rnea(model, data, q, v, u)",
        {
            "": "robot.inverse_dynamics(q, v, u)",
            "keywords": "robot.inverse_dynamics(q=q, v=v, a=u)",
            "check=False": "robot.inverse_dynamics(q, v, u, check=False)",
            "out=": "robot.inverse_dynamics(q, v, u, out=tau)",
            "float32": "robot.inverse_dynamics(q32, v32, u32)",
            "bound early": "early(q, v, u)",
            "lists": "robot.inverse_dynamics(ql, vl, ul)",
        },
    ),
    "… with a wrench": (
        "pin.forwardKinematics(model, data, q); pin.rnea(model, data, q, v, u, loads)",
        {"made before": "robot.inverse_dynamics(q, v, u, external=wrenches)"},
    ),
    "forward dynamics": (
        "pin.aba(model, data, q, v, u)",
        {
            "": "robot.forward_dynamics(q, v, u)",
            "keywords": "robot.forward_dynamics(q, v, tau=u)",
            "check=False": "robot.forward_dynamics(q, v, u, check=False)",
        },
    ),
    "mass matrix": (
        "pin.crba(model, data, q)",
        {"": "robot.mass_matrix(q)", "check=False": "robot.mass_matrix(q, check=False)"},
    ),
    "derivatives of ID": (
        "pin.computeRNEADerivatives(model, data, q, v, u)",
        {
            "": "robot.inverse_dynamics_derivatives(q, v, u)",
            "check=False": "robot.inverse_dynamics_derivatives(q, v, u, check=False)",
            "out=": "robot.inverse_dynamics_derivatives(q, v, u, out=three)",
        },
    ),
    "derivatives of FD": (
        "pin.computeABADerivatives(model, data, q, v, u)",
        {
            "": "robot.forward_dynamics_derivatives(q, v, u)",
            "out=": "robot.forward_dynamics_derivatives(q, v, u, out=three)",
        },
    ),
    "Jacobian": (
        PLACED + "pin.getFrameJacobian(model, data, frame_id, pin.LOCAL_WORLD_ALIGNED)",
        {
            "": "robot.jacobian(q, frame)",
            'axes="body"': 'robot.jacobian(q, frame, axes="body")',
            "point=": "robot.jacobian(q, frame, point=point)",
            "rows=": 'robot.jacobian(q, frame, rows="position")',
        },
    ),
    "integrate": (
        "pin.integrate(model, q, v)",
        {"": "robot.integrate(q, v)", "dt": "robot.integrate(q, v, 1e-3)"},
    ),
}


ARMS = (
    ("UR5", "", "tool0"),
    ("Panda", "", "panda_hand"),
    ("iiwa14", "", "iiwa_link_7"),
    ("Talos", "arm_left", "arm_left_7_link"),
)
AWAY = 0.05  # [rad]: distance of the start from a solution
LEAST, DAMPING = 1e-8, 1e-6  # tolerance [m, rad] and damping of Pinocchio's loop


def descend(rival: peers.Rival, frame: int, columns: list[int], q: np.ndarray, target: Any) -> tuple[np.ndarray, int]:
    """Damped Gauss-Newton as Pinocchio's users write it, moving some velocities alone; limits are not kept."""
    pin, model, data = (rival.names[name] for name in ("pin", "model", "data"))
    v = np.zeros(model.nv)
    for k in range(100):
        pin.forwardKinematics(model, data, q)
        pin.updateFramePlacement(model, data, frame)
        error = pin.log6(data.oMf[frame].actInv(target)).vector
        if np.linalg.norm(error) < LEAST:
            return q, k
        J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)[:, columns]
        v[columns] = J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
        q = pin.integrate(model, q, v)
    return q, 100


def reach(rounds: int, count: int = 20) -> list[dict]:
    """Inverse kinematics of arms from starts that lie `AWAY` from a solution."""
    rows = []
    for label, limb, frame in ARMS:
        case = cases.available()[label]
        robot = case.load()
        joints = [j.name for j in robot.joints if limb and limb in j.name] or None
        rival = peers.build("Pinocchio", case, robot, frame)
        pin, model, data = (rival.names[name] for name in ("pin", "model", "data"))
        columns = [model.joints[model.getJointId(name)].idx_v for name in joints or model.names[1:]]
        moving = np.isin(np.arange(robot.nv), [robot.joint(n).v.start for n in joints]) if joints else np.ones(robot.nv)
        rng, jobs, number = np.random.default_rng(0), ([], []), model.getFrameId(frame)
        while len(jobs[0]) < count:
            step = rng.normal(size=robot.nv) * moving
            goal = robot.integrate(robot.neutral(), robot.difference(robot.neutral(), robot.random(rng)) * moving)
            start = robot.integrate(goal, AWAY / np.linalg.norm(step) * step)
            Q = rival.inputs("inverse_dynamics", np.stack([goal, start]), *np.zeros((2, 2, robot.nv)))[0]
            pin.framesForwardKinematics(model, data, Q[0])
            job = (robot.pose(goal, frame), start), (Q[1].copy(), pin.SE3(data.oMf[number]))
            ours_found = robot.inverse_kinematics(job[0][0], frame, start=start, joints=joints, starts=1, check=False)
            if ours_found.success and descend(rival, number, columns, *job[1])[1] < 100:  # both find it
                for each, mine in zip(jobs, job, strict=True):
                    each.append(mine)
        names = {"robot": robot, "frame": frame, "joints": joints, "jobs": jobs[0]}
        theirs = {"descend": descend, "rival": rival, "number": number, "columns": columns, "jobs": jobs[1]}
        code = "for T, q in jobs: robot.inverse_kinematics(T, frame, start=q, joints=joints)"
        loop = "for q, T in jobs: descend(rival, number, columns, q, T)"
        times = race({"one": Job(code, names, count), "pin": Job(loop, theirs, count)}, rounds=rounds, round_time=2e-3)
        steps = [robot.inverse_kinematics(T, frame, start=q, joints=joints).iterations for T, q in jobs[0]]
        others = [descend(rival, number, columns, q, T)[1] for q, T in jobs[1]]
        row = {"robot": label, "limb": limb, "seconds": times["one"].best, "Pinocchio": times["pin"].best}
        rows.append(row | {"steps": float(np.mean(steps)), "Pinocchio steps": float(np.mean(others))})
        print(
            f"{label:8s}{limb:10s}{row['seconds'] * 1e6:9.2f} µs ({rows[-1]['steps']:.1f} steps)"
            f"{row['Pinocchio'] * 1e6:9.1f} µs ({np.mean(others):.1f} steps){row['Pinocchio'] / row['seconds']:8.1f}×",
            flush=True,
        )
    return rows


def measure(case: cases.Case, rounds: int) -> list[dict]:
    robot = case.load()
    frame = robot.joints[-1].child
    rival = peers.build("Pinocchio", case, robot, frame)
    q, v, u = (x[0].copy() for x in ours.states(robot, 1, seed=1))
    Q, V, U = (x[0].copy() for x in rival.inputs("inverse_dynamics", *(x[None] for x in (q, v, u))))
    names = {"robot": case.load(), "frame": frame, "q": q, "v": v, "u": u, "point": np.array([0.1, 0.2, 0.3])}
    names |= {f"{k}32": names[k].astype(np.float32) for k in "qvu"} | {f"{k}l": names[k].tolist() for k in "qvu"}
    names |= {"tau": np.empty(robot.nv), "three": np.empty((3, robot.nv, robot.nv))}
    names |= {"wrenches": [Wrench(force=np.array([1.0, 2.0, 3.0]), frame=frame)]}
    names["early"] = names["robot"].inverse_dynamics
    pin, model = rival.names["pin"], rival.names["model"]
    loads = pin.StdVec_Force([pin.Force.Zero() for _ in range(model.njoints)])
    loads[model.njoints - 1] = pin.Force(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    frame_id = model.getFrameId(frame) if model.existFrame(frame) else model.nframes - 1
    theirs = rival.names | {"q": Q, "v": V, "u": U, "loads": loads, "frame_id": frame_id}
    rows = []
    for function, (code, ways) in CALLS.items():
        jobs = {"Pinocchio": Job(code, theirs)} | {way: Job(text, names) for way, text in ways.items()}
        times = {key: sample.best for key, sample in race(jobs, rounds=rounds, round_time=2e-3).items()}
        for way in ways:
            rows.append({"robot": case.label, "function": function, "way": way, "code": ways[way]})
            rows[-1] |= {"seconds": times[way], "Pinocchio": times["Pinocchio"]}
            print(
                f"{case.label:8s}{function:20s}{way:14s}{times[way] * 1e6:9.2f} µs{times['Pinocchio'] * 1e6:9.2f} µs"
                f"{times['Pinocchio'] / times[way]:8.1f}×",
                flush=True,
            )
    return rows


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=[label for label, *_ in cases.EXAMPLES])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reach", action="store_true")
    options = parser.parse_args(arguments)
    if options.reach:
        reach(5 if options.quick else 15)
        return
    print(f"{'robot':8s}{'function':20s}{'way':14s}{'dalembert':>12s}{'Pinocchio':>12s}{'ratio':>9s}")
    rows = [row for case in cases.select(options.robots) for row in measure(case, 5 if options.quick else 15)]
    Path("bench").mkdir(exist_ok=True)
    Path("bench/calls.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
