"""A quantity defined outside the package, with public names only: compiled, batched, differentiated, traced, edited."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Robot, Wrench, kinds, load, quantity
from tolerances import RECURSION, SOLVE, assert_close


@quantity()
def power(robot: Robot, q: kinds.Configuration, v: kinds.Tangent, a: kinds.Tangent, **keywords) -> float:
    """Mechanical power of all motors [W]."""
    return robot.inverse_dynamics(q, v, a) @ v


class Tip(NamedTuple):
    """Position (…, 3) and speed (…)."""

    position: np.ndarray
    speed: np.ndarray


@quantity
def tip(
    robot: Robot,
    q: kinds.Configuration,
    v: kinds.Tangent,
    frame: kinds.FrameName,
    *,
    point: kinds.Point = (0.0, 0.0, 0.0),
    scale: kinds.Number = 1.0,
    **keywords,
) -> Tip:
    """Where the point of a frame is and how fast."""
    X, V = robot.pose(q, frame), robot.velocity(q, v, frame, point=point)
    return Tip(X[:3, :3] @ point + X[:3, 3], scale * dalembert.math.sqrt(V[3:] @ V[3:]))


@pytest.fixture(scope="module")
def robot():
    return load("2r")


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(0)
    return robot.random(rng, 5), rng.normal(size=(5, robot.nv)), rng.normal(size=(5, robot.nv))


def test_numbers_one_by_one_and_in_batches(robot, state):
    q, v, a = state
    expected = np.sum(robot.inverse_dynamics(q, v, a) * v, axis=-1)
    assert_close(power(robot, q, v, a), expected, RECURSION)
    for k in range(5):
        for _ in range(2):  # before and after the fast call
            one = power(robot, q[k], v[k], a[k])
            assert type(one) is float
            assert_close(one, expected[k], RECURSION)
    assert_close(power(robot, q[0], v=v[0], a=list(a[0])), expected[0], RECURSION)
    assert power(robot, *(x.astype(np.float32) for x in state)).dtype == np.float32
    out = np.full(5, np.nan)
    assert power(robot, q, v, a, out=out) is out
    assert_close(power(robot, q, v, a, backend="interpreter"), expected, RECURSION)


def test_named_tuples_frames_points_and_numbers(robot, state):
    q, v, _ = state
    frame = robot.frames[-1].name
    found = tip(robot, q, v, frame)
    assert type(found) is Tip
    assert_close(found.position, robot.pose(q, frame)[:, :3, 3], RECURSION)
    assert_close(found.speed, np.linalg.norm(robot.velocity(q, v, frame)[:, 3:], axis=-1), RECURSION)
    moved = tip(robot, q[0], v[0], frame, point=(0.1, 0.0, 0.0), scale=3.0)
    velocity = robot.velocity(q[0], v[0], frame, point=(0.1, 0.0, 0.0))
    assert_close(moved.speed, 3.0 * np.linalg.norm(velocity[3:]), RECURSION)
    with pytest.raises(DalembertError, match="unknown frame 'nose'"):
        tip(robot, q, v, "nose")


def test_a_method_of_a_subclass(robot, state):
    class Mine(Robot):
        power = power

    mine, (q, v, a) = Mine(robot.model), (x[0] for x in state)
    first = mine.power(q, v, a)
    assert mine.power(q, v, a) == first == power(robot, q, v, a)
    assert mine.power.__doc__ == "Mechanical power of all motors [W]."
    assert type(mine.power).__name__ == "builtin_function_or_method"  # the fast call is in place


def test_precision_as_asked_for_also_as_a_method(robot, state):
    class Pair(NamedTuple):
        twice: np.ndarray
        half: np.ndarray

    @quantity("nv", in_double=True)
    def pair(robot: Robot, q: kinds.Configuration) -> Pair:
        return Pair(2.0 * robot.gravity(q), 0.5 * robot.gravity(q))

    pair.__wrapped__.__annotations__["return"] = Pair  # a local class has no name that an annotation could be found by

    class Mine(Robot):
        pass

    Mine.pair = pair
    mine, q = Mine(robot.model), state[0][0].astype(np.float32)
    for _ in range(3):
        found = mine.pair(q)
        assert type(found) is Pair and found.half.dtype == np.float32
        exact = robot.gravity(q.astype(float))
        assert np.array_equal(found.twice, (2.0 * exact).astype(np.float32))


def test_inside_functions_and_other_quantities(robot, state):
    q, v, a = (x[0] for x in state)
    double = dalembert.function(lambda q, v, a: 2.0 * power(robot, q, v, a), robot)
    assert_close(double(q, v, a), 2.0 * power(robot, q, v, a), RECURSION)

    @quantity("nv", differentiates=True)
    def slope(robot: Robot, q: kinds.Configuration, v: kinds.Tangent, a: kinds.Tangent) -> np.ndarray:
        """∂power/∂a."""
        return robot.inverse_dynamics_vjp(q, v, a, v).da

    assert_close(slope(robot, q, v, a), robot.mass_matrix(q) @ v, SOLVE)


class Slopes(NamedTuple):
    """A number and its derivative in v (nv,): arrays of different rank, so that each is an output of its own."""

    value: np.ndarray
    dv: np.ndarray


@quantity(fields={"value": (), "dv": ("nv",)}, differentiates=True)
def slopes(robot: Robot, q: kinds.Configuration, v: kinds.Tangent, **keywords) -> Slopes:
    """Kinetic energy and momentum."""
    return Slopes(robot.kinetic_energy(q, v), robot.inverse_dynamics_vjp(q, v, 0.0 * v, v).da)


def test_a_named_tuple_that_differentiates_inside_a_function(robot, state):
    q, v = state[0][0], state[1][0]
    alone = slopes(robot, q, v)
    assert_close(alone.dv, robot.mass_matrix(q) @ v, SOLVE)
    expected = slopes(robot, q, 2.0 * v)
    value = dalembert.function(lambda q, v: slopes(robot, q, 2.0 * v).value, robot)  # 2 v is no input of the trace
    dv = dalembert.function(lambda q, v: slopes(robot, q, 2.0 * v).dv, robot)
    assert_close(value(q, v), expected.value, SOLVE)
    assert_close(dv(q, v), expected.dv, SOLVE)


def test_gradients(robot, state):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    q, v, a = (x[0] for x in state)
    gradient = jax.grad(lambda a: power(robot, q, v, a))(jax.numpy.asarray(a))
    assert_close(np.asarray(gradient), robot.mass_matrix(q) @ v, SOLVE)


def test_live_parameters_source_and_operations(robot, state):
    q, v, a = (x[0] for x in state)
    live = robot.compile(power, live="inertia")
    pi = 2.0 * robot.live_values("inertia")
    assert_close(live(q, v, a, pi), power(robot.with_parameters(pi), q, v, a), SOLVE)
    assert robot.operations(power)["mul"] > 0
    assert "2r_power" in robot.source(power) and "power" in robot.source(power, "latex")
    assert robot.compile(power, batch=True) is robot


def test_an_edit_takes_effect(robot, state):
    """Also for the same robot, within one process, and from the disk cache."""
    q = state[0]
    text = "@quantity('nv')\ndef pull(robot, q: kinds.Configuration):\n    return {k} * robot.gravity(q)\n"
    for k in (2.0, -2.0, 6.0):
        names = {"quantity": quantity, "kinds": kinds}
        exec(text.format(k=k), names)
        assert_close(names["pull"](robot, q), k * robot.gravity(q), RECURSION)


def test_external_wrenches(robot, state):
    q = state[0][0]

    @quantity("nv")
    def load_torque(robot: Robot, q: kinds.Configuration, *, external: kinds.External = ()) -> np.ndarray:
        """What the wrenches do to the joints."""
        return robot.gravity(q) - robot.bias(q, np.zeros(robot.nv), external=external)

    frame = robot.frames[-1].name
    push = [Wrench(force=(0.0, 0.0, -5.0), frame=frame, axes="world")]
    expected = robot.jacobian(q, frame).T @ np.array([0.0, 0.0, 0.0, 0.0, 0.0, -5.0])
    assert_close(load_torque(robot, q, external=push), expected, SOLVE, scale=5.0)
    assert_close(load_torque(robot, q), np.zeros(robot.nv), SOLVE, scale=5.0)


def test_mistakes_are_told(robot, state):
    q = state[0]

    @quantity("nv")
    def wrong_shape(robot: Robot, q: kinds.Configuration) -> np.ndarray:
        return robot.center_of_mass(q)

    @quantity("nv")
    def no_kind(robot: Robot, q: kinds.Configuration, k) -> np.ndarray:
        return k * robot.gravity(q)

    @quantity("nz")
    def no_size(robot: Robot, q: kinds.Configuration) -> np.ndarray:
        return robot.gravity(q)

    with pytest.raises(DalembertError, match="wrong_shape: declared with shape"):
        wrong_shape(robot, q)
    with pytest.raises(DalembertError, match="no_kind: of which kind is 'k'"):
        no_kind(robot, q, 1.0)
    with pytest.raises(DalembertError, match="unknown size 'nz'"):
        no_size(robot, q)
    with pytest.raises(DalembertError, match="q has shape"):
        power(robot, q[:, :1], q, q)
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'v' and 'a'"):
        power(robot, q)
    with pytest.raises(DalembertError, match="expected the name of a quantity or a function made by `quantity`"):
        robot.compile(len)
    with pytest.raises(DalembertError, match="power: has no option 'rows'"):
        robot.compile(power, rows=(1,))
