"""Control: laws (t, q, v) → tau that trace into compiled simulations, estimators, and the whole-body program."""

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
from .quadrotor import Quadrotor, RotorLag, quadrotor, rotor_lag

__all__ = [
    "PID",
    "ComputedTorque",
    "EnergyShaping",
    "Feedforward",
    "Gains",
    "GravityPD",
    "Impedance",
    "Law",
    "LinearQuadratic",
    "OperationalSpace",
    "Passivity",
    "Quadrotor",
    "ResolvedRate",
    "RotorLag",
    "computed_torque",
    "dither",
    "encoders",
    "energy_shaping",
    "feedforward",
    "gravity_pd",
    "impedance",
    "limit_buffer",
    "lqr",
    "operational_space",
    "passivity",
    "pid",
    "quadrotor",
    "region_of_attraction",
    "resolved_rate",
    "riccati",
    "rotor_lag",
    "within_limits",
]
