"""Rules on gravity: its direction and size, torques by hand, and the load that the motors can hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.robot import Robot

from .rule import Found, NotRun, rule
from .subject import Subject

MARGIN = 1.3  # for payload variance, model error and friction
EXACT = 1e-9  # relative, of two ways to one number
EARTH = (9.75, 9.85)  # m/s², from the equator to the poles
WORLDS = {"the Moon": (1.6, 1.65), "Mars": (3.65, 3.8)}
TILT = np.cos(np.radians(5.0))


@rule(
    "gravity-direction",
    "gravity",
    "warning",
    reason="gravity that points up or sideways lets a robot that is held drift away, and one that stands take off",
    cure="gravity is a vector in the world, whose z axis points up: (0, 0, -9.81) m/s²; a tilted mount belongs in the "
    "placement of the base",
)
def direction(subject: Subject) -> Iterator[Found]:
    g = np.asarray(subject.model.gravity, float)
    size = float(np.linalg.norm(g))
    where = f"robot '{subject.model.name}'"
    if not gravity_as_expected(subject):
        assert subject.expect is not None
        yield Found(where, f"gravity is {_vector(g)} m/s², expected {subject.expect.model.gravity}", "error")
    if not size:
        yield Found(where, "there is no gravity", "info")
        return
    if g[2] > TILT * size:
        yield Found(where, f"gravity points up: {_vector(g)} m/s²")
    elif -g[2] < TILT * size:
        drawn = not g[2] and _in_the_xy_plane(subject.robot)
        words = ", in the x-y plane, in which the robot moves as well" if drawn else ""
        yield Found(
            where, f"gravity does not point down the z axis: {_vector(g)} m/s²{words}", "info" if drawn else None
        )
    if not EARTH[0] <= size <= EARTH[1]:
        world = next((name for name, (low, high) in WORLDS.items() if low <= size <= high), "")
        cause = f"as on {world}" if world else "millimetres taken for metres" if 9700 < size < 9900 else "not Earth's"
        yield Found(where, f"gravity is {size:.4g} m/s², {cause}", "info" if world else None)


def _in_the_xy_plane(robot: Robot) -> bool:
    """Whether it is a linkage as drawn on paper: at zero its joints turn about z and slide across it."""
    moving = [body.name for body in robot.bodies if body.joint is not None]
    J = robot.jacobian(robot.neutral(), moving).reshape(-1, 6, robot.nv) if moving else np.ones((1, 6, 1))
    return bool(np.max(np.abs(J[:, [0, 1, 5]])) <= EXACT * np.max(np.abs(J)))


def gravity_as_expected(subject: Subject) -> bool:
    """Whether gravity is that of the design, where one is stated."""
    meant = subject.expect.model.gravity if subject.expect else None
    return meant is None or np.allclose(meant, subject.model.gravity, rtol=1e-3, atol=1e-3)


def _vector(g: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:g}" for x in g) + ")"


@rule(
    "gravity-by-hand",
    "gravity",
    "error",
    reason="gravity torques must be those of each weight times its lever, added up by hand",
    cure="report it: results of this robot cannot be trusted",
)
def gravity_by_hand(subject: Subject) -> Iterator[Found]:
    """Σ m g · ∂c/∂q with the Jacobian of each centre of mass, against the recursive algorithm."""
    bare, q = subject.bare, subject.q[:20]
    if not (np.any(subject.model.gravity) and subject.massive):
        raise NotRun("there is no gravity" if subject.massive else "no link has a mass")
    levers, size = np.zeros((len(q), bare.nv)), 0.0
    for body in subject.model.bodies:
        m = body.inertia.mass
        if m > 0.0:
            J = bare.jacobian(q, body.name, point=tuple(body.inertia.com))
            levers -= m * np.einsum("k,bkj->bj", subject.model.gravity, J[:, 3:, :])
            size += m * float(np.linalg.norm(subject.model.gravity) * np.max(np.abs(J[:, 3:, :])))
    error = np.max(np.abs(levers - bare.gravity(q)))
    if error > EXACT * size:
        yield Found(f"robot '{subject.model.name}'", f"differ by {error / size:.1e} of the weights times their levers")


@rule(
    "headroom",
    "gravity",
    "error",
    reason="a motor that cannot hold the arm stretched out lets it fall, which is an error; 1.3 times gravity is the "
    "usual least, and less than that a warning",
    cure="check effort limits and masses; a smaller payload, a counterweight or a larger motor",
)
def headroom(subject: Subject) -> Iterator[Found | NotRun]:
    rows, because = subject.motors
    if not rows:
        yield NotRun(because, blocked=subject.payload > 0.0)
        return
    for row in rows:
        if row.ratio < MARGIN:
            falls = row.ratio < 1.0
            yield Found(
                f"joint '{row.joint}'",
                f"{'cannot hold' if falls else 'barely holds'} the robot: gravity asks {row.gravity:.3g}, the limit is "
                f"{row.limit:.3g} ({row.ratio:.2f} times) at {subject.configuration(row.q)}",
                "error" if falls else "warning",
            )
    unlimited = [row.joint for row in rows if np.isinf(row.limit)]
    if unlimited:
        names = ", ".join(unlimited[:6]) + (" …" if len(unlimited) > 6 else "")
        yield NotRun(f"no effort limit is stated for {names}", blocked=subject.payload > 0.0)
