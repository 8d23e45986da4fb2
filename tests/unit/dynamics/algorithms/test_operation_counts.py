"""Operation counts: what a traced algorithm costs is part of its contract."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms as alg
from dalembert.model import ModelBuilder

# joint: origin, roll-pitch-yaw in quarter turns, axis; link: mass, centre of mass, principal moments. UR5, rounded.
LINKS = [
    ((0, 0, 0.0892), (0, 0, 0), (0, 0, 1), 3.7, (0, 0, 0), (0.0103, 0.0103, 0.0067)),
    ((0, 0.1358, 0), (0, 1, 0), (0, 1, 0), 8.393, (0, 0, 0.28), (0.2269, 0.2269, 0.0151)),
    ((0, -0.1197, 0.425), (0, 0, 0), (0, 1, 0), 2.275, (0, 0, 0.25), (0.0494, 0.0494, 0.0041)),
    ((0, 0, 0.3922), (0, 1, 0), (0, 1, 0), 1.219, (0, 0, 0), (0.1112, 0.1112, 0.2194)),
    ((0, 0.093, 0), (0, 0, 0), (0, 0, 1), 1.219, (0, 0, 0), (0.1112, 0.1112, 0.2194)),
    ((0, 0, 0.0946), (0, 0, 0), (0, 1, 0), 0.1879, (0, 0, 0), (0.0171, 0.0171, 0.0338)),
]


def arm(**effects):
    builder = ModelBuilder("six-axis arm")
    parent = "world"
    for i, (xyz, turns, axis, mass, com, moments) in enumerate(LINKS):
        rpy = np.pi / 2 * np.array(turns)
        builder.add_body(
            f"link{i}", parent=parent, joint="revolute", xyz=xyz, rpy=rpy, axis=axis, mass=mass, com=com,
            inertia=np.diag(moments), **effects,
        )  # fmt: skip
        parent = f"link{i}"
    return builder.model()


def operations(f, model, *sizes):
    names = [f"x{i}" for i in range(len(sizes))]
    return sum(trace(lambda *x: f(model, *x), dict(zip(names, sizes, strict=True))).operations().values())


@pytest.mark.parametrize(
    "f, vectors, most",
    [
        (alg.rnea, 3, 325),
        (alg.velocity_product_force, 3, 370),
        (alg.forward_dynamics, 3, 585),
        (alg.aba, 3, 640),
        (alg.mass_matrix, 1, 190),
        (alg.inverse_mass_matrix, 1, 730),
        (alg.gravity, 1, 60),
        (alg.reaction_wrenches, 3, 425),
        (alg.centroidal_momentum, 2, 260),
        (alg.centroidal_momentum_matrix, 1, 350),
        (alg.centroidal_momentum_rate, 3, 395),
        (alg.composite_inertia, 1, 190),
        (alg.torque_regressor, 3, 850),
        (alg.momentum_regressor, 2, 530),
        (alg.energy_regressor, 2, 270),
    ],
)
def test_operations_of_a_six_axis_arm(f, vectors, most):
    assert operations(f, arm(), *[6] * vectors) <= most


def test_effects_cost_what_they_add_and_nothing_when_zero():
    plain = operations(alg.rnea, arm(), 6, 6, 6)
    assert operations(alg.rnea, arm(damping=0.0, friction=0.0, stiffness=0.0, armature=0.0), 6, 6, 6) == plain
    assert operations(alg.rnea, arm(damping=0.5), 6, 6, 6) == plain + 12
    assert operations(alg.rnea, arm(armature=0.5), 6, 6, 6) == plain + 12


def test_massless_bodies_cost_nothing_but_their_joint():
    def chain(n):
        builder = ModelBuilder("chain")
        builder.add_body("arm", parent="world", joint="revolute", mass=1.0, com=(0.1, 0, 0))
        for i in range(n):
            builder.add_body(f"ghost{i}", parent="arm", joint="revolute", axis=(1, 0, 0), xyz=(0.1, 0.2, 0.3))
        return builder.model()

    assert operations(alg.rnea, chain(3), 4, 4, 4) == operations(alg.rnea, chain(0), 1, 1, 1)


def test_kinematics_visits_only_the_bodies_that_carry_the_frame():
    """A second arm on the same base adds nothing to the first one's kinematics."""
    one, builder = arm(), ModelBuilder("two arms")
    for side in ("left", "right"):
        parent = "world"
        for i, (xyz, turns, axis, *_) in enumerate(LINKS):
            rpy = np.pi / 2 * np.array(turns)
            builder.add_body(f"{side}{i}", parent=parent, joint="revolute", xyz=xyz, rpy=rpy, axis=axis)
            parent = f"{side}{i}"
    two = builder.model()
    for f, vectors in ((alg.frame_pose, 0), (alg.velocity, 1), (alg.acceleration, 2), (alg.jacobian, 0)):

        def of(model, frame, *x, f=f):
            result = f(model, *x, model.frame(frame))
            return result.matrix() if f is alg.frame_pose else result

        for frame in ("left5", "right5"):
            taken = operations(lambda m, *x, frame=frame, of=of: of(m, frame, *x), two, *[12] * (vectors + 1))
            assert taken == operations(lambda m, *x, of=of: of(m, "link5", *x), one, *[6] * (vectors + 1))
