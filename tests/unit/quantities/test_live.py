"""Live parameters: the model's constants as inputs of a compiled function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, Wrench, function, load
from dalembert.compiler.execute.registry import running_on
from dalembert.compiler.graph import gradient, trace
from dalembert.model import Coupled
from dalembert.quantities import CATALOGUE, compiled
from dalembert.quantities.live import GROUPS, SHAPES
from dalembert.spatial import Inertia, Pose, so3
from tolerances import DIFFERENCE, RECURSION, RECURSION32, SOLVE, STEP, assert_close
from trees import random_mass, random_model, random_state

KINDS = ("revolute", "prismatic", "universal", "ball", "revolute")
# they solve with the mass matrix, whose condition is that of the parameters
SOLVED = ("forward", "inverse_mass", "operational", "null_space")
OTHER = ("operational_dynamics", "hybrid_dynamics", "inverse_kinematics_descent")  # not methods of this form


@pytest.fixture(scope="module", params=[False, True], ids=["tree", "coupled"])
def robot(request):
    return Robot(random_model(3, n_bodies=5, kinds=KINDS, coupled=request.param))


def inputs(robot, name, seed=0):
    """Arguments of a quantity, at random."""
    rng = np.random.default_rng(seed)
    q, v, a = random_state(rng, robot.model)
    known = {"q": q, "q0": q, "q1": random_state(rng, robot.model)[0], "s": 0.3, "dt": 0.3, "task_damping": 0.3}
    return [known.get(n, v if n == "v" else a) for n in CATALOGUE[name].inputs]


def random_values(robot, seed=1):
    """Numbers of every group that a robot could have."""
    rng = np.random.default_rng(seed)
    bodies = [random_mass(rng) for _ in robot.model.bodies]
    bodies = [Inertia.from_com(b["mass"], b["com"], b["inertia"]) for b in bodies]
    values = {name: rng.uniform(0.1, 0.5, len(robot.live_values(name))) for name in GROUPS}
    start = 0
    for body in robot.model.bodies:  # stiffness of rotations: equal about all axes; of free joints: no translation
        if body.joint.nq > body.joint.nv:
            values["stiffness"][start : start + body.joint.nv] = ([0.3] * 3 + [0.0] * 3)[: body.joint.nv]
        start += body.joint.nv
    return values | {"inertia": np.concatenate([b.parameters() for b in bodies])}


def rebuilt(robot, values):
    """The robot with these numbers, made by hand."""
    bodies, start = [], 0
    for i, body in enumerate(robot.model.bodies):
        at = slice(start, start + body.joint.nv)
        start = at.stop
        fields = {name: values[name][at] for name in ("friction", "damping", "armature", "stiffness")}
        joint = body.joint
        if isinstance(joint, Coupled):
            joint = replace(joint, joint=replace(joint.joint, **fields))
        else:
            joint = replace(joint, **fields)
        move = values["placement"][6 * i : 6 * i + 6]
        X = body.placement @ Pose(so3.exp(move[3:]), move[:3])
        inertia = Inertia.from_parameters(values["inertia"][10 * i : 10 * i + 10])
        bodies.append(replace(body, joint=joint, inertia=inertia, placement=X))
    return Robot(replace(robot.model, bodies=tuple(bodies), gravity=values["gravity"]))


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in OTHER])
def test_every_quantity(robot, name):
    """All groups live: with the robot's own numbers its results, with others those of the robot that has them.

    These are evaluated, not compiled: each is needed once.
    """
    if CATALOGUE[name].refuses(robot.model):
        with pytest.raises(DalembertError, match=f"{name}|no collision shapes"):
            robot.compile(name, live=tuple(GROUPS))
        return
    options = {"frame": "tool"} if CATALOGUE[name].framed else {}
    f = robot.compile(name, live=tuple(GROUPS), **options)
    state, tolerance = inputs(robot, name), SOLVE if name.startswith(SOLVED) else RECURSION
    for values, twin in (
        ({n: robot.live_values(n) for n in GROUPS}, robot),
        (random_values(robot), rebuilt(robot, random_values(robot))),
    ):
        with running_on("interpreter"):
            if CATALOGUE[name].inputs[-1] == "task_damping":
                expected = getattr(twin, name)(*state[:-1], "tool", damping=state[-1])
            else:
                expected = getattr(twin, name)(*state, *options.values())
        if isinstance(expected, tuple) and len({np.shape(part) for part in expected}) > 1:  # rows of one array
            expected = np.concatenate([np.atleast_2d(part) for part in expected])
        assert_close(f(*state, *values.values()), np.asarray(expected), tolerance)


def test_groups_one_by_one(robot):
    """Each group alone changes what it names and nothing else; shapes act in contacts alone."""
    q, v, a = inputs(robot, "inverse_dynamics")
    own = {name: robot.live_values(name) for name in GROUPS}
    for name, value in random_values(robot).items():
        if name in SHAPES:
            continue
        f = robot.compile("inverse_dynamics", live=name)
        expected = rebuilt(robot, own | {name: value}).inverse_dynamics(q, v, a)
        assert_close(f(q, v, a, value), expected, RECURSION)
        assert_close(f(q, v, a, own[name]), robot.inverse_dynamics(q, v, a), RECURSION)
        assert not np.allclose(f(q, v, a, value), f(q, v, a, own[name]))


def test_batches_with_parameters_of_their_own(robot):
    f = robot.compile("inverse_dynamics", live=("inertia", "friction"), batch=True)
    rng = np.random.default_rng(5)
    q, v, a = (np.stack(x) for x in zip(*(random_state(rng, robot.model) for _ in range(13)), strict=True))
    drawn = [random_values(robot, seed) for seed in range(13)]
    pi, mu = (np.stack([d[name] for d in drawn]) for name in ("inertia", "friction"))
    tau = f(q, v, a, pi, mu)
    own = {name: robot.live_values(name) for name in GROUPS}
    for k in range(13):
        twin = rebuilt(robot, own | {"inertia": pi[k], "friction": mu[k]})
        assert_close(tau[k], twin.inverse_dynamics(q[k], v[k], a[k]), RECURSION)
    assert_close(f(q, v, a, inertia=pi[2], friction=mu)[5], f(q[5], v[5], a[5], pi[2], mu[5]), RECURSION)
    grid = f(q[0], v[0], a[0], pi[:, None, :], mu[None])
    assert grid.shape == (13, 13, robot.nv)
    assert_close(grid[3, 4], f(q[0], v[0], a[0], pi[3], mu[4]), RECURSION)
    out = np.full_like(tau, np.nan)
    assert f(q, v, a, pi, mu, out=out, threads=1) is out
    assert np.array_equal(out, tau)


def test_float32(robot):
    f = robot.compile("inverse_dynamics", live="inertia", dtype=np.float32)
    arguments = [*inputs(robot, "inverse_dynamics"), robot.live_values("inertia")]
    single = f(*(np.asarray(x, np.float32) for x in arguments))
    assert single.dtype == np.float32
    assert_close(single, f(*arguments), RECURSION32)


def test_gradient_in_the_parameters(robot):
    """Reverse mode on the graph, through the live function, against differences."""
    f = robot.compile("forward_dynamics", live=("inertia", "damping", "placement"))
    q, v, tau = inputs(robot, "forward_dynamics")
    weights = np.random.default_rng(6).normal(size=robot.nv)
    own = [robot.live_values(name) for name in ("inertia", "damping", "placement")]

    def slopes(pi, d, X):
        return gradient(weights @ f(q, v, tau, pi, d, X), np.concatenate([pi, d, X]))

    compiled = function(slopes, robot, pi=len(own[0]), d=len(own[1]), X=len(own[2]))
    found, point = compiled(*own), np.concatenate(own)
    for k in np.random.default_rng(7).choice(len(point), 12, replace=False):
        h = STEP * max(1e-2, abs(point[k]))
        ends = []
        for shift in (h, -h):
            moved = point.copy()
            moved[k] += shift
            ends.append(weights @ f(q, v, tau, *np.split(moved, np.cumsum([len(x) for x in own])[:-1])))
        assert_close(found[k], (ends[0] - ends[1]) / (2 * h), 1e3 * DIFFERENCE, scale=np.max(np.abs(found)))


def test_reverse_gradient_in_all_inertial_parameters_is_cheap():
    robot = load("panda")
    f = robot.compile("inverse_dynamics", live="inertia")
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "pi": len(robot.live_values("inertia")), "w": robot.nv}
    plain = trace(lambda q, v, a, pi, w: w @ f(q, v, a, pi), sizes).operations()
    reverse = trace(lambda q, v, a, pi, w: gradient(w @ f(q, v, a, pi), pi), sizes).operations()
    assert sum(reverse.values()) < 5 * sum(plain.values())


def test_a_function_of_constants_and_traced_parameters(robot):
    """Numbers of the state and traced parameters mix."""
    f = robot.compile("kinetic_energy", live="inertia")
    q, v = inputs(robot, "kinetic_energy")
    energy = function(lambda pi: f(q, v, pi), robot, pi=len(robot.live_values("inertia")))
    assert_close(energy(robot.live_values("inertia")), robot.kinetic_energy(q, v), RECURSION)


def test_identity_and_disk_cache(robot):
    first = compiled(robot, "gravity", ("gravity", "inertia"))
    names = {compiled(robot, "gravity", live).program.identity for live in ((), "gravity", "inertia")}
    assert len(names | {first.program.identity}) == 4
    robot.compile("gravity", live=("gravity", "inertia"))
    again = Robot(robot.model)
    again.compile("gravity", live=("gravity", "inertia"))
    assert compiled(again, "gravity", ("gravity", "inertia")).program._traced._function is None  # not traced


def test_several_quantities(robot):
    torque, energy = robot.compile("inverse_dynamics", "energy", live="inertia")
    q, v, a = inputs(robot, "inverse_dynamics")
    pi = random_values(robot)["inertia"]
    twin = rebuilt(robot, {name: robot.live_values(name) for name in GROUPS} | {"inertia": pi})
    assert_close(torque(q, v, a, pi), twin.inverse_dynamics(q, v, a), RECURSION)
    assert_close(energy(q, v, pi), twin.energy(q, v), RECURSION)


@pytest.mark.parametrize("name", [n for n, x in CATALOGUE.items() if x.loaded and not n.startswith("loop_")])
def test_external_wrenches_beside_live_parameters(name):
    """Every quantity that takes wrenches takes them beside live parameters, as the robot with those constants does."""
    robot, rng = Robot(random_model(8, n_bodies=2, kinds=KINDS[2:4])), np.random.default_rng(8)
    load = [Wrench(rng.normal(size=3), rng.normal(size=3), "tool", rng.normal(size=3), axes="world")]
    values = random_values(robot)
    options = {"frame": "tool"} if CATALOGUE[name].framed else {}
    options |= {"accelerations": ()} if name == "hybrid_dynamics" else {}
    f = robot.compile(name, live=tuple(GROUPS), external=load, **options)
    twin = rebuilt(robot, values).compile(name, external=load, **options)
    state = inputs(robot, name)
    quantity = CATALOGUE[name]
    expected = quantity.evaluate_named(twin, quantity.variant(twin.model, **options), *state, external=load)
    tolerance = SOLVE if name.startswith(SOLVED) or name == "hybrid_dynamics" else RECURSION
    assert_close(f(*state, *values.values(), external=load), np.asarray(expected), tolerance)
    assert not np.allclose(f(*state, *values.values()), expected)


def test_wrenches_where_none_act(robot):
    with pytest.raises(DalembertError, match="gravity: no external wrench acts on it"):
        robot.compile("gravity", external=[Wrench(frame="tool")])
    f = robot.compile("gravity", live="inertia")
    with pytest.raises(DalembertError, match="gravity: no external wrench acts on it"):
        f(robot.neutral(), robot.live_values("inertia"), external=[Wrench(frame="tool")])


def test_wrenches_are_inputs_of_emitted_code():
    push = [Wrench(frame="tool", axes="world")]
    robot = load("2r")
    text = robot.source("inverse_dynamics", external=push)
    assert "const double external_0__force[3]" in text
    assert sum(robot.operations("inverse_dynamics", external=push).values()) > sum(
        robot.operations("inverse_dynamics").values()
    )


def test_compile_without_live_returns_the_robot():
    robot = load("2r")
    assert robot.compile("gravity", "bias") is robot


def test_operation_counts_of_live_parameters():
    robot = load("ur5")
    plain = sum(robot.operations("inverse_dynamics").values())
    assert sum(robot.operations("inverse_dynamics", live="inertia").values()) < 2.5 * plain
    assert sum(robot.operations("inverse_dynamics", live="gravity").values()) < 1.2 * plain


def test_source_with_live_parameters():
    text = load("2r").source("inverse_dynamics", live="inertia")
    assert "inertia" in text


@pytest.mark.parametrize(
    ("names", "live", "message"),
    [
        (("gravity",), ("inertai",), "unknown live parameters 'inertai': did you mean 'inertia'"),
        (("gravity",), (3,), "unknown live parameters '3'"),
        (("gravity",), ("inertia", "inertia"), "named twice"),
        ((), ("inertia",), "compile: live parameters of what"),
    ],
)
def test_bad_requests(names, live, message):
    with pytest.raises(DalembertError, match=message):
        load("2r").compile(*names, live=live)


def test_bad_arguments():
    robot = load("2r")
    f = robot.compile("gravity", live="inertia")
    q, pi = robot.neutral(), robot.live_values("inertia")
    with pytest.raises(TypeError, match=r"takes 2 arguments \(q, inertia\), got 1"):
        f(q)
    with pytest.raises(TypeError, match="no keyword 'inertai'"):
        f(q, pi, inertai=pi)
    with pytest.raises(DalembertError, match=r"inertia has shape \(3,\)"):
        f(q, pi[:3])
    with pytest.raises(DalembertError, match=r"gravity: inertia\[4\] is nan"):
        f(q, np.where(np.arange(len(pi)) == 4, np.nan, pi))
    with pytest.raises(DalembertError, match="unknown live parameters 'mass'"):
        robot.live_values("mass")


WRONG = {
    "mass": ("inertia", 0, -1.0, "the mass of body 'arm' is negative"),
    "moment": ("inertia", 6, -0.3, "the moment of inertia of body 'arm' about z is negative"),
    "moment at the centre": ("inertia", 5, 0.01, "about y is negative, taken at its centre of mass"),
    "rotor": ("armature", 0, -0.1, "armature of joint 'arm' is negative"),
    "damper": ("damping", 0, -2.0, "damping of joint 'arm' is negative"),
}


def pendulum():
    b = ModelBuilder("pendulum")
    mass = {"mass": 2.0, "com": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
    b.add_body("arm", parent="world", joint="revolute", axis=(0, 1, 0), **mass)
    return b.build()


@pytest.mark.parametrize("case", WRONG)
def test_parameters_that_no_robot_has_are_refused(case):
    """Where they would move it: forward dynamics and rollouts. Inverse dynamics is linear in them, and takes any."""
    group, place, value, message = WRONG[case]
    robot = pendulum()
    numbers = robot.live_values(group).copy()
    start = 10 if group == "inertia" else 0  # behind the base, which is the world
    numbers[start + place] = value
    forward, inverse = robot.compile("forward_dynamics", live=group), robot.compile("inverse_dynamics", live=group)
    x = np.zeros(1)
    with pytest.raises(DalembertError, match=message):
        forward(x, x, x, numbers)
    with pytest.raises(DalembertError, match=message):
        forward(np.zeros((5, 1)), x, x, np.stack([robot.live_values(group)] * 3 + [numbers] * 2))
    assert np.all(np.isfinite(forward(x, x, x, numbers, check=False)))
    inverse(x, x, x, numbers)
    with pytest.raises(DalembertError, match=message):
        robot.rollout(x, x, steps=3, parameters={group: numbers})
    robot.rollout(x, x, steps=3, parameters={group: numbers}, check=False)


def test_point_masses_pass_in_single_precision():
    robot = pendulum()
    numbers = robot.live_values("inertia").astype(np.float32)
    numbers[-6:-3] = numbers[-10] * np.float32(0.25) * np.array([0, 1, 1], np.float32)
    robot.compile("forward_dynamics", live="inertia")(*[np.zeros(1, np.float32)] * 3, numbers)
