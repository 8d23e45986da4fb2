"""What motions ask of motors: with loops by the power that goes in, without by formulas on paper."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, cli, load
from dalembert.audit.holding import headroom_table
from dalembert.logs import Trajectory
from dalembert.motion import quintic
from dalembert.sizing import Catalogue, Gear, Motor, drive, efforts, read_catalogue, standard_motion
from linkages import four_bar
from tolerances import COMPUTED, INTEGRATED, ITERATED, PRINTED, ROUGH_SLOPE

SAMPLED_ACCELERATION = 0.02  # differences of samples
GRID_OF_POSES = 0.02  # of the worst gravity over a grid of poses


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_the_power_of_the_motors_is_what_the_energy_gains(name: str) -> None:
    robot = load(name).without("friction", "damping")
    motion, tau, held, driven, _, _ = efforts(robot, standard_motion(robot, 801))
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    power = np.einsum("ti,ti->t", tau, motion.v)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(motion.t))])
    np.testing.assert_allclose(work, energy - energy[0], atol=2 * ROUGH_SLOPE * np.ptp(energy))
    rows = [robot.model.joint(joint).v.start for joint in driven]
    passive = np.delete(np.arange(robot.nv), rows)
    assert not np.any(tau[:, passive]) and not np.any(held[:, passive])
    difference = np.gradient(motion.q, motion.t, axis=0)  # the passive joints' rates are those of their positions
    np.testing.assert_allclose(motion.v[2:-2], difference[2:-2], atol=10 * ROUGH_SLOPE)
    np.testing.assert_allclose(motion.a[2:-2], np.gradient(motion.v, motion.t, axis=0)[2:-2], atol=SAMPLED_ACCELERATION)


def test_motions_are_taken_as_they_are() -> None:
    robot = load("ur5")
    move = quintic(robot.neutral(), robot.neutral() + 0.5, 1.0, robot=robot)
    assert robot.sizing(move).rows == robot.sizing(move.sample()).rows


def test_passive_pins_are_not_sized() -> None:
    (crank,) = load("four_bar").sizing().rows
    assert crank.joint == "crank_joint" and crank.gravity == pytest.approx(1957.84, rel=PRINTED)
    assert not crank.enough  # 3000 N·m against 1.3 (gravity + dynamic)


def test_the_crank_feels_what_it_drags_along() -> None:
    """Its inertia through the loop is twice the kinetic energy at unit speed of the crank."""
    robot = load("four_bar")
    (row,) = robot.sizing().rows
    energies = []
    for angle in np.linspace(-3.0, 3.0, 100):
        state = robot.close_loops([angle, -0.3, 0.4], [1.0, 0.0, 0.0])
        energies.append(2.0 * robot.kinetic_energy(state.q, state.v / state.v[0]))
    assert row.inertia[0] <= 1.001 * min(energies) and row.inertia[1] >= 0.999 * max(energies)


def test_loops_with_a_motor_everywhere_are_refused() -> None:
    robot = four_bar()
    with pytest.raises(DalembertError, match="state which joints are passive"):
        efforts(robot, standard_motion(robot))


# ---- by hand: a rod of 2 kg at 0.5 m about a pin, in a plane where gravity is out of sight, or hanging

J = 2.0 * 0.5**2 + 0.01  # kg·m² about the pin


def rod(axis: tuple[float, float, float] = (0, 0, 1), **joint: float):
    builder = ModelBuilder("rod")
    builder.add_body("rod", parent="world", joint="revolute", joint_name="pin", axis=axis, mass=2.0, com=(0.5, 0, 0),
                     inertia=np.diag([1e-4, 0.01, 0.01]), lower=-3.0, upper=3.0, **joint)  # fmt: skip
    return builder.build()


def swing(amplitude: float = 0.8, rate: float = 3.0, n: int = 4001, periods: int = 2) -> Trajectory:
    t = np.linspace(0.0, periods * 2 * np.pi / rate, n)
    s, c = np.sin(rate * t)[:, None], np.cos(rate * t)[:, None]
    return Trajectory(t, amplitude * s, amplitude * rate * c, -amplitude * rate**2 * s, title="a swing")


def test_a_swing_in_the_plane_by_formulas() -> None:
    A, w = 0.8, 3.0
    sizing = rod(effort_limit=10.0, velocity_limit=5.0).sizing(swing(A, w))
    (row,) = sizing.rows
    assert row.gravity == pytest.approx(0.0, abs=COMPUTED)
    assert row.peak == pytest.approx(J * A * w**2) and row.dynamic == pytest.approx(J * A * w**2)
    assert row.rms == pytest.approx(J * A * w**2 / np.sqrt(2), rel=ROUGH_SLOPE)
    assert row.needed == pytest.approx(1.3 * J * A * w**2)
    assert row.speed == pytest.approx(A * w)
    assert row.power == pytest.approx(J * A**2 * w**3 / 2, rel=ROUGH_SLOPE)
    assert row.energy == pytest.approx(
        2 * J * (A * w) ** 2, rel=ROUGH_SLOPE
    )  # twice a period, ½ J v² each, two periods
    assert row.regenerated == pytest.approx(row.energy, rel=INTEGRATED)
    assert row.inertia == pytest.approx((J, J)) and row.acceleration == pytest.approx(10.0 / J)
    assert sizing.coriolis == 0.0 and sizing.ok


def test_the_continuous_limit_bounds_what_heats_the_motor() -> None:
    """RMS of a swing by its formula, and gravity held, within the peak limit and beyond the continuous one."""
    heats = J * 0.8 * 3.0**2 / np.sqrt(2)
    (row,) = rod(effort_limit=10.0, continuous_limit=1.2 * heats).sizing(swing()).rows
    assert row.decides == "heat" and row.continuous == pytest.approx(1.3 * heats, rel=ROUGH_SLOPE)
    assert "too hot" in row.verdict and row.enough is False
    assert rod(effort_limit=10.0, continuous_limit=1.4 * heats).sizing(swing()).ok
    (held,) = rod((0, 1, 0), effort_limit=50.0, continuous_limit=9.0).sizing(swing(0.01), margin=1.0).rows
    assert held.decides == "heat" and held.continuous == pytest.approx(9.81)
    assert rod(continuous_limit=3.0).limits.continuous.tolist() == [3.0]


def test_a_check_of_a_motion_names_joints_that_get_too_hot() -> None:
    """A quintic move: its RMS acceleration is d/T² · √(120/7)."""
    robot, d, T = rod(effort_limit=100.0, velocity_limit=50.0), 1.0, 0.5
    rms = J * d / T**2 * np.sqrt(120.0 / 7.0)
    move = quintic([0.0], [d], duration=T, robot=robot)
    assert move.check(continuous=1.001 * rms)
    (found,) = move.check(continuous=0.999 * rms).violations
    assert (found.what, found.joint) == ("RMS torque", "pin") and found.value == pytest.approx(rms, rel=ROUGH_SLOPE)
    warm = robot.edit().set_joint("pin", continuous_limit=0.9 * rms).done()
    assert not quintic([0.0], [d], duration=T, robot=warm).check()


def test_gravity_is_that_of_the_worst_pose_not_of_the_motion() -> None:
    sizing = rod((0, 1, 0), effort_limit=12.0).sizing(swing(0.1), payload=1.0, margin=1.0)
    (row,) = sizing.rows
    assert sizing.frame == "rod" and row.gravity == pytest.approx(9.81 * (2 * 0.5 + 0.0))
    hanging = sizing.at([np.pi / 2])["pin"]
    level = sizing.at([0.0])["pin"]
    assert hanging.headroom == pytest.approx(12.0) and level.headroom == pytest.approx(12.0 - 9.81)
    assert level.acceleration == pytest.approx((12.0 - 9.81) / J)
    assert rod((0, 1, 0), effort_limit=5.0).sizing(swing(0.1)).rows[0].enough is False
    assert row.acceleration == pytest.approx(level.acceleration)


@pytest.mark.parametrize("name", ["panda", "four_bar"])
def test_no_pose_leaves_less_acceleration_than_stated(name: str) -> None:
    """The pose of the largest holding torque included, which random poses come near but do not meet."""
    robot = load(name)
    sizing = robot.sizing()
    for row, worst in zip(sizing.rows, headroom_table(robot).rows, strict=True):
        assert row.joint == worst.joint and row.gravity == pytest.approx(worst.gravity)
        assert row.acceleration <= (row.limit - row.gravity) / row.inertia[0] * (1 + ITERATED)
        if name == "panda":
            assert row.acceleration <= sizing.at(worst.q)[row.joint].acceleration * (1 + ITERATED)


def test_uneven_samples_do_not_change_the_rms() -> None:
    even = swing()
    keep = np.sort(np.random.default_rng(1).choice(len(even.t), 2500, replace=False))
    keep[0], keep[-1] = 0, len(even.t) - 1
    uneven = Trajectory(even.t[keep], even.q[keep], even.v[keep], even.a[keep])
    sparse = rod().sizing(uneven).rows[0]
    assert sparse.rms == pytest.approx(rod().sizing(even).rows[0].rms, rel=10 * ROUGH_SLOPE)


def test_several_motions_are_one_demand() -> None:
    slow, fast = swing(0.8, 1.0), swing(0.8, 4.0)
    row = rod().sizing([slow, fast]).rows[0]
    assert row.peak == pytest.approx(J * 0.8 * 16.0)
    squares = [(J * 0.8 * w**2) ** 2 / 2 * t for w, t in ((1.0, slow.t[-1]), (4.0, fast.t[-1]))]
    assert row.rms == pytest.approx(np.sqrt(sum(squares) / (slow.t[-1] + fast.t[-1])), rel=10 * ROUGH_SLOPE)


def test_a_drive_by_hand() -> None:
    """Gear 50, efficiency 0.8, rotor 1e-4: the motor accelerates its rotor and, through the gear, the rod."""
    A, w, N, eta, rotor = 0.8, 3.0, 50.0, 0.8, 1e-4
    sizing = rod(armature=0.3).sizing(swing(A, w))  # the model's rotor is replaced by the drive's
    (row,) = sizing.rows
    motor, gear = (
        Motor("m", stall=2.0, no_load=300.0, continuous=0.4, inertia=rotor),
        Gear("g", N, eta, rated=20, peak=50),
    )
    tried = drive(row, sizing.courses["pin"], motor, gear, 1.0)
    assert tried.reflected == pytest.approx(N**2 * rotor)
    assert tried.share == pytest.approx(N**2 * rotor / (N**2 * rotor + J))
    assert tried.motor_speed == pytest.approx(N * A * w)
    peak = A * w**2 * (J / (N * eta) + N * rotor)  # at the turning point, where it is still driven
    assert tried.motor_torque == pytest.approx(peak, rel=10 * ROUGH_SLOPE)
    assert tried.speed == pytest.approx(300.0 / (N * A * w))
    assert tried.output == pytest.approx(
        min(50 / (J * A * w**2), 20 / (J * A * w**2 / np.sqrt(2))), rel=10 * ROUGH_SLOPE
    )
    phase = np.linspace(0, 2 * np.pi, 200_001)
    torque = np.where(-np.sin(phase) * np.cos(phase) >= 0, J / (N * eta), J * eta / N) * -A * w**2 * np.sin(
        phase
    ) - N * rotor * A * w**2 * np.sin(phase)
    allowed = np.minimum(2.0, 2.0 * (1 - np.abs(N * A * w * np.cos(phase)) / 300.0))
    assert tried.peak == pytest.approx(np.min(allowed / np.maximum(np.abs(torque), 1e-12)), rel=100 * ROUGH_SLOPE)
    assert tried.continuous == pytest.approx(0.4 / np.sqrt(np.mean(torque**2)), rel=100 * ROUGH_SLOPE)


@pytest.mark.parametrize(
    ("gear", "value", "words"),
    [
        (Gear("harmonic", 100, 0.7), 7e-5, "barely"),
        (Gear("planetary", 6, 0.9), 0.025, "freely"),
        (Gear("none", 1), 1, "freely"),
    ],
)
def test_backdrivability(gear: Gear, value: float, words: str) -> None:
    assert gear.backdrivability == pytest.approx(value) and words in gear.transparency


SMALL = Motor("small", stall=0.5, no_load=600, continuous=0.1, inertia=1e-5, mass=0.2)
LARGE = Motor("large", stall=5.0, no_load=300, continuous=1.2, inertia=2e-4, mass=1.5)


def test_the_lightest_drive_that_fits_is_chosen() -> None:
    robot = rod((0, 1, 0))  # holds 9.81 N·m level
    gears = (Gear("g20", 20, 0.9, mass=0.3), Gear("g150", 150, 0.7, mass=0.6))
    sizing = robot.sizing(swing(0.3, 1.0), catalogue=Catalogue((SMALL, LARGE), gears))
    chosen = sizing.drives["pin"]
    assert chosen is not None and (chosen.motor.name, chosen.gear.name) == (
        "large",
        "g20",
    )  # small · 150: 0.09 < 1.3 · 0.093
    assert sizing.ok and "large with g20" in str(sizing)
    weak = robot.sizing(swing(0.3, 1.0), catalogue=Catalogue((SMALL,), gears))
    assert weak.drives["pin"] is None and weak.nearest["pin"].gear.name == "g150" and not weak.ok
    assert "nothing in the catalogue fits" in weak.choice("pin") and "continuous torque" in weak.choice("pin")


def test_slides_are_driven_through_screws(tmp_path) -> None:
    file = tmp_path / "drives.toml"
    file.write_text(
        "[[motor]]\nname = 'm'\nstall = 1\nno_load = 400\ncontinuous = 0.5\ninertia = 1e-5\n"
        "[[gear]]\nname = 'screw'\nlead = 0.01\nefficiency = 0.9\n",
        "utf-8",
    )
    builder = ModelBuilder("lift")
    builder.add_body("car", parent="world", joint="prismatic", joint_name="lift", axis=(0, 0, 1), mass=10.0,
                     inertia=np.eye(3), lower=0.0, upper=1.0)  # fmt: skip
    sizing = builder.build().sizing(catalogue=file, margin=1.0)
    chosen = sizing.drives["lift"]
    assert chosen is not None and chosen.gear.ratio == pytest.approx(2 * np.pi / 0.01)
    hold = 98.1 * 0.01 / (2 * np.pi) / 0.9
    assert chosen.continuous == pytest.approx(0.5 / hold, rel=GRID_OF_POSES) and sizing.rows[0].unit == "N"


def test_resonance_and_bandwidth() -> None:
    (row,) = rod(armature=0.2).sizing(swing(), stiffness=1e4).rows
    assert row.resonance == pytest.approx(np.sqrt(1e4 / J) / (2 * np.pi)) and row.bandwidth == row.resonance / 5


def test_four_feet_carry_a_quadruped() -> None:
    """12 kg on four feet: 29.43 N each; the torque of a joint is that force at its lever less the leg's own weight."""
    robot = load("quadruped")
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    q = np.tile(robot.neutral(), (3, 1))
    still = Trajectory(np.array([0.0, 0.5, 1.0]), q, np.zeros((3, 18)), np.zeros((3, 18)))
    run = efforts(robot, still, feet)
    forces = sum(robot.jacobian(q[0], foot)[3:].T @ (0, 0, 12.0 * 9.81 / 4) for foot in feet)
    np.testing.assert_allclose(run.tau[0], robot.gravity(q[0]) - forces, atol=ITERATED)
    assert np.max(np.abs(run.tau[0, :6])) < ITERATED
    assert any("leave" in note for note in efforts(robot, still, feet[:1]).notes)
    with pytest.raises(DalembertError, match="has a fixed base"):
        efforts(load("2r"), standard_motion(load("2r")), ["tool"])


def test_coriolis_grows_with_the_square_of_the_speed() -> None:
    robot = load("ur5")
    slow = standard_motion(robot)
    fast = Trajectory(slow.t / 2, slow.q, 2 * slow.v, 4 * slow.a)
    ratios = [robot.sizing(motion).coriolis for motion in (slow, fast)]
    assert ratios[1] == pytest.approx(4 * ratios[0]) and "slow cobot" in robot.sizing(slow).coriolis_class


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[moter]]\n", "did you mean 'motor'"),
        ("[[gear]]\nname='g'\nratio=3\n", r"has no \[\[motor\]\]"),
        ("[[motor]]\nname='m'\n", "has no stall"),
        ("[[motor]]\nname='m'\nstall=-1\nno_load=1\ncontinuous=1\ninertia=0\n", "expected a number above 0"),
        ("[[motor]]\nname='m'\nstall=1\nno_load=1\ncontinuous=1\ninertia=0\nsped=3\n", "unknown key 'sped'"),
        ("[motor]\nname='m'\n", r"expected \[\[motor\]\] tables"),
        ("[[gear]]\nname='g'\nratio=2\nlead=0.1\n", "give ratio, or lead"),
        ("[[gear]]\nname='g'\nratio=2\nefficiency=1.2\n", "expected at most 1"),
    ],
)
def test_wrong_catalogues_are_explained(text: str, message: str, tmp_path) -> None:
    file = tmp_path / "drives.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(DalembertError, match=message):
        read_catalogue(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.5}, "margin is 0.5"),
        ({"motions": []}, "is empty"),
        ({"motions": 3}, "has no t, q, v, a"),
        ({"motions": Trajectory(np.arange(3.0), np.zeros((3, 2)), np.zeros((3, 1)), np.zeros((3, 1)))}, "q has shape"),
        ({"motions": Trajectory(np.zeros(3), *[np.zeros((3, 1))] * 3)}, "times must increase"),
        ({"stiffness": -1.0}, "stiffness is -1"),
        ({"payload": 1.0, "frame": "nothing"}, "unknown frame"),
    ],
)
def test_wrong_questions_are_explained(options: dict, message: str) -> None:
    with pytest.raises(DalembertError, match=message):
        rod().sizing(**options)


def test_json_csv_and_the_command(tmp_path, capsys) -> None:
    file = tmp_path / "table.csv"
    assert cli.main(["size", "2r", "--csv", str(file), "--json"]) in (0, 1)
    content = json.loads(capsys.readouterr().out)
    assert [row["joint"] for row in content["joints"]] == ["shoulder", "elbow"]
    lines = file.read_text("utf-8").splitlines()
    assert lines[0].startswith("joint,unit,gravity") and len(lines) == 3
    assert float(lines[1].split(",")[2]) == pytest.approx(content["joints"][0]["gravity"])
    assert cli.main(["size", "ur5", "--payload", "5"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "5 kg at frame 'tool0'" in text
        and "less than asked" in " ".join(text.split())
        and "Coriolis over gravity" in text
    )
    assert cli.main(["size", "ur5", "--margin", "0.1"]) == 2


@pytest.mark.filterwarnings("error")
def test_a_joint_that_moves_no_mass_has_no_acceleration_to_lack() -> None:
    builder = ModelBuilder("camera")
    builder.add_body("arm", parent="world", joint="revolute", joint_name="tilt", axis=(0, 1, 0), mass=1.0,
                     com=(0.2, 0, 0), inertia=np.eye(3) * 0.01, effort_limit=10.0)  # fmt: skip
    builder.add_body("lens", parent="arm", joint="revolute", joint_name="pan", axis=(0, 0, 1), effort_limit=1.0)
    rows = {row.joint: row for row in builder.build().sizing().rows}
    assert rows["pan"].acceleration == np.inf and 0.0 < rows["tilt"].acceleration < np.inf


def test_what_decides_is_named() -> None:
    def judged(limit: float, **options):
        return rod((0, 1, 0), effort_limit=limit).sizing(swing(0.1), **options)

    free = judged(np.inf).rows[0]
    asked = free.gravity + free.dynamic
    cases = {0.9 * free.gravity: "gravity", 0.99 * asked: "motion", 1.2 * asked: "margin", 1.4 * asked: ""}
    for limit, decides in cases.items():
        row = judged(limit).rows[0]
        assert row.decides == decides and row.enough is (not decides) and bool(row.verdict) == bool(decides)
    assert judged(1.2 * asked, margin=1.0).ok and not judged(1.2 * asked).ok
    assert judged(1.2 * asked).rows[0].available == pytest.approx(1.2)


def test_a_limit_that_is_not_stated_is_not_known(capsys) -> None:
    sizing = load("iiwa14").edit().set_joint("iiwa_joint_2", effort_limit=np.inf).done().sizing(payload=14.0)
    row = next(row for row in sizing.rows if row.joint == "iiwa_joint_2")
    assert row.enough is None and row.decides == "not known" and not sizing.ok
    assert "not known: no effort limit is stated" in str(sizing)


@pytest.mark.parametrize("ends", [(0.5, np.inf), (-np.inf, -0.5), (-np.inf, np.inf)])
def test_the_standard_motion_stays_on_its_side_of_a_range(ends) -> None:
    joint = load("2r").edit().set_joint("shoulder", lower=ends[0], upper=ends[1]).done()
    moved = standard_motion(joint).q[:, 0]
    assert ends[0] <= moved.min() and moved.max() <= ends[1] and np.ptp(moved) == pytest.approx(0.5)


def test_a_robot_without_joints_has_no_standard_motion() -> None:
    still = load('<robot name="block"><link name="block"/></robot>')
    with pytest.raises(DalembertError, match="no joint that moves"):
        standard_motion(still)


def test_the_standard_motion_keeps_the_speed_limits() -> None:
    for name in ("ur5e", "iiwa14", "panda", "puma560"):
        robot = load(name)
        slow = robot
        for joint in robot.joints:
            slow = slow.edit().set_joint(joint.name, velocity_limit=0.3).done() if joint.leader is None else slow
        for each in (robot, slow):
            assert all(row.decides != "speed" for row in each.sizing().rows)
