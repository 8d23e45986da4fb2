"""What goes in and what comes out: batch shapes, broadcasting, precision, lists, `out=`."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Wrench, load
from dalembert.quantities import CATALOGUE
from robust.machines import tree
from tolerances import COMPUTED

RNG = np.random.default_rng(11)
# tested in test_operational.py and test_inverse_kinematics.py: results of several shapes, further arguments, no method
OTHER = ("operational_dynamics", "hybrid_dynamics", "inverse_kinematics_descent")


@pytest.fixture(scope="module", params=["2r", "tree"])
def r(request):
    """An arm whose vectors have one size, and a robot with quaternions: shapes and types do not depend on how many."""
    return load("2r") if request.param == "2r" else tree()


def state(r, *batch):
    q = r.random(RNG, int(np.prod(batch))).reshape(*batch, r.nq)
    return q, RNG.normal(size=(*batch, r.nv)), RNG.normal(size=(*batch, r.nv))


def quantities(r):
    """name → (shape of its result for one state, call of it with q, v, a); several results come in one array.

    Those of pairs of shapes, whose number the caller chooses, are in tests/dynamics/collision.
    """

    def caller(name, quantity):
        def call(q, v, a, **keywords):
            given = {"q": q, "q0": q, "q1": q, "v": v, "dt": 0.1, "s": 0.5}
            if "task_damping" in quantity.inputs:
                keywords["damping"] = 0.1
            frame = [r.frames[-1].name] if quantity.framed else []
            result = getattr(r, name)(
                *[given.get(n, a) for n in quantity.inputs if n != "task_damping"], *frame, **keywords
            )
            return joined(result, len(shape(quantity))) if isinstance(result, tuple) else result

        return call

    def joined(parts, rank):
        if len({part.ndim for part in parts}) == 1:
            return np.stack(parts, -rank)
        wide = max(part.ndim for part in parts)
        return np.concatenate([part if part.ndim == wide else part[..., None, :] for part in parts], -rank)

    def shape(quantity):
        (only,) = quantity.shapes(r.model, quantity.variant(r.model, frame=r.frames[-1].name)).values()
        return only

    return {
        name: (shape(quantity), caller(name, quantity))
        for name, quantity in CATALOGUE.items()
        if name not in OTHER and "pairs" not in quantity.parameters and not quantity.refuses(r.model)
    }


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (2, 1, 2), (0,), (3, 0)])
def test_batch_shapes(r, batch):
    s = state(r, *batch)
    for name, (shape, call) in quantities(r).items():
        result = call(*s)
        if not batch and not shape:
            assert type(result) is float, name
        else:
            assert type(result) is np.ndarray, name
            assert result.shape == (*batch, *shape) and result.dtype == np.float64, name


def test_float32_in_float32_out(r):
    """Numbers written in Python take the precision of the arrays beside them; of the tree batches alone, for time."""
    for batch in ((), (3,)) if r.nq == r.nv else ((3,),):
        s = [x.astype(np.float32) for x in state(r, *batch)]
        for name, (shape, call) in quantities(r).items():
            result = call(*s)
            assert result.dtype == np.float32 and result.shape == (*batch, *shape), name
        frame = r.frames[-1].name
        wrench = Wrench(force=(0, 0, -9.81), frame=frame, point=[0.1, 0, 0])
        assert r.inverse_dynamics(*s, external=[wrench]).dtype == np.float32
        assert r.velocity(s[0], s[1], frame, point=(0.1, 0.2, 0.3)).dtype == np.float32
        assert r.integrate(s[0], s[1], np.float64(0.1)).dtype == np.float64
        precise = Wrench(force=np.array([0, 0, -9.81]), frame=frame)
        assert r.inverse_dynamics(*s, external=[precise]).dtype == np.float64


@pytest.mark.parametrize("mixed", [0, 1, 2])
def test_one_float64_makes_float64(r, mixed):
    s = list(state(r, 4))
    right = r.inverse_dynamics(*[x.astype(np.float32).astype(float) if k != mixed else x for k, x in enumerate(s)])
    found = r.inverse_dynamics(*[x.astype(np.float32) if k != mixed else x for k, x in enumerate(s)], check=False)
    assert found.dtype == np.float64 and np.array_equal(found, right)


def test_broadcasting(r):
    q, v, a = state(r, 3, 4)
    for name, (shape, call) in quantities(r).items():
        rows = call(q[:, :1], v[0], a[:, :1])
        grid = np.broadcast_to(rows, (3, 4, *shape))  # what does not depend on v has but one column
        for i, k in np.ndindex(3, 4):
            assert np.array_equal(grid[i, k], call(q[i, 0], v[0, k], a[i, 0])), name
    assert r.bias(q[:, :1], v[0]).shape == (3, 4, r.nv)
    assert r.bias(q[0, 0], v).shape == (3, 4, r.nv)
    assert r.bias(q[:0], v[0]).shape == (0, 4, r.nv)


def test_time_steps_and_weights_broadcast(r):
    q, v, _ = state(r, 3, 4)
    dt = np.array([0.1, 0.2, 0.3, 0.4])
    moved = r.integrate(q, v, dt)
    assert moved.shape == q.shape
    for k in range(4):
        assert np.array_equal(moved[:, k], r.integrate(q[:, k], v[:, k], float(dt[k])))
    path = r.interpolate(q[0, 0], q[0, 1], np.linspace(0, 1, 5))
    assert path.shape == (5, r.nq)
    assert np.array_equal(path[2], r.interpolate(q[0, 0], q[0, 1], 0.5))
    assert r.integrate(q[0, 0], v, 1).shape == (3, 4, r.nq)


def test_lists_tuples_and_whole_numbers(r):
    q, v, a = state(r, 3)
    right = r.inverse_dynamics(q, v, a)
    assert np.array_equal(r.inverse_dynamics(q.tolist(), tuple(v.tolist()), list(a)), right)
    assert np.array_equal(r.inverse_dynamics(q[0].tolist(), v[0].tolist(), a[0].tolist()), right[0])
    assert np.array_equal(r.mass_matrix(r.neutral().astype(int)), r.mass_matrix(r.neutral()))
    assert type(r.potential_energy(q[0].tolist())) is float


def test_out_is_filled_and_returned(r):
    for batch in ((), (3,), (2, 3)):
        s = state(r, *batch)
        for name, (shape, call) in quantities(r).items():
            right = call(*s)
            out = np.full((*batch, *shape), np.nan)
            result = call(*s, out=out)
            assert result is out or name.endswith(("_derivatives", "_vjp", "_equations", "port_hamiltonian")), (
                name
            )  # which are given as several views of it
            assert np.array_equal(result, right) and np.array_equal(out, right), name
            room = np.full((*batch, *shape, 2), np.nan)
            assert np.array_equal(call(*s, out=room[..., 1]), right), name
            assert np.isnan(room[..., 0]).all(), f"{name}: the neighbours were written to"


def test_out_of_an_empty_batch(r):
    q, v, a = state(r, 0)
    out = np.empty((0, r.nv))
    assert r.inverse_dynamics(q, v, a, out=out) is out


@pytest.mark.parametrize("rows", [1, 3, 50, 3000])
def test_out_over_an_input(r, rows):
    """The input is read before it is written over, also where rows do not lie on rows."""
    q, v, a = state(r, rows)
    right = r.inverse_dynamics(q, v, a)
    for shift in (0, 1, r.nv, 3 * r.nv + 1):
        for first, second in ((0, shift), (shift, 0)):
            room = np.empty(rows * r.nv + shift)
            moved, out = (room[k : k + rows * r.nv].reshape(rows, r.nv) for k in (first, second))
            moved[...] = a
            r.inverse_dynamics(q, v, moved, out=out)
            assert np.array_equal(out, right)
    turned = a.copy()
    r.inverse_dynamics(q, v, turned, out=turned[::-1])
    assert np.array_equal(turned[::-1], right)


def test_results_are_new_arrays(r):
    """No buffers behind the scenes: an earlier result does not change, also where a result is an input."""
    q, v, a = state(r)
    first = r.inverse_dynamics(q, v, a)
    kept = first.copy()
    r.inverse_dynamics(q, v, 2 * a)
    assert np.array_equal(first, kept)
    same = r.normalize(q)
    assert not np.shares_memory(same, q)


def test_subclasses_of_robot_keep_their_methods():
    class Loud(dalembert.Robot):
        def gravity(self, q, **keywords):
            return -super().gravity(q, **keywords)

    loud, quiet = Loud(load("2r").model), load("2r")
    q = np.array([0.3, 0.4])
    for _ in range(3):
        assert np.array_equal(loud.gravity(q), -quiet.gravity(q))


def test_a_robot_that_cannot_move():
    b = dalembert.ModelBuilder("rock")
    b.add_body("rock", parent="world", mass=2.0, com=(0, 0, 3.0))
    rock = b.build()
    none = np.zeros(0)
    assert rock.nq == rock.nv == 0
    assert rock.inverse_dynamics(none, none, none).shape == (0,)
    assert rock.mass_matrix(none).shape == (0, 0)
    assert rock.potential_energy(none) == pytest.approx(2.0 * 9.81 * 3.0)
    assert rock.potential_energy(np.zeros((4, 0))).shape == (4,)
    assert rock.bias(np.zeros((5, 0)), none).shape == (5, 0)
    assert np.array_equal(rock.pose([], "rock"), np.eye(4))


def test_keywords_with_a_frame_reach_the_fast_call_too(r):
    q = state(r)[0]
    frame = r.frames[-1].name
    out = np.full((6, r.nv), np.nan)
    assert r.jacobian(q, frame, out=out) is out
    assert np.array_equal(out, r.jacobian(q, frame))
    assert np.array_equal(r.jacobian(q, frame, check=False, threads=1), out)
    nearly = r.jacobian(q, frame, point=np.zeros(3))  # the point is an input of its own code
    np.testing.assert_allclose(nearly, out, atol=COMPUTED)
