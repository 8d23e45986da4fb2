"""Two robots, and states of them whose numbers are exact in every type that can hold them."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from dalembert import ModelBuilder, Robot, load
from dalembert.compiler.backends import interpreter
from dalembert.quantities import compiled
from tolerances import RECURSION, RECURSION32, assert_close

STATES = 4  # per pool and argument
POOLS = ("binary", "integer", "boolean")  # multiples of 1/64; whole numbers; zeros and ones
FRAMES = {"arm": "tool0", "tree": "tip"}


@cache
def robot(name: str) -> Robot:
    """ "arm": the UR5; "tree": a free base that carries a ball, a prismatic and a revolute joint."""
    return load("ur5") if name == "arm" else tree()


def tree() -> Robot:
    body = {"mass": 1.5, "com": (0.05, 0.02, -0.1), "inertia": np.diag([0.02, 0.03, 0.025])}
    b = ModelBuilder("tree")
    b.add_body("base", parent="world", joint="free", **body)
    b.add_body("ball", parent="base", joint="ball", xyz=(0.2, 0, 0.1), **body)
    b.add_body("slide", parent="ball", joint="prismatic", axis=(1, 0, 0), damping=0.3, **body)
    b.add_body("turn", parent="base", joint="revolute", axis=(0, 1, 0), xyz=(-0.2, 0.1, 0), stiffness=2.0, **body)
    b.add_frame("tip", body="slide", xyz=(0.1, 0, 0.3))
    return b.build()


@cache
def pool(name: str, argument: str, kind: str) -> np.ndarray:
    """(STATES, size) numbers of one argument; quaternions have exactly unit length."""
    r = robot(name)
    rng = np.random.default_rng([len(argument), POOLS.index(kind)])
    size = (STATES, r.nq if argument == "q" else r.nv)
    if kind == "binary":
        x = rng.integers(-128, 129, size) / 64
    else:
        x = rng.integers(-3, 4, size).astype(float) if kind == "integer" else rng.integers(0, 2, size).astype(float)
    if argument == "q":
        for joint in r.joints:
            if joint.kind in ("free", "ball"):
                x[:, joint.q][:, -4:] = _unit_quaternions(rng, kind)
    return x


def _unit_quaternions(rng: np.random.Generator, kind: str) -> np.ndarray:
    if kind == "binary":
        return rng.choice([-0.5, 0.5], (STATES, 4))
    return np.eye(4)[rng.integers(0, 4, STATES)] * (1.0 if kind == "boolean" else rng.choice([-1.0, 1.0], (STATES, 1)))


@cache
def table(name: str, quantity: str, kind: str, dtype: type) -> np.ndarray:
    """Results for every combination of the states of a pool, (STATES, …, *shape), without the fast call and batches.

    Each comes from the one-state kernel on fresh dense arrays, and is compared with the interpreter here.
    """
    r = robot(name)
    call = compiled(r, quantity, frame=FRAMES[name])
    pools = [pool(name, argument, kind).astype(dtype) for argument in call.sizes]
    results = np.full([STATES] * len(pools) + list(call.shapes[0]), np.nan, dtype)
    for index in product(range(STATES), repeat=len(pools)):
        inputs = [np.array(p[i]) for p, i in zip(pools, index, strict=True)]
        out = np.full(call.shapes[0], np.nan, dtype)
        assert call.program.on("llvm").run_one(inputs, [out]) == 0
        results[index] = out
        if index == (index[0],) * len(index):  # the interpreter takes a millisecond: the diagonal is enough
            expected = interpreter.run(call.function(), dict(zip(call.sizes, inputs, strict=True)))
            assert_close(out, *expected.values(), RECURSION if dtype is np.float64 else RECURSION32)
    return results
