"""Forces through closed loops: textbook statics, the same linkage cut elsewhere, and the equations of motion."""

import numpy as np
import pytest

import linkages
from dalembert import DalembertError, ModelBuilder, Wrench, load
from dalembert.spatial import Pose
from tolerances import INTEGRATED, ITERATED, SOLVER_DEFAULT

TINY = 1e-9  # mass of links that the textbook has none of [kg]


def shift(x):
    return Pose(np.eye(3), np.array([x, 0.0, 0.0]))


def slider_crank(r=0.1, length=0.3):
    """Crank about y at the origin, rod, slider along x: links without mass, so that statics alone counts."""
    builder = ModelBuilder("slider-crank", gravity=(0.0, 0.0, 0.0))
    small = {"mass": TINY, "inertia": TINY * np.eye(3)}
    builder.add_body("crank", parent="world", joint="revolute", joint_name="motor", axis=(0, -1, 0), **small)
    builder.add_body(
        "rod", parent="crank", joint="revolute", joint_name="crankpin", axis=(0, -1, 0), xyz=(r, 0, 0), **small
    )
    builder.add_body("slider", parent="world", joint="prismatic", joint_name="guide", axis=(1, 0, 0), **small)
    builder.add_closure("wrist", "point", a="rod", b="slider", placement_a=shift(length), placement_b=shift(0.0))
    return builder.build()


@pytest.mark.parametrize("angle", [0.4, 1.3, 2.5])
def test_slider_crank_against_the_textbook(angle):
    """A force F on the slider: rod force F / cos φ, guide force F tan φ, torque F r sin(θ + φ) / cos φ."""
    r, length, force = 0.1, 0.3, 250.0
    robot = slider_crank(r, length)
    phi = np.arcsin(r * np.sin(angle) / length)
    q = np.array([angle, -angle - phi, r * np.cos(angle) + length * np.cos(phi)])
    zero = np.zeros(3)
    push = [Wrench(force=(-force, 0.0, 0.0), frame="slider")]
    tau = robot.loop_inverse_dynamics(q, zero, zero, actuated="motor", external=push).tau
    assert tau[0] == pytest.approx(-force * r * np.sin(angle + phi) / np.cos(phi), rel=ITERATED)
    F = robot.reaction_wrenches(q, zero, zero, actuated="motor", external=push, axes="world")
    names = [body.name for body in robot.bodies]
    rod = F[names.index("rod"), 3:]
    assert np.linalg.norm(rod) == pytest.approx(force / np.cos(phi), rel=ITERATED)
    np.testing.assert_allclose(rod, force * np.array([1.0, 0.0, -np.tan(phi)]), rtol=ITERATED, atol=INTEGRATED)
    guide = F[names.index("slider"), 3:]
    np.testing.assert_allclose(guide, [0.0, 0.0, force * np.tan(phi)], rtol=ITERATED, atol=INTEGRATED)
    multipliers = robot.loop_inverse_dynamics(q, zero, zero, actuated="motor", external=push).multipliers
    pin = robot.closure_wrenches(q, multipliers)[0]
    assert np.linalg.norm(pin[3:]) == pytest.approx(force / np.cos(phi), rel=ITERATED)
    np.testing.assert_allclose(pin[:3], 0.0, atol=ITERATED)


def cut_at_the_elbow():
    """The four-bar of `linkages`, its coupler hung on the rocker and the loop closed at the elbow."""
    builder = ModelBuilder("four-bar", gravity=(0.0, 0.0, -9.8))
    for name, parent, x in (("A", "world", 0.0), ("C", "world", -2.0)):
        builder.add_body(
            name,
            parent=parent,
            joint="revolute",
            joint_name=f"joint_{name}",
            axis=(0, 1, 0),
            xyz=(x, 0, 0),
            **linkages.LINK,
        )
    back = {"mass": 20.0, "com": (2, 0, 0), "inertia": linkages.LINK["inertia"]}
    builder.add_body("B", parent="C", joint="revolute", joint_name="joint_B", axis=(0, 1, 0), xyz=(4, 0, 0), **back)
    builder.add_closure(
        "pin", "revolute", a="A", b="B", placement_a=linkages.at(4.0), placement_b=linkages.at(4.0), axis=(0, 1, 0)
    )
    return builder.build()


def test_pin_forces_do_not_depend_on_where_the_loop_is_cut():
    """In the plane, where they are determined; the moving linkage, crank driven."""
    one, other = linkages.four_bar(), cut_at_the_elbow()
    q = linkages.crossed(0.9)
    world = q[0] + q[1]  # angle of the coupler; cut elsewhere it points the other way
    p = np.array([q[0], q[2], world + np.pi - q[2]])
    v = one.close_loops(q, [0.7, 0.0, 0.0]).v
    u = np.array([v[0], v[2], v[0] + v[1] - v[2]])
    a = one.loop_dynamics(q, v, [300.0, 0.0, 0.0]).a
    b = np.array([a[0], a[2], a[0] + a[1] - a[2]])
    F = one.reaction_wrenches(q, v, a, actuated="joint_A", axes="world")
    G = other.reaction_wrenches(p, u, b, actuated="joint_A", axes="world")
    plane = [3, 5]
    for body in ("A", "C"):
        i, j = ([x.name for x in robot.bodies].index(body) for robot in (one, other))
        np.testing.assert_allclose(F[i, plane], G[j, plane], rtol=SOLVER_DEFAULT, atol=INTEGRATED)
    tau, sigma = (
        r.loop_inverse_dynamics(*x, actuated="joint_A").tau[0] for r, x in ((one, (q, v, a)), (other, (p, u, b)))
    )
    assert tau == pytest.approx(300.0, rel=ITERATED)
    assert sigma == pytest.approx(300.0, rel=SOLVER_DEFAULT)


def test_reactions_need_to_know_the_motors():
    robot = linkages.four_bar()
    zero = np.zeros(3)
    with pytest.raises(DalembertError, match="actuated"):
        robot.reaction_wrenches(linkages.crossed(0.9), zero, zero)
    with pytest.raises(DalembertError, match="no loops"):
        load("2r").reaction_wrenches(np.zeros(2), np.zeros(2), np.zeros(2), actuated="shoulder")


def test_peak_reactions_through_a_loop():
    robot = linkages.four_bar()
    q = np.array([linkages.crossed(s) for s in (0.7, 0.9, 1.1)])
    zero = np.zeros((3, 3))
    a = robot.loop_dynamics(q, zero, zero).a
    peaks = robot.peak_reactions(q, zero, a, actuated="joint_A")
    assert peaks["joint_B"].force > 0.0
    assert [peak.joint for peak in peaks][-1] == "pin" and len(peaks) == len(robot.bodies) + 1
    solution = robot.loop_inverse_dynamics(q, zero, a, actuated="joint_A")
    pin = robot.closure_wrenches(q, solution.multipliers)[:, 0, 3:]
    assert peaks["pin"].force == pytest.approx(np.linalg.norm(pin, axis=1).max(), rel=ITERATED)


@pytest.mark.parametrize("axes", ["body", "world", "crank"])
def test_the_peak_of_a_closure_is_the_reaction_of_the_linkage_cut_elsewhere(axes):
    """The wrist pin of a slider-crank as a closure, and as a joint: the same force, in axes of the asked kind."""
    r, length, force = 0.1, 0.3, 250.0
    robot, angles = slider_crank(r, length), np.array([0.4, 1.3, 2.5])
    phi = np.arcsin(r * np.sin(angles) / length)
    q = np.column_stack([angles, -angles - phi, r * np.cos(angles) + length * np.cos(phi)])
    push = [Wrench(force=(-force, 0.0, 0.0), frame="slider")]
    peaks = robot.peak_reactions(q, 0 * q, 0 * q, actuated="motor", external=push, axes=axes)
    peak = peaks["wrist"]
    assert (peak.body, peak.force_sample) == ("slider", 1)
    assert peak.force == pytest.approx(force / np.cos(phi[1]), rel=ITERATED)
    assert peaks["slider"].joint == "guide"
    expected = force * np.array([1.0, 0.0, -np.tan(phi[1])])  # the rod pushes the slider, in world axes
    turned = np.eye(3) if axes != "crank" else robot.pose(q[1], "crank")[:3, :3]
    np.testing.assert_allclose(peak.force_wrench[3:], turned.T @ expected, rtol=ITERATED, atol=INTEGRATED)


def test_operational_space_of_a_linkage():
    """Λ ẍ + μ + p = F with ẍ of the constrained motion, at speed."""
    robot = linkages.four_bar()
    q = linkages.crossed(0.9)
    v = robot.close_loops(q, [0.7, 0.0, 0.0]).v
    for rows, F in (((3,), [50.0]), ((5,), [-80.0])):
        task = robot.operational_dynamics(q, v, "B", rows=rows)
        J = robot.jacobian(q, "B")[list(rows)]
        a = robot.loop_dynamics(q, v, J.T @ F).a
        drift = robot.acceleration(q, v, np.zeros(3), "B")[list(rows)]
        moved = J @ a + drift
        left = task.inertia @ moved + task.bias + task.gravity - F
        np.testing.assert_allclose(left, 0.0, atol=ITERATED * max(1.0, np.abs(task.bias).max(), np.abs(F).max()) * 100)
        np.testing.assert_allclose(robot.operational_inertia(q, "B", rows=rows), task.inertia)


def test_a_linkage_has_one_freedom():
    """A task of two rows on a one-freedom linkage has no inertia."""
    robot = linkages.four_bar()
    with pytest.raises(DalembertError, match="depend on one another"):
        robot.operational_inertia(linkages.crossed(0.9), "B", rows=(3, 5))
