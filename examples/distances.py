"""Keep an arm clear of itself and of a table: distances, the nearest pair, and a step that opens it."""

import numpy as np

import dalembert
from dalembert.shapes import Box, Sphere

robot = dalembert.load("ur5").edit().add_geometry(Sphere(0.05), body="wrist_3_link", xyz=(0.0, 0.0, 0.12)).done()
room = dalembert.scene(robot, table=Box([1.0, 1.0, 0.1]), at={"table": (0.8, 0.0, -0.2)})

pairs = room.collision_pairs()
q = room.random(np.random.default_rng(1), 2000)
d = room.distance(q)
print(f"{len(pairs)} pairs; {np.mean(d.min(axis=1) < 0):.0%} of random states collide")

q = q[np.argmin(np.abs(d.min(axis=1) + 0.02))]  # a state that is 2 cm too deep
for _ in range(50):
    d = room.distance(q)
    worst = np.argmin(d)
    if d[worst] > 0.03:
        break
    row = room.distance_jacobian(q)[worst]
    q = room.integrate(q, 0.005 * row / (row @ row + 1e-9))  # opens the nearest pair by 5 mm
w = room.witnesses(q)
print(f"cleared: nearest is {pairs[worst]} with {d[worst] * 1000:.0f} mm, normal {np.round(w.normal[worst], 2)}")
assert d.min() > 0.029
