"""`robot.edit()`: closures, mimics, mounts, the log, and what is refused and how."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, load, scene
from dalembert.dynamics import algorithms as alg
from dalembert.model.geometry import Box, Cylinder, Mesh, MujocoHull, Plane, Polyhedron, Sphere
from dalembert.spatial import Pose
from tolerances import COMPUTED, PRODUCT, ROUNDING

BALL = {"mass": 1.0, "com": (0.1, 0.0, 0.05), "inertia": np.diag([0.01, 0.02, 0.02])}


def four_bar() -> ModelBuilder:
    """A parallelogram: crank, coupler, rocker, closed at the coupler's end; all axes along y."""
    builder = ModelBuilder("fourbar")
    hinge = {"joint": "revolute", "axis": (0, 1, 0)}
    builder.add_body("ground", parent="world")
    builder.add_body("crank", parent="ground", joint_name="a", **hinge, **BALL)
    builder.add_body("coupler", parent="crank", joint_name="b", xyz=(0, 0, 0.5), **hinge, **BALL)
    builder.add_body("rocker", parent="ground", joint_name="c", xyz=(1, 0, 0), **hinge, **BALL)
    builder.add_body("pad", parent="coupler", xyz=(1, 0, 0), **BALL)
    builder.add_frame("pin", body="pad")
    builder.add_closure("loop", "revolute", a="pin", b="rocker", placement_b=lift(0.5), axis=(0, 1, 0))
    return builder


def lift(z: float) -> Pose:
    return Pose(np.eye(3), np.array([0.0, 0.0, z]))


def gripper():
    builder = ModelBuilder("gripper")
    finger = {"joint": "prismatic", "axis": (0, 1, 0), "lower": 0.0, "upper": 0.04, **BALL}
    builder.add_body("arm", parent="world", joint="revolute", joint_name="wrist", **BALL)
    builder.add_body("hand", parent="arm", xyz=(0, 0, 0.2), **BALL)
    builder.add_body("left", parent="hand", joint_name="left_slide", **finger)
    builder.add_body("right", parent="hand", joint_name="right_slide", mimic=("left_slide", -1.0, 0.01), **finger)
    builder.add_frame("tcp", body="hand", xyz=(0, 0, 0.1))
    return builder.build()


def test_the_old_robot_stays_and_the_log_grows():
    robot = load("ur5")
    before = robot.model.fingerprint
    edited = robot.edit().payload(2.0, frame="tool0", com=(0, 0, 0.1)).lock(elbow_joint=0.5).done()
    assert robot.model.fingerprint == before
    assert edited.total_mass == pytest.approx(robot.total_mass + 2.0, rel=PRODUCT)
    assert edited.nv == 5
    new = edited.import_log[len(robot.import_log) :]
    assert [finding.severity for finding in new] == ["info", "info"]
    assert "payload 'payload' of 2 kg at frame 'tool0'" in new[0].what
    assert "'elbow_joint' at 0.5" in new[1].what
    assert "edit of 'ur5'" in str(new[0])


def test_locking_two_fingers_keeps_the_mass():
    robot = gripper()
    locked = robot.edit().lock(left_slide=0.02).done()
    assert [joint.name for joint in locked.joints] == ["wrist"]
    assert locked.total_mass == robot.total_mass
    poses = {name: alg.frame_pose(locked.model, np.zeros(1), locked.model.frame(name)).p for name in ("left", "right")}
    np.testing.assert_allclose(poses["left"], [0, 0.02, 0.2], atol=ROUNDING)
    np.testing.assert_allclose(poses["right"], [0, -0.01, 0.2], atol=ROUNDING)


def test_locking_a_follower_locks_its_leader():
    by_follower = gripper().edit().lock(right_slide=-0.01).done()
    assert by_follower.model == gripper().edit().lock(left_slide=0.02).done().model
    with pytest.raises(DalembertError, match="moves with 'left_slide'"):
        gripper().edit().lock(left_slide=0.02, right_slide=0.02)


def test_locking_outside_the_limits_is_a_warning():
    finding = gripper().edit().lock(left_slide=0.5).done().import_log[-1]
    assert finding.severity == "warning" and "outside its limits: left_slide" in finding.action


def test_energy_of_locked_springs_is_stated():
    robot = gripper().edit().set_joint("wrist", stiffness=2.0, rest=0.5).lock(wrist=1.5).done()
    assert "energy of their springs, 1 J" in robot.import_log[-1].action
    assert robot.potential_energy(robot.neutral()) == pytest.approx(
        gripper().potential_energy([1.5, 0.0]), abs=COMPUTED
    )


def test_a_loop_locked_closed_is_left_out_and_locked_open_is_refused():
    builder = four_bar()
    q = {"a": 0.3, "b": -0.3, "c": 0.3}
    locked = builder.build().edit().lock(q).done()
    assert not locked.model.closures and locked.nv == 0
    assert "closure 'loop'" in locked.import_log[-1].action
    kept = builder.build().edit().lock(a=0.3).done().model
    assert len(kept.closures) == 1
    with pytest.raises(DalembertError, match="closure 'loop' cannot hold"):
        builder.build().edit().lock(q | {"c": 0.4})


def test_a_base_held_where_a_closure_to_the_world_cannot_hold_is_refused():
    builder = ModelBuilder("tied")
    builder.add_body("a", parent="world", joint="free", **BALL)
    builder.add_closure("pin", "point", a="world", b="a", placement_a=lift(0.5))
    held = builder.build().edit().base("fixed", at=(0, 0, 0.5, 1, 0, 0, 0)).done()
    assert not held.model.closures and "closure 'pin'" in held.import_log[-1].action
    with pytest.raises(DalembertError, match=r"base: closure 'pin' cannot hold: .* off by 0\.5"):
        builder.build().edit().base("fixed")


def residual(model, q):
    (closure,) = model.closures
    X = [Pose.identity() if f.body < 0 else alg.poses(model, q)[f.body] for f in (closure.a, closure.b)]
    return closure.residual((X[0] @ closure.a.placement).inverse() @ X[1] @ closure.b.placement)


@pytest.mark.parametrize("root", ["coupler", "rocker", "pad"])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_loops_stay_closed_on_another_base(root, base):
    robot = four_bar().build().edit().base(base).reroot(root).done()
    q = robot.neutral()
    for joint, value in (("a", 0.3), ("b", -0.3), ("c", 0.3)):
        q[robot.joint(joint).q] = value
    assert np.max(np.abs(residual(robot.model, q))) < COMPUTED
    q[robot.joint("c").q] = 0.4
    assert np.max(np.abs(residual(robot.model, q))) > 1e-3


def test_scaled_loops_and_shapes():
    builder = four_bar()
    shapes = (Box(np.ones(3)), Sphere(0.5), Cylinder(0.1, 0.2), Plane(np.array([0.0, 0.0, 1.0])))
    mesh = Mesh("a.stl", np.ones(3), MujocoHull(np.eye(3), np.eye(3)[:1], np.array([3]), np.arange(3)))
    hull = Polyhedron(np.eye(3), np.array([[0, 1, 2]]))
    for shape in (*shapes, mesh, hull):
        builder.add_geometry(shape, body="pad", xyz=(0, 0, 1))
    builder.add_closure("rod", "distance", a="world", b="crank", length=0.7)
    model = builder.build().edit().scale(2.0).done().model
    (part,) = [part for body in model.bodies for part in body.parts if part.name == "pad"]
    made = [geometry.shape for geometry in part.geometry]
    assert made[0].size.tolist() == [2, 2, 2] and made[1].radius == 1.0 and made[2].length == 0.4
    assert made[3].normal.tolist() == [0, 0, 1] and made[4].file == "a.stl" and made[4].scale.tolist() == [2, 2, 2]
    assert made[4].hull.points[0, 0] == 2.0 and made[4].hull.normals[0, 0] == 1.0
    assert made[5].triangles.tolist() == [[0, 1, 2]] and made[5].vertices[0, 0] == 2.0
    assert part.geometry[0].placement.p.tolist() == [0, 0, 2]
    assert model.closures[1].length == 1.4


def test_equations_between_joints_when_one_is_locked():
    builder = four_bar()
    builder.add_equation("law", "b", "a", coefficients=(0.0, 2.0))
    builder.add_equation("bent", "c", "a", coefficients=(0.1, 0.0, 1.0))
    held = {"a": 0.5}
    left = {c.name: c for c in builder.build().edit().lock(held).done().model.closures if c.kind == "equation"}
    assert left["law"].leader == "" and left["law"].coefficients.tolist() == [1.0]
    assert left["bent"].coefficients.tolist() == [0.35]
    back = builder.build().edit().lock(b=0.8).done().model.closures[1]
    assert (back.follower, back.leader, back.coefficients.tolist()) == ("a", "", [0.4])
    with pytest.raises(DalembertError, match="equation 'law' asks joint 'b' to be at 1"):
        builder.build().edit().lock(a=0.5, b=0.8)
    with pytest.raises(DalembertError, match="lock 'a' as well"):
        builder.build().edit().lock(c=0.8)


def test_removing_takes_all_that_sits_on_a_fixed_link():
    robot = gripper()
    bare = robot.edit().remove("hand").done()
    assert bare.total_mass == pytest.approx(1.0) and bare.nv == 1
    assert {frame.name for frame in bare.frames} == {"world", "arm"}
    assert "3 link(s) of 3 kg are gone: hand, left, right" in bare.import_log[-1].action
    opened = four_bar().build().edit().remove("rocker").done()
    assert not opened.model.closures and "loop" in opened.import_log[-1].action
    assert "tcp" not in {f.name for f in robot.edit().remove("tcp").done().frames}
    with pytest.raises(DalembertError, match="'right_slide' follows 'left_slide'"):
        robot.edit().remove("left")
    free = robot.edit().set_joint("right_slide", mimic=None).remove("left").done()
    assert [joint.name for joint in free.joints] == ["wrist", "right_slide"]


def test_what_sits_on_a_fixed_link_moves_with_it():
    robot = gripper().edit().set_placement("hand", xyz=(0, 0, 0.3)).set_placement("tcp", xyz=(0, 0, 0.2)).done()
    q = robot.neutral()
    heights = {f: float(alg.frame_pose(robot.model, q, robot.model.frame(f)).p[2]) for f in ("hand", "left", "tcp")}
    assert heights == pytest.approx({"hand": 0.3, "left": 0.3, "tcp": 0.5})
    moved = robot.edit().set_placement("left", xyz=(0, 0, 0.1)).done().model
    assert alg.frame_pose(moved, q, moved.frame("left")).p[2] == pytest.approx(0.4)


def test_a_merged_fixed_link_leaves_its_frame_and_gives_its_shapes():
    builder = four_bar()
    builder.add_geometry(Sphere(0.1), body="pad", xyz=(0, 0, 0.1))
    robot = builder.build()
    merged = robot.edit().merge("pad").done()
    coupler = merged.model.body("coupler")
    assert [part.name for part in coupler.parts] == ["coupler"]
    assert coupler.parts[0].geometry[0].placement.p.tolist() == [1.0, 0.0, 0.1]
    assert merged.frame("pad").placement[0, 3] == 1.0
    assert merged.body("coupler").mass == robot.body("coupler").mass
    gone = merged.edit().remove("coupler").done()
    assert {f.name for f in gone.frames} == {"ground", "crank", "rocker"}


@pytest.mark.parametrize("name", ["ur5", "panda", "quadruped", "scara"])
def test_base_as_when_loaded_so(name):
    fixed, free = load(name, base="fixed"), load(name, base="free")
    assert fixed.edit().base("free").done() == free
    assert free.edit().base("fixed").done() == fixed


def test_a_robot_that_hangs_on_the_world_can_float():
    robot = gripper().edit().base("free").done()
    assert robot.bodies[0].name == "world_link" and robot.nv == 8
    turned = gripper().edit().reroot("hand").done()
    assert "joint 'wrist' moves no mass now" in turned.import_log[-1].what
    assert turned.bodies[0].name == "hand" and turned.frame("world_link")
    again = gripper().edit().rename({"world": "floor"}).done()
    assert again.bodies[0].name == "floor" and again.nv == 2


def test_two_arms_on_a_torso():
    torso = ModelBuilder("torso")
    torso.add_body("trunk", parent="world", joint="free", mass=20.0, inertia=np.eye(3))
    torso.add_frame("left", body="trunk", xyz=(0, 0.3, 0.4))
    torso.add_frame("right", body="trunk", xyz=(0, -0.3, 0.4))
    arm = load("ur5")
    editor = torso.build().edit()
    robot = editor.attach(arm, frame="left", prefix="l_").attach(arm, frame="right", prefix="r_", rpy=(0, 0, 3)).done()
    assert robot.nv == 6 + 12 and robot.joint("r_elbow_joint").kind == arm.joint("elbow_joint").kind
    assert robot.total_mass == pytest.approx(20.0 + 2 * arm.total_mass, rel=PRODUCT)
    with pytest.raises(DalembertError, match=r"already a link or frame .* give prefix"):
        robot.edit().attach(arm, frame="left", prefix="l_")
    tied = four_bar()
    tied.add_closure("bolt", "weld", a="world", b="ground")
    bolted = robot.edit().attach(tied.build(), frame="left", prefix="t_").done()
    assert [c.name for c in bolted.model.closures] == ["t_loop"] and "t_bolt" in bolted.import_log[-1].action
    loop = four_bar().build()
    both = loop.edit().attach(loop, frame="pin", prefix="x_").done().model
    assert [c.name for c in both.closures] == ["loop", "x_loop"]
    hung = robot.edit().attach(gripper(), frame="left", prefix="g_").done()
    assert hung.frame("g_world") and hung.joint("g_right_slide").leader == "g_left_slide"


def test_joints_take_any_parameter():
    robot = gripper()
    edited = robot.edit().set_joint("wrist", damping=0.5, friction=0.1, armature=0.2, lower=-1.0, upper=1.0).done()
    assert edited.joint("wrist").damping == [0.5] and edited.joint("wrist").lower == [-1.0]
    spun = edited.edit().set_joint("wrist", kind="continuous", axis=(0, 1, 0)).done()
    assert spun.joint("wrist").kind == "continuous" and spun.joint("wrist").damping == [0.5]
    tied = robot.edit().set_joint("right_slide", mimic=("left_slide", 1.0, 0.0)).done()
    assert tied.joint("right_slide").ratio == 1.0
    with pytest.raises(DalembertError, match="unknown joint kind 'ball'"):
        robot.edit().set_joint("wrist", kind="ball")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda e: e.payload(1.0, frame="tpc"), "payload: unknown link or frame 'tpc': did you mean 'tcp'?"),
        (lambda e: e.payload(-1.0, frame="tcp"), "mass is negative"),
        (lambda e: e.payload(1.0, frame="tcp", name="hand"), "already a link or frame 'hand'"),
        (lambda e: e.lock(wirst=0.1), "lock: unknown joint 'wirst': did you mean 'wrist'?"),
        (lambda e: e.lock(wrist=[0.1, 0.2]), "joint 'wrist' has a value of shape"),
        (lambda e: e.lock(wrist=np.nan), "expected finite numbers"),
        (lambda e: e.lock(wrist="x"), "expected 1 number"),
        (lambda e: e.lock(), "no joint is given"),
        (lambda e: e.set_inertia("arm"), "give mass, com or inertia"),
        (lambda e: e.set_inertia("arm", mass=1.0, inertia=np.diag([1, 1, 5])), "triangle inequality"),
        (lambda e: e.set_joint("wrist", dumping=1.0), "unknown argument 'dumping': did you mean 'damping'?"),
        (lambda e: e.set_joint("wrist", lower=1.0, upper=-1.0), "above upper limit"),
        (lambda e: e.set_joint("wrist"), "give what is to change"),
        (lambda e: e.remove("world"), "is the base"),
        (lambda e: e.merge("world"), "is the base"),
        (lambda e: e.merge("hand", at=0.1), "is a fixed link"),
        (lambda e: e.base("loose"), "unknown base 'loose'"),
        (lambda e: e.base("free", at=[0] * 7), "only for a base that was free"),
        (lambda e: e.reroot("tcp"), "unknown link 'tcp'"),
        (lambda e: e.attach("ur5", frame="tcp"), "expected a Robot or a Model, got str"),
        (lambda e: e.scale(-1.0), "length is -1.0, expected a factor above 0"),
        (lambda e: e.scale(2.0, mass=1.0, density=1.0), "both mass and density"),
        (lambda e: e.gravity((1, 2)), "gravity has shape"),
        (lambda e: e.rename({"left": "right"}), "would have one name"),
        (lambda e: e.rename({"left": "world"}), "'world' is reserved for the world"),
        (lambda e: e.add_frame("tcp", body="arm"), "already a link or frame 'tcp'"),
    ],
)
def test_refusals(edit, words):
    with pytest.raises(DalembertError) as error:
        edit(gripper().edit())
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_quaternion_must_have_unit_length():
    builder = ModelBuilder("ball")
    builder.add_body("a", parent="world", joint="ball", **BALL)
    with pytest.raises(DalembertError, match="not of unit length"):
        builder.build().edit().lock(a=(1, 1, 0, 0))
    assert builder.build().edit().lock(a=(0, 1, 0, 0)).done().nv == 0


def test_another_base_is_held_where_it_is_at_the_given_configuration():
    robot = gripper()
    q = np.array([0.4, 0.02])
    held = robot.edit().reroot("left", q=q).done()
    there = alg.frame_pose(robot.model, q, robot.model.frame("left")).matrix()
    np.testing.assert_allclose(held.bodies[0].placement, there, atol=ROUNDING)
    assert "as they were: left_slide, wrist" in held.import_log[-2].action
    with pytest.raises(DalembertError, match="reroot: q has shape"):
        robot.edit().reroot("left", q=q[:1])
    builder = ModelBuilder("ball")
    builder.add_body("a", parent="world", joint="ball", **BALL)
    turned = builder.build().edit().reroot("a").done()
    assert "with coordinates of the inverse motion: a" in turned.import_log[-2].action
    with pytest.raises(DalembertError, match="not of unit length"):
        builder.build().edit().reroot("a", q=(2, 0, 0, 0))


def test_another_base_above_a_floor_floats_as_the_one_before():
    """The floor stays where it is: it is not hung on the robot."""
    builder = ModelBuilder("hopper")
    builder.add_body("ground", parent="world")
    builder.add_geometry(Plane((0, 0, 1)), body="ground", role="collision")
    builder.add_body("trunk", parent="ground", joint="free", joint_name="root", xyz=(0, 0, 1), **BALL)
    builder.add_body("leg", parent="trunk", joint="revolute", joint_name="hip", axis=(0, 1, 0), xyz=(0.2, 0, 0), **BALL)
    builder.add_frame("foot", body="leg", xyz=(0, 0, -0.3))
    robot = builder.build()
    turned = robot.edit().reroot("leg").done()
    assert [(joint.name, joint.kind, joint.parent) for joint in turned.joints] == [
        ("root", "free", "ground"),
        ("hip", "revolute", "leg"),
    ]
    q = np.concatenate([robot.neutral()[:7], [0.3]])
    X = robot.pose(q, "leg")
    p = np.concatenate([X[:3, 3] - [0, 0, 1], turned.neutral()[3:7], [0.3]])
    p[3:7] = np.cos(0.15), 0.0, np.sin(0.15), 0.0
    np.testing.assert_allclose(turned.pose(p, "foot"), robot.pose(q, "foot"), atol=ROUNDING)
    np.testing.assert_allclose(turned.potential_energy(p), robot.potential_energy(q), rtol=COMPUTED)
    assert turned.edit().reroot("trunk").done().joints[0].child == "trunk"
    with pytest.raises(DalembertError, match="'ground' is the ground below the robot, whose base is 'trunk'"):
        robot.edit().reroot("ground")


def test_scaling_refuses_friction_that_has_two_speeds():
    builder = ModelBuilder("tube")
    builder.add_body("a", parent="world", joint="cylindrical", friction=(0.1, 0.2), **BALL)
    with pytest.raises(DalembertError, match=r"joint 'a' has friction against turning and against sliding"):
        builder.build().edit().scale(2.0)


def test_robots_without_mass_can_be_edited() -> None:
    """Kinematics alone: a file without inertias."""
    builder = ModelBuilder("arm")
    for name, parent in (("upper", "world"), ("fore", "upper"), ("hand", "fore")):
        builder.add_body(name, parent=parent, joint="revolute", axis=(0, 1, 0), xyz=(0, 0, 0.3))
    robot = builder.build()
    held = robot.edit().lock(fore=0.3).add_frame("tool", body="hand").scale(2.0).done()
    assert held.nv == 2 and held.body("hand").mass == 0.0
    assert robot.edit().remove("hand").reroot("fore").done().nv == 2


SPRUNG = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="trunk"><freejoint/>
<geom size=".1" mass="2"/><body name="upper"><joint name="shoulder" axis="0 1 0"/>
<geom size=".1" mass="1" pos=".2 0 0"/><body name="fore" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
<geom size=".1" mass="1" pos=".2 0 0"/></body></body></body></worldbody>
<tendon><fixed name="pull" stiffness="30" springlength="0.1"><joint joint="shoulder" coef="1"/>
<joint joint="elbow" coef="-0.5"/></fixed></tendon></mujoco>"""


def test_the_base_of_a_robot_above_a_floor_is_the_robot() -> None:
    floating = load(SPRUNG)
    held = floating.edit().base("fixed", at=[0, 0, 0.5, 1, 0, 0, 0]).done()
    assert (held.nq, held.model.floating) == (2, False)
    np.testing.assert_allclose(held.pose([0.0, 0.0], "trunk")[:3, 3], [0.0, 0.0, 0.5])


def test_locked_joints_keep_their_share_of_a_tendon() -> None:
    """Its length is shoulder − elbow / 2: held at 0.4, the elbow's part goes to the spring's rest."""
    robot = load(SPRUNG)
    (tendon,) = robot.edit().lock(elbow=0.4).done().model.mujoco.tendons
    assert tendon.joints == (("shoulder", 1.0),) and tendon.stiffness == 30.0
    assert tendon.rest == pytest.approx((0.1 + 0.2, 0.1 + 0.2))
    assert robot.edit().lock(elbow=0.4, shoulder=0.7).done().model.mujoco.tendons == ()


def test_scaling_says_that_it_leaves_out_tendons() -> None:
    large = load(SPRUNG).edit().scale(2.0).done()
    assert large.model.mujoco.tendons == () and "tendons are left out" in str(large.import_log)


def test_attached_robots_have_actuators_and_tendons_under_their_prefix() -> None:
    driven = SPRUNG.replace(
        "</mujoco>",
        """<actuator><motor name="pull" tendon="pull"/></actuator>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.1 0.2"/></keyframe></mujoco>""",
    )
    pair = scene(left=load(driven), right=load(driven), at={"right": (0, 1, 0)})
    assert [actuator.name for actuator in pair.actuators] == ["left_pull", "right_pull"]
    assert [tendon.name for tendon in pair.model.mujoco.tendons] == ["left_pull", "right_pull"]
    assert "its keyframes are left out: home" in str(pair.import_log)
    stump = load(driven).edit().remove("fore").done()
    assert [finding.what for finding in stump.import_log[-2:]] == ["actuators 'pull'", "tendons 'pull'"]


def test_doubts_about_a_robot_stay_when_it_is_attached() -> None:
    inertia = "<mass value='1'/><inertia ixx='5' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"  # no body has this one
    doubtful = load(f"<robot name='r'><link name='l'><inertial>{inertia}</inertial></link></robot>")
    assert set(doubtful.import_log) <= set(scene(doubtful).import_log) and doubtful.import_log
