"""Laws of environments: physics as of rollouts; nothing depends on neighbours, threads or how vectors are cut."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Sampled, learn
from dalembert.math import clip
from learning import FEET, PERIOD, crawler, crawler_environment, pole_environment
from tolerances import ACCUMULATED, COMPUTED, assert_close

pytest.importorskip("gymnasium")
N = 16
PER_FLOAT32 = 1e-6  # of an observation in float32 against that in float64


def servos(t, q, v, target):
    return np.concatenate([np.zeros(6), clip(800.0 * (target - q[7:]) - 20.0 * v[6:], -100.0, 100.0)])


@pytest.mark.parametrize("model", ["rigid", "compliant"])
def test_the_motion_is_that_of_a_rollout_with_the_same_torques_and_parameters(model):
    robot, contact = crawler(), Contact(ground=0.0, friction=0.7, model=model)
    law = {"contact_friction": learn.uniform(0.2, 1.0), "inertia": learn.scale(0.7, 1.3)}
    step = 0.002 if model == "rigid" else 0.001
    env = crawler_environment(contact=contact, randomize=law, step=step, reset=None)
    vec = env.vector(N, autoreset="disabled")
    vec.reset()
    for _ in range(8):
        vec.step(np.zeros((N, 4)))
    before = vec.state()  # beside what contacts remember, a controller of rollouts keeps what it holds: nothing yet
    names, own = list(env.drawn.parameters), before["own"]
    assert names == ["inertia", "contact_friction"]
    action = np.random.default_rng(0).uniform(-1.0, 1.0, (N, 4))
    parameters = {"target": 0.05 * action, "inertia": own[:, :-1], "contact_friction": own[:, -1:]}
    motion = robot.rollout(
        before["q"], before["e"][:, : robot.nv], Sampled(servos, step, state=()), step, 10, contact=contact,
        parameters=parameters, forces="last" if model == "rigid" else None,
        memory=np.pad(before["e"][:, robot.nv :], ((0, 0), (0, robot.nv))) if model == "rigid" else None,
    )  # fmt: skip
    obs, *_ = vec.step(action)
    q, v, force = np.split(obs, [robot.nq, robot.nq + robot.nv], axis=1)
    assert_close(q, motion.q, ACCUMULATED)
    assert_close(v, motion.v, ACCUMULATED)
    assert np.abs(force[:, 2]).max() > 1.0
    if model == "rigid":
        assert_close(force, motion.contacts.by_body["front_left"], ACCUMULATED, scale=10.0)


def test_contacts_are_remembered_from_step_to_step():
    vec = crawler_environment(reset=None).vector(2, autoreset="disabled")
    vec.reset()
    memory = slice(crawler().nv, None)
    assert not vec.state()["e"][:, memory].any()
    for _ in range(20):
        vec.step(np.zeros((2, 4)))
    assert (np.abs(vec.state()["e"][:, memory]).max(axis=1) > 0.0).all()


def test_feet_carry_the_weight_and_time_their_flights():
    timed = {
        "forces": lambda s: np.array([s.feet[name].force[2] for name in FEET]),
        "air": lambda s: np.array([s.feet[name].air_time for name in FEET]),
        "landed": lambda s: np.array([s.feet[name].landed for name in FEET]),
    }
    start = crawler().neutral()
    start[2] = 0.23 + 0.1  # its feet are 10 cm above the ground: it falls for 0.143 s
    vec = crawler_environment(observe=timed, reset=start, done={}).vector(1, autoreset="disabled")
    vec.reset()
    rows = np.array([vec.step(np.zeros((1, 4)))[0][0] for _ in range(50)])
    forces, air, landed = np.split(rows, 3, axis=1)
    weight = crawler().total_mass * 9.81
    assert forces[-1].sum() == pytest.approx(weight, rel=1e2 * COMPUTED**0.5)
    first = int(np.argmax(landed[:, 0]))
    assert first == 7  # the eighth control step ends at 0.16 s
    assert_close(air[:first, 0], PERIOD * np.arange(1, first + 1), COMPUTED)
    assert air[first, 0] == pytest.approx(7 * PERIOD)
    assert air[first + 1, 0] in (0.0, PERIOD)


def test_64_environments_are_two_halves_of_32_bit_for_bit():
    env = crawler_environment(
        randomize={"contact_friction": learn.uniform(0.2, 1.0), "gains": learn.scale(0.8, 1.2)},
        observe={"q": learn.observed(lambda s: s.q, noise=0.01), "v": lambda s: s.v},
        events=[learn.push(every=(0.05, 0.2), speed=0.5)],
        episode=0.2,
    )
    whole, low, high = (env.vector(n, first=k, seed=3, autoreset="same_step") for n, k in ((64, 0), (32, 0), (32, 32)))
    rows = [vec.reset()[0] for vec in (whole, low, high)]
    assert np.array_equal(rows[0], np.concatenate(rows[1:]))
    rng = np.random.default_rng(1)
    for _ in range(30):
        action = rng.uniform(-1.0, 1.0, (64, 4))
        answers = [vec.step(a) for vec, a in ((whole, action), (low, action[:32]), (high, action[32:]))]
        for part in range(4):
            one, *two = (answer[part] for answer in answers)
            assert np.array_equal(one, np.concatenate(two))
    assert np.array_equal(whole.state()["own"], np.concatenate([low.state()["own"], high.state()["own"]]))


@pytest.mark.parametrize("count", [1, 5, 13])
def test_an_environment_does_not_depend_on_its_neighbours_or_on_threads(count):
    env = crawler_environment()
    many, few = env.vector(32, threads=2), env.vector(count, first=3, threads=1)
    a, b = many.reset()[0], few.reset()[0]
    assert np.array_equal(a[3 : 3 + count], b)
    action = np.random.default_rng(0).uniform(-1.0, 1.0, (32, 4))
    for _ in range(5):
        a, b = many.step(action)[0], few.step(action[3 : 3 + count])[0]
    assert np.array_equal(a[3 : 3 + count], b)


def test_a_checkpoint_goes_on_bit_for_bit():
    env = pole_environment(observe={"q": learn.observed(lambda s: s.q, noise=0.1, delay=(0, 2), history=2)})
    one, other = env.vector(8, seed=1, autoreset="same_step"), env.vector(8, seed=2, autoreset="same_step")
    one.reset()
    other.reset()
    for k in range(4):
        one.step(np.full((8, 1), 0.1 * k))
    kept = one.state()
    other.set_state(kept)
    for _ in range(10):  # over a reset
        answers = [vec.step(np.full((8, 1), 0.3)) for vec in (one, other)]
        assert np.array_equal(answers[0][0], answers[1][0])
    assert not np.array_equal(kept["q"], one.state()["q"])  # what was kept is a copy


def test_the_reward_is_weight_times_function_times_the_length_of_a_step():
    vec = pole_environment().vector(3, autoreset="disabled")
    vec.reset()
    total = np.zeros((3, 2))
    for k in range(4):
        obs, reward, _, _, info = vec.step(np.full((3, 1), 0.5))
        angle = obs[:, 0]
        low = -2.0 * angle * angle * PERIOD
        total[:, 0] += low
        total[:, 1] += reward - low
        assert (reward - low < 0.0).all()
        assert_close(info["terms"]["low"], total[:, 0], COMPUTED)
        assert_close(info["terms"]["effort"], total[:, 1], COMPUTED)
        assert info["length"].tolist() == [k + 1] * 3
        assert np.array_equal(obs[:, 3], np.full(3, 0.5))


def test_buffers_are_never_shared():
    vec = pole_environment().vector(4)
    obs, _ = vec.reset()
    kept = [obs.copy()]
    given = [obs]
    for _ in range(3):
        answer = vec.step(np.zeros((4, 1)))
        given += answer[:4]
        kept += [x.copy() for x in answer[:4]]
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))
    for x in given:
        x[...] = 77
    assert not (vec.step(np.zeros((4, 1)))[0] == 77).any()
    state = vec.state()
    state["q"][:] = 9.0
    assert (np.abs(vec.state()["q"]) < 9.0).all()


def test_groups_of_observations_are_dicts():
    observe = {"policy": {"q": lambda s: s.q, "up": lambda s: s.q[0] > 0.0}, "critic": {"v": lambda s: s.v}}
    env = pole_environment(observe=observe)
    vec = env.vector(3)
    obs, _ = vec.reset()
    assert {name: x.shape for name, x in obs.items()} == {"policy": (3, 2), "critic": (3, 1)}
    assert np.array_equal(obs["policy"][:, 1], (obs["policy"][:, 0] > 0.0).astype(float))
    assert vec.observation_space.contains(obs)
    assert env.single().reset()[0]["critic"].shape == (1,)


def test_start_is_the_first_keyframe_else_neutral_lifted_to_the_ground():
    env = crawler_environment(reset=None)
    assert env.start.q[2] == pytest.approx(0.23)  # legs of 0.2 m and balls of 0.03 m
    b_q = env.start.q.copy()
    assert np.array_equal(env.vector(1).reset()[0][0, : crawler().nq], b_q)


def test_explain_says_which_number_is_what():
    seen = learn.observed(lambda s: s.q, noise=0.01, delay=(0, 1), history=3, scale=2.0, unit="rad")
    env = pole_environment(observe={"angle": seen, "v": lambda s: s.v})
    obs = env.single().reset()[0]
    rows = env.explain(obs)
    assert [(r.place, r.name, r.age) for r in rows] == [(0, "angle", 2), (1, "angle", 1), (2, "angle", 0), (3, "v", 0)]
    assert rows[0].unit == "rad"
    assert rows[0].scale == 2.0
    assert rows[0].delay == (0, 1)
    assert [r.value for r in rows] == obs.tolist()
    assert "angle" in str(rows)
    with pytest.raises(ValueError, match="shape"):
        env.explain(np.zeros(3))


def test_float32_and_other_libraries_share_the_numbers():
    env = pole_environment()
    double, single = env.vector(4), env.vector(4, dtype="float32")
    a, b = double.reset()[0], single.reset()[0]
    assert b.dtype == np.float32
    np.testing.assert_allclose(a, b, atol=PER_FLOAT32)


def test_jax_arrays_are_views(jax):
    vec = pole_environment().vector(4, arrays="jax")
    obs, _ = vec.reset()
    assert isinstance(obs, jax.Array)
    obs, reward, terminated, *_ = vec.step(jax.numpy.zeros((4, 1)))
    assert reward.shape == (4,)
    assert terminated.dtype == bool


def test_torch_tensors_are_views(torch):
    vec = pole_environment().vector(4, arrays="torch")
    obs, _ = vec.reset()
    assert obs.dtype == torch.float32
    obs, reward, terminated, _, _ = vec.step(torch.zeros(4, 1))
    assert terminated.dtype == torch.bool
    assert reward.shape == (4,)
