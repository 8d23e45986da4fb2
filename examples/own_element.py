"""A force element of one's own: a spring and a damper in series, which remembers how far the damper has given way."""

from dataclasses import dataclass

import numpy as np

from dalembert import ModelBuilder, elements

MASS, STIFFNESS, DAMPING = 2.0, 300.0, 15.0  # kg, N/m, N·s/m


@dataclass(frozen=True)
class Maxwell(elements.Element):
    """Spring and damper in series on a joint of one coordinate: stiff against shocks, soft against what lasts."""

    loses = True  # it has an account of heat in the energy ledger
    joint: str
    stiffness: float  # [N/m or N·m/rad]
    damping: float  # [N·s/m or N·m·s/rad]

    def size(self, model):
        return 1  # a state of its own: where the damper stands

    def start(self, model, q, v):
        return q[model.joint(self.joint).q]  # relaxed

    def act(self, s):
        body = s.model.joint(self.joint)
        force = self.stiffness * (s.q[body.q] - s.z)
        yields = force / self.damping
        return elements.Action(tau={body.index: -force}, rate=yields, lost=force[0] * yields[0])

    def energy(self, s):
        stretch = s.q[s.model.joint(self.joint).q][0] - s.z[0]
        return 0.5 * self.stiffness * stretch * stretch


builder = ModelBuilder("buffer", gravity=(0.0, 0.0, 0.0))
builder.add_body("block", parent="world", joint="prismatic", joint_name="slide", axis=(1, 0, 0), mass=MASS)
robot = builder.build()
run = robot.simulate([0.0], [1.0], 3.0, elements=[Maxwell("slide", STIFFNESS, DAMPING)])

# the same on paper: d/dt (q, v, z) = A (q, v, z), solved by the eigenvectors of A
rate = STIFFNESS / DAMPING
A = np.array([[0, 1, 0], [-STIFFNESS / MASS, 0, STIFFNESS / MASS], [rate, 0, -rate]])
values, vectors = np.linalg.eig(A)
share = np.linalg.solve(vectors, np.array([0, 1, 0], complex))
exact = ((vectors[0] * share) @ np.exp(values[:, None] * run.t)).real
heat = run.energy.heat["Maxwell(slide)"][-1]
print(f"the block stops after {run.q[-1, 0]:.4f} m; {heat:.4f} J of {0.5 * MASS:g} J became heat")
np.testing.assert_allclose(run.q[:, 0], exact, atol=1e-7)
np.testing.assert_allclose(run.states[-1], run.q[-1], atol=1e-4)  # the damper has followed: nothing is stretched
assert run.audit().relative < 1e-6 and abs(heat - 0.5 * MASS) < 1e-3

# it runs in compiled loops too: a hundred blocks at once, and a stiffer buffer without anything to recompile by hand
speeds = np.linspace(0.5, 1.5, 100)[:, None]
q = robot.rollout(
    np.zeros((100, 1)), speeds, step=1e-3, steps=3000, integrator="rk4", elements=[Maxwell("slide", 600.0, DAMPING)]
).q
np.testing.assert_allclose(q, speeds * MASS / DAMPING, rtol=1e-4)  # the damper has taken all momentum
