"""Fits: exact where the log is exact, possible where it is not, and honest about what it shows."""

import numpy as np
import pytest

from dalembert import DalembertError, identify, load
from dalembert.identify import simulation
from dalembert.identify.columns import columns
from dalembert.spatial.pseudo_inertia import pseudo_inertia
from simulated import SimulatedLog, log_of, with_friction
from tolerances import INTEGRATED, ITERATED, SLOPE

FITTED = 0.02  # of friction fitted to a log with noise
DRIVE_GAINS = 0.05  # of gains of the strong joints
DELAY = 5e-4  # of a delay that is not a multiple of the period [s]
STREAMED = 1e-3  # of torques [N·m]: logs read in pieces are smoothed in pieces


@pytest.fixture(scope="module")
def ur5():
    return load("ur5")


@pytest.fixture(scope="module")
def motion(ur5):
    return identify.excitation(ur5, duration=12.0, rate=100.0, starts=1)


@pytest.fixture(scope="module")
def other_motion(ur5):
    return identify.excitation(ur5, duration=12.0, rate=100.0, starts=1, seed=5)


@pytest.fixture(scope="module")
def truth(ur5):
    """Other masses than the file's, friction, and rotors."""
    pi = ur5.parameters().reshape(-1, 10) * np.linspace(0.8, 1.3, len(ur5.bodies))[:, None]
    return with_friction(ur5.with_parameters(pi.ravel()), rotor=0.2)


@pytest.mark.parametrize("method", ["least-squares", "weighted", "total", "physical"])
def test_exact_log_gives_exact_torques(ur5, truth, motion, other_motion, method):
    fit = identify.fit(ur5, log_of(truth, motion), rotor=True, method=method)
    validation = fit.validate(log_of(truth, other_motion))
    assert validation.total_percent < (0.05 if method == "physical" else 1e-5)
    assert validation.ok
    assert validation.factory_total > 10.0
    np.testing.assert_allclose(fit.x[fit.columns.term("coulomb")], 2.0, rtol=FITTED)
    np.testing.assert_allclose(fit.x[fit.columns.term("viscous")], 1.0, rtol=FITTED)


def test_robot_of_a_fit_predicts_like_the_fit(ur5, truth, motion):
    fit = identify.fit(ur5, log_of(truth, motion), friction=("viscous", "coulomb"), rotor=True)
    tau = fit.robot.inverse_dynamics(motion.q, motion.v, motion.a)
    np.testing.assert_allclose(tau, fit.torque(motion.q, motion.v, motion.a), atol=ITERATED * np.abs(tau).max())
    assert not fit.robot.problems


def test_noise_makes_least_squares_impossible_and_physical_possible(ur5, truth, motion):
    log = log_of(truth, motion, noise=5.0)
    rng = np.random.default_rng(0)
    possible = identify.fit(ur5, log).robot
    assert np.linalg.eigvalsh(possible.mass_matrix(possible.random(rng, n=500))).min() > 0.0
    assert not possible.problems
    plain = identify.fit(ur5, log, method="weighted")
    bodies = pseudo_inertia(plain.x[: plain.columns.inertial].reshape(-1, 10))
    assert np.linalg.eigvalsh(bodies).min() < 0.0


@pytest.mark.parametrize("memory", [pytest.param(0.0, marks=pytest.mark.long), 0.9])
def test_intervals_hold_the_truth(ur5, truth, motion, memory):
    """Of 54 base parameters in 20 logs with noise, about 95 of 100 lie within their intervals, whether the errors are
    independent or each is 0.9 of the one before and something new: a fit follows the errors of a short log."""
    options = {"friction": ("viscous", "coulomb", "offset"), "method": "weighted"}
    inside = []
    plain = with_friction(truth, rotor=0.0)
    columns = identify.base_parameters(plain, friction=options["friction"]).columns
    for seed in range(20):
        log = log_of(plain, motion)
        noise = np.random.default_rng(seed).normal(0.0, 0.5, log.tau.shape)
        for k in range(1, len(noise)):
            noise[k] = memory * noise[k - 1] + np.sqrt(1.0 - memory**2) * noise[k]
        log.tau += noise
        fit = identify.fit(ur5, log, **options)
        beta = fit.base.matrix @ columns.prior()
        inside.append((fit.interval[:, 0] <= beta) & (beta <= fit.interval[:, 1]))
    assert np.mean(inside) > 0.92


def test_intervals_hold_the_truth_where_torques_drift(ur5, motion):
    """An error that lasts as long as the log: there are few independent pieces, and the fit follows each of them."""
    log = log_of(ur5, motion)
    log.tau += 0.5 * np.sin(np.pi * log.t / log.t[-1])[:, None]
    fit = identify.fit(ur5, log, friction=("viscous", "coulomb"), method="weighted")
    beta = fit.base.matrix @ identify.base_parameters(ur5, friction=("viscous", "coulomb")).columns.prior()
    assert np.mean((fit.interval[:, 0] <= beta) & (beta <= fit.interval[:, 1])) > 0.8


def test_what_does_not_show_is_named_and_stays_as_in_the_file(ur5, motion):
    """Only the base joint moves: gravity of the arm does not show, and its masses stay."""
    q = np.tile(ur5.neutral(), (400, 1))
    t = np.linspace(0.0, 8.0, 400)
    q[:, 0], v, a = np.sin(t), np.zeros((400, 6)), np.zeros((400, 6))
    v[:, 0], a[:, 0] = np.cos(t), -np.sin(t)
    log = SimulatedLog(t, q, v, a, ur5.inverse_dynamics(q, v, a))
    with pytest.raises(identify.LogError, match="does not move"):
        identify.fit(ur5, log)
    fit = identify.fit(ur5, log, friction=(), check=False)
    assert not fit.seen.all()
    assert any("wrist_3_link" in text for text in fit.unseen)
    masses = fit.x[: fit.columns.inertial : 10] / fit.columns.prior()[: fit.columns.inertial : 10]
    assert np.all((masses > 0.5) & (masses < 2.0))


def test_fixed_and_tied_parameters(ur5, truth, motion):
    log = log_of(truth, motion, noise=0.5)
    fit = identify.fit(
        ur5,
        log,
        fixed={"wrist_3_link m": 0.25},
        tied=[("wrist_1_joint viscous", "wrist_2_joint viscous")],
        method="weighted",
    )
    x = dict(zip(fit.names, fit.x, strict=True))
    assert x["wrist_3_link m"] == pytest.approx(0.25, abs=INTEGRATED)
    assert x["wrist_1_joint viscous"] == pytest.approx(x["wrist_2_joint viscous"], abs=INTEGRATED)
    with pytest.raises(DalembertError, match="wrist_3_link m"):
        identify.fit(ur5, log, fixed={"wrist_3_link mass": 1.0})


@pytest.mark.parametrize("method", ["weighted", "physical"])
def test_what_is_fixed_does_not_count_as_explained(ur5, truth, motion, method):
    """Conditions on parameters are no data: the share that is left over is that of the torques."""
    log = log_of(truth, motion, noise=0.5)
    free, held, tied, wrong = (
        identify.fit(ur5, log, rotor=True, method=method, **options)
        for options in (
            {},
            {"fixed": {"forearm_link m": 1.06 * 2.33}},
            {"tied": [("elbow_joint viscous", "wrist_1_joint viscous")]},
            {"fixed": {"elbow_joint viscous": 8.0}},
        )
    )
    left = [fit.validate(log).total_percent for fit in (free, held, tied, wrong)]
    shares = [float(repr(fit).split(": ")[1].split(" %")[0]) for fit in (free, held, tied, wrong)]
    np.testing.assert_allclose(shares, left, rtol=FITTED)
    assert left[1] < 1.01 * left[0] and left[2] < 1.01 * left[0] and left[3] > 2.0 * left[0]
    assert held.x[held.names.index("forearm_link m")] == pytest.approx(1.06 * 2.33, abs=INTEGRATED)
    assert tied.x[tied.names.index("elbow_joint viscous")] == pytest.approx(
        tied.x[tied.names.index("wrist_1_joint viscous")], abs=INTEGRATED
    )


def test_conditions_that_no_body_meets_are_named(ur5, truth, motion):
    log = log_of(truth, motion, noise=0.5)
    with pytest.raises(DalembertError, match="'forearm_link m' cannot be fixed or tied so"):
        identify.fit(ur5, log, fixed={"forearm_link m": -2.0})
    with pytest.raises(DalembertError, match="fixed: 'forearm_link m' is nan"):
        identify.fit(ur5, log, fixed={"forearm_link m": np.nan})


def test_outliers_are_named(ur5, truth, motion):
    """Five torques of a thousand, 300 N·m off: half of what is left over comes from them."""
    log = log_of(truth, motion, noise=0.5)
    assert not identify.fit(ur5, log, rotor=True).log
    log.tau[[100, 300, 500, 700, 900], 2] += 300.0
    (note,) = identify.fit(ur5, log, rotor=True).log
    assert "'elbow_joint': 5 of 1201 torques" in note and "set them to NaN" in note


def test_several_logs_count_together(ur5, truth, motion, other_motion):
    logs = [log_of(truth, motion, noise=1.0), log_of(truth, other_motion, noise=1.0, seed=1)]
    one, both = (identify.fit(ur5, each, rotor=True, method="weighted") for each in (logs[0], logs))
    assert np.all(np.diag(both.covariance) < 1.2 * np.diag(one.covariance))
    assert both.data.rows.sum() == 2 * one.data.rows.sum()


def test_simulation_fit_finds_a_delay_that_regression_cannot():
    """Torques recorded 8 ms late: regression bends friction to explain it, simulation finds the delay."""
    robot = load("2r")
    truth = with_friction(robot, coulomb=0.4, viscous=0.2)
    motion = identify.excitation(robot, duration=12.0, rate=250.0, starts=1, velocity=4.0)
    late = 2
    tau = truth.inverse_dynamics(motion.q, motion.v, motion.a)
    log = SimulatedLog(motion.t[late:], motion.q[late:], motion.v[late:], motion.a[late:], tau[:-late])
    plain = identify.fit(robot, log, friction=("viscous", "coulomb"))
    fit = identify.fit(robot, log, friction=("viscous", "coulomb"), method="simulation")
    assert fit.delay == pytest.approx(-0.008, abs=DELAY)
    error = [np.abs(f.x[f.columns.term("viscous")] - 0.2).max() for f in (plain, fit)]
    assert error[1] < 0.3 * error[0]
    assert np.all(fit.position_rms < 0.2 * fit.before)


def test_text_of_tables(ur5, truth, motion, other_motion):
    fit = identify.fit(ur5, log_of(truth, motion), rotor=True)
    assert "no motion shows: " in fit.table()
    text = fit.validate(log_of(truth, other_motion)).table()
    assert "elbow_joint" in text
    assert "passed" in text


def test_pieces_of_a_long_log_give_the_same_fit(ur5, truth, motion):
    log = log_of(truth, motion, noise=0.5)
    whole = identify.fit(ur5, log)
    cuts = [slice(0, 500), slice(500, 900), slice(900, None)]
    pieces = (SimulatedLog(*(getattr(log, n)[at] for n in ("t", "q", "v", "a", "tau"))) for at in cuts)
    streamed = identify.fit(ur5, pieces)
    np.testing.assert_allclose(streamed.torque(log.q, log.v, log.a), whole.torque(log.q, log.v, log.a), atol=STREAMED)
    assert any("not kept" in note for note in streamed.log)


def test_instruments_remove_the_bias_of_noisy_motions(ur5, truth, motion):
    """Noise in velocity and acceleration biases least squares, and not the instruments."""
    exact = log_of(truth, motion, noise=0.2)
    errors = {"weighted": [], "instrumental": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        v, a = motion.v + rng.normal(0.0, 0.1, motion.v.shape), motion.a + rng.normal(0.0, 2.0, motion.a.shape)
        noisy = SimulatedLog(motion.t, motion.q, v, a, exact.tau)
        for method, found in errors.items():
            options = {"reference": motion} if method == "instrumental" else {}
            fit = identify.fit(ur5, noisy, rotor=True, method=method, **options)
            found.append(fit.torque(motion.q, motion.v, motion.a) - exact.tau)
    bias = {method: np.sqrt(np.mean(np.mean(found, axis=0) ** 2)) for method, found in errors.items()}
    assert bias["instrumental"] < 0.6 * bias["weighted"]
    with pytest.raises(DalembertError, match="reference"):
        identify.fit(ur5, exact, method="instrumental")


def test_drive_gains_of_logs_that_show_no_load_are_refused(ur5, truth, motion):
    """The gains would be 0 to rounding."""
    logs = [log_of(truth, motion, noise=0.5, seed=seed) for seed in (0, 1)]
    with pytest.raises(DalembertError, match="do not show a load of 4 kg"):
        identify.drive_gains(ur5, *logs, mass=4.0)


def test_drive_gains_from_a_known_load(ur5, truth, motion):
    gains = np.array([11.0, 12.0, 9.0, 5.0, 6.0, 4.0])
    loaded = truth.edit().payload(4.0, frame="tool0", com=(0.02, 0.1, 0.05)).done()
    logs = [log_of(robot, motion, noise=0.02, seed=k) for k, robot in enumerate((truth, loaded))]
    for log in logs:
        log.tau = log.tau / gains
    found = identify.drive_gains(ur5, *logs, mass=4.0, com=(0.02, 0.1, 0.05), frame="tool0")
    strong = found.seen & (found.deviation < 0.05 * gains)
    assert strong[:3].all()
    np.testing.assert_allclose(found.gains[strong], gains[strong], rtol=DRIVE_GAINS)
    assert "shoulder_lift_joint" in found.table()


def test_json_has_numbers_only_where_they_mean_something(ur5, truth, motion):
    import json

    content = json.loads(identify.fit(ur5, log_of(truth, motion), rotor=True).json())
    assert len(content["base"]) > 40
    assert all(entry["lower"] < entry["upper"] for entry in content["base"] if entry["seen"])


def test_friction_that_follows_temperature_is_named(ur5, truth, motion, tmp_path):
    """The elbow loses 0.05 N·m of Coulomb friction per kelvin; the others are as cold as before."""
    temperature = np.full(motion.v.shape, 25.0)
    temperature[:, 2] = np.linspace(25.0, 45.0, len(motion.t))
    log = log_of(truth, motion)
    tau = log.tau.copy()
    tau[:, 2] -= 0.05 * (temperature[:, 2] - 35.0) * np.sign(motion.v[:, 2])
    rows = {"t": motion.t} | {f"tau.{name}": tau[:, k] for k, name in enumerate(ur5.model.freedom_names)}
    for kind in ("q", "v", "a"):
        rows |= {f"{kind}.{name}": getattr(motion, kind)[:, k] for k, name in enumerate(ur5.model.freedom_names)}
    warm = {f"temp.{name} [°C]": temperature[:, k] for k, name in enumerate(ur5.model.freedom_names)}
    warm["temp.elbow_joint [°C]"][5::10] = np.nan  # as slow sensors leave gaps
    np.savez(tmp_path / "log.npz", **rows, **warm)
    temperature[:, 2] = np.linspace(25.0, 45.0, len(motion.t))
    read = identify.read_log(tmp_path / "log.npz", ur5)
    np.testing.assert_allclose(read.temperature, temperature, rtol=INTEGRATED)
    assert any("missing temperatures are interpolated" in line for line in read.log)
    fit = identify.fit(ur5, log, rotor=True, method="least-squares")
    validation = fit.validate(read)
    warming = {each.joint: each for each in validation.warming}
    assert warming["elbow_joint"].coulomb == pytest.approx(-0.05, rel=FITTED)
    assert warming["elbow_joint"].explained > 0.9 and "elbow_joint: temperature explains" in validation.table()
    assert "shoulder_pan_joint: temperature" not in validation.table()
    fit.report(tmp_path / "page.html", validation)
    assert "temperature explains" in (tmp_path / "page.html").read_text("utf-8")


def test_a_log_too_slow_to_be_simulated_is_named(ur5, motion):
    """Friction of 2 N·m on a wrist of 1e-4 kg·m²: motions in steps of 10 ms leave all numbers."""
    with pytest.raises(DalembertError, match="steps of 10 ms, those of the log, diverge"):
        identify.fit(ur5, log_of(with_friction(ur5), motion), method="simulation")


def test_slopes_of_the_simulation_fit_are_exact():
    robot = load("2r")
    motion = identify.excitation(robot, duration=8.0, rate=250.0, starts=1, velocity=2.0)
    parameters = columns(robot, ("viscous", "coulomb", "offset"), rotor=True, springs=True)
    x = parameters.prior()
    for term in ("viscous", "coulomb", "rotor", "spring"):
        x[parameters.term(term)] = 0.3
    tau = parameters.robot_with(x).inverse_dynamics(motion.q, motion.v, motion.a)
    pieces = simulation._cut(robot, [SimulatedLog(motion.t, motion.q, motion.v, motion.a, tau)])
    codec, weights = simulation._Codec(parameters, 1.1 * x), simulation._weights(robot, pieces)
    rng = np.random.default_rng(3)
    theta = codec.start()
    theta += 0.1 * rng.normal(size=theta.shape)
    step = rng.normal(size=theta.shape)
    slopes = simulation._jacobian(codec, pieces, weights, theta) @ step
    ahead, behind = (simulation._residual(codec, pieces, weights, theta + sign * 1e-6 * step) for sign in (1.0, -1.0))
    np.testing.assert_allclose((ahead - behind) / 2e-6, slopes, rtol=SLOPE, atol=SLOPE * np.abs(slopes).max())
