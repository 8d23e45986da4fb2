"""Learning environments: a robot, observations, rewards and what differs between episodes, as one compiled program.

Read in this order: `draws` (what is drawn) and `dalembert.distributions.stream` (from which numbers); `state` (what
functions of the state see), `calling` (their errors); `actions`, `sensors`, `observing`, `feet`, `events`, `starts`,
`terrains`, `randomization`; `physics` and `stepping`, the traced step and reset, whose memory `layout` divides;
`environment`; `vector`, `single`, `spaces`, `arrays` and `explain`, what users hold; `ppo` and `tasks`, training.
"""

from dalembert.distributions import (
    choice,
    lognormal,
    loguniform,
    normal,
    triangular,
    uniform,
)

from .actions import DCMotor, JointTargets, Torques
from .draws import Draw, add, fixed, once, redrawn, scale
from .environment import Environment
from .events import push
from .observing import observed
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
from .terrains import Terrains, terrains

__all__ = [
    "DCMotor",
    "Draw",
    "Environment",
    "Foot",
    "JointTargets",
    "State",
    "Terrains",
    "Torques",
    "add",
    "choice",
    "fixed",
    "frame_orientation",
    "frame_position",
    "frame_velocity",
    "height_scan",
    "imu",
    "joint_encoders",
    "lognormal",
    "loguniform",
    "normal",
    "observed",
    "once",
    "push",
    "redrawn",
    "scale",
    "scan_grid",
    "states",
    "terrains",
    "triangular",
    "uniform",
]
