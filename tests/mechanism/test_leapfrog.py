"""Free bodies with multipliers in time: order, closed joints, redundant and misaligned bearings, springs, batches."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Mechanism
from dalembert.dynamics import algorithms
from mechanism_linkages import add_bar, chain, four_bar, slider_crank, two_bodies
from tolerances import (
    COARSE_RUN,
    COMPUTED,
    DEFAULT_RUN,
    INTEGRATED,
    ITERATED,
    MILLISECOND_STEPS,
    ORDER,
    REORDERED,
    ROUGH_SLOPE,
    ROUNDING,
    TIGHT_RUN,
)

HINGE = 2e-4  # the misalignment of 0.1 mm, and as much again [m]
SWINGING = 0.05  # of a mean sag, taken over a few swings
DAMPED = 2e-3  # of a load while the beam still settles

KINDS = (
    "revolute", "prismatic", "screw", "cylindrical", "universal", "spherical", "planar", "point-on-line",
    "point-on-plane", "distance", "fixed",
)  # fmt: skip


def gap(robot, q: np.ndarray, v: np.ndarray) -> float:
    return float(np.max(np.abs(algorithms.constraints(robot.model, q, v).residual)))


def orders(errors: list[float]) -> np.ndarray:
    return np.log2(np.divide(errors[:-1], errors[1:]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_converges_to_the_tree(kind: str) -> None:
    m = two_bodies(kind)
    tree, free = m.build("tree"), m.build("free")
    exact = tree.rollout(*tree.start, step=1e-3, steps=200, integrator="rk4")
    wanted = np.array([tree.pose(exact.q, f"{name}.com") for name in ("arm", "hand")])
    errors, gaps = [], []
    for steps in (200, 400, 800):
        end = free.rollout(*free.start, step=0.2 / steps, steps=steps, integrator="leapfrog")
        reached = np.array([free.pose(end.q, f"{name}.com") for name in ("arm", "hand")])
        errors.append(np.max(np.abs(reached - wanted)))
        gaps.append(gap(free, end.q, end.v))
    assert errors[-1] < 2 * COARSE_RUN and gaps[-1] < TIGHT_RUN
    np.testing.assert_allclose(orders(errors), 2.0, atol=3.5 * ORDER)


def test_joints_stay_closed_to_third_order() -> None:
    robot = slider_crank(pin="point-on-line").build("free")
    gaps = []
    for steps in (200, 400, 800):
        end = robot.rollout(*robot.start, step=0.1 / steps, steps=steps, integrator="leapfrog")
        gaps.append(gap(robot, end.q, end.v))
    np.testing.assert_allclose(orders(gaps), 3.0, atol=3 * ORDER)


def test_a_run_and_a_rollout_agree_to_the_order_of_the_method() -> None:
    m = slider_crank(pin="point-on-line")
    m.spring("slider.com", "ground.A", stiffness=50.0, length=0.3, damping=0.4)
    robot = m.build("free")
    differences, residuals = [], []
    for steps in (50, 100):
        h = 0.1 / steps
        run = robot.simulate(*robot.start, 0.1, integrator="leapfrog", step=h, record=0.1)
        end = robot.rollout(*robot.start, step=h, steps=steps, integrator="leapfrog")
        differences.append(np.max(np.abs(run.q[-1] - end.q)))
        residuals.append(abs(run.energy.residual[-1]))
    assert residuals[1] < MILLISECOND_STEPS and residuals[1] < 0.4 * residuals[0]
    assert differences[1] < 2 * COARSE_RUN and differences[1] < 0.4 * differences[0]


def test_records_are_states_of_whole_steps() -> None:
    """Positions and velocities belong to the same time: the energy of a pendulum is kept at every record."""
    robot = chain(2).build("free")
    end = robot.rollout(*robot.start, step=1e-4, steps=5000, integrator="leapfrog", every=50)
    energy = robot.energy(end.q, end.v)
    moving = robot.kinetic_energy(end.q, end.v)
    assert np.max(np.abs(energy - robot.energy(*robot.start))) < INTEGRATED * np.max(moving)
    assert end.q.shape == (100, robot.nq)
    last = robot.rollout(*robot.start, step=1e-4, steps=5000, integrator="leapfrog")
    np.testing.assert_allclose(last.q, end.q[-1], atol=REORDERED)


def test_batches_move_as_one_does() -> None:
    robot = chain(2).build("free")
    q, v = robot.start
    many = robot.rollout(np.stack([q] * 3), np.stack([v, v, v]), step=1e-3, steps=50, integrator="leapfrog")
    one = robot.rollout(q, v, step=1e-3, steps=50, integrator="leapfrog")
    for k in range(3):
        np.testing.assert_allclose(many.q[k], one.q, atol=COMPUTED)


def test_a_tumbling_body_keeps_its_energy_and_its_length() -> None:
    m = Mechanism("tumbling", gravity=(0, 0, 0)).body("b", 1.0, [1.0, 2.0, 2.9], spin=(0.01, 1.0, 0.01))
    robot = m.build("free")
    errors = []
    for h in (1e-2, 5e-3):
        end = robot.rollout(*robot.start, step=h, steps=round(20.0 / h), integrator="leapfrog", every=50)
        errors.append(np.max(np.abs(robot.energy(end.q, end.v) - robot.energy(*robot.start))))
        np.testing.assert_allclose(np.linalg.norm(end.q[:, 3:], axis=1), 1.0, atol=ROUNDING)
    assert errors[1] < 10 * COARSE_RUN and errors[0] / errors[1] > 3.0


# ---- redundant and misaligned bearings


def door(offset: float = 0.0, **options) -> Mechanism:
    """A door on two hinges, one of which is off by so much."""
    m = Mechanism("door")
    m.ground(low=(0, 0, 0), high=(0, offset, 2.0))
    m.body("leaf", 20.0, [7.0, 9.0, 2.0], points={"low": (-0.5, 0, -1.0), "high": (-0.5, 0, 1.0)}, xyz=(0.5, 0, 1.0))
    m.joint(
        "revolute", "ground.low", "leaf.low", name="low", **({} if options else {"start": 0.0, "rate": 1.0}), **options
    )
    m.joint("revolute", "ground.high", "leaf.high", name="high", **options)
    return m


def test_redundant_bearings_do_not_disturb_the_motion() -> None:
    robot = four_bar(rate=3.0).build("free")
    tree = four_bar(rate=3.0).build("tree")
    end = robot.rollout(*robot.start, step=1e-4, steps=3000, integrator="leapfrog")
    exact = tree.rollout(*tree.start, step=1e-3, steps=300, integrator="rk4")
    np.testing.assert_allclose(robot.pose(end.q, "rocker.com"), tree.pose(exact.q, "rocker.com"), atol=2 * INTEGRATED)


def test_a_misaligned_bearing_is_named() -> None:
    with pytest.raises(DalembertError, match=r"joint 'high' cannot close: .* are missing"):
        door(offset=1e-4).build()


def test_a_misaligned_bearing_with_stated_compliance_moves_and_shares_the_load() -> None:
    """0.1 mm off: with compliant hinges the door opens; both hinges carry half of its weight."""
    compliance = (1e-8, 1e-6)
    m = door(offset=1e-4, compliance=compliance)
    m.spring("leaf.com", "ground.low", stiffness=0.0, damping=0.0)
    m.sensor("force", "low").sensor("force", "high")
    robot = m.build("free")
    end = robot.rollout(*robot.start, step=1e-4, steps=4000, integrator="leapfrog", every=100)
    assert np.all(np.isfinite(end.q))
    low, high = (robot.pose(end.q, f"leaf.{p}")[:, :3, 3] - (0, 0, z) for p, z in (("low", 0.0), ("high", 2.0)))
    assert np.max(np.abs(low)) < HINGE and np.max(np.abs(high)) < HINGE
    sag = np.mean(low[20:, 2] + high[20:, 2])
    assert sag == pytest.approx(-20.0 * 9.81 * compliance[0], rel=SWINGING)  # both springs, half the weight each


def test_forces_of_redundant_bearings_are_unique_with_compliance() -> None:
    """Three supports of a beam: rigid bodies cannot tell, compliant joints can. Reactions as of a beam on springs."""
    loads = []
    for order in ((0, 1, 2), (2, 0, 1)):
        m = Mechanism("beam")
        m.body("beam", 30.0, [0.1, 10.0, 10.0], points={f"p{k}": (x, 0, 0) for k, x in enumerate((-1.0, 0.2, 1.0))})
        for k, x in enumerate((-1.0, 0.2, 1.0)):
            m.point("ground", f"p{k}", (x, 0, 0))
        for k in order:
            m.joint("spherical", f"ground.p{k}", f"beam.p{k}", name=f"s{k}", compliance=1e-7)
        for k in range(3):
            m.sensor("force", f"s{k}")
            m.point("ground", f"above{k}", ((-1.0, 0.2, 1.0)[k], 0, 1.0))
            m.damper(f"beam.p{k}", f"ground.above{k}", damping=1e4)
        robot = m.build("free")
        end = robot.rollout(*robot.start, step=1e-4, steps=4000, integrator="leapfrog")
        sag = np.array([robot.pose(end.q, f"beam.p{k}")[2, 3] for k in range(3)])
        loads.append(-sag / 1e-7)
    x = np.array([-1.0, 0.2, 1.0])
    stiff = np.array([[3.0, x.sum()], [x.sum(), x @ x]])
    a, b = np.linalg.solve(stiff, [30.0 * 9.81, 0.0])
    np.testing.assert_allclose(loads[0], a + b * x, rtol=DAMPED)
    np.testing.assert_allclose(loads[1], loads[0], rtol=ITERATED)


def test_the_document_scheme_converges_with_first_order() -> None:
    """Explicit steps of axis-angle increments, joints held by springs."""
    m = Mechanism("two bars", gravity=(0.0, -9.81, 0.0))
    add_bar(m, "one", 0.2, xyz=(0.1, 0.0))
    add_bar(m, "two", 0.2, xyz=(0.3, 0.0))
    m.joint("revolute", "ground.origin", "one.a", name="A", hold="springs", stiffness=1e4, damping=20.0)
    m.joint("revolute", "one.b", "two.a", name="B", hold="springs", stiffness=1e4, damping=20.0)
    robot = m.build("free")
    exact = robot.rollout(*robot.start, step=1e-5, steps=10000, integrator="rk4")
    errors = []
    for steps in (10000, 20000, 40000):
        end = robot.rollout(*robot.start, step=0.1 / steps, steps=steps, integrator="axis-angle")
        errors.append(np.max(np.abs(end.q - exact.q)))
    np.testing.assert_allclose(orders(errors), 1.0, atol=1.5 * ORDER)


def test_advised_springs_hold_for_their_step() -> None:
    h = 1e-4
    m = Mechanism("bars", gravity=(0.0, -9.81, 0.0))
    for k in range(3):
        add_bar(m, f"b{k}", 0.2, xyz=(0.2 * k + 0.1, 0.0))
        m.joint("revolute", "ground.origin" if not k else f"b{k - 1}.b", f"b{k}.a", name=f"j{k}", hold="springs")
    with pytest.raises(DalembertError, match="joint 'j0' is held by springs: give its stiffness"):
        m.build("free")
    robot = m.build("free", step=h)
    end = robot.rollout(*robot.start, step=h, steps=5000, integrator="axis-angle")
    for k in range(3):
        a = np.zeros(3) if not k else robot.pose(end.q, f"b{k - 1}.b")[:3, 3]
        assert np.max(np.abs(robot.pose(end.q, f"b{k}.a")[:3, 3] - a)) < 10 * COARSE_RUN


# ---- what it refuses


def test_only_free_bodies_take_it() -> None:
    robot = slider_crank().build("tree")
    with pytest.raises(DalembertError, match=r"leapfrog' moves free bodies, and joint 'pivot' .* is revolute"):
        robot.rollout(*robot.start, integrator="leapfrog")
    geared = Mechanism("gears").body("a", 1.0, 0.1).body("b", 1.0, 0.1)
    geared.joint("revolute", "ground.origin", "a.origin").joint("revolute", "ground.origin", "b.origin")
    geared.gear("a", "b", teeth=(10, 20))
    with pytest.raises(DalembertError, match=r"move free bodies, and \w+ 'gear1' ties coordinates of joints"):
        robot = geared.build("free")
        robot.rollout(*robot.start, integrator="leapfrog")


def test_an_open_start_is_refused_with_the_joint() -> None:
    robot = chain(2).build("free")
    q, v = robot.start
    q = q + np.eye(robot.nq)[0] * 1e-3
    with pytest.raises(DalembertError, match=r"joint 'j0' of robot 'chain' is open by 0\.001"):
        robot.rollout(q, v, step=1e-4, steps=10, integrator="leapfrog")


def test_a_body_without_inertia_about_an_axis_is_refused() -> None:
    m = Mechanism("rod").body("rod", 1.0, [0.0, 0.1, 0.1], points={"end": (0.5, 0, 0)})
    m.joint("spherical", "ground.origin", "rod.end")
    robot = m.build("free")
    with pytest.raises(DalembertError, match="'rod' has no inertia about one of its axes"):
        robot.rollout(*robot.start, integrator="leapfrog")


def test_multipliers_are_refused_by_the_explicit_scheme() -> None:
    robot = chain(1).build("free")
    with pytest.raises(DalembertError, match="joint 'j0' is held by multipliers"):
        robot.rollout(*robot.start, integrator="axis-angle")


# ---- one motion as loops over bodies and joints, batches one body after the other


def test_loops_over_bodies_and_joints_move_as_unrolled_code_does() -> None:
    """A batch of two motions has no loop."""
    robot = chain(6).build("free")
    options = {"step": 1e-4, "steps": 20, "integrator": "leapfrog"}
    alone = robot.rollout(*robot.start, **options)
    batch = robot.rollout(np.stack([robot.start[0]] * 2), robot.start[1], **options)
    np.testing.assert_allclose(batch.q[1], alone.q, atol=COMPUTED)
    np.testing.assert_allclose(batch.v[0], alone.v, atol=ITERATED)


def test_a_long_chain_is_eliminated_joint_by_joint() -> None:
    robot = chain(40).build("free")
    end = robot.rollout(*robot.start, step=1e-4, steps=500, integrator="leapfrog")
    assert gap(robot, end.q, end.v) < ITERATED
    assert robot.energy(end.q, end.v) == pytest.approx(robot.energy(*robot.start), abs=COARSE_RUN)
    assert robot.kinetic_energy(end.q, end.v) > 0.01


def test_springs_in_loops_push_as_unrolled_ones_do() -> None:
    m = Mechanism("springs", gravity=(0.0, -9.81, 0.0))
    for k in range(6):
        add_bar(m, f"b{k}", 0.2 if k != 3 else 0.3, xyz=(0.2 * k + 0.1, 0.01 * k))
        options = {"hold": "springs", "stiffness": 1e5 + k, "damping": 10.0}
        m.joint("revolute", "ground.origin" if not k else f"b{k - 1}.b", f"b{k}.a", name=f"j{k}", **options)
    robot = m.build("free", step=1e-5)
    options = {"step": 1e-5, "steps": 300, "integrator": "axis-angle"}
    alone = robot.rollout(*robot.start, **options)
    batch = robot.rollout(np.stack([robot.start[0]] * 2), robot.start[1], **options)
    np.testing.assert_allclose(batch.q[1], alone.q, atol=COMPUTED)
    plain = robot.simulate(*robot.start, 3e-3, integrator="axis-angle", step=1e-5, record=3e-3)
    np.testing.assert_allclose(plain.q[-1], alone.q, atol=COMPUTED)


@pytest.mark.parametrize("integrator", ["leapfrog", "axis-angle"])
def test_gradients_of_rollouts_are_slopes_of_the_motion(integrator: str) -> None:
    m = Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
    add_bar(m, "bar", 0.2, xyz=(0.1, 0.0))
    held = {"hold": "springs", "stiffness": 1e4, "damping": 5.0} if integrator == "axis-angle" else {}
    m.joint("revolute", "ground.origin", "bar.a", name="pivot", **held)
    robot = m.build("free", step=1e-4)
    q, v = robot.start
    options = {"step": 1e-4, "steps": 50, "integrator": integrator}
    slopes = robot.rollout_gradient(lambda t, q, v: q[1] + 0.1 * v[2], q, v, **options)
    spin = np.array([0, 0, 1.0, 0, 0.1, 0])  # about the pivot
    h = 1e-5
    ends = [robot.rollout(q, v + s * h * spin, **options) for s in (1, -1)]
    numbers = [end.q[1] + 0.1 * end.v[2] for end in ends]
    assert slopes.v @ spin == pytest.approx((numbers[0] - numbers[1]) / (2 * h), rel=20 * ROUGH_SLOPE)


def test_arrays_of_torch_move_alike() -> None:
    torch = pytest.importorskip("torch")
    robot = chain(1).build("free")
    q, v = robot.start
    options = {"step": 1e-4, "steps": 20, "integrator": "leapfrog"}
    there = robot.rollout(torch.tensor(q), torch.tensor(v), **options)
    np.testing.assert_allclose(there.q.numpy(), robot.rollout(q, v, **options).q, atol=ITERATED)


@pytest.mark.long
def test_a_quaternion_stays_of_unit_length_over_a_hundred_million_steps() -> None:
    m = Mechanism("top", gravity=(0, 0, 0)).body("top", 1.0, [1.0, 2.0, 2.5], xyz=(0, 0, 0), spin=(20.0, 1.0, 30.0))
    robot = m.build("free")
    q, v = robot.start
    end = robot.rollout(q, v, step=1e-7, steps=100_000_000, integrator="leapfrog")
    assert abs(np.linalg.norm(end.q[3:]) - 1.0) < ROUNDING * 4
    assert robot.kinetic_energy(end.q, end.v) == pytest.approx(robot.kinetic_energy(q, v), rel=DEFAULT_RUN)
