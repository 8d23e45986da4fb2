"""A gait that repeats itself: free start, phases of free durations, impacts, the same state a stride on."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, optimal
from tolerances import OPTIMAL

PHASE = 12  # nodes of stance and of flight
DRIFT = 0.006  # [m] of a foot that stands, over steps of 30 ms of first order
STEEP = 0.05  # of gravity: the same steps in flight
OTHER = 0.1  # of the durations that the plan begins with
NODES, STRIDE, PERIOD, FRICTION = 2 * PHASE + 1, 0.3, 0.5, 0.6


def leg():
    builder = ModelBuilder("leg", gravity=(0, 0, -9.81))
    builder.add_body("slide", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1e-3)
    builder.add_body("trunk", parent="slide", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=4.0)
    rod = {"mass": 0.3, "com": (0, 0, -0.15), "inertia": np.diag([0.003, 0.003, 0.0005]), "axis": (0, 1, 0)}
    builder.add_body("thigh", parent="trunk", joint="revolute", joint_name="hip", **rod)
    builder.add_body("shank", parent="thigh", joint="revolute", joint_name="knee", xyz=(0, 0, -0.3), **rod)
    builder.add_frame("foot", body="shank", xyz=(0, 0, -0.3))
    robot, stands = builder.build(), np.array([0.0, 0.0, 0.6, -1.2])
    stands[:2] = -robot.pose(stands, "foot")[[0, 2], 3]
    return robot, stands


def hopping(robot, stands):
    def kept(q, v, u, force, stance, touch):
        f, height = force["foot"], robot.pose(q, "foot")[2, 3]
        rows = np.array([f[2], FRICTION * f[2] - f[0], FRICTION * f[2] + f[0]])
        above = (1.0 - stance[0]) * height + stance[0]
        return {"friction": stance[0] * rows + 1.0 - stance[0], "ground": optimal.Equal(touch * height), "air": above}

    def again(q, v, start_q, start_v, T):
        same = np.concatenate([q - start_q - np.array([STRIDE, 0.0, 0.0, 0.0]), v - start_v])
        at_origin, paced = optimal.Equal(start_q[:1]), optimal.Equal(T[0] + T[1] - PERIOD)
        return {"again": optimal.Equal(same), "origin": at_origin, "pace": paced, "ahead": T - 0.1}

    return robot.optimal_control(
        lambda q, v, u: {"effort": (1e-2, u), "posture": (1.0, q[2:] - stands[2:]), "rate": (1e-2, v[2:])},
        step=lambda T, phase: phase @ T / PHASE,
        nodes=NODES,
        motors=("hip", "knee"),
        contacts=("foot",),
        constraints=kept,
        impact=lambda q, v: {"soft": (1e-4, v)},
        terminal_constraints=again,
        free_start=True,
        unknowns=("T",),
        T=2,
        phase=2,
        touch=1,
    )


def test_a_leg_hops_on_and_on():
    robot, stands = leg()
    stance, impact, touch, phase = (np.zeros((NODES + 1, n)) for n in (1, 1, 1, 2))
    stance[:PHASE], stance[2 * PHASE :] = 1.0, 1.0
    impact[2 * PHASE], touch[[0, 2 * PHASE]] = 1.0, 1.0
    phase[:PHASE, 0], phase[PHASE:, 1] = 1.0, 1.0
    data = {"stance": stance, "impact": impact, "touch": touch, "phase": phase}
    plan = hopping(robot, stands).solve(stands, T=[0.25, 0.25], **data)
    assert plan.converged, plan.why
    duration = plan.unknowns["T"]
    assert duration.sum() == pytest.approx(PERIOD, abs=OPTIMAL) and duration.min() > 0.1
    assert not np.allclose(duration, 0.25, rtol=OTHER)  # chosen by the plan
    assert np.allclose(plan.q[-1] - plan.q[0], [STRIDE, 0, 0, 0], atol=OPTIMAL)
    assert np.allclose(plan.v[-1], plan.v[0], atol=OPTIMAL)
    foot = robot.pose(plan.q, "foot")[:, [0, 2], 3]
    assert np.allclose(foot[: PHASE + 1], foot[0], atol=DRIFT)  # stands where it landed
    assert np.all(foot[PHASE : 2 * PHASE, 1] > -OPTIMAL) and foot[:, 1].max() > 0.01
    flight = robot.center_of_mass_jacobian(plan.q[PHASE : 2 * PHASE]) @ plan.v[PHASE : 2 * PHASE, :, None]
    falls = np.diff(flight[:, 2, 0]) / plan.durations[PHASE : 2 * PHASE - 1]
    assert np.allclose(falls, -9.81, rtol=STEEP)  # nothing but gravity acts in the air
