"""Rigid-body algorithms, one per file: plain functions of a model and one state.

They work on numbers and on traced scalars alike, and never ask what kind a joint is.

In: a `Model` and one state. Out: arrays. Read in this order: `kinematics`, `sweep`, from root to tips and back; `rnea`,
`crba`, `aba`, the three recursions; `derivatives`; then the one you need.
"""

from .aba import aba
from .actuation import ServoStep, actuator_forces, servo_step, transmission
from .center_of_mass import center_of_mass, total_mass
from .centroid import centroidal_momentum, centroidal_momentum_matrix, centroidal_momentum_rate, composite_inertia
from .closing import rows_repeat
from .configuration import (
    along_velocities,
    coordinate_rate,
    difference,
    displacement_rate,
    integrate,
    interpolate,
    neutral,
    normalize,
    random,
)
from .constrained_mass import ConstrainedMass
from .constraints import Constraints, constraint_count, constraints
from .coriolis_matrix import coriolis_matrix
from .crba import mass_matrix
from .derivatives import forward_dynamics_derivatives, gravity_derivatives, inverse_dynamics_derivatives
from .energy import energy, kinetic_energy, potential_energy
from .exponential import matrix_exponential
from .external import Load, body_loads
from .forward_dynamics import forward_dynamics
from .generalized_newton_euler import equations, generalized_newton_euler
from .hybrid import hybrid_dynamics
from .inverse_kinematics import Bounds, error_weights, inverse_kinematics, reach
from .inverse_mass import inverse_mass_matrix, inverse_mass_product
from .jacobian import jacobian, jacobian_rate
from .kinematics import acceleration, frame_pose, poses, velocity
from .loops import closure_loads, closure_wrenches, loop_dynamics, loop_inverse_dynamics, mobility, shared_efforts
from .operational import Task, null_space, operational_dynamics, operational_inertia
from .reactions import reaction_wrenches
from .regressor import energy_regressor, momentum_regressor, torque_regressor
from .rnea import bias, gravity, rnea
from .velocity_product import velocity_product_force
from .zero_moment_point import zero_moment_point

__all__ = [
    "Bounds",
    "ConstrainedMass",
    "Constraints",
    "Load",
    "ServoStep",
    "Task",
    "aba",
    "acceleration",
    "actuator_forces",
    "along_velocities",
    "bias",
    "body_loads",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_rate",
    "closure_loads",
    "closure_wrenches",
    "composite_inertia",
    "constraint_count",
    "constraints",
    "coordinate_rate",
    "coriolis_matrix",
    "difference",
    "displacement_rate",
    "energy",
    "energy_regressor",
    "equations",
    "error_weights",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_pose",
    "generalized_newton_euler",
    "gravity",
    "gravity_derivatives",
    "hybrid_dynamics",
    "integrate",
    "interpolate",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "inverse_mass_matrix",
    "inverse_mass_product",
    "jacobian",
    "jacobian_rate",
    "kinetic_energy",
    "loop_dynamics",
    "loop_inverse_dynamics",
    "mass_matrix",
    "matrix_exponential",
    "mobility",
    "momentum_regressor",
    "neutral",
    "normalize",
    "null_space",
    "operational_dynamics",
    "operational_inertia",
    "poses",
    "potential_energy",
    "random",
    "reach",
    "reaction_wrenches",
    "rnea",
    "rows_repeat",
    "servo_step",
    "shared_efforts",
    "torque_regressor",
    "total_mass",
    "transmission",
    "velocity",
    "velocity_product_force",
    "zero_moment_point",
]
