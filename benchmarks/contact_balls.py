"""SimBenchmark's rolling and 666 beside MuJoCo: a ball and a puck pushed aslant, and balls that fall onto each other.

`python benchmarks/contact_balls.py [--balls N]`; needs MuJoCo (pip install mujoco). Steps of 2 ms. The way of what is
pushed is compared with that of the book, along the push and across it. N³ balls (2 by default, 6 in SimBenchmark, 0:
none) fall without friction and elastic, where energy must stay, and rough and dull, where nothing may overlap. Times:
CPU time of one core.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

from dalembert import Contact, ModelBuilder, Robot
from dalembert.shapes import Sphere

STEP, G, RADIUS = 2e-3, 9.81, 0.1
SOLID = 0.4 * RADIUS**2  # moment of inertia of a ball of 1 kg


class Motion(NamedTuple):
    """Positions (steps, n, 3) and energies (steps,) [J], seconds a step, and what else is to be said."""

    positions: np.ndarray
    energies: np.ndarray
    seconds: float
    remarks: str


class Balls(NamedTuple):
    """Balls of 1 kg with these moments of inertia at places (n, 3)."""

    places: np.ndarray
    inertias: list[float]
    gravity: np.ndarray

    def ours(self, contact: Contact, steps: int) -> Motion:
        """Compiled first; energies are those of balls."""
        builder = ModelBuilder("balls", gravity=tuple(self.gravity))
        for k, inertia in enumerate(self.inertias):
            builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * inertia)
            builder.add_geometry(Sphere(RADIUS), body=f"ball{k}", role="collision")
        robot: Robot = builder.build()
        q = np.concatenate([[*place, 1.0, 0.0, 0.0, 0.0] for place in self.places])
        settings = {"step": STEP, "contact": contact, "threads": 1}
        begin = time.process_time()
        robot.rollout(q, np.zeros(robot.nv), steps=1, every=1, **settings)
        compiled = time.process_time()
        motion = robot.rollout(q, np.zeros(robot.nv), steps=steps, every=1, **settings)
        taken = time.process_time() - compiled
        x, v = motion.q.reshape(steps, -1, 7)[..., :3], motion.v.reshape(steps, -1, 6)
        spins = (v[..., :3] ** 2).sum(axis=-1) @ self.inertias
        energy = 0.5 * (spins + (v[..., 3:] ** 2).sum(axis=(1, 2))) - (x @ self.gravity).sum(axis=1)
        missed = f"{int(motion.contacts.unsettled)} of {steps} steps missed the tolerance" + (
            f", by up to {float(motion.contacts.worst):.1e} m/s" if motion.contacts.unsettled else ""
        )
        return Motion(x, energy, taken / steps, f"compiled in {compiled - begin:.0f} s, {missed}")

    def theirs(self, option: str, geom: str, steps: int) -> Motion:
        """The same of MuJoCo."""
        import mujoco

        bodies = "".join(
            f'<body pos="{x} {y} {z}"><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="{i} {i} {i}"/>'
            f'<geom size="{RADIUS}" {geom}/></body>'
            for (x, y, z), i in zip(self.places, self.inertias, strict=True)
        )
        gravity = " ".join(map(str, self.gravity))
        text = f"""<mujoco><option timestep="{STEP}" gravity="{gravity}" {option}><flag energy="enable"/></option>
        <size memory="200M"/><worldbody><geom type="plane" size="9 9 1" {geom}/>{bodies}</worldbody></mujoco>"""
        model = mujoco.MjModel.from_xml_string(text)
        data, positions, energies = mujoco.MjData(model), [], []
        begin = time.process_time()
        for _ in range(steps):
            mujoco.mj_step(model, data)
            positions.append(data.qpos.reshape(-1, 7)[:, :3].copy())
            energies.append(data.energy.sum())
        return Motion(np.array(positions), np.array(energies), (time.process_time() - begin) / steps, "")


def rolling(steps: int = 2000) -> None:
    mu, push, angle = 0.4, 6.0, 0.3
    along, side = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])
    balls = Balls(np.array([[0, 0, RADIUS], [0, 1, RADIUS]]), [SOLID, 1e6], push * along - [0.0, 0.0, G])
    ends = {"dalembert": balls.ours(Contact(friction=mu), steps).positions[-1]}
    try:
        for cone in ("pyramidal", "elliptic"):
            friction = f'friction="{mu} 0 0"'
            ends[f"MuJoCo, {cone}"] = balls.theirs(f'cone="{cone}"', friction, steps).positions[-1]
    except ImportError:
        print("MuJoCo is missing: pip install mujoco")
    print("pushed aslant for 4 s    ball: along, across     puck: along, across   (errors, as shares of the way)")
    way = 0.5 * np.array([push / 1.4, push - mu * G]) * (steps * STEP) ** 2
    for name, x in ends.items():
        errors = ((x - balls.places) - way[:, None] * along) / way[:, None]
        print(f"{name:22s}" + "".join(f"{error @ along:14.1e} {error @ side:9.1e}" for error in errors))


def falling(n: int, steps: int = 500) -> None:
    grid = np.array([(x, y, z) for x in range(n) for y in range(n) for z in range(n)], float)
    places = grid * [0.25, 0.25, 0.3] + [0.0, 0.0, 0.3]
    shaken = places + 0.02 * np.random.default_rng(0).uniform(-1.0, 1.0, places.shape)
    cases = {
        "elastic": (places, Contact(pairs="all", friction=0.0, restitution=1.0), 'solref="-100000 0" friction="0 0 0"'),
        "dull": (shaken, Contact(pairs="all", friction=0.4), 'friction="0.4 0 0"'),
    }
    print(f"\n{n}³ balls, 1 s            energy at the end / start  largest  deepest overlap [µm]  µs a step")
    for name, (start, contact, geom) in cases.items():
        balls = Balls(start, [SOLID] * len(start), np.array([0.0, 0.0, -G]))
        motions = {f"dalembert, {name}": balls.ours(contact, steps)}
        try:
            motions[f"MuJoCo, {name}"] = balls.theirs("", geom, steps)
        except ImportError:
            print("MuJoCo is missing: pip install mujoco")
        begin = G * start[:, 2].sum()
        for engine, (x, energy, seconds, remarks) in motions.items():
            overlap = max(2.0 * RADIUS - nearest(x), RADIUS - x[..., 2].min())
            print(
                f"{engine:24s}{energy[-1] / begin:14.9f} {energy.max() / begin:14.9f} {1e6 * overlap:14.2e}"
                f" {1e6 * seconds:14.1f}   {remarks}"
            )


def nearest(x: np.ndarray) -> float:
    """The least distance of two centres in all states."""
    every = [np.linalg.norm(each[:, None] - each, axis=-1) + 9.0 * np.eye(x.shape[1]) for each in x]
    return float(min(each.min() for each in every))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--balls", type=int, default=2, help="balls along each side of the grid")
    arguments = parser.parse_args()
    rolling()
    if arguments.balls:
        falling(arguments.balls)


if __name__ == "__main__":
    main()
