"""Walking: legged robots that follow a commanded velocity, on level and rough ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.loading import load
from dalembert.math import exp
from dalembert.study.distributions import uniform

from ..actions import JointTargets
from ..draws import redrawn, scale
from ..environment import Environment
from ..events import push
from ..observing import observed
from ..ppo import PPO
from ..sensors import height_scan, scan_grid
from ..starts import Random
from ..terrains import terrains
from .task import Task, geared

SHANKS = ("FL_shank", "FR_shank", "RL_shank", "RR_shank")
SOLES = ("left_foot", "right_foot")


def _tracking(s: Any) -> Any:
    """Kernel of the error of the level velocity, in the axes of the base."""
    x, y = s.command["velocity"][0] - s.v[3], s.command["velocity"][1] - s.v[4]
    return exp(-4.0 * (x * x + y * y))


def _turning(s: Any) -> Any:
    """Kernel of the error of the rate of turning."""
    w = s.command["velocity"][2] - s.v[2]
    return exp(-4.0 * w * w)


def _rewards(air: float, air_weight: float) -> dict[str, Any]:
    """Terms that legged robots share; air [s]: the flight of a foot that is worth nothing, longer ones are good."""

    def flights(s: Any) -> Any:
        moves = s.command["velocity"] @ s.command["velocity"]
        return sum(f.landed * (f.air_time - air) for f in s.feet.values()) * (1.0 - exp(-25.0 * moves))

    return {
        "track": (2.0, _tracking),
        "turn": (1.0, _turning),
        "rise": (-1.0, lambda s: s.v[5] * s.v[5]),
        "roll": (-0.03, lambda s: s.v[0] * s.v[0] + s.v[1] * s.v[1]),
        "level": (-1.0, lambda s: s.down[0] * s.down[0] + s.down[1] * s.down[1]),
        "effort": (-1e-4, lambda s: s.tau @ s.tau),
        "accelerate": (-1e-7, lambda s: s.acceleration[6:] @ s.acceleration[6:]),
        "change": (-0.01, lambda s: (s.action - s.previous) @ (s.action - s.previous)),
        "flights": (air_weight, flights),
    }


def _observations(noise: float) -> dict[str, Any]:
    """Measurements of a legged robot, as in legged_gym: 48 numbers of a quadruped."""
    return {
        "base_lin_vel": observed(lambda s: s.v[3:6], scale=2.0, noise=0.1 * noise, unit="m/s"),
        "base_ang_vel": observed(lambda s: s.v[:3], scale=0.25, noise=0.2 * noise, unit="rad/s"),
        "projected_gravity": observed(lambda s: s.down, noise=0.05 * noise),
        "command": observed(lambda s: s.command["velocity"], scale=(2.0, 2.0, 0.25), unit="m/s, rad/s"),
        "joint_pos": observed(lambda s: s.joints, noise=0.01 * noise, unit="rad"),
        "joint_vel": observed(lambda s: s.joint_rates, scale=0.05, noise=1.5 * noise, unit="rad/s"),
        "actions": lambda s: s.action,
    }


def quadruped(rough: bool = False, **changes: Any) -> Environment:
    """Follow a velocity that is commanded anew every 5 to 10 s with the bundled quadruped, under pushes."""
    robot = load("quadruped")
    legs = np.array([0.0, 0.8, -1.6] * 4)

    def standing(random: Random) -> Any:
        q, v = np.zeros(19, object), np.zeros(18, object)
        q[:7] = [0.0, 0.0, 0.36 if rough else 0.33, 1.0, 0.0, 0.0, 0.0]
        q[7:], v[:6] = legs + random.uniform(-0.1, 0.1, 12), random.uniform(-0.3, 0.3, 6)
        return q, v

    observe, more = _observations(1.0), {}
    if rough:
        observe["scan"] = observed(lambda s: s.sensors["scan"] - 0.33, scale=3.0, noise=0.02, unit="m")
        more = {
            "sensors": {"scan": height_scan(scan_grid(1.0, 0.6, 0.2))},
            "terrain": terrains(levels=6, rough=0.08, slopes=0.3, stairs=0.12, spacing=0.1),
        }
    settings: dict[str, Any] = {
        "contact": Contact(friction=0.8) if rough else Contact(ground=0.0, friction=0.8),
        "step": 0.004, "substeps": 5, "episode": 20.0, "feet": SHANKS, "reset": standing,
        "action": JointTargets(scale=0.5, kp=40.0, kd=1.0),
        "command": {"velocity": redrawn(uniform((-1.0, -0.5, -1.0), (1.0, 0.5, 1.0)), every=(5, 10))},
        "observe": observe,
        "reward": _rewards(0.25, 5.0),
        "done": {"fell": lambda s: s.down[2] > -0.6, "sank": lambda s: s.poses[s.base].p[2] < -5.0},
        "randomize": {"contact_friction": uniform(0.5, 1.25), "inertia": scale(0.9, 1.1), "gains": scale(0.9, 1.1)},
        "events": [push(every=(7, 12), speed=(0.0, 0.5))],
    }  # fmt: skip
    return Environment(robot, **(settings | more | changes))


def biped() -> Environment:
    """Stand and walk with the bundled biped: the velocity is drawn, one in three commands is to stand."""
    robot = geared(load("biped"), 0.05)
    crouch = np.array([0.0, 0.0, -0.3, 0.6, -0.3, 0.0] * 2)

    def standing(random: Random) -> Any:
        q, v = np.zeros(19, object), np.zeros(18, object)
        q[:7] = [0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]
        q[7:], v[:6] = crouch + random.uniform(-0.03, 0.03, 12), random.uniform(-0.1, 0.1, 6)
        return q, v

    q = robot.neutral()
    q[7:] = crouch
    height = -min(robot.pose(q, name)[2, 3] for name in ("left_sole", "right_sole")) + 0.005
    rewards = _rewards(0.3, 5.0) | {
        "alive": (0.5, lambda s: 1.0),
        "effort": (-1e-6, lambda s: s.tau @ s.tau),
    }
    return Environment(
        robot, contact=Contact(ground=0.0, friction=0.9), step=0.004, substeps=5, episode=10.0, feet=SOLES,
        reset=standing, observe=_observations(0.5), reward=rewards,
        action=JointTargets(scale=0.4, clip=5.0, kp=200.0, kd=8.0),
        command={"velocity": uniform((-0.2, -0.1, -0.3), (0.6, 0.1, 0.3))},
        done={"fell": lambda s: s.down[2] > -0.7, "low": lambda s: s.q[2] < 0.6 * height},
    )  # fmt: skip


QUADRUPED = Task(
    "quadruped", "walk with a commanded velocity on level ground", quadruped,
    lambda: PPO(envs=1024, horizon=24, rate=1e-3, hidden=(128, 64, 32), spread=0.7, epochs=4), "track", 1.85,
)  # fmt: skip
QUADRUPED_ROUGH = Task(
    "quadruped_rough", "walk over rough ground, slopes and stairs", lambda: quadruped(rough=True),
    lambda: PPO(envs=1024, horizon=24, rate=1e-3, hidden=(256, 128, 64)), "track", 1.7,
)  # fmt: skip
BIPED = Task(
    "biped", "stand and walk with two legs", biped,
    lambda: PPO(envs=1024, horizon=24, rate=1e-3, hidden=(256, 128, 64)), "track", 1.7,
)  # fmt: skip
