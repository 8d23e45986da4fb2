"""Contact beside MuJoCo in one run: what a box, a ball, a stack … do, and the speed of robots that stand and trot.

`python benchmarks/contact.py [--quick] [--speed] [go1.xml anymal_c.xml g1.xml]`; --speed: without the first part.
Accuracy needs nothing but MuJoCo (pip install mujoco), the robots are MJCF files of these names from MuJoCo Menagerie.
One core each, CPU time, best of several; MuJoCo is measured with the settings of its file, with a pyramidal cone and
Newton's method, and on the same task: feet only, three-dimensional contacts, no joint friction. The row "as typed" is
`Contact(ground=0.0, friction=0.6)`: all shapes and everything that the file says, to be held against MuJoCo's row
"file". A limp robot lies on the ground.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dalembert
from dalembert import Contact, ModelBuilder
from dalembert.math import clip, cos, sin
from dalembert.shapes import Box, Capsule, Cylinder, Sphere

STEP, G, MU = 2e-3, 9.81, 0.6


def loose(name, shapes, gravity=(0.0, 0.0, -G)):
    """A robot of loose bodies: (name, shape, mass, inertia)."""
    builder = ModelBuilder(name, gravity=gravity)
    for body, shape, mass, inertia in shapes:
        builder.add_body(body, parent="world", joint="free", mass=mass, inertia=np.asarray(inertia) * np.eye(3))
        builder.add_geometry(shape, body=body, role="collision")
    return builder.build()


def cube(mass=1.0, side=0.2):
    return Box([side] * 3), mass, mass * side**2 / 6.0


def pose(x=0.0, y=0.0, z=0.0, quaternion=(1.0, 0.0, 0.0, 0.0)):
    return np.array([x, y, z, *quaternion])


def on_slope(ratio):
    slope = np.arctan(ratio)
    return (G * np.sin(slope), 0.0, -G * np.cos(slope))


# ---- accuracy


def ours_box(ratio, steps, speed):
    robot = loose("box", [("box", *cube())], on_slope(ratio))
    motion = robot.rollout(
        pose(z=0.1), [0, 0, 0, speed, 0, 0], step=STEP, steps=steps, every=1, contact=Contact(friction=MU)
    )
    return motion.q[:, 0], motion.q[:, 2], motion.v[:, 3]


def theirs_box(option):
    import mujoco

    def run(ratio, steps, speed):
        gravity = " ".join(map(str, on_slope(ratio)))
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep="{STEP}" gravity="{gravity}" {option}/>
            <default><geom friction="{MU} 0 0"/></default>
            <worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 .1"><freejoint/>
            <geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody></mujoco>"""
        )
        data, rows = mujoco.MjData(model), []
        for _ in range(100 if speed else 0):
            mujoco.mj_step(model, data)
        data.qvel[0] += speed
        begin = data.qpos[0]
        for _ in range(steps):
            mujoco.mj_step(model, data)
            rows.append((data.qpos[0] - begin, data.qpos[2], data.qvel[0]))
        return np.array(rows).T

    return run


def boxes():
    print("box of 1 kg, 2 ms         creep at .95 µ  slide error  stop error  lift at 3 m/s  lift at 15 m/s")
    cases = {
        "dalembert": ours_box,
        "MuJoCo default": theirs_box(""),
        "MuJoCo elliptic 100": theirs_box('cone="elliptic" impratio="100"'),
        "MuJoCo elliptic 10 noslip": theirs_box('cone="elliptic" impratio="10" noslip_iterations="10"'),
    }
    for name, run in cases.items():
        x = run(0.95 * MU, 1500, 0.0)[0]
        v = run(1.5 * MU, 1000, 0.0)[2]
        (way, z, _), (_, fast, _) = run(0.0, 1000, 3.0), run(0.0, 1000, 15.0)
        stop = way[-1] * 2 * MU * G / 9 - 1
        slide = (v[-1] - v[499]) / (np.dot(on_slope(1.5 * MU), (1.0, 0.0, MU))) - 1.0
        print(
            f"{name:26s} {5e5 * (x[-1] - x[499]):9.1e} µm/s {100 * slide:9.1e} % {100 * stop:9.1e} %"
            f" {1e6 * (z.max() - 0.1):10.1e} µm {1e6 * (fast.max() - 0.1):10.1e} µm"
        )


def bounces():
    print("\nball from 4.9 m, 20 s at 1 ms: heights of the first three tops beside e² …, and the highest energy")
    robot = loose("ball", [("ball", Sphere(0.1), 1.0, 0.004)])
    for e in (1.0, 0.8, 0.5):
        contact = Contact(friction=0.0, restitution=e)
        motion = robot.rollout(pose(z=5.0), np.zeros(6), step=1e-3, steps=20_000, every=1, contact=contact)
        energy = (motion.q[:, 2] - 0.1 + motion.v[:, 5] ** 2 / (2 * G)) / 4.9
        risen = np.flatnonzero((motion.v[1:, 5] > 0) & (motion.v[:-1, 5] < 0))[:3] + 1
        errors = " ".join(f"{x:.1e}" for x in energy[risen] / e ** (2.0 * np.arange(1, len(risen) + 1)) - 1)
        print(f"dalembert e = {e}: errors {errors}; energy at most {energy.max():.12f} of the start")
    try:
        import mujoco
    except ImportError:
        return
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep=".001"/><default><geom solref="-100000 0" friction="0 0 0"/></default><worldbody>
        <geom type="plane" size="0 0 1"/><body pos="0 0 5"><freejoint/><geom type="sphere" size=".1" mass="10"/></body>
        </worldbody></mujoco>"""
    )
    data, energies = mujoco.MjData(model), []
    for _ in range(20_000):
        mujoco.mj_step(model, data)
        if not data.ncon:
            energies.append((data.qpos[2] - 0.1 + data.qvel[2] ** 2 / (2 * G)) / 4.9)
    print(f"MuJoCo, undamped (e = 1): energy at most {max(energies):.4f} of the start, {energies[-1]:.4f} at the end")


def laws():
    """Textbook cases: what came out, beside what should."""
    print("\ncase                                 dalembert        expected")

    def told(name, value, expected):
        print(f"{name:36s} {value:<16.8g} {expected}")

    table = ModelBuilder("table")
    table.add_body("top", parent="world", joint="free", mass=12.0, inertia=np.eye(3) * 0.3)
    for x, y in ((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)):
        table.add_geometry(Sphere(0.02), body="top", xyz=(x, y, -0.3), role="collision")
    run = table.build().simulate(pose(z=0.32), np.zeros(6), 0.2, step=STEP, contact=Contact())
    told("table of 12 kg, load of each foot, N", run.contacts.normal_force[-1].max(), 29.43)

    ball = loose("ball", [("ball", Sphere(0.1), 1.0, 0.004)])
    end = ball.rollout(pose(z=0.1), [0, 0, 0, 2.0, 0, 0], step=STEP, steps=500, contact=Contact(friction=MU))
    told("thrown ball, rolling speed / start", end.v[1] * 0.1 / 2.0, 5 / 7)

    rng = np.random.default_rng(0)
    box, q = loose("box", [("box", *cube())]), np.zeros((64, 7))
    q[:, 2], q[:, 3:] = 0.5, rng.normal(size=(64, 4))
    v = rng.normal(size=(64, 6)) * [5, 5, 5, 2, 2, 2]
    for e in (0.0, 0.5, 1.0):
        contact = Contact(friction=MU, restitution=e)
        motion = box.rollout(box.normalize(q), v, step=STEP, steps=1500, every=1, contact=contact)
        energy = 0.5 * motion.v**2 @ np.array([0.04 / 6] * 3 + [1.0] * 3) + G * motion.q[..., 2]
        told(f"64 thrown boxes, e = {e}: energy, largest", (energy.max(1) / energy[:, 0]).max(), "≤ 1")
        if not e:
            told("  speed at the end, m/s", np.abs(motion.v[:, -1]).max(), 0)

    brick = loose("brick", [("brick", Sphere(0.1), 1.0, np.diag([1.0, 2.0, 3.0]))], (0.0, 0.0, 0.0))
    motion = brick.rollout(
        pose(z=10.0), [0.01, 1.0, 0.01, 0, 0, 0], step=STEP, steps=15_000, every=1, contact=Contact()
    )
    L, E = brick.centroidal_momentum(motion.q, motion.v), brick.kinetic_energy(motion.q, motion.v)
    told("flips in flight, 30 s: momentum error", np.abs(L - L[0]).max(), 0)
    told("  energy error", np.abs(E / E[0] - 1).max(), 0)
    rod()
    stacks(told)


def rod():
    """Painlevé: a rod that is pushed over the ground on its tip, steeper than the friction allows."""
    builder = ModelBuilder("rod")
    builder.add_body("rod", parent="world", joint="free", mass=1.0, inertia=np.diag([1 / 12, 1 / 12, 1e-4]))
    builder.add_geometry(Capsule(0.001, 1.0), body="rod", role="collision")
    robot, rng = builder.build(), np.random.default_rng(0)
    tilt = rng.uniform(0.2, 1.2, 100)
    q = np.zeros((100, 7))
    q[:, 2], q[:, 3], q[:, 5] = 0.5 * np.cos(tilt) + 0.001, np.cos(tilt / 2), np.sin(tilt / 2)
    v = np.zeros((100, 6))
    v[:, 3], v[:, 5] = -3.0 * np.cos(tilt), -3.0 * np.sin(tilt)
    for mu in (1.0, 2.0, 3.0):
        motion = robot.rollout(q, v, step=STEP, steps=500, every=1, contact=Contact(friction=mu))
        E = robot.energy(motion.q, motion.v)
        rise = (E.max(1) - E[:, 0]).max() / E[:, 0].max()
        print(f"Painlevé rod, µ = {mu}: finite {np.isfinite(motion.q).all()}, largest rise of the energy {rise:.1e}")


def stacks(told):
    for ratio in (1.0, 1000.0):
        tower = loose("tower", [("low", *cube()), ("high", *cube(ratio))])
        contact = Contact(pairs=[("low", "ground"), ("low", "high")])
        run = tower.simulate(np.concatenate([pose(z=0.1), pose(z=0.3)]), np.zeros(12), 0.4, step=STEP, contact=contact)
        told(f"stack 1:{ratio:g}, speed at the end, m/s", np.abs(run.v[-1]).max(), 0)
        told("  steps that did not settle", run.contacts.unsettled, 0)
    coin = loose("coin", [("coin", Cylinder(0.02, 0.002), 0.01, np.diag([1e-6, 1e-6, 2e-6]))])
    q = pose(z=0.0201, quaternion=(np.cos(0.7), np.sin(0.7), 0.0, 0.0))
    run = coin.simulate(q, [0, 20.0, 0, 0.02, 0, 0], 3.0, step=1e-3, contact=Contact(friction=0.3))
    told("spinning coin, energy, largest / first", run.energy.total.max() / run.energy.total[0], "≤ 1")
    told("  height of its centre at the end, m", run.q[-1, 2], "it rolls on: nothing takes its energy")
    dominoes = loose("row", [(f"d{k}", Box([0.01, 0.04, 0.08]), 0.03, np.diag([2e-5, 1.6e-5, 4e-6])) for k in range(4)])
    q = np.concatenate([pose(x=0.04 * k, z=0.04) for k in range(4)])
    v = np.zeros(24)
    v[1], v[3] = 3.0, 0.12
    pairs = [(f"d{k}", "ground") for k in range(4)] + [(f"d{k}", f"d{k + 1}") for k in range(3)]
    end = dominoes.rollout(q, v, step=1e-3, steps=1000, contact=Contact(pairs=pairs, friction=0.4))
    fallen = sum(end.q[7 * k + 2] < 0.035 for k in range(4))
    told("dominoes that fell, of 4", fallen, 4)


def pinch():
    """A capsule of 45 g held between two fingers, after 1 s, over 3 s."""
    builder = ModelBuilder("pinch")
    for name, x, axis in (("l", -0.014, (1, 0, 0)), ("r", 0.014, (-1, 0, 0))):
        builder.add_body(
            name, parent="world", joint="prismatic", joint_name=name, axis=axis, xyz=(x, 0, 0.1), mass=0.1,
            inertia=np.eye(3) * 1e-4, damping=20.0,
        )  # fmt: skip
        builder.add_geometry(Box([0.02, 0.04, 0.04]), body=name, role="collision", name=f"finger {name}")
    builder.add_body("pill", parent="world", joint="free", mass=0.045, inertia=np.diag([2e-5, 1e-6, 2e-5]))
    builder.add_geometry(Capsule(0.004, 0.06), body="pill", rpy=(np.pi / 2, 0, 0), role="collision")
    robot = builder.build()
    contact = Contact(pairs=[("pill", "finger l"), ("pill", "finger r")], friction=0.7)

    def law(t, q, v):
        return np.concatenate([1e4 * (0.002 - q[:2]), np.zeros(6)])

    q = np.concatenate([[0.0, 0.0], pose(z=0.1)])
    run = robot.simulate(q, np.zeros(8), 4.0, law, step=STEP, contact=contact)
    creep = (run.q[100, 4] - run.q[-1, 4]) / 3.0 * 1e6
    print(f"\npinched capsule: dalembert sinks {creep:.2e} µm/s, normal {run.contacts.normal_force[-1].max():.1f} N")
    try:
        import mujoco
    except ImportError:
        return
    for option in (
        'cone="pyramidal"',
        'cone="elliptic" impratio="10"',
        'cone="elliptic" impratio="10" noslip_iterations="10"',
    ):
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep=".002" integrator="implicitfast" {option}/>
            <default><geom friction=".7 .005 .0001" condim="4"/></default><worldbody>
            <body pos="-.014 0 .1"><joint name="l" type="slide" axis="1 0 0" damping="20"/>
            <geom type="box" size=".01 .02 .02" mass=".1"/></body>
            <body pos=".014 0 .1"><joint name="r" type="slide" axis="-1 0 0" damping="20"/>
            <geom type="box" size=".01 .02 .02" mass=".1"/></body>
            <body pos="0 0 .1"><freejoint/><geom type="capsule" size=".004 .03" euler="90 0 0" mass=".045"/></body>
            </worldbody><actuator><position joint="l" kp="10000"/><position joint="r" kp="10000"/></actuator>
            </mujoco>"""
        )
        data = mujoco.MjData(model)
        data.ctrl[:] = 0.002
        mujoco.mj_step(model, data, 500)
        begin = data.qpos[4]
        mujoco.mj_step(model, data, 1500)
        print(f"                 MuJoCo {option}: {(begin - data.qpos[4]) / 3 * 1e6:.2f} µm/s")


# ---- speed


def trot(home, phase, hips, knees, gain, limit, amplitude, base):
    """Laws (t, q, v) → tau of servos that stand, or trot in the open loop at 2 Hz."""

    def servo(target, q):
        return np.concatenate([np.zeros(base), clip(gain * (target - q[base + 1 :]), -limit, limit)])

    def standing(t, q, v):
        return servo(home, q)

    def trotting(t, q, v):
        angle = 4.0 * np.pi * t + phase
        target = np.array(home, object)
        target[hips] = home[hips] + amplitude * np.array([sin(x) for x in angle])
        target[knees] = home[knees] + amplitude * np.array([cos(x) for x in angle])
        return servo(target, q)

    return standing, trotting


class Quadruped(NamedTuple):
    """How a robot stands: names of the foot shapes, height of the base, joint angles, servos."""

    feet: tuple[str, ...]
    height: float
    home: np.ndarray
    limit: np.ndarray
    gain: float = 100.0
    friction: float = 0.8


ROBOTS = {
    "go1": Quadruped(("FR", "FL", "RR", "RL"), 0.29, np.array([0, 0.9, -1.8] * 4), np.array([23.7, 23.7, 35.55] * 4)),
    "anymal_c": Quadruped(
        ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
        0.57,
        np.array([0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]),
        np.full(12, 80.0),
    ),
}


def best(work, rounds):
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def speed(path, rounds, batch=64, steps=500):
    spec = ROBOTS[path.stem]
    robot, rng = dalembert.load(path), np.random.default_rng(0)
    laws = trot(
        spec.home,
        np.array([0, np.pi, np.pi, 0]),
        slice(1, None, 3),
        slice(2, None, 3),
        spec.gain,
        spec.limit,
        0.25,
        6,
    )
    q = np.tile([0, 0, spec.height, 1, 0, 0, 0, *spec.home], (batch, 1))
    q[:, 7:] += 0.01 * rng.standard_normal((batch, 12))
    feet = [(name, "ground") for name in feet_of(robot, spec.feet)]
    print(f"\n{path.stem}: µs per step on one core        stand    trot")
    plain = {"friction": spec.friction, "torsion": 0.0, "rolling": 0.0}
    feet_alone = plain | {"pairs": feet}
    smooth = robot.without("friction")
    variants = {
        "as typed": (robot, {"friction": 0.6}, np.float64),
        "feet, joint friction": (robot, feet_alone, np.float64),
        "feet, no joint friction": (smooth, feet_alone, np.float64),
        "feet, no joint friction, float32": (smooth, feet_alone, np.float32),
        "all shapes, no joint friction": (smooth, plain, np.float64),
    }
    for name, (used, options, kind) in variants.items():
        contact = Contact(ground=0.0, **options)
        cost, seconds = our_cost(used, q.astype(kind), laws, contact, rounds, steps)
        seen = used.rollout(q, np.zeros((batch, robot.nv)), laws[1], step=STEP, steps=500, contact=contact).contacts
        error = f"worst residual {np.max(seen.worst):.0e} m/s, {np.sum(seen.unsettled) / batch / 500:.0e} unsettled"
        print(f"  dalembert, {name:34s} {cost[0]:6.3f} {cost[1]:7.3f}   (compiled in {seconds:.0f} s; {error})")
    limp(path, spec, robot, q, rounds)
    soft = Contact(model="mujoco", pairs=feet)
    for name, used in (("joint friction", robot), ("no joint friction", robot.without("friction"))):
        cost, _ = our_cost(used, q, laws, soft, rounds, steps)
        print(f"  dalembert, MuJoCo's model, feet, {name:17s} {cost[0]:6.3f} {cost[1]:7.3f}   (4 points)")
    theirs(path, spec, feet, rounds)


def our_cost(robot, q, laws, contact, rounds, steps):
    """µs per step of each law, from where the first one comes to rest; and the seconds of the first call [s]."""

    def run(q, v, law, steps):
        return robot.rollout(q, v, law, step=STEP, steps=steps, contact=contact, threads=1)

    begin = time.perf_counter()
    run(q, np.zeros((len(q), robot.nv), q.dtype), laws[0], 1)
    seconds = time.perf_counter() - begin
    start = run(q, np.zeros((len(q), robot.nv), q.dtype), laws[0], 250)
    cost = [best(partial(run, start.q, start.v, law, steps), rounds) / len(q) / steps * 1e6 for law in laws]
    return cost, seconds


def limp(path, spec, robot, q, rounds, steps=250):
    """A robot without torques, from 0.5 s after it was let go on: everything that the file says, here and in MuJoCo."""
    contact = Contact(ground=0.0, friction=0.6)

    def run(q, v, steps):
        return robot.rollout(q, v, step=STEP, steps=steps, contact=contact, threads=1)

    start = run(q[:8], np.zeros((8, robot.nv)), 250)
    cost = best(partial(run, start.q, start.v, steps), min(rounds, 5)) / 8 / steps * 1e6
    seen = run(start.q, start.v, steps).contacts
    print(
        f"  dalembert, as typed, limp, 8 motions           {cost:6.2f}   (worst residual {np.max(seen.worst):.0e} m/s, "
        f"{np.sum(seen.unsettled) / 8 / steps:.0e} unsettled)"
    )
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = STEP
    model.actuator_gainprm[:], model.actuator_biasprm[:] = 0.0, 0.0
    data = mujoco.MjData(model)
    states = np.zeros((8, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    states[:, 1:20] = q[:8]
    controls = np.zeros((8, steps, model.nu))
    states = np.ascontiguousarray(rollout.rollout(model, [data], states, controls)[0][:, -1])
    cost = best(partial(rollout.rollout, model, [data], states, controls), min(rounds, 5)) / 8 / steps * 1e6
    print(f"  MuJoCo, file, limp                            {cost:6.2f}")


def feet_of(robot, names):
    """The foot shapes: by name, or the spheres of the robot."""
    from dalembert.contact.touching import named_shapes

    shapes = list(named_shapes(robot.model))
    named = [s.name for s in shapes if s.name in names]
    return named or [s.name for s in shapes if isinstance(s.geometry.shape, Sphere)]


def servo_targets(home, steps):
    """Angles of all joints in each step (steps, 12), standing and trotting."""
    angle = 2.0 * np.pi * 2.0 * STEP * np.arange(steps)[:, None] + np.array([0.0, np.pi, np.pi, 0.0])
    stand = np.tile(home, (steps, 1))
    trots = stand.copy()
    trots[:, 1::3] += 0.25 * np.sin(angle)
    trots[:, 2::3] += 0.25 * np.cos(angle)
    return stand, trots


def theirs(path, spec, feet, rounds, steps=500):
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        print("  MuJoCo is missing: pip install mujoco")
        return
    home = spec.home
    stand, trots = (np.tile(targets, (4, 1, 1)) for targets in servo_targets(home, steps))
    for name, pyramidal, same in (
        ("file", 0, 0),
        ("pyramidal Newton", 1, 0),
        ("same task, file", 0, 1),
        ("same task, pyramidal", 1, 1),
    ):
        model = mujoco.MjModel.from_xml_path(str(path))
        model.opt.timestep = STEP
        if pyramidal:
            model.opt.solver, model.opt.cone, model.opt.integrator, model.opt.impratio = 2, 0, 3, 1.0
        if same:
            kept = {pair[0] for pair in feet} | {"floor"}
            others = [
                g for g in range(model.ngeom)
                if model.geom(g).name not in kept and model.geom_type[g] not in (0, 2)
            ]  # fmt: skip
            model.geom_contype[others], model.geom_conaffinity[others] = 0, 0
            model.geom_condim[:], model.dof_frictionloss[:] = 3, 0.0
        data = mujoco.MjData(model)
        state = np.zeros(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        state[1:8], state[8:20] = [0, 0, spec.height, 1, 0, 0, 0], home
        state = rollout.rollout(model, [data], state[None], stand[:1, :250])[0][:, -1]
        states = np.repeat(state, 4, 0)
        cost = [
            best(partial(rollout.rollout, model, [data], states, u), rounds) / 4 / steps * 1e6 for u in (stand, trots)
        ]
        print(f"  MuJoCo, {name:37s} {cost[0]:6.2f} {cost[1]:7.2f}")


def same_task(path, feet):
    """MuJoCo's model with what our step has: feet alone, three rows for each, no joint friction; Newton, pyramids."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = STEP
    model.opt.solver, model.opt.cone, model.opt.integrator, model.opt.impratio = 2, 0, 3, 1.0
    kept = {pair[0] for pair in feet} | {"floor"}
    others = [g for g in range(model.ngeom) if model.geom(g).name not in kept and model.geom_type[g] not in (0, 2)]
    model.geom_contype[others], model.geom_conaffinity[others] = 0, 0
    model.geom_condim[:], model.dof_frictionloss[:] = 3, 0.0
    return model


def one_step(path, rounds, steps=500):
    """Single steps of a quadruped that stands or trots, called from Python."""
    spec, robot = ROBOTS[path.stem], dalembert.load(path).without("friction")
    feet = [(name, "ground") for name in feet_of(robot, spec.feet)]
    step = robot.stepper(STEP, contact=Contact(friction=spec.friction, torsion=0.0, rolling=0.0, pairs=feet))
    stand, trots = servo_targets(spec.home, steps)

    def walked(q, v, targets):
        states = []
        for target in targets:
            servo = np.clip(spec.gain * (target - q[7:]), -spec.limit, spec.limit)
            states.append((q, v, np.concatenate([np.zeros(6), servo])))
            q, v = (np.array(x) for x in step(*states[-1]))
        return states

    start = walked(np.array([0, 0, spec.height, 1, 0, 0, 0, *spec.home]), np.zeros(robot.nv), stand)[-1][:2]
    ours = {}
    for name, targets in (("stands", stand), ("trots", trots)):
        states = walked(*start, targets)
        ours[name] = best(lambda states=states: [step(*state) for state in states], rounds) / steps * 1e6
    try:
        import mujoco
    except ImportError:
        print(f"  one step from Python: dalembert {ours['stands']:.2f} µs; MuJoCo is missing: pip install mujoco")
        return
    model = same_task(path, feet)
    for name, targets in (("stands", stand), ("trots", trots)):
        data = mujoco.MjData(model)
        data.qpos[:] = [0, 0, spec.height, 1, 0, 0, 0, *spec.home]
        data.ctrl[:] = spec.home
        mujoco.mj_step(model, data, 300)

        def commanded(targets=targets, data=data):
            for target in targets:
                data.ctrl[:] = target

        def run(targets=targets, data=data):
            for target in targets:
                data.ctrl[:] = target
                mujoco.mj_step(model, data)

        theirs = (best(run, rounds) - best(commanded, rounds)) / steps * 1e6
        print(
            f"  one step from Python, it {name}: dalembert {ours[name]:.2f} µs, mj_step (same task) {theirs:.2f}: "
            f"{theirs / ours[name]:.1f} times"
        )


def joint_friction(path, rounds, batch=64, steps=2000):
    """Dry joint friction in rollouts without contact, beside the smooth law."""
    robot, rng = dalembert.load(path), np.random.default_rng(0)
    q, v = np.tile(robot.neutral(), (batch, 1)), 0.5 * rng.standard_normal((batch, robot.nv))

    def run(friction):
        return robot.rollout(q, v, step=1e-3, steps=steps, friction=friction, threads=1)

    cost = {}
    for kind in ("smooth", "dry"):
        run(kind)
        cost[kind] = best(partial(run, kind), rounds) / batch / steps * 1e6
    ratio = cost["dry"] / cost["smooth"]
    print(
        f"  joints stick and slide in flight: dry {cost['dry']:.3f} µs, smooth {cost['smooth']:.3f}: {ratio:.1f} times"
    )


SWAYING, STANDING = 500, 2000  # steps after which a humanoid still sways from its start, and stands still


def humanoid(path, rounds, batch=64, steps=500):
    """G1 on eight points under the servos of its file, started a little off its posture."""
    robot, rng = dalembert.load(path), np.random.default_rng(0)
    home = robot.model.keyframes[0].state(robot.model).q
    q = np.tile(home, (batch, 1))
    q[:, 7:] += 0.01 * rng.standard_normal((batch, robot.nv - 6))
    pairs = [(name, "ground") for name in feet_of(robot, ())]
    print(f"\n{path.stem}: µs per step on one core                sways   stands")
    for name, used in (("joint friction of the file", robot), ("no joint friction", robot.without("friction"))):
        contact = Contact(friction=0.6, torsion=0.0, rolling=0.0, pairs=pairs)

        def run(q, v, steps, used=used, contact=contact):
            return used.rollout(q, v, controls=home[7:], step=STEP, steps=steps, contact=contact, threads=1)

        cost, errors, missed = [], [], 0
        for settling in (SWAYING, STANDING):
            start = run(q, np.zeros((batch, robot.nv)), settling)
            cost.append(best(partial(run, start.q, start.v, steps), rounds) / batch / steps * 1e6)
            errors += [run(start.q, start.v, n).contacts.worst for n in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)]
            missed += np.sum(run(start.q, start.v, steps).contacts.unsettled)
        law_error = np.percentile(errors, 99.9)
        print(
            f"  dalembert, {name:34s} {cost[0]:6.2f}   {cost[1]:6.2f}   (99.9 % of law errors {law_error:.0e} m/s, "
            f"{missed:.0f} of {2 * batch * steps} steps unsettled)"
        )
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        print("  MuJoCo is missing: pip install mujoco")
        return
    for name, friction in (("file", True), ("no joint friction", False)):
        model = mujoco.MjModel.from_xml_path(str(path))
        model.opt.timestep = STEP
        if not friction:
            model.dof_frictionloss[:] = 0.0
        data = mujoco.MjData(model)
        states = np.zeros((4, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        states[:, 1 : 1 + model.nq] = q[:4]
        controls = np.tile(model.key_ctrl[0], (4, STANDING, 1))
        path_of = rollout.rollout(model, [data], states, controls)[0]
        cost = [
            best(partial(rollout.rollout, model, [data], path_of[:, at - 1], controls[:, :steps]), rounds)
            for at in (SWAYING, STANDING)
        ]
        sways, stands = (x / 4 / steps * 1e6 for x in cost)
        print(f"  MuJoCo, {name:37s} {sways:6.2f}   {stands:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", type=Path, help="go1.xml, anymal_c.xml, g1.xml")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--speed", action="store_true", help="speed alone")
    arguments = parser.parse_args()
    if not arguments.speed:
        boxes()
        bounces()
        laws()
        pinch()
    for path in arguments.robots:
        if path.stem in ROBOTS:
            rounds = 3 if arguments.quick else 20
            speed(path, rounds)
            one_step(path, rounds)
            joint_friction(path, rounds)
        if path.stem == "g1":
            humanoid(path, 3 if arguments.quick else 20)
    if not arguments.robots:
        print("\nspeed: name the files go1.xml, anymal_c.xml and g1.xml of MuJoCo Menagerie")


if __name__ == "__main__":
    main()
