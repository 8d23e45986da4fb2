"""Rows of spaces: the same numbers in any chunk, distributions as stated, and bodies that stay possible."""

from __future__ import annotations

import json
from statistics import NormalDist

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.spatial.pseudo_inertia import pseudo_inertia
from dalembert.study import distributions as d
from dalembert.study.distributions.counter import shuffled, uniforms
from dalembert.study.distributions.inverse_normal import inverse_normal
from dalembert.study.distributions.space import space_of
from tolerances import COMPUTED, ROUNDING

MONTE_CARLO = 0.02  # of moments of 20 000 samples: three standard errors of order 1/√n


@pytest.fixture(scope="module")
def panda():
    return load("panda")


def whole(panda) -> d.Space:
    return d.Space(
        payload=d.uniform(0.0, 5.0),
        friction=d.normal(0.6, 0.1, low=0.3),
        push=d.normal(0.0, 10.0, size=3),
        kind=d.choice("a", "b"),
        gain=d.grid(5, 10, 20),
        left=d.linspace(0, 1, 4, axis="a"),
        right=d.linspace(1, 0, 4, axis="a"),
        model=d.cad_errors(),
        start=d.states(panda, spread=0.1, speed=0.2),
    ).bound(panda.model)


@pytest.mark.parametrize("method", ["random", "sobol", "lhs"])
def test_a_row_depends_on_the_seed_and_its_number_alone(panda, method):
    draw = d.Draw(whole(panda), 20, method, 7)
    assert len(draw) == 20 * 3 * 4
    rows = draw.rows(0, len(draw))
    for begin, end in ((0, 1), (5, 6), (13, 101), (239, 240), (9, 9)):
        part = draw.rows(begin, end)
        assert all(np.array_equal(part[name], rows[name][begin:end]) for name in rows)
    other = d.Draw(whole(panda), 20, method, 8).rows(0, 12)
    assert not np.array_equal(other["payload"], rows["payload"][:12])


def test_grids_multiply_and_share_random_numbers(panda):
    rows = d.Draw(whole(panda), 5, "random", 0).rows(0, 60)
    np.testing.assert_array_equal(rows["payload"].reshape(5, 12), np.repeat(rows["payload"][::12, None], 12, axis=1))
    assert set(zip(rows["gain"][:12], rows["left"][:12], strict=True)) == {
        (gain, left) for gain in (5.0, 10.0, 20.0) for left in np.linspace(0, 1, 4)
    }
    np.testing.assert_allclose(rows["left"] + rows["right"], 1.0, rtol=ROUNDING)


def test_more_samples_leave_the_rows_before_as_they_are(panda):
    for method in ("random", "sobol"):
        few, many = (d.Draw(whole(panda), n, method, 0).rows(0, 36) for n in (3, 30))
        assert all(np.array_equal(few[name], many[name]) for name in few)


def test_other_axes_leave_the_numbers_of_an_axis_as_they_are():
    one = d.Draw(d.Space(a=d.uniform(0, 1)), 10, "random", 0).rows(0, 10)
    two = d.Draw(d.Space(b=d.normal(0, 1), a=d.uniform(0, 1)), 10, "random", 0).rows(0, 10)
    np.testing.assert_array_equal(one["a"], two["a"])


def test_the_counter_gives_any_chunk_and_never_the_ends():
    u = uniforms(3, "x", 0, 50_000, 2)
    np.testing.assert_array_equal(uniforms(3, "x", 12_345, 12_401, 2), u[12_345:12_401])
    assert 0.0 < u.min() < u.max() < 1.0 and abs(u.mean() - 0.5) < MONTE_CARLO
    assert abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < MONTE_CARLO
    for count in (1, 2, 3, 17, 1000):
        assert sorted(shuffled(1, "y", np.arange(count), count)) == list(range(count))


def test_the_inverse_of_the_normal_distribution():
    u = np.concatenate([uniforms(0, "u", 0, 500)[:, 0], 10.0 ** -np.arange(1.0, 300.0, 9.0)])
    expected = np.array([NormalDist().inv_cdf(x) for x in u])
    np.testing.assert_allclose(inverse_normal(u), expected, rtol=8 * ROUNDING, atol=ROUNDING)


def test_moments_are_those_stated():
    space = d.Space(
        a=d.uniform(1.0, 3.0),
        b=d.normal(2.0, 0.5),
        c=d.lognormal(2.0, 0.3),
        e=d.loguniform(0.1, 10.0),
        f=d.triangular(0.0, 1.0, 2.0),
        g=d.normal(0.0, 1.0, low=0.0),
    )
    for method in ("random", "sobol", "lhs"):
        x = d.Draw(space, 1 << 14, method, 0).rows(0, 1 << 14)
        expected = {
            "a": (2.0, 2.0 / np.sqrt(12.0)),
            "b": (2.0, 0.5),
            "c": (2.0 * np.exp(0.045), 2.0 * np.exp(0.045) * np.sqrt(np.exp(0.09) - 1.0)),
            "f": (1.0, 1.0 / np.sqrt(6.0)),
            "g": (np.sqrt(2.0 / np.pi), np.sqrt(1.0 - 2.0 / np.pi)),
        }
        for name, (mean, deviation) in expected.items():
            assert abs(x[name].mean() - mean) < MONTE_CARLO * max(1.0, mean), (method, name)
            assert abs(x[name].std() - deviation) < 2 * MONTE_CARLO, (method, name)
        assert abs(np.log(x["e"]).mean()) < 2 * MONTE_CARLO and x["g"].min() >= 0.0
        np.testing.assert_array_equal(np.corrcoef(np.stack([x["a"], x["b"]])).round(1), np.eye(2))


def test_a_latin_hypercube_has_one_row_in_every_interval():
    x = d.Draw(d.Space(a=d.uniform(0, 1), b=d.uniform(0, 1)), 100, "lhs", 0).rows(0, 100)
    for name in ("a", "b"):
        assert sorted((x[name] * 100).astype(int)) == list(range(100))


def test_saltelli_exchanges_one_factor_at_a_time():
    draw = d.Draw(d.Space(a=d.uniform(0, 1), b=d.normal(0, 1, size=2)), 8, "saltelli", 0)
    assert len(draw) == 8 * 5 and [name for name, _ in draw.factors] == ["a", "b[0]", "b[1]"]
    x = draw.rows(0, 40)
    columns = np.concatenate([x["a"][:, None], x["b"]], axis=1).reshape(8, 5, 3)
    for k in range(3):
        for other in range(3):
            np.testing.assert_array_equal(columns[:, 2 + k, other], columns[:, 1 if other == k else 0, other])
    np.testing.assert_array_equal(draw.rows(13, 14)["a"], x["a"][13:14])


def test_a_condition_holds_and_rows_stay_addressable():
    space = d.Space(low=d.uniform(0, 1), high=d.uniform(0, 1), k=d.grid(1, 2)).such_that(lambda x: x["low"] < x["high"])
    for method in ("random", "sobol"):
        draw = d.Draw(space, 200, method, 0)
        x = draw.rows(0, 400)
        assert (x["low"] < x["high"]).all() and 1 < x["drawn"].max() < 50
        np.testing.assert_array_equal(draw.rows(151, 172)["low"], x["low"][151:172])
    with pytest.raises(DalembertError, match="none of 1001 draws"):
        d.Draw(d.Space(a=d.uniform(0, 1)).such_that(lambda x: x["a"] > 2.0), 2, "random", 0).rows(0, 2)


def test_bodies_with_errors_stay_possible(panda):
    errors = d.model_errors(mass=0.9, inertia=0.95, com=10.0, lump=(0.0, 5.0), friction=0.5, armature=0.5)
    space = d.Space(model=errors).bound(panda.model)
    x = d.Draw(space, 300, "random", 0).rows(0, 300)["model"]
    live = space.axes["model"].live(panda.model, x)
    P = pseudo_inertia(live["inertia"].reshape(300, -1, 10)[:, 1:])
    smallest = np.linalg.eigvalsh(P)[..., 0] / np.trace(P, axis1=-2, axis2=-1)
    assert smallest.min() > 0.0
    np.testing.assert_array_equal(live["inertia"][:, :10], np.tile(panda.parameters()[:10], (300, 1)))  # the base
    assert set(live) == {"inertia", "friction", "armature"}
    one = space.axes["model"].model(panda.model, x[7])
    np.testing.assert_allclose(one.parameters(), live["inertia"][7], rtol=COMPUTED, atol=COMPUTED)
    parts = [space.axes["model"].live(panda.model, x[k : k + 1])["inertia"][0] for k in range(5)]
    np.testing.assert_array_equal(parts, live["inertia"][:5])


def test_cad_errors_have_the_stated_magnitudes(panda):
    space = d.Space(model=d.cad_errors()).bound(panda.model)
    x = d.Draw(space, 4000, "random", 0).rows(0, 4000)["model"]
    pi = space.axes["model"].live(panda.model, x)["inertia"].reshape(4000, -1, 10)[:, 1:]
    mass = pi[..., 0] / panda.parameters().reshape(-1, 10)[1:, 0]
    assert 1.05 * 1.1 < mass.min() < 1.16 < 1.48 < mass.max() < 1.15 * 1.3
    only = d.Space(model=d.cad_errors(mass=0.0, lump=0.0, bodies=["panda_link4"])).bound(panda.model)
    x = d.Draw(only, 1000, "random", 0).rows(0, 1000)["model"]
    assert x.shape == (1000, 3) and 0.2 <= np.abs(x).min() < np.abs(x).max() <= 0.5
    assert [name for name, _ in only.factors()] == ["model.inertia.panda_link4"]


def test_starts_lie_around_home_and_within_limits(panda):
    space = d.Space(start=d.states(panda, spread=3.0, speed=0.5, joints=["panda_joint4", "panda_joint1"]))
    draw = d.Draw(space, 500, "random", 0)
    q, v = space.axes["start"].states(panda, draw.rows(0, 500)["start"])
    home = panda.home()[0]
    assert (q >= panda.limits.lower).all() and (q <= panda.limits.upper).all()
    moved = np.ptp(q, axis=0) > 0.0
    assert moved.tolist() == [True, False, False, True, False, False, False]
    np.testing.assert_array_equal(q[:, ~moved], np.tile(home[~moved], (500, 1)))
    assert 0.4 < np.abs(v).max() <= 0.5
    np.testing.assert_array_equal(space.axes["start"].states(panda, draw.rows(3, 4)["start"])[0], q[3:4])


def test_a_space_reads_back_from_json(panda):
    space = whole(panda)
    again = space_of(json.loads(json.dumps(space.plain())))
    assert again.digest() == space.digest()
    one, two = (d.Draw(s, 4, "random", 0).rows(0, 9) for s in (space, again))
    assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: d.Space(), "no axis"),
        (lambda: d.Space(a=3.0), "expected a distribution or a grid"),
        (lambda: d.Space(row=d.uniform(0, 1)), "give the axis another name"),
        (lambda: d.Space(model=d.uniform(0, 1)), "is made by study.model_errors"),
        (lambda: d.Space(errors=d.cad_errors()), "is made by study.model_errors"),
        (lambda: d.Space(a=d.grid(1, 2, axis="x"), b=d.grid(1, 2, 3, axis="x")), "a has 2, b has 3 values"),
        (lambda: d.uniform(1, 1), "expected low below high"),
        (lambda: d.uniform(0, np.nan), "high is nan"),
        (lambda: d.normal(0, 0), "deviation is 0"),
        (lambda: d.normal(0, 1, low=20.0), "a range with some of the distribution"),
        (lambda: d.loguniform(0, 1), "expected 0 < low < high"),
        (lambda: d.grid(), "no values"),
        (lambda: d.grid(1, "a"), "mixed"),
        (lambda: d.choice(np.nan), "expected finite numbers or texts"),
        (lambda: d.linspace(0, 1, 0), "count is 0"),
        (lambda: d.uniform(0, 1, size=0), "size is 0"),
        (lambda: d.model_errors(), "no error is given"),
        (lambda: d.model_errors(mass=-0.1), "mass is -0.1"),
        (lambda: d.model_errors(inertia=1.0), "expected below 1"),
        (lambda: d.Draw(d.Space(a=d.grid(1, 2)), 5, "random", 0), "no axis is random"),
        (lambda: d.Draw(d.Space(a=d.uniform(0, 1)), 0, "random", 0), "samples is 0"),
        (lambda: d.Draw(d.Space(a=d.uniform(0, 1)), 3, "sobel", 0), "did you mean 'sobol'"),
        (lambda: d.Draw(d.Space(a=d.uniform(0, 1), g=d.grid(1, 2)), 3, "saltelli", 0), "use study.choice"),
        (lambda: d.Draw(d.Space(a=d.uniform(0, 1)), 3, "random", -1), "seed is -1"),
    ],
)
def test_bad_spaces_say_what_to_do(make, text):
    with pytest.raises(DalembertError, match=text):
        make()


def test_errors_of_a_model_name_the_nearest_body(panda):
    with pytest.raises(DalembertError, match="did you mean 'panda_link4'"):
        d.Space(model=d.cad_errors(bodies=["panda_lnk4"])).bound(panda.model)
    with pytest.raises(DalembertError, match="another robot"):
        d.Space(start=d.states(panda)).bound(load("2r").model)
