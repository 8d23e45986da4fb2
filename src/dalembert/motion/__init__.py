"""Motions: where a robot is to be at every time, with analytic rates and limits that hold at every instant.

move = motion.quintic(q0, q1, duration=1.0)
move.q(t), move.v(t), move.a(t)

In: points and limits. Out: a `Motion`: q, v, a at any time. Read in this order: `motion`, what all of them answer;
`polynomials`, `moves`, `splines`, `fourier`; `frames`, paths of a tool; `time_optimal`; `check`.
"""

from .check import Check, Violation, check
from .files import from_samples, load
from .fourier import FourierMotion, Series, fourier
from .frames import FrameMotion, follow, poses, screw, slerp
from .motion import Motion, PolynomialMotion
from .moves import cubic, quintic, s_curve, trapezoid
from .online import online
from .polynomials import Extremes, Polynomials
from .quadrotor import Flight, FlightMotion, Rotors, fly, rotors
from .splines import minimum_snap, spline, via
from .time_optimal import Limits, path, time_optimal

__all__ = [
    "Check", "Extremes", "Flight", "FlightMotion", "FourierMotion", "FrameMotion", "Limits", "Motion",
    "PolynomialMotion", "Polynomials", "Rotors", "Series", "Violation", "check", "cubic", "fly", "follow", "fourier",
    "from_samples", "load", "minimum_snap", "online", "path", "poses", "quintic", "rotors", "s_curve", "screw",
    "slerp", "spline", "time_optimal", "trapezoid", "via",
]  # fmt: skip
