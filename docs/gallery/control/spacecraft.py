"""Turning without pushing off.

Three reaction wheels turn a spacecraft back by 35°. The wheels spin up against it; the momentum of the whole stays
zero.
"""

import numpy as np

from dalembert import ModelBuilder
from drawing import figure, save

builder = ModelBuilder("spacecraft", gravity=(0, 0, 0))
builder.add_body("hull", parent="world", joint="free", mass=100.0, inertia=np.diag([20.0, 25.0, 30.0]))
for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
    moments = np.full(3, 0.03) + 0.02 * np.abs(axis)
    wheel = {"joint": "continuous", "joint_name": name, "axis": axis, "mass": 2.0, "inertia": np.diag(moments)}
    builder.add_body(f"wheel {name}", parent="hull", **wheel)
craft = builder.build()


def attitude(t, q, v):
    torque = -4.0 * q[4:7] * q[3] - 14.0 * v[:3]
    return np.concatenate([np.zeros(6), -torque])


q = craft.neutral()
q[3:7] = [np.cos(0.3), *(np.sin(0.3) * np.array([0.5, 0.7, 0.51]))]
run = craft.simulate(craft.normalize(q), np.zeros(craft.nv), attitude, duration=40.0, record=0.1)
assert np.abs(run.q[-1, 4:7]).max() < 1e-2
assert np.abs(craft.centroidal_momentum(run.q, run.v)).max() < 1e-6
picture, (hull, wheels) = figure(7.4, 3.0, ncols=2)
hull.plot(run.t, np.degrees(2 * run.q[:, 4:7]), label=["x", "y", "z"])
hull.set(xlabel="t [s]", ylabel="attitude [°], small angles")
wheels.plot(run.t, run.v[:, 6:], label=["wheel x", "wheel y", "wheel z"])
wheels.set(xlabel="t [s]", ylabel="wheels [rad/s]")
for axes in (hull, wheels):
    axes.legend(fontsize=8)
save(picture, __file__, "webp")
