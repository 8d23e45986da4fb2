"""Logs of robots that are known: exact torques, or with the noise of encoders and sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert import Robot, identify


@dataclass
class SimulatedLog:
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def with_friction(robot: Robot, coulomb: float = 2.0, viscous: float = 1.0, rotor: float = 0.0) -> Robot:
    editor = robot.edit()
    for joint in robot.joints:
        editor = editor.set_joint(joint.name, friction=coulomb, damping=viscous, armature=rotor)
    return editor.done()


def log_of(robot: Robot, motion: identify.Excitation, noise: float = 0.0, seed: int = 0) -> SimulatedLog:
    """Torques of the robot along a motion, with white noise [N·m]."""
    tau = robot.inverse_dynamics(motion.q, motion.v, motion.a)
    tau = tau + np.random.default_rng(seed).normal(0.0, 1.0, tau.shape) * noise
    return SimulatedLog(motion.t, motion.q, motion.v, motion.a, tau)
