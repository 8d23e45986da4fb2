"""A block on a moving belt, held by a spring: it sticks, slips, sticks again; and one that bounces off a stop."""

import numpy as np

from dalembert import ModelBuilder, elements


def slide(axis, **others):
    builder = ModelBuilder("block", gravity=(0, 0, -9.81))
    builder.add_body("block", parent="world", joint="prismatic", joint_name="slide", axis=axis, mass=2.0, **others)
    return builder.build()


belt = elements.Friction(
    "slide", coulomb=3.0, static=4.0, stribeck_speed=1e-3, stiffness=1e5, bristle_damping=500.0, surface_speed=0.1
)
run = slide((1, 0, 0)).simulate([0.0], [0.0], 5.0, elements=[elements.Spring("slide", 100.0), belt])
sticking = np.abs(run.v[:, 0] - 0.1) < 1e-3
slips = np.count_nonzero(np.diff(sticking.astype(int)) == -1)
print(f"the block slipped {slips} times; the belt put in {run.energy.work['Friction(slide)'][-1]:.3f} J, "
      f"{run.energy.heat['Friction(slide)'][-1]:.3f} J became heat")  # fmt: skip
assert slips >= 3 and sticking.mean() > 0.1
assert run.audit().relative < 1e-5

fall = slide((0, 0, 1), lower=0.0).simulate([1.0], [0.0], 4.0, elements=[elements.HardStop("slide", restitution=0.5)])
times = [event.t for event in fall.events[:3]]
print("the block hit the stop at", np.round(times, 4), "s and rests with", fall.multipliers[-1].round(3), "N")
np.testing.assert_allclose(times, np.sqrt(2 / 9.81) * np.array([1.0, 2.0, 2.5]), atol=1e-9)
