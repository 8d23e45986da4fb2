"""Derivatives of noisy signals: the law of the filter, the choice of its bandwidth, and what a log's torques become."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert.logs import read_trajectory, smooth
from dalembert.logs.splines import DEGREE, Basis
from tolerances import INTEGRATED, ITERATED, PRINTED

RATE_ERROR = 0.01  # of the largest speed, from noisy samples
ACCELERATION_ERROR = 0.02  # of the largest acceleration, away from the ends
AT_THE_ENDS = 0.2  # of the largest acceleration, at the ends
NOISE_STATED = 0.1  # of a standard deviation over 2000 samples
VIBRATION = 0.05  # of the acceleration of a vibration near the noise
BESIDE_GAPS = 0.1  # of the acceleration beside a hole in the samples
PEAK = 0.03  # of the peak torque
SMALL_PEAK = 0.05  # of small peak torques [N·m]
CLEAN_RATE = 1e-3  # of samples without noise
CLEAN_ACCELERATION = 0.01  # of samples without noise

NOISE = 1e-4  # rad, of a good encoder
RATE = 1000  # Hz


def signal(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two sines of 0.7 and 2.3 Hz with their derivatives."""
    w1, w2 = 2 * np.pi * 0.7, 2 * np.pi * 2.3
    q = 0.5 * np.sin(w1 * t + 0.4) + 0.05 * np.cos(w2 * t)
    v = 0.5 * w1 * np.cos(w1 * t + 0.4) - 0.05 * w2 * np.sin(w2 * t)
    return q, v, -0.5 * w1**2 * np.sin(w1 * t + 0.4) - 0.05 * w2**2 * np.cos(w2 * t)


@pytest.mark.parametrize("ends", [(0, 0), (3, 2)])
def test_splines_reproduce_quintics_and_quartics(ends) -> None:
    """A polynomial of their degree comes back with its derivatives, at uneven times; with calm ends a quartic."""
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(3.0, 5.0, 300))
    p = np.polynomial.Polynomial(rng.normal(size=DEGREE + (0 if any(ends) else 1)), domain=[3, 5])
    basis = Basis(t, 11)
    coefficients = basis.solve(basis.sums(p(t)[:, None]), ends)
    for order in range(3):
        np.testing.assert_allclose(
            basis.evaluate(coefficients, order)[:, 0], p.deriv(order)(t) if order else p(t), atol=INTEGRATED * 10**order
        )


@pytest.mark.parametrize(("frequency", "low", "high"), [(2.0, 0.999, 1.001), (4.0, 0.98, 1.001), (6.5, 0.0, 0.01)])
def test_the_bandwidth_is_what_it_says(frequency, low, high) -> None:
    """A spline of 5 Hz passes what lies below and stops what lies above, without delay."""
    t = np.linspace(0, 10, 4001)
    x = np.cos(2 * np.pi * frequency * t)
    inner = slice(800, -800)
    fit = smooth(t, x[:, None], bandwidth=5.0).values[inner, 0]
    wave = np.exp(2j * np.pi * frequency * t[inner])
    gain = np.mean(fit * wave.conj()) / np.mean(x[inner] * wave.conj())
    assert low <= abs(gain) <= high
    if low:
        assert abs(np.angle(gain)) < 10 * PRINTED


@pytest.mark.parametrize("kind", ["noise", "encoder", "digits", "degrees"])
def test_the_bandwidth_is_chosen_from_the_data(kind) -> None:
    """Accelerations of a noisy or rounded signal, inside and at the ends, where differences are useless."""
    t = np.arange(4 * RATE + 1) / RATE
    q, v, a = signal(t)
    noisy = {
        "noise": q + NOISE * np.random.default_rng(3).normal(size=len(t)),
        "encoder": np.round(q / NOISE) * NOISE,
        "digits": np.round(q, 5),
        "degrees": np.radians(np.round(np.degrees(q), 2)),
    }[kind][:, None]
    fit = smooth(t, noisy)
    assert 2.3 < fit.bandwidth[0] < 12.0
    np.testing.assert_allclose(fit.first[:, 0], v, atol=RATE_ERROR * np.abs(v).max())
    np.testing.assert_allclose(fit.second[50:-50, 0], a[50:-50], atol=ACCELERATION_ERROR * np.abs(a).max())
    np.testing.assert_allclose(fit.second[:, 0], a, atol=AT_THE_ENDS * np.abs(a).max())
    assert np.abs(np.diff(noisy[:, 0], 2)).max() * RATE**2 > 1.2 * np.abs(a).max()


def test_noise_that_is_averaged_away_is_stated() -> None:
    t = np.arange(2001) / RATE
    fit = smooth(t, (signal(t)[0] + NOISE * np.random.default_rng(4).normal(size=len(t)))[:, None])
    np.testing.assert_allclose(fit.noise, NOISE, rtol=NOISE_STATED)


def test_clean_signals_are_differentiated_as_they_are() -> None:
    """Corners of a trapezoidal profile would ring if they were smoothed; at the ends no order is lost."""
    t = np.arange(1201) / RATE * np.pi / 3  # so that nothing is a multiple of a round number
    a = np.where(t < 0.3, 4.0, np.where(t < 0.9, 0.0, -4.0))
    q = np.where(
        t < 0.3, 2 * t**2, np.where(t < 0.9, 0.18 + 1.2 * (t - 0.3), 0.9 + 1.2 * (t - 0.9) - 2 * (t - 0.9) ** 2)
    )
    fit = smooth(t, q[:, None])
    assert np.isinf(fit.bandwidth[0]) and np.abs(fit.second).max() < 4.0001
    corner = np.minimum(np.abs(t - 0.3), np.abs(t - 0.9)) < 0.003
    np.testing.assert_allclose(fit.second[~corner, 0], a[~corner], atol=INTEGRATED)
    q, v, a = signal(t)
    fit = smooth(t, q[:, None])
    np.testing.assert_allclose(fit.first[:, 0], v, atol=CLEAN_RATE)
    np.testing.assert_allclose(fit.second[:, 0], a, atol=CLEAN_ACCELERATION)


def test_a_vibration_is_not_taken_for_noise() -> None:
    """2 mrad at 20 Hz beside 0.5 Hz: nothing between the two, and still part of the motion."""
    t, w = np.arange(4001) / RATE, 2 * np.pi * 20
    q = np.sin(np.pi * t) + 0.002 * np.sin(w * t) + 1e-5 * np.random.default_rng(5).normal(size=len(t))
    fit = smooth(t, q[:, None])
    assert fit.bandwidth[0] > 20
    inner = slice(200, -200)
    expected = -(np.pi**2) * np.sin(np.pi * t) - 0.002 * w**2 * np.sin(w * t)
    np.testing.assert_allclose(fit.second[inner, 0], expected[inner], atol=VIBRATION * np.abs(expected).max())


def test_signals_at_rest_gaps_and_short_ones() -> None:
    rng = np.random.default_rng(6)
    t = np.arange(2001) / RATE
    still = smooth(t, np.stack([np.full(len(t), 0.3), 0.3 + NOISE * rng.normal(size=len(t))], axis=1))
    np.testing.assert_array_equal(still.second[:, 0], 0.0)
    assert np.abs(still.second[:, 1]).max() < 0.05
    holes = np.delete(t, np.arange(900, 1200))
    q, _, a = signal(holes)
    fit = smooth(holes, (q + NOISE * rng.normal(size=len(holes)))[:, None])
    np.testing.assert_allclose(fit.second[50:-50, 0], a[50:-50], atol=BESIDE_GAPS * np.abs(a).max())
    for n in range(2, 20):
        few = np.linspace(0, 1, n)
        np.testing.assert_allclose(smooth(few, (3 * few - 1)[:, None]).first, 3.0, rtol=ITERATED)
        np.testing.assert_allclose(smooth(few, (3 * few - 1)[:, None]).second, 0.0, atol=ITERATED)


def test_torques_from_a_noisy_log(tmp_path) -> None:
    """0.1 mrad of noise at 1 kHz: the peak of inverse dynamics stays within 3 %, where differences give 15 times it."""
    robot = load("ur5")
    t = np.arange(RATE + 1) / RATE
    s = t[:, None]
    start, move = np.array([0.0, -1.2, 1.4, 0.0, 1.5, 0.0]), np.full(6, 0.5)
    q = start + move * (10 * s**3 - 15 * s**4 + 6 * s**5)
    v, a = move * (30 * s**2 - 60 * s**3 + 30 * s**4), move * (60 * s - 180 * s**2 + 120 * s**3)
    peak = np.abs(robot.inverse_dynamics(q, v, a)).max(axis=0)
    noisy = q + NOISE * np.random.default_rng(7).normal(size=q.shape)
    np.savez(tmp_path / "log.npz", t=t, q=noisy)
    back = read_trajectory(tmp_path / "log.npz", robot)
    np.testing.assert_allclose(
        np.abs(robot.inverse_dynamics(back.q, back.v, back.a)).max(axis=0), peak, rtol=PEAK, atol=SMALL_PEAK
    )
    assert any("bandwidth" in note and "Hz" in note and "averaged away" in note for note in back.log)
    raw = np.gradient(np.gradient(noisy, t, axis=0), t, axis=0)
    assert np.abs(robot.inverse_dynamics(noisy, v, raw)).max() > 2 * peak.max()
    wide = read_trajectory(tmp_path / "log.npz", robot, bandwidth=6.0)
    assert any("bandwidth 6 Hz" in note for note in wide.log)


def test_noise_that_was_filtered_before_is_told_of() -> None:
    """A moving average hides noise from the estimate of it: the splines follow it, and the result must say so."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 4.0, 1e-3)
    motion = np.sin(2.0 * t)
    white = 3e-4 * rng.normal(size=len(t))
    filtered = np.convolve(white, np.ones(5) / 5.0, "same")
    stepped = np.round(motion / 1e-4) * 1e-4
    for signal, told in ((motion + white, False), (stepped, False), (motion + filtered, True)):
        found = smooth(t, signal[:, None])
        assert np.isfinite(found.bandwidth[0]) and bool(found.coloured[0]) == told
