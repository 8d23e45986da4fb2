"""`check="residual"`: results are put into laws that other algorithms compute, and a wrong one is found."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Wrench, function, load
from dalembert.quantities import residuals
from robust import processes

LOAD = [Wrench(force=(1.0, 2.0, 3.0), frame="tool0")]
DAMAGE = 1e-3  # of the largest entry


@pytest.fixture(scope="module")
def arm():
    return load("ur5")


def cases(robot, n):
    """Each quantity that has a law, with arguments."""
    rng = np.random.default_rng(5)
    q = robot.random(rng, n)
    v, x = rng.normal(size=(2, *q.shape[:-1], robot.nv))
    arguments = {
        "forward_dynamics": ((q, v, x), {"external": LOAD}),
        "inverse_dynamics": ((q, v, x), {"external": LOAD}),
        "hybrid_dynamics": ((q, v, x), {"accelerations": ["elbow_joint"]}),
        "bias": ((q, v), {}),
        "gravity": ((q,), {}),
        "mass_matrix": ((q,), {}),
        "inverse_mass_matrix": ((q,), {}),
        "velocity": ((q, v, "tool0"), {"axes": "body"}),
        "centroidal_momentum": ((q, v), {}),
        "inverse_dynamics_derivatives": ((q, v, x), {}),
        "forward_dynamics_derivatives": ((q, v, x), {}),
    }
    assert set(arguments) == set(residuals.LAWS)
    return arguments


@pytest.mark.parametrize("n", [None, 3])
def test_right_results_pass_and_wrong_ones_are_named(arm, n, monkeypatch):
    kept = []
    verify = residuals.verify
    monkeypatch.setattr(residuals, "verify", lambda *args: kept.append(args) or verify(*args))
    for name, (inputs, options) in cases(arm, n).items():
        result = getattr(arm, name)(*inputs, check="residual", **options)
        *_, values = kept[-1]
        assert kept[-1][0] == name
        parts = [np.array(part) for part in (result if isinstance(result, tuple) else (result,))]
        parts[0].reshape(-1)[-1] += DAMAGE * np.abs(parts[0]).max()
        wrong = type(result)(*parts) if hasattr(result, "_fields") else tuple(parts) if len(parts) > 1 else parts[0]
        where = "" if n is None else " of state 2"
        with pytest.raises(DalembertError, match=f"^{name}{where}: the result misses its law at "):
            verify(name, arm, wrong, values)


def test_results_that_are_not_numbers_miss_their_law(arm):
    q = arm.neutral()
    with pytest.raises(DalembertError, match="misses its law at 'shoulder_pan_joint' by nan"):
        residuals.verify("gravity", arm, np.full(6, np.nan), {"q": q, "method": "newton-euler"})


def test_single_precision_is_judged_by_its_own_rounding(arm):
    q, v, tau = (x.astype(np.float32) for x in cases(arm, 4)["forward_dynamics"][0])
    assert arm.forward_dynamics(q, v, tau, check="residual").dtype == np.float32


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda r, q: r.gravity(q, check="residuals"), "check is 'residuals', expected True, False or 'residual'"),
        (lambda r, q: r.jacobian(q, "tool0", check="residual"), "jacobian: no law to check it by; .* forward_dynamics"),
    ],
)
def test_what_cannot_be_checked_is_refused(arm, call, words):
    with pytest.raises(DalembertError, match=words):
        call(arm, arm.neutral())


def test_inside_a_traced_function_nothing_is_checked(arm):
    twice = function(lambda q: 2.0 * arm.gravity(q, check="residual"), arm)
    assert np.allclose(twice(arm.neutral()), 2.0 * arm.gravity(arm.neutral()))


def test_the_environment_asks_for_it_everywhere(tmp_path):
    code = """
import numpy as np
from dalembert import load
from dalembert.quantities import residuals
seen = []
verify = residuals.verify
residuals.verify = lambda name, *rest: seen.append(name) or verify(name, *rest)
r = load("2r")
q = np.array([0.1, 0.2])
r.gravity(q); r.gravity(q); r.mass_matrix(q=q); r.gravity(q, check=False); r.jacobian(q, r.frames[-1].name)
print(*seen)
"""
    assert processes.run(code, tmp_path, DALEMBERT_CHECK="residual")[0] == "gravity gravity mass_matrix"
    assert processes.run(code, tmp_path)[0] == ""
