"""Random numbers in compiled programs: the same everywhere, uniform, and different for all that is different."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import study
from dalembert.compiler.execute import Program
from dalembert.compiler.graph import trace
from dalembert.study.distributions.stream import PRIME, Stream, permuted, words
from tolerances import COMPUTED, assert_close

N = 4096
SPREAD = 6.0  # standard deviations: that a right generator is farther off happens once in 10⁸
CHI2 = 60.0  # of 16 classes: a right generator is above it once in 10⁶


def stream(seed=0, numbers=None, episode=0.0) -> Stream:
    return Stream.of(words("seed", seed), np.arange(float(N)) if numbers is None else numbers, episode)


def test_the_modulus_is_prime_and_its_products_are_exact():
    assert all(int(PRIME) % k for k in range(2, 5793))
    assert (2.0 * PRIME) ** 2 < 2.0**53


def test_compiled_numbers_are_those_of_numpy_bit_for_bit():
    def draw(number, episode):
        return Stream.of(words("seed", 3), number[0], episode[0]).uniforms("noise", 3, episode[0] + 5.0)

    sizes = {"number": 1, "episode": 1}
    program = Program("draw", None, sizes, {"draw": (3,)}, lambda: trace(draw, sizes, "draw"))
    numbers, episodes = np.arange(100.0)[:, None], np.arange(100.0)[::-1, None].copy()
    compiled = program({"number": numbers, "episode": episodes}, (100,))["draw"]
    plain = draw(numbers.T, episodes.T).T
    assert np.array_equal(compiled, plain)
    assert np.array_equal(plain[7], draw(np.array([7.0]), np.array([92.0])))


def test_it_is_a_permutation():
    left, right = (x.ravel() for x in np.meshgrid(np.arange(64.0), np.arange(64.0)))
    a, b = permuted(5.0, 7.0, left, right)
    assert len(np.unique(a * PRIME + b)) == 64 * 64
    assert a.min() >= 0.0
    assert max(a.max(), b.max()) < PRIME


def test_numbers_are_uniform_also_in_their_last_digits():
    u = np.concatenate([stream().uniforms("x", 8, float(t)).ravel() for t in range(8)])
    assert u.min() > 0.0
    assert u.max() < 1.0
    assert abs(u.mean() - 0.5) < SPREAD * np.sqrt(1 / 12 / u.size)
    assert abs(u.var() - 1 / 12) < SPREAD * np.sqrt(1 / 180 / u.size)
    assert len(np.unique(u)) == u.size
    for scale in (1.0, 2.0**10, 2.0**20, 2.0**30):
        counts = np.bincount((np.mod(u * scale, 1.0) * 16).astype(int), minlength=16)
        assert ((counts - counts.mean()) ** 2).sum() / counts.mean() < CHI2


@pytest.mark.parametrize(
    "other",
    [
        lambda: stream(seed=1).uniforms("x", 1)[0],
        lambda: stream(episode=1.0).uniforms("x", 1)[0],
        lambda: stream(numbers=np.arange(float(N)) + 1.0).uniforms("x", 1)[0],
        lambda: stream().uniforms("y", 1)[0],
        lambda: stream().uniforms("x", 1, 1.0)[0],
        lambda: stream().uniforms("x", 2)[1],
    ],
)
def test_what_differs_in_anything_is_not_correlated(other):
    a, b = stream().uniforms("x", 1)[0], other()
    assert not np.array_equal(a, b)
    assert abs(np.corrcoef(a, b)[0, 1]) < SPREAD / np.sqrt(N)


def test_normal_numbers():
    x = stream().normals("n", 7).ravel()
    assert abs(x.mean()) < SPREAD / np.sqrt(x.size)
    assert abs(x.var() - 1.0) < SPREAD * np.sqrt(2 / x.size)
    assert abs((x**4).mean() - 3.0) < SPREAD * np.sqrt(96 / x.size)
    assert len(np.unique(x)) == x.size


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (study.uniform(2.0, 4.0), 3.0),
        (study.uniform((0.0, 2.0), (2.0, 6.0)), 2.5),
        (study.normal(1.0, 0.1), 1.0),
        (study.normal(0.0, 1.0, low=-1.0, high=1.0), 0.0),
        (study.loguniform(1.0, np.e), np.e - 1.0),
        (study.lognormal(1.0, 0.1), np.exp(0.005)),
        (study.triangular(0.0, 1.0, 2.0), 1.0),
        (study.choice(1.0, 2.0, 6.0), 3.0),
    ],
)
def test_laws_of_studies_trace(law, mean):
    def draw(number):
        return Stream.of((1.0, 2.0), number[0], 0.0).draw("law", law)

    size = law.size or 1
    program = Program("draw", None, {"number": 1}, {"draw": (size,)}, lambda: trace(draw, {"number": 1}, "draw"))
    values = program({"number": np.arange(float(N))[:, None]}, (N,))["draw"]
    assert abs(values.mean() - mean) < SPREAD * max(values.std(), 1e-9) / np.sqrt(values.size)
    u = Stream.of((1.0, 2.0), np.arange(float(N)), 0.0).uniforms("law", law.width).T
    assert_close(values, np.asarray(law.values(u), float).reshape(N, size), COMPUTED)
