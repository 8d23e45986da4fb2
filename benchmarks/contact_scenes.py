"""Scenes of loose bodies beside MuJoCo in one run: stacks and piles, time to compile, speed, and how well they rest.

`python benchmarks/contact_scenes.py [stack4 stack20 bin30 bin200]`. One core, CPU time, best of three. Both start from
the same state, 1 s before the times are measured, in steps of 2 ms: MuJoCo with Newton's method and an elliptic cone,
one motion; dalembert one motion, and a batch of 8. Beside the times: how many steps missed the tolerance of the laws of
contact (1e-6 m/s) and by how much, speeds at the end, and how often MuJoCo's time the time of a motion is.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.model.geometry import Box, Sphere

STEP, G, MU = 2e-3, 9.81, 0.6
SIDE, RADIUS, HALF = 0.2, 0.05, 0.3  # [m] of cubes, balls, the bin
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=["stack4", "stack20", "bin30", "bin200"])
    for name in parser.parse_args().scenes:
        kind = name.rstrip("0123456789")
        n = int(name[len(kind) :])
        (one, eight), theirs_alone = measured(kind, n), peer(kind, n)
        if theirs_alone is not None:
            print(f"         as fast as MuJoCo: {theirs_alone / one:.2f} times alone, {theirs_alone / eight:.2f} in 8")


if __name__ == "__main__":
    main()
