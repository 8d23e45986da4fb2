"""Scenes of rigid contact whose operation counts and motions are kept, and every way of running one.

Robots stand on springs, stacks and bins come to rest: motions in which rounding does not grow. Scenes are small, since
each way compiles a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert
from dalembert import Contact, ModelBuilder, Robot
from dalembert.compiler.execute import Program
from dalembert.model.geometry import Box, Sphere
from dalembert.sim.elements import Spring
from peers.example_robots import folder

STEP, STEPS = 2e-3, 200
LANES = 8
SIDE = 0.1  # of cubes [m]
ABOVE = 0.025  # height of the frames of feet at the start [m]
LEG = (0.0, 0.9, -1.8)  # abduction, swing and knee of a quadruped that stands [rad]

State = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Scene:
    """A robot, its contact, where it starts, and springs of its joints, behind the coordinates of free bodies."""

    robot: Robot
    contact: Contact
    q: np.ndarray
    springs: tuple[Spring, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of runs, rollouts and steppers."""
        return {"step": STEP, "contact": self.contact, "elements": self.springs}

    def lanes(self) -> State:
        """States of a batch, the first of which is the start: other heights and joint angles."""
        rng, q = np.random.default_rng(1), np.tile(self.q, (LANES, 1))
        n = len(self.springs)
        if n:
            q[1:, 2] += rng.uniform(0.0, 0.02, LANES - 1)
            q[1:, -n:] += 0.02 * rng.standard_normal((LANES - 1, n))
        else:
            q[1:, 2::7] += rng.uniform(0.0, 1e-3, (LANES - 1, 1))
        return q, np.zeros((LANES, self.robot.nv))


def simulated(scene: Scene) -> dict[str, Any]:
    run = scene.robot.simulate(scene.q, np.zeros(scene.robot.nv), STEPS * STEP, **scene.settings)
    return {"q": run.q[-1], "v": run.v[-1], "unsettled": run.contacts.unsettled}


def rolled(scene: Scene, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    end = scene.robot.rollout(q, v, steps=STEPS, **scene.settings)
    return {"q": end.q, "v": end.v, "unsettled": end.contacts.unsettled}


def alone(scene: Scene) -> dict[str, Any]:
    return rolled(scene, scene.q, np.zeros(scene.robot.nv))


def in_lanes(scene: Scene) -> dict[str, Any]:
    """The first and the last motion of the batch."""
    return {name: x[[0, -1]] for name, x in rolled(scene, *scene.lanes()).items()}


def in_single_precision(scene: Scene) -> dict[str, Any]:
    q, v = (x.astype(np.float32) for x in scene.lanes())
    return {name: x[[0, -1]] for name, x in rolled(scene, q, v).items()}


def stepped(scene: Scene) -> dict[str, Any]:
    q, v, tau = scene.q, np.zeros(scene.robot.nv), np.zeros(scene.robot.nv)
    step = scene.robot.stepper(**scene.settings)
    z = step.start(q, v)
    for _ in range(STEPS):
        q, v, z = step(q, v, tau, z)
    return {"q": q, "v": v}


WAYS: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "simulate": simulated,
    "rollout": alone,
    "lanes": in_lanes,
    "float32": in_single_precision,
    "stepper": stepped,
}
STEPPING = ("fixed time-stepping", "rollout time-stepping", "stepper")  # programs that take steps


def measured(scene: Scene, way: str) -> dict[str, Any]:
    """The end of a motion in one way, and how many operations one of its steps takes."""
    with _programs() as used:
        end = WAYS[way](scene)
    counts = [sum(program.function().operations().values()) for program in used]
    return {"operations": max(counts)} | {name: np.asarray(x, float) for name, x in end.items()}


@contextmanager
def _programs() -> Iterator[list[Program]]:
    """The programs that take steps and run meanwhile."""
    used: list[Program] = []
    prepared = Program.on

    def on(program: Program, backend: str | None = None) -> Any:
        if program.name.startswith(STEPPING) and program not in used:
            used.append(program)
        return prepared(program, backend)

    Program.on = on  # type: ignore[method-assign]
    try:
        yield used
    finally:
        Program.on = prepared  # type: ignore[method-assign]


def standing(robot: Robot, feet: tuple[str, ...], home: tuple[float, ...], stiffness: float, contact: Contact) -> Scene:
    """A robot on springs that hold its joints, its feet 5 mm above the ground at first."""
    names = robot.model.freedom_names[6:]
    springs = tuple(Spring(name, stiffness, x, stiffness / 30.0) for name, x in zip(names, home, strict=True))
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *home])
    lowest = min(robot.pose(q, foot)[2, 3] for foot in feet)
    q[2] = ABOVE - lowest
    return Scene(robot, contact, q, springs)


def quadruped() -> Scene:
    feet = tuple(f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR"))
    return standing(dalembert.load("quadruped"), feet, LEG * 4, 80.0, Contact(ground=0.0, friction=0.8))


def biped() -> Scene:
    home = (0.0, 0.0, -0.3, 0.6, -0.3, 0.0) * 2
    contact = Contact(ground=0.0, friction=0.8)
    return standing(dalembert.load("biped"), ("left_foot", "right_foot"), home, 400.0, contact)


def go1(pairs: Any = None) -> Scene:
    feet = tuple(f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL"))
    robot = dalembert.load(folder() / "go1_description/urdf/go1.urdf", base="free")
    pairs = [(foot, "ground") for foot in feet] if pairs is None else pairs
    return standing(robot, feet, LEG * 4, 100.0, Contact(ground=0.0, friction=0.8, pairs=pairs))


def go1_as_typed() -> Scene:
    """All 228 points of its shapes, which come in slots."""
    return go1("ground")


def anymal() -> Scene:
    feet = tuple(f"{leg}_FOOT" for leg in ("LF", "RF", "LH", "RH"))
    robot = dalembert.load(folder() / "anymal_c_simple_description/urdf/anymal.urdf", base="free")
    home = (0.0, 0.4, -0.8, 0.0, 0.4, -0.8, 0.0, -0.4, 0.8, 0.0, -0.4, 0.8)
    contact = Contact(ground=0.0, friction=0.8, pairs=[(f"{foot} #2", "ground") for foot in feet])
    return standing(robot, feet, home, 400.0, contact)


def loose(name: str, shapes: list[Box | Sphere]) -> ModelBuilder:
    """Loose bodies of 1 kg."""
    builder = ModelBuilder(name, gravity=(0.0, 0.0, -9.81))
    for k, shape in enumerate(shapes):
        share = 1.0 / 6.0 if isinstance(shape, Box) else 0.1
        builder.add_body(f"body{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * share * SIDE**2)
        builder.add_geometry(shape, body=f"body{k}", role="collision")
    return builder


def stack(count: int = 3) -> Scene:
    """Cubes on each other, a millimetre apart at first."""
    robot = loose("stack", [Box([SIDE] * 3)] * count).build()
    q = robot.neutral()
    q[2::7] = SIDE / 2 + (SIDE + 1e-3) * np.arange(count)
    return Scene(robot, Contact(friction=0.6, pairs="all"), q)


def bin_of(count: int = 4) -> Scene:
    """Cubes and balls by turns that drop side by side between four walls."""
    builder = loose("bin", [Box([SIDE] * 3) if k % 2 == 0 else Sphere(SIDE / 2) for k in range(count)])
    columns = int(np.ceil(np.sqrt(count)))
    half = 0.5 * columns * (SIDE + 0.01)
    builder.add_body("bin", parent="world", joint="fixed", mass=1.0)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        place, size = (
            (x * (half + 0.02), y * (half + 0.02), 0.1),
            (0.04 if x else 2 * half, 0.04 if y else 2 * half, 0.2),
        )
        builder.add_geometry(Box(size), body="bin", xyz=place, role="collision")
    robot = builder.build()
    q = robot.neutral()
    for k in range(count):
        x, y = (SIDE + 0.01) * (np.array(divmod(k, columns)) - 0.5 * (columns - 1))
        q[7 * k : 7 * k + 3] = x, y, SIDE / 2 + 0.01 + 2e-3 * k
    return Scene(robot, Contact(friction=0.6, pairs="all"), q)


def arm_and_balls(count: int = 4) -> Scene:
    """An arm on springs that leans on the floor, beside loose balls that lie there."""
    builder = loose("arm and balls", [Sphere(SIDE / 2)] * count)
    place: dict[str, Any] = {"parent": "world", "joint": "revolute", "axis": (0, 1, 0), "xyz": (0, 0, 0.3)}
    builder.add_body("upper", mass=2.0, com=(0.2, 0, 0), inertia=0.02 * np.eye(3), **place)
    place |= {"parent": "upper", "xyz": (0.4, 0, 0)}
    builder.add_body("lower", mass=1.0, com=(0.15, 0, 0), inertia=0.01 * np.eye(3), **place)
    builder.add_geometry(Sphere(SIDE / 2), body="lower", xyz=(0.3, 0, 0), role="collision")
    robot = builder.build()
    q = robot.neutral()
    for k in range(count):
        q[7 * k : 7 * k + 3] = 1.0, 0.2 * k, SIDE / 2 + 2e-3
    springs = (Spring(robot.joints[-2].name, 60.0, 0.3, 2.0), Spring(robot.joints[-1].name, 60.0, 0.6, 2.0))
    return Scene(robot, Contact(friction=0.6, pairs="all"), q, springs)


def bin_of_twelve() -> Scene:
    return bin_of(12)


FAST = {scene.__name__: scene for scene in (quadruped, stack, bin_of)}
SLOW = {scene.__name__: scene for scene in (arm_and_balls, biped, go1, go1_as_typed, anymal, bin_of_twelve)}
SCENES = FAST | SLOW
