"""Functions and jobs of the tests of studies, which other processes import; as a program, a slow study in a folder."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np

from dalembert import DalembertError, SimulationError, load, study
from dalembert.math import abs as absolute

SPACE = study.Space(mass=study.uniform(0.0, 3.0), speed=study.normal(0.0, 1.0))
PAUSE = "PAUSE_OF_ROWS"  # in the environment: [s] that a row of the program takes


def energies(robot, row):
    if row.index == 7:
        raise RuntimeError("no way")
    time.sleep(float(os.environ.get(PAUSE, 0.0)))
    v = np.array([row["speed"], 0.5])
    return {
        "torque": row["mass"] * robot.bias([0.3, 0.2], v),
        "energy": row["mass"] * robot.kinetic_energy([0.3, 0.2], v),
    }


def another(robot, row):
    return {"torque": np.zeros(2), "energy": 0.0}


def calls(robot, samples=300, method="sobol", seed=3):
    return robot.study(SPACE, energies, samples=samples, method=method, seed=seed)


def spring(t, q, v, k):
    return -k * q - 0.5 * v


def motions(robot, samples=300, parameters=None):
    space = study.Space(load=study.uniform(0, 2), gain=study.grid(5.0, 10.0), start=study.states(robot, spread=0.3))
    motion = study.motion(
        spring,
        step=2e-3,
        steps=50,
        parameters=parameters or {"payload": "load", "k": "gain"},
        measure={"peak": lambda tau: absolute(tau), "speed": lambda v: v @ v, "end": lambda q: q},
        reduce={"speed": "mean", "end": "last"},
    )
    return robot.study(space, motion, samples=samples, seed=5)


class Deadly:
    """Kills the process that computes row 13, once or always."""

    def __init__(self, marks: str, always: bool) -> None:
        self.marks, self.always = marks, always

    def __call__(self, robot, row):
        if row.index == 13 and (self.always or not os.listdir(self.marks)):
            (Path(self.marks) / f"{time.monotonic_ns()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return energies(robot, row)


def deaths(robot, marks, always):
    return robot.study(SPACE, Deadly(marks, always), samples=24, method="sobol", seed=3)


def trouble(robot, row):
    k = row.index
    if k == 2:
        while True:
            pass
    if k == 3:
        time.sleep(60.0)
    if k == 9:
        sys.exit(3)
    if k == 10:
        raise SimulationError("stopped at t = 0.1 s")
    answers = {
        4: {"y": np.nan},
        5: {"z": 1.0},
        6: {"y": "high"},
        7: {"y": [1.0, 2.0]},
        8: None,
        11: {"y": 1, "more": 2},
    }
    return answers.get(k, {"y": float(k)})


def troubles(robot):
    return robot.study(study.Space(a=study.linspace(0, 1, 14)), trouble, limit=0.5)


if __name__ == "__main__":
    os.environ[PAUSE] = "0.005" if len(sys.argv) < 3 else "0"  # rows that take no time come in large chunks
    sys.modules["studied"] = sys.modules["__main__"]
    energies.__module__ = "studied"
    if len(sys.argv) > 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    try:
        calls(load("2r")).run(sys.argv[1], workers=1, progress=False)
    except KeyboardInterrupt as error:
        print(error, file=sys.stderr)
        sys.exit(130)
    except DalembertError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
