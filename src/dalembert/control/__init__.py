"""Control: laws (t, q, v) → tau that trace into compiled simulations, estimators, and the whole-body program."""

from .audit import ControlAudit, audit
from .gains import Gains
from .laws.additions import dither, limit_buffer, within_limits
from .laws.energy import EnergyShaping, energy_shaping, region_of_attraction
from .laws.joint import (
    ComputedTorque,
    Feedforward,
    GravityPD,
    Passivity,
    computed_torque,
    feedforward,
    gravity_pd,
    passivity,
)
from .laws.law import Law
from .laws.linear import LinearQuadratic, lqr, riccati
from .laws.sampled import PID, encoders, pid
from .laws.task import Impedance, OperationalSpace, ResolvedRate, impedance, operational_space, resolved_rate
from .program.kinematics import InverseKinematics, inverse_kinematics
from .program.supports import Support
from .program.tasks import CentreOfMass, Force, Frame, Momentum, Posture, Task
from .program.whole_body import Tick, WholeBody, whole_body

__all__ = [
    "PID",
    "CentreOfMass",
    "ComputedTorque",
    "ControlAudit",
    "EnergyShaping",
    "Feedforward",
    "Force",
    "Frame",
    "Gains",
    "GravityPD",
    "Impedance",
    "InverseKinematics",
    "Law",
    "LinearQuadratic",
    "Momentum",
    "OperationalSpace",
    "Passivity",
    "Posture",
    "ResolvedRate",
    "Support",
    "Task",
    "Tick",
    "WholeBody",
    "audit",
    "computed_torque",
    "dither",
    "encoders",
    "energy_shaping",
    "feedforward",
    "gravity_pd",
    "impedance",
    "inverse_kinematics",
    "limit_buffer",
    "lqr",
    "operational_space",
    "passivity",
    "pid",
    "region_of_attraction",
    "resolved_rate",
    "riccati",
    "whole_body",
    "within_limits",
]
