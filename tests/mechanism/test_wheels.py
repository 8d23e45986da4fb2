"""Rolling wheels: Whipple's bicycle against published numbers, a disc against the closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Mechanism
from dalembert.mechanism import mechanism
from dalembert.mechanism.library import bicycle
from tolerances import COARSE_RUN, INTEGRATED, ITERATED


def published(speed: float) -> np.ndarray:
    """Eigenvalues of the benchmark's matrix of roll and steer: Meijaard et al. 2007."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2] = [9.48977444677355, -0.571523173729245 - 0.891197738059089 * speed**2, -0.105522449805691 * speed,
            -0.330515398992311 * speed]  # fmt: skip
    A[3] = [11.7194768719633, 30.9087533932407 - 1.97171508499972 * speed**2, 3.67680523332152 * speed,
            -3.08486552743311 * speed]  # fmt: skip
    return np.linalg.eigvals(A)


@pytest.fixture(scope="module")
def robot():
    return mechanism("bicycle").build()


def motion(robot, speed: float) -> tuple[np.ndarray, np.ndarray]:
    q, v = robot.start
    return q, v * speed / 5.0


@pytest.mark.parametrize("speed", [0.0, 3.0, 5.0, 8.0])
def test_the_bicycle_has_the_published_eigenvalues(robot, speed: float) -> None:
    found = robot.eigenvalues(*motion(robot, speed))
    assert len(found) == 10
    for value in published(speed):
        assert np.min(np.abs(found - value)) < INTEGRATED * (1.0 + abs(value))
    assert (
        np.sum(np.abs(found) < 10 * COARSE_RUN) == 6
    )  # where it is, where it goes, how far its wheels have turned, how fast


def test_the_bicycle_steers_itself_between_weave_and_capsize(robot) -> None:
    growth = {speed: robot.eigenvalues(*motion(robot, speed))[0].real for speed in (4.28, 4.30, 6.01, 6.03)}
    assert growth[4.28] > 1e-3 and growth[6.03] > 1e-5
    assert growth[4.30] < 10 * COARSE_RUN and growth[6.01] < 10 * COARSE_RUN


def test_wheels_and_joints_carry_free_bodies(robot) -> None:
    """No remark that they fall for want of a ground."""
    for free in (robot, mechanism("pendulum").build("free")):
        assert not [line for line in free.simulate(*free.start, 0.01).log if "hold the base up" in line]


def test_a_pushed_bicycle_rights_itself() -> None:
    robot = bicycle(5.0).build()
    q, v = robot.start
    pushed = v.copy()
    pushed[robot.joint("frame.free").v.start] += 0.05  # it leans over at 0.05 rad/s
    v0 = robot.rollout(q, pushed, step=1e-6, steps=1, integrator="semi-implicit").v  # rolling again
    run = robot.simulate(q, v0, 3.0, integrator="rk4", step=2e-3, record=0.1)
    steer = run.q[:, robot.joint("steer").q][:, 0]
    assert np.max(np.abs(steer)) > 1e-3 and abs(steer[-1]) < 0.2 * np.max(np.abs(steer))
    assert np.max(np.abs(run.energy.residual)) < COARSE_RUN * run.energy.kinetic[0]


def test_a_disc_rolls_down_a_slope_at_two_thirds_of_the_fall() -> None:
    slope = 0.3
    m = Mechanism("disc", gravity=(9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)))
    m.body("disc", 2.0, [0.01, 0.02, 0.01], xyz=(0, 0, 0.1))  # ½ m r² about its axle
    m.wheel("disc.origin", 0.1414213562373095, level=0.1 - 0.1414213562373095)
    robot = m.build()
    end = robot.rollout(*robot.start, step=1e-3, steps=500, integrator="rk4")
    assert end.q[0] == pytest.approx(0.5 * (2.0 / 3.0) * 9.81 * np.sin(slope) * 0.5**2, rel=INTEGRATED)
    assert end.q[2] == pytest.approx(0.1, abs=ITERATED)


def test_what_cannot_roll_says_so(robot) -> None:
    q, v = robot.start
    with pytest.raises(DalembertError, match=r"'rear contact' of mechanism 'bicycle' holds its motion"):
        robot.modes(q)
    with pytest.raises(DalembertError, match=r"open by .* and slip at 0\.9"):
        robot.eigenvalues(q, np.concatenate([v[:3], [v[3] + 1.0], v[4:]]))
    m = Mechanism("disc").body("disc", 2.0, [0.01, 0.02, 0.01], xyz=(0, 0, 0.2)).wheel("disc.origin", 0.1, name="rim")
    with pytest.raises(DalembertError, match=r"wheel 'rim' is 0\.1 m above the ground: place its body"):
        m.build()
    m = Mechanism("disc").body("disc", 2.0, [0.01, 0.02, 0.01], xyz=(0, 0, 0.1), velocity=(1, 0, 0))
    with pytest.raises(DalembertError, match="wheel 'rim' slips at 1 m/s"):
        m.wheel("disc.origin", 0.1, name="rim").build()
    free = mechanism("bicycle").build("free")
    with pytest.raises(DalembertError, match="'rear contact' holds the motion by conditions of its own"):
        free.rollout(*free.start, integrator="leapfrog")
