"""Environment steps per second on one core, beside MuJoCo's rollout in the same loop.

    python benchmarks/learn.py go1.xml [--envs 1024] [--steps 40] [--mujoco]

go1.xml, g1.xml: of MuJoCo Menagerie, or "quadruped", the bundled one. An environment: servos, 10 substeps of 2 ms,
48 observations, 5 rewards, terminations, resets, friction and gains of each environment. "physics" is the same loop of
substeps from the same states and nothing else. CPU time of one thread, the median of the last three quarters of the
steps, under actions that are uniform within ±1.2. MuJoCo: mujoco.rollout of the same file with its own contacts (no
observations, rewards or resets), position targets of its servos.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import dalembert
from dalembert import Contact, learn
from dalembert.compiler.execute import Program
from dalembert.compiler.graph import trace
from dalembert.contact.candidates import named_shapes
from dalembert.math import exp
from dalembert.shapes import Sphere

STEP, SUBSTEPS, AMPLITUDE = 2e-3, 10, 1.2
FEET = {
    "go1": ("FR_calf", "FL_calf", "RR_calf", "RL_calf"),
    "quadruped": ("FL_shank", "FR_shank", "RL_shank", "RR_shank"),
}


def environment(robot, name, shapes="feet", ground="flat", friction="plain"):
    """A legged robot. shapes: "feet" or "all"; ground: "flat" or "rough"; friction: "plain" or "file"."""
    options = {}
    if friction == "plain":
        robot, options = robot.without("friction"), {"torsion": 0.0, "rolling": 0.0}
    if shapes == "feet":
        balls = [s.name for s in named_shapes(robot.model) if isinstance(s.geometry.shape, Sphere)]
        options["pairs"] = [(ball, "ground") for ball in balls]
    flat = ground == "flat"
    contact = Contact(friction=0.6, **({"ground": 0.0} if flat else {}), **options)

    def track(s):
        error = s.command["velocity"][:2] - s.v[3:5]
        return exp(-4.0 * (error @ error))

    gains = {} if robot.actuators else {"kp": 40.0, "kd": 1.0}
    return learn.Environment(
        robot, contact=contact, step=STEP, substeps=SUBSTEPS, action=learn.JointTargets(scale=0.25, **gains),
        feet=FEET.get(name, ()),
        observe={
            "twist": lambda s: s.v[:6], "down": lambda s: s.down, "joints": lambda s: s.joints,
            "rates": learn.observed(lambda s: s.joint_rates, scale=0.05), "command": lambda s: s.command,
            "action": lambda s: s.action,
        },
        reward={
            "track": (1.0, track),
            "effort": (-2e-4, lambda s: s.tau @ s.tau),
            "change": (-0.01, lambda s: (s.action - s.previous) @ (s.action - s.previous)),
            "rise": (-2.0, lambda s: s.v[5] * s.v[5]),
            "air": (1.0, lambda s: sum((f.landed * (f.air_time - 0.5) for f in s.feet.values()), 0.0 * s.t)),
        },
        done={"fell": lambda s: s.down[2] > -0.5},
        command={"velocity": learn.uniform((-1, -0.5, -1), (1, 0.5, 1))},
        randomize={"contact_friction": learn.uniform(0.4, 1.0), "gains": learn.scale(0.9, 1.1)},
        terrain=None if flat else learn.terrains(rough=0.08, levels=4),
    )  # fmt: skip


def of_environment(env, count, steps):
    """(µs of physics alone, µs of the whole step, share of falls): per environment step, both from the same states."""
    stepping = env.stepping
    n, own = env.drive.size, stepping.randomization.size

    def compute(action, q, e, own):
        moved = stepping.physics.moved(q, e, action, own)
        return {"q": moved.q, "e": moved.e}

    sizes = {"action": n, "q": env.robot.nq, "e": stepping.physics.system.ne, "own": own}
    shapes = {name: (sizes[name],) for name in ("q", "e")}
    program = Program("physics", None, sizes, shapes, lambda: trace(compute, sizes, "physics"))
    arrays = {name: np.zeros((count, size)) for name, size in sizes.items()}
    call = program.bound(arrays, {name: np.zeros((count, sizes[name])) for name in ("q", "e")})
    vec = env.vector(count, threads=1, autoreset="same_step")
    vec.reset()
    rng, falls, costs = np.random.default_rng(0), [], []
    for _ in range(steps):
        state = vec.state()
        for name in ("q", "e", "own"):
            arrays[name][:] = state[name]
        arrays["action"][:] = rng.uniform(-AMPLITUDE, AMPLITUDE, (count, n))
        times = [time.process_time()]
        call()
        times.append(time.process_time())
        falls.append(vec.step(arrays["action"])[2].mean())
        costs.append(np.diff([*times, time.process_time()]))
    physics, whole = np.median(costs[steps // 4 :], axis=0) / count * 1e6
    return float(physics), float(whole), float(np.mean(falls))


def of_mujoco(path, count, steps):
    """µs per environment step of mujoco.rollout on one thread, from the first keyframe."""
    import mujoco
    from mujoco import rollout

    spec = mujoco.MjSpec.from_file(path)
    spec.option.timestep = STEP
    if not any(geom.type == mujoco.mjtGeom.mjGEOM_PLANE for geom in spec.geoms):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, state, full)
    states, home, rng = np.tile(state, (count, 1)), model.key_ctrl[0], np.random.default_rng(0)

    def step():
        targets = home + 0.25 * rng.uniform(-AMPLITUDE, AMPLITUDE, (count, 1, model.nu))
        after, _ = rollout.rollout(model, data, states, np.repeat(targets, SUBSTEPS, axis=1))
        states[:] = after[:, -1]

    costs = []
    for _ in range(steps):
        begin = time.process_time()
        step()
        costs.append(time.process_time() - begin)
    return float(np.median(costs[steps // 4 :])) / count * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", nargs="?", default="quadruped")
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument(
        "--cases", default="feet flat plain,all flat plain,feet rough plain,feet flat file,all flat file"
    )
    parser.add_argument("--mujoco", action="store_true", help="also mujoco.rollout")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    robot = dalembert.load(given.robot)
    name = given.robot.rsplit("/", 1)[-1].split(".")[0].split("_")[0]
    heads = f"{'physics':>9s} {'whole':>9s} µs, {'k steps/s':>9s} {'beside':>8s} {'falls':>7s}"
    print(f"{'shapes ground friction':24s} {heads}")
    for case in given.cases.split(","):
        env = environment(robot, name, *case.split())
        physics, whole, falls = of_environment(env, given.envs, given.steps)
        beside = 100.0 * (whole / physics - 1.0)
        print(f"{case:24s} {physics:9.2f} {whole:9.2f}     {1e3 / whole:9.1f} {beside:7.1f}% {falls:7.4f}", flush=True)
    if given.mujoco:
        cost = of_mujoco(given.robot, min(given.envs, 256), max(given.steps // 4, 4))
        print(f"{'mujoco.rollout':24s} {cost:9.2f} {'':9s}     {1e3 / cost:9.1f}", flush=True)


if __name__ == "__main__":
    main()
