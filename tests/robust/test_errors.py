"""Bad numbers: the error says where, what came, what was expected, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Wrench, function, identify, load
from robust.machines import tree
from robust.messages import raises
from tolerances import ROUNDING

Q = np.zeros(6)
NAN = np.array([0, 0, 0, np.nan, 0, 0])


@pytest.fixture(params=["first call", "later call"])
def warm(request):
    """Errors are the same before anything is compiled, and through the fast call."""
    return request.param == "later call"


@pytest.fixture
def arm(warm):
    return used(load("ur5"), warm)


@pytest.fixture
def body(warm):
    """A robot with quaternions."""
    return used(tree(), warm)


def used(r, warm):
    q, v = r.neutral(), np.zeros(r.nv)
    if warm:
        r.inverse_dynamics(q, v, v), r.gravity(q), r.normalize(q), r.potential_energy(q), r.difference(q, q)
    return r


@pytest.mark.parametrize("shape", [(5,), (7,), (), (6, 1), (0,), (3, 5), (6, 0)])
def test_wrong_shape(arm, shape):
    with raises(f"inverse_dynamics: v has shape {shape}", "expected (…, 6) for robot 'ur5'"):
        arm.inverse_dynamics(Q, np.zeros(shape), Q)


def test_shapes_of_configurations_and_velocities_differ(body):
    with raises("q has shape (11,)", "expected (…, 13) for robot 'tree'"):
        body.gravity(np.zeros(11))
    with raises("a has shape (13,)", "expected (…, 11) for robot 'tree'"):
        body.inverse_dynamics(body.neutral(), np.zeros(11), np.zeros(13))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["q", "v", "a"])
def test_not_finite(arm, name, value):
    for batch, state, place in (((), (), ""), ((9,), (7,), " of state 7"), ((2, 3), (1, 2), " of state (1, 2)")):
        x = {n: np.zeros((*batch, 6)) for n in ("q", "v", "a")}
        x[name][(*state, 4)] = value
        for dtype in (np.float64, np.float32):
            arrays = [y.astype(dtype) for y in x.values()]
            with raises(f"inverse_dynamics: {name}[4]{place} is {value}", "expected finite", "'ur5'", "check=False"):
                arm.inverse_dynamics(*arrays)
            result = arm.inverse_dynamics(*arrays, check=False)
            assert not np.isfinite(result[state]).all()


def test_not_finite_deep_in_a_large_batch(arm):
    q = np.zeros((30_000, 6))
    q[20_011, 2] = np.nan
    with raises("q[2] of state 20011 is nan"):
        arm.gravity(q)
    with raises("q[2] of state 9988 is nan"):
        arm.gravity(q[::-1])


def test_not_finite_in_a_broadcast_argument(arm):
    """The state is counted among those of the argument itself."""
    v = np.zeros((4, 1, 6))
    v[2, 0, 5] = np.inf
    with raises("v[5] of state (2, 0) is inf"):
        arm.bias(np.zeros((3, 6)), v)


def test_numbers_beyond_float64(arm):
    with np.errstate(over="ignore"), raises("q[0] is inf"):
        arm.gravity(np.full(6, np.longdouble(10) ** 400))


def test_not_finite_in_out_over_the_input(arm):
    """The message tells of the input, though it is about to be written over; and the input stays as it was."""
    a = NAN.copy()
    with raises("a[3] is nan"):
        arm.inverse_dynamics(Q, Q, a, out=a)
    assert np.array_equal(a, NAN, equal_nan=True)


@pytest.mark.parametrize("joint", ["base", "ball"])
def test_quaternions_off_unit_length(body, joint):
    q = np.tile(body.neutral(), (5, 1))
    place = body.joint(joint).q
    for dtype in (np.float64, np.float32):
        for factor, shown in ((1.0 + 1e-5, "1.00001"), (0.5, "0.5"), (0.0, "0")):
            bad = q.astype(dtype)
            bad[3, place] *= dtype(factor)
            with raises(f"gravity: the quaternion of joint {joint!r} of state 3 has length {shown}", "expected 1"):
                body.gravity(bad)
            with raises(f"joint {joint!r} has length", "(order w, x, y, z): use robot.normalize(q)"):
                body.gravity(bad[3])
            body.gravity(bad, check=False)
    nearly = q.copy()
    nearly[:, place] *= 1.0 + 9e-7
    body.gravity(nearly)


def test_quaternions_are_brought_back_by_normalize(body):
    q = body.neutral()
    q[body.joint("ball").q] = [3.0, 0.0, -4.0, 0.0]
    good = body.normalize(q)
    np.testing.assert_allclose(good[body.joint("ball").q], [0.6, 0.0, -0.8, 0.0], rtol=ROUNDING)
    body.gravity(good)


def test_quaternions_of_either_configuration_are_checked(body):
    q = body.neutral()
    with raises("difference: the quaternion of joint 'base' has length 2", "robot.normalize(q1)"):
        body.difference(q, np.where(np.arange(q.size) == 3, 2.0, q))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "of type NoneType"),
        ("0 0 0 0 0 0", "of type str"),
        (["a"] * 6, "of type list"),
        ([None] * 6, "of type list"),
        (np.zeros(6, complex), "complex128 array"),
        (np.zeros(6, object), "object array"),
        (np.zeros(6, "m8[s]"), "timedelta64[s] array"),
        ((x for x in range(6)), "of type generator"),
        ({1, 2}, "of type set"),
    ],
)
def test_not_numbers(arm, value, said):
    with raises("gravity: q is", said, "not an array of real numbers", "expected (…, 6) for robot 'ur5'"):
        arm.gravity(value)


def test_ragged_lists_and_masked_entries(arm):
    with raises("gravity: q cannot be read as an array", "inhomogeneous", "expected (…, 6)"):
        arm.gravity([[0.0] * 6, [0.0] * 5])
    with raises("gravity: q has masked entries", "fill them first"):
        arm.gravity(np.ma.masked_equal([0, 1, 2, 3, 4, 5], 3))
    with raises("integrate: dt has masked entries"):
        arm.integrate(Q, Q, np.ma.masked_equal([0.1, 0.2], 0.2))


def test_batches_that_do_not_broadcast(arm):
    with raises("inverse_dynamics: batch shapes do not broadcast: q (3,), v (4,), a ()"):
        arm.inverse_dynamics(np.zeros((3, 6)), np.zeros((4, 6)), Q)


def test_bad_out(arm):
    sealed = np.zeros(6)
    sealed.flags.writeable = False
    for out, said in (
        (sealed, "a read-only float64 array of shape (6,)"),
        (np.zeros(5), "a float64 array of shape (5,)"),
        (np.zeros((1, 6)), "a float64 array of shape (1, 6)"),
        (np.zeros(6, np.float32), "a float32 array of shape (6,)"),
        (np.zeros(6, ">f8"), "a >f8 array of shape (6,)"),
        (np.broadcast_to(0.0, 6), "a read-only float64 array of shape (6,)"),
        ([0.0] * 6, "of type list"),
        (0.0, "of type float"),
    ):
        with raises(f"gravity: out is {said}", "expected a writeable float64 array of shape (6,)"):
            arm.gravity(Q, out=out)
    with raises("out is a float64 array of shape (6,), expected a writeable float32 array of shape (2, 6)"):
        arm.gravity(np.zeros((2, 6), np.float32), out=np.zeros(6))


@pytest.mark.parametrize("threads", [0, -3, 1.0, "two", True, np.float64(2), [2]])
def test_bad_threads(arm, threads):
    for q in (Q, np.zeros((3, 6)), np.zeros((0, 6))):
        with raises(f"threads={threads!r}", "expected a whole number ≥ 1, or None for all processors"):
            arm.gravity(q, threads=threads)


@pytest.mark.parametrize("setting", ["0", "-1", "many", "1.5", "²"])
def test_bad_environment_variable(arm, setting, monkeypatch):
    monkeypatch.setenv("DALEMBERT_THREADS", setting)
    with raises(f"environment variable DALEMBERT_THREADS is {setting!r}", "expected a whole number ≥ 1"):
        arm.gravity(np.zeros((20_000, 6)))
    assert arm.gravity(np.zeros((20_000, 6)), threads=1).shape == (20_000, 6)


def test_wrong_arguments(arm):
    with raises("inverse_dynamics() missing 1 required positional argument: 'a'", kind=TypeError):
        arm.inverse_dynamics(Q, Q)
    with raises("inverse_dynamics() takes 4 positional arguments but 5 were given", kind=TypeError):
        arm.inverse_dynamics(Q, Q, Q, Q)
    with raises("gravity() has no keyword 'ouput': expected method, out, threads, check or backend", kind=TypeError):
        arm.gravity(Q, ouput=Q)
    with raises("multiple values for argument 'q'", kind=TypeError):
        arm.gravity(Q, q=Q)
    assert np.array_equal(arm.gravity(q=Q), arm.gravity(Q))
    assert np.array_equal(arm.bias(Q, v=Q), arm.bias(v=Q, q=Q))


def test_functions_that_change_are_refused(arm):
    rng = np.random.default_rng(0)
    with raises("gives another expression each time it is called"):
        function(lambda q: q + rng.normal(), arm)


def test_functions_of_one_s_own(arm):
    f = function(lambda q, v: {"twice": 2.0 * q, "more": v + 1.0}, arm)
    with raises("takes 2 arguments (q, v), got 1", kind=TypeError):
        f(Q)
    with raises("has no keyword 'a'", kind=TypeError):
        f(Q, Q, a=Q)
    with raises("v has shape (5,)"):
        f(Q, Q[1:])
    for out in (Q, (Q,), (Q, Q, Q), 3.0):
        with raises("out is", "expected a tuple of 2 arrays"):
            f(Q, Q, out=out)
    with raises("out is of type float", "expected a writeable float64 array of shape (6,)"):
        f(Q, Q, out=(np.zeros(6), 0.0))
    room = np.zeros(9)
    with raises("the arrays of out overlap, expected 2 that lie apart"):
        f(Q, Q, out=(room[:6], room[3:]))
    outs = np.full(6, np.nan), np.full(6, np.nan)
    assert f(Q, Q, out=outs)[0] is outs[0] and np.array_equal(outs[1], np.ones(6))
    with raises("what is the size of 'k'? pass k=…"):
        function(lambda q, k: q, arm)


def test_axes_of_other_libraries_are_known(arm):
    with raises("axes: expected 'world', 'body' (the frame's own) or a frame; axes='LOCAL' is 'body' here"):
        arm.jacobian(Q, "tool0", axes="LOCAL")
    with raises("axes: expected 'world', 'body'", "unknown frame 'wold'"):
        arm.jacobian(Q, "tool0", axes="wold")


def test_fixed_links_are_no_bodies(arm):
    with raises("'tool0' is not a separate body", "body 'wrist_3_link'", "robot.frame('tool0')"):
        arm.body("tool0")
    with raises("unknown frame 'tcp': did you mean 'panda_hand_tcp'?"):
        load("panda").frame("tcp")


def test_how_many_random_configurations(arm):
    for n in (-1, 2.5, True, "3"):
        with raises(f"random: n is {n!r}, expected how many"):
            arm.random(np.random.default_rng(0), n)
    assert arm.random(np.random.default_rng(0), np.int64(2)).shape == (2, 6)


def test_a_quaternion_of_no_length_cannot_be_normalized():
    robot = load("quadrotor")
    robot.normalize(2.0 * robot.neutral())
    for q, place in ((np.zeros(7), "'body'"), (np.zeros((2, 7)), "of state 0")):
        with raises("normalize: the quaternion of joint", place, "has length 0, expected more"):
            robot.normalize(q)


def test_edits_that_are_not_understood(arm):
    for given in ("elbow_joint", ["elbow_joint"]):
        with raises("lock: expected joints and the values they are held at, as lock(elbow=0.3)", repr(given)):
            arm.edit().lock(given)
    with raises("scale: length is '2', expected a factor above 0"):
        arm.edit().scale("2")
    assert repr(arm.edit()) == "<ModelEditor of 'ur5': no edits yet>"
    assert "joints locked: 'elbow_joint' at 0.5" in repr(arm.edit().lock(elbow_joint=0.5))


def test_builders_know_their_arguments():
    builder = ModelBuilder("arm")
    with raises("body 'upper': add_body: unknown argument 'axsi': did you mean 'axis'?"):
        builder.add_body("upper", parent="world", joint="revolute", axsi=(0, 0, 1))
    assert repr(builder) == "<ModelBuilder 'arm': no bodies yet>"


def test_the_package_lists_what_it_has():
    import dalembert

    assert set(dalembert.__all__) <= set(dir(dalembert)) and "TYPE_CHECKING" not in dir(dalembert)


def test_time_steps(arm):
    with raises("integrate: dt is of type str, not an array of real numbers"):
        arm.integrate(Q, Q, "soon")
    with raises("integrate: dt[0] is nan"):
        arm.integrate(Q, Q, np.nan)
    with raises("batch shapes do not broadcast: q (2,), v (), dt (3,)"):
        arm.integrate(np.zeros((2, 6)), Q, np.zeros(3))
    with raises("interpolate: s is of type NoneType"):
        arm.interpolate(Q, Q, None)


def test_wrenches(arm):
    with raises("external: a Wrench says on which frame it acts"):
        arm.bias(Q, Q, external=[Wrench(force=(0, 0, 1))])
    push = Wrench(force=(0, 0, 1), frame="tool0")
    for external, said in (
        (push, "got a Wrench: write external=[…]"),
        (np.zeros(6), "got float64"),
        ([push, (1, 2, 3)], "got tuple"),
        (3.0, "got a float"),
        ("tool0", "got str"),
    ):
        with raises("external: expected a sequence of dalembert.Wrench, " + said):
            arm.inverse_dynamics(Q, Q, Q, external=external)
    for field in ("force", "torque", "point"):
        for value, said in ((1.0, "shape ()"), (np.zeros(4), "shape (4,)"), (np.zeros((3, 1)), "shape (3, 1)")):
            with raises(f"bias: external[0].{field} has {said}, expected (…, 3) for robot 'ur5'"):
                arm.bias(Q, Q, external=[Wrench(**{field: value}, frame="tool0")])
        with raises(f"bias: external[0].{field} is of type str, not an array of real numbers, expected (…, 3)"):
            arm.bias(Q, Q, external=[Wrench(**{field: "up"}, frame="tool0")])
    two, three = (Wrench(force=np.zeros((n, 3)), frame="tool0") for n in (2, 3))
    with raises("bias: batch shapes do not broadcast", "external[0].force (2,)", "external[1].force (3,)"):
        arm.bias(Q, Q, external=[two, three])
    with raises("bias: batch shapes do not broadcast: q (3,), v ()", "external[0].force (2,)"):
        arm.bias(np.zeros((3, 6)), Q, external=[two])
    with raises("bias: external[1].force[0] is nan", "check=False"):
        arm.bias(Q, Q, external=[push, Wrench(force=(np.nan, 0, 0), frame="tool0")])
    once = (w for w in [push])
    assert np.array_equal(arm.bias(Q, Q, external=once), arm.bias(Q, Q, external=[push]))


def test_a_robot_without_joints_says_so() -> None:
    stone = load('<robot name="stone"><link name="a"/></robot>')
    none = np.zeros(0)
    assert stone.inverse_dynamics(none, none, none).shape == (0,)
    assert stone.modes(none).frequencies.shape == (0,)
    for call in (
        lambda: stone.step_advice(none),
        lambda: stone.sizing(),
        lambda: stone.simulate(none, none, 1.0),
        lambda: identify.base_parameters(stone),
        lambda: identify.excitation(stone),
    ):
        with raises("robot 'stone' has no joint that moves"):
            call()
