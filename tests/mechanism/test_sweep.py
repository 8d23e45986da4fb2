"""Driving a joint through its range: textbook kinematics of linkages, branches, dead points, shaking and balancing."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from dalembert import DalembertError
from mechanism_linkages import four_bar, slider_crank
from tolerances import CONVERGED, INTEGRATED, ITERATED, PRINTED, REACHED, SOLVER_DEFAULT

matplotlib.use("Agg")
ANGLES = np.linspace(1.0, 1.0 + 2.0 * np.pi, 37)


@pytest.fixture(scope="module")
def turned():
    return four_bar().build().sweep("A", ANGLES)


def test_a_whole_turn_comes_back_to_the_same_position(turned) -> None:
    np.testing.assert_allclose(turned.path("coupler.com")[0], turned.path("coupler.com")[-1], atol=ITERATED)
    assert not turned.singular


def test_slider_positions_speeds_and_accelerations_are_those_of_the_formula() -> None:
    r, rod, rate = 0.15, 0.4, 12.0
    sweep = slider_crank().build().sweep("pivot", np.linspace(0.0, 2.0 * np.pi, 25))
    s, c = np.sin(sweep.values), np.cos(sweep.values)
    root = np.sqrt(rod**2 - (r * s) ** 2)
    np.testing.assert_allclose(sweep.path("slider.com")[:, 0], r * c + root, atol=CONVERGED)
    speed = -r * s - r**2 * s * c / root
    np.testing.assert_allclose(sweep.velocity("slider.com", rate)[:, 0], rate * speed, atol=SOLVER_DEFAULT)
    bend = -r * c - r**2 * (c**2 - s**2) / root - r**4 * s**2 * c**2 / root**3
    np.testing.assert_allclose(sweep.acceleration("slider.com", rate)[:, 0], rate**2 * bend, atol=INTEGRATED)


def test_transmission_angle_by_the_law_of_cosines(turned) -> None:
    crank, coupler, rocker, frame = 0.1, 0.3, 0.25, 0.3
    square = crank**2 + frame**2 - 2.0 * crank * frame * np.cos(ANGLES)
    angle = np.arccos((coupler**2 + rocker**2 - square) / (2.0 * coupler * rocker))
    np.testing.assert_allclose(turned.angle("crank.b", "rocker.b", "rocker.a"), angle, atol=ITERATED)
    np.testing.assert_allclose(
        turned.transmission_angle("crank.b", "rocker.b", "rocker.a"), np.minimum(angle, np.pi - angle), atol=ITERATED
    )


def test_dead_points_of_the_rocker_are_where_crank_and_coupler_line_up(turned) -> None:
    crank, coupler, rocker, frame = 0.1, 0.3, 0.25, 0.3
    lined_up = []
    for reach, turn in ((coupler + crank, 0.0), (coupler - crank, np.pi)):
        lined_up.append(np.arccos((frame**2 + reach**2 - rocker**2) / (2.0 * frame * reach)) + turn)
    found = np.sort(np.mod(-np.array(turned.dead_points("D")), 2.0 * np.pi))  # the rocker hangs below the frame
    np.testing.assert_allclose(found, np.sort(lined_up), atol=PRINTED)


def test_a_crank_that_cannot_turn_names_its_dead_point() -> None:
    rocker = four_bar(crank=0.3, coupler=0.2, rocker=0.2, frame=0.3, start=0.6).build()
    most = np.arccos((0.3**2 + 0.3**2 - 0.4**2) / (2.0 * 0.3 * 0.3))
    with pytest.raises(DalembertError, match=r"joint 'A' .* cannot pass") as error:
        rocker.sweep("A", np.linspace(0.6, 3.0, 20))
    reached = float(str(error.value).split("cannot pass ")[1].split()[0])
    assert reached == pytest.approx(most, abs=REACHED)


def test_a_parallelogram_goes_straight_on_through_its_singular_position() -> None:
    """Crank and rocker are equal, frame and coupler too: at 0 and π the antiparallel branch meets it."""
    robot = four_bar(crank=0.1, coupler=0.3, rocker=0.1, frame=0.3, start=1.0).build()
    q = robot.start[0].copy()
    sweep = robot.sweep("A", np.linspace(1.0, 1.0 + 2.0 * np.pi, 60), robot.close_loops(q).q)
    rocker = sweep.path("rocker.b") - sweep.path("rocker.a")
    crank = sweep.path("crank.b") - sweep.path("crank.a")
    np.testing.assert_allclose(rocker, crank, atol=10 * SOLVER_DEFAULT)
    exact = robot.sweep("A", np.array([3.0, np.pi, 3.3]), sweep.q[19])
    assert exact.singular == pytest.approx([np.pi])


def test_shaking_force_is_what_the_ground_gives_and_weights_balance_it(turned) -> None:
    rate = 7.0
    force = turned.shaking(rate)[:, 3:]
    masses = {name: turned.robot.body(name).mass for name in ("crank", "coupler", "rocker")}
    by_hand = -sum(m * turned.acceleration(f"{name}.com", rate) for name, m in masses.items())
    np.testing.assert_allclose(force, by_hand, atol=ITERATED)
    balanced = turned.balance(["crank", "rocker"])
    assert balanced.before > 1e-3 and balanced.after < ITERATED * balanced.before  # Berkof and Lowen: complete
    half = masses["coupler"] / 2.0
    np.testing.assert_allclose(balanced.moments["crank"][0], -0.1 * (0.5 * masses["crank"] + half), atol=ITERATED)
    with pytest.raises(DalembertError, match="'coupler' does not turn about a pivot on the ground"):
        turned.balance(["coupler"])


def test_plots_have_labels(turned) -> None:
    curves, coordinates = turned.plot("coupler.com"), turned.plot()
    assert curves.axes[0].get_xlabel() == "x [m]" and len(coordinates.axes) == 2
