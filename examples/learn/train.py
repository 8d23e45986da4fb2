"""Train a task with the reference trainer and keep the best policy: what `dalembert learn` does, in Python.

    python examples/learn/train.py cartpole --minutes 2 --out cartpole

Needs Gymnasium and PyTorch. The trainer is `dalembert.learn.ppo`, some 200 lines to read and to change.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dalembert import learn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(learn.TASKS))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("learned"))
    given = parser.parse_args()
    task = learn.task(given.task)
    env, best = task.environment(), -float("inf")
    given.out.mkdir(parents=True, exist_ok=True)

    def report(numbers, policy):
        nonlocal best
        if numbers["return"] > best:
            best = numbers["return"]
            policy.save(str(given.out / "best.pt"))
        print(
            f"{numbers['steps']:10.0f} steps {numbers['minutes']:6.2f} min  return {numbers['return']:8.3f}", flush=True
        )
        return task.reached(numbers, env.period)

    policy, curve = learn.train(env, task.settings(), minutes=given.minutes, seed=given.seed, report=report)
    (given.out / "curve.jsonl").write_text("\n".join(map(json.dumps, curve)) + "\n")
    learn.save_policy(policy, env, given.out / "policy.onnx")
    print("learned" if task.reached(curve[-1], env.period) else "not learned yet")


if __name__ == "__main__":
    main()
