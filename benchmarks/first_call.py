"""Cost of the first call in fresh processes, with an empty and a filled cache: python benchmarks/first_call.py

CPU time of import, loading, tracing, compiling and the call, as a multiple of a fixed loop in Python in the same
process (`x += i & 7`, three million times), so that tables of different machines can be compared; memory is the growth
of the process at its peak. Robots of example-robot-data are measured where it is installed
(pip install --no-deps example-robot-data==5.0.0), and MJCF files that are named on the command line for contact.
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
CALLS = {
    "import": None,
    "load": "",
    "inverse dynamics": "robot.inverse_dynamics(q, v, v)",
    "derivatives of FD": "robot.forward_dynamics_derivatives(q, v, v)",
    "simulate": "robot.simulate(q, v, 0.01)",
    "contact rollout": "robot.rollout(q, v, steps=1, step=2e-3, contact=dalembert.Contact(ground=-2.0, friction=0.6))",
    "optimal control": REACH,
}
TIMED = """
import json, resource, time
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
before = memory()
def work():
    exec({code!r}, {{"numpy": numpy}})
taken = cpu(work)
print(json.dumps([taken / unit, taken, memory() - before]))
"""


def measured(code: str, cache: str) -> tuple[float, float, float]:
    """(multiple of the loop, CPU seconds, growth of the peak in MB) of one fresh process."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TIMED.format(code=code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ratio, seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return ratio, seconds, megabytes


def code_of(call: str | None, robot: str | Path, options: dict[str, str]) -> str:
    """The Python text of one case."""
    if call is None:
        return "import dalembert"
    return f"import dalembert\nrobot = dalembert.load({os.fspath(robot)!r}, **{options!r})\n{STATE}\n{call}"


def main() -> None:
    robots = {name: each for name, each in ROBOTS.items() if isinstance(each[0], str) or each[0].exists()}
    robots |= {Path(file).stem: (file, {}) for file in sys.argv[1:]}
    print("| robot | first call | empty cache: loops | s | MB | filled cache: loops | s | MB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, (robot, options) in robots.items():
        for label, call in CALLS.items():
            if (call is None and name != "UR5") or (call == REACH and name not in ("UR5", "quadruped")):
                continue
            code = code_of(call, robot, options)
            with tempfile.TemporaryDirectory() as folder:
                numbers = [measured(code, folder) for _ in range(2)]
            columns = " | ".join(f"{ratio:.2f} | {seconds:.2f} | {size:.0f}" for ratio, seconds, size in numbers)
            print(f"| {name if call is not None else ''} | {label} | {columns} |", flush=True)


if __name__ == "__main__":
    main()
