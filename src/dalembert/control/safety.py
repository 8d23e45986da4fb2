"""Collisions with people: the energy that a contact can take, and the forces that ISO/TS 15066 allows.

A rigid contact at a point feels the mass m = 1 / (uᵀ Λ⁻¹ u) along a direction u. A body part of mass m_H behind a
spring k takes the energy ½ μ v² of the relative motion, μ = m m_H / (m + m_H), at the force F = v √(k μ)
(ISO/TS 15066, A.3.6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot


class BodyPart(NamedTuple):
    """The limits of the norm for a body part.

    force [N]: quasi-static; transient: factor for short contacts, 0 where none is allowed; stiffness [N/m] of the
    part's spring, and its effective mass [kg].
    """

    force: float
    transient: float
    stiffness: float
    mass: float


# ISO/TS 15066:2016, Tables A.2 and A.3
BODY_PARTS = {
    "skull": BodyPart(130.0, 0.0, 150e3, 4.4),
    "face": BodyPart(65.0, 0.0, 75e3, 4.4),
    "neck": BodyPart(150.0, 2.0, 50e3, 1.2),
    "back": BodyPart(210.0, 2.0, 35e3, 40.0),
    "chest": BodyPart(140.0, 2.0, 25e3, 40.0),
    "abdomen": BodyPart(110.0, 2.0, 10e3, 40.0),
    "pelvis": BodyPart(180.0, 2.0, 25e3, 40.0),
    "upper arm": BodyPart(150.0, 2.0, 30e3, 3.0),
    "lower arm": BodyPart(160.0, 2.0, 40e3, 2.0),
    "hand": BodyPart(140.0, 2.0, 75e3, 0.6),
    "thigh": BodyPart(220.0, 2.0, 50e3, 75.0),
    "lower leg": BodyPart(130.0, 2.0, 60e3, 75.0),
}


class Collision(NamedTuple):
    """A collision of a moving point with a body part that is free to move.

    energy [J]: ½ vᵀ Λ v of the point before the contact, an upper bound of what it can give; transferred [J]: ½ μ v² to
    the body part; speed [m/s] along the motion; mass [kg]: effective mass of the robot in that direction; force [N]:
    peak; limit [N]: what is allowed, 0 where no transient contact is; allowed: whether the force is within it;
    safe_speed [m/s]: at which it would be.
    """

    energy: float
    transferred: float
    speed: float
    mass: float
    force: float
    limit: float
    allowed: bool
    safe_speed: float


def collision(
    robot: Robot, q: Any, v: Any, frame: str, *, part: str = "hand", point: Any = (0.0, 0.0, 0.0)
) -> Collision:
    """The collision of a frame's point with a body part, in the state q (nq,), v (nv,).

    part: of `BODY_PARTS`, by ISO/TS 15066. The energy bound ½ vᵀ Λ v takes the rigid robot as it is, whatever its
    controller does in the first milliseconds.
    """
    if part not in BODY_PARTS:
        raise unknown("body part", part, BODY_PARTS, "collision")
    human = BODY_PARTS[part]
    velocity = robot.velocity(q, v, frame, point=point)[3:]
    speed = float(np.linalg.norm(velocity))
    if speed == 0.0:
        raise DalembertError(f"collision: frame {frame!r} is at rest, so that its collision has no direction")
    J = robot.jacobian(q, frame, point=point)[3:]
    mobility = J @ np.linalg.solve(robot.mass_matrix(q), J.T)  # Λ⁻¹ of the point
    direction = velocity / speed
    mass = float(1.0 / (direction @ mobility @ direction))
    # along directions that the arm cannot move in Λ is infinite, but v has no part in them
    energy = 0.5 * float(velocity @ np.linalg.pinv(mobility, rcond=1e-9) @ velocity)
    reduced = mass * human.mass / (mass + human.mass)
    force = speed * np.sqrt(human.stiffness * reduced)
    limit = human.transient * human.force
    safe = limit / np.sqrt(human.stiffness * reduced)
    return Collision(
        energy, 0.5 * reduced * speed**2, speed, mass, float(force), limit, bool(force <= limit), float(safe)
    )
