"""The three ways to go on after an episode, as tables: what each step gives, as Gymnasium 1.x specifies."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import learn
from learning import PERIOD, pole_environment
from tolerances import COMPUTED, assert_close

gymnasium = pytest.importorskip("gymnasium")

# Episodes of three control steps, truncated. What step k = 1 … 8 gives: the time in the observation in control steps,
# truncated, and the length in info. The observation of the reset has time 0.
TABLES = {
    "next_step": [(1, 0, 1), (2, 0, 2), (3, 1, 3), (0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 1, 3), (0, 0, 0)],
    "same_step": [(1, 0, 1), (2, 0, 2), (0, 1, 3), (1, 0, 1), (2, 0, 2), (0, 1, 3), (1, 0, 1), (2, 0, 2)],
}


def environment(**settings):
    return pole_environment(episode=3 * PERIOD, **settings)


@pytest.mark.parametrize("mode", TABLES)
def test_timelines(mode):
    vec = environment().vector(2, autoreset=mode)
    assert vec.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode[mode.upper()]
    obs, info = vec.reset()
    assert not obs[:, 2].any()
    assert info == {}
    for time, truncated, length in TABLES[mode]:
        obs, reward, ended, late, info = vec.step(np.full((2, 1), 0.5))
        assert_close(obs[:, 2], np.full(2, time * PERIOD), COMPUTED)
        assert late.tolist() == [bool(truncated)] * 2
        assert not ended.any()
        assert info["length"].tolist() == [length] * 2
        if mode == "next_step" and time == 0:  # the step that resets: its action is ignored, its reward is 0
            assert not reward.any()
            assert not obs[:, 3].any()
            assert not info["terms"]["effort"].any()
        else:
            assert (reward < 0.0).all()
        assert ("final_obs" in info) == (mode == "same_step" and bool(truncated))


def test_same_step_gives_the_last_observation_and_sums_apart():
    vec = environment().vector(2, autoreset="same_step")
    plain = environment().vector(2, autoreset="disabled")
    vec.reset()
    plain.reset()
    total = np.zeros(2)
    for _ in range(3):
        obs, reward, _, late, info = vec.step(np.full((2, 1), 0.5))
        expected = plain.step(np.full((2, 1), 0.5))[0]
        total += reward
    assert late.all()
    assert info["final_obs"].dtype == object
    assert np.array_equal(np.stack(info["final_obs"]), expected)
    assert info["_final_obs"].tolist() == [True, True]
    assert_close(sum(info["final_info"]["terms"].values()), total, COMPUTED)
    assert not np.array_equal(obs, expected)


def test_final_obs_is_there_for_those_alone_that_ended():
    vec = environment(done={"high": lambda s: s.q[0] > 0.0}).vector(16, autoreset="same_step")
    before = vec.reset()[0]
    _, _, ended, late, info = vec.step(np.zeros((16, 1)))
    assert 0 < ended.sum() < 16
    assert not late.any()
    assert info["_final_obs"].tolist() == ended.tolist()
    assert [x is not None for x in info["final_obs"]] == ended.tolist()
    assert all(row[0] > 0.0 for row in info["final_obs"] if row is not None)
    assert np.array_equal(info["ends"]["high"], ended)
    assert before.shape == (16, 4)


def test_termination_counts_before_the_time_limit():
    vec = environment(done={"late": lambda s: s.t > 2.5 * PERIOD}).vector(2, autoreset="same_step")
    vec.reset()
    for _ in range(3):
        _, _, ended, late, _ = vec.step(np.zeros((2, 1)))
    assert ended.all()
    assert not late.any()


def test_disabled_waits_for_a_reset_by_mask():
    vec = environment().vector(3, autoreset="disabled")
    vec.reset()
    mask = np.array([False, True, False])
    for _ in range(2):
        obs, *_ = vec.step(np.zeros((3, 1)))
    after, info = vec.reset(options={"reset_mask": mask})
    assert info == {}
    assert np.array_equal(after[~mask], obs[~mask])
    assert after[1, 2] == 0.0
    _, _, _, late, _ = vec.step(np.zeros((3, 1)))
    assert late.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="environment 0 is done"):
        vec.step(np.zeros((3, 1)))
    vec.reset(options={"reset_mask": late})
    vec.step(np.zeros((3, 1)))


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_the_observation_of_a_reset_within_a_step_is_fresh(mode):
    """Not that of the state before: poses, sensors and terms are those of the new state."""
    observe = {"q": lambda s: s.q, "axes": lambda s: s.sensors["axes"], "held": lambda s: s.action}
    env = environment(observe=observe, sensors={"axes": learn.frame_orientation("rod")})
    vec = env.vector(8, autoreset=mode)
    vec.reset()
    for _ in range(12):
        obs, _, _, _, _ = vec.step(np.full((8, 1), 1.0))
        assert_close(obs[:, 4], np.sin(obs[:, 0]), COMPUTED)
        began = vec.state()["steps"][:, 0] == 0.0
        assert not obs[began, 7].any()
        assert np.array_equal(vec.state()["q"][:, 0], obs[:, 0])


def test_every_episode_and_environment_has_its_own_start():
    vec = environment().vector(64, seed=5, autoreset="same_step")
    starts = [vec.reset()[0][:, 0]]
    for k in range(12):
        obs, *_ = vec.step(np.zeros((64, 1)))
        if k % 3 == 2:
            starts.append(obs[:, 0])
    assert len(np.unique(np.round(starts, 12))) == np.size(starts)
    again = environment().vector(64, seed=5).reset()[0][:, 0]
    assert np.array_equal(again, starts[0])
    assert np.array_equal(vec.reset(seed=5)[0][:, 0], starts[0])
    other = environment().vector(64, seed=6).reset()[0][:, 0]
    assert not np.intersect1d(other, starts[0]).size


def test_a_list_of_seeds_is_one_seed_for_each():
    vec = environment().vector(3)
    rows = vec.reset(seed=[4, 9, 4])[0]
    assert np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])
    single = environment().single()
    assert np.array_equal(single.reset(seed=9)[0], rows[1])
