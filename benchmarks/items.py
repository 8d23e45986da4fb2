"""A chain of free bodies joined by stiff springs, one motion on one core: maps over joints and bodies, and written out.

`python benchmarks/items.py [bodies …]`. The same step, semi-implicit Euler at 1e-5 s, is traced twice: joint by joint
and body by body into straight-line code, and with `dalembert.math.map`, whose code is there once and whose lanes are
items. The state has one row for each number, with the bodies side by side.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert import math
from dalembert.compiler.backends.llvm import compilation, target
from dalembert.compiler.execute.host import NativeKernel
from dalembert.compiler.graph import Loop, trace

STEP, PASSES, ROUNDS = 1e-5, 2000, 15
STIFF, DAMP, STIFF_TURN, DAMP_TURN = 1e6, 1e2, 1e3, 1e-1
WIDTH, DENSITY = 0.03, 1000.0
GRAVITY = np.array([0.0, -9.81, 0.0])


def cross(a: Any, b: Any) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rotation(u: Any) -> np.ndarray:
    w, x, y, z = u
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def joint(a: Any, b: Any, half_a: Any, half_b: Any) -> dict[str, Any]:
    """Spring between the end of one bar and the begin of the next, and between their axes of rotation, z.

    a, b: position, quaternion, velocity, angular velocity in body axes. Force on b [N], moments on both in body axes.
    """
    R, S = rotation(a[3:7]), rotation(b[3:7])
    arm, reach = R[:, 0] * half_a, S[:, 0] * -half_b
    turn, spin = R @ a[10:13], S @ b[10:13]
    apart = b[:3] + reach - a[:3] - arm
    rate = b[7:10] + cross(spin, reach) - a[7:10] - cross(turn, arm)
    force = -STIFF * apart - DAMP * rate
    tilt, relative = cross(R[:, 2], S[:, 2]), spin - turn
    moment = STIFF_TURN * -tilt - DAMP_TURN * (relative - S[:, 2] * (relative @ S[:, 2]))
    return {"force": force, "on_a": R.T @ (cross(arm, -force) - moment), "on_b": S.T @ (cross(reach, force) + moment)}


def body(s: Any, before: Any, after: Any, on_b: Any, on_a: Any, mass: Any, inertia: Any) -> dict[str, Any]:
    """The state after a step, given forces and moments of the joint before and of the one after."""
    w, moment = s[10:13], on_b + on_a
    v1 = s[7:10] + STEP * (GRAVITY + (before - after) / mass)
    w1 = w + STEP * (moment - cross(w, inertia * w)) / inertia
    half = 0.5 * STEP * w1
    u, x = s[3], s[4:7]
    turned = np.concatenate([[u - x @ half], x + u * half + cross(x, half)])
    turned = turned * (1.5 - 0.5 * (turned @ turned))
    return {"s": np.concatenate([s[:3] + STEP * v1, turned, v1, w1])}


def written_out(step: Callable[..., Any], items: dict[str, Any]) -> dict[str, np.ndarray]:
    """As `math.map`, item by item."""
    made = [step(*(x[k] for x in items.values())) for k in range(len(next(iter(items.values()))))]
    return {name: np.array([one[name] for one in made], object) for name in made[0]}


def chain(n: int, over: Callable[..., Any]) -> tuple[Loop, np.ndarray]:
    """The loop over steps of a chain of n bars that hangs from a resting one, and the state it starts from."""
    lengths = 0.2 + 0.02 * np.sin(np.arange(n + 1.0))
    mass = DENSITY * lengths * WIDTH**2
    inertia = np.stack([mass * WIDTH**2 / 6.0, *[mass * (lengths**2 + WIDTH**2) / 12.0] * 2], axis=1)
    ends = np.cumsum(lengths) - lengths[0]
    start = np.zeros((13, n + 1))
    start[0], start[3] = ends - 0.5 * lengths, 1.0

    def compute(s: np.ndarray) -> dict[str, Any]:
        rows = s.reshape(13, n + 1).T
        links = {"a": rows[:-1], "b": rows[1:], "half_a": 0.5 * lengths[:-1], "half_b": 0.5 * lengths[1:]}
        joints = over(joint, links)
        after, on_a = (np.concatenate([joints[name][1:], np.zeros((1, 3))]) for name in ("force", "on_a"))
        loads = {"before": joints["force"], "after": after, "on_b": joints["on_b"], "on_a": on_a}
        moved = over(body, {"s": rows[1:], **loads, "mass": mass[1:], "inertia": inertia[1:]})
        return {"s_next": np.concatenate([rows[:1], moved["s"]]).T.ravel()}

    return Loop(trace(compute, {"s": 13 * (n + 1)}, "chain"), (("s_next", "s"),)), start.ravel()


def measured(n: int, over: Callable[..., Any]) -> tuple[dict[str, float], np.ndarray]:
    begin = time.perf_counter()
    loop, start = chain(n, over)
    traced = time.perf_counter()
    objects = compilation.batch_objects(loop, "double", 1, target.lanes("double"))
    compiled = time.perf_counter()
    kernel = NativeKernel("chain", loop.fingerprint(), [start.size], [(start.size,)], lambda: loop, 1)
    out = np.empty((1, start.size))
    times = []
    for _ in range(ROUNDS):
        since = time.process_time()
        kernel.run_batch([start[None]], [out], (1,), 1, PASSES)
        times.append(time.process_time() - since)
    numbers = {
        "µs/step": min(times) / PASSES * 1e6,
        "operations": float(sum(loop.operations().values())),
        "trace s": traced - begin,
        "compile s": compiled - traced,
        "code kB": sum(map(len, objects)) / 1e3,
    }
    return numbers, out[0]


def main() -> None:
    for n in [int(x) for x in sys.argv[1:]] or [7, 20, 40]:
        ends = []
        for name, over in (("written out", written_out), ("maps", math.map)):
            numbers, end = measured(n, over)
            ends.append(end)
            print(f"{n:3d} bodies, {name:12s}", ", ".join(f"{k} {x:.3g}" for k, x in numbers.items()), flush=True)
        print(f"            largest difference after {PASSES} steps: {np.abs(ends[0] - ends[1]).max():.1g}", flush=True)


if __name__ == "__main__":
    main()
