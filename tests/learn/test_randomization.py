"""What is drawn: it reaches the physics, it is drawn from nominal values, and nothing accumulates."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Sampled, learn
from dalembert.math import clip
from learning import PERIOD, crawler, crawler_environment, pole, pole_environment
from tolerances import ACCUMULATED, COMPUTED, assert_close

pytest.importorskip("gymnasium")
N = 8
EACH = {
    "inertia": learn.scale(0.5, 1.5),
    "friction": learn.uniform(0.1, 2.0),
    "damping": learn.add(0.1, 2.0),
    "armature": learn.add(learn.uniform(0.01, 0.5)),
    "stiffness": learn.uniform(1.0, 20.0),
    "placement": learn.uniform(-0.3, 0.3),
    "gravity": learn.scale(0.5, 1.5),
    "payload": learn.uniform(0.1, 1.0),
}
RANGE = 0.05  # by which the mean of 2000 draws may differ, of the width of their range
REMEMBERED = 1e-6  # [m/s] velocities after two solutions of one contact problem


def test_every_live_parameter_has_a_case():
    from dalembert.quantities.live import GROUPS, SHAPES  # shapes act in contacts: tests/sim/test_design_sweeps.py

    assert set(EACH) == {*GROUPS, "payload"} - {*SHAPES}


@pytest.mark.parametrize("name", EACH)
def test_each_parameter_reaches_the_physics(name):
    env = pole_environment(
        randomize={name: EACH[name]}, observe={"q": lambda s: s.q, "p": lambda s: s.parameters[name]}
    )
    vec = env.vector(N, autoreset="disabled")
    vec.reset()
    state = vec.state()
    assert len(np.unique(state["own"].sum(axis=1))) == N
    for _ in range(3):
        obs, *_ = vec.step(np.full((N, 1), 0.7))

    def servo(t, q, v):
        return clip(20.0 * (0.7 - q) - v, -20.0, 20.0)

    law = Sampled(servo, 0.005, state=())
    start = state["q"], state["e"][:, :1], law, 0.005, 12
    motion = pole().rollout(*start, parameters={name: state["own"]})
    assert_close(obs[:, :1], motion.q, ACCUMULATED)
    assert np.array_equal(obs[:, 1:], state["own"])
    assert (np.abs(obs[:, :1] - pole().rollout(*start).q) > REMEMBERED).all()


def test_gains_and_delay_reach_the_physics():
    env = pole_environment(randomize={"gains": learn.scale(0.3, 3.0)}, reset=np.zeros(1))
    vec = env.vector(N, autoreset="disabled")
    vec.reset()
    gains = vec.state()["own"]
    obs, *_ = vec.step(np.full((N, 1), 0.7))
    for row, (kp, kd) in zip(obs, gains, strict=True):

        def servo(t, q, v, kp=kp, kd=kd):
            return clip(20.0 * kp * (0.7 - q) - kd * v, -20.0, 20.0)

        assert_close(row[:1], pole().rollout([0.0], [0.0], Sampled(servo, 0.005, state=()), 0.005, 4).q, ACCUMULATED)
    action = learn.JointTargets(scale=1.0, kp=20.0, kd=1.0, delay=(0, 2))
    vec = pole_environment(action=action, reset=np.zeros(1)).vector(64, autoreset="disabled")
    vec.reset()
    lag, moved = vec.state()["lag"][:, 0], np.full(64, 9.0)
    assert set(lag) == {0.0, 1.0, 2.0}
    for k in range(4):
        obs, *_ = vec.step(np.full((64, 1), 0.7))
        moved[(moved == 9.0) & (obs[:, 0] > 0.0)] = k
    assert np.array_equal(moved, lag)
    vec = pole_environment(randomize={"delay": learn.uniform(1.0, 3.0)}, reset=np.zeros(1)).vector(64)
    vec.reset()
    obs, *_ = vec.step(np.full((64, 1), 0.7))
    assert not obs[:, 0].any()


def test_parameters_do_not_accumulate_over_episodes():
    env = pole_environment(randomize={"inertia": learn.scale(0.8, 1.2)})
    vec = env.vector(40, autoreset="same_step")
    vec.reset()
    nominal, seen = pole().live_values("inertia"), []
    for k in range(250):
        if k % 5 == 0:
            seen.append(vec.state()["own"])
        vec.step(np.zeros((40, 1)))
    factors = np.array(seen).reshape(-1, 2, 10)[:, 1] / np.where(nominal, nominal, 1.0).reshape(2, 10)[1]
    factors = factors[:, 0]
    assert factors.min() >= 0.8
    assert factors.max() <= 1.2
    assert abs(factors.mean() - 1.0) < RANGE * 0.4
    assert len(np.unique(factors)) == 2000
    assert abs(factors[-400:].std() - 0.4 / np.sqrt(12.0)) < RANGE * 0.4


def test_what_is_drawn_once_stays_and_what_is_redrawn_changes_within_an_episode():
    laws = {
        "armature": learn.once(learn.uniform(0.1, 0.2)),
        "damping": learn.redrawn(learn.uniform(0.0, 1.0), 2 * PERIOD),
    }
    vec = pole_environment(randomize=laws).vector(4, autoreset="same_step")
    vec.reset()
    rows = []
    for _ in range(12):
        rows.append(vec.state()["own"])
        vec.step(np.zeros((4, 1)))
    armature, damping = np.moveaxis(rows, -1, 0)
    assert (armature == armature[0]).all()
    assert len(np.unique(armature)) == 4
    changes = np.flatnonzero(np.diff(damping[:, 0])) + 1
    assert changes.tolist() == [3, 5, 8, 10]  # 2 control steps after the start, again after 2; at the reset after 5


def test_commands_are_drawn_again_at_random_times():
    command = {"goal": learn.redrawn(learn.uniform((-1.0, 2.0), (1.0, 3.0)), every=(2 * PERIOD, 6 * PERIOD))}
    observe = {"goal": lambda s: s.command["goal"], "all": lambda s: s.command}
    vec = pole_environment(command=command, observe=observe, episode=None).vector(50)
    vec.reset()
    rows = np.array([vec.step(np.zeros((50, 1)))[0] for _ in range(60)])
    assert np.array_equal(rows[..., :2], rows[..., 2:])
    assert rows[..., 0].min() >= -1.0
    assert rows[..., 1].min() >= 2.0
    for k in range(50):
        gaps = np.diff(np.flatnonzero(np.diff(rows[:, k, 0])))
        assert set(gaps) <= {2, 3, 4, 5, 6}
    vec.commands["goal"][:] = [7.0, 8.0]
    assert (vec.state()["command"] == [7.0, 8.0]).all()


def test_a_push_reaches_the_contact_solver():
    """The velocity that a push adds is there before contacts are solved: friction brakes it in the same step."""
    speed, every = 0.4, 0.04
    still = {"reset": None, "episode": None, "done": {}, "contact": Contact(ground=0.0, friction=0.0)}
    calm, pushed = (
        crawler_environment(**still, events=events).vector(6) for events in ([], [learn.push(every=every, speed=speed)])
    )
    calm.reset()
    pushed.reset()
    nq = crawler().nq
    for k in range(3):
        a, b = (vec.step(np.zeros((6, 4)))[0] for vec in (calm, pushed))
        change = (b - a)[:, nq + 3 : nq + 6]
        assert np.abs(change[:, 2]).max() < REMEMBERED
        momentum = np.linalg.norm(change[:, :2], axis=1)
        if k < 2:
            assert not (b - a).any()
        else:  # without friction all of it is left after the step
            np.testing.assert_allclose(momentum, speed, rtol=REMEMBERED)
            angles = np.arctan2(change[:, 1], change[:, 0])
            assert len(np.unique(np.round(angles, 3))) == 6
    rough = crawler_environment(
        **(still | {"contact": Contact(ground=0.0, friction=1.0)}), events=[learn.push(every=every, speed=speed)]
    ).vector(6)
    rough.reset()
    for _ in range(3):
        obs, *_ = rough.step(np.zeros((6, 4)))
    braked = np.linalg.norm(obs[:, nq + 3 : nq + 5], axis=1)
    assert (braked < 0.8 * speed).all()


def test_noise_has_its_deviation_and_is_fresh():
    observe = {"q": learn.observed(lambda s: 0.0 * s.q, noise=0.2, scale=3.0)}
    vec = pole_environment(observe=observe, episode=None).vector(500)
    vec.reset()
    rows = np.array([vec.step(np.zeros((500, 1)))[0][:, 0] for _ in range(20)])
    assert abs(rows.std() - 0.6) < RANGE * 0.6
    assert abs(rows.mean()) < RANGE * 0.6
    assert len(np.unique(rows)) == rows.size
    assert abs(np.corrcoef(rows[:-1].ravel(), rows[1:].ravel())[0, 1]) < RANGE


def test_delay_and_history_of_observations():
    observe = {
        "now": lambda s: s.t,
        "stack": learn.observed(lambda s: s.t, history=3),
        "late": learn.observed(lambda s: s.t, delay=(2, 2)),
        "some": learn.observed(lambda s: s.t, delay=(0, 3)),
    }
    vec = pole_environment(observe=observe, episode=6 * PERIOD).vector(64, autoreset="same_step")
    vec.reset()
    for k in range(1, 12):
        rows = np.round(vec.step(np.zeros((64, 1)))[0] / PERIOD)
        j = k % 6
        assert (rows[:, 0] == j).all()
        assert (rows[:, 1:4] == [max(j - 2, 0), max(j - 1, 0), j]).all()
        assert (rows[:, 4] == max(j - 2, 0)).all()
        if j == 5:
            assert set(rows[:, 5]) == {2.0, 3.0, 4.0, 5.0}


def test_randomization_lists_what_is_drawn_and_from_what():
    env = crawler_environment(
        randomize={"contact_friction": learn.uniform(0.4, 1.2), "inertia": learn.scale(0.9, 1.1)},
        action=learn.JointTargets(kp=1.0, kd=1.0, delay=(0, 2)),
        command={"velocity": learn.uniform((0, 0), (1, 1))},
        events=[learn.push(every=(5, 10), speed=1.0)],
    )
    lines = {line.name: line for line in env.randomization()}
    assert set(lines) == {"contact_friction", "inertia", "delay", "command velocity", "push 0"}
    assert lines["contact_friction"].nominal == pytest.approx(0.7)
    assert lines["inertia"].numbers == len(crawler().live_values("inertia")) // 10
    assert "0.9" in lines["inertia"].draw
    assert "reset" in lines["inertia"].draw


def test_masses_and_moments_scale_together():
    env = pole_environment(randomize={"inertia": learn.scale(0.2, 5.0)})
    vec = env.vector(30)
    vec.reset()
    own = vec.state()["own"].reshape(30, -1, 10)
    nominal = pole().live_values("inertia").reshape(-1, 10)
    factors = own[:, 1, 0] / nominal[1, 0]
    assert_close(own[:, 1], factors[:, None] * nominal[1], COMPUTED)
