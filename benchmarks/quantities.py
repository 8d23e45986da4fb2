"""Time derivatives, Coriolis matrix, momentum map, regressor and reactions beside Pinocchio, in one run.

`python benchmarks/quantities.py [--quick] [--states N] [robot …]`; needs the peers of `make bench`. Matrices on which
the two have different conventions (parameters, reference points, factors of the Coriolis terms) are compared by what
both determine: C v, the linear momentum, the torques of the regressor, the work of the reactions. Results also go to
bench/quantities.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from dalembert.cli.benchmark import cases, ours, peers
from dalembert.cli.benchmark.clock import Job, race

# name: our arguments, Pinocchio's code for one state
QUANTITIES = {
    "inverse_dynamics_derivatives": ("q, v, u", "y = pin.computeRNEADerivatives(model, data, q, v, u)"),
    "forward_dynamics_derivatives": ("q, v, u", "y = pin.computeABADerivatives(model, data, q, v, u)"),
    "coriolis_matrix": ("q, v", "y = pin.computeCoriolisMatrix(model, data, q, v)"),
    "centroidal_momentum_matrix": ("q", "y = pin.computeCentroidalMap(model, data, q)"),
    "regressor": ("q, v, u", "y = pin.computeJointTorqueRegressor(model, data, q, v, u)"),
    "reaction_wrenches": ("q, v, u", "pin.rnea(model, data, q, v, u); y = [f.vector for f in data.f]"),
}


def difference(name: str, robot, rival, state, mine: np.ndarray, theirs: np.ndarray) -> float:
    """Relative difference of what both results determine, over all states."""
    q, v, u = state
    T = rival.layout.transform(q)
    if name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        a, b = mine, np.einsum("nki,nskl,nlj->nsij", T, theirs, T, optimize=True)
    elif name == "coriolis_matrix":
        a = np.einsum("nij,nj->ni", mine, v)
        b = np.einsum("nki,nkl,nlj,nj->ni", T, theirs, T, v, optimize=True)
    elif name == "centroidal_momentum_matrix":
        a, b = mine[:, 3:], theirs[:, :3] @ T
    elif name == "regressor":
        parameters = np.concatenate([I.toDynamicParameters() for I in rival.names["model"].inertias[1:]])
        a, b = mine @ robot.parameters(), np.einsum("nki,nk->ni", T, theirs @ parameters)
    else:
        moving = [i for i, body in enumerate(robot.model.bodies) if body.joint.nv]
        freedoms = [robot.model.bodies[i].joint.subspace(robot.neutral()[robot.model.bodies[i].q]) for i in moving]
        a = np.concatenate([mine[:, i] @ S for i, S in zip(moving, freedoms, strict=True)], axis=1)
        b = robot.inverse_dynamics(q, v, u)
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def results(code: str, rival: peers.Rival, state: list[np.ndarray]) -> list[np.ndarray]:
    """What Pinocchio's code gives for every state."""
    found = []
    for q, v, u in zip(*rival.inputs("inverse_dynamics", *state), strict=True):
        exec(code, names := rival.names | {"q": q, "v": v, "u": u})
        found.append(np.array(names["y"]))
    return found


def measure(case: cases.Case, count: int, rounds: int) -> list[dict]:
    robot = case.load()
    frame = robot.joints[-1].child
    rival = peers.build("Pinocchio", case, robot, frame)
    state = ours.states(robot, count, seed=1)
    rows = []
    for name, (arguments, code) in QUANTITIES.items():
        few = [x[:8] for x in state]
        theirs = np.array(results(code, rival, few))
        result = getattr(robot, name)(*[few["qvu".index(n)] for n in arguments.split(", ")])
        mine = np.stack(result, 1) if isinstance(result, tuple) else result
        error = difference(name, robot, rival, few, mine, theirs)
        if not error < 1e-9:
            raise SystemExit(f"{case.label} {name}: results differ by {error:.2e}")
        whole = np.empty((count, *mine.shape[1:]))
        names = {"robot": robot, "q": state[0], "v": state[1], "u": state[2], "out": whole}
        first = {"robot": robot} | {k: x[0].copy() for k, x in zip("qvu", state, strict=True)}
        n = 256
        Q, V, U = rival.inputs("inverse_dynamics", *[x[:n] for x in state])
        loop = f"for i, (q, v, u) in enumerate(zip(Q, V, U)):\n    {code}\n    out[i] = y"
        store = np.empty((n, *theirs.shape[1:]))
        one = rival.names | {"q": Q[0], "v": V[0], "u": U[0]}
        jobs = {
            "one": Job(f"robot.{name}({arguments})", first),
            "batch": Job(f"robot.{name}({arguments}, out=out, threads=1)", names, count),
            "fill": Job("out.fill(1.0)", names, count),
            "pin one": Job(code, one),
            "pin loop": Job(loop, rival.names | {"Q": Q, "V": V, "U": U, "out": store}, n),
        }
        times = {key: sample.best for key, sample in race(jobs, rounds=rounds, round_time=2e-3).items()}
        rows.append({"robot": case.label, "quantity": name, "error": error, "bytes": whole[0].nbytes} | times)
        print(
            f"{case.label:8s}{name:32s}{times['one'] * 1e6:9.2f} µs {times['pin one'] / times['one']:6.1f}×"
            f"{times['batch'] * 1e6:10.3f} µs {times['pin loop'] / times['batch']:6.1f}×{times['fill'] * 1e6:10.3f} µs",
            flush=True,
        )
    return rows


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=[label for label, *_ in cases.EXAMPLES])
    parser.add_argument("--states", type=int, default=4096)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    head = f"{'robot':8s}{'quantity':32s}{'one call':>12s} {'ratio':>7s}{'batch':>13s} {'ratio':>7s}{'fill':>13s}"
    print(head + "   (to Pinocchio)")
    rounds = 5 if options.quick else 15
    rows = [row for case in cases.select(options.robots) for row in measure(case, options.states, rounds)]
    Path("bench").mkdir(exist_ok=True)
    Path("bench/quantities.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
