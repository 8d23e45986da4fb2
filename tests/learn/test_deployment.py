"""Trained policies: their contract in ONNX files, the law that reads it, and the same policy in MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError, control, learn
from learning import crawler_environment, pole, pole_environment
from tolerances import ACCUMULATED, ITERATED, SINGLE, assert_close

pytest.importorskip("gymnasium")
START = np.array([0.2])
POLICIES = Path(__file__).parents[2] / "examples" / "learn" / "policies"
WALKS = 0.1  # [m/s] beside the speed that is asked
REACHES = 5e-3  # [m] in the median
SINKS = 2e-3  # [m] by which MuJoCo's soft contacts give way under a leg


def environment(**settings):
    observe = {
        "joint_pos": lambda s: s.joints,
        "joint_vel": learn.observed(lambda s: s.v, scale=0.2, history=2),
        "command": lambda s: s.command,
        "actions": lambda s: s.action,
    }
    defaults = {"observe": observe, "command": {"goal": learn.uniform(-1, 1)}, "reset": START, "episode": None}
    return pole_environment(**(defaults | settings))


def policy(torch, env):
    torch.manual_seed(0)
    net = learn.Policy(env.observing.sizes["observation"], 1, learn.PPO(hidden=(16,)))
    for x in net.parameters():
        x.data += 0.3 * torch.randn_like(x)
    return net


def test_a_policy_from_its_file_moves_the_robot_as_the_environment_does(torch, tmp_path):
    pytest.importorskip("onnx")
    env, path = environment(), tmp_path / "pole.onnx"
    net = policy(torch, env)
    contract = learn.save_policy(net, env, path)
    assert contract.joints == ("hinge",)
    assert contract.kp == (20.0,)
    assert contract.observe[1].history == 2
    played = learn.play(env, net, seconds=1.0, command={"goal": 0.5})
    law = control.policy(path, pole(), command=[0.5])
    motion = pole().rollout(START, np.zeros(1), law, env.step, 200, every=4)
    assert np.ptp(motion.q) > 0.3
    assert_close(played.q[0], motion.q, SINGLE)


def test_save_contract_completes_a_file_of_another_trainer(torch, tmp_path):
    onnx = pytest.importorskip("onnx")
    env, path = environment(), tmp_path / "pole.onnx"
    learn.save_policy(policy(torch, env), env, path)
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"run": "7"})
    onnx.save(model, path)
    learn.save_contract(env, path)
    kept = {x.key: x.value for x in onnx.load(path).metadata_props}
    assert kept["run"] == "7"
    assert kept["joint_names"] == "hinge"
    with pytest.raises(DalembertError, match="the network takes 5 numbers"):
        learn.save_contract(pole_environment(), path)
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(DalembertError, match=r"text\.onnx"):
        learn.save_contract(env, tmp_path / "text.onnx")
    with pytest.raises(DalembertError, match=r"none\.onnx"):
        learn.save_contract(env, tmp_path / "none.onnx")


def test_the_twin_in_mujoco_moves_alike(torch, capsys):
    pytest.importorskip("mujoco")
    env = environment()
    twin = learn.mujoco_twin(env, policy(torch, env), seconds=1.0, command={"goal": 0.5})
    assert "MuJoCo" in capsys.readouterr().out
    assert np.ptp(twin.here.q) > 0.3
    assert_close(twin.mujoco.q, twin.here.q, ACCUMULATED)
    assert_close(twin.mujoco.reward, twin.here.reward, ACCUMULATED)


def test_the_twin_of_a_robot_on_the_ground_stands_alike():
    pytest.importorskip("mujoco")
    env = crawler_environment(reset=None, events=[learn.push(every=0.1, speed=0.5)])
    twin = learn.mujoco_twin(env, None, seconds=1.0)
    height = [played.q[0, -1, 2] for played in (twin.here, twin.mujoco)]
    assert abs(height[0] - height[1]) < SINKS
    assert np.isinf([twin.here.ended, twin.mujoco.ended]).all()
    assert "forward" in str(twin)


def test_playing_goes_on_after_an_end_and_says_when_it_was():
    env = pole_environment(done={"late": lambda s: s.t > 0.05}, reset=START)
    played = learn.play(env, seconds=0.2)
    assert played.ended[0] == pytest.approx(0.06)
    assert played.q.shape == (1, 10, 1)
    with pytest.raises(DalembertError, match="unknown command"):
        learn.play(env, seconds=0.1, command={"speed": 1.0})
    with pytest.raises(DalembertError, match="seconds"):
        learn.play(env.replace(episode=None))


def test_a_saved_policy_is_read_back(torch, tmp_path):
    net = policy(torch, environment())
    net.save(tmp_path / "policy.pt")
    again = learn.Policy.load(tmp_path / "policy.pt")
    obs = np.random.default_rng(0).normal(size=(7, 5))
    assert_close(again(obs), net(obs), ITERATED)


def test_tasks_by_name_and_their_environments():
    for name in learn.TASKS:
        env = learn.task(name).environment()
        assert learn.task(name).term in env.rewards
    with pytest.raises(DalembertError, match="did you mean 'cartpole'"):
        learn.task("cartpol")


@pytest.mark.long
def test_a_cart_pole_learns(torch):
    task = learn.task("cartpole")
    env = task.environment()
    net, curve = learn.train(
        env, task.settings(), minutes=3.0, threads=1, report=lambda numbers, _: task.reached(numbers, env.period)
    )
    assert task.reached(curve[-1], env.period)
    played = learn.play(env, net, n=20, seed=9)
    assert np.isinf(played.ended).all()
    assert np.abs(played.q[:, -100:, 1]).max() < 0.1


@pytest.mark.long
def test_the_saved_policy_walks_here_and_in_mujoco():
    """A quadruped that is asked for 0.5 m/s, for 6 s."""
    runtime = pytest.importorskip("onnx.reference")
    pytest.importorskip("mujoco")
    network = runtime.ReferenceEvaluator(str(POLICIES / "quadruped" / "policy.onnx"))
    twin = learn.mujoco_twin(
        learn.task("quadruped").environment(),
        lambda obs: network.run(None, {"obs": np.asarray(obs, np.float32)})[0],
        seconds=6.0, command={"velocity": (0.5, 0.0, 0.0)},
    )  # fmt: skip
    for played in (twin.here, twin.mujoco):
        assert np.isinf(played.ended[0]) and abs(twin.speed(played)[0] - 0.5) < WALKS


@pytest.mark.long
def test_the_saved_policy_reaches():
    runtime = pytest.importorskip("onnx.reference")
    network = runtime.ReferenceEvaluator(str(POLICIES / "reach" / "policy.onnx"))
    env = learn.task("reach").environment()
    played = learn.play(env, lambda obs: network.run(None, {"obs": np.asarray(obs, np.float32)})[0], n=20, seed=4)
    vec = env.vector(20, seed=4, autoreset="disabled")
    vec.reset()
    tools = np.array([env.robot.pose(q, "panda_hand_tcp")[:3, 3] for q in played.q[:, -1]])
    assert np.median(np.linalg.norm(tools - vec.commands["goal"], axis=1)) < REACHES
