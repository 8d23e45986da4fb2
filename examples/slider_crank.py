"""A slider-crank in the words of its drawing: put together, moved in joint coordinates and as free bodies."""

import numpy as np

import dalembert

m = dalembert.Mechanism("slider-crank", gravity=(0, -9.81, 0))
m.ground(A=(0, 0))
m.body("crank", 0.6, 0.001, com=(0.075, 0), points={"pin": (0.15, 0)})
m.body("rod", 0.9, 0.012, com=(0.2, 0), points={"wrist": (0.4, 0)})
m.body("slider", 1.0, 0.002)
m.joint("revolute", "ground.A", "crank.origin", name="pivot", start=0.0, rate=20.0)
m.joint("point-on-line", "crank.pin", "rod.origin", name="pin")
m.joint("revolute", "rod.wrist", "slider.origin", name="wrist")
m.joint("prismatic", "ground.A", "slider.origin", name="guide", axis=(1, 0, 0))
m.sensor("force", "wrist", name="force")
print(m.mobility())

tree = m.build()
run = tree.simulate(*tree.start, 0.2, record=0.01)
print(f"largest force in the wrist: {np.max(np.linalg.norm(run.readings['force'], axis=1)):.1f} N")

free = m.build("free")
end = free.rollout(*free.start, step=1e-5, steps=20_000, integrator="leapfrog")
places = [robot.pose(q, "slider.origin")[0, 3] for robot, q in ((tree, run.q[-1]), (free, end.q))]
print(f"slider after 0.2 s: {places[0]:.8f} m in joint coordinates, {places[1]:.8f} m as free bodies")
assert abs(places[0] - places[1]) < 1e-6

sweep = tree.sweep("pivot", np.linspace(0.0, 2.0 * np.pi, 73))
print(f"stroke {np.ptp(sweep.path('slider.origin')[:, 0]):.3f} m")
balance = sweep.balance(["crank"])
weight = -balance.moments["crank"][0]
print(f"a counterweight of {weight:.3f} kg·m: {balance.before:.2f} -> {balance.after:.2f} N at 1 rad/s")
