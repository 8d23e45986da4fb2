"""A world like the simulator's own demonstration: every joint type on one heavy floating base, SDF 1.6."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics import algorithms
from dalembert.formats import read_sdf
from dalembert.model import Model
from formats.sdf.oracle import Mass, gravity, mass_matrix, placed, rotation, translation
from formats.sdf.snippets import axis, joint, link, pose, world
from tolerances import RECURSION, assert_close

BASE = Mass(100.0, np.zeros(3), np.diag([8.4, 40.4, 48.6]))
ARM = Mass(1.0, np.array([0.02, -0.1, 0.03]), np.diag([0.006, 0.0017, 0.006]))
DISC = Mass(0.1, np.zeros(3), np.diag([0.0003, 0.0003, 0.0005]))
X, Y, Z = np.eye(3)
TWO = axis(X) + axis(Y, tag="axis2")
STAND, TOP = [0, 0, 0.35, 0, 0, 0], [0.11, -0.075, 0.55, 0, 0, 0]
GEAR = "<gearbox_reference_body>gear_stand</gearbox_reference_body><gearbox_ratio>5</gearbox_ratio>"
SPRING = (
    "<dynamics><spring_stiffness>100</spring_stiffness></dynamics>"
    "<limit><lower>-0.25</lower><upper>1e16</upper></limit>"
)

# name: type, what is in <joint>, its pose in the child, the motion in the joint frame
JOINTS = {
    "hinge": ("revolute", axis(X), [0, 0.075, 0, 0, 0, 0], lambda q: rotation(X, q[0])),
    "two": ("revolute2", TWO, [0, 0, -0.075, 0, 0, 0], lambda q: rotation(X, q[0]) @ rotation(Y, q[1])),
    "slide": ("prismatic", axis(Z, SPRING), [0, 0, 0, 0, 0, 0], lambda q: translation(Z * q[0])),
    "screw": (
        "screw",
        axis(Z) + "<thread_pitch>20</thread_pitch>",
        [0, 0, 0, 0, 0, 0],
        lambda q: rotation(Z, q[0]) @ translation(-Z * q[0] / 20),
    ),
    "cardan": ("universal", TWO, [0, 0, -0.075, 0, 0, 0], lambda q: rotation(X, q[0]) @ rotation(Y, q[1])),
    "wheel": ("continuous", axis(Y), [0, 0.075, 0, 0, 0, 0], lambda q: rotation(Y, q[0])),
}


def shifted(x: list[float], k: int) -> list[float]:
    return [x[0] + 0.25 * k, *x[1:]]


def text() -> str:
    inside = '<model name="ground"><static>true</static><link name="link"/></model><model name="demo">'
    inside += link("heavy_base", BASE, [0, 0, 0.05, 0, 0, 0])
    for k, (name, (kind, axes, at, _)) in enumerate(JOINTS.items()):
        inside += link(f"{name}_stand", ARM, shifted(STAND, k)) + joint(
            f"{name}_hold", "fixed", "heavy_base", f"{name}_stand"
        )
        inside += link(f"{name}_arm", ARM, shifted(TOP, k)) + joint(
            name, kind, f"{name}_stand", f"{name}_arm", axes + pose(at)
        )
    inside += link("ball_arm", ARM, [3, 0, 0.35, 0, 0, 0]) + joint("ball", "ball", "heavy_base", "ball_arm")
    inside += link("gear_stand", ARM, [4, 0, 0.35, 0, 0, 0]) + joint("gear_hold", "fixed", "heavy_base", "gear_stand")
    inside += link("gear_in", ARM, [4.1, -0.075, 0.55, 0, 0, 0])
    inside += link("gear_out", DISC, [4.2, 0, 0.55, 0, 1.5708, 0])
    inside += joint("gear_in_hinge", "revolute", "gear_stand", "gear_in", axis(X) + pose([0, 0.075, 0, 0, 0, 0]))
    inside += joint("gear_out_hinge", "revolute", "gear_stand", "gear_out", axis(Z))
    inside += joint("gearbox", "gearbox", "gear_in", "gear_out", GEAR + axis(Z) + axis(Z, tag="axis2"))
    return world(inside + "</model>", "1.6")


@pytest.fixture(scope="module")
def made() -> Model:
    return read_sdf(text(), base="fixed")[0]


def test_the_whole_world() -> None:
    model, log = read_sdf(text(), strict=True)
    assert [model.name, model.gravity.tolist(), model.bodies[0].joint.kind] == ["demo", [0, 0, -9.8], "free"]
    kinds = {body.joint.name: body.joint.kind for body in model.bodies[1:]}
    assert kinds == {
        "hinge": "revolute", "two": "universal", "slide": "prismatic", "screw": "screw", "cardan": "universal",
        "wheel": "continuous", "ball": "ball", "gear_in_hinge": "revolute", "gear_out_hinge": "revolute",
    }  # fmt: skip
    assert model.nv == 6 + 8 + 3 + 1
    assert any("q('gear_out_hinge') = -5·q('gear_in_hinge')" in finding.action for finding in log)
    assert_close(model.bodies[0].inertia.mass, 100 + 7.0, RECURSION)


@pytest.mark.parametrize("name", JOINTS)
def test_each_arm(made: Model, name: str) -> None:
    """M and g of one arm, the others at rest, from the definition of its joint."""
    k = list(JOINTS).index(name)
    _, _, at, motion = JOINTS[name]
    slot = made.joint(name).q
    rng = np.random.default_rng(k)
    q = np.zeros(made.nq)
    q[made.joint("ball").q] = 1, 0, 0, 0
    q[slot] = rng.normal(size=slot.stop - slot.start)
    arm = placed(shifted(TOP, k))
    J = arm @ placed(at)

    def poses(d: np.ndarray) -> dict[str, np.ndarray]:
        return {"arm": J @ motion(q[slot] + d) @ np.linalg.inv(J) @ arm}

    v, nv = made.joint(name).v, slot.stop - slot.start
    assert_close(
        algorithms.frame_pose(made, q, made.frame(f"{name}_arm")).matrix(), poses(np.zeros(nv))["arm"], RECURSION
    )
    assert_close(algorithms.mass_matrix(made, q)[v, v], mass_matrix(poses, {"arm": ARM}, nv), RECURSION)
    g = gravity(poses, {"arm": ARM}, nv, np.array([0, 0, -9.8]))
    spring = 100.0 * q[slot] if name == "slide" else 0.0
    assert_close(algorithms.rnea(made, q, np.zeros(made.nv), np.zeros(made.nv))[v], g + spring, RECURSION)


def test_the_gears(made: Model) -> None:
    v = made.joint("gear_in_hinge").v
    q = np.asarray(algorithms.neutral(made), float)
    I = ARM.inertia[0, 0] + (ARM.com[1] - 0.075) ** 2 + ARM.com[2] ** 2  # about the hinge, 1 kg
    assert_close(algorithms.mass_matrix(made, q)[v, v], [[I + 25 * 0.0005]], RECURSION)
