"""Cost of the first call in fresh processes, with an empty and a filled cache: python benchmarks/first_call.py

CPU time of import, loading, tracing, compiling and the call, as a multiple of a fixed loop in Python in the same
process (`x += i & 7`, three million times), so that tables of different machines can be compared; memory is the growth
of the process at its peak, and what it keeps. Contact in the air takes no rare branch of a step; thrown, 16 motions
tumble on the ground, and take them. Robots of example-robot-data are measured where it is installed
(pip install --no-deps example-robot-data==5.0.0), and MJCF files that are named on the command line. `--chains`: chains
of 10 to 100 joints, to see growth.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

DATA = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
ROBOTS = {
    "UR5": ("ur5", {}),
    "quadruped": ("quadruped", {}),
    "ANYmal": (DATA / "anymal_b_simple_description/robots/anymal.urdf", {"base": "free"}),
    "Talos": (DATA / "talos_data/robots/talos_reduced.urdf", {"base": "free"}),
}
STATE = "q, v = robot.neutral(), numpy.zeros(robot.nv)"
REACH = """
def running(q, v, u): return {"effort": (1e-3, u), "state": (1e-1, numpy.concatenate([q, v]))}
def terminal(q, v): return {"state": (10.0, numpy.concatenate([q - 0.1, v]))}
robot.optimal_control(running, terminal, step=0.01, nodes=50).solve(q, v)
"""
AIR, FLOOR = (f"dalembert.Contact(ground={height}, friction=0.6)" for height in (-2.0, 0.0))
LAW = f"""
def law(t, q, v): return -2.0 * numpy.asarray(v) * (numpy.arange(robot.nv) >= 6)
robot.rollout(q, v, torque=law, steps=1, step=2e-3, contact={AIR})
"""
THROWN = f"""
rng = numpy.random.default_rng(0)
q, v = numpy.tile(q, (16, 1)), rng.normal(size=(16, robot.nv))
q[:, 2], q[:, 3:7] = 0.6, rng.normal(size=(16, 4))
robot.rollout(robot.normalize(q), v, steps=400, step=2e-3, contact={FLOOR}, check=False)
"""
CALLS = {
    "import": None,
    "load": "",
    "inverse dynamics": "robot.inverse_dynamics(q, v, v)",
    "derivatives of FD": "robot.forward_dynamics_derivatives(q, v, v)",
    "simulate": "robot.simulate(q, v, 0.01)",
    "contact rollout": f"robot.rollout(q, v, steps=1, step=2e-3, contact={AIR})",
    "contact rollout, own law": LAW,
    "contact stepper": f"robot.stepper(2e-3, contact={AIR})(q, v)",
    "contact rollout, thrown": THROWN,
    "optimal control": REACH,
}
TIMED = """
import gc, json, resource, time
import numpy
def cpu(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin
def loop():
    x = 0
    for i in range(3_000_000): x += i & 7
unit = min(cpu(loop) for _ in range(3))
memory = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def now():
    gc.collect()
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * resource.getpagesize() / 2**20
before, kept = memory(), now()
def work():
    exec({code!r}, {{"numpy": numpy}})
taken = cpu(work)
print(json.dumps([taken / unit, taken, memory() - before, now() - kept]))
"""


def measured(code: str, cache: str) -> tuple[float, float, float, float]:
    """(multiple of the loop, CPU seconds, growth of the peak, of what is kept in MB) of one fresh process."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TIMED.format(code=code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ratio, seconds, peak, kept = json.loads(done.stdout.splitlines()[-1])
    return ratio, seconds, peak, kept


def fits(name: str, call: str | None) -> bool:
    """Whether a call is measured for a robot: one import, and arms are not thrown."""
    if call is None or call in (LAW, THROWN):
        return (name == "UR5") == (call is None)
    return call != REACH or name in ("UR5", "quadruped")


def code_of(call: str | None, robot: str | Path, options: dict[str, str]) -> str:
    """The Python text of one case."""
    if call is None:
        return "import dalembert"
    return f"import dalembert\nrobot = dalembert.load({os.fspath(robot)!r}, **{options!r})\n{STATE}\n{call}"


def chain(joints: int, call: str) -> str:
    """The Python text of a call of a chain of joints about changing axes."""
    return f"""
import dalembert
b = dalembert.ModelBuilder("chain")
for k in range({joints}):
    b.add_body(f"b{{k}}", parent=f"b{{k - 1}}" if k else "world", joint="revolute", axis=numpy.eye(3)[k % 3],
               xyz=(0.1, 0.02, 0.03), mass=1.0, com=(0.05, 0.01, 0.02), inertia=numpy.diag([1e-3, 2e-3, 2e-3]))
robot = b.build()
{STATE}
{call}"""


def line(*titles: str, code: str) -> None:
    """Measure a text with an empty and with a filled cache, and print the row."""
    with tempfile.TemporaryDirectory() as folder:
        empty, filled = (measured(code, folder) for _ in range(2))
    columns = " | ".join(f"{x[0]:.2f} | {x[1]:.2f} | {x[2]:.0f} | {x[3]:.0f}" for x in (empty, filled))
    print(f"| {' | '.join(titles)} | {columns} |", flush=True)


def main() -> None:
    files = [x for x in sys.argv[1:] if x != "--chains"]
    robots = {name: each for name, each in ROBOTS.items() if isinstance(each[0], str) or each[0].exists()}
    robots |= {Path(file).stem: (file, {}) for file in files}
    print("| robot | first call | empty cache: loops | s | peak MB | kept MB | filled: loops | s | peak MB | kept MB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for joints in (10, 20, 50, 100) if "--chains" in sys.argv else ():
        for label in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            arguments = "q" if label == "mass_matrix" else "q, v, v"
            line(f"{joints} joints", label, code=chain(joints, f"robot.{label}({arguments})"))
    for name, (robot, options) in robots.items():
        for label, call in CALLS.items():
            if fits(name, call):
                line(name if call is not None else "", label, code=code_of(call, robot, options))


if __name__ == "__main__":
    main()
