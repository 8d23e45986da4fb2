"""Mechanisms of free bodies beside exudyn and MuJoCo, in one run: µs of CPU time per step, best of several.

    python benchmarks/mechanisms.py [--exudyn PYTHON]

exudyn is run by the interpreter that --exudyn names, one in which `pip install exudyn` was done; MuJoCo is imported
here (`pip install mujoco`). What is missing is said and left out.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from dalembert import Mechanism
from dalembert.mechanism import MechanismRobot, mechanism

STEP = 1e-5
SIDE = 0.03

EXUDYN = """
import sys; sys.exudynFast = True
import exudyn as exu, numpy as np, time
from exudyn.utilities import InertiaCuboid
D = exu.DynamicSolverType
def run(mbs, T, h, solver):
    s = exu.SimulationSettings(); ti = s.timeIntegration
    ti.numberOfSteps = int(round(T / h)); ti.endTime = T; ti.verboseMode = 0
    s.solutionSettings.writeSolutionToFile = False; s.parallel.numberOfThreads = 1
    if solver == D.GeneralizedAlpha:
        ti.generalizedAlpha.spectralRadius = 0.8; ti.newton.useModifiedNewton = True
    begin = time.process_time(); mbs.SolveDynamic(s, solverType=solver)
    return (time.process_time() - begin) / (T / h) * 1e6
world = {"useGlobalFrame": True}
def chain(N, springs):
    SC = exu.SystemContainer(); mbs = SC.AddSystem(); before = mbs.CreateGround(); L = 0.2
    node = exu.NodeType.RotationRotationVector if springs else exu.NodeType.RotationEulerParameters
    for i in range(N):
        b = mbs.CreateRigidBody(inertia=InertiaCuboid(density=1000, sideLengths=[L, .03, .03]), gravity=[0, -9.81, 0],
                                referencePosition=[L * (i + .5), 0, 0], nodeType=node, returnDict=True)["bodyNumber"]
        if springs:
            k = [1e6] * 3 + [1e3, 1e3, 0]; d = [1e2] * 3 + [1e-1, 1e-1, 0]
            end = [0, 0, 0] if i == 0 else [L / 2, 0, 0]
            mbs.CreateRigidBodySpringDamper(bodyNumbers=[before, b], localPosition0=end, localPosition1=[-L / 2, 0, 0],
                                            stiffness=np.diag(k), damping=np.diag(d))
        else:
            mbs.CreateRevoluteJoint(bodyNumbers=[before, b], position=[L * i, 0, 0], axis=[0, 0, 1], **world)
        before = b
    mbs.Assemble(); return SC, mbs
def crank():
    SC = exu.SystemContainer(); mbs = SC.AddSystem(); g = mbs.CreateGround(); a, c = .15, .4
    body = lambda size, x, w, v: mbs.CreateRigidBody(
        inertia=InertiaCuboid(1000, size), referencePosition=[x, 0, 0], initialAngularVelocity=[0, 0, w],
        initialVelocity=[0, v, 0], gravity=[0, -9.81, 0], returnDict=True)["bodyNumber"]
    b1, b2 = body([a, .03, .03], a / 2, 20., 1.5), body([c, .03, .03], a + c / 2, -7.5, 1.5)
    b3 = body([.1, .1, .1], a + c, 0., 0.)
    mbs.CreateRevoluteJoint(bodyNumbers=[g, b1], position=[0, 0, 0], axis=[0, 0, 1], **world)
    mbs.CreateGenericJoint(bodyNumbers=[b1, b2], position=[a, 0, 0], constrainedAxes=[1, 1, 0, 0, 0, 0], **world)
    mbs.CreateGenericJoint(bodyNumbers=[b2, b3], position=[a + c, 0, 0], constrainedAxes=[1, 1, 1, 1, 1, 0], **world)
    mbs.CreatePrismaticJoint(bodyNumbers=[g, b3], position=[a + c, 0, 0], axis=[1, 0, 0], **world)
    mbs.Assemble(); return SC, mbs
SC, mbs = crank(); print("RESULT crank", run(mbs, .1, 1e-5, D.GeneralizedAlpha))
SC, mbs = chain(20, False); print("RESULT chain", run(mbs, .02, 1e-5, D.GeneralizedAlpha))
SC, mbs = chain(20, True); print("RESULT springs", run(mbs, .1, 1e-5, D.VelocityVerlet))
"""


def bars(count: int, **options: object) -> Mechanism:
    """Bars of 0.2 m, hinged in a row."""
    m = Mechanism("chain", gravity=(0.0, -9.81, 0.0))
    for k in range(count):
        _bar(m, f"b{k}", (0.2 * k, 0.0), (0.2 * k + 0.2, 0.0))
        m.joint("revolute", "ground.origin" if not k else f"b{k - 1}.b", f"b{k}.a", name=f"j{k}", **options)  # type: ignore[arg-type]
    return m


def tower(cells: int) -> Mechanism:
    """Four-bars, each on the coupler of the one before: three bodies and one loop for each."""
    m = Mechanism("tower", gravity=(0.0, 9.81, 0.0))  # it hangs
    m.ground(a=(-0.1, 0.0), b=(0.1, 0.0))
    base, y, feet = "ground", 0.0, [(-0.1, 0.0), (0.1, 0.0)]
    for k in range(cells):
        left, right = -0.1 + 0.02 * (-1) ** k, 0.1 + 0.03 * (-1) ** k
        start = feet
        feet = [(left, y + 0.2), (right, y + 0.2)]
        _bar(m, f"l{k}", start[0], feet[0])
        _bar(m, f"r{k}", start[1], feet[1])
        _bar(m, f"c{k}", *feet)
        m.joint("revolute", f"{base}.a", f"l{k}.a", name=f"A{k}")
        m.joint("revolute", f"{base}.b", f"r{k}.a", name=f"D{k}")
        m.joint("revolute", f"c{k}.a", f"l{k}.b", name=f"B{k}")
        m.joint("point-on-line", f"c{k}.b", f"r{k}.b", name=f"C{k}")
        base, y = f"c{k}", y + 0.2
    return m


def _bar(m: Mechanism, name: str, a: tuple[float, float], b: tuple[float, float]) -> None:
    d = np.subtract(b, a)
    length = float(np.hypot(*d))
    mass = 1000.0 * length * SIDE**2
    moments = mass / 12.0 * np.array([2.0 * SIDE**2, length**2 + SIDE**2, length**2 + SIDE**2])
    points = {"a": (-0.5 * length, 0.0), "b": (0.5 * length, 0.0)}
    m.body(name, mass, moments, points=points, xyz=np.add(a, b) / 2.0, angle=float(np.arctan2(d[1], d[0])))


def per_step(run: Callable[[int], object], steps: int, times: int = 7) -> float:
    """µs of CPU time per step, best of several."""
    run(steps)
    best = np.inf
    for _ in range(times):
        begin = time.process_time()
        run(steps)
        best = min(best, time.process_time() - begin)
    return best / steps * 1e6


def ours(m: Mechanism, coordinates: str, integrator: str, step: float = STEP, steps: int = 20_000) -> float:
    robot = m.build(coordinates, step=step)
    return per_step(
        lambda n: robot.rollout(*robot.start, step=step, steps=n, integrator=integrator, check=False), steps
    )


def energy_error(robot: MechanismRobot, integrator: str, h: float, duration: float) -> float:
    """What the energy changes by, or the ledger leaves open where elements act, of the largest kinetic energy."""
    if robot.forces:
        ledger = robot.simulate(*robot.start, duration, integrator=integrator, step=h, record=0.01 * duration).energy
        return float(np.max(np.abs(ledger.residual)) / np.max(ledger.kinetic))
    way = robot.rollout(*robot.start, step=h, steps=round(duration / h), integrator=integrator, every=10)
    energy = robot.energy(way.q, way.v)
    return float(np.max(np.abs(energy - energy[0])) / np.max(robot.kinetic_energy(way.q, way.v)))


def mujoco_chain(count: int) -> float | None:
    try:
        import mujoco
    except ImportError:
        print("MuJoCo is missing: pip install mujoco")
        return None
    bodies = "".join(
        f'<body name="b{i}" pos="{0.2 * i + 0.1} 0 0"><freejoint/><geom type="box" size=".1 .015 .015" contype="0" '
        f'conaffinity="0" density="1000"/></body>'
        for i in range(count)
    )
    ties = "".join(
        f'<connect body1="b{i}" {f"""body2="b{i - 1}" """ if i else ""} anchor="-.1 0 {z}" solref="{2 * STEP} 1" '
        f'solimp=".9999 .9999 .001"/>'
        for i in range(count)
        for z in (-0.05, 0.05)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" gravity="0 -9.81 0"/><worldbody>{bodies}</worldbody>'
        f"<equality>{ties}</equality></mujoco>"
    )
    data = mujoco.MjData(model)
    return per_step(lambda n: mujoco.mj_step(model, data, n), 200, 5)


def exudyn(python: str | None) -> dict[str, float]:
    interpreter = python or sys.executable
    result = subprocess.run([interpreter, "-c", EXUDYN], capture_output=True, text=True)
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        print(
            "exudyn is missing: make a virtual environment, pip install exudyn there, and pass --exudyn ITS/bin/python"
        )
    return {name: float(value) for _, name, value in lines}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--exudyn", help="an interpreter that has exudyn")
    peers = exudyn(parser.parse_args().exudyn)
    springs = {"hold": "springs", "stiffness": 1e6, "damping": 1e2}
    rows = [
        ("slider-crank, multipliers", ours(mechanism("slider-crank"), "free", "leapfrog"), peers.get("crank")),
        ("6 bodies in a chain, multipliers", ours(bars(6), "free", "leapfrog"), None),
        ("20 bodies in a chain, multipliers", ours(bars(20), "free", "leapfrog"), peers.get("chain")),
        ("20 bodies in a chain, springs", ours(bars(20, **springs), "free", "axis-angle"), peers.get("springs")),
        ("24 bodies, 8 loops, multipliers", ours(tower(8), "free", "leapfrog"), None),
        ("24 bodies, 8 loops, tree with closures", ours(tower(8), "tree", "semi-implicit"), None),
    ]
    print(f"{'at a step of 1e-5 s':42s} {'µs/step':>8s} {'× real time':>11s} {'exudyn µs':>10s} {'ratio':>7s}")
    for name, own, peer in rows:
        beside = f"{peer:10.1f} {peer / own:6.0f}×" if peer else ""
        print(f"{name:42s} {own:8.2f} {10.0 / own:11.2f} {beside}")
    chain = mujoco_chain(20)
    if chain:
        name = "20 bodies, MuJoCo free bodies and connects"
        print(f"{name:42s} {chain:8.2f} {'':22s} {chain / rows[2][1]:6.0f}×")
    fine = ours(mechanism("slider-crank"), "free", "leapfrog", 1e-7)
    print(f"slider-crank at 1e-7 s: {0.1 / fine:.2f} × real time")
    print("\nIFToMM's library, ms of CPU time; what the energy ledger leaves open, of the largest kinetic energy")
    for name, coordinates, integrator, h, duration in (
        ("pendulum", "tree", "rk4", 2.5e-3, 10.0),
        ("double-four-bar", "tree", "rk4", 5e-3, 10.0),
        ("andrews", "tree", "rk4", 5e-5, 0.05),
        ("bricard", "free", "leapfrog", 7e-4, 10.0),
        ("governor", "tree", "rk4", 5e-3, 10.0),
    ):
        each = ours(mechanism(name), coordinates, integrator, h, round(duration / h))
        robot = mechanism(name).build(coordinates)
        error = energy_error(robot, integrator, h, duration)
        print(f"  {name:18s} {duration:g} s at {h:g}: {each * duration / h / 1e3:7.1f} ms, energy {error:.0e}")
    print("\na chain, nothing kept on disk: seconds to build it, to trace and compile its first step; code; µs/step")
    for count in (5, 20, 40, 80, 160, 300):
        print(f"  {count:3d} bodies: {grown(count)}")


def grown(count: int) -> str:
    """What a chain of so many bodies costs, measured in a process of its own with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        code = f"import mechanisms; mechanisms.print_costs({count})"
        environment = {**os.environ, "DALEMBERT_CACHE": cache}
        folder = pathlib.Path(__file__).parent
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
        )
        if result.returncode:
            return f"failed: {result.stderr.strip().splitlines()[-1]}"
        kilobytes = sum(path.stat().st_size for path in pathlib.Path(cache).rglob("*") if path.is_file()) / 1e3
        built, first, each = (float(x) for x in result.stdout.split())
        return f"{built:.2f} s, {first:.2f} s, {kilobytes:.0f} kB, {each:.2f} µs"


def print_costs(count: int) -> None:
    """CPU seconds of building a chain and of its first step, and µs of each further one."""
    chain = bars(count)
    begin = time.process_time()
    robot = chain.build("free")
    built = time.process_time()

    def run(steps: int) -> object:
        return robot.rollout(*robot.start, step=STEP, steps=steps, integrator="leapfrog", check=False)

    run(1)
    print(built - begin, time.process_time() - built, per_step(run, 2000))


if __name__ == "__main__":
    main()
