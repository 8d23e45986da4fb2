"""A quadrotor through three gates at given times and back to rest; its rotors stay within their limits."""

import numpy as np

from dalembert import load, motion

drone = load("quadrotor")
rotors = motion.rotors(drone)  # where they are, and what each gives at most: here half the weight
nodes, step = 100, 0.04
gates = {30: [0.5, 0.3, 1.3], 55: [1.0, -0.3, 1.0], 75: [0.6, -0.5, 1.1]}  # the node at which each is passed
start = drone.neutral()
start[:3] = 0.0, 0.0, 1.0
hover = np.full(4, drone.total_mass * 9.81 / 4)


def thrusts(q, v, u):
    """[torque; force] on the body, along its axes, of the thrusts u [N]."""
    thrust, *torque = rotors.map @ u
    return np.array([*torque, 0.0, 0.0, thrust], object)


def running(q, v, u, gate, passing):  # passing is 1 at the nodes of gates, else 0
    return {"rotors": (1.0, u / hover - 1.0), "rate": (1e-1, v), "gate": (1e4 * passing[0], q[:3] - gate)}


problem = drone.optimal_control(
    running,
    lambda q, v: {"home": (1e2, drone.difference(start, q)), "rest": (1e1, v)},
    step=step,
    nodes=nodes,
    gate=3,
    passing=1,
    actuation=thrusts,
    control_count=4,
    limits={"torque": (rotors.least, rotors.most)},
)
gate, passing = np.zeros((nodes + 1, 3)), np.zeros((nodes + 1, 1))
for k, place in gates.items():
    gate[k], passing[k] = place, 1.0
hovering = np.tile(start, (nodes + 1, 1)), np.zeros((nodes + 1, 6)), np.tile(hover, (nodes, 1))
plan = problem.solve(start, guess=hovering, gate=gate, passing=passing)
print(plan.summary())
off = max(np.linalg.norm(plan.q[k, :3] - place) for k, place in gates.items())
print(f"off the gates by {1e3 * off:.1f} mm; thrusts {plan.u.min():.3f} … {plan.u.max():.3f} of {rotors.most:.3f} N")
assert plan.converged and off < 0.02
assert rotors.least - 1e-9 <= plan.u.min() and plan.u.max() <= rotors.most + 1e-9
