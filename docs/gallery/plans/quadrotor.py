"""Through the gates.

A Crazyflie on a path of least snap, as fast as its rotors allow. Attitude and thrusts follow from four flat outputs.
"""

import numpy as np

from dalembert import control, load, motion
from drawing import Scene, animate

drone = load("quadrotor")
gates = np.array([[0.0, 0.0, 1.0], [1.0, 0.5, 1.5], [2.0, -0.5, 1.0], [1.0, -1.0, 0.8], [0.0, 0.0, 1.0]])
flight = motion.fly(drone, gates, yaw=0.0)
law = control.quadrotor(drone, flight)
run = drone.simulate(flight.q(0.0), flight.v(0.0), law, duration=flight.duration, record=flight.duration / 45)
assert np.abs(run.q[:, :3] - flight.q(run.t)[:, :3]).max() < 1e-4


def frame(k):
    scene = Scene((1.0, -0.2, 0.9), 4.2, azimuth=-110, elevation=22, size=(440, 320))
    large = drone.poses(run.q[k])[0]
    scene.robot(drone, run.q[k])
    for row in scene.owners[1:]:  # four times as large as it is
        row[:9], row[9:12] = 4.0 * row[:9], row[9:12] + 3.0 * (row[9:12] - large[:3, 3])
    for gate in gates[1:-1]:
        scene.ball(gate, 0.04, "#3a9160")
    return scene.path(run.q[: k + 1, :3], 0.008).image()


animate((frame(k) for k in range(len(run.t))), __file__, rate=15)
