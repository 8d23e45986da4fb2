"""A PID controller as it runs on a robot: once per millisecond, with an integral, a delay and limits."""

import numpy as np

from dalembert import Sampled, load

PERIOD = 1e-3


class PID:
    """tau = kp e + kd ė + ki ∫e, beside the torque that holds the arm as the controller believes it to be."""

    def __init__(self, robot, target):
        self.robot, self.target, self.sum, self.calls = robot, target, np.zeros(robot.nv), 0
        self.most = np.concatenate([joint.effort_limit for joint in robot.joints])

    def __call__(self, t, q, v):
        error = self.target - q
        self.sum += PERIOD * error
        self.calls += 1
        tau = self.robot.gravity(q) + 400.0 * error - 30.0 * v + 800.0 * self.sum
        return np.clip(tau, -self.most, self.most)


arm = load("2r")
loaded = arm.edit().payload(0.5, frame="tool").done()  # half a kilogram that the controller does not know of
target = np.array([0.6, -0.4])

controller = PID(arm, target)
run = loaded.simulate([0.0, 0.0], [0.0, 0.0], 4.0, torque=Sampled(controller, PERIOD, delay=PERIOD))
off = np.abs(run.q[-1] - target).max()
print(f"{controller.calls} samples; {1000 * off:.3f} mrad from the target after {run.t[-1]:g} s")
print(run.audit())
assert controller.calls == 4000
assert off < 1e-4  # the integral has learnt the weight
assert run.audit().relative < 1e-6
