"""Derivatives and Coriolis terms beside Pinocchio, on robots of example-robot-data, fixed and free."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot
from peers.example_robots import LARGE, folder, peer
from peers.pinocchio_twin import Twin
from peers.test_pinocchio import agree, bare, states
from peers.test_pinocchio_momentum import FILES
from tolerances import EPS

pin = peer("pinocchio")


def stacked(T: np.ndarray, matrices) -> np.ndarray:
    """Pinocchio's matrices in our coordinates; T is constant for the joints of these files."""
    return np.stack([T.T @ m @ T for m in matrices])


def agree_on_derivatives(robot: Robot, twin: Twin) -> None:
    for q, v, a in states(robot):
        T, theirs = twin.T(q), (twin.q(q), twin.T(q) @ v)
        inverse = pin.computeRNEADerivatives(twin.model, twin.data, *theirs, T @ a)
        agree(
            "inverse_dynamics_derivatives", np.stack(robot.inverse_dynamics_derivatives(q, v, a)), stacked(T, inverse)
        )
        C = T.T @ pin.computeCoriolisMatrix(twin.model, twin.data, *theirs) @ T
        agree("C v", robot.coriolis_matrix(q, v) @ v, C @ v, size=np.max(np.abs(C)))
        tau = robot.inverse_dynamics(q, v, a)
        forward = pin.computeABADerivatives(twin.model, twin.data, *theirs, T @ tau)
        condition = np.linalg.cond(robot.mass_matrix(q))
        for ours, other in zip(robot.forward_dynamics_derivatives(q, v, tau), stacked(T, forward), strict=True):
            error = np.max(np.abs(ours - other)) / np.max(np.abs(other))
            assert error <= max(1e-9, 64 * EPS * condition)


ARMS = ("baxter", "kinova", "panda", "tiago", "ur_description", "z1")


KEPT = "talos_data/robots/talos_reduced.urdf"  # of the large robots, whose derivatives take many seconds to compile
SLOW = {*LARGE, "baxter_description/urdf/baxter.urdf"} - {KEPT}
PARAMETERS = [pytest.param(f, marks=pytest.mark.long) if f in SLOW else f for f in FILES]


@pytest.mark.parametrize("file", PARAMETERS)
def test_derivatives_and_coriolis_terms(file):
    base = "fixed" if file.startswith(ARMS) else "free"
    robot = bare(folder() / file, base=base)
    agree_on_derivatives(robot, Twin((folder() / file).read_text(), robot, floating=base == "free"))
