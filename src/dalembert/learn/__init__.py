"""Learning environments: a robot, observations, rewards and what differs between episodes, as one compiled program.

Read in this order: `draws` (what is drawn) and `dalembert.study.distributions.stream` (from which numbers); `state`
(what functions of the state see), `calling` (their errors); `actions`, `sensors`, `observing`, `feet`, `events`,
`starts`, `terrains`, `randomization`; `physics` and `stepping`, the traced step and reset; `environment`;
`vector`, `single`, `spaces`, `arrays` and `explain`, what users hold; `ppo` and `tasks`,
training; `adapters`, other libraries; `contract`, `playing` and `twin`, trained policies.
"""

from dalembert.study.distributions import (
    choice,
    lognormal,
    loguniform,
    normal,
    triangular,
    uniform,
)

from .actions import DCMotor, JointTargets, Torques
from .adapters import rsl_rl, sb3, skrl, torchrl
from .contract import contract_of, save_contract, save_policy
from .draws import Draw, add, fixed, once, redrawn, scale
from .environment import Environment
from .events import push
from .observing import observed
from .playing import Played, play, replay
from .ppo import PPO, Policy, train
from .sensors import (
    frame_orientation,
    frame_position,
    frame_velocity,
    height_scan,
    imu,
    joint_encoders,
    scan_grid,
)
from .starts import states
from .state import Foot, State
from .tasks import TASKS, Task, task
from .terrains import Terrains, terrains
from .twin import Twin, mujoco_twin

__all__ = [
    "PPO",
    "TASKS",
    "DCMotor",
    "Draw",
    "Environment",
    "Foot",
    "JointTargets",
    "Played",
    "Policy",
    "State",
    "Task",
    "Terrains",
    "Torques",
    "Twin",
    "add",
    "choice",
    "contract_of",
    "fixed",
    "frame_orientation",
    "frame_position",
    "frame_velocity",
    "height_scan",
    "imu",
    "joint_encoders",
    "lognormal",
    "loguniform",
    "mujoco_twin",
    "normal",
    "observed",
    "once",
    "play",
    "push",
    "redrawn",
    "replay",
    "rsl_rl",
    "save_contract",
    "save_policy",
    "sb3",
    "scale",
    "scan_grid",
    "skrl",
    "states",
    "task",
    "terrains",
    "torchrl",
    "train",
    "triangular",
    "uniform",
]
