"""Identification: from a robot's log to a model that is right and physically possible.

In: a `Robot` and logs. Out: parameters that explain them and can exist, with their doubt. Read in this order:
`columns`, the linear model; `base`, what can be told apart; `compression`, rows to a triangle; `fit` and `physical`,
the estimates; `excitation` and `optimum`, motions that show most; `payload`, `gains`, `delays`, `friction`.
"""

from dalembert.logs import JointSensors, MotorSide

from .base import BaseParameters, base_parameters
from .checks import LogError
from .chosen import ChosenFit
from .delays import Delays, delays
from .excitation import Excitation, ExcitationSettings, excitation
from .fit import fit
from .fitted import Fit
from .friction import FrictionSweep, JointFriction, friction_sweep
from .gains import DriveGains, drive_gains
from .payload import Payload, payload
from .read import check_torques, read_log, read_motion
from .signals import Doubt
from .validation import Validation

__all__ = [
    "BaseParameters", "ChosenFit", "Delays", "Doubt", "DriveGains", "Excitation", "ExcitationSettings", "Fit",
    "FrictionSweep", "JointFriction", "JointSensors", "LogError", "MotorSide", "Payload", "Validation",
    "base_parameters", "check_torques", "delays", "drive_gains", "excitation", "fit", "friction_sweep", "payload",
    "read_log", "read_motion",
]  # fmt: skip
