"""A quadrotor through gates, as fast as its rotors allow: planned by flatness, flown by a geometric controller."""

import numpy as np

import dalembert
from dalembert import control, elements, math, motion

drone = dalembert.load("quadrotor")
gates = [[0.0, 0.0, 1.0], [1.0, 0.5, 1.5], [2.0, -0.5, 1.0], [1.0, -1.0, 0.8], [0.0, 0.0, 1.0]]
flight = motion.fly(drone, gates, yaw=0.0)
thrusts = flight.thrusts(np.linspace(0.0, flight.duration, 500))
print(f"{flight.duration:.3f} s; rotors give {thrusts.min():.4f} … {thrusts.max():.4f} N of {flight.rotors.most:.4f} N")

law = control.quadrotor(drone, flight)
run = drone.simulate(flight.q(0.0), flight.v(0.0), law, duration=flight.duration)
error = np.abs(run.q[:, :3] - flight.q(run.t)[:, :3]).max()
print(f"in still air off the path by {error:.1e} m")
assert error < 1e-4


def gust(t):
    return [3.0 * math.sin(2.0 * t), 3.0 * math.sin(3.1 * t + 1.0), 0.0]


hover = control.quadrotor(drone, [0.0, 0.0, 1.0])
air = [elements.Drag("body", area=0.004, wind=gust), control.rotor_lag(drone, 0.02)]
start = drone.neutral()
start[2] = 1.0
run = drone.simulate(start, np.zeros(6), hover, duration=5.0, elements=air)
away = np.linalg.norm(run.q[:, :3] - [0.0, 0.0, 1.0], axis=1).max()
print(f"hovering in gusts of 3 m/s with motors that lag by 20 ms: off by {100 * away:.1f} cm at most")
assert away < 0.15
