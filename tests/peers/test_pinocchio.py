"""Agreement with Pinocchio on every URDF file of example-robot-data, on a fixed and on a free base.

One of both is in the long tests, and of variants of large robots both.

Joint losses are left out, which Pinocchio's recursions do not have, and mimic joints are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from dalembert import DalembertError, Robot, Wrench, function, load
from dalembert.dynamics import algorithms
from peers.example_robots import files, folder, on_both_bases, peer
from peers.pinocchio_twin import Twin
from tolerances import EPS, PEER

pin = peer("pinocchio")

FILES = files()
BOTH_AT_LEAST = 65  # files that both must load

# Files that not both can read, and why. A change on either side must show up here.
ONLY_DALEMBERT: dict[str, str] = {}
ONLY_PINOCCHIO: dict[str, str] = {}
NEITHER = {
    "falcon_description/urdf/falcon.urdf": "unknown link 'Z_propeller'",  # a joint's child that the file does not hold
    "ur_description/urdf/ur3.urdf": "the robot has no <link>",  # an empty <robot>: its xacro was never filled in
}
BOTH = [file for file in FILES if file not in NEITHER | ONLY_DALEMBERT.keys() | ONLY_PINOCCHIO.keys()]

# Files whose mass matrix is singular, with the joint that moves no mass. Forces on it have no finite effect: dalembert
# says so, where Pinocchio's answer is NaN.
MASSLESS = {
    "bluevolta_description/urdf/bluevolta_bravo7_gripper.urdf": "bravo_finger[12]_joint",
    "bravo7_description/urdf/bravo7_gripper.urdf": "bravo_finger[12]_joint",
    "falcon_description/urdf/falcon_bravo7_gripper.urdf": "bravo_finger[12]_joint",
    "romeo_description/urdf/romeo.urdf": "RThumb3",
    "romeo_description/urdf/romeo_laas_small.urdf": "r_gripper_joint",
}

STATES = 3
POINT = (0.1, -0.2, 0.3)
# Round-off of a solve grows with the condition number of M; this many eps per unit of it were never needed.
SOLVE_PER_CONDITION = 16 * EPS

FREE_AND_PLANAR = """
<robot name="cart">
  <link name="ground"/>
  <link name="cart"><inertial><origin xyz="0.1 0.2 -0.1" rpy="0.3 0.2 0.1"/><mass value="3"/>
    <inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="-0.03" izz="0.25"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.3 0 0.1"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial></link>
  <link name="drone"><inertial><origin xyz="0 0.02 0.05"/><mass value="0.8"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.012" iyz="0" izz="0.015"/></inertial></link>
  <joint name="floor" type="planar"><parent link="ground"/><child link="cart"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><axis xyz="0 0 1"/></joint>
  <joint name="shoulder" type="continuous"><parent link="cart"/><child link="arm"/>
    <origin xyz="0 0.1 0.4" rpy="0 1 0"/><axis xyz="0.6 0 0.8"/></joint>
  <joint name="flight" type="floating"><parent link="arm"/><child link="drone"/>
    <origin xyz="0.5 0 0" rpy="0 0.7 0.2"/></joint>
</robot>
"""


def bare(source: Any, **options: Any) -> Robot:
    return load(source, mimic="free", **options).without("friction", "damping", "armature", "springs")


def geared(robot: Robot) -> Robot:
    """The robot with a rotor on every joint but the free one."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, armature=0.1)) if body.joint.kind != "free" else body
        for body in robot.model.bodies
    )
    return Robot(replace(robot.model, bodies=bodies))


def states(robot: Robot) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """q all over the configuration space, whatever the limits; v and a (or tau) of order 1."""
    rng = np.random.default_rng(robot.nv)
    steps = rng.normal(size=(STATES, 3, robot.nv))
    return [(algorithms.integrate(robot.model, robot.neutral(), 2.0 * dq), v, a) for dq, v, a in steps]


def agree(what: str, ours: Any, theirs: Any, tolerance: float = PEER, size: float = 0.0) -> None:
    """Same shape, no NaN, and a difference within `tolerance` of the largest entry (or of `size` if that is more)."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, f"{what}: shape {ours.shape}, Pinocchio {theirs.shape}"
    if theirs.size == 0:
        return
    error = np.max(np.abs(ours - theirs)) / (max(size, np.max(np.abs(theirs))) or 1.0)
    assert error <= tolerance, f"{what}: relative error {error:.3g} > {tolerance:.3g}\n{ours}\nPinocchio\n{theirs}"


def places(frames: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """(frame, axes, whether at POINT): origin and point, in world and body axes in turn."""
    for i, frame in enumerate(frames):
        yield frame, "world", i % 2 == 0
        yield frame, "body", i % 2 == 1


def ours(robot: Robot, frames: Iterable[str], forward: bool, q: Any, v: Any, a: Any) -> dict[str, Any]:
    """What dalembert says of one state, by name; a is the acceleration, and the forces of forward dynamics."""
    said = {
        "mass_matrix": robot.mass_matrix(q),
        "inverse_dynamics": robot.inverse_dynamics(q, v, a),
        "bias": robot.bias(q, v),
        "gravity": robot.gravity(q),
        "kinetic_energy": robot.kinetic_energy(q, v),
        "potential_energy": robot.potential_energy(q),
        "center_of_mass": robot.center_of_mass(q),
        "poses": robot.poses(q),
    }
    if forward:
        said["forward_dynamics"] = robot.forward_dynamics(q, v, a)
    for frame, axes, shifted in places(frames):
        where = f" of {frame}, {axes} axes"
        options: dict[str, Any] = {"axes": axes, "point": POINT} if shifted else {"axes": axes}
        said[f"pose{where}"] = robot.pose(q, frame)
        said[f"jacobian{where}"] = robot.jacobian(q, frame, **options)
        said[f"velocity{where}"] = robot.velocity(q, v, frame, **options)
        said[f"acceleration{where}"] = robot.acceleration(q, v, a, frame, **options)
    return said


def theirs(twin: Twin, forward: bool, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, Any]:
    """What Pinocchio says of it, in the same order."""
    said = {
        "mass_matrix": twin.mass_matrix(q),
        "inverse_dynamics": twin.inverse_dynamics(q, v, a),
        "bias": twin.bias(q, v),
        "gravity": twin.gravity(q),
        "kinetic_energy": twin.kinetic_energy(q, v),
        "potential_energy": twin.potential_energy(q),
        "center_of_mass": twin.center_of_mass(q),
        "poses": twin.poses(q),
    }
    if forward:
        said["forward_dynamics"] = twin.forward_dynamics(q, v, a)
    for frame, axes, shifted in places(twin.points):
        where, options = f" of {frame}, {axes} axes", {"axes": axes, "point": shifted}
        said[f"pose{where}"] = twin.pose(q, frame)
        said[f"jacobian{where}"] = twin.jacobian(q, frame, **options)
        said[f"velocity{where}"] = twin.velocity(q, v, frame, **options)
        said[f"acceleration{where}"] = twin.acceleration(q, v, a, frame, **options)
    return said


def agree_on_everything(robot: Robot, twin: Twin, together: bool, forward: bool = True) -> None:
    """Dynamics and kinematics. together: compiled as one function, which shares what they have in common; else each
    by the robot's own method."""
    asked = partial(ours, robot, tuple(twin.points), forward)
    compiled = function(lambda q, v, a: asked(q, v, a), robot) if together else None
    weight = 9.81 * sum(body.mass for body in robot.bodies)
    for q, v, a in states(robot):
        right = theirs(twin, forward, q, v, a)
        found = dict(zip(right, compiled(q, v, a), strict=True)) if compiled else asked(q, v, a)
        assert list(found) == list(right)
        condition = np.linalg.cond(right["mass_matrix"]) if robot.nv else 1.0
        for what, value in found.items():
            tolerance = max(PEER, SOLVE_PER_CONDITION * condition) if what == "forward_dynamics" else PEER
            agree(what, value, right[what], tolerance, size=weight if what == "potential_energy" else 0.0)


def twins(file: str, base: str) -> tuple[Robot, Twin]:
    """The robot in both libraries, with points on a frame half-way and on the last one."""
    robot = bare(folder() / file, base=base)
    frames = [frame.name for frame in robot.frames]
    points = {frames[k]: POINT for k in (len(frames) // 2, -1)}
    return robot, Twin((folder() / file).read_text(), robot, floating=base == "free", points=points)


@pytest.mark.parametrize(("file", "base"), on_both_bases(BOTH))
def test_dynamics_and_kinematics(file, base):
    robot, twin = twins(file, base)
    agree_on_everything(robot, twin, together=base == "free", forward=file not in MASSLESS)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("file", MASSLESS)
def test_forward_dynamics_of_a_singular_mass_matrix_is_refused(file, base):
    robot, twin = twins(file, base)
    q, v, tau = states(robot)[0]
    with pytest.raises(DalembertError, match=f"joint '{MASSLESS[file]}' moves no mass"):
        robot.forward_dynamics(q, v, tau)
    assert np.isnan(twin.forward_dynamics(q, v, tau)).any()


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("file", ["bravo7_description/urdf/bravo7_gripper.urdf", "panda_description/urdf/panda.urdf"])
def test_armature(file, base):
    """Rotors make the singular mass matrix regular, and enter every quantity alike."""
    robot = geared(bare(folder() / file, base=base))
    twin = Twin((folder() / file).read_text(), robot, floating=base == "free")
    q, v, a = states(robot)[0]
    agree("mass_matrix", robot.mass_matrix(q), twin.mass_matrix(q))
    agree("inverse_dynamics", robot.inverse_dynamics(q, v, a), twin.inverse_dynamics(q, v, a))
    agree("forward_dynamics", robot.forward_dynamics(q, v, a), twin.forward_dynamics(q, v, a))
    assert np.max(np.abs(np.diag(robot.mass_matrix(q) - bare(folder() / file, base=base).mass_matrix(q)))) > 0.09


@pytest.mark.parametrize(
    ("file", "base"),
    [("panda_description/urdf/panda.urdf", "fixed"), ("talos_data/robots/talos_reduced.urdf", "free")],
)
def test_external_wrenches(file, base):
    """Two wrenches, in the frame's own and in world axes: tau changes by −Jᵀ F, and forward dynamics takes it back."""
    robot, twin = twins(file, base)
    (first, second), rng = twin.points, np.random.default_rng(7)
    F = rng.normal(size=(2, 6))
    external = [
        Wrench(torque=F[0, :3], force=F[0, 3:], frame=first, point=POINT),
        Wrench(torque=F[1, :3], force=F[1, 3:], frame=second, axes="world"),
    ]
    for q, v, a in states(robot):
        tau = twin.inverse_dynamics(q, v, a)
        tau -= twin.jacobian(q, first, axes="body", point=True).T @ F[0]
        tau -= twin.jacobian(q, second, axes="world").T @ F[1]
        agree("inverse_dynamics", robot.inverse_dynamics(q, v, a, external=external), tau)
        tolerance = SOLVE_PER_CONDITION * np.linalg.cond(twin.mass_matrix(q))
        agree("forward_dynamics", robot.forward_dynamics(q, v, tau, external=external), a, tolerance)


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_planar_continuous_and_floating_joints(base):
    """Joint types that the files lack, inside a tree."""
    robot = bare(FREE_AND_PLANAR, base=base)
    assert [joint.kind for joint in robot.joints][-3:] == ["planar", "continuous", "free"]
    twin = Twin(FREE_AND_PLANAR, robot, floating=base == "free", points={"arm": POINT, "drone": POINT})
    for together in (False, True):
        agree_on_everything(robot, twin, together, forward=base == "fixed")  # the ground is massless: it cannot float


def test_which_files_load():
    """The tables at the top are complete and true, and give the reasons."""
    tables = [ONLY_DALEMBERT, ONLY_PINOCCHIO, NEITHER]
    assert len(BOTH) >= BOTH_AT_LEAST
    assert sum(map(len, tables)) + len(BOTH) == len(FILES), "a table names a file that is not there"
    assert set(MASSLESS) <= set(BOTH)
    for file in FILES:
        ours = _error(partial(load, folder() / file, mimic="free"))
        theirs = _error(partial(pin.buildModelFromUrdf, str(folder() / file)))
        assert (ours is None) == (file in BOTH or file in ONLY_DALEMBERT), f"{file}: {ours}"
        assert (theirs is None) == (file in BOTH or file in ONLY_PINOCCHIO), f"{file}: {theirs}"
        if ours is not None:
            assert (NEITHER | ONLY_PINOCCHIO)[file] in str(ours)


def _error(read: Any) -> Exception | None:
    try:
        read()
    except (DalembertError, ValueError) as error:
        return error
    return None
