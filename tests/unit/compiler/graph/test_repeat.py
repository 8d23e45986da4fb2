"""Repetitions: meaning on numbers and traced values, stopping, slopes of both kinds against differences, errors."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter, sympy
from dalembert.compiler.execute.host import NativeKernel as Kernel
from dalembert.compiler.graph import Function, gradient, jacobian, jvp, pullback, substitute, trace
from tolerances import CONVERGED, DIFFERENCE, ITERATED, PRODUCT, STEP, assert_close


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def value(function: Function, x: np.ndarray) -> np.ndarray:
    return interpreter.run(function, {"x": x})[function.outputs[0].name]


def compiled(function: Function, x: np.ndarray, lanes: int | None = None) -> list[np.ndarray]:
    shapes = [o.shape for o in function.outputs]
    kernel = Kernel("f", "f", [i.size for i in function.inputs], shapes, lambda: function, lanes)
    outs = [np.full((len(x), *shape), np.nan) for shape in shapes]
    kernel.run_batch([x], outs, (len(x),))
    return outs


def halved(x, end=1.0):
    """x halved until it is below `end`, and how often."""
    return math.repeat(
        lambda y, done: {"y": 0.5 * y, "done": 0.5 * y < end}, 20, {"y": x, "done": x < end}, settled="done"
    )


def kepler(m, e, start, fixed_point=None, passes=200):
    """E with E − e sin E = m, by plain iteration: linear convergence."""

    def step(E, done):
        following = m + e * math.sin(E)
        return {"E": following, "done": math.abs(following - E) < 1e-13}

    return math.repeat(step, passes, {"E": start, "done": False}, "done", fixed_point)["E"]


def descent(x):
    """Three passes of a nonlinear map of a vector and a matrix, without a test."""
    A = np.array([[0.1, x[2]], [0.3 * x[0], 0.2]])

    def step(v, M):
        return {"v": np.tanh(M @ v) + x[:2], "M": 0.5 * M + A @ M}

    return math.repeat(step, 3, {"v": x[1:], "M": A + np.eye(2) * x[1]})


def test_numbers_are_repeated_on_the_spot():
    assert halved(5.0) == {"y": 0.625, "done": True, "passes": 3.0}
    assert halved(0.5) == {"y": 0.5, "done": True, "passes": 0.0}
    state = math.repeat(lambda x: {"x": 2.0 * x}, 3, {"x": np.array([1.0, 2.0])})
    np.testing.assert_array_equal(state["x"], [8.0, 16.0])


def test_each_state_stops_on_its_own():
    f = trace(lambda x: {k: v for k, v in halved(x[0]).items() if k != "done"}, {"x": 1})
    x = np.array([[5.0], [0.5], [1e9], [np.nan], [1.0], [64.0], [0.9], [3.0], [7.0]])
    out = interpreter.run(f, {"x": x})
    for k in (0, 1, 4, 5, 6, 7, 8):
        alone = halved(float(x[k, 0]))
        assert (out["y"][k], out["passes"][k]) == (alone["y"], alone["passes"])
    assert out["passes"][2] == 20 and out["y"][2] == 1e9 / 2**20  # the limit, not settled
    assert np.isnan(out["y"][3])
    for lanes in (None, 1):
        y, passes = compiled(f, x, lanes)
        np.testing.assert_array_equal(y, out["y"])
        np.testing.assert_array_equal(passes, out["passes"])


def test_a_lane_does_not_depend_on_its_neighbours():
    """The same bits alone and beside lanes that take longer, diverge or become NaN."""
    f = trace(lambda x: {"E": [kepler(x[0], x[1], 0.0)], "v": descent(x)["v"]}, {"x": 3})
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.9, 0.9, (29, 3))
    x[3], x[11] = np.nan, 1e200
    together = compiled(f, x)
    for k in range(len(x)):
        for one, many in zip(compiled(f, x[k : k + 1]), together, strict=True):
            assert one[0].tobytes() == many[k].tobytes()


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: [*descent(x)["v"], descent(x)["M"][0, 1]],
        lambda x: [kepler(x[0], 0.6 * math.tanh(x[1]), x[2])],
        lambda x: [kepler(x[0], 0.6 * math.tanh(x[1]), x[2], 1e-12)],
        lambda x: [halved(math.exp(2.0 * x[0]), math.exp(x[1]))["y"] * x[2]],
        lambda x: [math.repeat(lambda y, z: {"y": z * x[0], "z": y + x[1]}, 4, {"y": x[1], "z": x[2]})["y"]],
        lambda x: [math.repeat(lambda y: {"y": y * x[0]}, 0, {"y": x[1]})["y"]],
        lambda x: [kepler(kepler(x[0], 0.5, 0.0, 1e-12), 0.5 * math.sin(x[1]), x[2])],
    ],
    ids=["fixed number", "settling", "fixed point", "halving", "swapped", "none", "twice"],
)
def test_slopes_are_those_of_differences(compute):
    f = trace(compute, {"x": 3})
    forward = trace(lambda x: jacobian([*compute(x), 0.0, 0.0, 0.0], x)[:-3], {"x": 3})
    reverse = trace(lambda x: [gradient(y, x) for y in compute(x)], {"x": 3})
    pulled = pullback(f)
    x = np.random.default_rng(1).uniform(0.2, 0.8, (11, 3))
    ends = [[value(f, x + s * STEP * e) for s in (1, -1)] for e in np.eye(3)]
    want = np.stack([(plus - minus) / (2 * STEP) for plus, minus in ends], axis=-1)
    assert_close(value(forward, x), want, 10 * DIFFERENCE)
    assert_close(value(reverse, x), want, 10 * DIFFERENCE)
    assert_close(compiled(reverse, x)[0], value(reverse, x), PRODUCT)
    weights = {i.name: np.ones((len(x), i.size)) for i in pulled.inputs}
    assert_close(interpreter.run(pulled, weights | {"x": x})["x gradient"], want.sum(axis=1), 10 * DIFFERENCE)


def test_slopes_of_a_fixed_point_do_not_need_its_passes():
    """Started at the solution one pass is enough, and the slope of that pass is not the slope of the solution."""
    m, e = 0.7, 0.6
    E = kepler(m, e, 0.0)
    slope = 1.0 / (1.0 - e * np.cos(E))
    x = np.array([m, e, E])
    for fixed_point, right in ((1e-12, True), (None, False)):
        f = trace(lambda x, fp=fixed_point: gradient(kepler(x[0], x[1], x[2], fp), x), {"x": 3})
        assert (abs(value(f, x)[0] - slope) < CONVERGED) == right
        rate = trace(lambda x, fp=fixed_point: jvp(kepler(x[0], x[1], x[2], fp), {x[0]: 1.0}), {"x": 3})
        assert (abs(value(rate, x) - slope) < CONVERGED) == right


def test_second_derivatives():
    f = trace(lambda x: jacobian(gradient(kepler(x[0], 0.6, 0.3), x), x), {"x": 1})
    E = kepler(0.7, 0.6, 0.0)
    slope = 1.0 / (1.0 - 0.6 * np.cos(E))
    assert_close(value(f, np.array([0.7])), [[-0.6 * np.sin(E) * slope**3]], ITERATED)


def test_slopes_are_those_of_a_correction_which_is_never_taken():
    """Newton's step for Kepler's equation stands in for the plain iteration, which would not converge backwards."""

    def solved(m, e, start):
        def step(E, done):
            following = m + e * math.sin(E)
            return {"E": following, "done": math.abs(following - E) < 1e-13}

        def newton(E, done):
            return {"E": E + (m + e * math.sin(E) - E) / (1.0 - e * math.cos(E)), "done": 1.0}

        return math.repeat(step, 200, {"E": start, "done": False}, "done", 1e-12, newton)["E"]

    x = np.array([[1.0, 0.5, 0.7], [0.3, 0.9, 0.4]])
    f = trace(lambda x: solved(x[0], x[1], x[2]), {"x": 3})
    plain = trace(lambda x: kepler(x[0], x[1], x[2], 1e-12), {"x": 3})
    assert f.operations() == plain.operations()
    assert_close(value(f, x), value(plain, x), CONVERGED)
    assert_close(compiled(f, x)[0], value(plain, x), CONVERGED)
    for take in (lambda y, x: gradient(y, x), lambda y, x: jvp(y, {x[0]: 1.0, x[1]: 2.0})):
        slopes = trace(lambda x, take=take: take(solved(x[0], x[1], x[2]), x), {"x": 3})
        expected = trace(lambda x, take=take: take(kepler(x[0], x[1], x[2], 1e-12), x), {"x": 3})
        assert_close(value(slopes, x), value(expected, x), ITERATED)
        assert_close(compiled(slopes, x)[0], value(expected, x), ITERATED)


def test_what_did_not_settle_has_no_slope():
    x = np.array([[1.0, 0.5, 0.7], [1.0, 0.01, 1.0]])  # the second one is found in 10 passes, the first one is not
    f = trace(lambda x: gradient(kepler(x[0], x[1], x[2], 1e-9, passes=10), x), {"x": 3})
    rate = trace(lambda x: jvp(kepler(x[0], x[1], x[2], 1e-9, passes=10), {x[0]: 1.0}), {"x": 3})
    for slopes in (value(f, x)[:, :2], compiled(f, x)[0][:, :2], value(rate, x)):
        assert np.isnan(slopes[0]).all() and np.isfinite(slopes[1]).all()


def test_a_fixed_point_that_the_iteration_cannot_find_has_no_slope():
    """x = 3 (x − c) is solved by 3c/2 and never reached: NaN, not a number that looks right."""
    f = trace(
        lambda x: gradient(math.repeat(lambda y: {"y": 3.0 * (y - x[0])}, 2, {"y": 1.5 * x[0]}, None, 1e-9)["y"], x),
        {"x": 1},
    )
    assert np.isnan(value(f, np.array([1.0]))).all()


def test_what_does_not_change_is_computed_once():
    """Values from outside, products and sines of them included; constants fold; equal repetitions are one."""

    def compute(x):
        def step(y):
            return {"y": y * math.sin(x[0]) * 1.0 + math.exp(x[1]) * 0.0 + 2.0}

        first = math.repeat(step, 7, {"y": x[1]})["y"]
        return [first, 2.0 * math.repeat(step, 7, {"y": x[1]})["y"]]

    counts = trace(compute, {"x": 2}).operations()
    assert counts == {"mul": 7 + 1, "add": 7, "sin": 1}


def test_counts_and_fingerprint_hold_everything():
    def repeated(times=5, end=1.0, settled="done", fixed_point=None):
        return trace(
            lambda x: math.repeat(
                lambda y, done: {"y": 0.5 * y, "done": 0.5 * y < end},
                times,
                {"y": x[0], "done": 0.0},
                settled,
                fixed_point,
            )["y"],
            {"x": 1},
        )

    assert sum(repeated().operations().values()) == 3  # of one pass
    assert sum(repeated(settled=None).operations().values()) == 15
    prints = {f.fingerprint() for f in (repeated(), repeated(6), repeated(end=2.0), repeated(settled=None))}
    assert len(prints | {repeated(fixed_point=1e-6).fingerprint()}) == 5
    assert repeated().fingerprint() == repeated().fingerprint()


def test_substitution_reaches_inside():
    f = trace(lambda x: substitute([kepler(x[0], 0.5, x[1])], {x[0]: 2.0 * x[1], x[1]: 0.0}), {"x": 2})
    assert_close(value(f, np.array([9.0, 0.2])), [kepler(0.4, 0.5, 0.0)], PRODUCT)


def test_errors():
    x = {"x": 1}
    with pytest.raises(DalembertError, match="function 'f' repeats a step, which SymPy cannot"):
        sympy.run(trace(lambda x: halved(x[0])["y"], x, name="f"))
    with pytest.raises(DalembertError, match="times=-1, expected a whole number"):
        math.repeat(lambda y: {"y": y}, -1, {"y": 1.0})
    with pytest.raises(DalembertError, match="unknown part of the state 'dome': did you mean 'done'"):
        math.repeat(lambda y: {"y": y}, 1, {"done": 1.0}, "dome")
    with pytest.raises(DalembertError, match=r"the step gave \(2,\) for 'y', expected shape \(\)"):
        trace(lambda x: math.repeat(lambda y: {"y": [y, y]}, 1, {"y": x[0]})["y"], x)
    with pytest.raises(DalembertError, match=r"'y' has shape \(2,\), expected one number"):
        math.repeat(lambda y: {"y": y}, 1, {"y": [1.0, 2.0]}, "y")
    with pytest.raises(DalembertError, match="'passes' cannot be part of the state"):
        math.repeat(lambda y: {"passes": y}, 1, {"passes": 1.0})
    with pytest.raises(DalembertError, match="the step gave list, expected a dict"):
        math.repeat(lambda y: [y], 1, {"y": 1.0})
    with pytest.raises(DalembertError, match="from the inside of a repeated step is used outside"):
        kept = []
        trace(lambda x: math.repeat(lambda y: {"y": kept.append(y) or y + x[0]}, 2, {"y": x[0]})["y"] + kept[0], x)
