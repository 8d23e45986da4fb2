"""Scenes of loose bodies beside MuJoCo in one run: stacks and piles, time to compile, speed, and how well they rest.

`python benchmarks/contact_scenes.py [stack4 stack20 bin30 bin200]`, and `--robot go1.xml among30`: a robot of an MJCF
file, limp, that falls among cubes and comes to rest with them. One core, CPU time, best of three. Both start from
the same state, 1 s before the times are measured, in steps of 2 ms: MuJoCo with Newton's method and an elliptic cone,
one motion; dalembert one motion, and a batch of 8. Beside the times: how many steps missed the tolerance of the laws of
contact (1e-6 m/s) and by how much, speeds at the end, and how often MuJoCo's time the time of a motion is.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dalembert
from dalembert import Contact, ModelBuilder
from dalembert.shapes import Box, Sphere

STEP, G, MU = 2e-3, 9.81, 0.6
SIDE, RADIUS, HALF = 0.2, 0.05, 0.3  # [m] of cubes, balls, the bin
CUBE, CUBE_MASS, PUSHED = 0.1, 0.5, 0.5  # [m], [kg] of cubes before a robot, and its speed towards them [m/s]
SETTLING, MEASURED = 500, 300  # steps before and while the time is taken, of small scenes
MORE = 5  # times as many
SMALL = 50  # bodies


def places(kind, n):
    """Where bodies start: cubes 1 mm apart above each other, balls in layers with a little disorder."""
    if kind == "stack":
        return np.array([(0.0, 0.0, SIDE / 2 + (SIDE + 1e-3) * k) for k in range(n)])
    rng, grid = np.random.default_rng(0), 5
    layer, cell = np.divmod(np.arange(n), grid * grid)
    x, y = np.divmod(cell, grid)
    regular = np.stack([0.11 * x - 0.22, 0.11 * y - 0.22, 0.06 + 0.11 * layer], axis=1)
    return regular + 0.002 * rng.standard_normal((n, 3))


def walls():
    """(centre, size) of the sides of the bin."""
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = (0.1 if x else 2 * HALF + 0.2, 0.1 if y else 2 * HALF + 0.2, 2.0)
        yield ((HALF + 0.05) * x, (HALF + 0.05) * y, 1.0), size


def ours(kind, n):
    """The robot of a scene."""
    builder = ModelBuilder(f"{kind}{n}", gravity=(0.0, 0.0, -G))
    if kind == "bin":
        builder.add_body("bin", parent="world", joint="fixed", mass=1.0)
        for k, (centre, size) in enumerate(walls()):
            builder.add_geometry(Box(size), body="bin", xyz=centre, role="collision", name=f"wall{k}")
    for k in range(n):
        inertia = SIDE**2 / 6.0 if kind == "stack" else 0.4 * RADIUS**2
        builder.add_body(f"b{k}", parent="world", joint="free", mass=1.0, inertia=inertia * np.eye(3))
        shape = Box([SIDE] * 3) if kind == "stack" else Sphere(RADIUS)
        builder.add_geometry(shape, body=f"b{k}", role="collision")
    return builder.build()


def theirs(kind, n):
    """The same scene as MJCF."""
    geometry = 'type="box" size=".1 .1 .1"' if kind == "stack" else f'type="sphere" size="{RADIUS}"'
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom {geometry} mass="1"/></body>' for x, y, z in places(kind, n)
    )
    sides = "".join(
        f'<geom type="box" pos="{" ".join(map(str, centre))}" size="{" ".join(str(0.5 * s) for s in size)}"/>'
        for centre, size in (walls() if kind == "bin" else ())
    )
    return (
        f'<mujoco><option timestep="{STEP}" cone="elliptic" solver="Newton"/><size memory="200M"/>'
        f'<default><geom friction="{MU}" condim="3"/></default>'
        f'<worldbody><geom type="plane" size="5 5 1"/>{sides}{bodies}</worldbody></mujoco>'
    )


def best(work, rounds=3):
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def steps_of(n):
    return MEASURED * MORE if n < SMALL else MEASURED


def measured(kind, n):
    robot, measured_steps = ours(kind, n), steps_of(n)
    q, v, contact = robot.neutral(), np.zeros(robot.nv), Contact(friction=MU, pairs="all")
    q.reshape(n, 7)[:, :3] = places(kind, n)
    begin = time.process_time()
    robot.rollout(q, v, step=STEP, steps=1, contact=contact, threads=1)
    compiling = time.process_time() - begin
    settled = robot.rollout(q, v, step=STEP, steps=SETTLING, contact=contact, threads=1)

    def motions(count):
        start = np.tile(settled.q, (count, 1)), np.tile(settled.v, (count, 1))
        return robot.rollout(*start, step=STEP, steps=measured_steps, contact=contact, threads=1)

    one, eight = (best(lambda c=c: motions(c)) / measured_steps / c * 1e6 for c in (1, 8))
    end = motions(1)
    missed = float(np.max(end.contacts.unsettled))
    print(f"{kind}{n} dalembert: compiled in {compiling:.1f} s, {one:.1f} µs a step alone, {eight:.1f} in 8 at once")
    print(
        f"         after {STEP * (SETTLING + measured_steps):g} s |v| ≤ {np.abs(end.v).max():.1e}; {missed:.0f} of"
        f" {measured_steps} steps missed the tolerance; largest error {float(np.max(end.contacts.worst)):.1e} m/s"
    )
    return one, eight


def peer(kind, n):
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        print("         MuJoCo is missing: pip install mujoco")
        return None
    model = mujoco.MjModel.from_xml_string(theirs(kind, n))
    data = mujoco.MjData(model)
    kind_of = mujoco.mjtState.mjSTATE_FULLPHYSICS
    for _ in range(SETTLING):
        mujoco.mj_step(model, data)
    state = np.empty(mujoco.mj_stateSize(model, kind_of))
    mujoco.mj_getState(model, data, state, kind_of)
    steps = steps_of(n)
    cost = best(lambda: rollout.rollout(model, [data], state[None], nstep=steps)) / steps * 1e6
    speeds = rollout.rollout(model, [data], state[None], nstep=steps)[0][0, -1, 1 + model.nq : 1 + model.nq + model.nv]
    print(f"         MuJoCo:    {'':5s}              {cost:9.1f} µs a step alone; |v| ≤ {np.abs(speeds).max():.1e}")
    return cost


def among(path, n):
    """A robot on the ground that is pushed towards n cubes, all its pairs beside those of the cubes."""
    robot, builder = dalembert.load(path), ModelBuilder("cubes", gravity=(0.0, 0.0, -G))
    for k in range(n):
        builder.add_body(
            f"b{k}", parent="world", joint="free", mass=CUBE_MASS, inertia=CUBE_MASS * CUBE**2 / 6 * np.eye(3)
        )
        builder.add_geometry(Box([CUBE] * 3), body=f"b{k}", role="collision")
    world, contact = dalembert.scene(robot=robot, heap=builder.build()), Contact(friction=MU, pairs="all")
    q, v, base = world.neutral(), np.zeros(world.nv), world.model.body(f"robot_{robot.model.base.name}")
    q[base.q.start + 2] += height_of(robot)
    v[base.v.start + 3] = PUSHED
    for k, place in enumerate(cubes_before(n)):
        start = world.model.body(f"heap_b{k}").q.start
        q[start : start + 3] = place
    begin = time.process_time()
    world.rollout(q, v, step=STEP, steps=1, contact=contact, threads=1)
    compiling = time.process_time() - begin

    def motions(count):
        start = np.tile(q, (count, 1)), np.tile(v, (count, 1))
        return world.rollout(*start, step=STEP, steps=MEASURED, contact=contact, threads=1)

    end = motions(8)
    one, eight = (best(lambda c=c: motions(c)) / MEASURED / c * 1e6 for c in (1, 8))
    print(f"among{n} dalembert: compiled in {compiling:.1f} s, {one:.1f} µs a step alone, {eight:.1f} in 8 at once")
    print(
        f"         {np.max(end.contacts.unsettled):.0f} of {MEASURED} steps missed the tolerance, by up to "
        f"{np.max(end.contacts.worst):.1e} m/s, {np.max(end.contacts.crowded):.0f} had more contacts than room"
    )
    peer_among(path, n, height_of(robot))


def cubes_before(n):
    """Centres of cubes on the ground in rows of six, before a robot."""
    return [(0.45 + 0.13 * (k % 6), -0.3 + 0.13 * (k // 6), CUBE / 2) for k in range(n)]


def height_of(robot):
    """How far a robot must be raised to stand on the ground [m]."""
    q = robot.neutral()
    return -float(np.min(robot.contact_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv), contact=Contact()).gap))


def peer_among(path, n, height):
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        print("         MuJoCo is missing: pip install mujoco")
        return
    spec = mujoco.MjSpec.from_file(path)
    spec.option.timestep = STEP
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1], friction=[MU, 0.005, 1e-4])
    for place in cubes_before(n):
        cube = spec.worldbody.add_body(pos=place)
        cube.add_freejoint()
        cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[CUBE / 2] * 3, mass=CUBE_MASS, friction=[MU, 0.005, 1e-4])
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:3], data.qpos[3:7], data.qpos[7 : model.nq - 7 * n] = (0.0, 0.0, height), (1.0, 0.0, 0.0, 0.0), 0.0
    data.qvel[0] = PUSHED
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    cost = best(lambda: rollout.rollout(model, [data], state[None], nstep=MEASURED)) / MEASURED * 1e6
    print(f"         MuJoCo:    {'':5s}              {cost:9.1f} µs a step alone, with the file's setting")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=["stack4", "stack20", "bin30", "bin200"])
    parser.add_argument("--robot", help="an MJCF file, for scenes like among30")
    arguments = parser.parse_args()
    for name in arguments.scenes:
        kind = name.rstrip("0123456789")
        if kind not in ("stack", "bin", "among") or kind == name or (kind == "among" and not arguments.robot):
            parser.error(f"{name!r}: expected stack4, bin30 or the like, or among30 with --robot")
        n = int(name[len(kind) :])
        if kind == "among":
            among(arguments.robot, n)
            continue
        (one, eight), theirs_alone = measured(kind, n), peer(kind, n)
        if theirs_alone is not None:
            print(f"         as fast as MuJoCo: {theirs_alone / one:.2f} times alone, {theirs_alone / eight:.2f} in 8")


if __name__ == "__main__":
    main()
