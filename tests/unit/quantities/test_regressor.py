"""Parameters of a robot: read, changed, checked; regressors and momentum over batches and in float32."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import ITERATED, RECURSION, RECURSION32, assert_close

ROBOT = load("panda")
RNG = np.random.default_rng(5)
Q, V, A = ROBOT.random(RNG, 6), RNG.normal(size=(6, ROBOT.nv)), RNG.normal(size=(6, ROBOT.nv))
BARE = ("friction", "damping", "armature", "springs")


def test_parameters_lie_body_after_body():
    pi = ROBOT.parameters().reshape(-1, 10)
    assert [row[0] for row in pi] == [body.mass for body in ROBOT.bodies]
    for row, body in zip(pi, ROBOT.bodies, strict=True):
        assert_close(row[1:4], body.mass * body.com, RECURSION)
    assert ROBOT.total_mass == pytest.approx(sum(body.mass for body in ROBOT.bodies))


def test_own_parameters_change_nothing():
    assert ROBOT.with_parameters(ROBOT.parameters()) == ROBOT


def test_other_parameters_change_the_inertia_and_nothing_else():
    pi = ROBOT.parameters()
    heavy = ROBOT.with_parameters(2.0 * pi)
    assert heavy != ROBOT
    assert np.array_equal(heavy.parameters(), 2.0 * pi)
    assert heavy.joints[0].name == ROBOT.joints[0].name
    assert heavy.import_log == ROBOT.import_log
    assert [f.name for f in heavy.frames] == [f.name for f in ROBOT.frames]
    bare, twice = ROBOT.without(*BARE), heavy.without(*BARE)
    assert_close(twice.inverse_dynamics(Q, V, A), 2.0 * bare.inverse_dynamics(Q, V, A), RECURSION)
    assert_close(
        heavy.inverse_dynamics(Q, V, A) - ROBOT.inverse_dynamics(Q, V, A), bare.inverse_dynamics(Q, V, A), ITERATED
    )


def test_parts_of_a_body_still_add_up():
    changed = ROBOT.with_parameters(ROBOT.parameters() + RNG.uniform(0.0, 0.1, 10 * len(ROBOT.bodies)))
    for body in changed.model.bodies:
        total = sum(part.inertia.transform(part.placement).parameters() for part in body.parts)
        assert_close(total, body.inertia.parameters(), RECURSION)


def test_impossible_bodies_are_taken_and_told():
    assert ROBOT.problems == ()
    pi = ROBOT.parameters()
    pi[10] = -1.0
    changed = ROBOT.with_parameters(pi)
    assert changed.bodies[1].mass == -1.0
    assert any(ROBOT.bodies[1].name in problem and "mass is negative" in problem for problem in changed.problems)


@pytest.mark.parametrize("shape", [(), (10,), (1, 90), (3, 100)])
def test_wrong_shapes_are_refused(shape):
    count = 10 * len(ROBOT.bodies)
    with pytest.raises(DalembertError, match=rf"expected \({count},\): ten for each"):
        ROBOT.with_parameters(np.ones(shape))


def test_what_is_no_number_is_refused():
    pi = ROBOT.parameters()
    pi[7] = np.nan
    with pytest.raises(DalembertError, match="number 7 is not finite"):
        ROBOT.with_parameters(pi)
    with pytest.raises(DalembertError, match=f"expected {pi.size} real numbers"):
        ROBOT.with_parameters(["a"] * pi.size)


@pytest.mark.parametrize(
    ("name", "inputs", "shape"),
    [
        ("regressor", (Q, V, A), (ROBOT.nv, 10 * len(ROBOT.bodies))),
        ("momentum_regressor", (Q, V), (ROBOT.nv, 10 * len(ROBOT.bodies))),
        ("energy_regressor", (Q, V), (10 * len(ROBOT.bodies),)),
        ("centroidal_momentum", (Q, V), (6,)),
        ("centroidal_momentum_matrix", (Q,), (6, ROBOT.nv)),
        ("centroidal_momentum_rate", (Q, V, A), (6,)),
        ("composite_inertia", (Q,), (6, 6)),
    ],
)
def test_batches_and_precision(name, inputs, shape):
    method = getattr(ROBOT, name)
    out = np.full((2, 3, *shape), np.nan)
    batch = [x.reshape(2, 3, -1) for x in inputs]
    assert method(*batch, out=out) is out
    for k in range(6):
        assert_close(out[divmod(k, 3)], getattr(ROBOT, name)(*[x[k] for x in inputs]), RECURSION)
    single = method(*[x.astype(np.float32) for x in batch])
    assert single.dtype == np.float32
    assert_close(single, out, RECURSION32)
