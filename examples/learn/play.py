"""Play a trained policy: in the viewer, or beside MuJoCo.

    python examples/learn/play.py cartpole examples/learn/policies/cartpole/policy.onnx --view
    python examples/learn/play.py quadruped policy.onnx --speed 0.5 --mujoco

Needs Gymnasium and onnxruntime; --view needs viser, --mujoco MuJoCo.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnxruntime

from dalembert import learn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(learn.TASKS))
    parser.add_argument("policy")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--speed", type=float, default=None, help="commanded, forwards [m/s]")
    parser.add_argument("--view", action="store_true")
    parser.add_argument("--mujoco", action="store_true")
    given = parser.parse_args()
    env = learn.task(given.task).environment()
    session = onnxruntime.InferenceSession(given.policy)

    def policy(obs):
        return session.run(None, {"obs": np.asarray(obs, np.float32)})[0]

    command = None if given.speed is None else {"velocity": (given.speed, 0.0, 0.0)}
    if given.mujoco:
        learn.mujoco_twin(env, policy, seconds=given.seconds, command=command)
        return
    played = learn.play(env, policy, seconds=given.seconds, command=command)
    print(f"return {played.reward.sum():.3f}, ended at {played.ended[0]:g} s")
    if given.view:
        learn.replay(played, env).wait()


if __name__ == "__main__":
    main()
