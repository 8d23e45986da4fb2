"""A ground that pushes back: a box that slides to rest on a penalty floor with Hunt-Crossley damping and friction."""

from dataclasses import dataclass

import numpy as np

from dalembert import ModelBuilder, elements
from dalembert.math import sqrt, where

MASS, SIZE, FRICTION, GRAVITY = 4.0, (0.3, 0.2, 0.1), 0.4, 9.81
corners = [(np.array(place) - 0.5) * SIZE for place in np.ndindex(2, 2, 2)]

builder = ModelBuilder("box", gravity=(0.0, 0.0, -GRAVITY))
x, y, z = SIZE
inertia = MASS / 12 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
builder.add_body("box", parent="world", joint="free", joint_name="base", mass=MASS, inertia=inertia)
for number, corner in enumerate(corners):
    builder.add_frame(f"corner{number}", body="box", xyz=tuple(corner))
robot = builder.build()


@dataclass(frozen=True)
class Ground(elements.Element):
    """The plane z = 0 under a point: normal force k d^1.5 (1 + c ḋ) of the depth d, friction that is smooth at rest."""

    loses = True
    frame: str
    stiffness: float = 2e5  # k [N/m^1.5]
    damping: float = 5.0  # c [s/m]
    friction: float = FRICTION
    slip_speed: float = 1e-3  # at which friction reaches 0.7 of its full value [m/s]

    def _depth(self, s):
        depth = -robot.pose(s.q, self.frame)[2, 3]
        return where(depth > 0.0, depth, 0.0)

    def act(self, s):
        depth, (vx, vy, vz) = self._depth(s), robot.velocity(s.q, s.v, self.frame)[3:]
        spring = self.stiffness * depth * sqrt(depth)
        normal = spring * (1.0 - self.damping * vz)
        normal = where(normal > 0.0, normal, 0.0)  # the ground does not pull
        along = -self.friction * normal / sqrt(vx * vx + vy * vy + self.slip_speed**2)
        force = np.array([along * vx, along * vy, normal])
        tau = robot.jacobian(s.q, self.frame)[3:].T @ force
        heat = (spring - normal) * vz - along * (vx * vx + vy * vy)  # what neither stays in the box nor in the spring
        return elements.Action(tau={body.index: tau[body.v] for body in s.model.bodies if body.joint.nv}, lost=heat)

    def energy(self, s):
        depth = self._depth(s)
        return 0.4 * self.stiffness * depth * depth * sqrt(depth)


start = robot.neutral()
start[2] = SIZE[2] / 2
ground = [Ground(f"corner{k}") for k in range(8)]
run = robot.simulate(start, [0, 0, 0, 1.5, 0, 0], 1.5, elements=ground, rtol=1e-6)
slid, way = run.q[-1, 0], 1.5**2 / (2 * FRICTION * GRAVITY)
depth = (MASS * GRAVITY / 4 / Ground("corner0").stiffness) ** (2 / 3)
print(f"the box slid {slid:.4f} m (v²/2µg = {way:.4f} m) and sank {1e3 * (SIZE[2] / 2 - run.q[-1, 2]):.3f} mm")
print(run.audit())
assert abs(slid - way) < 0.02 * way  # the ground gives way a little at the start
assert abs(SIZE[2] / 2 - run.q[-1, 2] - depth) < 1e-5
assert np.abs(run.v[-1]).max() < 2e-3 and run.audit().relative < 1e-3
