"""Contact whose phases the plan finds itself."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Sampled
from dalembert.model.geometry import Sphere
from tolerances import REACHED

STIFFNESS, RADIUS, STEP, NODES, APEX = 5e3, 0.02, 0.005, 120, 60
GROUND = Contact(
    model="compliant", stiffness=STIFFNESS, damping=1.0, friction=0.8, slip_speed=0.2, pairs=[("foot", "ground")]
)


def leg():
    builder = ModelBuilder("leg", gravity=(0, 0, -9.81))
    builder.add_body("slide", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1e-3)
    builder.add_body("trunk", parent="slide", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=4.0)
    rod = {"mass": 0.3, "com": (0, 0, -0.15), "inertia": np.diag([0.003, 0.003, 0.0005]), "axis": (0, 1, 0)}
    builder.add_body("thigh", parent="trunk", joint="revolute", joint_name="hip", **rod)
    builder.add_body("shank", parent="thigh", joint="revolute", joint_name="knee", xyz=(0, 0, -0.3), **rod)
    builder.add_geometry(Sphere(RADIUS), body="shank", xyz=(0, 0, -0.3), role="collision", name="foot")
    builder.add_frame("sole", body="shank", xyz=(0, 0, -0.3))
    return builder.build()


def test_a_leg_hops_without_being_told_when():
    robot = leg()
    stands = np.array([0.0, 0.0, 0.6, -1.2])
    stands[:2] = -robot.pose(stands, "sole")[[0, 2], 3]
    stands[1] += RADIUS - robot.total_mass * 9.81 / STIFFNESS
    high = 0.15

    def running(q, v, u, aim):
        posture = q[2:] - stands[2:]
        rise = q[1] - stands[1] - high
        return {"posture": (1.0, posture), "speed": (1e-2, v), "effort": (1e-3, u), "high": (1e4 * aim[0], rise)}

    problem = robot.optimal_control(
        running,
        lambda q, v: {"stands": (1e2, q - stands), "rest": (1.0, v)},
        step=STEP,
        nodes=NODES,
        motors=("hip", "knee"),
        aim=1,
        contact=GROUND,
        limits={"torque": 60.0},
    )
    aim = np.zeros((NODES + 1, 1))
    aim[APEX] = 1.0
    plan = problem.solve(stands, aim=aim)
    assert plan.converged
    sole = np.array([robot.pose(q, "sole")[2, 3] for q in plan.q]) - RADIUS
    assert sole[0] < 0.0 and sole[-1] < REACHED and sole.max() > 0.05  # stands, flies, stands
    assert plan.q[APEX, 1] - stands[1] > 0.1
    held = Sampled(lambda t, q, v: plan.tau[min(int(t / STEP + 1e-9), NODES - 1)], STEP)
    run = robot.simulate(stands, np.zeros(4), APEX * STEP, torque=held, contact=GROUND)
    assert abs(run.q[-1, 1] - plan.q[APEX, 1]) < 0.02  # as a finer simulation has it


def test_rigid_contact_is_refused():
    for contact, words in ((Contact(), "compliant"), ("floor", "Contact")):
        with pytest.raises(DalembertError, match=words):
            leg().optimal_control(lambda q, v, u: {"effort": (1.0, u)}, step=STEP, nodes=5, contact=contact)
    with pytest.raises(DalembertError, match="contacts"):
        leg().optimal_control(
            lambda q, v, u: {"effort": (1.0, u)}, step=STEP, nodes=5, contact=GROUND, contacts=("sole",)
        )
