"""Moves and splines: ends, continuity, analytic rates, limits at every instant, on the manifold and traced."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, motion
from tolerances import COMPUTED, CONVERGED, DEFAULT_RUN, INTEGRATED, ITERATED, ROUGH_SLOPE, SOLVER_DEFAULT

PERIOD = 1e-3  # of the samples asked for [s]
JUMP = 1e-3  # of the size of a derivative: a larger difference is a jump
BESIDE_A_JUMP = 5e-3  # samples miss the side of a jump

RNG = np.random.default_rng(3)
POINTS, TIMES = RNG.normal(size=(6, 3)), np.array([0.0, 1.0, 1.5, 3.0, 3.2, 5.0])
START, END = np.array([0.2, -1.0, 0.0]), np.array([1.2, 1.0, 0.0])
LIMITS = {"velocity": [1.0, 3.0, 2.0], "acceleration": [4.0, 5.0, 6.0]}
EVERY = {
    "cubic": lambda: motion.cubic(START, END, 1.7),
    "quintic": lambda: motion.quintic(START, END, 1.7),
    "trapezoid": lambda: motion.trapezoid(START, END, **LIMITS),
    "short trapezoid": lambda: motion.trapezoid(START, START + 0.01, **LIMITS),
    "s_curve": lambda: motion.s_curve(START, END, **LIMITS, jerk=30.0),
    "slow s_curve": lambda: motion.s_curve(START, END, **LIMITS, jerk=30.0, duration=9.0),
    "via": lambda: motion.via(POINTS, TIMES),
    "via with stops": lambda: motion.via(POINTS, TIMES, "stop"),
    "spline": lambda: motion.spline(POINTS, TIMES),
    "minimum_snap": lambda: motion.minimum_snap(POINTS, TIMES),
    "minimum_snap, times found": lambda: motion.minimum_snap(POINTS, duration=5.0),
}


@pytest.mark.parametrize("name", EVERY)
def test_rates_are_those_of_the_positions(name):
    move = EVERY[name]()
    t = np.linspace(0.013, 0.987, 41) * move.duration
    t = t[np.min(np.abs(t[:, None] - move.curves.times), axis=1) > 1e-3]  # where a derivative may jump
    e = 1e-5
    np.testing.assert_allclose(move.v(t), (move.q(t + e) - move.q(t - e)) / (2 * e), atol=INTEGRATED)
    np.testing.assert_allclose(move.a(t), (move.v(t + e) - move.v(t - e)) / (2 * e), atol=2 * ROUGH_SLOPE)


@pytest.mark.parametrize("name", EVERY)
def test_starts_and_ends_at_rest_and_holds_there(name):
    move = EVERY[name]()
    first, last = (POINTS[0], POINTS[-1]) if len(move.curves.times) == 6 else (START, None)
    np.testing.assert_allclose(move.q(0.0), first, atol=COMPUTED)
    if name in ("cubic", "quintic", "trapezoid", "s_curve", "slow s_curve"):
        last = END
    if last is not None:
        np.testing.assert_allclose(move.q(move.duration), last, atol=COMPUTED)
    np.testing.assert_allclose(move.v([0.0, move.duration]), 0.0, atol=CONVERGED)
    np.testing.assert_array_equal(move.q([-1.0, move.duration + 1.0]), move.q([0.0, move.duration]))
    for outside in (-1.0, move.duration + 1.0):
        assert not move.v(outside).any()
        assert not move.a(outside).any()


@pytest.mark.parametrize(("name", "continuous"), [("via", 2), ("spline", 4), ("minimum_snap", 6)])
def test_splines_pass_their_points_with_continuous_derivatives(name, continuous):
    move = EVERY[name]()
    np.testing.assert_allclose(move.q(TIMES), POINTS, atol=COMPUTED)
    knots, e = TIMES[1:-1], 1e-9
    sizes = [np.abs(move.derivative(np.linspace(0, 5, 500), order)).max() for order in range(continuous + 2)]
    for order in range(continuous + 1):
        jump = np.abs(move.derivative(knots - e, order) - move.derivative(knots + e, order)).max()
        assert jump < INTEGRATED * sizes[order], order
    jump = np.abs(move.derivative(knots - e, continuous + 1) - move.derivative(knots + e, continuous + 1)).max()
    assert jump > JUMP * sizes[continuous + 1]  # no smoother than that: the test sees a jump


def test_splines_are_the_smoothest_of_all_that_pass_the_points():
    t = np.linspace(0.0, 5.0, 20001)
    for order, build in ((2, motion.via), (3, motion.spline), (4, motion.minimum_snap)):
        cost = np.trapezoid(build(POINTS, TIMES).derivative(t, order) ** 2, t, axis=0)
        for other in (motion.via, motion.spline, motion.minimum_snap):
            if other is not build and (order, other) not in ((3, motion.via), (4, motion.via), (4, motion.spline)):
                assert np.all(np.trapezoid(other(POINTS, TIMES).derivative(t, order) ** 2, t, axis=0) > cost)


def test_times_that_are_found_have_less_snap():
    way = np.linalg.norm(np.diff(POINTS, axis=0), axis=1)
    chords = np.concatenate([[0.0], np.cumsum(way)]) * 5.0 / way.sum()
    t = np.linspace(0.0, 5.0, 5001)
    snaps = [
        np.trapezoid((move.derivative(t, 4) ** 2).sum(axis=1), t)
        for move in (motion.minimum_snap(POINTS, duration=5.0), motion.minimum_snap(POINTS, chords))
    ]
    assert snaps[0] < 0.9 * snaps[1]


@pytest.mark.parametrize("build", [motion.spline, motion.minimum_snap, motion.via])
@pytest.mark.parametrize(
    "times", [(0.0, 0.01, 1.0, 100.0), (0.0, 1e-3, 1.0, 1e3), (0.0, 1e-6, 1.0, 2.0), (0.0, 1.0, 2.0, 1e6)]
)
def test_curves_at_uneven_times_reach_their_points_or_are_refused(build, times):
    """The last point was missed by up to 1.7e3, and check said that all limits are kept."""
    points, robot = np.array([[0.0], [1.0], [2.0], [3.0]]), None
    try:
        curve = build(points, times, robot=robot)
    except DalembertError as error:
        assert build is not motion.via and "the times are too uneven: over the" in str(error)
    else:
        np.testing.assert_allclose(curve.q(np.array(times)), points, atol=4 * SOLVER_DEFAULT)


def test_a_check_without_anything_to_check_is_refused(arm):
    move = motion.quintic(np.zeros(2), np.ones(2), 1.0)
    with pytest.raises(DalembertError, match="there is nothing to check"):
        move.check()
    assert move.check(velocity=10.0)
    builder = dalembert.ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=2.0)
    report = motion.quintic([0.0], [1.0], 1.0, robot=builder.build()).check()
    assert not report and "nothing was checked" in str(report)
    assert "no limit of velocity is stated for x" in str(report)


def test_start_middle_end_without_a_stop():
    """Three points, third-order polynomials: known in closed form for equal times."""
    move = motion.via([0.0, 1.0, 3.0], [0.0, 2.0, 4.0])
    assert move.v(2.0)[0] == pytest.approx(3.0 * 3.0 / (4.0 * 2.0))  # 3 (x₂ − x₀) / (4 h)
    stated = motion.via([0.0, 1.0, 3.0], [0.0, 2.0, 4.0], [0.0, 0.5, 0.0])
    assert stated.v(2.0)[0] == pytest.approx(0.5)
    mixed = motion.via([0.0, 1.0, 3.0, 2.0], [0.0, 2.0, 4.0, 5.0], [0.0, np.nan, -0.5, 0.0])
    assert mixed.v(4.0)[0] == pytest.approx(-0.5)
    assert mixed.a(2.0 - 1e-9)[0] == pytest.approx(mixed.a(2.0 + 1e-9)[0], abs=INTEGRATED)


@pytest.mark.parametrize("distance", [1e-4, 0.03, 0.4, 3.0, 50.0])
def test_profiles_reach_their_limits_and_no_more(distance):
    limits = {"velocity": 1.0, "acceleration": 2.0}
    for move, last in (
        (motion.trapezoid([0.0], [distance], **limits), 2),
        (motion.s_curve([0.0], [distance], **limits, jerk=10.0), 3),
    ):
        peaks = [max(-move.extremes(order).least[0], move.extremes(order).greatest[0]) for order in (1, 2, 3)][:last]
        bounds = [1.0, 2.0, 10.0][:last]
        assert np.all(np.array(peaks) <= np.array(bounds) * (1 + ITERATED))
        assert peaks[-1] == pytest.approx(bounds[-1])
        assert move.q(move.duration)[0] == pytest.approx(distance)


@pytest.mark.parametrize("name", EVERY)
def test_extremes_are_exact(name):
    move = EVERY[name]()
    t = np.linspace(0.0, move.duration, 20001)
    for order in range(3):
        values, extremes = move.derivative(t, order), move.extremes(order)
        scale = np.abs(values).max() + 1e-9
        assert np.all(extremes.least <= values.min(axis=0) + ITERATED * scale)
        assert np.all(extremes.greatest >= values.max(axis=0) - ITERATED * scale)
        assert np.all(extremes.greatest - values.max(axis=0) < BESIDE_A_JUMP * scale)  # samples miss the side of a jump
        assert np.all(values.min(axis=0) - extremes.least < BESIDE_A_JUMP * scale)  # samples miss the side of a jump


def test_check_names_joint_and_time(arm):
    q0 = np.zeros(6)
    q1 = np.eye(6)[2]
    fine, fast = motion.quintic(q0, q1, 3.0, robot=arm), motion.quintic(q0, q1, 0.5, robot=arm)
    assert fine.check()
    report = fast.check(acceleration=10.0)
    worst = report.violations[0]
    assert not report
    assert (worst.what, worst.joint) == ("velocity", "elbow_joint")
    assert worst.time == pytest.approx(0.25)
    assert worst.value == pytest.approx(1.875 / 0.5)
    assert {violation.what for violation in report.violations} >= {"velocity", "acceleration"}
    assert "elbow_joint" in str(report)
    far = motion.via([q0, q0 + 6.2, q0], [0.0, 30.0, 40.0], robot=arm)  # overshoots 2π between its points
    assert far.q(30.0).max() < 2 * np.pi
    assert [v.what for v in far.check().violations if v.joint == "wrist_1_joint"] == ["position"]
    heavy = arm.edit().payload(60.0, frame="tool0").done()
    assert any(v.what == "torque" for v in fine.check(heavy).violations)


@pytest.mark.parametrize("build", [motion.via, motion.spline, motion.minimum_snap])
def test_free_base_moves_on_the_manifold(quadruped, build):
    Q = quadruped.random(np.random.default_rng(1), 4)
    move = build(Q, [0.0, 1.0, 1.5, 3.0], robot=quadruped)
    t, e = np.linspace(0.05, 2.97, 23), 1e-5
    state = move.at(t)
    v = quadruped.difference(move.q(t - e), move.q(t + e)) / (2 * e)
    np.testing.assert_allclose(state.v, v, atol=INTEGRATED)
    np.testing.assert_allclose(state.a, (move.v(t + e) - move.v(t - e)) / (2 * e), atol=ROUGH_SLOPE)
    np.testing.assert_allclose(np.linalg.norm(state.q[:, 3:7], axis=1), 1.0, atol=COMPUTED)
    for which in (move.v, move.a):
        np.testing.assert_allclose(which(1.0 - 1e-9), which(1.0 + 1e-9), atol=ROUGH_SLOPE)
    np.testing.assert_allclose(quadruped.difference(Q, move.q([0.0, 1.0, 1.5, 3.0])), 0.0, atol=ITERATED)


def test_move_of_a_free_base_is_a_screw(quadruped):
    Q = quadruped.random(np.random.default_rng(2), 2)
    move = motion.quintic(*Q, 2.0, robot=quadruped)
    np.testing.assert_allclose(
        quadruped.difference(move.q(1.0), quadruped.interpolate(*Q, 0.5)), np.zeros(18), atol=COMPUTED
    )
    np.testing.assert_allclose(move.v(1.0), quadruped.difference(*Q) * 1.875 / 2.0, atol=ITERATED)


def _state(move, t):
    return np.concatenate(move.at(t[0]))


def test_traced_times_compile(quadruped, arm):
    Q = quadruped.random(np.random.default_rng(1), 4)
    t = np.array([-0.5, 0.0, 0.3, 1.0, 1.2, 2.9, 3.0, 3.5])
    for robot, move in (
        (quadruped, motion.spline(Q, [0.0, 1.0, 1.5, 3.0], robot=quadruped)),
        (arm, motion.via(RNG.normal(size=(4, 6)), [0.0, 1.0, 1.5, 3.0])),
        (arm, motion.quintic(np.zeros(6), np.ones(6), 2.0)),
    ):
        compiled = dalembert.function(partial(_state, move), robot, t=1)
        np.testing.assert_allclose(compiled(t[:, None]), np.concatenate(move.at(t), axis=1), atol=COMPUTED)


def test_law_with_a_motion_compiles_into_a_run(arm):
    bare = arm.without("friction", "damping")
    move = motion.via([np.zeros(6), np.full(6, 0.3), np.full(6, -0.1)], [0.0, 0.5, 1.0])

    def law(t, q, v):
        state = move.at(t)
        return bare.inverse_dynamics(q, v, state.a + 400.0 * (state.q - q) + 40.0 * (state.v - v))

    run = bare.simulate(move.q(0.0), move.v(0.0), law, duration=1.0)
    assert not any("called back" in line for line in run.log)
    np.testing.assert_allclose(run.q, move.q(run.t), atol=DEFAULT_RUN)


def test_samples_end_at_the_end():
    move = motion.quintic([0.0], [1.0], 1.0005)
    samples = move.sample(1e-3)
    assert samples.t[-1] == move.duration
    assert samples.q[-1, 0] == pytest.approx(1.0)
    assert np.all(np.diff(samples.t) <= PERIOD)
    assert move.slower(2.0).v(1.0005)[0] == pytest.approx(0.5 * move.v(0.50025)[0])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: motion.quintic([0, 0], [1.0]), "q0 has 2 coordinates and q1 1"),
        (lambda: motion.quintic([0, np.nan], [1.0, 1.0]), "point 0 has nan for coordinate 1"),
        (lambda: motion.quintic([0.0], [1.0], 0.0), "duration is 0.0"),
        (lambda: motion.via(POINTS, TIMES[::-1]), "not in order"),
        (lambda: motion.via(POINTS, [0, 1, 1, 2, 3, 4]), "1 s of point 1, then 1 s"),
        (lambda: motion.via(POINTS, TIMES[:-1]), "expected \\(6,\\)"),
        (lambda: motion.via(POINTS), "times=….* or duration=…"),
        (lambda: motion.via(POINTS, TIMES, np.zeros((2, 3))), "velocities has shape"),
        (lambda: motion.via(POINTS, TIMES, "go"), "expected 'stop'"),
        (lambda: motion.spline(np.repeat(POINTS[:1], 3, axis=0), duration=1.0), "are the same"),
        (lambda: motion.spline(POINTS[:1], duration=1.0), "expected two or more"),
        (lambda: motion.trapezoid([0.0], [1.0], velocity=1.0), "what acceleration"),
        (lambda: motion.trapezoid([0.0], [1.0], velocity=-1.0, acceleration=1.0), "expected a limit above 0"),
        (lambda: motion.trapezoid([0.0], [1.0], 1.0, 1.0, duration=0.5), "no less than 2 s"),
        (lambda: motion.trapezoid([0.0], [1.0], np.inf, 1.0), "no limit"),
        (lambda: motion.quintic([0.0], [1.0]).sample(0.0), "step is 0.0"),
        (lambda: motion.quintic([0.0], [1.0]).save("x.csv"), "which robot"),
        (lambda: motion.quintic(np.zeros(7), np.ones(7)).check(dalembert.load("ur5")), "7 coordinates .* has 6"),
    ],
)
def test_bad_input_is_named(build, words):
    with pytest.raises(DalembertError, match=words):
        build()


def test_quaternions_need_the_robot(quadruped):
    q = quadruped.neutral()
    with pytest.raises(DalembertError, match="build it with robot=…"):
        motion.quintic(q, q).check(quadruped)
    with pytest.raises(DalembertError, match="normalize"):
        motion.quintic(q, 2.0 * q, robot=quadruped)


def test_jumps_are_infinite_rates():
    bend = motion.PolynomialMotion(
        motion.Polynomials(np.array([0.0, 1.0, 2.0]), np.array([[[0.0], [1.0]], [[1.0], [0.5]]]))
    )
    assert bend.check(velocity=1.0)
    (violation,) = bend.check(acceleration=100.0).violations
    assert violation.value == np.inf and violation.time == 1.0
    trapezoid = motion.trapezoid([0.0], [1.0], velocity=1.0, acceleration=2.0)
    assert trapezoid.check(acceleration=2.0)
    assert not trapezoid.check(acceleration=2.0, jerk=1e6)
    assert motion.s_curve([0.0], [1.0], 1.0, 2.0, 10.0).check(jerk=10.0)


@pytest.mark.parametrize("move", [motion.trapezoid, partial(motion.s_curve, jerk=1.0)])
def test_a_move_to_where_it_starts_takes_the_time_it_is_given(move) -> None:
    with pytest.raises(DalembertError, match="the same, which takes no time: pass duration"):
        move([1.0, 2.0], [1.0, 2.0], velocity=1.0, acceleration=1.0)
    held = move([1.0, 2.0], [1.0, 2.0], velocity=1.0, acceleration=1.0, duration=0.5)
    assert held.duration == 0.5 and np.all(held.q([0.0, 0.2, 0.7]) == [1.0, 2.0]) and not held.v(0.2).any()


@pytest.mark.parametrize("t", [None, "soon", [1j], {"t": 1.0}])
def test_times_are_numbers(t) -> None:
    move = motion.quintic([0.0], [1.0], 1.0)
    with pytest.raises(DalembertError, match=r"motion: t .*expected times \[s\]"):
        move.q(t)
