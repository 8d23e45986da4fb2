"""Lookups and interpolants: against NumPy, polynomials they must reproduce, exact at points, slopes, ends, errors."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, math
from dalembert.compiler.backends import interpreter, sympy
from dalembert.compiler.graph import gradient, jacobian, trace
from tolerances import DIFFERENCE, PRODUCT, ROUNDING, SLOPE, STEP, assert_close

EVEN = np.linspace(-1.0, 2.0, 13)
UNEVEN = np.sort(np.random.default_rng(3).uniform(-1.0, 2.0, 12))
GRIDS = {"even": EVEN, "uneven": UNEVEN, "two": np.array([-1.0, 2.0])}
ENDS = ("clamp", "extend", "periodic")


def traced(compute, x: np.ndarray) -> np.ndarray:
    """compute(x) of every x, traced."""
    return interpreter.run(trace(lambda x: compute(x[0]), {"x": 1}, "f"), {"x": x[:, None]})["f"]


@pytest.mark.parametrize("grid", GRIDS)
def test_linear_is_that_of_numpy(grid):
    xs = GRIDS[grid]
    ys = np.random.default_rng(0).normal(size=len(xs))
    x = np.concatenate([np.linspace(-2.0, 3.0, 201), xs])
    want = np.interp(x, xs, ys)
    assert_close(math.interp(x, xs, ys), want, PRODUCT)
    assert_close(traced(lambda x: math.interp(x, xs, ys), x), want, PRODUCT)
    inside = x[(x >= xs[0]) & (x <= xs[-1])]
    assert_close(math.interp(inside + 3.0 * (xs[-1] - xs[0]), xs, [*ys[:-1], ys[0]], ends="periodic"),
                 np.interp(inside, xs, [*ys[:-1], ys[0]]), 1e4 * ROUNDING)  # fmt: skip


@pytest.mark.parametrize("grid", ["even", "uneven"])
@pytest.mark.parametrize(("kind", "degree"), [("linear", 1), ("cubic", 2)])
def test_polynomials_are_reproduced(grid, kind, degree):
    """Values and slopes, of several columns, inside and beyond the ends where they are extended."""
    xs, rng = GRIDS[grid], np.random.default_rng(1)
    polynomials = [np.polynomial.Polynomial(rng.normal(size=degree + 1)) for _ in range(3)]
    table = np.stack([p(xs) for p in polynomials], axis=1)
    x = np.linspace(-1.5, 2.5, 57)
    want = np.stack([p(x) for p in polynomials], axis=1)
    assert_close(math.interp(x, xs, table, kind, "extend"), want, 1e4 * ROUNDING)
    slopes = traced(lambda x: np.ravel(jacobian(math.interp(x, xs, table, kind, "extend"), [x])), x)
    assert_close(slopes, np.stack([p.deriv()(x) for p in polynomials], axis=1), 1e5 * ROUNDING)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize("grid", ["even", "uneven"])
def test_slopes_are_those_of_differences(grid, kind, ends):
    xs = GRIDS[grid]
    ys = np.sin(3.0 * xs)
    ys[-1] = ys[0]
    x = np.random.default_rng(2).uniform(-1.7, 2.7, 60)
    places = np.concatenate([xs, xs + xs[-1] - xs[0], xs - xs[-1] + xs[0]])
    x = x[np.min(np.abs(x[:, None] - places), axis=1) > 2 * STEP]
    want = (math.interp(x + STEP, xs, ys, kind, ends) - math.interp(x - STEP, xs, ys, kind, ends)) / (2 * STEP)
    got = traced(lambda x: gradient(math.interp(x, xs, ys, kind, ends), [x])[0], x)
    assert_close(got, want, 1000 * DIFFERENCE)
    if ends == "clamp":
        assert np.all(got[(x < xs[0]) | (x > xs[-1])] == 0.0)


def test_cubic_has_no_jumps_in_its_slope():
    for ends, ys in (("extend", np.sin(UNEVEN)), ("periodic", np.sin(2 * np.pi * UNEVEN / np.ptp(UNEVEN)))):
        ys = np.append(ys[:-1], ys[0]) if ends == "periodic" else ys
        points = UNEVEN if ends == "periodic" else UNEVEN[1:-1]
        sides = [
            traced(lambda x, e=ends, y=ys: gradient(math.interp(x, UNEVEN, y, "cubic", e), [x])[0], points + side)
            for side in (-1e-9, 1e-9)
        ]
        assert_close(sides[0], sides[1], 10 * SLOPE)


@pytest.mark.parametrize("grid", GRIDS)
def test_steps_change_exactly_at_the_points(grid):
    """Rows of torques: at the time of a row it is that row which holds, one float earlier the one before."""
    xs = GRIDS[grid]
    rows = np.arange(len(xs), dtype=float)
    for compute in (lambda x: math.interp(x, xs, rows, "previous"),):
        np.testing.assert_array_equal(traced(compute, xs), rows)
        np.testing.assert_array_equal(compute(xs), rows)
        np.testing.assert_array_equal(traced(compute, np.nextafter(xs, -np.inf)), np.maximum(rows - 1, 0))
    for n in (10, 100, 1000):
        times = np.arange(n) * 0.1  # 0.3 / 0.1 is below 3
        np.testing.assert_array_equal(
            traced(lambda x, t=times, n=n: math.interp(x, t, np.arange(n), "previous"), times), np.arange(n)
        )
    x = np.linspace(-2.0, 3.0, 101) + 1e-3
    nearest = np.abs(x[:, None] - xs).argmin(axis=1)
    np.testing.assert_array_equal(traced(lambda x: math.interp(x, xs, rows, "nearest"), x), nearest)


def test_height_field():
    """Bilinear functions are reproduced, with their slopes; the nearest point; ends."""
    xs, ys = EVEN, UNEVEN
    field = 1.0 + 2.0 * xs[:, None] - 3.0 * ys + 0.5 * xs[:, None] * ys
    rng = np.random.default_rng(0)
    p = rng.uniform([-1.2, UNEVEN[0] - 0.2], [2.2, UNEVEN[-1] + 0.2], (40, 2))

    def compute(p, kind="linear", ends="extend"):
        return math.interp2(p[0], p[1], xs, ys, field, kind, ends)

    f = trace(lambda p: {"z": compute(p), "slope": gradient(compute(p), p)}, {"p": 2})
    out = interpreter.run(f, {"p": p})
    want = 1.0 + 2.0 * p[:, 0] - 3.0 * p[:, 1] + 0.5 * p[:, 0] * p[:, 1]
    assert_close(out["z"], want, 1e4 * ROUNDING)
    assert_close(out["slope"], np.stack([2.0 + 0.5 * p[:, 1], -3.0 + 0.5 * p[:, 0]], axis=1), 1e4 * ROUNDING)
    assert_close(compute(p.T), want, 1e4 * ROUNDING)
    clamped = np.clip(p, [xs[0], ys[0]], [xs[-1], ys[-1]])
    assert_close(compute(p.T, ends="clamp"), compute(clamped.T), PRODUCT)
    near = field[np.abs(p[:, :1] - xs).argmin(axis=1), np.abs(p[:, 1:] - ys).argmin(axis=1)]
    np.testing.assert_array_equal(compute(p.T, "nearest", "clamp"), near)


def test_lookup():
    table = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    np.testing.assert_array_equal(math.lookup(table, 1.9), [2.0, 20.0])
    x = np.array([-5.0, -0.1, 0.0, 0.999, 1.0, 2.5, 1e300, np.inf, -np.inf, np.nan])
    want = table[[0, 0, 0, 0, 1, 2, 2, 2, 0, 0]]
    want[-1] = np.nan
    np.testing.assert_array_equal(math.lookup(table, x), want)
    np.testing.assert_array_equal(traced(lambda x: math.lookup(table, x), x), want)


def test_nan_goes_through_every_interpolant():
    for kind in ("linear", "cubic", "nearest", "previous"):
        for xs in (EVEN, UNEVEN, EVEN[:2]):
            assert np.isnan(traced(lambda x, k=kind, xs=xs: math.interp(x, xs, np.sin(xs), k), np.array([np.nan])))
            assert np.isnan(math.interp(np.nan, xs, np.sin(xs), kind))


def test_counts_sharing_and_fingerprint():
    def compute(ys):
        return lambda x: [math.interp(x[0], EVEN, ys), math.interp(x[0], EVEN, ys)]

    f = trace(compute(np.sin(EVEN)), {"x": 1})
    assert f.operations()["lookup"] == 2  # value and rise, at one place, once
    other = np.sin(EVEN)
    other[5] += 1e-12
    assert f.fingerprint() == trace(compute(np.sin(EVEN)), {"x": 1}).fingerprint()
    assert f.fingerprint() != trace(compute(other), {"x": 1}).fingerprint()


def test_errors():
    with pytest.raises(DalembertError, match="interp: xs must be two or more rising numbers"):
        math.interp(0.5, [0.0, 0.0, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(DalembertError, match="interp: ys has 2 rows, expected 3"):
        math.interp(0.5, [0.0, 0.5, 1.0], [1.0, 2.0])
    with pytest.raises(DalembertError, match="unknown kind 'cubik': did you mean 'cubic'"):
        math.interp(0.5, [0.0, 1.0], [1.0, 2.0], "cubik")
    with pytest.raises(DalembertError, match="needs the last of ys to be the first one again"):
        math.interp(0.5, [0.0, 1.0], [1.0, 2.0], ends="periodic")
    with pytest.raises(DalembertError, match=r"interp2: values has shape \(2, 3\), expected \(3, 2\)"):
        math.interp2(0.0, 0.0, [0, 1, 2], [0, 1], np.zeros((2, 3)))
    with pytest.raises(DalembertError, match="ys must be constants, known when the function is traced"):
        trace(lambda x: math.interp(x[0], [0.0, 1.0], x), {"x": 2})
    with pytest.raises(DalembertError, match="lookup: the table is empty"):
        math.lookup([], 0.0)
    with pytest.raises(DalembertError, match="function 'f' looks up numbers in tables, which SymPy cannot"):
        sympy.run(trace(lambda x: math.lookup([1.0, 2.0], x[0]), {"x": 1}, "f"))
