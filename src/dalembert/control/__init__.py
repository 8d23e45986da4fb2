"""Control: laws (t, q, v) → tau that trace into compiled simulations, estimators, and the whole-body program.

In: a `Robot` and a goal. Out: a law, or `Sampled` that keeps a state. Read in this order: `reference`, goals as
motions; `gains`; `laws/law` and `laws/joint`, then the other laws; `program`, tasks and supports as a quadratic
program; `legs`; `kalman`, `observer`, `base_state`, estimators; `audit`.
"""

from typing import Any

from . import gait, observer
from .audit import ControlAudit, audit
from .balance import Balance, balance
from .base_state import BaseEstimate, BaseState, Noise, base_state
from .centroidal import Centroidal, ForcePlan, centroidal
from .gains import Gains
from .kalman import Estimate, KalmanFilter, kalman
from .laws.additions import before_gears, dither, gear_losses, limit_buffer, within_limits
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
from .legs import Legs, Rates, Weights, legs
from .odometry import Sensors
from .policies import Contract, Network, Observed, Policy, network, policy
from .program.assembly import Support
from .program.kinematics import InverseKinematics, inverse_kinematics
from .program.limits import Bounded, CollisionAvoidance, JointLimit, Limit, Region
from .program.tasks import CenterOfMass, Force, Frame, Manipulability, Momentum, Posture, Situation, Task, Wanted
from .program.whole_body import Tick, WholeBody, whole_body
from .quadrotor import Quadrotor, RotorLag, quadrotor, rotor_lag
from .safety import BODY_PARTS, BodyPart, Collision, collision

__all__ = [
    "BODY_PARTS", "PID", "Balance", "BaseEstimate", "BaseState", "BodyPart", "Bounded", "CenterOfMass", "Centroidal",
    "Collision", "CollisionAvoidance", "ComputedTorque", "Contract", "ControlAudit", "EnergyShaping", "Estimate",
    "Feedforward", "Force", "ForcePlan", "Frame", "Gains", "GravityPD", "Impedance", "InverseKinematics", "JointLimit",
    "KalmanFilter", "Law", "Legs", "Limit", "LinearQuadratic", "Manipulability", "Momentum", "Network", "Noise",
    "Observed", "OperationalSpace", "Passivity", "Policy", "Posture", "Quadrotor", "Rates", "Region", "ResolvedRate",
    "RotorLag", "Sensors", "Situation", "Support", "Task", "Tick", "Wanted", "Weights", "WholeBody", "audit",
    "balance", "base_state", "before_gears", "centroidal", "collision", "computed_torque", "dither", "encoders",
    "energy_shaping", "feedforward", "gait", "gear_losses", "gravity_pd", "impedance", "inverse_kinematics", "kalman",
    "legs", "limit_buffer", "lqr", "network", "observer", "operational_space", "passivity", "pid", "policy",
    "quadrotor", "region_of_attraction", "resolved_rate", "riccati", "rotor_lag", "whole_body", "within_limits",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "CentreOfMass":
        raise AttributeError("control.CentreOfMass is called CenterOfMass now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
