"""An underwater vehicle that is as heavy as its water: it rolls about its centre of buoyancy, and drag stops it."""

import numpy as np

from dalembert import ModelBuilder, elements

water, volume, height = 1000.0, 0.03, 0.02  # kg/m³, m³, m of the centre of buoyancy above the centre of mass
builder = ModelBuilder("vehicle")
builder.add_body("hull", parent="world", joint="free", mass=water * volume, inertia=np.diag([0.5, 0.6, 0.7]))
builder.add_body("arm", parent="hull", joint="revolute", axis=(0, 1, 0), xyz=(0.2, 0, -0.1), mass=1.0, com=(0.15, 0, 0),
                 inertia=np.diag([1e-3, 8e-3, 8e-3]))  # fmt: skip
vehicle = builder.build()
around = [
    elements.Buoyancy("hull", volume, point=(0, 0, height), added=0.5),
    elements.Buoyancy("arm", 1e-3, point=(0.15, 0, 0)),
    elements.Drag("hull", area=0.05, density=water, angular=2.0),
]
start = vehicle.neutral()
run = vehicle.simulate(start, np.zeros(vehicle.nv), 10.0, lambda t, q, v: -2.0 * v * np.eye(7)[6], elements=around)
print(f"the arm's joint ends at {run.q[-1, 7]:.4f} rad; the vehicle sank by {-run.q[-1, 2]:.1e} m")
print(run.audit())
assert abs(run.q[-1, 2]) < 1e-6  # hull and arm weigh what they displace

rolled = start.copy()
rolled[3:7] = [np.cos(0.2), np.sin(0.2), 0.0, 0.0]
back = vehicle.simulate(rolled, np.zeros(vehicle.nv), 40.0, lambda t, q, v: -2.0 * v * np.eye(7)[6], elements=around)
tilt = 2.0 * np.arctan2(np.abs(back.q[:, 4]), back.q[:, 3])
print(f"rolled by {tilt[0]:.2f} rad, it comes back to {tilt[-1]:.1e} rad")
assert tilt[-1] < 0.01 * tilt[0]
