"""Libraries that learn: their own checkers, and 1000 steps of each with its own loop."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, learn
from learning import PERIOD, pole_environment
from tolerances import SINGLE

gymnasium = pytest.importorskip("gymnasium")
STEPS = 1000
GROUPS = {"policy": {"q": lambda s: s.q, "v": lambda s: s.v}, "critic": {"t": lambda s: s.t, "tau": lambda s: s.tau}}


def test_gymnasium_checks_the_single_environment():
    from gymnasium.utils.env_checker import check_env

    check_env(pole_environment().single(), skip_render_check=True)
    check_env(pole_environment(observe=GROUPS).single(dtype="float32"), skip_render_check=True)


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_gymnasium_wrappers_take_the_vector_environment(mode):
    vec = pole_environment(episode=4 * PERIOD).vector(3, autoreset=mode, dtype="float32")
    assert isinstance(vec, gymnasium.vector.VectorEnv)
    assert vec.observation_space.shape == (3, 4)
    assert vec.action_space.contains(vec.action_space.sample())
    if mode == "disabled":
        obs, _ = vec.reset(seed=1)
        assert vec.observation_space.contains(obs)
        return
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(vec)
    obs, _ = recorded.reset(seed=1)
    lengths = []
    for _ in range(12):
        obs, reward, *_, info = recorded.step(recorded.action_space.sample())
        assert vec.observation_space.contains(obs)
        assert reward.shape == (3,)
        lengths += info["episode"]["l"][info["_episode"]].tolist() if "episode" in info else []
    assert set(lengths) == {4}
    vec.close()


def test_sync_vector_of_singles_gives_the_same_as_the_vector():
    env = pole_environment(episode=3 * PERIOD)
    mode = gymnasium.vector.AutoresetMode.NEXT_STEP
    theirs = gymnasium.vector.SyncVectorEnv([env.single] * 3, autoreset_mode=mode)
    ours = env.vector(3, autoreset="next_step")
    a, b = theirs.reset(seed=[3, 4, 5])[0], ours.reset(seed=[3, 4, 5])[0]
    assert np.array_equal(a, b)
    for k in range(10):
        action = np.full((3, 1), 0.1 * k, np.float32)
        one, two = theirs.step(action), ours.step(action)
        for x, y in zip(one[:4], two[:4], strict=True):
            assert np.array_equal(x, y)


def test_stable_baselines_checks():
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(pole_environment().single(dtype="float32"), warn=True)
    env = learn.sb3(pole_environment(episode=4 * PERIOD).vector(5, autoreset="same_step", dtype="float32"))
    obs = env.reset()
    assert obs.dtype == np.float32
    for k in range(9):
        obs, reward, done, infos = env.step(np.zeros((5, 1), np.float32))
        assert done.all() == (k % 4 == 3)
        if done.all():
            assert infos[0]["TimeLimit.truncated"]
            assert infos[0]["terminal_observation"][2] == pytest.approx(4 * PERIOD)
            assert obs[0, 2] == 0.0
            assert infos[2]["episode"]["l"] == 4
    assert reward.dtype == np.float32


def test_rsl_rl_takes_groups_and_time_limits():
    pytest.importorskip("rsl_rl")
    torch = pytest.importorskip("torch")
    env = learn.rsl_rl(
        pole_environment(observe=GROUPS, episode=5 * PERIOD).vector(4)
    )  # any autoreset: it makes its own
    assert set(env.get_observations().keys()) == {"policy", "critic"}
    env.episode_length_buf = torch.tensor([3, 0, 0, 0])
    for k in range(5):
        obs, reward, done, extras = env.step(torch.zeros(4, 1))
        assert done.bool().tolist() == ([True, False, False, False] if k == 1 else [k == 4 and j > 0 for j in range(4)])
        assert extras["time_outs"].tolist() == done.bool().tolist()
    assert obs["critic"].shape == (4, 2)
    assert reward.dtype == torch.float32
    assert "/reward/low" in extras["log"]


def test_adapters_refuse_other_things():
    pytest.importorskip("stable_baselines3")
    with pytest.raises(DalembertError, match="expected what Environment"):
        learn.sb3(3)


@pytest.mark.long
def test_stable_baselines_learns_1000_steps():
    sb3 = pytest.importorskip("stable_baselines3")
    env = learn.sb3(pole_environment(observe=GROUPS).vector(20, dtype="float32"))
    model = sb3.PPO("MultiInputPolicy", env, n_steps=10, batch_size=100, n_epochs=1, device="cpu")
    model.learn(20 * STEPS)
    assert model.num_timesteps >= 20 * STEPS
    assert len(model.ep_info_buffer)


@pytest.mark.long
def test_rsl_rl_learns_1000_steps():
    runners = pytest.importorskip("rsl_rl.runners")
    env = learn.rsl_rl(pole_environment(observe=GROUPS).vector(16))
    mlp = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0}
    algorithm = {
        "class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 2, "learning_rate": 1e-3, "gamma": 0.99,
        "lam": 0.95, "clip_param": 0.2, "entropy_coef": 0.0, "value_loss_coef": 1.0, "use_clipped_value_loss": True,
        "schedule": "adaptive", "desired_kl": 0.01, "max_grad_norm": 1.0, "rnd_cfg": None, "symmetry_cfg": None,
    }  # fmt: skip
    config = {
        "num_steps_per_env": 20, "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy", "critic"]},
        "algorithm": algorithm, "actor": mlp | {"distribution_cfg": gaussian}, "critic": mlp, "multi_gpu": None,
    }  # fmt: skip
    runner = runners.OnPolicyRunner(env, config, log_dir=None, device="cpu")
    runner.learn(STEPS // 20, init_at_random_ep_len=True)
    assert runner.current_learning_iteration == STEPS // 20 - 1


@pytest.mark.long
def test_skrl_runs_1000_steps():
    pytest.importorskip("skrl")
    torch = pytest.importorskip("torch")
    from skrl.memories.torch import RandomMemory

    env = learn.skrl(pole_environment(observe=GROUPS).vector(8))
    assert env.num_envs == 8
    assert env.state_space.shape == (2,)
    memory = RandomMemory(memory_size=STEPS, num_envs=8, device="cpu")
    memory.create_tensor("obs", size=env.observation_space)
    memory.create_tensor("reward", size=1)
    obs, _ = env.reset()
    for _ in range(STEPS):
        obs, reward, terminated, truncated, _ = env.step(torch.randn(8, 1))
        memory.add_samples(obs=obs, reward=reward)
        assert terminated.shape == truncated.shape == (8, 1)
        assert env.state().shape == (8, 2)
    assert memory.filled
    assert float(memory.tensors_view["obs"].std()) > SINGLE


@pytest.mark.long
def test_torchrl_collects_1000_steps():
    pytest.importorskip("torchrl")
    from torchrl.envs.utils import check_env_specs

    env = learn.torchrl(pole_environment(observe=GROUPS).vector(4, autoreset="disabled", arrays="torch"))
    check_env_specs(env)
    data = env.rollout(STEPS, break_when_any_done=False)
    assert data.shape == (4, STEPS)
    assert int(data["next", "done"].sum()) == 4 * STEPS // 5  # episodes of five control steps
    assert data["policy"].isfinite().all()
